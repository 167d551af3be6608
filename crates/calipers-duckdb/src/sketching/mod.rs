//! `calipers_sketch`: the sketch of the rows of a group.

mod arguments;
mod filled;
mod waiting;

use std::sync::Arc;

use calipers::{Error, Tally};

use crate::engine::{Aggregate, Chunk, Runs};
use crate::failure;
use crate::options::Kind;
use arguments::Arguments;
use filled::Filled;
use waiting::Waiting;

/// So many rows of a group wait before they go into its sketch together: a call for each would take
/// longer than the row, and more of them would go through a table of 5 MB that is made for them.
const SOME: usize = 1 << 12;

/// Fewer rows do not tell a fault of all of them, as percentages, from one of some.
const ENOUGH_TO_TELL: usize = 1000;

/// What a group has so far.
#[derive(Default)]
pub(crate) struct Sketching {
    /// `None` before the first row.
    kind: Option<Arc<Kind>>,
    /// Rows that are in a sketch.
    filled: Option<Filled>,
    /// Valid rows that are in none yet.
    waiting: Waiting,
}

impl Aggregate for Sketching {
    const NAME: &'static str = "calipers_sketch";

    fn update(chunk: &Chunk<'_>, runs: &mut Runs<'_, Self>) -> Result<(), String> {
        let n = chunk.len();
        let arguments = Arguments::read(chunk)?;
        let input = arguments.input();
        let all = if n < ENOUGH_TO_TELL { input.rows(0..n) } else { Ok(input.clone()) };
        let checked = all.and_then(|all| all.check_batch(&mut Tally::default())).map_err(failure::text)?;
        let is_valid = checked.len() == n;
        runs.each(|run, state| {
            state.take_kind(&arguments.kind)?;
            let added = match &mut state.filled {
                Some(filled) if run.len() == n && filled.takes_any() => {
                    checked.binary().and_then(|view| filled.update(&view))
                }
                _ if is_valid => {
                    state.waiting.add(&arguments, run.clone());
                    state.settle_if_many(run.len() == n)
                }
                // Rows that are left out are counted in the sketch of their group.
                _ => {
                    let rows = input.rows(run).and_then(|rows| rows.check_batch(&mut Tally::default()));
                    rows.and_then(|rows| state.filled().update(&rows.binary()?))
                }
            };
            added.map_err(failure::text)
        })
    }

    fn combine(&mut self, other: &Self) -> Result<(), String> {
        let Some(kind) = &other.kind else { return Ok(()) };
        self.take_kind(kind)?;
        let merged = other.filled.iter().try_for_each(|filled| self.filled().merge(filled));
        self.waiting.append(&other.waiting);
        merged.and_then(|()| self.settle_if_many(false)).map_err(failure::text)
    }

    fn finish(&self) -> Result<Option<Vec<u8>>, String> {
        let Some(kind) = &self.kind else { return Ok(None) };
        if let (Some(Filled::Few(sketch)), 0) = (&self.filled, self.waiting.len()) {
            return Ok(Some(sketch.to_bytes()));
        }
        let mut filled = self.filled.clone().unwrap_or_else(|| Filled::new(kind));
        self.waiting.each(kind.form, |view| filled.update(view)).map_err(failure::text)?;
        Ok(Some(filled.finish().to_bytes()))
    }
}

impl Sketching {
    /// Takes the options of the first rows, and checks that others have the same.
    fn take_kind(&mut self, kind: &Arc<Kind>) -> Result<(), String> {
        match &self.kind {
            None => self.kind = Some(Arc::clone(kind)),
            Some(ours) if Arc::ptr_eq(ours, kind) => {}
            Some(ours) => arguments::check_same(&ours.text, &kind.text)?,
        }
        Ok(())
    }

    /// The sketch of the group. To be called for a group that has its kind.
    fn filled(&mut self) -> &mut Filled {
        let kind = &self.kind;
        self.filled.get_or_insert_with(|| kind.as_deref().map_or_else(Filled::default, Filled::new))
    }

    /// Puts rows that wait into the sketch, if they are enough. Where all rows of a chunk are of
    /// this group, there are few groups at a time, and it may have a table for filling.
    fn settle_if_many(&mut self, has_chunk: bool) -> Result<(), Error> {
        if self.waiting.len() < SOME {
            return Ok(());
        }
        let Some(kind) = self.kind.clone() else { return Ok(()) };
        let mut filled = self.filled.take().unwrap_or_else(|| Filled::new(&kind));
        self.waiting.each(kind.form, |view| filled.update(view))?;
        self.filled = Some(if has_chunk { filled.with_table() } else { filled });
        self.waiting.clear();
        Ok(())
    }
}
