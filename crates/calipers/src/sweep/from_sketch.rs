//! The sweep of a sketch: the same values, whose bounds include what the cells leave open.

use super::chance::{Binnings, Piece, Starts};
use super::verdict::JUDGED;
use super::{Extent, N_DRAWS, Sweep, SweepPoint, SweepResult};
use crate::Error;
use crate::measure::Measure;
use crate::measures::binned::{EqualWidth, Strategy};
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::sketch::Sketch;
use crate::watch;

impl Sweep {
    /// Sweeps over the rows of a sketch, whose clip is that of LS-ECE.
    pub(super) fn of_sketch(&self, sketch: &Sketch) -> Result<SweepResult, Error> {
        self.check()?;
        sketch.check_rows()?;
        let sweep = self.clone().clip(sketch.options().clip_value());
        let counts = sweep.counts()?;
        watch::expect_draws((counts.len() + N_DRAWS) as u64);
        let point = |n_bins: usize| {
            watch::draw_begins();
            let ece = |strategy| sweep.ece(n_bins, strategy).estimate_sketch(sketch);
            Ok(SweepPoint {
                n_bins,
                ece_uniform: ece(Strategy::Uniform)?,
                ece_quantile: Some(ece(Strategy::Quantile)?),
                ls_ece: sweep.ls_ece().sigma(1.0 / n_bins as f64).estimate_sketch(sketch)?,
            })
        };
        let points = parallel::map(counts.len(), |index| point(counts[index])).into_iter().collect::<Result<_, _>>()?;
        let cells = Cells::new(&sweep.ece(1, Strategy::Uniform).pieces_of(sketch), sketch);
        let judged = || counts.iter().filter(|n_bins| JUDGED.contains(n_bins));
        let uniform: Vec<Starts> = judged().map(|n_bins| cells.at_equal_widths(*n_bins)).collect();
        let quantile: Vec<Starts> = judged().map(|n_bins| cells.at_equal_masses(*n_bins)).collect();
        let drawn = Binnings::new([&uniform, &quantile]).draw_pieces(&cells.pieces, N_DRAWS, sweep.random_state);
        // At least as wide, whatever cells leave open.
        let width = |range: Option<Extent>| range.map_or(0.0, |range| range.width() - range.numerical_bound);
        Ok(sweep.judge(points, &drawn, |ranges| ranges.map(width), sketch.n(), sketch.report()))
    }
}

/// The cells of a sketch in the order of their probabilities.
struct Cells {
    pieces: Vec<Piece>,
    /// Share of the weight up to and with each cell.
    shares_up_to: Vec<f64>,
}

impl Cells {
    /// `cells`: mean probability, weight in units, and Σ w² / Σ w in weights of 1.
    fn new(cells: &[(f64, f64, f64)], sketch: &Sketch) -> Self {
        let (units, total) = (sketch.total_units() as f64, sketch.total_weight());
        let piece = |&(probability, weight, row_weight): &(f64, f64, f64)| Piece {
            probability,
            share: weight / units,
            row_share: row_weight / total,
        };
        let mut up_to = Sum::default();
        let shares_up_to = cells.iter().map(|(_, weight, _)| {
            up_to.add(*weight);
            up_to.value() / units
        });
        Cells { shares_up_to: shares_up_to.collect(), pieces: cells.iter().map(piece).collect() }
    }

    fn at_equal_widths(&self, n_bins: usize) -> Starts {
        let bins = EqualWidth::new(n_bins);
        self.starts(n_bins, |bin| self.pieces.partition_point(|piece| bins.place(piece.probability) < bin))
    }

    /// As ECE has them: a bin ends with the cell in which its level is reached, so that no tie is
    /// split.
    fn at_equal_masses(&self, n_bins: usize) -> Starts {
        let is_reached = |share: f64, bin: usize| share * n_bins as f64 * (1.0 + 1e-12) >= bin as f64;
        let start = |bin| self.shares_up_to.partition_point(|share| !is_reached(*share, bin)) + 1;
        self.starts(n_bins, |bin| start(bin).min(self.pieces.len()))
    }

    fn starts(&self, n_bins: usize, start: impl Fn(usize) -> usize) -> Starts {
        let mut starts: Starts = std::iter::once(0).chain((1..n_bins).map(start)).collect();
        starts.push(self.pieces.len());
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, Sketch};

    #[test]
    fn a_sketch_is_swept_as_its_rows_are() {
        let n = 40_000;
        let p: Vec<f64> = (0..n).map(|row| ((row * 7919 % n) as f64 + 0.5) / n as f64).collect();
        let y: Vec<i32> =
            (0..n).map(|row| i32::from((row * 104_729 % n) as f64 / (n as f64) < p[row].powf(1.3))).collect();
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        let mut sketch = Sketch::new();
        sketch.update(&view).unwrap();
        let sweep = Sweep::new().bins([10, 15, 40, 50]).tolerance(1e-5);
        let (rows, cells) = (sweep.run(&view).unwrap(), sweep.run(&sketch).unwrap());
        assert_eq!(cells.verdict, rows.verdict);
        assert_eq!(cells.n, n as u64);
        for (row, cell) in rows.points.iter().zip(&cells.points) {
            let of_quantile = row.ece_quantile.as_ref().zip(cell.ece_quantile.as_ref()).unwrap();
            for (exact, found) in [(&row.ece_uniform, &cell.ece_uniform), of_quantile, (&row.ls_ece, &cell.ls_ece)] {
                let bound = exact.numerical_bound + found.numerical_bound;
                assert!((exact.value - found.value).abs() <= bound, "{} {found:?} {exact:?}", row.n_bins);
            }
        }
        for (exact, found) in [
            (rows.sampling_noise.uniform, cells.sampling_noise.uniform),
            (rows.sampling_noise.quantile.unwrap(), cells.sampling_noise.quantile.unwrap()),
        ] {
            assert!((found / exact - 1.0).abs() < 0.1, "{found} {exact}");
        }
        assert!(cells.sentence().starts_with(cells.verdict.name()));
    }
}
