//! Two samples that share no rows: this week against last week, one group against another.

mod clustered;
mod curve;
mod drawing;
mod origin;
mod pooled;

pub use curve::{CommonCurve, CurveChange};
pub use origin::Origin;

use clustered::Clustered;
use drawing::Drawing;
use pooled::Pooled;
pub(super) use pooled::{Features, Place};

use super::difference::Difference;
use super::{Assess, Assessment, Interval, sentence};
use crate::Error;
use crate::data::Sample;
use crate::measure::Measure;
use crate::setters::setters;

/// The most draws for one of many p-values.
const MOST_RESAMPLES: u64 = 100_000;

/// What has changed between two samples that share no rows: a measure, and outcomes at equal
/// predictions.
///
/// # Definition
/// The difference is that of the measure that decides ([`Measure::decided_by`]): for LS-ECE its
/// residual form. Settings that are chosen from the data, such as sigma, are those of the sample
/// before. With a [`Bracket`](super::Bracket) for each sample the interval is made as that of
/// [`Compare`](super::Compare), for models with nothing in common; for other measures it is about
/// the difference of the values without their bias, with both standard errors.
///
/// Whether outcomes at equal predictions have changed is a test of its own ([`CurveChange`]): a
/// model may lose as much in one region as it gains in another, and the value of a measure depends
/// on the distribution of predictions, too. [`Origin`] says how much of a change comes from which.
///
/// # Assumptions
/// Independent rows, in the samples and between them; or independent clusters of rows, where
/// [`Sample::clusters`] names them for both samples. A number that both samples have is one
/// cluster: the same person on two days.
///
/// # Example
/// ```
/// use calipers::population::Family;
/// use calipers::{Drift, LsEce};
///
/// let before = Family::named("calibrated")?.sample(2000, 1);
/// let after = Family::named("overconfident")?.sample(2000, 2);
/// let (before, after) = (before.input().check()?, after.input().check()?);
/// let measure = LsEce::new();
/// let change = Drift::new(&measure).n_resamples(200).run(&before.binary()?, &after.binary()?)?;
/// assert!(change.curve.p_value < 0.05 && change.difference > 0.0);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Drift<'a> {
    measure: &'a dyn Measure,
    level: f64,
    n_resamples: u64,
    random_state: u64,
    n_tests: u64,
}

/// The assessments of two samples, and what has changed between them.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Change {
    /// The sample before.
    pub before: Assessment,
    /// The sample after, at the same settings.
    pub after: Assessment,
    /// The value after less that before, each without its bias, of the measure that decides.
    pub difference: f64,
    /// Where the difference of the populations is.
    pub interval: Interval,
    /// The standard error of the difference.
    pub standard_error: f64,
    /// Of "the populations have equal values", two-sided.
    pub p_value: f64,
    /// Outcomes at equal predictions.
    pub curve: CurveChange,
    /// Clusters with rows in both samples, where there are clusters.
    pub n_shared_clusters: Option<u64>,
    /// Where the change of the measure's value comes from; `None` where predictions of the two
    /// samples hardly overlap, or the measure takes no weights.
    pub origin: Option<Origin>,
    /// The outcome rates of both samples together, which each has if nothing has changed.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub common: CommonCurve,
}

impl<'a> Drift<'a> {
    /// Level 0.95, 1000 resamples, seed 0.
    pub fn new(measure: &'a dyn Measure) -> Self {
        Drift { measure, level: 0.95, n_resamples: 1000, random_state: 0, n_tests: 1 }
    }

    setters! {
        /// The level of the intervals; tests are at 1 - level.
        level: f64;

        /// Draws of each kind.
        n_resamples: u64;

        /// How many p-values are adjusted together: that of [`CurveChange`] gets as many more draws
        /// as it takes to compare it with (1 - level) / n_tests, as [`Assess::n_tests`] has it.
        n_tests: u64;

        /// What the random numbers are made from.
        random_state: u64;
    }

    /// Compares two samples of one outcome: views of rows or sketches, or one of each.
    pub fn run<'s>(&self, before: impl Into<Sample<'s>>, after: impl Into<Sample<'s>>) -> Result<Change, Error> {
        // Every measure is of the one outcome that the curve is of.
        let samples = [before.into(), after.into()].map(|sample: Sample<'s>| Sample { by_default: None, ..sample });
        for sample in &samples {
            sample.binary("sample")?;
        }
        let resolved = self.measure.resolved_as(&samples[0].estimate(self.measure)?);
        let measure = resolved.as_deref().unwrap_or(self.measure);
        let assess =
            Assess::new(measure).level(self.level).n_resamples(self.n_resamples).random_state(self.random_state);
        let [before, after] = [assess.run(samples[0])?, assess.run(samples[1])?];
        let [a, b] = [&after, &before].map(|assessment| assessment.deciding());
        let effective_rows = [&before, &after].map(|assessment| assessment.bootstrap.effective_rows);
        let clustered = Clustered::new([&samples[0], &samples[1]], effective_rows)?;
        let n_shared = clustered.as_ref().map(Clustered::n_shared);
        let sharing = clustered.as_ref().filter(|_| n_shared > Some(0));
        let decided_by = measure.decided_by();
        let deciding = decided_by.as_deref().unwrap_or(measure);
        let found = match (&a.bootstrap.bracket, &b.bootstrap.bracket) {
            (Some(after), Some(before)) => {
                let covariances = sharing.map(|clustered| clustered.covariances(deciding)).transpose()?.flatten();
                Difference::of_samples(after, before, &covariances.unwrap_or_default())
            }
            _ => {
                let difference = (a.estimate.value - a.bootstrap.bias()) - (b.estimate.value - b.bootstrap.bias());
                let deviation = match sharing {
                    Some(clustered) => clustered.deviation_by_draws(deciding, self.n_resamples, self.random_state)?,
                    None => a.standard_error.hypot(b.standard_error),
                };
                Difference::about(difference, deviation)
            }
        };
        let fewer = effective_rows[0].min(effective_rows[1]);
        let (range_a, range_b) = (a.bootstrap.range, b.bootstrap.range);
        let interval = found.interval(self.level, (range_a.0 - range_b.1, range_a.1 - range_b.0), fewer);
        let Drift { n_resamples, random_state, .. } = *self;
        let most_resamples = ((self.n_tests as f64 / (1.0 - self.level)).ceil() as u64).min(MOST_RESAMPLES);
        let drawing = Drawing { n_resamples, most_resamples, random_state };
        let pooled = Pooled::new([&samples[0], &samples[1]], effective_rows)?;
        let (curve, common) = CurveChange::new(&pooled, clustered.as_ref(), self.level, &drawing)?;
        let values = [before.estimate.value, after.estimate.value];
        Ok(Change {
            difference: found.centre.clamp(interval.lower, interval.upper),
            interval,
            standard_error: found.deviation,
            p_value: found.p_value(fewer),
            n_shared_clusters: n_shared.map(|n| n as u64),
            curve,
            common,
            origin: Origin::new(measure, [&samples[0], &samples[1]], &pooled, values),
            before,
            after,
        })
    }
}

impl Change {
    /// Whether outcomes at equal predictions have changed, at 1 - level.
    pub fn is_significant(&self) -> bool {
        self.is_small(self.curve.p_value)
    }

    fn is_small(&self, p: f64) -> bool {
        p <= 1.0 - self.interval.level + 1e-12
    }

    /// What has changed, in plain sentences.
    pub fn sentence(&self) -> String {
        self.worded(None)
    }

    /// The same for one of several groups, with the p-value of the curve after adjusting for their
    /// number.
    pub fn sentence_among_groups(&self, p_adjusted: f64) -> String {
        self.worded(Some(p_adjusted))
    }

    fn worded(&self, p_adjusted: Option<f64>) -> String {
        let deciding = [&self.before, &self.after].map(|assessment| assessment.deciding());
        let name = deciding[0].estimate.title();
        let level = sentence::percent(self.interval.level);
        let digits = sentence::digits(0.5 * (self.interval.upper - self.interval.lower));
        let show = |value: f64| sentence::signed(value, digits);
        let p = sentence::p_value(self.p_value);
        let value = format!(
            "Without noise, {name} is {} before and {} after, a difference of {} ({level} interval {} to {}, {p}).",
            show(deciding[0].debiased),
            show(deciding[1].debiased),
            show(self.difference),
            show(self.interval.lower),
            show(self.interval.upper)
        );
        let changed = self.is_significant() || self.is_small(self.p_value);
        let origin = self.origin.filter(|_| changed).map(|origin| {
            format!(
                " Of the change in {} as measured, {} comes from outcomes and {} from other predictions.",
                self.before.estimate.title(),
                show(origin.outcomes),
                show(origin.predictions)
            )
        });
        format!("{} {value}{}", self.of_curve(p_adjusted), origin.unwrap_or_default())
    }

    /// Whether outcomes at equal predictions have changed, and in which direction.
    fn of_curve(&self, p_adjusted: Option<f64>) -> String {
        let level = sentence::percent(self.interval.level);
        let Interval { lower, upper, .. } = self.curve.interval;
        let odds = format!(
            "the odds of the outcome after are {:.2} times those before ({level} interval {:.2} to {:.2})",
            self.curve.log_odds.exp(),
            lower.exp(),
            upper.exp()
        );
        let alone = sentence::p_value(self.curve.p_value);
        let p = p_adjusted.map_or_else(
            || alone.clone(),
            |p| format!("{alone}, {} after adjusting for all groups", sentence::p_value(p).trim_start_matches("p = ")),
        );
        match self.is_small(p_adjusted.unwrap_or(self.curve.p_value)) {
            true if lower > 0.0 || upper < 0.0 => {
                format!("Outcomes at equal predictions have changed ({p}): on average, {odds}.")
            }
            true => format!(
                "Outcomes at equal predictions have changed ({p}). The data do not show in which direction on average: \
                 {odds}."
            ),
            false => format!("There is no evidence that outcomes at equal predictions have changed ({p}); {odds}."),
        }
    }
}
