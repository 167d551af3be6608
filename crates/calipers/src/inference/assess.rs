//! Value, noise floor, p-value, interval and debiased value in one object.

use super::resampler::{Draws, Resampler, check_level, check_resamples, n_kinds_of_floor};
use super::{Bootstrap, Clusters, Debias, Interval, IntervalMethod, NoiseFloor, Parts};
use crate::Error;
use crate::data::{Data, Sample};
use crate::measure::{Estimate, Measure};
use crate::setters::setters;
use crate::watch;

/// Value, noise floor, p-value, interval and debiased value of a measure.
///
/// # Definition
/// Noise floor and p-value as in [`NoiseFloor`]. The interval holds the population's value of the
/// measure at the same settings (sigma, if chosen automatically, is that of these rows), by
/// [`IntervalMethod::BiasAware`] where the measure has a [`Bracket`](super::Bracket) and else by
/// [`IntervalMethod::Normal`]. Where the p-value is above 1 - level, there is an upper limit in its
/// place. The debiased value is one of [`Debias`].
///
/// Where another measure decides ([`Measure::decided_by`]), as the residual form does for LS-ECE,
/// it is assessed, too, and p-value and debiased value are its own.
///
/// # Assumptions
/// Independent rows; or independent clusters of rows, where [`Sample::clusters`] names them.
///
/// # Cost
/// LS-ECE: one pass, and then some hundred microseconds for each resample, whatever the number of
/// rows; with clusters one pass for each resample. Other measures: as much as the measure itself
/// for each.
///
/// # Accuracy
/// That of `n_resamples` draws: the mean of the floor is known to its deviation over √n_resamples.
/// The same seed gives the same bits on any number of threads.
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
/// assert!(assessment.sentence().starts_with("LS-ECE is 0.0"));
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Assess<'a> {
    pub(super) measure: &'a dyn Measure,
    pub(super) level: f64,
    pub(super) n_resamples: u64,
    n_resamples_of_rows: Option<u64>,
    pub(super) random_state: u64,
    method: Option<IntervalMethod>,
    debias: Debias,
    n_tests: u64,
}

impl<'a> Assess<'a> {
    /// Level 0.95, 1000 resamples of each kind, seed 0.
    pub fn new(measure: &'a dyn Measure) -> Self {
        Assess {
            measure,
            level: 0.95,
            n_resamples: 1000,
            n_resamples_of_rows: None,
            random_state: 0,
            method: None,
            debias: Debias::default(),
            n_tests: 1,
        }
    }

    setters! {
        /// The level of the interval; the floor test is at 1 - level.
        level: f64;

        /// Draws of each kind.
        n_resamples: u64;

        /// Draws of each kind where each of them draws every row, which takes the longer the more
        /// rows there are ([`Resampler::draws_rows`]): as many as others, unless set.
        n_resamples_of_rows: some u64;

        /// Of how many tests this is one, such as one for each group: the p-value gets as many more
        /// draws as it takes to compare it with (1 - level) / n_tests, the smallest level of the
        /// methods of [`Adjust`](super::Adjust) ([`NoiseFloor::resolving`]).
        n_tests: u64;

        /// What the random numbers are made from.
        random_state: u64;

        /// How the interval is made; unless set, with its bias in mind where the measure has a
        /// bracket.
        method: some IntervalMethod;

        /// How noise is taken out of the value.
        debias: Debias;
    }

    /// Assesses a sample: the rows of a view, its classes, or a sketch, for measures whose
    /// [`Spec::from_sketch`](crate::Spec::from_sketch) is `Assessment`. Rows of a sketch are taken
    /// to be independent.
    ///
    /// Class by class the value is the mean over classes. A calibrated draw gives each row one
    /// label with its predicted probabilities, and a bootstrap draw has the same rows for
    /// all classes: classes depend on each other, and the mean over them is measured again as it
    /// is. Each draw costs as much as the measure does, for LS-ECE too.
    pub fn run<'s>(&self, sample: impl Into<Sample<'s>>) -> Result<Assessment, Error> {
        self.run_sample(sample.into())
    }

    fn run_sample(&self, sample: Sample<'_>) -> Result<Assessment, Error> {
        self.check()?;
        let sample = sample.for_measure(self.measure);
        let clusters = sample.resolved_clusters()?;
        let (estimate, resampler) = self.resampler(sample, clusters.as_ref())?;
        let confidences = match sample.data {
            Data::Rows(view) => sample.confidences.or(Some(view.has_confidences())),
            Data::Classes(..) | Data::AllClasses(_) => None,
            Data::Sketch(_) => sample.confidences,
        };
        let n_clusters = clusters.as_ref().map(|clusters| clusters.len() as u64);
        let assess = self.with_resamples_for(&*resampler)?;
        let Some(measure) = self.measure.decided_by() else {
            let found = assess.assess(estimate, &*resampler, None, None, confidences)?;
            return Ok(Assessment { n_clusters, ..found });
        };
        let decider = Assess { measure: &*measure, ..*self };
        let (of_decider, other) = decider.resampler(sample.for_measure(&*measure), clusters.as_ref())?;
        let decider = decider.with_resamples_for(&*other)?;
        let pairs = match assess.n_resamples == decider.n_resamples {
            true => Draws::pairs(&*resampler, &*other, assess.n_resamples, assess.random_state)?,
            false => None,
        };
        let (own, others) = pairs.map(|[own, others]| (own, others)).unzip();
        let decided = decider.assess(of_decider, &*other, others, None, confidences)?;
        let decided = Assessment { n_clusters, ..decided };
        let found = assess.assess(estimate, &*resampler, own, Some(decided), confidences)?;
        Ok(Assessment { n_clusters, ..found })
    }

    /// The value, and resamples of it.
    fn resampler<'s>(
        &'s self,
        sample: Sample<'s>,
        clusters: Option<&'s Clusters>,
    ) -> Result<(Estimate, Box<dyn Resampler + 's>), Error> {
        let estimate = sample.estimate(self.measure)?;
        check_ordered(&estimate)?;
        let resampler = sample.resampler(self.measure, clusters, Some(estimate.value))?;
        Ok((estimate, resampler))
    }

    /// With as many resamples as are wanted of this kind.
    fn with_resamples_for(&self, resampler: &dyn Resampler) -> Result<Self, Error> {
        let found = match self.n_resamples_of_rows {
            Some(n_resamples) if resampler.draws_rows() => Assess { n_resamples, ..*self },
            _ => *self,
        };
        found.check()?;
        Ok(found)
    }

    /// Whether level and number of resamples can be had, before there are any rows.
    pub fn check(&self) -> Result<(), Error> {
        check_level(self.level)?;
        check_resamples(self.n_resamples, self.level)
    }

    fn assess(
        &self,
        estimate: Estimate,
        resampler: &dyn Resampler,
        calibrated: Option<Draws>,
        decided: Option<Assessment>,
        confidences: Option<bool>,
    ) -> Result<Assessment, Error> {
        let bracket = resampler.bracket();
        // Interval and debiased value need no bootstrap draws where the bracket gives both.
        let of_bracket = bracket
            .filter(|_| matches!(self.method, None | Some(IntervalMethod::BiasAware)) && self.debias == Debias::Local);
        let n_kinds_of_floor = n_kinds_of_floor(resampler).saturating_sub(u64::from(calibrated.is_some()));
        watch::expect_draws((u64::from(of_bracket.is_none()) + n_kinds_of_floor) * self.n_resamples);
        let bootstrap = match of_bracket {
            Some(bracket) => Bootstrap::of_bracket(resampler, bracket),
            None => Bootstrap::new(resampler, self.n_resamples, self.random_state)?,
        };
        let unavailable = resampler.floor_unavailable();
        // Where another measure decides, the p-value is its own.
        let is_of_many = decided.is_none() && self.n_tests > 1;
        let resolution = if is_of_many { (1.0 - self.level) / self.n_tests as f64 } else { 1.0 };
        let mut floor = match (unavailable, calibrated) {
            (None, Some(draws)) => Some(NoiseFloor::of_draws(resampler, &draws, resolution, self.random_state)?),
            (None, None) => Some(NoiseFloor::resolving(resampler, self.n_resamples, resolution, self.random_state)?),
            (Some(_), _) => None,
        };
        let is_unbiased = !estimate.spec.biased_up;
        let most_bias = floor.as_ref().map_or(f64::INFINITY, |floor| floor.mean);
        let bootstrap = match of_bracket {
            Some(_) => bootstrap,
            None => Bootstrap { is_unbiased, most_bias, ..bootstrap },
        };
        if let Some((floor, decided)) = floor.as_mut().zip(decided.as_ref().and_then(|decided| decided.floor.as_ref()))
        {
            (floor.p_value, floor.n_draws) = (decided.p_value, decided.n_draws);
        }
        let significant = floor.as_ref().map(|floor| floor.p_value <= 1.0 - self.level + 1e-12);
        let method = self.method.unwrap_or(match bracket {
            Some(_) => IntervalMethod::BiasAware,
            None => IntervalMethod::Normal,
        });
        // A score that is no larger than a calibrated model's says nothing of how small it can be.
        let is_upper_limit = significant == Some(false) && !estimate.spec.is_score();
        let interval = Interval::new(estimate.value, &bootstrap, self.level, method, is_upper_limit)?;
        let by_place = bootstrap.debiased_by_place(estimate.value).filter(|_| self.debias == Debias::Local);
        let (debias, debiased) = match (by_place, &floor, self.debias) {
            (Some(debiased), ..) => (Debias::Local, debiased),
            (None, Some(floor), rule) if !is_unbiased => {
                let rule = if rule == Debias::Local { Debias::Mean } else { rule };
                (rule, rule.apply(estimate.value, floor, &bootstrap))
            }
            _ => (Debias::Bootstrap, (estimate.value - bootstrap.bias()).max(0.0)),
        };
        let parts = match &decided {
            Some(decided) => decided.parts,
            None => {
                resampler.parts().map(|parts| Parts::new(&parts, &interval, resampler.effective_rows(), confidences))
            }
        };
        Ok(Assessment {
            debiased: decided.as_ref().map_or(debiased, |decided| decided.debiased),
            debias: decided.as_ref().map_or(debias, |decided| decided.debias),
            standard_error: bootstrap.influence_deviation.unwrap_or(bootstrap.deviation),
            bias: bootstrap.bias(),
            parts,
            smoothing: resampler.smoothing_alone().filter(|size| *size > 0.0),
            residual: decided.map(Box::new),
            estimate,
            floor,
            unavailable,
            interval,
            significant,
            n_clusters: None,
            bootstrap,
        })
    }
}

/// A one-sided p-value has no meaning for a measure whose larger values are not worse.
pub(super) fn check_ordered(estimate: &Estimate) -> Result<(), Error> {
    let rule = "one for which a larger value is worse";
    Error::require(estimate.spec.larger_is_worse(), "measure", rule, estimate.measure())
}

/// A value with its noise floor, p-value, interval and debiased value.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Assessment {
    /// The value, with its numerical bound and settings.
    pub estimate: Estimate,
    /// The value that a perfectly calibrated model would get by chance alone, and the p-value.
    pub floor: Option<NoiseFloor>,
    /// Why the floor is not available, where it is not.
    pub unavailable: Option<&'static str>,
    /// Where the population's value is.
    pub interval: Interval,
    /// The value without what chance adds to it, never below 0.
    pub debiased: f64,
    /// How that was done.
    pub debias: Debias,
    /// The standard error of the value: by influence values where there are any, else by the
    /// bootstrap.
    pub standard_error: f64,
    /// How far the value is biased up: the value less its corrected value, or by bootstrap draws v*
    /// the mean(v*) - v.
    pub bias: f64,
    /// Whether the p-value is at most 1 - level; unknown without a floor.
    pub significant: Option<bool>,
    /// The measure that decided, where it is another one: for LS-ECE its residual form. Then the
    /// p-value, `significant`, `debiased`, `debias` and `parts` above are its own.
    pub residual: Option<Box<Assessment>>,
    /// The direction of miscalibration, for measures that have it.
    pub parts: Option<Parts>,
    /// For LS-ECE, the part that smoothing alone causes: its value if outcomes were exactly as
    /// predicted.
    pub smoothing: Option<f64>,
    /// Clusters of rows that depend on each other, where they were given.
    pub n_clusters: Option<u64>,
    /// The draws that the interval is made from.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub bootstrap: Bootstrap,
}

impl Assessment {
    /// The assessment that verdicts are made of: that of the measure that decides, or this one.
    pub fn deciding(&self) -> &Assessment {
        self.residual.as_deref().unwrap_or(self)
    }
}
