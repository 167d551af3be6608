//! The direction of miscalibration in one word, and the predictions that it concerns most.

use std::f64::consts::FRAC_1_SQRT_2;

use super::calibration_tests::{TrialSet, Trials};
use super::sentence::digits;
use super::{Part, Parts};
use crate::Error;
use crate::data::{Binary, Sample};
use crate::link::Link;
use crate::names::names;

/// What predictions are, for the most part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Outcomes happen less often than predicted.
    TooHigh,
    /// Outcomes happen more often than predicted.
    TooLow,
    /// Predictions are further from 1/2 than outcomes are.
    Overconfident,
    /// Predictions are nearer to 1/2 than outcomes are.
    Underconfident,
}

names! { Direction, "direction";
    TooHigh = "too_high",
    TooLow = "too_low",
    Overconfident = "overconfident",
    Underconfident = "underconfident",
}

impl Direction {
    /// The direction as it stands in a sentence.
    pub fn in_words(self) -> &'static str {
        match self {
            Direction::TooHigh => "too high",
            Direction::TooLow => "too low",
            Direction::Overconfident => "overconfident",
            Direction::Underconfident => "underconfident",
        }
    }

    /// The direction of the errors that have the opposite sign.
    fn opposite(self) -> Self {
        match self {
            Direction::TooHigh => Direction::TooLow,
            Direction::TooLow => Direction::TooHigh,
            Direction::Overconfident => Direction::Underconfident,
            Direction::Underconfident => Direction::Overconfident,
        }
    }
}

/// Over- and underconfidence are named only where they explain so much more than one direction
/// does: rare events that are predicted too often are "too high", although they are underconfident
/// too.
const MUCH_MORE: f64 = 1.1;

impl Parts {
    /// The direction of the errors: of the signed parts whose interval excludes 0, the one with the
    /// largest debiased value. `None` if no interval excludes 0. Over- and underconfidence are
    /// named if they are larger by a tenth than the larger one of the other two, and for
    /// confidences in a predicted class, where they are the same as too high and too low.
    pub fn direction(&self) -> Option<Direction> {
        let (high, low) = (&self.too_high, &self.too_low);
        let sides = [(Direction::TooHigh, high), (Direction::TooLow, low)];
        let of_confidences = self.confidence.is_some_and(|found| found.over == *high && found.under == *low);
        let confidence = self.confidence.as_ref().filter(|_| !of_confidences);
        let confidence = confidence
            .map(|found| [(Direction::Overconfident, &found.over), (Direction::Underconfident, &found.under)]);
        let largest = |parts: &[(Direction, &Part)]| {
            let shown = parts.iter().filter(|(_, part)| part.interval.lower > 0.0);
            shown
                .max_by(|a, b| a.1.debiased.total_cmp(&b.1.debiased))
                .map(|(direction, part)| (*direction, part.debiased))
        };
        let (side, confidence) = (largest(&sides), confidence.and_then(|parts| largest(&parts)));
        let largest_side = high.debiased.max(low.debiased);
        match (side, confidence) {
            (_, Some((direction, size))) if size > MUCH_MORE * largest_side => Some(direction),
            (Some((Direction::TooHigh, _)), _) if of_confidences => Some(Direction::Overconfident),
            (Some((Direction::TooLow, _)), _) if of_confidences => Some(Direction::Underconfident),
            (Some((direction, _)), _) => Some(direction),
            (None, found) => found.map(|(direction, _)| direction),
        }
    }

    /// The opposite of the direction, if the data show errors of that kind, too.
    pub fn opposite_direction(&self) -> Option<Direction> {
        let opposite = self.direction()?.opposite();
        self.of(opposite).filter(|part| part.interval.lower > 0.0).map(|_| opposite)
    }

    /// The direction and its size in a few words, for tables: `too high by 0.031`. Where the data
    /// show errors in the opposite direction too, both are named: `too high by 0.031, too low by
    /// 0.020`. Sizes are debiased.
    ///
    /// # Example
    /// ```
    /// use calipers::population::Family;
    /// use calipers::{Assess, LsEce};
    ///
    /// let sample = Family::named("overconfident")?.sample(5000, 1);
    /// let predictions = sample.input().check()?;
    /// let measure = LsEce::new().sigma(0.3);
    /// let found = Assess::new(&measure).n_resamples(100).run(&predictions.binary()?)?;
    /// let direction = found.parts.and_then(|parts| parts.direction_in_words());
    /// assert!(direction.is_some_and(|words| words.starts_with("overconfident by 0.0")));
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn direction_in_words(&self) -> Option<String> {
        let with_size = |direction: Direction| {
            let part = self.of(direction)?;
            let digits = digits(0.5 * (part.interval.upper - part.interval.lower));
            Some(format!("{} by {:.digits$}", direction.in_words(), part.debiased))
        };
        Some(
            [Some(self.direction()?), self.opposite_direction()]
                .into_iter()
                .flatten()
                .filter_map(with_size)
                .collect::<Vec<_>>()
                .join(", "),
        )
    }

    /// The part of the errors that have this direction.
    fn of(&self, direction: Direction) -> Option<&Part> {
        match direction {
            Direction::TooHigh => Some(&self.too_high),
            Direction::TooLow => Some(&self.too_low),
            Direction::Overconfident => self.confidence.as_ref().map(|found| &found.over),
            Direction::Underconfident => self.confidence.as_ref().map(|found| &found.under),
        }
    }
}

/// Predictions above or below a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Region {
    /// Whether they are above the threshold, or at most as large as it.
    pub is_above: bool,
    /// The threshold.
    pub threshold: f64,
    /// The number of rows in the region.
    pub n: u64,
    /// Their mean probability.
    pub mean_probability: f64,
    /// Their outcome rate.
    pub outcome_rate: f64,
}

/// The thresholds that are tried: round numbers that people name.
const THRESHOLDS: [f64; 13] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];

/// The number of regions that are tried: above and below each threshold.
const N_REGIONS: f64 = 2.0 * THRESHOLDS.len() as f64;

/// The smallest number of rows on either side: with fewer, a mean is not nearly normal.
const LEAST_ROWS: u64 = 20;

/// Sums over the trials on one side of a threshold.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    n: u64,
    weight: f64,
    probability: f64,
    /// Σ w (y - p).
    residual: f64,
    /// Σ w² (y - p)², and what calibrated predictions would have.
    squares: f64,
    variance: f64,
}

impl Side {
    fn of<'a>(trials: impl Iterator<Item = &'a Trials>) -> Self {
        trials.fold(Side::default(), |sums, trials| Side {
            n: sums.n + trials.n,
            weight: sums.weight + trials.total_weight(),
            probability: sums.probability + trials.total_weight() * trials.p,
            residual: sums.residual + trials.residual(trials.n_positive),
            squares: sums.squares + trials.squares(trials.n_positive),
            variance: sums.variance + trials.variance(),
        })
    }

    /// The mean of y - p.
    fn gap(&self) -> f64 {
        self.residual / self.weight
    }

    /// An upper estimate of the variance of the gap: by the residuals or by the predictions,
    /// whichever is larger. Residuals alone are too few where events are rare.
    fn gap_variance(&self) -> f64 {
        self.squares.max(self.variance) / (self.weight * self.weight)
    }
}

/// The region in which predictions that are `too_high` (or too low) are so most of all; `None` if
/// the data do not show one.
///
/// # Definition
/// For each of 13 thresholds from 0.01 to 0.99, and for the rows above and below it:
/// ```text
/// z = (g_inside - g_outside) / √(v_inside + v_outside)      g the mean of p - y (of y - p for too low), v its variance
/// ```
/// The region is the one with the largest z among those with at least 20 rows inside and outside,
/// whose gap inside is at least twice that outside. The one-sided p-values of z, and of the gap
/// inside against 0, are at most 1 - level after adjustment for all 26 regions (Bonferroni). v is
/// the larger one of Σ w² (y - p)² and Σ w² p (1 - p), over the squared weight, so that it is no
/// underestimate of the variance.
///
/// # Assumptions
/// Independent rows: rows with clusters have no region.
///
/// # Example
/// Half of the rows are predicted well; the others, at 0.6, happen half as often.
/// ```
/// use calipers::inference::most_of_all;
/// use calipers::{Input, Logistic};
///
/// let p: Vec<f64> = (0..2000).map(|row| if row % 2 == 0 { 0.1 } else { 0.6 }).collect();
/// let y: Vec<bool> = (0..2000).map(|row| row % 20 == 0 || row % 10 == 1 || row % 10 == 3 || row % 20 == 5).collect();
/// let predictions = Input::probabilities(&p, &y).check()?;
/// let region = most_of_all(&predictions.binary()?, &Logistic, true, 0.95)?.unwrap();
/// assert!(region.is_above && region.n == 1000);
/// # Ok::<(), calipers::Error>(())
/// ```
pub fn most_of_all<'s>(
    sample: impl Into<Sample<'s>>,
    link: &dyn Link,
    too_high: bool,
    level: f64,
) -> Result<Option<Region>, Error> {
    let sample = sample.into();
    super::check_level(level)?;
    if sample.has_clusters() {
        return Ok(None);
    }
    let TrialSet(trials) = match sample.binary("a region")? {
        Binary::Rows(view) => TrialSet::read(view, link)?,
        Binary::Sketch(sketch) => TrialSet::of_sketch(sketch, link)?,
    };
    let sign = if too_high { -1.0 } else { 1.0 };
    let mut best: Option<(f64, Region)> = None;
    for threshold in THRESHOLDS {
        let below = Side::of(trials.iter().filter(|trials| trials.p <= threshold));
        let above = Side::of(trials.iter().filter(|trials| trials.p > threshold));
        if below.n.min(above.n) < LEAST_ROWS {
            continue;
        }
        for (is_above, inside, outside) in [(true, above, below), (false, below, above)] {
            let (gap, other) = (sign * inside.gap(), sign * outside.gap());
            let z = (gap - other) / (inside.gap_variance() + outside.gap_variance()).sqrt();
            let is_evident = |z: f64| 0.5 * libm::erfc(z * FRAC_1_SQRT_2) * N_REGIONS <= 1.0 - level;
            // Of regions that are equally clear, the first stays.
            let is_clear = gap >= 2.0 * other && is_evident(z) && is_evident(gap / inside.gap_variance().sqrt());
            if is_clear && best.is_none_or(|(least, _)| z > least * (1.0 + 1e-9)) {
                let mean_probability = inside.probability / inside.weight;
                let outcome_rate = mean_probability + inside.gap();
                best = Some((z, Region { is_above, threshold, n: inside.n, mean_probability, outcome_rate }));
            }
        }
    }
    Ok(best.map(|(_, region)| region))
}

#[cfg(test)]
mod tests {
    use super::super::{Confidence, Interval, IntervalMethod, Part};
    use super::*;
    use crate::numerics::random::Uniforms;
    use crate::{Input, Logistic};

    fn part(debiased: f64, lower: f64) -> Part {
        let interval = Interval {
            lower,
            upper: debiased + 0.01,
            level: 0.95,
            method: IntervalMethod::BiasAware,
            is_upper_limit: false,
        };
        Part { value: debiased, debiased, interval }
    }

    #[test]
    fn the_direction_is_that_of_the_largest_part_that_the_data_show() {
        let (none, some, much) = (part(0.01, 0.0), part(0.03, 0.02), part(0.06, 0.05));
        let parts = |too_high, too_low, confidence: Option<(Part, Part)>| Parts {
            too_high,
            too_low,
            confidence: confidence.map(|(over, under)| Confidence { over, under }),
        };
        let cases = [
            (parts(some, none, None), Some(Direction::TooHigh)),
            (parts(none, some, None), Some(Direction::TooLow)),
            (parts(none, none, None), None),
            // Too high above one half and too low below it.
            (parts(some, some, Some((much, none))), Some(Direction::Overconfident)),
            (parts(some, some, Some((none, much))), Some(Direction::Underconfident)),
            // Rare events that are predicted too often: all of it is underconfident, too.
            (parts(much, none, Some((part(0.0, 0.0), much))), Some(Direction::TooHigh)),
            // Confidences in a predicted class.
            (parts(much, none, Some((much, none))), Some(Direction::Overconfident)),
            (parts(none, much, Some((none, much))), Some(Direction::Underconfident)),
        ];
        for (parts, direction) in cases {
            assert_eq!(parts.direction(), direction, "{parts:?}");
        }
        let words = |parts: Parts| parts.direction_in_words();
        assert_eq!(words(parts(some, none, None)).as_deref(), Some("too high by 0.030"));
        assert_eq!(words(parts(some, much, None)).as_deref(), Some("too low by 0.060, too high by 0.030"));
        assert_eq!(words(parts(some, some, Some((none, much)))).as_deref(), Some("underconfident by 0.060"));
        assert_eq!(words(parts(none, none, None)), None);
    }

    /// Rows whose outcomes happen with the given rate.
    fn drawn(n: usize, seed: u64, p: impl Fn(f64) -> f64, rate: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<bool>) {
        let mut uniforms = Uniforms::new(seed);
        let p: Vec<f64> = (0..n).map(|_| p(uniforms.next())).collect();
        let y = p.iter().map(|p| uniforms.next() < rate(*p)).collect();
        (p, y)
    }

    fn region((p, y): &(Vec<f64>, Vec<bool>), too_high: bool) -> Option<Region> {
        let predictions = Input::probabilities(p, y).check().unwrap();
        most_of_all(&predictions.binary().unwrap(), &Logistic, too_high, 0.95).unwrap()
    }

    #[test]
    fn a_region_is_where_the_gap_is() {
        let rare = |u: f64| 0.6 * u.powi(4);
        let found = region(&drawn(20_000, 1, rare, |p| if p > 0.2 { 0.4 * p } else { p }), true).unwrap();
        assert!(found.is_above && (0.1..=0.3).contains(&found.threshold), "{found:?}");
        assert!(found.mean_probability > 1.5 * found.outcome_rate, "{found:?}");
        let found = region(&drawn(20_000, 2, |u| u, |p| if p < 0.1 { 0.3 } else { p }), false).unwrap();
        assert!(!found.is_above && found.threshold == 0.1, "{found:?}");
    }

    /// An error of the same size everywhere, or none, has no region: in at most 5 % of samples one
    /// is found. Nor has one in the other direction.
    #[test]
    fn an_even_error_has_no_region() {
        type Curve = fn(f64) -> f64;
        let cases: [(Curve, Curve, bool, &[usize]); 4] = [
            (|u| 0.1 + 0.8 * u, |p| p - 0.08, true, &[60, 1000]),
            (|u| 0.5 * u.powi(6) + 0.002, |p| p, true, &[60, 1000]),
            (|u| 1.0 - 0.3 * u.powi(5), |p| p, true, &[60, 1000]),
            (|u| 0.5 * u.powi(8) + 0.002, |p| 0.9 * p, false, &[5000]),
        ];
        for (p, rate, too_high, sizes) in cases {
            for n in sizes {
                let found = |seed: &u64| region(&drawn(*n, 77 + seed, p, rate), too_high).is_some();
                let n_found = (0..200).filter(found).count();
                assert!(n_found <= 10, "{n_found} of 200 with {n} rows");
            }
        }
    }
}
