//! Reliability diagrams: smoothed with several sigmas, binned, and by isotonic regression.

use calipers::inference::bands::Band;
use calipers::{Bin, Error, Estimate, LsCurve, Sample, Sketch};

use super::Options;

/// The diagrams of one model.
#[derive(Debug, Clone)]
pub struct Reliability {
    /// The smoothed diagram, from the smallest sigma to the largest.
    pub smoothed: Vec<Smoothed>,
    /// The index of the smoothed diagram that has the sigma of the values.
    pub chosen: usize,
    /// The bins of the binned diagram, empty ones included.
    pub bins: Vec<Bin>,
    /// The diagram by isotonic regression.
    pub corp: Corp,
}

/// The smoothed diagram at one sigma.
#[derive(Debug, Clone)]
pub struct Smoothed {
    /// The scale of the noise.
    pub sigma: f64,
    /// LS-ECE at this sigma, if it can be computed.
    pub ls_ece: Option<Estimate>,
    /// The smoothed curve.
    pub curve: LsCurve,
    /// The consistency band: the curve of a calibrated model would be inside it.
    pub band: Band,
}

/// The isotonic fit at as many points as a chart can show.
#[derive(Debug, Clone)]
pub struct Corp {
    /// Probabilities, ascending.
    pub probabilities: Vec<f64>,
    /// The fitted outcome rate at each.
    pub outcome_rates: Vec<f64>,
    /// The lower end of the consistency band.
    pub lower: Vec<f64>,
    /// The upper end of the consistency band.
    pub upper: Vec<f64>,
}

/// The resolution of the drawings, which is lower if there are many models.
pub(super) struct Detail {
    /// The number of sigmas below the chosen one and above it.
    below: usize,
    above: usize,
    n_places: usize,
}

impl Detail {
    pub(super) fn new(n_models: usize) -> Self {
        let (below, above, n_places) = match n_models {
            0..=4 => (3, 7, 100),
            5..=8 => (2, 4, 80),
            9..=16 => (1, 2, 60),
            _ => (0, 0, 40),
        };
        Detail { below, above, n_places }
    }

    /// From a quarter of the chosen sigma to four times the chosen sigma, and at least to 1.
    fn sigmas(&self, chosen: f64) -> Vec<f64> {
        let to_top = (4.0 * chosen).max(1.0) / chosen;
        let below = (1..=self.below).rev().map(|step| chosen * 0.25f64.powf(step as f64 / self.below as f64));
        let above = (1..=self.above).map(|step| chosen * to_top.powf(step as f64 / self.above as f64));
        below.chain([chosen]).chain(above).collect()
    }
}

/// The largest number of points, which is more than a chart can distinguish.
const MOST_PLACES: usize = 300;

pub(super) fn gather(drawn: Sample<'_>, sigma: f64, options: &Options, detail: &Detail) -> Result<Reliability, Error> {
    let at = places(detail.n_places);
    let smoothed = detail.sigmas(sigma).into_iter().map(|sigma| smoothed(drawn, sigma, &at, options));
    let corp = calipers::Corp::new().link(options.link.clone());
    let (curve, band) = (corp.curve(drawn)?, corp.consistency_band(drawn, &options.band())?);
    // Bins of equal mass need the rows.
    let bins = options.ece.bins(drawn).or_else(|_| options.bins(15).bins(drawn))?;
    Ok(Reliability {
        smoothed: smoothed.collect::<Result<_, Error>>()?,
        chosen: detail.below,
        bins,
        corp: thinned(curve.probabilities, curve.outcome_rates, band),
    })
}

/// The points at which curves are drawn: evenly spaced, and near 0 and 1, where most predictions of
/// good models are.
pub(super) fn places(n: usize) -> Vec<f64> {
    let evenly = (0..n).map(|place| (place as f64 + 0.5) / n as f64);
    [0.001].into_iter().chain(evenly).chain([0.999]).collect()
}

pub(super) fn smoothed(sample: Sample<'_>, sigma: f64, at: &[f64], options: &Options) -> Result<Smoothed, Error> {
    let ls_ece = options.ls_ece.clone().sigma(sigma);
    // Cells as fine as sigma needs: the curve stays within its bounds, and costs the same for every
    // sigma.
    let coarse = sample.sketch().and_then(|sketch| coarsened(sketch, sigma));
    let sample = coarse.as_ref().map_or(sample, Sample::from);
    let (curve, band) = (ls_ece.curve(sample, at)?, ls_ece.consistency_band(sample, at, &options.band())?);
    Ok(Smoothed { sigma, ls_ece: sample.estimate(&ls_ece.tolerance(1e-4)).ok(), curve, band })
}

/// The sketch with cells of a sixteenth of sigma; `None` if its cells are not finer.
fn coarsened(sketch: &Sketch, sigma: f64) -> Option<Sketch> {
    let bits = (16.0 / sigma).log2().ceil().clamp(6.0, 20.0) as u32;
    if bits >= sketch.options().resolution_bits() {
        return None;
    }
    let mut coarse = sketch.clone();
    coarse.coarsen(bits).ok()?;
    Some(coarse)
}

/// The points of a fit that a chart can distinguish.
fn thinned(probabilities: Vec<f64>, rates: Vec<f64>, band: Band) -> Corp {
    let n = probabilities.len();
    let step = 1.0 / MOST_PLACES as f64;
    let mut kept: Vec<usize> = Vec::new();
    for place in 0..n {
        let far = kept.last().is_none_or(|last| {
            probabilities[place] - probabilities[*last] >= step || (rates[place] - rates[*last]).abs() >= step
        });
        if far || place + 1 == n {
            kept.push(place);
        }
    }
    let pick = |values: &[f64]| kept.iter().map(|place| values[*place]).collect::<Vec<f64>>();
    Corp {
        outcome_rates: pick(&rates),
        lower: pick(&band.lower),
        upper: pick(&band.upper),
        probabilities: pick(&probabilities),
    }
}
