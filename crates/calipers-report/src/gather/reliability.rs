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
    /// Where the outcome rate of each bin would be for a calibrated model.
    pub bins_band: Band,
    /// The rows within a thousandth of 0 and of 1, if they are many: a smoothed curve does not
    /// reach them.
    pub ends: Vec<Bin>,
    /// The chance band of each end.
    pub ends_band: Band,
    /// A thousand bins, for the choice of the axes; empty if a sketch does not have them.
    pub fine: Vec<Bin>,
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
    /// About how many rows are within one sigma of each point.
    pub rows_nearby: Vec<f64>,
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
            0..=4 => (2, 5, 100),
            5..=8 => (1, 3, 70),
            9..=16 => (1, 2, 60),
            _ => (0, 0, 40),
        };
        Detail { below, above, n_places }
    }

    /// The number of points of a curve.
    pub(super) fn n_places(&self) -> usize {
        self.n_places
    }

    /// From a quarter of the chosen sigma to four times the chosen sigma, and at least to 1.
    fn sigmas(&self, chosen: f64) -> Vec<f64> {
        let to_top = (4.0 * chosen).max(1.0) / chosen;
        let below = (1..=self.below).rev().map(|step| chosen * 0.25f64.powf(step as f64 / self.below as f64));
        let above = (1..=self.above).map(|step| chosen * to_top.powf(step as f64 / self.above as f64));
        below.chain([chosen]).chain(above).collect()
    }
}

/// The number of fine bins. The first and the last of them are the ends.
const N_FINE: usize = 1000;

/// The smallest share of the rows that an end is drawn for.
const LEAST_END: f64 = 0.01;

/// The largest number of points, which is more than a chart can distinguish.
const MOST_PLACES: usize = 300;

pub(super) fn gather(drawn: Sample<'_>, sigma: f64, options: &Options, detail: &Detail) -> Result<Reliability, Error> {
    let at = places(detail.n_places);
    let smoothed = detail.sigmas(sigma).into_iter().map(|sigma| smoothed(drawn, sigma, &at, options));
    let corp = calipers::Corp::new().link(options.link.clone());
    let (curve, band) = (corp.curve(drawn)?, corp.consistency_band(drawn, &options.band())?);
    // Bins of equal mass need the rows.
    let bins = options.ece.bins(drawn).or_else(|_| options.bins(15).bins(drawn))?;
    let fine = options.bins(N_FINE).bins(drawn).unwrap_or_default();
    let total: u64 = fine.iter().map(|bin| bin.n).sum();
    let both = [fine.first(), fine.last()].into_iter().flatten();
    let is_end = |bin: &&Bin| bin.n as f64 >= (LEAST_END * total as f64).max(2.0) && !bin.outcome_rate.is_nan();
    let ends: Vec<Bin> = both.filter(is_end).cloned().collect();
    Ok(Reliability {
        smoothed: smoothed.collect::<Result<_, Error>>()?,
        chosen: detail.below,
        bins_band: options.band().of_bins(&bins)?,
        ends_band: options.band().of_bins(&ends)?,
        bins,
        ends,
        fine,
        corp: thinned(curve.probabilities, curve.outcome_rates, band),
    })
}

/// The points at which curves are drawn: evenly spaced, and further ones near 0 and 1, where most
/// predictions of good models are, for an axis of log-odds.
pub(super) fn places(n: usize) -> Vec<f64> {
    let evenly = (0..n).map(|place| (place as f64 + 0.5) / n as f64);
    let n_tail = n / 7;
    let first = 0.5 / n as f64;
    // From a millionth to the first of the evenly spaced ones, in equal ratios.
    let tail = |place: usize| 1e-6 * (first / 1e-6).powf(place as f64 / n_tail as f64);
    let below = (0..n_tail).map(tail);
    let above = (0..n_tail).rev().map(|place| 1.0 - tail(place));
    below.chain(evenly).chain(above).collect()
}

/// The smoothed curve alone.
pub(super) fn curve(sample: Sample<'_>, sigma: f64, at: &[f64], options: &Options) -> Result<LsCurve, Error> {
    let coarse = sample.sketch().and_then(|sketch| coarsened(sketch, sigma));
    options.ls_ece.clone().sigma(sigma).curve(coarse.as_ref().map_or(sample, Sample::from), at)
}

pub(super) fn smoothed(sample: Sample<'_>, sigma: f64, at: &[f64], options: &Options) -> Result<Smoothed, Error> {
    let ls_ece = options.ls_ece.clone().sigma(sigma);
    // Cells as fine as sigma needs: the curve stays within its bounds, and costs the same for every
    // sigma.
    let coarse = sample.sketch().and_then(|sketch| coarsened(sketch, sigma));
    let sample = coarse.as_ref().map_or(sample, Sample::from);
    let (curve, band) = (ls_ece.curve(sample, at)?, ls_ece.consistency_band(sample, at, &options.band())?);
    let rows_nearby = curve.rows_within_sigma(&*options.link);
    Ok(Smoothed { sigma, ls_ece: sample.estimate(&ls_ece.tolerance(1e-4)).ok(), curve, band, rows_nearby })
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
        // A step is as long on the axis of log-odds from a millionth to one minus a millionth.
        let logit = |p: f64| (p.clamp(1e-6, 1.0 - 1e-6).ln() - (1.0 - p.clamp(1e-6, 1.0 - 1e-6)).ln()) / 27.6;
        let far = kept.last().is_none_or(|last| {
            let (p, before) = (probabilities[place], probabilities[*last]);
            (p - before).max(logit(p) - logit(before)) >= step || (rates[place] - rates[*last]).abs() >= step
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
