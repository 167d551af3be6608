//! A column of probabilities beside one of outcomes: what most users have, and what the fastest
//! passes read as it is.

use std::ops::Range;

use bytemuck::cast_slice;

use super::columns::{Floats, Labels, match_floats};

/// Probabilities of outcome 1 and labels that are 0 or 1, as they are in memory: nothing weighted,
/// missing or left out.
#[derive(Debug, Clone, Copy)]
pub struct PlainRows<'a> {
    pub(crate) probabilities: Floats<'a>,
    pub(crate) labels: Labels<'a>,
    /// Whether the rows were validated. If not, a pass over them checks each row itself and stops
    /// at one that is not [sound](Self::visit); then validation makes the error.
    pub(crate) checked: bool,
}

/// A pass over plain rows, whatever the types of their columns.
pub(crate) trait PlainPass {
    type Output;

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) -> Self::Output;
}

impl PlainRows<'_> {
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Runs a pass over some of the rows; `None` for labels that are text, which no plain rows
    /// have.
    pub(crate) fn visit<V: PlainPass>(&self, rows: Range<usize>, pass: V) -> Option<V::Output> {
        match_floats!(self.probabilities, values => self.visit_labels(&values[rows.clone()], rows, pass))
    }

    fn visit_labels<P: Probability, V: PlainPass>(&self, p: &[P], rows: Range<usize>, pass: V) -> Option<V::Output> {
        // The same bytes as unsigned integers, of which 0 and 1 are the same and no other number
        // becomes one of them. Rarer types become bytes first: so a pass is compiled for two types.
        Some(match self.labels {
            Labels::Bool(labels) => pass.run(p, cast_slice::<_, u8>(&labels[rows])),
            Labels::I8(labels) => pass.run(p, cast_slice::<_, u8>(&labels[rows])),
            Labels::U8(labels) => pass.run(p, &labels[rows]),
            Labels::I64(labels) => pass.run(p, cast_slice::<_, u64>(&labels[rows])),
            Labels::U64(labels) => pass.run(p, &labels[rows]),
            Labels::I16(labels) => pass.run(p, &outcome_bytes::<u16>(cast_slice(&labels[rows]))),
            Labels::U16(labels) => pass.run(p, &outcome_bytes(&labels[rows])),
            Labels::I32(labels) => pass.run(p, &outcome_bytes::<u32>(cast_slice(&labels[rows]))),
            Labels::U32(labels) => pass.run(p, &outcome_bytes(&labels[rows])),
            Labels::F32(labels) => pass.run(p, &outcome_bytes(&labels[rows])),
            Labels::F64(labels) => pass.run(p, &outcome_bytes(&labels[rows])),
            Labels::Text(_) | Labels::SharedText(_) => return None,
        })
    }
}

/// Outcomes as bytes, with 2 or 3 for a label that is none.
fn outcome_bytes<L: Outcome>(labels: &[L]) -> Vec<u8> {
    labels.iter().map(|label| label.bit() as u8 | u8::from(label.excess() != 0) << 1).collect()
}

/// A probability of either precision.
pub(crate) trait Probability: Copy + Into<f64> {
    /// Whether it is in [0, 1] as it is. NaN is not.
    #[inline(always)]
    fn is_sound(self) -> bool {
        (0.0..=1.0).contains(&self.into())
    }
}

impl Probability for f32 {}
impl Probability for f64 {}

/// A label of any type, read as an outcome without a branch.
pub(crate) trait Outcome: Copy {
    /// 1 for outcome 1, 0 for outcome 0; either for a label that is neither.
    fn bit(self) -> u64;

    /// 0 for outcomes, something else for a label that is none.
    fn excess(self) -> u64;
}

macro_rules! outcome {
    ($($type:ty),*) => {$(
        impl Outcome for $type {
            #[inline(always)]
            fn bit(self) -> u64 {
                self as u64 & 1
            }

            #[inline(always)]
            fn excess(self) -> u64 {
                self as u64 & !1
            }
        }
    )*};
    (float: $($type:ty),*) => {$(
        impl Outcome for $type {
            #[inline(always)]
            fn bit(self) -> u64 {
                u64::from(self != 0.0)
            }

            #[inline(always)]
            fn excess(self) -> u64 {
                u64::from((self != 0.0) & (self != 1.0))
            }
        }
    )*};
}
outcome!(i64, u8, u16, u32, u64);
outcome!(float: f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_and_one_are_outcomes() {
        assert_eq!([0u8, 1, 2, 255].map(|label| label.excess() == 0), [true, true, false, false]);
        assert_eq!([0u64, 1, 1 << 63].map(|label| label.excess() == 0), [true, true, false]);
        assert_eq!([0.0, -0.0, 1.0, 0.5, f64::NAN].map(|label| label.excess() == 0), [true, true, true, false, false]);
        assert_eq!([0.0, -0.0, 1.0].map(Outcome::bit), [0, 0, 1]);
    }

    #[test]
    fn only_numbers_from_zero_to_one_are_probabilities() {
        assert_eq!([0.0, -0.0, 1.0, 0.5].map(Probability::is_sound), [true; 4]);
        assert_eq!([-1e-9, 1.0 + 1e-9, f64::NAN, f64::INFINITY].map(Probability::is_sound), [false; 4]);
    }
}
