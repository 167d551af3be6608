//! Finitely many points: exact ECE by level sets, and where it jumps.

use super::sample::{Cumulated, Sample};
use crate::measure::{Estimate, Measure};
use crate::numerics::random::Uniforms;
use crate::numerics::sum::Sum;
use crate::{Error, Form, Input, LsEce, error};

/// A distribution on finitely many points, with a predictor on them.
///
/// # Definition
/// Point x has mass m(x), P(Y = 1 | x) = g*(x) and prediction g(x). Over the level sets S of g,
/// with m(S) > 0,
/// ```text
/// ECE(g)     = Σ_S |Σ_{x in S} m(x) (g*(x) - g(x))|            equation (discece) of the paper
/// ‖g* - g‖₁  = Σ_x m(x) |g*(x) - g(x)|
/// jump       = ‖g* - g‖₁ - ECE(g) = Σ_S 2 min(P_S, N_S)
/// ```
/// where P_S and N_S are the masses of the positive and of the negative part of g* - g on S. ECE is
/// continuous at g if and only if the jump is 0 (Theorem ece-continuity): if and only if g* - g
/// does not take both signs on a level set. The criterion of the paper's Theorem discretecase,
/// [`LevelSet::meets_disc_cond`], is necessary for a jump but not sufficient.
///
/// # Cost
/// O(k log k) for k points.
///
/// # Accuracy
/// Sums are compensated: a few units in the last place. Signs of g* - g and equality of predictions
/// are decided by comparing the numbers that were given, so continuity is decided exactly.
///
/// # Example
/// Two halves, truths .7 and .9, both predicted as .5. The errors have one sign, so nothing
/// cancels, and ECE is continuous although each error differs from the mean:
/// ```
/// use calipers::population::Finite;
///
/// let population = Finite::new(&[0.5, 0.5], &[0.7, 0.9], &[0.5, 0.5])?;
/// assert!((population.ece() - 0.3).abs() < 1e-15);
/// assert!(population.is_continuous());
/// assert!(population.level_sets()[0].meets_disc_cond);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Finite {
    /// Shares, sum 1.
    masses: Vec<f64>,
    /// g*, in [0, 1].
    truth: Vec<f64>,
    /// g, in [0, 1].
    predictions: Vec<f64>,
    /// Predictions that lie at most so far apart count as one; 0 for exact comparison.
    tolerance: f64,
}

/// The points with the same prediction.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LevelSet {
    /// The prediction; with a tolerance, the mean.
    pub prediction: f64,
    /// Mass of the set.
    pub mass: f64,
    /// E[Y | g(X) = prediction].
    pub outcome_rate: f64,
    /// Its points, in the order in which they were given; those of mass 0 are left out.
    pub members: Vec<usize>,
    /// What the set adds to ECE.
    pub ece: f64,
    /// What splitting the set can add to ECE: positive exactly where g* - g takes both signs on it.
    pub jump: f64,
    /// The paper's condition (disc-cond) for some member: its own error is not as large as that of
    /// the set.
    pub meets_disc_cond: bool,
}

impl Finite {
    /// Masses (any positive total), P(Y = 1) and predictions of the points.
    pub fn new(masses: &[f64], truth: &[f64], predictions: &[f64]) -> Result<Self, Error> {
        if masses.is_empty() {
            return Err(Error::NoRows);
        }
        check_length("truth", truth, masses)?;
        check_length("predictions", predictions, masses)?;
        let masses = shares(masses)?;
        for (point, &value) in truth.iter().enumerate() {
            let got = format!("{} at point {point}", error::number(value));
            Error::require((0.0..=1.0).contains(&value), "truth", "in [0, 1]", got)?;
        }
        let mut population = Finite { masses, truth: truth.to_vec(), predictions: Vec::new(), tolerance: 0.0 };
        population.predictions = population.checked(predictions)?;
        Ok(population)
    }

    /// Predictions at most `tolerance` apart, one after another in their order, count as one level.
    /// Rounded predictions that were equal before an exchange of formats are the reason; the
    /// default, 0, compares exactly.
    pub fn tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        let valid = tolerance >= 0.0 && tolerance.is_finite();
        Error::require(valid, "tolerance", "not negative and finite", error::number(tolerance))?;
        self.tolerance = tolerance;
        Ok(self)
    }

    /// The same points and truth with another predictor.
    pub fn with_predictions(&self, predictions: &[f64]) -> Result<Self, Error> {
        check_length("predictions", predictions, &self.masses)?;
        Ok(Finite { predictions: self.checked(predictions)?, ..self.clone() })
    }

    fn checked(&self, predictions: &[f64]) -> Result<Vec<f64>, Error> {
        let invalid = |&(_, value): &(usize, &f64)| !(0.0..=1.0).contains(value);
        if let Some((row, &value)) = predictions.iter().enumerate().find(invalid) {
            return Err(Error::InvalidProbability { row: row as u64, class: None, value });
        }
        // -0 and 0 are the same prediction.
        Ok(predictions.iter().map(|p| p + 0.0).collect())
    }

    /// Shares of the points.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// P(Y = 1) of the points.
    pub fn truth(&self) -> &[f64] {
        &self.truth
    }

    /// Predictions of the points.
    pub fn predictions(&self) -> &[f64] {
        &self.predictions
    }

    /// The level sets of positive mass, by prediction.
    pub fn level_sets(&self) -> Vec<LevelSet> {
        let mut order: Vec<usize> = (0..self.masses.len()).filter(|&x| self.masses[x] > 0.0).collect();
        order.sort_by(|&a, &b| self.predictions[a].total_cmp(&self.predictions[b]));
        let same = |&a: &usize, &b: &usize| self.predictions[b] - self.predictions[a] <= self.tolerance;
        order.chunk_by(same).map(|members| self.level_set(members)).collect()
    }

    fn level_set(&self, members: &[usize]) -> LevelSet {
        let total =
            |term: &dyn Fn(usize) -> f64| members.iter().map(|&x| self.masses[x] * term(x)).collect::<Sum>().value();
        let error = |x: usize| self.truth[x] - self.predictions[x];
        let positive = total(&|x| error(x).max(0.0));
        let negative = total(&|x| (-error(x)).max(0.0));
        let mass = total(&|_| 1.0);
        let prediction =
            if self.tolerance == 0.0 { self.predictions[members[0]] } else { total(&|x| self.predictions[x]) / mass };
        let own_size = |x: usize| error(x).abs();
        let set_size = (positive - negative).abs() / mass;
        // Rounding of the mean is not a difference.
        let differs = |x: usize| (own_size(x) - set_size).abs() > 8.0 * f64::EPSILON;
        let mut members = members.to_vec();
        members.sort_unstable();
        LevelSet {
            prediction,
            mass,
            outcome_rate: (total(&|x| self.truth[x]) / mass).clamp(0.0, 1.0),
            ece: (positive - negative).abs(),
            jump: 2.0 * positive.min(negative),
            meets_disc_cond: members.iter().any(|&x| differs(x)),
            members,
        }
    }

    /// ECE of the predictor.
    pub fn ece(&self) -> f64 {
        self.level_sets().iter().map(|set| set.ece).collect::<Sum>().value()
    }

    /// ‖g* - g‖₁, the mean size of the error point by point: what ECE can jump to, and never
    /// exceeds.
    pub fn distance_to_truth(&self) -> f64 {
        let errors = self.truth.iter().zip(&self.predictions).map(|(truth, p)| (truth - p).abs());
        errors.zip(&self.masses).map(|(error, mass)| mass * error).collect::<Sum>().value()
    }

    /// How far ECE can jump by an arbitrarily small change of the predictions.
    pub fn jump(&self) -> f64 {
        self.level_sets().iter().map(|set| set.jump).collect::<Sum>().value()
    }

    /// Whether ECE is continuous at this predictor.
    pub fn is_continuous(&self) -> bool {
        self.level_sets().iter().all(|set| set.jump == 0.0)
    }

    /// The smallest distance between two different levels; `None` if there is only one.
    pub fn smallest_gap(&self) -> Option<f64> {
        let sets = self.level_sets();
        sets.windows(2).map(|pair| pair[1].prediction - pair[0].prediction).min_by(f64::total_cmp)
    }

    /// A predictor at most `size` away whose ECE is within `size` of ‖g* - g‖₁: each level set on
    /// which errors cancel is split into the points that are predicted too low, which move up, and
    /// those predicted too high, which move down.
    ///
    /// Every point moves towards its truth by at most a third of the smallest gap and at most half
    /// its own error. Hence it stays in [0, 1], sets do not meet, no error changes sign, and ECE
    /// becomes ‖g* - g‖₁ less what was moved. Predictions are compared exactly here: a tolerance
    /// has no part in it, and the result has none.
    pub fn perturbed(&self, size: f64) -> Result<Self, Error> {
        Error::require(size > 0.0 && size.is_finite(), "size", "positive and finite", error::number(size))?;
        let exact = Finite { tolerance: 0.0, ..self.clone() };
        let room = exact.smallest_gap().map_or(size, |gap| size.min(gap / 3.0));
        let mut predictions = self.predictions.clone();
        for set in exact.level_sets().iter().filter(|set| set.jump > 0.0) {
            let errors = set.members.iter().map(|&x| (self.truth[x] - self.predictions[x]).abs());
            let smallest = errors.filter(|&error| error > 0.0).fold(f64::INFINITY, f64::min);
            let step = room.min(smallest / 2.0);
            for &x in &set.members {
                let error = self.truth[x] - self.predictions[x];
                let moved = if error > 0.0 { set.prediction + step } else { set.prediction - step };
                if error != 0.0 {
                    let rule = format!("large enough to change the prediction {}", set.prediction);
                    Error::require(moved != set.prediction, "size", rule, error::number(size))?;
                    predictions[x] = moved;
                }
            }
        }
        Ok(Finite { predictions, ..exact })
    }

    /// LS-ECE of the distribution, to the tolerance of the measure, for any noise and link.
    ///
    /// Each point is two weighted rows, one for each outcome, of what `LsEce` integrates exactly.
    pub fn ls_ece(&self, measure: &LsEce) -> Result<Estimate, Error> {
        let (mut scores, mut outcomes, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for ((&p, &truth), &mass) in self.predictions.iter().zip(&self.truth).zip(&self.masses) {
            for (outcome, weight) in [(true, mass * truth), (false, mass * (1.0 - truth))] {
                if weight > 0.0 {
                    scores.push(p);
                    outcomes.push(outcome);
                    weights.push(weight);
                }
            }
        }
        let predictions = Input::probabilities(&scores, &outcomes).weights(&weights).check()?;
        measure.estimate(&predictions.binary()?)
    }

    /// The residual form of LS-ECE of the distribution, with the options of `measure`, as
    /// [`LsEce::residual`] defines it.
    pub fn residual_ls_ece(&self, measure: &LsEce) -> Result<Estimate, Error> {
        self.ls_ece(&measure.clone().residual())
    }

    /// `n` rows drawn independently.
    pub fn sample(&self, n: usize, random_state: u64) -> Sample {
        let cumulated = Cumulated::new(&self.masses);
        let mut uniforms = Uniforms::new(random_state);
        Sample::collect(Form::Probabilities, n, || {
            let point = cumulated.pick(uniforms.next());
            (self.predictions[point], uniforms.next() < self.truth[point])
        })
    }
}

fn check_length(what: &'static str, values: &[f64], masses: &[f64]) -> Result<(), Error> {
    let (got, expected) = (values.len(), masses.len());
    if got == expected { Ok(()) } else { Err(Error::LengthMismatch { what, got, expected }) }
}

/// Masses divided by their sum.
fn shares(masses: &[f64]) -> Result<Vec<f64>, Error> {
    for (row, &value) in masses.iter().enumerate() {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(Error::InvalidWeight { row: row as u64, value });
        }
    }
    let largest = masses.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return Err(Error::ZeroWeights { n_rows: masses.len() as u64 });
    }
    // By the largest first, so that the sum does not overflow.
    let total = masses.iter().map(|mass| mass / largest).collect::<Sum>().value();
    Ok(masses.iter().map(|mass| mass / largest / total).collect())
}
