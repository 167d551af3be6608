//! Venn-Abers prediction: the isotonic fits of the rows with one row more.
//!
//! # Two sweeps
//! Let P_j be the weight and the outcomes of the rows up to the j-th of m different scores, and let
//! A_j = P_j - (1, 1).
//!
//! 1. An isotonic fit has the slopes of the greatest convex minorant of the points P. A row of
//!    outcome 1 that is added at the i-th score moves all points from there on by (1, 1), which is
//!    the same as to move those before by -(1, 1). So p1 at the i-th score is the slope of the
//!    minorant of A_0 .. A_(i-1), P_i .. P_m on the piece that goes from the A's to the P's.
//! 2. From i to i + 1 the point A_i is added and P_i removed. Slopes are at most 1 and P_i is A_i
//!    plus (1, 1), so that P_i is on or above the new minorant: nothing has to be removed.
//! 3. p1 does not fall with i. So the left end of the piece moves to the right only, and all that
//!    is left of it is never needed again. If A_i is on or above the piece, the piece stays; if
//!    not, A_i is its left end, and points right of it that are now above the minorant stay above.
//!    A stack with the left end on top does this in O(m).
//! 4. p0 is 1 less the p1 of the rows with scores and outcomes reversed.
//! 5. Between two scores, p0 is that of the score below and p1 that of the score above: in the
//!    formula max over a of min over b of means from the a-th to the b-th score, a row of outcome 0
//!    between scores i and i + 1 gives the same means as one at score i. Below all scores p0 is 0,
//!    above all p1 is 1.
//!
//! Weights are whole numbers, and the comparisons are exact.

use super::rows::{Atom, Atoms};
use crate::Error;
use crate::recalibrate::fit::Band;

/// Two probabilities for every logit: those of isotonic fits to the rows and one row more there, of
/// outcome 0 and of outcome 1.
///
/// # Reference
/// Vovk, Petej, Fedorova, "Large-scale probabilistic predictors with and without guarantees of
/// validity", NIPS 2015.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VennAbers {
    /// Logits, strictly ascending.
    pub at: Vec<f64>,
    /// p0 there and up to the next logit; it is 0 below the first.
    pub lower: Vec<f64>,
    /// p1 there and down to the logit before; it is 1 above the last.
    pub upper: Vec<f64>,
}

impl VennAbers {
    /// p0 and p1 at a logit, and between them p1 / (1 - p0 + p1), which has the least regret in
    /// log-loss of all values in the interval.
    pub fn at(&self, logit: f64) -> Band {
        let below = self.at.partition_point(|at| *at <= logit);
        let above = self.at.partition_point(|at| *at < logit);
        let lower = if below == 0 { 0.0 } else { self.lower[below - 1] };
        let upper = self.upper.get(above).copied().unwrap_or(1.0);
        Band { value: upper / ((1.0 - lower) + upper), lower, upper }
    }

    /// Different values at its logits.
    pub(crate) fn n_steps(&self) -> usize {
        let mut values: Vec<f64> = self.at.iter().map(|at| self.at(*at).value).collect();
        values.dedup();
        values.len()
    }

    /// The fit, for atoms of both outcomes.
    pub(crate) fn fit(atoms: &Atoms) -> Result<Self, Error> {
        let all = || atoms.atoms.iter();
        let counts = all().map(count).collect::<Result<Vec<Count>, Error>>()?;
        let upper: Vec<f64> = sweep(&counts).iter().map(Point::slope).collect();
        let reversed: Vec<Count> = counts.iter().rev().map(|[negative, positive]| [*positive, *negative]).collect();
        let mut lower: Vec<f64> = sweep(&reversed).iter().map(Point::one_less_slope).collect();
        lower.reverse();
        // A logit where neither changes says nothing.
        let changes = |i: usize| {
            let before = if i == 0 { 0.0 } else { lower[i - 1] };
            let after = upper.get(i + 1).copied().unwrap_or(1.0);
            lower[i] != before || upper[i] != after
        };
        let kept: Vec<usize> = (0..lower.len()).filter(|i| changes(*i)).collect();
        let of = |values: &dyn Fn(usize) -> f64| kept.iter().map(|i| values(*i)).collect::<Vec<f64>>();
        Ok(VennAbers { at: of(&|i| atoms.atoms[i].h), lower: of(&|i| lower[i]), upper: of(&|i| upper[i]) })
    }
}

/// Rows of outcome 0 and of outcome 1.
type Count = [i128; 2];

fn count(atom: &Atom) -> Result<Count, Error> {
    match atom.weights.iter().find(|weight| weight.fract() != 0.0 || **weight > 2f64.powi(53)) {
        None => Ok(atom.weights.map(|weight| weight as i128)),
        Some(weight) => {
            let rule = "whole numbers for venn_abers, where a weight is a number of rows";
            Err(Error::setting("weights", rule, weight))
        }
    }
}

/// Weight and outcomes of some rows.
#[derive(Debug, Clone, Copy)]
struct Point {
    weight: i128,
    positive: i128,
}

impl Point {
    fn minus(self, other: Point) -> Point {
        Point { weight: self.weight - other.weight, positive: self.positive - other.positive }
    }

    fn slope(&self) -> f64 {
        self.positive as f64 / self.weight as f64
    }

    fn one_less_slope(&self) -> f64 {
        (self.weight - self.positive) as f64 / self.weight as f64
    }

    /// Whether `middle` is on or above the straight line from here to `right`.
    fn hides(self, middle: Point, right: Point) -> bool {
        let (near, far) = (middle.minus(self), right.minus(self));
        near.positive * far.weight >= far.positive * near.weight
    }
}

/// The pieces of the minorants whose slopes are p1 at each score.
fn sweep(counts: &[Count]) -> Vec<Point> {
    let mut points = Vec::with_capacity(counts.len());
    let mut sum = Point { weight: 0, positive: 0 };
    for [negative, positive] in counts {
        sum = Point { weight: sum.weight + negative + positive, positive: sum.positive + positive };
        points.push(sum);
    }
    let one = Point { weight: 1, positive: 1 };
    // From the last point on to the left: the minorant of A_0, P_1 .. P_m, with A_0 on top.
    let mut stack: Vec<Point> = Vec::with_capacity(points.len() + 1);
    for point in points.iter().rev() {
        push(&mut stack, *point);
    }
    push(&mut stack, Point { weight: -1, positive: -1 });
    let mut pieces = Vec::with_capacity(points.len());
    for point in &points {
        // proof: the stack has its left end and the last point, which is never hidden
        let [.., right, left] = stack[..] else { break };
        pieces.push(right.minus(left));
        let added = point.minus(one);
        if !left.hides(added, right) {
            stack.pop();
            push(&mut stack, added);
        }
    }
    pieces
}

/// Puts a new left end on the stack, and takes off what it hides.
fn push(stack: &mut Vec<Point>, left: Point) {
    while let [.., right, middle] = stack[..] {
        if !left.hides(middle, right) {
            break;
        }
        stack.pop();
    }
    stack.push(left);
}
