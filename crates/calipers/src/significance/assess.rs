//! All of it in one object.

use super::resampler::{check_level, check_resamples};
use super::{Bootstrap, Debias, Interval, IntervalMethod, NoiseFloor};
use crate::Error;
use crate::estimate::{Estimate, Estimator};
use crate::predictions::BinaryView;

/// Measures of which larger is not worse: what a calibrated model would show says nothing by a tail of it.
const NOT_ORDERED: [&str; 4] =
    ["observed_expected", "calibration_in_the_large", "calibration_slope", "calibration_intercept"];

/// Value, noise floor, p-value, interval and debiased value of a measure.
///
/// # Definition
/// Noise floor and p-value as in [`NoiseFloor`]. The interval holds the population's value of the measure at the same settings (sigma, if it is by rule, is that of these
/// rows), by [`IntervalMethod::Corrected`] where the measure has influence values and else by [`IntervalMethod::Normal`]. Where the p-value is above 1 - level, there is an upper
/// limit in its place. The debiased value is one of [`Debias`].
///
/// # Assumptions
/// Independent rows.
///
/// # Cost
/// LS-ECE: one pass, and then some hundred microseconds for each resample, whatever the number of rows; other measures: as much as the measure itself for each.
///
/// # Accuracy
/// That of `n_resamples` draws: the mean of the floor is known to its deviation over √n_resamples. The same seed gives the same bits on any number of threads.
///
/// # Example
/// ```
/// use calipers::population::Family;
/// use calipers::{Assess, LsEce};
///
/// let sample = Family::named("overconfident")?.sample(2000, 1);
/// let predictions = sample.input().check()?;
/// let measure = LsEce::new().sigma(0.5);
/// let assessment = Assess::new(&measure).n_resamples(200).run(&predictions.binary()?)?;
/// assert!(assessment.significant == Some(true) && assessment.floor.as_ref().is_some_and(|floor| floor.mean < 0.03));
/// assert!(assessment.sentence().starts_with("LS-ECE 0.0"));
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Assess<'a> {
    measure: &'a dyn Estimator,
    level: f64,
    n_resamples: u64,
    seed: u64,
    method: Option<IntervalMethod>,
    debias: Debias,
}

impl<'a> Assess<'a> {
    /// Level 0.95, 1000 resamples of each kind, seed 0.
    pub fn new(measure: &'a dyn Estimator) -> Self {
        Assess { measure, level: 0.95, n_resamples: 1000, seed: 0, method: None, debias: Debias::default() }
    }

    /// The level of the interval; the floor test is at 1 - level.
    pub fn level(mut self, level: f64) -> Self {
        self.level = level;
        self
    }

    /// Draws of each kind.
    pub fn n_resamples(mut self, n_resamples: u64) -> Self {
        self.n_resamples = n_resamples;
        self
    }

    /// What the random numbers are made from.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How the interval is made; unless set, by influence values where the measure has them.
    pub fn method(mut self, method: IntervalMethod) -> Self {
        self.method = Some(method);
        self
    }

    /// How noise is taken out of the value.
    pub fn debias(mut self, debias: Debias) -> Self {
        self.debias = debias;
        self
    }

    /// Assesses the rows of a view.
    pub fn run(&self, view: &BinaryView<'_>) -> Result<Assessment, Error> {
        check_level(self.level)?;
        check_resamples(self.n_resamples, self.level)?;
        let estimate = self.measure.estimate(view)?;
        if NOT_ORDERED.contains(&estimate.measure) {
            return Err(Error::setting("measure", "one of which a larger value is worse", estimate.measure));
        }
        let resampler = self.measure.resampler(view)?;
        let floor = NoiseFloor::new(&*resampler, self.n_resamples, self.seed)?;
        let bootstrap = Bootstrap::new(&*resampler, self.n_resamples, self.seed)?;
        let significant = floor.p_value <= 1.0 - self.level + 1e-12;
        let method = self.method.unwrap_or(match bootstrap.corrected_deviation {
            Some(_) => IntervalMethod::Corrected,
            None => IntervalMethod::Normal,
        });
        let interval = Interval::new(estimate.value, &bootstrap, self.level, method, !significant)?;
        Ok(Assessment {
            debiased: self.debias.apply(estimate.value, &floor, &bootstrap),
            debias: self.debias,
            standard_error: bootstrap.influence_deviation.unwrap_or(bootstrap.deviation),
            bias: bootstrap.bias(),
            estimate,
            floor: Some(floor),
            withheld: None,
            interval,
            significant: Some(significant),
            n_clusters: None,
        })
    }
}

/// What is known of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// The figure, with its numerical bound and settings.
    pub estimate: Estimate,
    /// What a calibrated model would show, and the p-value.
    pub floor: Option<NoiseFloor>,
    /// Why there is no floor, where there is none.
    pub withheld: Option<&'static str>,
    /// Where the population's value is.
    pub interval: Interval,
    /// The value without what noise adds to it, never below 0.
    pub debiased: f64,
    /// How that was done.
    pub debias: Debias,
    /// The standard error of the figure: by influence values where there are any, else by the bootstrap.
    pub standard_error: f64,
    /// mean(v*) - v: what the bootstrap adds to the rows' value.
    pub bias: f64,
    /// Whether the p-value is at most 1 - level; unknown without a floor.
    pub significant: Option<bool>,
    /// Clusters of rows that depend on each other, where the rows were said to be so.
    pub n_clusters: Option<u64>,
}
