//! What one look at a window has found.

use super::directions::Units;
use super::expected::Range;
use super::window::Window;
use crate::inference::Assessment;
use crate::link::{Link, Logistic};

/// One window, and the e-value after it.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Look {
    /// Its number, from 1.
    pub number: u64,
    /// Its name.
    pub window: String,
    /// Rows of the window.
    pub n: u64,
    /// Mean of the predicted probabilities; NaN without rows.
    pub mean_probability: f64,
    /// Mean of the probabilities that are expected: the predicted ones, or those of the reference.
    pub expected_rate: f64,
    /// The share of outcome 1.
    pub outcome_rate: f64,
    /// By how much the log-odds of outcomes are above what is expected, on average: by maximum
    /// likelihood with Firth's correction.
    pub shift: f64,
    /// Its standard error.
    pub shift_standard_error: f64,
    /// ln of the e-value after this window.
    pub log_e_value: f64,
    /// Whether the e-value is at its limit or above.
    pub is_above_limit: bool,
    /// The value of a measure in this window, if one was requested.
    pub value: Option<WindowValue>,
    /// Sums for the onset: the score, the information, and the allowed departure.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) sums: Sums,
}

/// A measure in one window.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct WindowValue {
    /// The title of the measure.
    pub measure: String,
    /// Its value.
    pub value: f64,
    /// The 95 % quantile of the noise floor: what a perfectly calibrated model would hardly exceed.
    pub floor: f64,
    /// Lower end of the interval of the population's value.
    pub lower: f64,
    /// Its upper end.
    pub upper: f64,
}

/// Sums over a window, or over several, as functions of a shift and a slope.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    /// Derivatives of the log-likelihood at what is expected.
    pub(super) score: [f64; 2],
    /// Its information: of the shift, of both, of the slope.
    pub(super) information: [f64; 3],
    /// The half-width of what the null hypothesis allows, times the information of the shift.
    pub(super) allowed: f64,
}

impl Sums {
    pub(super) fn add(&mut self, other: &Sums) {
        self.score.iter_mut().zip(other.score).for_each(|(sum, more)| *sum += more);
        self.information.iter_mut().zip(other.information).for_each(|(sum, more)| *sum += more);
        self.allowed += other.allowed;
    }
}

impl WindowValue {
    /// Of the measure that decides.
    pub(super) fn of(assessment: &Assessment) -> Self {
        let deciding = assessment.deciding();
        WindowValue {
            measure: deciding.estimate.title().to_owned(),
            value: deciding.estimate.value,
            floor: deciding.floor.as_ref().map_or(f64::NAN, |floor| floor.quantiles[2]),
            lower: deciding.interval.lower,
            upper: deciding.interval.upper,
        }
    }
}

impl Look {
    pub(super) fn new(name: &str, number: u64, window: &Window, ranges: &[Range], units: Option<&Units>) -> Self {
        let n = window.n as f64;
        let (mut predicted, mut expected, mut positive) = (0.0, 0.0, 0);
        let mut sums = Sums::default();
        for (place, range) in window.places.iter().zip(ranges) {
            let total = place.total() as f64;
            let (p, complement) = Logistic.both(range.centre);
            predicted += total * Logistic.response(place.h);
            expected += total * p;
            positive += place.n[1];
            let residual = place.n[1] as f64 * complement - place.n[0] as f64 * p;
            let information = total * p * complement;
            let z = units.map_or(0.0, |units| units.standard(place.h));
            let half = 0.5 * (range.upper - range.lower);
            sums.add(&Sums {
                score: [residual, residual * z],
                information: [information, information * z, information * z * z],
                allowed: if half.is_finite() { half * information } else { 0.0 },
            });
        }
        let (shift, shift_standard_error) = shift(window, ranges, positive);
        Look {
            number,
            window: name.to_owned(),
            n: window.n,
            mean_probability: predicted / n,
            expected_rate: expected / n,
            outcome_rate: positive as f64 / n,
            shift,
            shift_standard_error,
            log_e_value: 0.0,
            is_above_limit: false,
            value: None,
            sums,
        }
    }

    /// The e-value after this window; infinite beyond 1e308.
    pub fn e_value(&self) -> f64 {
        self.log_e_value.exp()
    }
}

/// The shift by maximum likelihood with Firth's correction, which keeps it finite where all
/// outcomes are equal, and its standard error: the root of Σ(y - p) + Σp(1-p)(1-2p) / (2 Σp(1-p)),
/// which falls with the shift, by steps of Newton's method that stay in the bracket of the root.
fn shift(window: &Window, ranges: &[Range], positive: u64) -> (f64, f64) {
    if window.n == 0 {
        return (f64::NAN, f64::NAN);
    }
    let at = |shift: f64| {
        let (mut expected, mut information, mut third) = (0.0, 0.0, 0.0);
        for (place, range) in window.places.iter().zip(ranges) {
            let (total, (p, complement)) = (place.total() as f64, Logistic.both(range.centre + shift));
            expected += total * p;
            information += total * p * complement;
            third += total * p * complement * (complement - p);
        }
        (positive as f64 - expected + 0.5 * third / information, information)
    };
    let (mut lower, mut upper, mut shift, mut last) = (-20.0, 20.0, 0.0_f64, f64::INFINITY);
    while upper - lower > 1e-9 {
        let (score, information) = at(shift);
        if score > 0.0 {
            lower = shift
        } else {
            upper = shift
        }
        let step = score / information;
        // The correction changes slowly, so that a step this small is at the root.
        if step.abs() < 1e-10 {
            break;
        }
        // Bisection where steps do not halve: the correction of few rows is not in the derivative.
        let is_good = step.abs() < 0.5 * last && (lower < shift + step && shift + step < upper);
        let next = if is_good { shift + step } else { 0.5 * (lower + upper) };
        (last, shift) = ((next - shift).abs(), next);
    }
    (shift, at(shift).1.sqrt().recip())
}

#[cfg(test)]
mod tests {
    use super::super::window::Place;
    use super::*;

    #[test]
    fn the_shift_is_the_root_that_bisection_finds() {
        for (h, positive, negative) in [(0.0, 1, 0), (3.0, 0, 1), (-6.0, 2, 0), (1.0, 400, 600), (-5.0, 0, 2000)] {
            let places = [(h, positive, negative), (h + 0.7, positive, negative / 2)];
            let places = places.map(|(h, a, b)| Place { h, half: 0.0, is_clipped: false, n: [b, a] }).to_vec();
            let ranges: Vec<Range> =
                places.iter().map(|place| Range { centre: place.h, lower: place.h, upper: place.h }).collect();
            let window = Window { n: places.iter().map(Place::total).sum(), places };
            let score = |shift: f64| {
                let (mut sum, mut information, mut third) = (0.0, 0.0, 0.0);
                for place in &window.places {
                    let p = 1.0 / (1.0 + (-place.h - shift).exp());
                    sum += place.n[1] as f64 - place.total() as f64 * p;
                    information += place.total() as f64 * p * (1.0 - p);
                    third += place.total() as f64 * p * (1.0 - p) * (1.0 - 2.0 * p);
                }
                sum + 0.5 * third / information
            };
            let (mut lower, mut upper) = (-20.0, 20.0);
            for _ in 0..50 {
                let middle = 0.5 * (lower + upper);
                if score(middle) > 0.0 { lower = middle } else { upper = middle }
            }
            let found = shift(&window, &ranges, window.places.iter().map(|place| place.n[1]).sum()).0;
            assert!((found - lower).abs() < 2e-9, "{h} {positive} {negative}: {found}, {lower}");
        }
    }
}
