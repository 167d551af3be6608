//! The worst of many segments, with a p-value for having looked at all of them.

use super::resampler::{Draws, Kind, mean_and_deviation, reaches};
use crate::Error;
use crate::data::{BinaryView, Rows, Sample};
use crate::measure::Measure;
use crate::numerics::parallel;
use crate::numerics::random::{Uniforms, seed_of_draw};

/// The segment that is furthest above its noise floor: the multicalibration error.
///
/// # Definition
/// The statistic of a segment is t = (v - m) / s, with v its value by the measure that decides, and
/// m and s mean and standard deviation of v and of its values v* under calibration. With t_max the
/// largest of all segments, and t*_max the same of outcomes drawn from the predictions once for all
/// segments,
/// ```text
/// p = (1 + #{t*_max >= t_max}) / (1 + R)
/// ```
/// If all segments are calibrated, p is at most α in at most a share α of all samples. Segments may
/// overlap, as those by country and those by device do.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Worst {
    /// The place of the segment among all.
    pub place: usize,
    /// t_max: how many standard deviations it is above its noise floor.
    pub statistic: f64,
    /// Of "all segments are calibrated".
    pub p_value: f64,
    /// R.
    pub n_resamples: u64,
    /// How many segments there are.
    pub n_segments: usize,
}

/// How far one segment is above its noise floor, and how far its draws are.
#[derive(Debug, Clone)]
pub struct Standing {
    statistic: f64,
    draws: Vec<f64>,
}

impl Standing {
    /// Of the segment at this place among segments that share no row: each has draws of its own.
    /// `None` where the measure has no noise floor on this sample.
    pub fn new(
        sample: Sample<'_>,
        measure: &dyn Measure,
        place: usize,
        n_resamples: u64,
        random_state: u64,
    ) -> Result<Option<Self>, Error> {
        let decided_by = measure.decided_by();
        let measure = decided_by.as_deref().unwrap_or(measure);
        let clusters = sample.resolved_clusters()?;
        let resampler = sample.resampler(measure, clusters.as_ref(), None)?;
        if resampler.floor_unavailable().is_some() {
            return Ok(None);
        }
        let seed = seed_of_place(random_state, place);
        let draws = Draws::new(&*resampler, Kind::Calibrated, 0..n_resamples, seed)?;
        Ok(Some(Self::of(resampler.calibrated_value(), draws.by_number)))
    }

    /// Value and draws in standard deviations from their common mean: with the value among them, it
    /// is one of R + 1 that are treated alike.
    fn of(value: f64, mut draws: Vec<f64>) -> Self {
        let known: Vec<f64> = draws.iter().copied().chain([value]).filter(|draw| draw.is_finite()).collect();
        let (mean, deviation) = mean_and_deviation(&known);
        let standardised = |value: f64| if deviation > 0.0 { (value - mean) / deviation } else { 0.0 };
        // A draw that could not be measured counts as reaching every value.
        let of_draw = |draw: f64| if draw.is_finite() { standardised(draw) } else { f64::INFINITY };
        draws.iter_mut().for_each(|draw| *draw = of_draw(*draw));
        Standing { statistic: standardised(value), draws }
    }
}

/// Finds the worst segment, one by one and in any order.
#[derive(Debug, Clone, Default)]
pub struct FindWorst {
    worst: Option<(f64, usize)>,
    /// The largest statistic of each draw.
    largest: Vec<f64>,
    n_segments: usize,
}

impl FindWorst {
    /// Adds a segment; all must have the same number of draws.
    pub fn add(&mut self, place: usize, standing: &Standing) {
        self.n_segments += 1;
        // Of equal ones the first.
        let is_worse =
            |(worst, first): (f64, usize)| standing.statistic > worst || standing.statistic == worst && place < first;
        if self.worst.is_none_or(is_worse) {
            self.worst = Some((standing.statistic, place));
        }
        self.largest.resize(standing.draws.len(), f64::NEG_INFINITY);
        self.largest.iter_mut().zip(&standing.draws).for_each(|(largest, draw)| *largest = largest.max(*draw));
    }

    /// The worst of all that were added; `None` without any.
    pub fn worst(&self) -> Option<Worst> {
        let (statistic, place) = self.worst?;
        let n_resamples = self.largest.len() as u64;
        let n_reaching = self.largest.iter().filter(|draw| reaches(**draw, statistic)).count();
        let p_value = (n_reaching + 1) as f64 / (n_resamples + 1) as f64;
        Some(Worst { place, statistic, p_value, n_resamples, n_segments: self.n_segments })
    }
}

/// The worst of segments that may share rows, with the measure of each as it decides: all outcomes
/// of the view are drawn once for all segments, and each is measured again.
pub(super) fn of_overlapping(
    view: &BinaryView<'_>,
    segments: &[(&[usize], &dyn Measure)],
    n_resamples: u64,
    random_state: u64,
) -> Result<Option<Worst>, Error> {
    let Some((_, first)) = segments.first() else { return Ok(None) };
    let rows = view.rows();
    let mut probabilities = Rows::default();
    view.read_probabilities(0..view.len(), first.link(), &mut probabilities);
    let value = |(places, measure): &(&[usize], &dyn Measure), outcomes: &[bool]| {
        let pick = |values: &[f64]| places.iter().map(|row| values[*row]).collect::<Vec<f64>>();
        let weights = view.is_weighted().then(|| pick(&rows.weights));
        let outcomes = places.iter().map(|row| outcomes[*row]).collect();
        let segment = view.with_rows(pick(&rows.scores), outcomes, weights.as_deref());
        measure.estimate(&segment).map(|estimate| estimate.value)
    };
    let drawn = parallel::map(n_resamples as usize, |draw| {
        let mut uniforms = Uniforms::new(seed_of_draw(seed_of_place(random_state, 0), draw as u64));
        let outcomes: Vec<bool> = probabilities.scores.iter().map(|p| uniforms.next() < *p).collect();
        segments.iter().map(|segment| value(segment, &outcomes).unwrap_or(f64::NAN)).collect::<Vec<f64>>()
    });
    let mut all = FindWorst::default();
    for (place, segment) in segments.iter().enumerate() {
        let draws = drawn.iter().map(|values| values[place]).collect();
        all.add(place, &Standing::of(value(segment, &rows.outcomes)?, draws));
    }
    Ok(all.worst())
}

/// A seed for each segment, so that no two have the same draws (the finalizer of splitmix64).
fn seed_of_place(random_state: u64, place: usize) -> u64 {
    let mut mixed = random_state.wrapping_add((place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
