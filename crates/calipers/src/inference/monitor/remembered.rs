//! What is the same in every window: scores come again, as cells of a sketch or as rounded
//! probabilities, and with them the logarithms that each direction needs.
//!
//! A place that was seen before costs a multiplication for each direction in place of two
//! logarithms. The terms and the order in which they are added are those of
//! [`directions::log_ratios`], so that both give the same bits.

use std::collections::HashMap;

use super::directions::{self, FEW_PLACES, N_DIRECTIONS, Units};
use super::expected::{Expected, Range};
use super::window::{Place, Window};
use crate::numerics::sum::Sum;

/// Places that are remembered: 200 kB, about as much as 800 looks.
const MOST_PLACES: usize = 256;

/// Terms of places, for one null hypothesis. It is no part of the state, and all are equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Remembered {
    margin: f64,
    units: Option<Units>,
    places: HashMap<(u64, u64, bool), Terms>,
}

/// Of one row, without its outcome.
#[derive(Debug, Clone)]
struct Terms {
    range: Range,
    /// softplus(b + d) - softplus(b) for each direction.
    differences: Box<[f64]>,
}

impl PartialEq for Remembered {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Remembered {
    /// The ranges of a window, and what [`directions::log_ratios`] returns for them.
    pub(super) fn log_ratios(
        &mut self,
        window: &Window,
        expected: &Expected,
        margin: f64,
        units: Option<&Units>,
    ) -> (Vec<Range>, Vec<f64>) {
        if window.places.len() >= FEW_PLACES {
            let ranges = expected.ranges(window, margin);
            let log_ratios = directions::log_ratios(window, &ranges, units);
            return (ranges, log_ratios);
        }
        if self.margin != margin || self.units.as_ref() != units {
            *self = Remembered { margin, units: units.copied(), places: HashMap::new() };
        }
        let mut sums = [Sum::default(); N_DIRECTIONS];
        let mut ranges = Vec::with_capacity(window.places.len());
        let moves = directions::moves();
        for place in &window.places {
            let z = directions::standard(place, units);
            let key = (place.h.to_bits(), place.half.to_bits(), place.is_clipped);
            let known = self.places.get(&key);
            let new = known.is_none().then(|| Terms::new(place, expected, margin, z));
            // proof: where nothing is known, there are new terms
            let Some(terms) = known.or(new.as_ref()) else { continue };
            let (positive, total) = (place.n[1] as f64, place.total() as f64);
            for ((sum, direction), difference) in sums.iter_mut().zip(&moves).zip(&terms.differences) {
                let d = direction.at(z);
                sum.add(if terms.range.is_open_towards(d) { 0.0 } else { positive * d - total * difference });
            }
            ranges.push(terms.range);
            if let Some(new) = new.filter(|_| self.places.len() < MOST_PLACES) {
                self.places.insert(key, new);
            }
        }
        let rounding = directions::rounding(window);
        (ranges, sums.iter().map(|sum| sum.value() - rounding).collect())
    }
}

impl Terms {
    fn new(place: &Place, expected: &Expected, margin: f64, z: f64) -> Self {
        let range = expected.range(place, margin);
        let bases = directions::bases(&range);
        let difference = |direction: &directions::Direction| directions::difference(&range, direction.at(z), &bases);
        Terms { range, differences: directions::moves().iter().map(difference).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of scores that come again, with cells of some width and some that are clipped.
    fn window(number: u64) -> Window {
        let place = |k: u64| {
            let h = (k as f64 - 20.0) * 0.7;
            let half = if k.is_multiple_of(3) { 1e-4 } else { 0.0 };
            Place { h, half, is_clipped: h.abs() > 13.0, n: [(k * number) % 5, (k + 3 * number) % 4 + 1] }
        };
        let places: Vec<Place> = (0..41).filter(|k| !(k + number).is_multiple_of(4)).map(place).collect();
        Window { n: places.iter().map(Place::total).sum(), places }
    }

    #[test]
    fn remembered_terms_have_the_bits_of_computed_ones() {
        let mut remembered = Remembered::default();
        let units = Units { centre: 0.3, deviation: 1.4 };
        for (number, margin, units) in
            [(1, 0.0, None), (2, 0.0, Some(&units)), (3, 0.0, Some(&units)), (4, 0.1, Some(&units))]
        {
            let window = window(number);
            let ranges = Expected::Calibrated.ranges(&window, margin);
            let expected = directions::log_ratios(&window, &ranges, units);
            for _ in 0..2 {
                let found = remembered.log_ratios(&window, &Expected::Calibrated, margin, units);
                assert_eq!(found, (ranges.clone(), expected.clone()), "window {number}");
            }
            assert!(!remembered.places.is_empty() && remembered.places.len() <= MOST_PLACES);
        }
    }
}
