//! How far ECE would move from bin count to bin count by chance alone.

use std::ops::Range;

use crate::numerics::counts::Count;
use crate::numerics::parallel;
use crate::numerics::random::{Normals, Uniforms, seed_of_draw};
use crate::numerics::sum::Sum;
use crate::watch;

/// One binning of the ordered rows: where its bins start, from row 0 on, and the number of rows.
pub(super) type Starts = Vec<usize>;

/// Up to this number of rows, outcomes are drawn one by one; beyond, the sums of cells are drawn
/// ([`Residual`]).
pub(super) const MOST_DRAWN_ROWS: usize = 20_000;

/// A drawn range that is smaller than the observed one by no more than this equals it: the two
/// differ by rounding.
const ROUNDING: f64 = 1e-12;

/// The ordered rows: their probabilities, and the share of each in the total weight.
pub(super) struct Rows<'a> {
    pub(super) probabilities: &'a [f64],
    pub(super) shares: &'a [f64],
}

/// Neighbouring rows that no binning divides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// The mean probability.
    pub(super) probability: f64,
    /// The share of the total weight.
    pub(super) share: f64,
    /// Σ s² / Σ s over the shares of single rows.
    pub(super) row_share: f64,
}

/// The ranges of ECE over the binnings of each group, one for each draw of the outcomes from their
/// probabilities.
pub(super) struct Ranges<const G: usize>(Vec<[f64; G]>);

impl<const G: usize> Ranges<G> {
    pub(super) fn mean(&self, group: usize) -> f64 {
        self.0.iter().map(|ranges| ranges[group]).sum::<f64>() / self.0.len() as f64
    }

    /// The p-value of a range: how many of all ranges, drawn and observed, are at least as large.
    /// Under calibration the observed range is one more draw, so that a p-value of at most α has
    /// probability at most α, whatever the number of draws.
    pub(super) fn p_value(&self, group: usize, observed: f64) -> f64 {
        let n_as_large = self.0.iter().filter(|ranges| ranges[group] >= observed - ROUNDING).count();
        (1 + n_as_large) as f64 / (1 + self.0.len()) as f64
    }
}

/// Groups of binnings, over the cells into which all of their starts together cut the rows.
///
/// A bin's gap, times its share, is the absolute sum of the residuals s (y - p) of its rows. Bins
/// are unions of cells, so that the sums of all cells give those of all bins of all binnings at
/// once, as dependent as they are.
pub(super) struct Binnings<const G: usize> {
    /// The starts of all binnings, each once.
    cuts: Vec<usize>,
    /// For each binning of each group, the cuts at which its bins start.
    groups: [Vec<Vec<usize>>; G],
}

impl<const G: usize> Binnings<G> {
    pub(super) fn new(groups: [&[Starts]; G]) -> Self {
        let mut cuts: Vec<usize> = groups.iter().copied().flatten().flatten().copied().collect();
        cuts.sort_unstable();
        cuts.dedup();
        // proof: every start is one of the cuts
        let cell = |start: &usize| cuts.partition_point(|cut| cut < start);
        let groups = groups.map(|binnings| binnings.iter().map(|starts| starts.iter().map(cell).collect()).collect());
        Binnings { cuts, groups }
    }

    /// The ranges of the outcomes that were observed, by the arithmetic of the drawn ones.
    pub(super) fn observed(&self, rows: &Rows<'_>, outcomes: &[bool]) -> [f64; G] {
        self.ranges(&self.sums_before(rows, |row| outcomes[row]))
    }

    /// Ranges of drawn outcomes.
    pub(super) fn draw(&self, rows: &Rows<'_>, n_draws: usize, random_state: u64) -> Ranges<G> {
        if rows.probabilities.len() <= MOST_DRAWN_ROWS {
            return self.draw_by(n_draws, random_state, |random_state| {
                let mut uniforms = Uniforms::new(random_state);
                self.sums_before(rows, |row| uniforms.next() < rows.probabilities[row])
            });
        }
        let piece = |row: usize| {
            let share = rows.shares[row];
            Piece { probability: rows.probabilities[row], share, row_share: share }
        };
        self.draw_cells(piece, n_draws, random_state)
    }

    /// The same where starts are among pieces, in order of their probabilities, in place of rows.
    pub(super) fn draw_pieces(&self, pieces: &[Piece], n_draws: usize, random_state: u64) -> Ranges<G> {
        self.draw_cells(|index| pieces[index], n_draws, random_state)
    }

    fn draw_cells(&self, piece: impl Fn(usize) -> Piece + Sync, n_draws: usize, random_state: u64) -> Ranges<G> {
        let n_cells = self.cuts.len().saturating_sub(1);
        let cells = parallel::map(n_cells, |cell| Residual::new(self.cuts[cell]..self.cuts[cell + 1], &piece));
        self.draw_by(n_draws, random_state, |random_state| drawn_sums(&cells, random_state))
    }

    /// `sums` draws, from a seed, the sum of all residuals before each cut.
    fn draw_by(&self, n_draws: usize, random_state: u64, sums: impl Fn(u64) -> Vec<f64> + Sync) -> Ranges<G> {
        Ranges(parallel::map(n_draws, |draw| {
            watch::draw_begins();
            self.ranges(&sums(seed_of_draw(random_state, draw as u64)))
        }))
    }

    /// Of the sum of all residuals before each cut.
    fn ranges(&self, before: &[f64]) -> [f64; G] {
        let ece = |cells: &Vec<usize>| cells.windows(2).map(|bin| (before[bin[1]] - before[bin[0]]).abs()).sum::<f64>();
        self.groups.each_ref().map(|binnings| {
            let (least, most) = binnings
                .iter()
                .map(ece)
                .fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), ece| (least.min(ece), most.max(ece)));
            (most - least).max(0.0)
        })
    }

    /// The sum of all residuals before each cut, row by row.
    fn sums_before(&self, rows: &Rows<'_>, mut outcome: impl FnMut(usize) -> bool) -> Vec<f64> {
        let mut sum = 0.0;
        let mut before = Vec::with_capacity(self.cuts.len());
        before.extend(self.cuts.first().map(|_| 0.0));
        before.extend(self.cuts.windows(2).map(|cell| {
            for row in cell[0]..cell[1] {
                sum += rows.shares[row] * (f64::from(u8::from(outcome(row))) - rows.probabilities[row]);
            }
            sum
        }));
        before
    }
}

/// The sum of all residuals before each cut, cell by cell: a draw costs as much as there are cells,
/// whatever the number of rows.
fn drawn_sums(cells: &[Residual], random_state: u64) -> Vec<f64> {
    let mut random = Normals::new(random_state);
    let mut sum = 0.0;
    let after = cells.iter().map(|cell| {
        sum += cell.draw(&mut random);
        sum
    });
    std::iter::once(0.0).chain(after).collect()
}

/// The law of the sum of the residuals s (y - p) of a cell's rows.
///
/// The unlikely outcomes of a cell are counted: outcomes 1 of rows with p at most 1/2, and outcomes
/// 0 of the others. With q = min(p, 1 - p), a count times a size stands for their sum, Σ s over the
/// unlikely outcomes. Size, number of trials and probability are those of a binomial count with the
/// same mean Σ s q and the same variance Σ s² q (1 - q):
/// ```text
/// size = Σ s² q (1 - q) / Σ s q (1 - q),   probability = Σ s q² / Σ s q,   trials = (Σ s q / size) / probability
/// ```
/// It is the exact law for rows of the same weight and probability. A normal number takes the place
/// of a count of more than 20 ([`Count`]). Where fewer are expected, as for rare events, a normal
/// number would have too short a tail.
#[derive(Debug, Clone, Copy)]
struct Residual {
    /// Outcomes 1 of small probabilities, and outcomes 0 of large ones.
    unlikely: [Unlikely; 2],
}

#[derive(Debug, Clone, Copy)]
struct Unlikely {
    size: f64,
    /// Of the count.
    mean: f64,
    count: Count,
}

impl Residual {
    /// Of the pieces in that range, which are in order of their probabilities.
    fn new(range: Range<usize>, piece: impl Fn(usize) -> Piece) -> Self {
        let (mut middle, mut end) = (range.start, range.end);
        while middle < end {
            let between = middle.midpoint(end);
            if piece(between).probability <= 0.5 { middle = between + 1 } else { end = between }
        }
        let unlikely = |range: Range<usize>| {
            let sum = |term: fn(Piece, f64) -> f64| {
                let terms =
                    range.clone().map(&piece).map(|piece| term(piece, piece.probability.min(1.0 - piece.probability)));
                terms.collect::<Sum>().value()
            };
            Unlikely::new(
                sum(|piece, q| piece.share * q),
                sum(|piece, q| piece.share * q * (1.0 - q)),
                sum(|piece, q| piece.share * piece.row_share * q * (1.0 - q)),
            )
        };
        Residual { unlikely: [unlikely(range.start..middle), unlikely(middle..range.end)] }
    }

    fn draw(&self, random: &mut Normals) -> f64 {
        let [above, below] = self.unlikely.each_ref().map(|unlikely| unlikely.draw(random));
        above - below
    }
}

impl Unlikely {
    /// Σ s q, Σ s q (1 - q) and Σ s² q (1 - q).
    fn new(mean: f64, spread: f64, variance: f64) -> Self {
        let size = variance / spread;
        // Not so where no outcome is in doubt, or only by less than doubles can hold.
        if !(size > 0.0 && size.is_finite()) {
            return Unlikely { size: 0.0, mean: 0.0, count: Count::poisson(0.0) };
        }
        let (mean, probability) = (mean / size, 1.0 - spread / mean);
        let trials = (mean / probability).round().max(mean.ceil());
        // Below this, 1 - spread / mean is mostly rounding, and the binomial count cannot be told
        // from one of Poisson.
        let count = match probability > 1e-9 {
            true => Count::binomial(trials, mean / trials, 1.0 - mean / trials),
            false => Count::poisson(mean),
        };
        Unlikely { size, mean, count }
    }

    fn draw(&self, random: &mut Normals) -> f64 {
        self.size * (self.count.draw(random) - self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_range(p: &[f64], shares: &[f64], binnings: &[Starts], n_draws: usize) -> f64 {
        Binnings::new([binnings]).draw(&Rows { probabilities: p, shares }, n_draws, 0).mean(0)
    }

    #[test]
    fn one_bin_against_two_has_the_range_of_theory() {
        // Two cells of variance 1/2 with sums A and B: |A| + |B| - |A + B| = 2 min(|A|, |B|) if
        // signs differ. Its mean is half of 2 E min(|A|, |B|), that is E min = sd (2 / √π)(√2 - 1)
        // for independent normals.
        let expected = 0.5_f64.sqrt() * 2.0 / std::f64::consts::PI.sqrt() * (2f64.sqrt() - 1.0);
        // Many trials of probability 1/2: s = √(2 / n) each, so that n s² / 4 = 1/2.
        let (n, share) = (1e6, (2.0 / 1e6_f64).sqrt());
        let cell = Piece { probability: 0.5, share: n * share, row_share: share };
        let range = Binnings::new([&[vec![0, 2], vec![0, 1, 2]]]).draw_pieces(&[cell; 2], 100_000, 0).mean(0);
        assert!((range - expected).abs() < 0.01, "{range} {expected}");
    }

    #[test]
    fn one_bin_against_two_has_the_range_of_two_coins() {
        // Two rows of probability 1/2 and half of the weight: residuals are 1/4 or -1/4. Where
        // signs differ, which is so half of the time, two bins have |1/4| + |1/4| and one has 0.
        let binnings = [vec![0, 2], vec![0, 1, 2]];
        let range = mean_range(&[0.5; 2], &[0.5; 2], &binnings, 100_000);
        assert!((range - 0.25).abs() < 0.004, "{range}");
        // A sure row has no residual.
        assert_eq!(mean_range(&[0.0, 1.0], &[0.5; 2], &binnings, 1000), 0.0);
        // Drawn as a count of one trial, a row has the same law.
        let coin = Piece { probability: 0.5, share: 0.5, row_share: 0.5 };
        let range = Binnings::new([&binnings]).draw_pieces(&[coin; 2], 100_000, 0).mean(0);
        assert!((range - 0.25).abs() < 0.004, "{range}");
    }

    #[test]
    fn the_p_value_counts_equal_ranges_and_the_observed_one() {
        let ranges = Ranges(vec![[0.1], [0.2], [0.1 + 0.2], [0.4]]);
        for (observed, p) in [(0.0, 1.0), (0.15, 0.8), (0.3, 0.6), (0.1 + 0.2 + 1e-15, 0.6), (0.4, 0.4), (0.5, 0.2)] {
            assert_eq!(ranges.p_value(0, observed), p, "{observed}");
        }
        // The same outcomes have the same range, observed or drawn.
        let (p, shares) = ([0.0, 0.2, 1.0, 1.0], [0.1, 0.2, 0.3, 0.4]);
        let rows = Rows { probabilities: &p, shares: &shares };
        let binnings = Binnings::new([&[vec![0, 4], vec![0, 1, 4], vec![0, 2, 4]]]);
        let drawn = binnings.draw(&rows, 100, 0);
        for outcomes in [[false, false, true, true], [false, true, true, true]] {
            let observed = binnings.observed(&rows, &outcomes)[0];
            assert!(drawn.0.iter().any(|[range]| *range == observed));
        }
    }

    /// Rows drawn one by one against the counts of cells: mean and upper tail of the range.
    #[test]
    fn rows_and_counts_of_cells_agree() {
        let n = 2000;
        let place = |row: usize| (row as f64 + 0.5) / n as f64;
        let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
        let equal = vec![1.0 / n as f64; n];
        let uneven: Vec<f64> = (0..n).map(|row| (1 + row % 3) as f64 / (2 * n) as f64).collect();
        let even: Vec<f64> = (0..n).map(place).collect();
        // About 40 and 4 events.
        let rare: Vec<f64> = even.iter().map(|x| logistic(-4.9 + 2.0 * x)).collect();
        let rarer: Vec<f64> = rare.iter().map(|p| 0.1 * p).collect();
        let sure: Vec<f64> = even.iter().map(|x| logistic(40.0 * (x - 0.5))).collect();
        let tied: Vec<f64> = even.iter().map(|x| (20.0 * x).round() / 20.0).collect();
        let binnings: Vec<Starts> = [10, 15, 40].map(|bins| (0..=bins).map(|bin| bin * n / bins).collect()).to_vec();
        let binnings = Binnings::new([&binnings]);
        for (name, p) in [("even", even), ("rare", rare), ("rarer", rarer), ("sure", sure), ("tied", tied)] {
            for shares in [&equal, &uneven] {
                let rows = Rows { probabilities: &p, shares };
                let by_rows = binnings.draw(&rows, 20_000, 0);
                let piece = |row: usize| Piece { probability: p[row], share: shares[row], row_share: shares[row] };
                let pieces: Vec<Piece> = (0..n).map(piece).collect();
                let by_cells = binnings.draw_pieces(&pieces, 20_000, 1);
                let ratio = by_cells.mean(0) / by_rows.mean(0);
                assert!((ratio - 1.0).abs() < 0.05, "{name}: {ratio}");
                // What one range of twenty exceeds by rows is exceeded as often by cells.
                let mut sorted: Vec<f64> = by_rows.0.iter().map(|range| range[0]).collect();
                sorted.sort_by(f64::total_cmp);
                let (tail, expected) = (by_cells.p_value(0, sorted[19_000]), by_rows.p_value(0, sorted[19_000]));
                assert!((tail - expected).abs() < 0.012, "{name}: {tail} {expected}");
            }
        }
    }
}
