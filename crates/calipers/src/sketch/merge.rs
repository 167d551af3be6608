//! Sketches that are made alike and added: scores of one kind, cells as wide as the wider ones, and
//! weights if one of the two has them.

use std::sync::Arc;

use super::content::Weighted;
use super::layout::Widening;
use super::options::{Profile, SketchOptions};
use super::tables::Tables;
use super::{Cells, MOST_ROWS, MOST_UNITS, Shape, Sketch, name};
use crate::data::Scale;
use crate::{Error, error};

impl Sketch {
    /// Adds the rows of another sketch. Clip, binnings and units must be the same; of two profiles
    /// and resolutions the coarser is taken, which costs no accuracy beyond its own. Nothing
    /// changes where an error is returned.
    pub fn merge(&mut self, other: &Sketch) -> Result<(), Error> {
        self.options().check_mergeable(other.options())?;
        self.check_scale(other.scale)?;
        let weighted = self.is_weighted() || other.is_weighted();
        let shift_of = |sketch: &Sketch| match weighted && !sketch.is_weighted() {
            true => sketch.options().weight_unit_bits(),
            false => 0,
        };
        let (shift, more_units) = (shift_of(other), other.units << shift_of(other));
        self.check_room(other.report.n_rows, more_units, self.units << shift_of(self))?;
        self.widen_to(self.options().no_finer_than(other.options()));
        if other.is_weighted() {
            self.make_weighted();
        }
        let widening = Widening { from: other.layout(), to: self.layout() };
        let weight_bits = self.options().weight_unit_bits();
        match (&mut self.cells, &other.cells) {
            (Cells::Plain(ours), Cells::Plain(theirs)) => {
                ours.add_tables(&theirs.settled(widening.from), widening, |sums| sums);
            }
            (Cells::Weighted(ours), Cells::Weighted(theirs)) => {
                ours.add_tables(&theirs.settled(widening.from), widening, |sums| sums);
            }
            (Cells::Weighted(ours), Cells::Plain(theirs)) => {
                let weighted = |sums| Weighted::from_plain(sums, weight_bits);
                ours.add_tables(&theirs.settled(widening.from), widening, weighted);
            }
            // proof: made weighted above
            (Cells::Plain(_), Cells::Weighted(_)) => {}
        }
        self.n += other.n;
        self.units += more_units;
        for (ours, theirs) in self.bins.iter_mut().flatten().zip(other.bins.iter().flatten()) {
            ours.add(theirs.weighted(shift));
        }
        self.scale = self.scale.or(other.scale);
        self.n_clipped += other.n_clipped;
        self.n_rounded_weights += other.n_rounded_weights;
        self.score_error = self.score_error.max(other.score_error);
        self.report.absorb(&other.report);
        Ok(())
    }

    /// Checks that scores are of one kind.
    pub(super) fn check_scale(&self, other: Option<Scale>) -> Result<(), Error> {
        match (self.scale, other) {
            (Some(ours), Some(theirs)) if ours != theirs => Err(unlike_scores(name(ours), name(theirs))),
            _ => Ok(()),
        }
    }

    /// Makes cells wider, down to `resolution`: the result is the sketch that the same rows give at
    /// that resolution.
    pub fn coarsen(&mut self, resolution: u32) -> Result<(), Error> {
        let options = self.options().clone().resolution(resolution);
        options.check()?;
        let ours = self.options().resolution_bits();
        let rule = format!("at most {ours}, that of the sketch");
        Error::require(resolution <= ours, "resolution", rule, resolution)?;
        self.widen_to(options);
        Ok(())
    }

    /// Keeps no more of rows than a profile does, with cells as wide as those of the profile or
    /// wider: the result is the sketch that the same rows give there.
    pub fn coarsen_to(&mut self, profile: Profile) -> Result<(), Error> {
        let ours = self.options().profile_value();
        let is_coarser = ours == profile || profile == Profile::Monitoring;
        let rule = format!("{:?} for a sketch of that profile, which can be made no finer", ours.name());
        Error::require(is_coarser, "profile", rule, format!("{:?}", profile.name()))?;
        if ours != profile {
            self.widen_to(self.options().no_finer_than(&SketchOptions::new().profile(profile)));
        }
        Ok(())
    }

    /// Changes profile and resolution to those of options that are no finer.
    pub(super) fn widen_to(&mut self, options: SketchOptions) {
        let widening = Widening { from: self.layout(), to: options.layout() };
        if widening.from != widening.to {
            self.cells = match &self.cells {
                Cells::Plain(tables) => Cells::Plain(tables.settled(widening.from).widened(widening)),
                Cells::Weighted(tables) => Cells::Weighted(tables.settled(widening.from).widened(widening)),
            };
            self.shape = Arc::new(Shape { options, binnings: self.shape.binnings.clone() });
        }
    }

    pub(super) fn make_weighted(&mut self) {
        let (layout, weight_bits) = (self.layout(), self.options().weight_unit_bits());
        if let Cells::Plain(tables) = &self.cells {
            let mut all: Tables<Weighted> = Tables::default();
            let same = Widening { from: layout, to: layout };
            all.add_tables(&tables.settled(layout), same, |sums| Weighted::from_plain(sums, weight_bits));
            self.cells = Cells::Weighted(all);
            self.units <<= weight_bits;
            self.bins.iter_mut().flatten().for_each(|totals| *totals = totals.weighted(weight_bits));
        }
    }

    /// An error where a sum could overflow.
    pub(super) fn check_room(&self, more_rows: u64, more_units: u128, units: u128) -> Result<(), Error> {
        // Texts are made where they are needed: they would take longer than a row.
        let n = self.report.n_rows;
        if n.checked_add(more_rows).is_none_or(|n| n > MOST_ROWS) {
            let rule = format!("at most {MOST_ROWS} in a sketch");
            return Err(Error::setting("rows", rule, format!("{n} and {more_rows} more")));
        }
        if units.checked_add(more_units).is_none_or(|units| units > MOST_UNITS) {
            let unit = 2f64.powi(self.options().weight_unit_bits() as i32);
            let rule = format!("at most {} in sum with these weight_bits", error::number(MOST_UNITS as f64 / unit));
            return Err(Error::setting("weights", rule, error::number((units as f64 + more_units as f64) / unit)));
        }
        Ok(())
    }
}

pub(super) fn unlike_scores(ours: &str, theirs: &str) -> Error {
    Error::UnlikeSketches { what: "kind of scores", ours: ours.to_owned(), theirs: theirs.to_owned() }
}
