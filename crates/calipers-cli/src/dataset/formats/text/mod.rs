//! What CSV and JSON lines have in common.
//!
//! ```text
//! file -> blocks (whole rows, one thread at a time) -> cells (all threads) -> columns
//! ```

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use calipers::{Error, Invalid};

use super::compression::Decompressed;
use super::csv::dialect::Dialect;
use super::{
    Compression, Expansion, Extent, Failure, Part, Parts, Place, Reading, Role, Stream, Table, located, open_file,
};

mod blocks;
mod cells;

pub(super) use blocks::{Block, Blocks, Records};
pub(super) use cells::{Cell, Cells, Numbers};

use cells::Content;

/// What sets one format of text apart from another.
pub(super) trait TextFormat: Send + Sync + Sized {
    fn records(&self) -> Records;

    /// How cells and numbers are written, where formats of this kind differ in that.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// What a column can be read for that is only looked at.
    fn listed_role(&self, _place: usize) -> Option<Role> {
        Some(Role::Groups)
    }

    /// The line on which a row of a block begins.
    fn line_in(&self, block: &Block, row: u64) -> Option<u64> {
        let place = row.checked_sub(block.first_row)?;
        block.lines().nth(usize::try_from(place).ok()?).map(|(line, _)| line)
    }

    /// Values of a row, for each wanted column.
    fn n_classes(&self, _table: &TextTable<Self>, wanted: &[(usize, Role)], _limit: u64) -> Result<Vec<usize>> {
        Ok(vec![1; wanted.len()])
    }

    /// Adds the rows of a block to the wanted columns.
    fn push_rows(&self, stream: &TextStream<'_, Self>, block: &Block, columns: &mut [Cells]) -> Result<()>;
}

/// A file of text.
pub(crate) struct TextTable<F> {
    pub(super) format: F,
    path: PathBuf,
    invalid: Invalid,
    expansion: Expansion,
    pub(super) names: Vec<String>,
    /// What columns of labels hold, as far as they have been read.
    contents: Vec<Content>,
    /// Where the first record begins: byte and line.
    start: (u64, u64),
}

impl<F: TextFormat> TextTable<F> {
    pub(super) fn new(format: F, path: &Path, reading: &Reading, start: (u64, u64)) -> Self {
        let (expansion, path) = (reading.expansion(path), path.to_owned());
        let (names, contents) = (Vec::new(), Vec::new());
        TextTable { format, path, invalid: reading.invalid, expansion, names, contents, start }
    }

    pub(super) fn with_format(self, format: F) -> Self {
        TextTable { format, ..self }
    }

    pub(super) fn with_names(mut self, names: Vec<String>) -> Self {
        self.contents = names.iter().map(|_| Content::default()).collect();
        self.names = names;
        self
    }

    pub(super) fn blocks(&self, limit: u64) -> Result<Blocks> {
        Blocks::new(source(&self.path, self.expansion)?, self.format.records(), self.start, limit)
    }

    /// The line of a row, which is looked for when an error is about it.
    fn line(&self, row: u64) -> Option<u64> {
        let mut blocks = self.blocks(row.saturating_add(1)).ok()?;
        while let Some(block) = blocks.next().ok()? {
            if row < block.first_row + block.n_rows {
                return self.format.line_in(&block, row);
            }
        }
        None
    }
}

/// The text of a file, decompressed if need be.
pub(super) fn source(path: &Path, expansion: Expansion) -> Result<Decompressed> {
    Decompressed::new(open_file(path)?, expansion).map_err(blocks::cannot_read)
}

impl<F: TextFormat> Table for TextTable<F> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn dialect(&self) -> Option<Dialect> {
        self.format.dialect()
    }

    fn compression(&self) -> Option<Compression> {
        Compression::of_file(&self.path)
    }

    fn listed_role(&self, place: usize) -> Option<Role> {
        self.format.listed_role(place)
    }

    fn place(&self, row: u64) -> String {
        self.line(row).map_or(Place::Row(row), Place::Line).to_string()
    }

    fn stream<'a>(&'a self, wanted: &[(usize, Role)], limit: u64) -> Result<Box<dyn Stream + 'a>> {
        let length = open_file(&self.path)?.metadata().map_or(0, |metadata| metadata.len());
        Ok(Box::new(TextStream {
            table: self,
            wanted: wanted.to_vec(),
            n_classes: self.format.n_classes(self, wanted, limit)?,
            blocks: Mutex::new(self.blocks(limit)?),
            contents: wanted.iter().map(|(place, _)| self.contents[*place].snapshot()).collect(),
            numbers: wanted.iter().map(|_| Numbers::default()).collect(),
            n_bytes: length,
        }))
    }
}

/// The wanted columns of a file.
pub(super) struct TextStream<'a, F> {
    pub(super) table: &'a TextTable<F>,
    pub(super) wanted: Vec<(usize, Role)>,
    pub(super) n_classes: Vec<usize>,
    blocks: Mutex<Blocks>,
    /// What the columns are taken for in this reading.
    contents: Vec<Content>,
    pub(super) numbers: Vec<Numbers>,
    n_bytes: u64,
}

impl<F: TextFormat> Stream for TextStream<'_, F> {
    fn extent(&self) -> Extent {
        Extent::Bytes(self.n_bytes)
    }

    fn parts(&self) -> Parts<'_> {
        Box::new(std::iter::from_fn(move || {
            let (first_row, block) = {
                let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
                (blocks.next_row(), blocks.next())
            };
            let part = block.and_then(|block| block.map(|block| self.part(&block)).transpose());
            part.map_err(|error| Failure { first_row, error }).transpose()
        }))
    }

    fn finish(&self) -> Result<()> {
        for (index, numbers) in self.numbers.iter().enumerate() {
            numbers.finish(self.wanted[index].1).map_err(|error| self.in_column(index, error))?;
        }
        Ok(())
    }
}

impl<F: TextFormat> TextStream<'_, F> {
    /// An error of the wanted column at that index.
    pub(super) fn in_column(&self, index: usize, error: Error) -> anyhow::Error {
        self.table.in_column(located(error, self.table), &self.wanted, self.wanted[index].0)
    }

    fn part(&self, block: &Block) -> Result<Part> {
        let cells = self.wanted.iter().zip(&self.n_classes).map(|(&(_, role), n_classes)| {
            Cells::new(role, self.table.invalid, block.first_row, block.n_rows as usize, *n_classes)
        });
        let mut cells: Vec<Cells> = cells.collect();
        self.table.format.push_rows(self, block, &mut cells)?;
        let columns = cells.into_iter().enumerate().map(|(index, cells)| {
            let column = cells.finish(&self.contents[index], &self.table.contents[self.wanted[index].0])?;
            column.map_err(|error| self.in_column(index, error))
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(Part { first_row: block.first_row, columns, extent: block.n_read })
    }
}
