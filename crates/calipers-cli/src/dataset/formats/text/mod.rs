//! What CSV and JSON lines have in common.
//!
//! ```text
//! file -> blocks (whole rows, one thread at a time) -> cells (all threads) -> columns
//! ```

use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use super::{Failure, Part, Parts};

mod blocks;
mod cells;

pub(super) use blocks::{Block, Blocks, Records};
pub(super) use cells::{Cell, Cells, Content, Numbers};

/// What `read` makes of each block, for the thread that takes it.
pub(super) fn parts<'a>(blocks: &'a Mutex<Blocks>, read: impl Fn(&Block) -> Result<Part> + 'a) -> Parts<'a> {
    Box::new(std::iter::from_fn(move || {
        let (first_row, block) = {
            let mut blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
            (blocks.next_row(), blocks.next())
        };
        let part = block.and_then(|block| block.map(|block| read(&block)).transpose());
        part.map_err(|error| Failure { first_row, error }).transpose()
    }))
}
