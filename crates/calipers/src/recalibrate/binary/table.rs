//! Maps that are tables: isotonic and centred isotonic regression.

use super::rows::{Atom, Atoms};
use crate::measures::{Group, isotonic};
use crate::names::names;
use crate::numerics::sum::Sum;
use crate::recalibrate::method::Method;

/// The value of an isotonic map between two of its knots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Between {
    /// On the straight line between them, in logits.
    #[default]
    Line,
    /// That of the knot below.
    Step,
}

names! { Between, "between"; Line = "line", Step = "step" }

/// Values at ascending logits; constant beyond the first and the last.
///
/// Isotonic maps and bins are tables.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// Logits, strictly ascending.
    pub at: Vec<f64>,
    /// Probabilities there; they do not fall, unless they are those of bins.
    pub value: Vec<f64>,
    /// What is between them.
    pub between: Between,
}

impl Table {
    /// The value at a logit.
    pub fn value_at(&self, h: f64) -> f64 {
        let above = self.at.partition_point(|at| *at <= h);
        if above == 0 {
            return self.value[0];
        }
        let (left, value) = (self.at[above - 1], self.value[above - 1]);
        match self.at.get(above) {
            Some(right) if self.between == Between::Line && h > left => {
                let share = (h - left) / (right - left);
                // Of the two ends: never beyond them by rounding.
                let next = self.value[above];
                (value + share * (next - value)).clamp(value.min(next), value.max(next))
            }
            _ => value,
        }
    }

    /// The fit of a method that is a table, and its number of steps.
    pub(crate) fn fit(method: Method, atoms: &Atoms, between: Between) -> (Self, usize) {
        let group = |atom: &Atom| {
            let [negative, positive] = atom.weights;
            Group { p: atom.h, negative, positive, n: 1 }
        };
        let groups: Vec<Group> = atoms.atoms.iter().map(group).collect();
        let blocks = isotonic(&groups);
        let (mut at, mut value) = (Vec::new(), Vec::new());
        let mut start = 0;
        for block in &blocks {
            let of_block = &atoms.atoms[start..start + block.n_groups];
            let (first, last) = (of_block[0].h, of_block[of_block.len() - 1].h);
            if method == Method::CentredIsotonic {
                at.push(weighted_mean(of_block).clamp(first, last));
                value.push(block.rate());
            } else {
                at.push(first);
                value.push(block.rate());
                if last > first {
                    at.push(last);
                    value.push(block.rate());
                }
            }
            start += block.n_groups;
        }
        let between = if method == Method::CentredIsotonic { Between::Line } else { between };
        (Table { at, value, between }, blocks.len())
    }
}

/// The mean logit of some atoms.
fn weighted_mean(atoms: &[Atom]) -> f64 {
    let weight = |atom: &Atom| atom.weights[0] + atom.weights[1];
    let total = atoms.iter().map(weight).collect::<Sum>().value();
    atoms.iter().map(|atom| weight(atom) * atom.h).collect::<Sum>().value() / total
}
