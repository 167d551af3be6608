//! The temperature of any number of classes from one pass over rows, which can be in many places.
//!
//! # What is kept
//! With d_j the distance of the score of class j from the largest of its row, x_j = β d_j and means
//! over the softmax with slope β, the log-loss of a row and its derivatives by β are
//! ```text
//! f = log Σ e^-x_j + x_y      β f' = x_y - E x      β² f'' = Var x      β³ f''' = -E (x - E x)³
//! ```
//! Sums of log Σ e^-x, E x, Var x and E (x - E x)³ are kept at 128 nodes β = 2^(g/4) from 2^-24 to
//! 2^7.75, and the sum of d_y for all nodes at once. None of them depends on the unit of scores, E
//! x is at most log k, and all are integers: so merging is exact.
//!
//! # The fit and its bound
//! 1. The derivative F' of the mean loss rises, so that the two nodes a < b where its sign changes
//!    enclose the best slope.
//! 2. Between them F' is the polynomial P of degree 5 with the values and two derivatives of F' at
//!    both ends, up to M (β - a)³ (b - β)³ / 720 with M a bound on the seventh derivative of F in
//!    between: Hermite's remainder. F'' is P' up to M (b - a)⁵ / 1920, since F' - P has two zeros
//!    of order 3, and so its derivative has five.
//! 3. The seventh derivative of a row's loss is the seventh cumulant of its scores. In terms of
//!    central moments it is μ_7 - 21 μ_5 μ_2 - 35 μ_4 μ_3 + 210 μ_3 μ_2², and |μ_n| <= R^(n-2) V
//!    for a range R and a variance V. So it is at most R⁵ V + 56 R³ V² + 210 R V³.
//! 4. V changes by at most the factor e^(R |β - c|) from a node c on, since |V'| <= R V. Each point
//!    of the interval is within (b - a) / 2 of a node. The mean of step 3 with this factor is kept
//!    at each node.
//! 5. The slope is the zero of P, where |F'| is at most the remainder; then the certificate of
//!    [`recalibrate`](crate::recalibrate) applies, with the widest row's R for the features. Where
//!    it does not, the bound is the distance from the farther of the two nodes.

use super::class_map::ClassMap;
use super::fit::{Fit, Note, Parameter};
use super::method::Method;
use super::newton::FitBound;
use crate::data::{ClassScores, InputReport, KINDS, Predictions};
use crate::error::number;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::logarithm;
use crate::numerics::parallel;
use crate::{Error, setters::setters};

/// 2^(i/4).
const ROOTS: [f64; 4] = [1.0, 1.189_207_115_002_721, std::f64::consts::SQRT_2, 1.681_792_830_507_429];

/// Octaves below 1, and all.
const BELOW: i32 = 24;
const OCTAVES: usize = 32;
const NODES: usize = 4 * OCTAVES;

/// Exponentials of one octave are squares of those of the octave below; every so many octaves they
/// are computed anew, before squaring has lost more than 8 bits.
const RESTART: usize = 8;

/// Half the distance of a node from the next, as a share of it: (2^(1/4) - 1) / 2, rounded up.
const HALF_STEP: f64 = 0.094_604;

/// The widest row that sums have room for, and the range of weights.
const WIDEST: f64 = (1u64 << 40) as f64;
const HEAVIEST: f64 = (1u64 << 24) as f64;
const LIGHTEST: f64 = 1.0 / (1u64 << 20) as f64;

/// Terms of the bound and of the standard error are cut here.
const LARGEST_REMAINDER: f64 = (1u64 << 60) as f64;
const LARGEST_SQUARE: f64 = (1u64 << 24) as f64;

/// Binary places of sums: of weights and moments, of distances in scores, of remainders and of
/// squares.
const MOMENT_BITS: i32 = 60;
const DISTANCE_BITS: i32 = 44;
const REMAINDER_BITS: i32 = 20;
const SQUARE_BITS: i32 = 50;

const MAGIC: &[u8; 8] = b"calitemp";
const VERSION: u8 = 1;

/// The most classes of a sketch, and the most rows.
const MOST_CLASSES: usize = 1 << 24;
const MOST_ROWS: u64 = 1 << 38;

/// What a mean over rows has been off by at most where it was rounded, as a share of its terms:
/// exponentials by 2^8 and some units, sums over classes by their number.
fn rounding(n_classes: usize) -> f64 {
    (2048.0 + 4.0 * n_classes as f64) * f64::EPSILON
}

/// A mergeable summary of rows of classes, from which temperature scaling is fitted in one pass.
///
/// # Definition
/// Derivatives of the log-loss by the slope 1 / temperature at 128 slopes from 2^-24 to 2^7.75,
/// summed over rows as integers; the fit interpolates between the two where the first changes its
/// sign. `temperature_sketch.rs` has the formulas and the bound.
///
/// # Cost
/// `update`: one pass with 16 exponentials and about 1,000 other operations for each score. Memory
/// and bytes: 12 kB and 8 for each class, however many rows there are.
///
/// # Accuracy
/// [`FitBound`] has what is proven, which falls with the fifth power of the range of the
/// recalibrated scores: far below a standard error for ranges up to 10. Measured against
/// [`fit_classes`](super::Recalibrate::fit_classes) the slope is within 1e-7 of itself.
///
/// # Example
/// ```
/// use calipers::Input;
/// use calipers::recalibrate::TemperatureSketch;
///
/// let z = [8f64.ln(), 0.0, 0.0, 0.0, 8f64.ln(), 0.0, 0.0, 0.0, 8f64.ln()];
/// let (mut all, mut rest) = (TemperatureSketch::new(3), TemperatureSketch::new(3));
/// all.update(&Input::logits(&z[..6], &[0, 1]).classes(3).check()?)?;
/// rest.update(&Input::logits(&z[6..], &[0]).classes(3).check()?)?;
/// all.merge(&TemperatureSketch::from_bytes(&rest.to_bytes())?)?;
/// let fit = all.fit()?;
/// assert!((fit.map.slope - 2.0 / 3.0).abs() < 1e-7);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TemperatureSketch {
    n_classes: usize,
    clip: f64,
    sums: Sums,
    report: InputReport,
}

/// What rows add up to.
#[derive(Debug, Clone, PartialEq)]
struct Sums {
    nodes: Vec<Node>,
    /// Rows with weight, and those of each class.
    n: u64,
    of_class: Vec<u64>,
    n_clipped: u64,
    weight: i128,
    square: i128,
    /// Distances of the labels' scores from the largest, and mean distances.
    own: i128,
    mean: i128,
    /// The largest range of the scores of a row.
    widest: f64,
}

/// Sums at one slope.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Node {
    /// log Σ e^-x.
    log: i128,
    /// E x.
    first: i128,
    /// Var x.
    second: i128,
    /// E (x - E x)³.
    third: i128,
    /// w² (x_y - E x)².
    square: i128,
    /// The bound of step 3 with the factor of step 4, times β⁷.
    remainder: i128,
    /// Rows for which that is too large to be kept.
    n_unbounded: u64,
}

impl TemperatureSketch {
    /// An empty sketch of rows of so many classes; probabilities are clipped to 1e-12.
    pub fn new(n_classes: usize) -> Self {
        let sums = Sums::new(n_classes);
        TemperatureSketch { n_classes, clip: 1e-12, sums, report: InputReport::default() }
    }

    setters! {
        /// Probabilities are clipped to at least this, since 0 has no logarithm. Raw scores are
        /// taken as they are. It has to be set before there are rows.
        clip: f64;
    }

    /// Rows with weight.
    pub fn n(&self) -> u64 {
        self.sums.n
    }

    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// What was read and left out, over all batches.
    pub fn report(&self) -> &InputReport {
        &self.report
    }

    /// Adds rows. Nothing changes where an error is returned.
    pub fn update(&mut self, predictions: &Predictions<'_>) -> Result<(), Error> {
        let k = self.n_classes;
        Error::require((2..=MOST_CLASSES).contains(&k), "n_classes", format!("from 2 to {MOST_CLASSES}"), k)?;
        Error::require(self.clip > 0.0 && self.clip < 0.5, "clip", "above 0 and below 1/2", self.clip)?;
        let given = predictions.n_classes();
        Error::require(given == k, "rows", format!("of {k} classes as the sketch is"), given)?;
        let scores = predictions.class_scores(self.clip);
        let chunk = (parallel::CHUNK / k).max(1);
        let chunks = parallel::map_chunks(scores.len(), chunk, |range| {
            let mut sums = Sums::new(k);
            let mut row = vec![0.0; k];
            range.into_iter().try_for_each(|index| sums.add(&scores, index, &mut row))?;
            Ok(sums)
        });
        let mut all = self.sums.clone();
        for part in chunks {
            all.merge(&part?)?;
        }
        all.n_clipped += scores.n_clipped;
        self.sums = all;
        self.report.absorb(predictions.report());
        Ok(())
    }

    /// Adds the rows of another sketch of as many classes, exactly. Nothing changes where an error
    /// is returned.
    pub fn merge(&mut self, other: &TemperatureSketch) -> Result<(), Error> {
        let unlike = |what: &'static str, ours: String, theirs: String| Error::UnlikeSketches { what, ours, theirs };
        if self.n_classes != other.n_classes {
            return Err(unlike("number of classes", self.n_classes.to_string(), other.n_classes.to_string()));
        }
        if self.clip != other.clip {
            return Err(unlike("clip", number(self.clip), number(other.clip)));
        }
        let mut all = self.sums.clone();
        all.merge(&other.sums)?;
        self.sums = all;
        self.report.absorb(&other.report);
        Ok(())
    }

    /// The temperature of all rows, without a ridge. Its log-loss is that of the slope, before
    /// equal probabilities are mixed in.
    pub fn fit(&self) -> Result<Fit<ClassMap>, Error> {
        let sums = &self.sums;
        if self.report.n_rows == 0 {
            return Err(Error::NoRows);
        }
        let weight = value(sums.weight, MOMENT_BITS);
        if !(weight > 0.0) {
            return Err(Error::ZeroWeights { n_rows: self.report.n_rows });
        }
        let curve = Curve::new(sums, weight);
        curve.check(sums.n)?;
        let piece = curve.piece()?;
        let effective_n = weight * weight / value(sums.square, MOMENT_BITS);
        let found = piece.solve(sums, effective_n, rounding(self.n_classes));
        let mixture = if self.n_classes > 2 { 1.0 / (effective_n + 1.0) } else { 0.0 };
        let map = ClassMap {
            method: Method::Temperature,
            slope: found.slope,
            mixture,
            clip: self.clip,
            ..ClassMap::identity(self.n_classes)
        };
        let variance = piece.square(found.share) / (weight * weight) / (found.second * found.second);
        let absent = (0..self.n_classes).filter(|class| sums.of_class[*class] == 0);
        Ok(Fit {
            method: Method::Temperature,
            parameters: vec![Parameter { name: "slope", value: found.slope, standard_error: Some(variance.sqrt()) }],
            covariance: vec![variance],
            log_loss_before: curve.loss(4 * BELOW as usize),
            log_loss_after: found.loss,
            bound: found.bound,
            ridge: 0.0,
            effective_parameters: 1.0,
            notes: absent.map(|class| Note::AbsentClass { class }).collect(),
            n: sums.n,
            effective_n,
            n_clipped: sums.n_clipped,
            input: self.report.clone(),
            map,
        })
    }
}

/// The slope of a node.
fn slope_of(node: usize) -> f64 {
    ROOTS[node % 4] * 2f64.powi((node / 4) as i32 - BELOW)
}

fn value(sum: i128, bits: i32) -> f64 {
    sum as f64 * 2f64.powi(-bits)
}

/// Adds a term to a sum of so many binary places.
fn add(sum: &mut i128, term: f64, bits: i32) -> Result<(), Error> {
    add_whole(sum, (term * 2f64.powi(bits)) as i128)
}

fn add_whole(sum: &mut i128, term: i128) -> Result<(), Error> {
    let too_many = || Error::setting("rows", "fewer, or of smaller weights and scores", "sums that overflow");
    *sum = sum.checked_add(term).ok_or_else(too_many)?;
    Ok(())
}

impl Sums {
    fn new(n_classes: usize) -> Self {
        Sums {
            nodes: vec![Node::default(); NODES],
            n: 0,
            of_class: vec![0; n_classes],
            n_clipped: 0,
            weight: 0,
            square: 0,
            own: 0,
            mean: 0,
            widest: 0.0,
        }
    }

    /// Adds one row.
    fn add(&mut self, scores: &ClassScores<'_>, index: usize, row: &mut [f64]) -> Result<(), Error> {
        let weight = scores.weight(index) * scores.weight_unit;
        if !(weight > 0.0) {
            return Ok(());
        }
        let rule = "0 or from 2^-20 to 2^24 in a temperature sketch; multiply or divide all weights";
        Error::require((LIGHTEST..=HEAVIEST).contains(&weight), "weights", rule, number(weight))?;
        scores.read_row(index, row);
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|score| *score = top - *score);
        let range = row.iter().copied().fold(0.0, f64::max);
        let rule = "at most 2^40 apart in a row of a temperature sketch; divide all scores";
        Error::require(range <= WIDEST, "scores", rule, number(range))?;
        let label = scores.labels[index] as usize;
        let own = row[label];
        self.n += 1;
        self.of_class[label] += 1;
        self.widest = self.widest.max(range);
        add(&mut self.weight, weight, MOMENT_BITS)?;
        add(&mut self.square, weight * weight, MOMENT_BITS)?;
        add(&mut self.own, weight * own, DISTANCE_BITS)?;
        add(&mut self.mean, weight * (row.iter().sum::<f64>() / row.len() as f64), DISTANCE_BITS)?;
        let moments = Moments::of_row(row, range);
        for (place, node) in self.nodes.iter_mut().enumerate() {
            node.add(&moments, place, weight, own, range)?;
        }
        Ok(())
    }

    fn merge(&mut self, other: &Sums) -> Result<(), Error> {
        for (node, more) in self.nodes.iter_mut().zip(&other.nodes) {
            add_whole(&mut node.log, more.log)?;
            add_whole(&mut node.first, more.first)?;
            add_whole(&mut node.second, more.second)?;
            add_whole(&mut node.third, more.third)?;
            add_whole(&mut node.square, more.square)?;
            add_whole(&mut node.remainder, more.remainder)?;
            node.n_unbounded += more.n_unbounded;
        }
        self.of_class.iter_mut().zip(&other.of_class).for_each(|(n, more)| *n += more);
        self.n += other.n;
        let rule = format!("at most {MOST_ROWS} in a temperature sketch");
        Error::require(self.n <= MOST_ROWS, "rows", rule, self.n)?;
        self.n_clipped += other.n_clipped;
        self.widest = self.widest.max(other.widest);
        add_whole(&mut self.weight, other.weight)?;
        add_whole(&mut self.square, other.square)?;
        add_whole(&mut self.own, other.own)?;
        add_whole(&mut self.mean, other.mean)
    }
}

/// Σ r^n e^-x for n from 0 to 3 at all nodes, where r is the distance as a share of the range.
struct Moments([[f64; NODES]; 4]);

impl Moments {
    fn of_row(distances: &[f64], range: f64) -> Self {
        let mut sums = [[0.0; NODES]; 4];
        for distance in distances {
            let r = if range > 0.0 { distance / range } else { 0.0 };
            let powers = [1.0, r, r * r, r * r * r];
            for start in (0..NODES).step_by(4 * RESTART) {
                let mut small: [f64; 4] = std::array::from_fn(|i| exp_of_nonpositive(-slope_of(start + i) * distance));
                for octave in (start..start + 4 * RESTART).step_by(4) {
                    for (sums, power) in sums.iter_mut().zip(powers) {
                        for (sum, small) in sums[octave..octave + 4].iter_mut().zip(small) {
                            *sum += power * small;
                        }
                    }
                    small.iter_mut().for_each(|small| *small *= *small);
                }
            }
        }
        Moments(sums)
    }
}

impl Node {
    fn add(&mut self, moments: &Moments, place: usize, weight: f64, own: f64, range: f64) -> Result<(), Error> {
        let Moments([zeroth, first, second, third]) = moments;
        let total = zeroth[place];
        let [a, b, c] = [first, second, third].map(|sums| sums[place] / total);
        let slope = slope_of(place);
        // The range of x, in units of which these moments are.
        let y = slope * range;
        let mean = y * a;
        let variance = y * y * (b - a * a).max(0.0);
        let skew = y * y * y * (c - 3.0 * a * b + 2.0 * a * a * a);
        add(&mut self.log, weight * logarithm::ln(total), MOMENT_BITS)?;
        add(&mut self.first, weight * mean, MOMENT_BITS)?;
        add(&mut self.second, weight * variance, MOMENT_BITS)?;
        add(&mut self.third, weight * skew, MOMENT_BITS)?;
        let away = slope * own - mean;
        add(&mut self.square, weight * weight * (away * away).min(LARGEST_SQUARE), SQUARE_BITS)?;
        // With what rounding of the variance may have taken.
        let larger = (variance + 8.0 * f64::EPSILON * y * y * (b + a * a)) / exp_of_nonpositive(-HALF_STEP * y);
        let remainder = y.powi(5) * larger + 56.0 * y.powi(3) * larger.powi(2) + 210.0 * y * larger.powi(3);
        if remainder <= LARGEST_REMAINDER {
            add(&mut self.remainder, weight * remainder, REMAINDER_BITS)
        } else {
            self.n_unbounded += 1;
            Ok(())
        }
    }
}

/// Means over rows.
struct Curve<'a> {
    nodes: &'a [Node],
    weight: f64,
    /// Mean distance of the label's score from the largest.
    own: f64,
    /// Mean distance of all scores.
    mean: f64,
}

impl<'a> Curve<'a> {
    fn new(sums: &'a Sums, weight: f64) -> Self {
        let mean = |sum: i128| value(sum, DISTANCE_BITS) / weight;
        Curve { nodes: &sums.nodes, weight, own: mean(sums.own), mean: mean(sums.mean) }
    }

    /// What has no temperature is an error.
    fn check(&self, n: u64) -> Result<(), Error> {
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
    fn loss(&self, node: usize) -> f64 {
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
    fn piece(&self) -> Result<Piece<'_>, Error> {
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
struct Piece<'a> {
    curve: &'a Curve<'a>,
    /// The lower one.
    node: usize,
}

/// The best slope.
struct Found {
    slope: f64,
    /// Where in its piece.
    share: f64,
    second: f64,
    loss: f64,
    bound: FitBound,
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
    fn solve(&self, sums: &Sums, effective_n: f64, rounding: f64) -> Found {
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
    fn square(&self, share: f64) -> f64 {
        let of = |node: usize| value(self.curve.nodes[node].square, SQUARE_BITS) / slope_of(node).powi(2);
        (1.0 - share) * of(self.node) + share * of(self.node + 1)
    }
}

impl TemperatureSketch {
    /// The sketch as bytes, the same for the same rows however they came.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        let words = |bytes: &mut Vec<u8>, words: &[u64]| words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        let sums = &self.sums;
        words(&mut bytes, &[self.n_classes as u64, self.clip.to_bits(), sums.n, sums.n_clipped, sums.widest.to_bits()]);
        words(&mut bytes, &[self.report.n_rows, self.report.n_rounded, self.report.n_ties]);
        words(&mut bytes, &KINDS.map(|kind| self.report.left_out.get(kind).copied().unwrap_or(0)));
        for sum in [sums.weight, sums.square, sums.own, sums.mean] {
            bytes.extend(sum.to_le_bytes());
        }
        for node in &sums.nodes {
            for sum in [node.log, node.first, node.second, node.third, node.square, node.remainder] {
                bytes.extend(sum.to_le_bytes());
            }
            words(&mut bytes, &[node.n_unbounded]);
        }
        words(&mut bytes, &sums.of_class);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    /// The sketch that [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let require = |valid: bool, reason: &str| if valid { Ok(()) } else { Err(Error::invalid_sketch(reason)) };
        require(bytes.starts_with(MAGIC), "they do not begin with \"calitemp\"")?;
        let version = bytes.get(MAGIC.len()).copied().ok_or_else(ends_early)?;
        require(version == VERSION, &format!("version must be {VERSION}, got {version}"))?;
        let (content, checksum) = bytes.split_last_chunk::<4>().ok_or_else(ends_early)?;
        let is_intact = crc32fast::hash(content) == u32::from_le_bytes(*checksum);
        require(is_intact, "the checksum is wrong, so they were damaged or cut")?;
        let mut reader = Reader(content.get(MAGIC.len() + 1..).ok_or_else(ends_early)?);
        let n_classes = reader.word()?;
        require((2..=MOST_CLASSES as u64).contains(&n_classes), "the number of classes is out of range")?;
        let clip = f64::from_bits(reader.word()?);
        require(clip > 0.0 && clip < 0.5, "the clip is not above 0 and below 1/2")?;
        let (n, n_clipped, widest) = (reader.word()?, reader.word()?, f64::from_bits(reader.word()?));
        require(n <= MOST_ROWS, "there are more rows than fit")?;
        require((0.0..=WIDEST).contains(&widest), "the range of scores is out of range")?;
        let mut report = InputReport { n_rows: reader.word()?, ..InputReport::default() };
        report.n_rounded = reader.word()?;
        report.n_ties = reader.word()?;
        for kind in KINDS {
            let count = reader.word()?;
            if count > 0 {
                report.left_out.insert(kind, count);
            }
        }
        let [weight, square, own, mean] = [reader.sum()?, reader.sum()?, reader.sum()?, reader.sum()?];
        require((weight > 0) == (n > 0) && [square, own, mean].iter().all(|sum| *sum >= 0), "a sum is negative")?;
        let mut nodes = Vec::with_capacity(NODES);
        for _ in 0..NODES {
            let [log, first, second] = [reader.sum()?, reader.sum()?, reader.sum()?];
            let [third, square, remainder] = [reader.sum()?, reader.sum()?, reader.sum()?];
            let n_unbounded = reader.word()?;
            let is_valid = [log, first, second, square, remainder].iter().all(|sum| *sum >= 0) && n_unbounded <= n;
            require(is_valid, "a sum is negative")?;
            nodes.push(Node { log, first, second, third, square, remainder, n_unbounded });
        }
        require(reader.0.len() as u64 == 8 * n_classes, "they are not as long as the number of classes says")?;
        let mut of_class = Vec::with_capacity(n_classes as usize);
        for _ in 0..n_classes {
            of_class.push(reader.word()?);
        }
        let all = of_class.iter().try_fold(0u64, |sum, n| sum.checked_add(*n));
        require(all == Some(n), "the rows of classes do not add up")?;
        let sums = Sums { nodes, n, of_class, n_clipped, weight, square, own, mean, widest };
        Ok(TemperatureSketch { n_classes: n_classes as usize, clip, sums, report })
    }
}

fn ends_early() -> Error {
    Error::invalid_sketch("they end early")
}

/// What is left of the bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Result<u64, Error> {
        let (word, rest) = self.0.split_first_chunk::<8>().ok_or_else(ends_early)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }

    fn sum(&mut self) -> Result<i128, Error> {
        let (sum, rest) = self.0.split_first_chunk::<16>().ok_or_else(ends_early)?;
        self.0 = rest;
        Ok(i128::from_le_bytes(*sum))
    }
}
