//! Draws that often reach values which calibrated predictions rarely have: importance sampling.
//!
//! The axis is cut into four quarters of equal variance, and each of the 16 patterns of signs on
//! them is a tilt: outcomes 1 are more likely in quarters of sign +, and less likely in those of
//! sign -. The odds of a row are multiplied by exp(± s w) with w its weight over the largest one,
//! and s such that the tilt is as far from calibration as a normal number of the level is from 0
//! (the relative entropy is z² / 2). A draw is by the predictions with probability 1/2, and by one
//! of the tilts else. Its weight is how much more likely it is by the predictions than so, which
//! is at most 2.
//!
//! Nothing here depends on outcomes. So the p-value of [`RareDraws`](crate::inference::RareDraws)
//! keeps its level whatever the tilts are; good tilts make it small where it should be.

use super::grid::Grid;
use super::rows::Laws;
use crate::link::{Link, Probit};
use crate::numerics::counts::Count;
use crate::numerics::random::Normals;

/// Quarters of the axis, and patterns of signs on them.
const QUARTERS: usize = 4;
const TILTS: usize = 1 << QUARTERS;

/// The largest logarithm by which odds are multiplied.
const MOST: f64 = 3.0;

/// The laws of all tilts.
pub(super) struct Tilted {
    cells: Vec<Tilts>,
    /// The logarithm of how much more likely a draw without rare outcomes is by each tilt.
    usual: [f64; TILTS],
}

/// A cell with its law by the predictions and by each tilt.
struct Tilts {
    cell: usize,
    tries: f64,
    usual: f64,
    /// Of the count.
    variance: f64,
    unit: f64,
    plain: Count,
    laws: [Count; TILTS],
    /// Logarithms of odds ratios.
    slopes: [f64; TILTS],
}

impl Tilted {
    /// For values of a probability near `level`. `None` where effective rows are drawn in whole
    /// numbers, as under unequal weights.
    pub(super) fn new(grid: &Grid, laws: &[Laws], level: f64) -> Option<Self> {
        let known: Vec<(f64, Count)> =
            laws.iter().map(|laws| laws.outcomes.of_one_number()).collect::<Option<Vec<_>>>()?;
        let variances = || grid.cells.iter().map(|cell| cell.sums.variance);
        let total: f64 = variances().sum();
        let sizes: Vec<f64> = laws.iter().zip(&known).map(|(laws, (tries, _))| laws.outcomes_unit / tries).collect();
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        if !(total > 0.0 && largest > 0.0) {
            return None;
        }
        let quarters: Vec<usize> = variances()
            .scan(0.0, |before, variance| {
                let middle = *before + 0.5 * variance;
                *before += variance;
                Some(((QUARTERS as f64 * middle / total) as usize).min(QUARTERS - 1))
            })
            .collect();
        let z = Probit.inverse(1.0 - level, level);
        let mut cells: Vec<Tilts> = Vec::new();
        for (cell, (laws, (tries, plain))) in laws.iter().zip(&known).enumerate() {
            let (usual, probability) = plain.usual();
            if probability < 1.0 {
                let (unit, slopes) = (laws.outcomes_unit / tries, [0.0; TILTS]);
                let share = plain.mean() / tries;
                let variance = tries * share * (1.0 - share);
                let laws = [*plain; TILTS];
                cells.push(Tilts { cell, tries: *tries, usual, variance, unit, plain: *plain, laws, slopes });
            }
        }
        let mut found = Tilted { cells, usual: [0.0; TILTS] };
        for tilt in 0..TILTS {
            let sign = |cell: usize| if tilt >> quarters[cell] & 1 == 1 { 1.0 } else { -1.0 };
            let direction = |cell: usize| sign(cell) * sizes[cell] / largest;
            found.tilt(tilt, &direction, 0.5 * z * z);
        }
        Some(found)
    }

    /// Sets a tilt to be so far from calibration.
    fn tilt(&mut self, tilt: usize, direction: &dyn Fn(usize) -> f64, entropy: f64) {
        // Entropy grows about with the square of the size: one step from there is near enough.
        let variance: f64 = self.cells.iter().map(|cell| direction(cell.cell).powi(2) * cell.variance).sum();
        let guess = (2.0 * entropy / variance).sqrt().min(MOST);
        let size = (guess * (entropy / self.entropy(guess, direction).max(1e-9)).sqrt()).min(MOST);
        for cell in &mut self.cells {
            let slope = size * direction(cell.cell);
            let (law, log_sum) = cell.plain.tilted(slope);
            (cell.laws[tilt], cell.slopes[tilt]) = (law, slope);
            self.usual[tilt] += slope * cell.usual - log_sum;
        }
    }

    /// The relative entropy of a tilt of this size.
    fn entropy(&self, size: f64, direction: &dyn Fn(usize) -> f64) -> f64 {
        let of_cell = |cell: &Tilts| {
            let slope = size * direction(cell.cell);
            let (law, log_sum) = cell.plain.tilted(slope);
            slope * law.mean() - log_sum
        };
        self.cells.iter().map(of_cell).sum()
    }

    /// The weight of the rows among draws.
    pub(super) fn weight_of_rows(&self, laws: &[Laws]) -> f64 {
        let mut ratios = self.usual;
        for cell in &self.cells {
            cell.add_ratios(laws[cell.cell].outcomes_seen * cell.tries, &mut ratios);
        }
        weight(&ratios)
    }

    /// A draw as changes of surpluses of cells from their usual ones, and its weight.
    pub(super) fn draw(&self, draw: u64) -> (Vec<(usize, f64)>, f64) {
        let mut random = Normals::new(draw);
        let part = random.uniform();
        let tilt = (part < 0.5).then_some((2.0 * TILTS as f64 * part) as usize);
        let (mut ratios, mut changes) = (self.usual, Vec::new());
        for cell in &self.cells {
            let law = tilt.map_or(&cell.plain, |tilt| &cell.laws[tilt]);
            let (_, none) = law.usual();
            let count = if none > 0.0 {
                let uniform = random.uniform();
                if uniform <= none {
                    continue;
                }
                law.of_uniform(uniform)
            } else {
                law.draw(&mut random)
            };
            cell.add_ratios(count, &mut ratios);
            changes.push((cell.cell, (count - cell.usual) * cell.unit));
        }
        (changes, weight(&ratios))
    }
}

impl Tilts {
    fn add_ratios(&self, count: f64, ratios: &mut [f64; TILTS]) {
        let change = count - self.usual;
        ratios.iter_mut().zip(&self.slopes).for_each(|(ratio, slope)| *ratio += change * slope);
    }
}

/// From the logarithms of how much more likely a draw is by each tilt than by the predictions.
fn weight(ratios: &[f64; TILTS]) -> f64 {
    let mean = ratios.iter().map(|ratio| ratio.exp()).sum::<f64>() / TILTS as f64;
    2.0 / (1.0 + mean)
}
