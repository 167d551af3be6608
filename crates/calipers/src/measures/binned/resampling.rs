//! Resamples of binned calibration error from a sketch, bin by bin.
//!
//! Of a resample, a bin needs its weight and Σ w (y - p), and both are sums over many rows whose
//! means, variances and covariance the cells of the sketch tell:
//! - outcomes drawn from the predictions: the second is a binomial number, standardised and brought
//!   to the variance Σ w² p (1 - p); the first stays;
//! - rows drawn with replacement: every row counts a Poisson number of times with mean 1, so that
//!   the variances are Σ w² and Σ w² (y - p)²; both are taken as normal numbers. The total is
//!   divided out.

use super::from_sketch::Piece;
use super::{BinnedEce, EqualWidth, Norm, Strategy, bracket};
use crate::Error;
use crate::inference::{Bracket, End, Resampler};
use crate::numerics::counts::Share;
use crate::numerics::random::Normals;
use crate::sketch::Sketch;

/// Binned calibration error of resampled bins of equal width.
pub(super) struct BinResampler {
    norm: Norm,
    bins: Vec<Bin>,
    total: f64,
}

/// The sums of one occupied bin, in units of the sketch, and the law of its outcomes.
#[derive(Default)]
struct Bin {
    weight: f64,
    /// Σ w y.
    positive: f64,
    /// Σ w (y - p).
    residual: f64,
    /// Σ w².
    squares: f64,
    /// The largest weight of a row.
    largest: f64,
    /// Σ w² (y - p) and Σ w² (y - p)².
    covariance: f64,
    variance: f64,
    /// Σ w p, Σ w (1 - p) and Σ w² p (1 - p).
    expected: [f64; 2],
    null_variance: f64,
}

impl Bin {
    fn add(&mut self, piece: &Piece, unit: f64) {
        let (weight, squares, p) = (piece.weight, piece.weight * piece.row_weight * unit, piece.mean);
        let residual = f64::from(u8::from(piece.outcome)) - p;
        self.weight += weight;
        self.positive += if piece.outcome { weight } else { 0.0 };
        self.residual += weight * residual;
        self.squares += squares;
        self.largest = self.largest.max(piece.row_weight * unit);
        self.covariance += squares * residual;
        self.variance += squares * residual * residual;
        self.expected[0] += weight * p;
        self.expected[1] += weight * (1.0 - p);
        self.null_variance += squares * p * (1.0 - p);
    }

    /// Σ w (y - p) for the share of outcomes 1 that `share` takes from its law: drawn, or that of
    /// the rows.
    fn calibrated(&self, share: impl FnOnce(Share) -> f64) -> f64 {
        let effective_rows = self.weight * self.weight / self.squares;
        let [p, complement] = self.expected.map(|sum| sum / self.weight);
        let of_share = p * complement / effective_rows;
        if !(of_share > 0.0) {
            return 0.0;
        }
        (share(Share::new(effective_rows, p, complement)) - p) * (self.null_variance / of_share).sqrt()
    }

    /// Weight and Σ w (y - p) of rows drawn with replacement.
    fn drawn(&self, random: &mut Normals) -> (f64, f64) {
        let (first, second) = (random.next(), random.next());
        let deviation = self.squares.sqrt();
        let slope = self.covariance / deviation;
        let rest = (self.variance - slope * slope).max(0.0).sqrt();
        let weight = (self.weight + deviation * first).max(0.0);
        // No gap is larger than 1.
        (weight, (self.residual + slope * first + rest * second).clamp(-weight, weight))
    }
}

impl BinResampler {
    fn norm(&self, sums: impl Iterator<Item = (f64, f64)>, total: f64) -> f64 {
        let occupied = sums.filter(|(weight, _)| *weight > 0.0);
        self.norm.of_gaps(occupied.map(|(weight, residual)| (weight / total, residual.abs() / weight)))
    }
}

impl Resampler for BinResampler {
    fn value(&self) -> f64 {
        self.norm(self.bins.iter().map(|bin| (bin.weight, bin.residual)), self.total)
    }

    fn calibrated_value(&self) -> f64 {
        let seen = |bin: &Bin| bin.calibrated(|_| bin.positive / bin.weight);
        self.norm(self.bins.iter().map(|bin| (bin.weight, seen(bin))), self.total)
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let mut random = Normals::new(draw);
        let mut drawn = |bin: &Bin| bin.calibrated(|law| law.draw(&mut random));
        self.norm(self.bins.iter().map(|bin| (bin.weight, drawn(bin))), self.total)
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let mut random = Normals::new(draw);
        let sums: Vec<(f64, f64)> = self.bins.iter().map(|bin| bin.drawn(&mut random)).collect();
        let total = sums.iter().map(|(weight, _)| weight).sum::<f64>();
        if total > 0.0 { self.norm(sums.into_iter(), total) } else { f64::NAN }
    }

    fn bracket(&self) -> Option<Bracket> {
        if self.norm != Norm::L1 {
            return None;
        }
        let of_bins = |of: &dyn Fn(&Bin) -> f64| self.bins.iter().map(|bin| of(bin) / self.total).collect::<Vec<f64>>();
        let deviations = of_bins(&|bin| bin.variance.sqrt());
        let null_deviations = of_bins(&|bin| bin.null_variance.sqrt());
        let residuals = of_bins(&|bin| bin.residual);
        let found = bracket::enclose(&residuals, &deviations, &null_deviations);
        let deviation = |end: &End| {
            let variance = |weights: &[f64], of: &[f64]| {
                weights.iter().zip(of).map(|(weight, deviation)| (weight * deviation).powi(2)).sum::<f64>()
            };
            let mean: f64 = end.weights.iter().zip(&residuals).map(|(weight, residual)| weight * residual).sum();
            let lacking = end
                .quiet
                .as_ref()
                .map_or(0.0, |quiet| (variance(quiet, &null_deviations) - variance(quiet, &deviations)).max(0.0));
            let of_rows = variance(&end.weights, &deviations) - mean * mean / self.effective_rows();
            (of_rows.max(0.0) + lacking).sqrt()
        };
        Some(found.bracket(deviation))
    }

    fn squared_differences(&self) -> Option<f64> {
        (self.norm == Norm::L1).then(|| 1.0 / self.effective_rows())
    }

    fn largest_difference(&self) -> Option<f64> {
        let largest = || self.bins.iter().map(|bin| bin.largest).fold(0.0, f64::max);
        (self.norm == Norm::L1).then(|| largest() / self.total)
    }

    fn effective_rows(&self) -> f64 {
        self.total * self.total / self.bins.iter().map(|bin| bin.squares).sum::<f64>()
    }

    fn range(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}

impl BinnedEce {
    /// For bins of equal width, which do not move with the rows; cells that an edge runs through
    /// count in the bin of their mean.
    pub(super) fn bin_resampler(&self, sketch: &Sketch) -> Result<BinResampler, Error> {
        sketch.check_rows()?;
        let rule = "\"uniform\" to resample from a sketch";
        Error::require(self.strategy == Strategy::Uniform, "strategy", rule, self.strategy.name())?;
        let binning = EqualWidth::new(self.n_bins.resolve(sketch.n() as usize)?);
        let mut bins: Vec<Bin> = (0..binning.len()).map(|_| Bin::default()).collect();
        for piece in self.pieces(sketch) {
            bins[binning.place(piece.mean.clamp(0.0, 1.0))].add(&piece, sketch.unit());
        }
        bins.retain(|bin| bin.weight > 0.0);
        let total = bins.iter().map(|bin| bin.weight).sum();
        Ok(BinResampler { norm: self.norm, bins, total })
    }
}
