//! What figures are asked of: rows or a sketch, by the same questions.

use calipers::bands::{Band, BandOptions};
use calipers::significance::Clusters;
use calipers::{
    Assess, Assessment, Bin, BinaryView, BinnedEce, Corp, CumulativeCalibrationError, CumulativeCurve, Error, Estimate,
    Estimator, IsotonicCurve, LsCurve, LsEce, NoiseFloor, Sketch,
};

use super::Options;

/// Rows above which charts, and the resamples of ECE, are those of a sketch of them.
const MANY: usize = 20_000;

/// Rows or a sketch.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    Rows { view: &'a BinaryView<'a>, clusters: Option<&'a [u32]> },
    Sketch(&'a Sketch),
}

impl Subject<'_> {
    /// A sketch of many rows; `None` where they are few, or where a sketch does not take them.
    pub(super) fn summed(&self, options: &Options) -> Option<Sketch> {
        let Subject::Rows { view, .. } = self else { return None };
        if view.len() <= MANY {
            return None;
        }
        let n_bins = options.ece.estimate(view).ok()?.settings.number("n_bins")?;
        let mut sketch = Sketch::with(&options.sketch(n_bins as usize)).ok()?;
        sketch.update(view).ok()?;
        // A link that a sketch of raw scores does not know would be refused by every chart.
        Corp::new().shared_link(options.link.clone()).curve_from_sketch(&sketch).ok()?;
        Some(sketch)
    }

    /// Rows.
    pub(super) fn n(&self) -> u64 {
        match self {
            Subject::Rows { view, .. } => view.len() as u64,
            Subject::Sketch(sketch) => sketch.n(),
        }
    }

    pub(super) fn estimate(&self, measure: &dyn Estimator) -> Result<Estimate, Error> {
        match self {
            Subject::Rows { view, .. } => measure.estimate(view),
            Subject::Sketch(sketch) => sketch.estimate(measure),
        }
    }

    pub(super) fn assess<'a>(&'a self, assess: Assess<'a>) -> Result<Assessment, Error> {
        match self {
            Subject::Rows { view, clusters: None } => assess.run(view),
            Subject::Rows { view, clusters: Some(clusters) } => assess.clusters(clusters).run(view),
            Subject::Sketch(sketch) => assess.run_sketch(sketch),
        }
    }

    /// What a calibrated model would show, by so many draws, with the p-value of the measure that decides: of LS-ECE its residual form.
    pub(super) fn floor(&self, measure: &dyn Estimator, n_resamples: u64, seed: u64) -> Result<NoiseFloor, Error> {
        let floor = self.floor_of(measure, n_resamples, seed)?;
        match measure.decided_by() {
            Some(deciding) => {
                Ok(NoiseFloor { p_value: self.floor_of(&*deciding, n_resamples, seed)?.p_value, ..floor })
            }
            None => Ok(floor),
        }
    }

    fn floor_of(&self, measure: &dyn Estimator, n_resamples: u64, seed: u64) -> Result<NoiseFloor, Error> {
        match self {
            Subject::Rows { view, clusters: None } => NoiseFloor::new(&*measure.resampler(view)?, n_resamples, seed),
            Subject::Rows { view, clusters: Some(numbers) } => {
                let clusters = Clusters::new(numbers, view)?;
                let resampler = measure.cluster_resampler(view, &clusters)?;
                NoiseFloor::new(&*resampler, n_resamples, seed)
            }
            Subject::Sketch(sketch) => NoiseFloor::new(&*measure.sketch_resampler(sketch)?, n_resamples, seed),
        }
    }

    /// The smoothed curve and its consistency band.
    pub(super) fn smoothed(&self, ls_ece: &LsEce, at: &[f64], band: &BandOptions) -> Result<(LsCurve, Band), Error> {
        match self {
            Subject::Rows { view, .. } => Ok((ls_ece.curve(view, at)?, ls_ece.consistency_band(view, at, band)?)),
            Subject::Sketch(sketch) => {
                Ok((ls_ece.curve_from_sketch(sketch, at)?, ls_ece.consistency_band_from_sketch(sketch, at, band)?))
            }
        }
    }

    pub(super) fn bins(&self, ece: &BinnedEce) -> Result<Vec<Bin>, Error> {
        match self {
            Subject::Rows { view, .. } => ece.bins(view),
            Subject::Sketch(sketch) => ece.bins_from_sketch(sketch),
        }
    }

    pub(super) fn corp(&self, corp: &Corp, band: &BandOptions) -> Result<(IsotonicCurve, Band), Error> {
        match self {
            Subject::Rows { view, .. } => Ok((corp.curve(view)?, corp.consistency_band(view, band)?)),
            Subject::Sketch(sketch) => {
                Ok((corp.curve_from_sketch(sketch)?, corp.consistency_band_from_sketch(sketch, band)?))
            }
        }
    }

    pub(super) fn cumulative(&self, measure: &CumulativeCalibrationError) -> Result<CumulativeCurve, Error> {
        match self {
            Subject::Rows { view, .. } => measure.curve(view),
            Subject::Sketch(sketch) => measure.curve_from_sketch(sketch),
        }
    }
}
