//! ECE by number of bins and LS-ECE by sigma.

use calipers::{Estimate, Sample, SweepResult};

use super::Options;

/// The numbers of bins.
pub(super) const BINS: [usize; 11] = [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

/// The tolerance of LS-ECE from a sketch, which is finer than a chart can show.
const TOLERANCE: f64 = 1e-4;

/// The sweep of one model.
#[derive(Debug, Clone)]
pub enum SweepValues {
    /// The sweep of rows, with the verdict.
    Whole(Box<SweepResult>),
    /// The sweep of a sketch: ECE and LS-ECE for each number of bins for which the sketch has them.
    Parts {
        /// The number of bins, ECE with bins of equal width, and LS-ECE at sigma = 1/bins.
        points: Vec<(usize, Option<Estimate>, Option<Estimate>)>,
        /// The whole sweep with its verdict, if the sketch is fine enough for all of it.
        whole: Option<Box<SweepResult>>,
    },
    /// Why there is no sweep.
    Error(String),
}

pub(super) fn gather(sample: Sample<'_>, options: &Options) -> SweepValues {
    let Some(sketch) = sample.sketch() else {
        return match options.sweep().run(sample) {
            Ok(result) => SweepValues::Whole(Box::new(result)),
            Err(error) => SweepValues::Error(error.to_string()),
        };
    };
    let point = |n_bins: usize| {
        let ece = sketch.estimate(&options.bins(n_bins)).ok();
        let ls_ece = options.ls_ece.clone().sigma(1.0 / n_bins as f64).tolerance(TOLERANCE);
        // If an edge runs through cells, the error bound of ECE can be too large for a chart.
        let ece = ece.filter(|estimate| estimate.numerical_bound <= 0.05 * estimate.value.max(1e-3));
        (n_bins, ece, sketch.estimate(&ls_ece).ok())
    };
    let sweep = options.sweep().tolerance(TOLERANCE).run(sketch);
    SweepValues::Parts { points: BINS.into_iter().map(point).collect(), whole: sweep.ok().map(Box::new) }
}
