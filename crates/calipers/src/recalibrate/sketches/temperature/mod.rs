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

mod bytes;
mod curve;
mod sums;

use curve::Curve;
use sums::{BELOW, MOMENT_BITS, MOST_ROWS, Sums, value};

use crate::data::{InputReport, Predictions};
use crate::error::number;
use crate::numerics::parallel;
use crate::recalibrate::classes::map::ClassMap;
use crate::recalibrate::fit::{Fit, Note, Parameter};
use crate::recalibrate::method::Method;
use crate::{Error, setters::setters};

/// The most classes of a sketch.
const MOST_CLASSES: usize = 1 << 24;

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
/// sign. Its module has the formulas and the bound.
///
/// # Cost
/// `update`: one pass with 16 exponentials and about 1,000 other operations for each score. Memory
/// and bytes: 12 kB and 8 for each class, however many rows there are.
///
/// # Accuracy
/// [`FitBound`](crate::recalibrate::FitBound) has what is proven, which falls with the fifth power
/// of the range of the recalibrated scores: far below a standard error for ranges up to 10.
/// Measured against [`fit_classes`](crate::recalibrate::Recalibrate::fit_classes) the slope is
/// within 1e-6 of itself.
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
        let n_rows = self.report.n_rows.saturating_add(other.report.n_rows);
        let rule = format!("at most {MOST_ROWS} in a temperature sketch");
        Error::require(n_rows <= MOST_ROWS, "rows", rule, n_rows)?;
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
