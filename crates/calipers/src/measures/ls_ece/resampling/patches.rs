//! Draws of rare outcomes: what each of them adds to G, in place of a convolution for each draw.
//!
//! If predictions are near 0 or 1, most cells of most draws have no rare outcome at all. G of such
//! a draw is computed once; each rare outcome of a draw then adds the kernel at its cell, the
//! patch. One class of a thousand has some ten outcomes among 10,000 rows: ten patches for a draw,
//! where a convolution costs as much as one patch for each node.

use super::grid::Grid;
use super::rows::Laws;
use crate::numerics::counts::{Count, Share};
use crate::numerics::random::Normals;

/// The most numbers that patches take, 8 MB.
const MOST: usize = 1 << 20;

/// Patches are used where a draw has at most one for so many nodes.
const NODES_PER_PATCH: f64 = 8.0;

/// G without rare outcomes, and what each adds.
pub(super) struct Patches {
    usual: Vec<f64>,
    /// The first node of each cell's patch.
    starts: Vec<usize>,
    width: usize,
    /// What a surplus of 1 adds, cell after cell.
    added: Vec<f64>,
    varying: Vec<Varying>,
}

/// A cell whose share is not the same in every draw.
struct Varying {
    cell: usize,
    law: Share,
    /// Where the number of tries is known: that and its law, with the probability that no rare
    /// outcome comes.
    known: Option<(f64, Count, f64)>,
    usual: f64,
    unit: f64,
}

impl Patches {
    /// `None` where draws have too many of them.
    pub(super) fn new(grid: &Grid, laws: &[Laws]) -> Option<Self> {
        let n_nodes = grid.residuals.len();
        let expected: f64 = laws.iter().map(|laws| laws.outcomes.usual().1).sum();
        let width = grid.gaps_of_surplus(grid.cells.first()?).1.len();
        if expected * NODES_PER_PATCH > n_nodes as f64 || width * laws.len() > MOST {
            return None;
        }
        let usual = grid.gaps_of_surpluses(laws.iter().map(|laws| laws.surplus(laws.outcomes.usual().0)));
        let (mut starts, mut added) = (Vec::with_capacity(laws.len()), Vec::with_capacity(width * laws.len()));
        for cell in &grid.cells {
            let (start, values) = grid.gaps_of_surplus(cell);
            starts.push(start);
            added.extend(values);
        }
        let varying = laws.iter().enumerate().filter_map(|(cell, laws)| {
            let (usual, other) = laws.outcomes.usual();
            let law = laws.outcomes.clone();
            let known = law.of_one_number().map(|(tries, count)| (tries, count, count.usual().1));
            (other > 0.0).then_some(Varying { cell, law, known, usual, unit: laws.outcomes_unit })
        });
        Some(Patches { usual, starts, width, added, varying: varying.collect() })
    }

    /// ∫ |G| with the surpluses of some cells changed by so much.
    pub(super) fn value(&self, grid: &Grid, changes: impl Iterator<Item = (usize, f64)>) -> f64 {
        let mut gaps = self.usual.clone();
        changes.for_each(|(cell, change)| self.add(cell, change, &mut gaps));
        grid.nodes.integrate(&gaps)
    }

    /// ∫ |G| of outcomes drawn from the predictions, by the same random numbers as cell by cell.
    pub(super) fn draw(&self, grid: &Grid, random: &mut Normals) -> f64 {
        let mut gaps = self.usual.clone();
        for varying in &self.varying {
            let share = match &varying.known {
                Some((tries, law, none)) if *none > 0.0 => {
                    let uniform = random.uniform();
                    if uniform <= *none {
                        continue;
                    }
                    law.of_uniform(uniform) / tries
                }
                _ => varying.law.draw(random),
            };
            self.add(varying.cell, (share - varying.usual) * varying.unit, &mut gaps);
        }
        grid.nodes.integrate(&gaps)
    }

    fn add(&self, cell: usize, change: f64, gaps: &mut [f64]) {
        if change != 0.0 {
            let (start, patch) = (self.starts[cell], &self.added[cell * self.width..][..self.width]);
            gaps[start..start + self.width].iter_mut().zip(patch).for_each(|(gap, value)| *gap += change * value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::LsEce;
    use super::super::OnGrid;
    use super::*;
    use crate::data::Input;

    /// The draws of a grid without patches have the same random numbers.
    #[test]
    fn patches_give_the_draws_of_convolutions() {
        for mirrored in [false, true] {
            let h: Vec<f64> = (0..3000).map(|k| (f64::from(k) * 0.618_033_988_749_895).fract() * 8.0 - 11.0).collect();
            let h: Vec<f64> = h.iter().map(|h| if mirrored { -h } else { *h }).collect();
            let y: Vec<bool> = (0..3000).map(|k| (k % 400 == 7) != mirrored).collect();
            // Effective numbers that are not whole have laws of two numbers of tries.
            let equal = vec![1.0; 3000];
            let unequal: Vec<f64> = (0..3000).map(|k| 1.0 + f64::from(k % 3)).collect();
            for (weights, measure) in [(&equal, LsEce::new()), (&unequal, LsEce::new().sigma(0.3).residual())] {
                let predictions = Input::logits(&h, &y).weights(&weights[..]).check().unwrap();
                let OnGrid { grid, .. } = measure.on_grid(&predictions.binary().unwrap()).unwrap().unwrap();
                let laws: Vec<Laws> = grid.cells.iter().map(Laws::new).collect();
                let patches = Patches::new(&grid, &laws).expect("outcomes are rare");
                for draw in 0..50 {
                    let mut random = Normals::new(draw);
                    let shares: Vec<f64> = laws.iter().map(|laws| laws.outcomes.draw(&mut random)).collect();
                    let surpluses = laws.iter().zip(&shares).map(|(laws, share)| laws.surplus(*share));
                    let plain = grid.gaps_of_surpluses(surpluses);
                    let mut found = patches.usual.clone();
                    for varying in &patches.varying {
                        let change = (shares[varying.cell] - varying.usual) * varying.unit;
                        patches.add(varying.cell, change, &mut found);
                    }
                    let largest = plain.iter().map(|gap| gap.abs()).fold(0.0, f64::max);
                    for (found, plain) in found.iter().zip(&plain) {
                        assert!((found - plain).abs() <= 1e-13 * largest, "{found} for {plain}");
                    }
                    // The integral changes by more where rounding decides on a sign.
                    let (value, expected) =
                        (patches.draw(&grid, &mut Normals::new(draw)), grid.nodes.integrate(&plain));
                    assert!((value / expected - 1.0).abs() <= 1e-6, "{value} for {expected}");
                }
            }
        }
    }
}
