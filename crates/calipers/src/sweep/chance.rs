//! How far ECE would move from bin count to bin count by chance alone.

use rayon::prelude::*;

use crate::numerics::random::{Normals, seed_of_draw};

/// One binning of the ordered rows: where its bins start, from row 0 on, and the number of rows.
pub(super) type Starts = Vec<usize>;

/// The mean range of ECE over the binnings of each group, had each outcome been drawn with its probability.
///
/// A bin's gap, times its share, is the absolute sum of the residuals w (y - p) / W of its rows. Bins are unions of the cells between any two
/// neighbouring starts of any binning, so that one normal number for each cell, with the variance Σ (w / W)² p (1 - p) of its sum, gives the sums
/// of all bins of all binnings at once, as dependent as they are. So a draw costs as much as there are cells and bins, whatever the number of rows.
pub(super) fn mean_ranges<const G: usize>(
    variances: &[f64],
    groups: [&[Starts]; G],
    n_draws: usize,
    seed: u64,
) -> [f64; G] {
    let mut cuts: Vec<usize> = groups.iter().copied().flatten().flatten().copied().collect();
    cuts.sort_unstable();
    cuts.dedup();
    let deviations: Vec<f64> = cuts.windows(2).map(|cell| deviation(variances, cell[0], cell[1])).collect();
    // proof: every start is one of the cuts
    let cell = |start: &usize| cuts.partition_point(|cut| cut < start);
    let groups = groups.map(|binnings| {
        let cells = binnings.iter().map(|starts| starts.iter().map(cell).collect::<Vec<usize>>());
        cells.collect::<Vec<_>>()
    });
    let draws = (0..n_draws as u64).into_par_iter().map(|draw| {
        let mut normals = Normals::new(seed_of_draw(seed, draw));
        let mut sum = 0.0;
        let mut before = vec![0.0];
        before.extend(deviations.iter().map(|deviation| {
            sum += deviation * normals.next();
            sum
        }));
        let ece = |cells: &Vec<usize>| cells.windows(2).map(|bin| (before[bin[1]] - before[bin[0]]).abs()).sum::<f64>();
        groups.each_ref().map(|binnings| {
            let (least, most) = binnings
                .iter()
                .map(ece)
                .fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), ece| (least.min(ece), most.max(ece)));
            (most - least).max(0.0)
        })
    });
    let draws: Vec<[f64; G]> = draws.collect();
    std::array::from_fn(|group| draws.iter().map(|ranges| ranges[group]).sum::<f64>() / n_draws as f64)
}

fn deviation(variances: &[f64], from: usize, to: usize) -> f64 {
    (variances[to] - variances[from]).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bin_against_two_has_the_range_of_theory() {
        // Two cells of variance 1/2 with sums A and B: |A| + |B| - |A + B| = 2 min(|A|, |B|) if signs differ. Its mean is half of
        // 2 E min(|A|, |B|), that is E min = sd (2 / √π)(√2 - 1) for independent normals.
        let expected = 0.5_f64.sqrt() * 2.0 / std::f64::consts::PI.sqrt() * (2f64.sqrt() - 1.0);
        let variances = [0.0, 0.5, 1.0];
        let [range] = mean_ranges(&variances, [&[vec![0, 2], vec![0, 1, 2]]], 100_000, 0);
        assert!((range - expected).abs() < 0.01, "{range} {expected}");
    }
}
