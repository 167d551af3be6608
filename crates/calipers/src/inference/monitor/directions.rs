//! The departures that are looked for: shifts and slopes of the log-odds, of several sizes.

use super::expected::{Expected, Range};
use super::window::{Place, Window};
use crate::link::{Link, Logistic};
use crate::numerics::parallel;
use crate::numerics::sum::Sum;

/// Sizes in log-odds. Twice the size from one to the next: between two of them the expected
/// evidence is at least 8/9 of that of the right size.
const RADII: [f64; 8] = [1.0 / 64.0, 1.0 / 32.0, 1.0 / 16.0, 0.125, 0.25, 0.5, 1.0, 2.0];

/// Angles between a shift and a slope, from 0 to a full turn.
const N_ANGLES: usize = 12;

pub(super) const N_DIRECTIONS: usize = RADII.len() * N_ANGLES;

/// The weight of each of the two shifts without a slope: half of all, since most changes are such.
const SHIFT_WEIGHT: f64 = 0.25;

/// Scores further from the mean count as this many standard deviations.
const FURTHEST: f64 = 3.0;

/// Scores of a smaller standard deviation in log-odds count as of this one.
const LEAST_DEVIATION: f64 = 0.05;

/// With fewer places one thread is done before others are awake.
pub(super) const FEW_PLACES: usize = 256;

/// Mean and standard deviation of scores in log-odds, each row with its variance as weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Units {
    pub(super) centre: f64,
    pub(super) deviation: f64,
}

/// A shift, and a slope by standard deviation of scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Direction {
    shift: f64,
    slope: f64,
}

impl Direction {
    /// By how much log-odds are moved at a score of so many standard deviations.
    #[inline]
    pub(super) fn at(&self, z: f64) -> f64 {
        self.shift + self.slope * z
    }
}

impl Units {
    /// `None` without rows.
    pub(super) fn of(window: &Window, expected: &Expected) -> Option<Self> {
        let mut sums = [0.0; 3];
        for place in &window.places {
            let (p, complement) = Logistic.both(expected.centre(place.h));
            let weight = place.total() as f64 * p * complement;
            sums[0] += weight;
            sums[1] += weight * place.h;
            sums[2] += weight * place.h * place.h;
        }
        let [weight, first, second] = sums;
        let centre = first / weight;
        let deviation = (second / weight - centre * centre).max(0.0).sqrt().max(LEAST_DEVIATION);
        (weight > 0.0).then_some(Units { centre, deviation })
    }

    /// Standard deviations from the mean, at most 3.
    pub(super) fn standard(&self, h: f64) -> f64 {
        ((h - self.centre) / self.deviation).clamp(-FURTHEST, FURTHEST)
    }
}

/// ln of the weight of a direction.
pub(super) fn log_weight(number: usize) -> f64 {
    let is_shift = (number % N_ANGLES).is_multiple_of(N_ANGLES / 2);
    let share = if is_shift { SHIFT_WEIGHT } else { (1.0 - 2.0 * SHIFT_WEIGHT) / (N_ANGLES - 2) as f64 };
    (share / RADII.len() as f64).ln()
}

fn direction(number: usize) -> Direction {
    let (radius, turn) = (RADII[number / N_ANGLES], number % N_ANGLES);
    let angle = std::f64::consts::TAU * turn as f64 / N_ANGLES as f64;
    // A shift alone must have no slope, which sin(π) would leave.
    let slope = if turn.is_multiple_of(N_ANGLES / 2) { 0.0 } else { radius * angle.sin() };
    Direction { shift: radius * angle.cos(), slope }
}

/// All directions.
pub(super) fn moves() -> [Direction; N_DIRECTIONS] {
    std::array::from_fn(direction)
}

/// Standard deviations from the mean of scores; without units only shifts are looked for.
pub(super) fn standard(place: &Place, units: Option<&Units>) -> f64 {
    units.map_or(0.0, |units| units.standard(place.h))
}

/// ln of the product over all rows of the window, for each direction: at most the exact one.
/// Without units only shifts are looked for.
///
/// # Accuracy
/// b is at most 40 and d at most 8 in size, so that b + d and both softplus are below 2^6: each is
/// off by at most 2^-47, and a row's difference by 2^-45. The sum is compensated, and adds at most
/// 2^-49 for each row. So the error is below n · 2^-44, which is taken off.
pub(super) fn log_ratios(window: &Window, ranges: &[Range], units: Option<&Units>) -> Vec<f64> {
    let rounding = rounding(window);
    let standard: Vec<f64> = window.places.iter().map(|place| standard(place, units)).collect();
    // Those of the null hypothesis, once for all directions.
    let bases: Vec<[f64; 2]> = ranges.iter().map(bases).collect();
    let of_direction = |number: usize| {
        let direction = direction(number);
        let terms = window.places.iter().zip(ranges).zip(&standard).zip(&bases);
        let terms = terms.map(|(((place, range), z), base)| log_ratio(place, range, direction.at(*z), base));
        terms.collect::<Sum>().value() - rounding
    };
    match window.places.len() < FEW_PLACES {
        true => (0..N_DIRECTIONS).map(of_direction).collect(),
        false => parallel::map(N_DIRECTIONS, of_direction),
    }
}

/// What is taken off a logarithm for its rounding.
pub(super) fn rounding(window: &Window) -> f64 {
    (window.n as f64 + 16.0) * 2f64.powi(-44)
}

/// softplus at both ends of the range.
pub(super) fn bases(range: &Range) -> [f64; 2] {
    [softplus(range.lower), softplus(range.upper)]
}

/// ln of the product over the rows of a place: n_1 d - n (softplus(b + d) - softplus(b)).
#[inline]
fn log_ratio(place: &Place, range: &Range, d: f64, bases: &[f64; 2]) -> f64 {
    if range.is_open_towards(d) {
        return 0.0;
    }
    place.n[1] as f64 * d - place.total() as f64 * difference(range, d, bases)
}

/// softplus(b + d) - softplus(b), with b the end of the range towards d.
#[inline]
pub(super) fn difference(range: &Range, d: f64, bases: &[f64; 2]) -> f64 {
    let (at, base) = if d > 0.0 { (range.upper, bases[1]) } else { (range.lower, bases[0]) };
    softplus(at + d) - base
}

/// ln(1 + e^x).
#[inline]
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_have_a_sum_of_1_and_directions_are_opposite_in_pairs() {
        let sum: f64 = (0..N_DIRECTIONS).map(|number| log_weight(number).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        for number in 0..N_DIRECTIONS {
            let turn = number % N_ANGLES;
            let (one, other) = (direction(number), direction(number - turn + (turn + N_ANGLES / 2) % N_ANGLES));
            assert!((one.shift + other.shift).abs() < 1e-12 && (one.slope + other.slope).abs() < 1e-12);
        }
    }
}
