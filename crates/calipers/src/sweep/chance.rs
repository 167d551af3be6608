//! How far ECE would move from bin count to bin count by chance alone.

use rayon::prelude::*;

use crate::numerics::random::{Normals, Uniforms, seed_of_draw};
use crate::numerics::sum::Sum;
use crate::watch;

/// One binning of the ordered rows: where its bins start, from row 0 on, and the number of rows.
pub(super) type Starts = Vec<usize>;

/// Up to so many rows, outcomes are drawn one by one; beyond, their sums are: a cell then has rows enough to look normal.
pub(super) const MOST_DRAWN_ROWS: usize = 20_000;

/// The mean range of ECE over the binnings of each group, had each outcome been drawn with its probability.
///
/// `probabilities` and `shares` of the weight are those of the ordered rows. A bin's gap, times its share, is the absolute sum of the residuals
/// s (y - p) of its rows. Bins are unions of the cells between any two neighbouring starts of any binning, so that the sums of all cells give
/// those of all bins of all binnings at once, as dependent as they are.
pub(super) fn mean_ranges<const G: usize>(
    probabilities: &[f64],
    shares: &[f64],
    groups: [&[Starts]; G],
    n_draws: usize,
    seed: u64,
) -> [f64; G] {
    let cuts = cuts(groups);
    match probabilities.len() <= MOST_DRAWN_ROWS {
        true => mean_ranges_of(|seed| drawn_sums(probabilities, shares, &cuts, seed), &cuts, groups, n_draws, seed),
        false => {
            let deviations = deviations(probabilities, shares, &cuts);
            mean_ranges_of(|seed| normal_sums(&deviations, seed), &cuts, groups, n_draws, seed)
        }
    }
}

/// The same for ordered sets of rows that no binning divides, of which the variances of their sums of residuals are known.
pub(super) fn mean_ranges_by_variance<const G: usize>(
    variances: &[f64],
    groups: [&[Starts]; G],
    n_draws: usize,
    seed: u64,
) -> [f64; G] {
    let cuts = cuts(groups);
    let deviation = |cell: &[usize]| variances[cell[0]..cell[1]].iter().copied().collect::<Sum>().value().sqrt();
    let deviations: Vec<f64> = cuts.windows(2).map(deviation).collect();
    mean_ranges_of(|seed| normal_sums(&deviations, seed), &cuts, groups, n_draws, seed)
}

/// The starts of all binnings, each once.
fn cuts<const G: usize>(groups: [&[Starts]; G]) -> Vec<usize> {
    let mut cuts: Vec<usize> = groups.iter().copied().flatten().flatten().copied().collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// `sums` draws, from a seed, the sum of all residuals before each cut.
fn mean_ranges_of<const G: usize>(
    sums: impl Fn(u64) -> Vec<f64> + Sync,
    cuts: &[usize],
    groups: [&[Starts]; G],
    n_draws: usize,
    seed: u64,
) -> [f64; G] {
    // proof: every start is one of the cuts
    let cell = |start: &usize| cuts.partition_point(|cut| cut < start);
    let groups = groups.map(|binnings| {
        let cells = binnings.iter().map(|starts| starts.iter().map(cell).collect::<Vec<usize>>());
        cells.collect::<Vec<_>>()
    });
    let draws = (0..n_draws as u64).into_par_iter().panic_fuse().map(|draw| {
        watch::draw_begins();
        let before = sums(seed_of_draw(seed, draw));
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

/// Row by row. Where few outcomes are in doubt, sums take few values, and normal numbers of their variance would show too wide a range: by more
/// than a quarter for 569 rows most of which are nearly sure.
fn drawn_sums(probabilities: &[f64], shares: &[f64], cuts: &[usize], seed: u64) -> Vec<f64> {
    let mut uniforms = Uniforms::new(seed);
    let mut sum = 0.0;
    let mut before = Vec::with_capacity(cuts.len());
    before.extend(cuts.first().map(|_| 0.0));
    before.extend(cuts.windows(2).map(|cell| {
        for (p, share) in probabilities[cell[0]..cell[1]].iter().zip(&shares[cell[0]..cell[1]]) {
            let outcome = f64::from(u8::from(uniforms.next() < *p));
            sum += share * (outcome - p);
        }
        sum
    }));
    before
}

/// One normal number for each cell, of the variance Σ s² p (1 - p) of its sum: a draw costs as much as there are cells, whatever the number of rows.
fn normal_sums(deviations: &[f64], seed: u64) -> Vec<f64> {
    let mut normals = Normals::new(seed);
    let mut sum = 0.0;
    let after = deviations.iter().map(|deviation| {
        sum += deviation * normals.next();
        sum
    });
    std::iter::once(0.0).chain(after).collect()
}

/// The standard deviation of the sum of each cell.
fn deviations(probabilities: &[f64], shares: &[f64], cuts: &[usize]) -> Vec<f64> {
    let variance = |(p, share): (&f64, &f64)| share * share * p * (1.0 - p);
    let cells = cuts.windows(2).map(|cell| {
        let rows = probabilities[cell[0]..cell[1]].iter().zip(&shares[cell[0]..cell[1]]);
        rows.map(variance).collect::<Sum>().value().sqrt()
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bin_against_two_has_the_range_of_theory() {
        // Two cells of variance 1/2 with sums A and B: |A| + |B| - |A + B| = 2 min(|A|, |B|) if signs differ. Its mean is half of
        // 2 E min(|A|, |B|), that is E min = sd (2 / √π)(√2 - 1) for independent normals.
        let expected = 0.5_f64.sqrt() * 2.0 / std::f64::consts::PI.sqrt() * (2f64.sqrt() - 1.0);
        let [range] = mean_ranges_of(
            |seed| normal_sums(&[0.5_f64.sqrt(); 2], seed),
            &[0, 1, 2],
            [&[vec![0, 2], vec![0, 1, 2]]],
            100_000,
            0,
        );
        assert!((range - expected).abs() < 0.01, "{range} {expected}");
    }
    #[test]
    fn one_bin_against_two_has_the_range_of_two_coins() {
        // Two rows of probability 1/2 and half of the weight: residuals are 1/4 or -1/4. Where signs differ, which is so half of the time,
        // two bins have |1/4| + |1/4| and one has 0.
        let groups: [&[Starts]; 1] = [&[vec![0, 2], vec![0, 1, 2]]];
        let [range] = mean_ranges(&[0.5; 2], &[0.5; 2], groups, 100_000, 0);
        assert!((range - 0.25).abs() < 0.004, "{range}");
        // A sure row has no residual.
        let [range] = mean_ranges(&[0.0, 1.0], &[0.5; 2], groups, 1000, 0);
        assert_eq!(range, 0.0);
    }

    #[test]
    fn rows_and_sums_of_many_agree() {
        let n = 20_000;
        let p: Vec<f64> = (0..n).map(|row| (row as f64 + 0.5) / n as f64).collect();
        let shares: Vec<f64> = (0..n).map(|row| (1 + row % 3) as f64 / (2 * n) as f64).collect();
        let binnings: Vec<Starts> = [10, 40].map(|bins| (0..=bins).map(|bin| bin * n / bins).collect()).to_vec();
        let cuts: Vec<usize> = (0..=40).map(|cut| cut * n / 40).collect();
        let deviations = deviations(&p, &shares, &cuts);
        let [by_rows] = mean_ranges(&p, &shares, [&binnings], 1000, 0);
        let [by_sums] = mean_ranges_of(|seed| normal_sums(&deviations, seed), &cuts, [&binnings], 1000, 1);
        assert!((by_rows / by_sums - 1.0).abs() < 0.06, "{by_rows} {by_sums}");
    }
}
