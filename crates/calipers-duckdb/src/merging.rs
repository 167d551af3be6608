//! `calipers_merge`: the sketch of all rows of many sketches.

use calipers::Sketch;

use crate::engine::{Aggregate, Chunk, Runs};
use crate::failure;

/// The sketch of the group so far.
#[derive(Default)]
pub(crate) struct Merging(Option<Sketch>);

impl Merging {
    fn add(&mut self, sketch: Sketch) -> Result<(), String> {
        match &mut self.0 {
            None => self.0 = Some(sketch),
            Some(all) => all.merge(&sketch).map_err(failure::text)?,
        }
        Ok(())
    }
}

impl Aggregate for Merging {
    const NAME: &'static str = "calipers_merge";

    fn update(chunk: &Chunk<'_>, runs: &mut Runs<'_, Self>) -> Result<(), String> {
        let [sketches] = chunk.columns() else { return Err("must have one argument, a sketch".to_owned()) };
        runs.each(|rows, state| {
            // As other aggregates do, it takes no notice of NULL.
            for bytes in rows.filter_map(|row| sketches.bytes(row)) {
                state.add(Sketch::from_bytes(bytes).map_err(failure::text)?)?;
            }
            Ok(())
        })
    }

    fn combine(&mut self, other: &Self) -> Result<(), String> {
        other.0.iter().try_for_each(|sketch| self.add(sketch.clone()))
    }

    fn finish(&self) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.as_ref().map(Sketch::to_bytes))
    }
}
