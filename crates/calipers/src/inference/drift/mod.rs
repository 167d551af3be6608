//! Two samples that share no rows: this week against last week, one group against another.

mod curve;
mod origin;
mod pooled;

pub use curve::CurveChange;
pub use origin::Origin;

use pooled::Pooled;
pub(super) use pooled::{Features, Place};

use super::difference::Difference;
use super::{Assess, Assessment, Interval, sentence};
use crate::Error;
use crate::data::Sample;
use crate::measure::Measure;
use crate::setters::setters;

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
/// Independent rows, in the samples and between them.
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
    /// Where the change of the measure's value comes from; `None` where predictions of the two
    /// samples hardly overlap, or the measure takes no weights.
    pub origin: Option<Origin>,
}

impl<'a> Drift<'a> {
    /// Level 0.95, 1000 resamples, seed 0.
    pub fn new(measure: &'a dyn Measure) -> Self {
        Drift { measure, level: 0.95, n_resamples: 1000, random_state: 0 }
    }

    setters! {
        /// The level of the intervals; tests are at 1 - level.
        level: f64;

        /// Draws of each kind.
        n_resamples: u64;

        /// What the random numbers are made from.
        random_state: u64;
    }

    /// Compares two samples of one outcome: views of rows or sketches, or one of each.
    pub fn run<'s>(&self, before: impl Into<Sample<'s>>, after: impl Into<Sample<'s>>) -> Result<Change, Error> {
        let samples = [before.into(), after.into()];
        for sample in &samples {
            sample.binary("sample")?;
            let rule = "left out, since a change is tested for independent rows";
            Error::require(!sample.has_clusters(), "clusters", rule, "some")?;
        }
        let resolved = self.measure.resolved_as(&samples[0].estimate(self.measure)?);
        let measure = resolved.as_deref().unwrap_or(self.measure);
        let assess =
            Assess::new(measure).level(self.level).n_resamples(self.n_resamples).random_state(self.random_state);
        let [before, after] = [assess.run(samples[0])?, assess.run(samples[1])?];
        let [a, b] = [&after, &before].map(|assessment| assessment.deciding());
        let found = match (&a.bootstrap.bracket, &b.bootstrap.bracket) {
            (Some(after), Some(before)) => Difference::of_independent(after, before),
            _ => Difference::about(
                (a.estimate.value - a.bootstrap.bias()) - (b.estimate.value - b.bootstrap.bias()),
                a.standard_error.hypot(b.standard_error),
            ),
        };
        let effective_rows = [&before, &after].map(|assessment| assessment.bootstrap.effective_rows);
        let fewer = effective_rows[0].min(effective_rows[1]);
        let (range_a, range_b) = (a.bootstrap.range, b.bootstrap.range);
        let interval = found.interval(self.level, (range_a.0 - range_b.1, range_a.1 - range_b.0), fewer);
        let pooled = Pooled::new([&samples[0], &samples[1]], effective_rows)?;
        let values = [before.estimate.value, after.estimate.value];
        Ok(Change {
            difference: found.centre.clamp(interval.lower, interval.upper),
            interval,
            standard_error: found.deviation,
            p_value: found.p_value(fewer),
            curve: CurveChange::new(&pooled, self.level, self.n_resamples, self.random_state)?,
            origin: Origin::new(measure, [&samples[0], &samples[1]], &pooled, values),
            before,
            after,
        })
    }
}

impl Change {
    /// Whether outcomes at equal predictions have changed, at 1 - level.
    pub fn is_significant(&self) -> bool {
        self.curve.p_value <= 1.0 - self.interval.level + 1e-12
    }

    /// What has changed, in plain sentences.
    pub fn sentence(&self) -> String {
        let level = sentence::percent(self.interval.level);
        let Interval { lower, upper, .. } = self.curve.interval;
        let odds = format!(
            "the odds of the outcome after are {:.2} times those before ({level} interval {:.2} to {:.2})",
            self.curve.log_odds.exp(),
            lower.exp(),
            upper.exp()
        );
        let p = sentence::p_value(self.curve.p_value);
        let curve = match self.is_significant() {
            true => format!("Outcomes at equal predictions have changed ({p}): on average, {odds}."),
            false => format!("There is no evidence that outcomes at equal predictions have changed ({p}); {odds}."),
        };
        let deciding = [&self.before, &self.after].map(|assessment| assessment.deciding());
        let name = deciding[0].estimate.title();
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
        let origin = self.origin.filter(|_| self.is_significant()).map(|origin| {
            format!(
                " Of the change in {} as measured, {} comes from outcomes and {} from other predictions.",
                self.before.estimate.title(),
                show(origin.outcomes),
                show(origin.predictions)
            )
        });
        format!("{curve} {value}{}", origin.unwrap_or_default())
    }
}
