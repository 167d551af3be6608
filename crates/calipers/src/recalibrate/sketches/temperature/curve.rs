//! The mean loss as a function of the slope, and its minimum with the bound.

use super::sums::{DISTANCE_BITS, MOMENT_BITS, NODES, Node, REMAINDER_BITS, SQUARE_BITS, Sums, slope_of, value};
use crate::Error;
use crate::error::number;
use crate::recalibrate::fit::FitBound;

/// Means over rows.
pub(super) struct Curve<'a> {
    nodes: &'a [Node],
    weight: f64,
    /// Mean distance of the label's score from the largest.
    own: f64,
    /// Mean distance of all scores.
    mean: f64,
}

impl<'a> Curve<'a> {
    pub(super) fn new(sums: &'a Sums, weight: f64) -> Self {
        let mean = |sum: i128| value(sum, DISTANCE_BITS) / weight;
        Curve { nodes: &sums.nodes, weight, own: mean(sums.own), mean: mean(sums.mean) }
    }

    /// What has no temperature is an error.
    pub(super) fn check(&self, n: u64) -> Result<(), Error> {
        let toward = self.mean - self.own;
        if !(toward > 0.0) {
            let rule = "of scores that rise with the outcome, since the best inverse temperature is 0 else";
            return Err(Error::setting("rows", rule, format!("a mean score of {} toward the label", number(toward))));
        }
        if !(self.own > 0.0) {
            let rule = "with a label that has not the largest score, since there is no finite slope else";
            return Err(Error::setting("rows", rule, format!("{n} rows, and none is")));
        }
        Ok(())
    }

    fn moment(&self, sum: i128) -> f64 {
        value(sum, MOMENT_BITS) / self.weight
    }

    /// Mean log-loss at a node.
    pub(super) fn loss(&self, node: usize) -> f64 {
        self.moment(self.nodes[node].log) + slope_of(node) * self.own
    }

    /// Three derivatives of the mean log-loss at a node.
    fn derivatives(&self, node: usize) -> [f64; 3] {
        let (slope, sums) = (slope_of(node), &self.nodes[node]);
        [
            self.own - self.moment(sums.first) / slope,
            self.moment(sums.second) / (slope * slope),
            -self.moment(sums.third) / (slope * slope * slope),
        ]
    }

    /// A bound on the seventh derivative near a node.
    fn seventh(&self, node: usize) -> f64 {
        let sums = &self.nodes[node];
        let mean = value(sums.remainder, REMAINDER_BITS) / self.weight;
        if sums.n_unbounded == 0 { mean / slope_of(node).powi(7) } else { f64::INFINITY }
    }

    /// The two nodes between which the first derivative changes its sign.
    pub(super) fn piece(&self) -> Result<Piece<'_>, Error> {
        let above = (0..NODES).position(|node| self.derivatives(node)[0] >= 0.0);
        match above {
            Some(above) if above > 0 => Ok(Piece { curve: self, node: above - 1 }),
            _ => {
                let rule = format!(
                    "of scores whose best slope is from {} to {}; multiply or divide all scores",
                    number(slope_of(0)),
                    number(slope_of(NODES - 1))
                );
                let got = if above.is_some() { "a smaller one" } else { "a larger one" };
                Err(Error::setting("rows", rule, got))
            }
        }
    }
}

/// The curve between two nodes.
pub(super) struct Piece<'a> {
    curve: &'a Curve<'a>,
    /// The lower one.
    node: usize,
}

/// The best slope.
pub(super) struct Found {
    pub(super) slope: f64,
    /// Where in its piece.
    pub(super) share: f64,
    pub(super) second: f64,
    pub(super) loss: f64,
    pub(super) bound: FitBound,
}

impl Piece<'_> {
    fn ends(&self) -> [f64; 2] {
        [slope_of(self.node), slope_of(self.node + 1)]
    }

    /// The coefficients of P as a polynomial of the share of the piece.
    fn polynomial(&self) -> [f64; 6] {
        let [from, to] = self.ends();
        let width = to - from;
        let [p, q] = [self.node, self.node + 1].map(|node| self.curve.derivatives(node));
        let scaled = |[value, first, second]: [f64; 3]| [value, width * first, width * width * second];
        let ([p0, p1, p2], [q0, q1, q2]) = (scaled(p), scaled(q));
        let rise = q0 - p0;
        [
            p0,
            p1,
            0.5 * p2,
            10.0 * rise - 6.0 * p1 - 4.0 * q1 - 1.5 * p2 + 0.5 * q2,
            -15.0 * rise + 8.0 * p1 + 7.0 * q1 + 1.5 * p2 - q2,
            6.0 * rise - 3.0 * p1 - 3.0 * q1 - 0.5 * p2 + 0.5 * q2,
        ]
    }

    /// The zero of P, with its bound.
    pub(super) fn solve(&self, sums: &Sums, effective_n: f64, rounding: f64) -> Found {
        let (own, widest) = (self.curve.own, sums.widest);
        let polynomial = self.polynomial();
        let at = |share: f64| polynomial.iter().rev().fold(0.0, |sum, c| sum * share + c);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if at(middle) < 0.0 { low = middle } else { high = middle }
        }
        let share = 0.5 * (low + high);
        let [from, to] = self.ends();
        let width = to - from;
        let slope = from + share * width;
        let steep = (1..6).rev().fold(0.0, |sum, i| sum * share + i as f64 * polynomial[i]);
        let integral = (0..6).rev().fold(0.0, |sum, i| sum * share + polynomial[i] / (i + 1) as f64) * share;
        let seventh = self.curve.seventh(self.node).max(self.curve.seventh(self.node + 1));
        // Terms of F' are the distance of the label and the mean distance, which are alike here;
        // the coefficients of P are up to some 50 times as large in sum.
        let relative = 64.0 * rounding * (own + 1.0 / slope);
        // Terms are cut to whole units.
        let per_row = 2f64.powi(-DISTANCE_BITS) + 64.0 * 2f64.powi(-MOMENT_BITS) / slope;
        let cut = sums.n as f64 / self.curve.weight * per_row;
        let error = seventh * (0.5 * width).powi(6) / 720.0 + relative + cut;
        let second = steep / width;
        let least = second - seventh * width.powi(5) / 1920.0 - (relative + cut) / slope;
        let root_n = effective_n.sqrt();
        let proven =
            if least > 0.0 { FitBound::near(error / least.sqrt(), widest / least.sqrt(), root_n) } else { None };
        let bound = proven.unwrap_or_else(|| {
            let away = share.max(1.0 - share) * width;
            let [low, high] = [self.node, self.node + 1].map(|node| self.curve.derivatives(node)[0].abs());
            let standard_errors = away * second.max(0.0).sqrt() * root_n;
            FitBound { standard_errors, nats: error.min(low.max(high)) * away }
        });
        Found { slope, share, second, loss: self.curve.loss(self.node) + width * integral, bound }
    }

    /// Σ w² f'² on the straight line between the nodes.
    pub(super) fn square(&self, share: f64) -> f64 {
        let of = |node: usize| value(self.curve.nodes[node].square, SQUARE_BITS) / slope_of(node).powi(2);
        (1.0 - share) * of(self.node) + share * of(self.node + 1)
    }
}
