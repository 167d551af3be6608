//! What CSV and JSON lines have in common.
//!
//! ```text
//! file -> blocks (whole rows, one thread at a time) -> cells (all threads) -> columns
//! ```

mod blocks;
mod cells;

pub(super) use blocks::{Block, Blocks, Records};
pub(super) use cells::{Cell, Cells, Content, Numbers};
