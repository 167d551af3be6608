//! Adding rows to a sketch.

use std::ops::Range;

use super::content::Weighted;
use super::filling::Filling;
use super::options::LARGEST_WEIGHT;
use super::{Cells, Sketch, offset_bits};
use crate::cells::Content;
use crate::data::{BinaryView, Rows, Scale};
use crate::numerics::parallel;
use crate::{Error, error};

/// Rows from which on threads, and a table of their own, pay.
const MANY: usize = 1 << 15;

/// Rows that are read at once.
const CHUNK: usize = 1 << 12;

impl Sketch {
    /// Adds the rows of a batch. Nothing changes where an error is returned.
    pub fn update(&mut self, view: &BinaryView<'_>) -> Result<(), Error> {
        self.prepare(view)?;
        if view.len() < MANY {
            self.add_range(view, 0..view.len());
        } else {
            self.add_in_parallel(view)?;
        }
        self.report.absorb(view.report());
        Ok(())
    }

    /// Checks that the rows of the view can be added, and makes room for their kind.
    pub(super) fn prepare(&mut self, view: &BinaryView<'_>) -> Result<(), Error> {
        let n = view.len();
        if n == 0 {
            return Ok(());
        }
        self.check_scale(Some(view.scale()))?;
        let unit = 2f64.powi(self.options().weight_unit_bits() as i32);
        let weighted = view.is_weighted() || self.is_weighted();
        let (largest, total) = if view.is_weighted() { view.weight_extent() } else { (1.0, n as f64) };
        let most = LARGEST_WEIGHT / unit;
        let rule = format!("at most {} in a sketch; divide all weights, or set fewer weight_bits", error::number(most));
        Error::require(largest <= most, "weights", rule, error::number(largest))?;
        // Each row may be rounded up by half a unit; and the sum may have been rounded.
        let more = if weighted { (total * unit * (1.0 + 1e-6)) as u128 + n as u128 } else { n as u128 };
        let shift = if weighted && !self.is_weighted() { self.options().weight_unit_bits() } else { 0 };
        self.check_room(n as u64, more, self.total_units() << shift)?;
        if view.is_weighted() {
            self.make_weighted();
        }
        self.scale = Some(view.scale());
        // That of exp(-|h|), of the ratio and of its logarithm, where scores are no probabilities.
        let conversion = if view.scale() == Scale::Probability { 0.0 } else { 8.0 * f64::EPSILON };
        self.score_error = self.score_error.max(view.score_error(0.0) + conversion);
        Ok(())
    }

    /// Each thread fills a sketch of its own, and they are merged.
    fn add_in_parallel(&mut self, view: &BinaryView<'_>) -> Result<(), Error> {
        let n = view.len();
        let n_parts = rayon::current_num_threads().min(n.div_ceil(MANY)).max(1);
        let share = n.div_ceil(n_parts);
        let fill = |part: usize| {
            let mut sketch = self.empty_like();
            if self.is_weighted() {
                sketch.make_weighted();
            }
            sketch.scale = self.scale;
            let mut filling = Filling::new(sketch);
            filling.add(view, (part * share).min(n)..n.min((part + 1) * share));
            filling.finish()
        };
        parallel::map(n_parts, fill).iter().try_for_each(|part| self.merge(part))
    }

    pub(super) fn add_range(&mut self, view: &BinaryView<'_>, range: Range<usize>) {
        let mut rows = Rows::default();
        for start in range.clone().step_by(CHUNK) {
            view.read(start..range.end.min(start + CHUNK), &mut rows);
            self.add_rows(&rows);
        }
    }

    /// Adds rows that [`prepare`](Self::prepare) has let through.
    fn add_rows(&mut self, rows: &Rows) {
        let is_probability = self.scale == Some(Scale::Probability);
        let unit = self.unit();
        for ((&score, &outcome), &weight) in rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights) {
            let side = if is_probability { self.probability_side(score) } else { self.logit_side(score) };
            let scaled = weight * unit;
            let units = (scaled + 0.5).floor();
            self.n_rounded_weights += u64::from(units != scaled);
            self.add_row(side, outcome, units as u64);
        }
    }

    fn add_row(&mut self, side: Side, outcome: bool, units: u64) {
        let resolution = self.resolution();
        let place = resolution.place_among(side.q, offset_bits(resolution));
        let (cell, offset) = (place.cell as u32, place.offset);
        let table = 2 * usize::from(side.upper) + usize::from(outcome);
        let weight_bits = self.options().weight_unit_bits();
        self.n += 1;
        self.units += u128::from(units);
        match &mut self.cells {
            Cells::Plain(tables) => {
                let second = u128::from(offset) * u128::from(offset);
                tables[table].add(cell, Content { count: 1, first: offset, second });
            }
            Cells::Weighted(tables) => tables[table].add(cell, Weighted::row(units, offset, weight_bits)),
        }
        for (totals, binning) in self.bins.iter_mut().zip(&self.shape.binnings) {
            totals[binning.place(side.probability)].add_row(side.probability, outcome, units);
        }
    }

    fn probability_side(&mut self, p: f64) -> Side {
        let clip = self.options().clip_value();
        let clipped = p.max(clip).min(1.0 - clip);
        self.n_clipped += u64::from(clipped != p);
        Side { q: clipped.min(1.0 - clipped), upper: clipped > 0.5, probability: p }
    }

    fn logit_side(&mut self, logit: f64) -> Side {
        let largest = self.options().largest_logit_value();
        let clamped = logit.clamp(-largest, largest);
        self.n_clipped += u64::from(clamped != logit);
        // Not the system's exp, which has other bits on other systems.
        let small = libm::exp(-clamped.abs());
        let (q, upper) = (small / (1.0 + small), clamped > 0.0);
        Side { q, upper, probability: if upper { 1.0 / (1.0 + small) } else { q } }
    }
}

/// A score as the cells have it, and its probability as bins have it.
struct Side {
    q: f64,
    upper: bool,
    probability: f64,
}
