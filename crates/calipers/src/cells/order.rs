//! Exact order statistics: cells say in which cell to look, and one more pass looks there.

use rayon::prelude::*;

use super::{Cells, PlainRows};
use crate::predictions::Floats;

impl Cells {
    /// The probability, clipped, that has `rank` others before it when all are sorted.
    pub(crate) fn probability_of_rank(&self, rows: PlainRows<'_>, clip: f64, rank: u64) -> f64 {
        let (upper, cell, before) = self.cell_of_rank(rank);
        let resolution = self.resolution;
        let is_here = |p: &f64| (*p > 0.5) == upper && resolution.place(p.min(1.0 - p)).cell == cell;
        let mut inside: Vec<f64> = match rows.probabilities {
            Floats::F32(values) => values.par_iter().map(|p| clipped(f64::from(*p), clip)).filter(is_here).collect(),
            Floats::F64(values) => values.par_iter().map(|p| clipped(*p, clip)).filter(is_here).collect(),
        };
        *inside.select_nth_unstable_by((rank - before) as usize, f64::total_cmp).1
    }

    /// The half and the cell that hold that rank, and how many rows come before them.
    fn cell_of_rank(&self, rank: u64) -> (bool, usize, u64) {
        let count = |upper: bool, cell: usize| {
            let table = 2 * usize::from(upper);
            let index = |outcome: usize| (table + outcome) * self.n_cells + cell;
            self.contents[index(0)].count + self.contents[index(1)].count
        };
        // Below 1/2 cells are numbered against the order of probabilities, above it with them.
        let ascending =
            (0..self.n_cells).rev().map(|cell| (false, cell)).chain((0..self.n_cells).map(|cell| (true, cell)));
        let mut before = 0;
        let mut last = (false, 0, 0);
        for (upper, cell) in ascending {
            let here = count(upper, cell);
            if here > 0 {
                last = (upper, cell, before);
            }
            if rank < before + here {
                break;
            }
            before += here;
        }
        last
    }
}

fn clipped(p: f64, clip: f64) -> f64 {
    p.max(clip).min(1.0 - clip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predictions::Labels;

    #[test]
    fn ranks_are_those_of_a_sort() {
        let p: Vec<f64> =
            (0..20_000).map(|k| (f64::from(k) * 0.618_033_988_749_895).fract()).chain([0.5; 500]).collect();
        let labels: Vec<u8> = (0..p.len()).map(|k| (k % 3 == 0) as u8).collect();
        let rows = PlainRows { probabilities: Floats::F64(&p), labels: Labels::U8(&labels) };
        let cells = Cells::new(rows, 10, 1e-6);
        let mut sorted: Vec<f64> = p.iter().map(|p| clipped(*p, 1e-6)).collect();
        sorted.sort_by(f64::total_cmp);
        for rank in [0, 1, 5_000, 10_249, 10_250, 10_600, 20_499] {
            assert_eq!(cells.probability_of_rank(rows, 1e-6, rank as u64), sorted[rank]);
        }
    }
}
