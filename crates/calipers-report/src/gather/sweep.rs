//! ECE over numbers of bins beside LS-ECE over as many sigmas.

use calipers::{Estimate, Sample, SweepResult};

use super::Options;

/// Numbers of bins that are looked at.
pub(super) const BINS: [usize; 11] = [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

/// Of LS-ECE from a sketch: finer than a chart can show.
const TOLERANCE: f64 = 1e-4;

/// The sweep of one model.
#[derive(Debug, Clone)]
pub enum SweepFigures {
    /// That of rows, with the verdict.
    Whole(Box<SweepResult>),
    /// That of a sketch: for each number of bins ECE and LS-ECE, where the sketch answers.
    Parts {
        /// Numbers of bins with ECE of equal width and LS-ECE at sigma = 1/bins.
        points: Vec<(usize, Option<Estimate>, Option<Estimate>)>,
        /// The verdict, where the sketch is fine enough for all of them.
        whole: Option<Box<SweepResult>>,
    },
    /// Why there is none.
    Refused(String),
}

pub(super) fn gather(sample: Sample<'_>, options: &Options) -> SweepFigures {
    let Some(sketch) = sample.sketch() else {
        return match options.sweep().run(sample) {
            Ok(result) => SweepFigures::Whole(Box::new(result)),
            Err(refusal) => SweepFigures::Refused(refusal.to_string()),
        };
    };
    let point = |n_bins: usize| {
        let ece = sketch.estimate(&options.bins(n_bins)).ok();
        let ls_ece = options.ls_ece.clone().sigma(1.0 / n_bins as f64).tolerance(TOLERANCE);
        // An edge that runs through cells can leave open more than a chart could show.
        let ece = ece.filter(|estimate| estimate.numerical_bound <= 0.05 * estimate.value.max(1e-3));
        (n_bins, ece, sketch.estimate(&ls_ece).ok())
    };
    let sweep = options.sweep().tolerance(TOLERANCE).run(sketch);
    SweepFigures::Parts { points: BINS.into_iter().map(point).collect(), whole: sweep.ok().map(Box::new) }
}
