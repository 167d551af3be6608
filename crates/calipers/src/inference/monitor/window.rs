//! The rows of one window, counted by score.

use crate::Error;
use crate::cells::Summary;
use crate::data::{Binary, BinaryView, Rows, Sample, Scale};
use crate::link::{Link, Logistic};
use crate::sketch::Sketch;

/// ln((1 - 1e-6) / 1e-6). Predictions nearer to 0 or 1 count as this one, and as clipped.
const LARGEST: f64 = 13.815_509_557_963_774;

/// Rows of one score, or of one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// Log-odds of the prediction, the centre of the cell.
    pub(super) h: f64,
    /// Half of the width of the cell; 0 for rows.
    pub(super) half: f64,
    /// Whether predictions may have been beyond, away from 1/2, before they were clipped.
    pub(super) is_clipped: bool,
    /// Rows with outcome 0 and 1.
    pub(super) n: [u64; 2],
}

/// All rows, in ascending order of their scores.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    pub(super) places: Vec<Place>,
    pub(super) n: u64,
}

impl Window {
    pub(super) fn new(sample: &Sample<'_>) -> Result<Self, Error> {
        let rule = "left out of a monitor, which takes outcomes as independent given the rows before";
        Error::require(!sample.has_clusters(), "clusters", rule, "some")?;
        let (places, is_weighted) = match sample.binary("window")? {
            Binary::Rows(view) => (of_rows(view), view.is_weighted()),
            Binary::Sketch(sketch) => (of_sketch(sketch), sketch.is_weighted()),
        };
        Error::require(!is_weighted, "weights", "left out of a monitor, whose rows count equally", "some")?;
        let n = places.iter().map(Place::total).sum();
        Ok(Window { places, n })
    }
}

impl Place {
    pub(super) fn total(&self) -> u64 {
        self.n[0] + self.n[1]
    }

    /// A place with h inside ±[`LARGEST`].
    fn within(self) -> Self {
        let is_clipped = self.is_clipped || self.h.abs() + self.half >= LARGEST;
        let half = if self.h.abs() >= LARGEST { 0.0 } else { self.half };
        Place { h: self.h.clamp(-LARGEST, LARGEST), half, is_clipped, ..self }
    }
}

/// Equal scores together.
fn of_rows(view: &BinaryView<'_>) -> Vec<Place> {
    let Rows { outcomes, mut scores, .. } = view.rows();
    if view.scale() == Scale::Probability {
        scores.iter_mut().for_each(|p| *p = Logistic.inverse(*p, 1.0 - *p));
    }
    let mut rows: Vec<(f64, bool)> = scores.into_iter().map(|h| h.clamp(-LARGEST, LARGEST)).zip(outcomes).collect();
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let place = |equal: &[(f64, bool)]| {
        let positive = equal.iter().filter(|(_, outcome)| *outcome).count() as u64;
        let (h, n) = (equal[0].0, [equal.len() as u64 - positive, positive]);
        Place { h, half: view.score_error(h), is_clipped: false, n }.within()
    };
    rows.chunk_by(|a, b| a.0 == b.0).map(place).collect()
}

fn of_sketch(sketch: &Sketch) -> Vec<Place> {
    let place = |cell: &Vec<Summary>| {
        // proof: cells that are in the list have rows of an outcome
        let first = &cell[0];
        let at = |scaled: f64| {
            let (p, complement) = first.probability(scaled);
            Logistic.inverse(p, complement)
        };
        let (a, b) = (at(first.lower), at(first.lower + first.width));
        let mut n = [0; 2];
        cell.iter().for_each(|part| n[usize::from(part.outcome)] += part.weight as u64);
        // A little wider, for the rounding of the logarithms.
        let half = 0.5 * (b - a).abs() + sketch.score_error() + 1e-14;
        Place { h: 0.5 * (a + b), half, is_clipped: sketch.is_clipped(first), n }.within()
    };
    sketch.cells_in_order().iter().map(place).collect()
}
