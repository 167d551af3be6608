//! Binned calibration error from a sketch: exact for declared bins, an interval for any others.
//!
//! Cells do not end where bins do. A cell that an edge runs through is counted in one of the bins
//! that it may belong to; how far the measure would be off if its rows were in any other of them is
//! the bound.

use super::edges::Strategy;
use super::equal_width::EqualWidth;
use super::{Bin, BinTotals, BinnedEce, Norm, PROBABILITY_BITS};
use crate::Error;
use crate::cells::Summary;
use crate::data::Scale;
use crate::link::{Link, Logistic};
use crate::measures::prelude::Merge;
use crate::numerics::sum::Sum;
use crate::sketch::Sketch;

/// A value, and how far it can be from that of the rows.
pub(super) struct FromSketch {
    pub(super) value: f64,
    pub(super) bound: f64,
    pub(super) n_bins: usize,
    pub(super) edges: &'static str,
}

impl BinnedEce {
    pub(super) fn measure_sketch(&self, sketch: &Sketch) -> Result<FromSketch, Error> {
        if let Some(compat) = self.compat {
            let rule = "left out for a sketch, whose bins have edges of their own";
            return Err(Error::setting("compat", rule, format!("{:?}", compat.name())));
        }
        let n_bins = self.n_bins.resolve(sketch.n() as usize)?;
        let (intervals, edges, rounding) = match (self.strategy, sketch.declared(n_bins)) {
            (Strategy::Uniform, Some((_, totals))) if self.by_logistic(sketch) => {
                let unit = 2f64.powi(PROBABILITY_BITS as i32);
                let exact = totals.iter().map(|totals| {
                    // proof: both are at most 2^127, which integers with a sign do not have
                    let (outcomes, expected) = (totals.positive << PROBABILITY_BITS, totals.probability);
                    let distance = outcomes.abs_diff(expected) as f64 / unit;
                    Interval::exact(totals.weight as f64, if outcomes < expected { -distance } else { distance })
                });
                (exact.collect(), "(a, b] at k/B, float64", 2f64.powi(-(PROBABILITY_BITS as i32)))
            }
            (Strategy::Uniform, _) => {
                let intervals = at_equal_widths(&self.pieces(sketch), &EqualWidth::new(n_bins));
                (intervals, "(a, b] at k/B, float64", 0.0)
            }
            (Strategy::Quantile, _) => {
                let intervals = at_quantiles(&self.pieces(sketch), n_bins, sketch.total_units() as f64);
                // Where a level is met up to rounding of the weights, as much of them may be in
                // either bin.
                (intervals, "(a, b] at weighted quantiles, ties pooled, float64", 2e-12 * n_bins as f64)
            }
        };
        let total = sketch.total_units() as f64;
        let range = self.norm.of_intervals(&intervals, total);
        let weights = self.norm.weight_price(sketch.weight_error(), &intervals, total);
        let spread = (range.most - range.value).max(range.value - range.least);
        let bound = spread + weights + rounding + 32.0 * f64::EPSILON + sketch.score_error();
        Ok(FromSketch { value: range.value, bound, n_bins, edges })
    }

    /// The table behind the value of a sketch, for bins of equal width.
    pub(super) fn bins_of_sketch(&self, sketch: &Sketch) -> Result<Vec<Bin>, Error> {
        sketch.check_rows()?;
        if let (Strategy::Quantile, _) | (_, Some(_)) = (self.strategy, self.compat) {
            let rule = "\"uniform\" without compat for the bins of a sketch";
            return Err(Error::setting("strategy", rule, format!("{:?}", self.strategy.name())));
        }
        let n_bins = self.n_bins.resolve(sketch.n() as usize)?;
        let unit = sketch.unit();
        // Rows, weight, Σ weight · probability and weight of outcome 1.
        let sums: Vec<[f64; 4]> = match sketch.declared(n_bins).filter(|_| self.by_logistic(sketch)) {
            Some((_, totals)) => {
                let scale = 2f64.powi(-(PROBABILITY_BITS as i32));
                let sums = |bin: &BinTotals| {
                    [bin.count as f64, bin.weight as f64, bin.probability as f64 * scale, bin.positive as f64]
                };
                totals.iter().map(sums).collect()
            }
            None => {
                let (binning, mut sums) = (EqualWidth::new(n_bins), vec![[0.0; 4]; n_bins]);
                for Piece { mean, weight, row_weight, outcome, .. } in self.pieces(sketch) {
                    let positive = if outcome { weight } else { 0.0 };
                    sums[binning.place(mean)].merge([weight / unit / row_weight, weight, weight * mean, positive]);
                }
                sums
            }
        };
        let bin = |(place, [n, weight, probability, positive]): (usize, [f64; 4])| Bin {
            lower: place as f64 / n_bins as f64,
            upper: (place + 1) as f64 / n_bins as f64,
            n: n.round() as u64,
            weight: weight / unit,
            mean_probability: probability / weight,
            outcome_rate: positive / weight,
        };
        Ok(sums.into_iter().enumerate().map(bin).collect())
    }

    /// Cells in ascending order, both outcomes together: mean probability, weight in units, and Σ
    /// w² / Σ w in weights of 1. Rows of equal probability are in one cell.
    pub(crate) fn pieces_of(&self, sketch: &Sketch) -> Vec<(f64, f64, f64)> {
        let pieces = self.pieces(sketch);
        let cell = |pieces: &[Piece]| {
            let sum = |term: &dyn Fn(&Piece) -> f64| pieces.iter().map(term).sum::<f64>();
            let weight = sum(&|piece| piece.weight);
            let mean = sum(&|piece| piece.weight * piece.mean) / weight;
            (mean.clamp(0.0, 1.0), weight, sum(&|piece| piece.weight * piece.row_weight) / weight)
        };
        pieces.chunk_by(Piece::may_tie).map(cell).collect()
    }

    /// Whether probabilities are those of the cells, which are made by the logistic link.
    fn by_logistic(&self, sketch: &Sketch) -> bool {
        sketch.scale() != Some(Scale::Link) || self.link.name() == Logistic.name()
    }

    /// The cells in the order of their probabilities, both outcomes of a cell next to each other.
    pub(super) fn pieces(&self, sketch: &Sketch) -> Vec<Piece> {
        let (by_logistic, computed) = (self.by_logistic(sketch), sketch.scale() != Some(Scale::Probability));
        let mut pieces: Vec<Piece> = sketch
            .summaries()
            .filter(|cell| cell.weight > 0.0)
            .map(|cell| {
                let clipped = sketch.is_clipped(&cell);
                if by_logistic { Piece::new(&cell, clipped, computed) } else { Piece::by_link(&cell, &*self.link) }
            })
            .collect();
        pieces.sort_by(|a, b| a.least.total_cmp(&b.least));
        pieces
    }
}

/// Rows of one outcome whose probabilities are between two ends.
pub(super) struct Piece {
    least: f64,
    most: f64,
    pub(super) mean: f64,
    /// How far the mean can be off.
    mean_error: f64,
    pub(super) weight: f64,
    /// Σ w² / Σ w of the rows, in weights of 1.
    pub(super) row_weight: f64,
    pub(super) outcome: bool,
    /// Neighbouring pieces may have rows of equal probability: they were rounded.
    pooled: bool,
}

/// Cells that are shorter than this, next to 1, may hold rows of equal probability if that was
/// computed from a raw score.
const ROUNDED: f64 = 1.0 / (1u64 << 50) as f64;

impl Piece {
    /// `clipped`: some of the rows may have been beyond the cell, up to 0 or 1.
    fn new(cell: &Summary, clipped: bool, computed: bool) -> Self {
        let q = |scaled: f64| scaled * cell.scale;
        let (mut least, most) = (q(cell.lower), q(cell.lower + cell.width));
        let (mean, mut mean_error) = (q(cell.mean), q(0.5 * cell.step));
        if clipped {
            least = 0.0;
            mean_error += most;
        }
        let (least, most, mean) = if cell.upper { (1.0 - most, 1.0 - least, 1.0 - mean) } else { (least, most, mean) };
        let pooled = computed && cell.upper && q(cell.width) < ROUNDED;
        Self::of_cell(cell, (least, most), (mean, mean_error), pooled)
    }

    /// For raw scores under another link than the logistic, by which cells were made.
    fn by_link(cell: &Summary, link: &dyn Link) -> Self {
        let response = |scaled: f64| {
            let (p, complement) = cell.probability(scaled);
            link.response(Logistic.inverse(p, complement))
        };
        let ends = [response(cell.lower), response(cell.lower + cell.width)];
        let (least, most) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let mean = response(cell.mean).clamp(least, most);
        let mean_error = (mean - least).max(most - mean);
        let pooled = most - least < ROUNDED;
        Self::of_cell(cell, (least, most), (mean, mean_error), pooled)
    }

    fn of_cell(cell: &Summary, (least, most): (f64, f64), (mean, mean_error): (f64, f64), pooled: bool) -> Self {
        let Summary { weight, row_weight, outcome, .. } = *cell;
        Piece { least, most, mean, mean_error, weight, row_weight, outcome, pooled }
    }

    /// Whether the two may have rows of equal probability: they are of one cell, or both were
    /// rounded.
    fn may_tie(&self, other: &Self) -> bool {
        self.least == other.least || (self.pooled && other.pooled)
    }

    /// Σ (outcome - probability), at least, as it is taken, and at most.
    fn residual(&self) -> (f64, f64, f64) {
        let at = |p: f64| self.weight * (f64::from(u8::from(self.outcome)) - p);
        (at(self.mean + self.mean_error), at(self.mean), at(self.mean - self.mean_error))
    }
}

/// What is known of one bin.
#[derive(Debug, Clone, Copy, Default)]
struct Interval {
    /// Weight of the rows that are certainly in it, as it is taken, and of those that may be.
    weight: (f64, f64, f64),
    /// Σ weight (outcome - probability): at least, as it is taken, at most.
    residual: (f64, f64, f64),
}

impl Interval {
    fn exact(weight: f64, residual: f64) -> Self {
        Interval { weight: (weight, weight, weight), residual: (residual, residual, residual) }
    }

    fn add(&mut self, piece: &Piece, certain: bool, taken: bool) {
        let (least, mean, most) = piece.residual();
        if taken {
            self.weight.1 += piece.weight;
            self.residual.1 += mean;
        }
        self.weight.2 += piece.weight;
        if certain {
            self.weight.0 += piece.weight;
            self.residual.0 += least;
            self.residual.2 += most;
        } else {
            // Any part of its rows, at any of their probabilities.
            let at = |p: f64| piece.weight * (f64::from(u8::from(piece.outcome)) - p);
            self.residual.0 += at(piece.most).min(least).min(0.0);
            self.residual.2 += at(piece.least).max(most).max(0.0);
        }
    }

    /// Smallest, taken and largest |residual|.
    fn sizes(&self) -> (f64, f64, f64) {
        let (least, taken, most) = self.residual;
        let smallest = if least <= 0.0 && most >= 0.0 { 0.0 } else { least.abs().min(most.abs()) };
        (smallest, taken.abs(), least.abs().max(most.abs()))
    }
}

fn at_equal_widths(pieces: &[Piece], binning: &EqualWidth) -> Vec<Interval> {
    let mut intervals = vec![Interval::default(); binning.len()];
    for piece in pieces {
        let (first, last) = (binning.place(piece.least), binning.place(piece.most));
        let taken = binning.place(piece.mean).clamp(first, last);
        for (bin, interval) in (first..).zip(&mut intervals[first..=last]) {
            interval.add(piece, first == last, bin == taken);
        }
    }
    intervals
}

/// Bins end where the cumulated weight reaches b/B: in a known cell, but where in it only its end
/// would tell.
fn at_quantiles(pieces: &[Piece], n_bins: usize, total: f64) -> Vec<Interval> {
    let mut intervals = vec![Interval::default(); n_bins];
    let mut before = Sum::default();
    let mut bin = 0;
    for cell in pieces.chunk_by(Piece::may_tie) {
        let mut after = before;
        cell.iter().for_each(|piece| after.add(piece.weight));
        let reached = after.value() * n_bins as f64 * (1.0 + 1e-12);
        let mut last = bin;
        while last + 1 < n_bins && (last + 1) as f64 * total <= reached {
            last += 1;
        }
        // Where the cell ends just where the bin does, the bin ends with the largest of its rows.
        let ends_here = last > bin && (last as f64 * total - after.value() * n_bins as f64).abs() <= 1e-12 * total;
        let last_inside = if ends_here { last - 1 } else { last };
        for (index, interval) in intervals[bin..=last_inside].iter_mut().enumerate() {
            cell.iter().for_each(|piece| interval.add(piece, bin == last_inside, index == 0));
        }
        bin = last;
        before = after;
    }
    intervals
}

/// A norm over all values that intervals leave open.
struct Range {
    least: f64,
    value: f64,
    most: f64,
}

impl Norm {
    fn of_intervals(self, intervals: &[Interval], total: f64) -> Range {
        let sum = |term: &dyn Fn(&Interval) -> f64| intervals.iter().map(term).collect::<Sum>().value() / total;
        let largest = |term: &dyn Fn(&Interval) -> f64| intervals.iter().map(term).fold(0.0, f64::max);
        let ratio = |size: f64, weight: f64| if weight > 0.0 { size / weight } else { 0.0 };
        // No gap is larger than 1, however little weight is certain.
        let largest_gap = |bin: &Interval| {
            let size = bin.sizes().2;
            if size >= bin.weight.0 { f64::from(u8::from(bin.weight.2 > 0.0)) } else { size / bin.weight.0 }
        };
        match self {
            // The taken residuals are in their intervals, but intervals are wider than what all
            // bins together leave open.
            Norm::L1 => {
                let value = sum(&|bin| bin.sizes().1);
                let open = sum(&|bin| (bin.residual.2 - bin.residual.1).max(bin.residual.1 - bin.residual.0));
                Range { least: value - open, value, most: value + open }
            }
            Norm::L2 => Range {
                least: sum(&|bin| ratio(bin.sizes().0.powi(2), bin.weight.2)).sqrt(),
                value: sum(&|bin| ratio(bin.sizes().1.powi(2), bin.weight.1)).sqrt(),
                most: sum(&|bin| (largest_gap(bin).powi(2) * bin.weight.2).min(bin.weight.2)).sqrt(),
            },
            Norm::Max => Range {
                least: largest(&|bin| ratio(bin.sizes().0, bin.weight.2)),
                value: largest(&|bin| ratio(bin.sizes().1, bin.weight.1)),
                most: largest(&largest_gap),
            },
        }
    }

    /// What rounded weights cost: `error` of the total weight was added or taken, anywhere.
    ///
    /// In a bin of weight W_b of which δ_b is in doubt, the residual moves by at most δ_b and the
    /// gap, which is at most 1, by 2 δ_b / W_b. So the mean gap moves by 2 error; W_b times the
    /// squared gap by 5 δ_b and the mean of it by 6 error, its root by no more than the root of
    /// that; the largest gap by what the lightest bin allows.
    fn weight_price(self, error: f64, intervals: &[Interval], total: f64) -> f64 {
        match self {
            _ if error == 0.0 => 0.0,
            Norm::L1 => 2.0 * error,
            Norm::L2 => (6.0 * error).sqrt(),
            Norm::Max => {
                let occupied = intervals.iter().map(|bin| bin.weight.1).filter(|weight| *weight > 0.0);
                (2.0 * error * total / occupied.fold(f64::INFINITY, f64::min)).min(1.0)
            }
        }
    }
}
