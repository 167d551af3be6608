//! Adding rows to a sketch.

use std::ops::Range;

use super::content::Sums;
use super::filling::Filling;
use super::layout::Layout;
use super::options::LARGEST_WEIGHT;
use super::tables::Tables;
use super::{Cells, Sketch};
use crate::data::{BinaryView, Outcome, PlainPass, PlainRows, Probability, Rows, Scale};
use crate::numerics::parallel;
use crate::{Error, error};

/// Rows from which on threads, and a table of their own, pay.
const MANY: usize = 1 << 15;

/// Rows that are read at once.
const CHUNK: usize = 1 << 12;

/// Rows from which on it pays to add to bins in vectors.
const SOME: usize = 24;

impl Sketch {
    /// Adds the rows of a batch. Nothing changes where an error is returned.
    pub fn update(&mut self, view: &BinaryView<'_>) -> Result<(), Error> {
        self.prepare(view)?;
        if view.len() < MANY {
            match view.plain() {
                Some(rows) => self.add_plain(rows),
                None => self.add_range(view, 0..view.len()),
            }
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
        if largest > most {
            let most = error::number(most);
            let rule = format!("at most {most} in a sketch; divide all weights, or set fewer weight_bits");
            return Err(Error::setting("weights", rule, error::number(largest)));
        }
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
        let n_parts = parallel::n_threads().min(n.div_ceil(MANY)).max(1);
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

    /// Adds validated plain rows.
    fn add_plain(&mut self, rows: PlainRows<'_>) {
        let (layout, clip, shift) = (self.layout(), self.options().clip_value(), self.weight_shift());
        for start in (0..rows.len()).step_by(CHUNK) {
            let range = start..rows.len().min(start + CHUNK);
            if range.len() < SOME {
                let (binnings, bins) = (&self.shape.binnings, &mut self.bins);
                // proof: plain rows have no labels that are text
                let _ = rows.visit(
                    range.clone(),
                    Each(|p, outcome| {
                        for (totals, binning) in bins.iter_mut().zip(binnings) {
                            totals[binning.place(p)].add_row(p, outcome, 1 << shift);
                        }
                    }),
                );
            } else {
                self.add_to_bins(rows, range.clone());
            }
            let clipped = match &mut self.cells {
                Cells::Plain(tables) => rows.visit(range, Add { tables, row: |key| key, layout, clip }),
                Cells::Weighted(tables) => {
                    rows.visit(range, Add { tables, row: |key| (key, 1 << shift), layout, clip })
                }
            };
            // proof: as above
            self.n_clipped += clipped.unwrap_or(0);
        }
        self.n += rows.len() as u64;
        self.units += (rows.len() as u128) << shift;
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
        let (unit, layout) = (self.unit(), self.layout());
        for ((&score, &outcome), &weight) in rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights) {
            let side = if is_probability { self.probability_side(score) } else { self.logit_side(score) };
            let scaled = weight * unit;
            // The same as adding a half and rounding down, which is a call where processors are
            // old.
            let units = (scaled + 0.5) as u64;
            self.n_rounded_weights += u64::from(units as f64 != scaled);
            let key = layout.key(2 * usize::from(side.upper) + usize::from(outcome), side.q);
            self.units += u128::from(units);
            match &mut self.cells {
                Cells::Plain(tables) => tables.add_row(key),
                Cells::Weighted(tables) => tables.add_row((key, units)),
            }
            for (totals, binning) in self.bins.iter_mut().zip(&self.shape.binnings) {
                totals[binning.place(side.probability)].add_row(side.probability, outcome, units);
            }
        }
        self.n += rows.scores.len() as u64;
        super::with_tables!(&mut self.cells, tables => tables.settle_if_many(layout));
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

/// A pass that calls a function with each probability, brought into [0, 1], and each outcome.
struct Each<F>(F);

impl<F: FnMut(f64, bool)> PlainPass for Each<F> {
    type Output = ();

    fn run<P: Probability, L: Outcome>(mut self, probabilities: &[P], labels: &[L]) {
        for (&p, label) in probabilities.iter().zip(labels) {
            let p: f64 = p.into();
            (self.0)(p.clamp(0.0, 1.0), label.bit() == 1);
        }
    }
}

/// The pass over plain rows into cells.
struct Add<'a, S: Sums, F> {
    tables: &'a mut Tables<S>,
    /// A row of some key.
    row: F,
    layout: Layout,
    clip: f64,
}

impl<S: Sums, F: Fn(u64) -> S::Row> PlainPass for Add<'_, S, F> {
    /// Rows that were clipped.
    type Output = u64;

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) -> u64 {
        let Add { tables, row, layout, clip } = self;
        let mut n_clipped = 0;
        for (&p, label) in probabilities.iter().zip(labels) {
            let p: f64 = p.into();
            // Comparisons rather than `clamp`, which the compiler does not turn into two
            // instructions.
            let raised = if p > clip { p } else { clip };
            let clipped = if raised < 1.0 - clip { raised } else { 1.0 - clip };
            let complement = 1.0 - clipped;
            let (q, upper) = (if clipped < complement { clipped } else { complement }, clipped > 0.5);
            n_clipped += u64::from(clipped != p);
            tables.add_row(row(layout.key(2 * usize::from(upper) + label.bit() as usize, q)));
        }
        tables.settle_if_many(layout);
        n_clipped
    }
}
