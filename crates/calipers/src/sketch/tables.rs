//! The cells of a sketch: four tables, and rows that wait to be added to them.
//!
//! A row that comes alone is not worth the way to its cell, which is in no cache where there are
//! many groups. It waits as a key, whose order is that of tables and cells, until as many rows wait
//! as there are cells: then they are sorted, and all cells are gone through once. So a row costs
//! the same however many cells there are. Since sums are integers, it does not matter when a row is
//! added; who reads cells reads them [settled](Tables::settled).

use std::borrow::Cow;

use super::content::Sums;
use super::layout::{Layout, Widening};
use super::table::{Column, Table};
use super::{N_TABLES, by_cell};

/// Rows that wait, at least, until they are added.
const FEW: usize = 1 << 10;

/// Table 2 · upper + outcome, and rows that belong to one of them.
#[derive(Debug, Clone)]
pub(super) struct Tables<S: Sums> {
    tables: [Table<S>; N_TABLES],
    waiting: Vec<S::Row>,
}

impl<S: Sums> Default for Tables<S> {
    fn default() -> Self {
        Tables { tables: std::array::from_fn(|_| Table::default()), waiting: Vec::new() }
    }
}

impl<S: Sums> Tables<S> {
    pub(super) fn of(columns: [Column<S>; N_TABLES]) -> Self {
        Tables { tables: columns.map(Table::of), waiting: Vec::new() }
    }

    /// Adds a row, which waits.
    #[inline]
    pub(super) fn add_row(&mut self, row: S::Row) {
        self.waiting.push(row);
    }

    /// Adds the rows that wait, if there are enough for that to pay.
    #[inline]
    pub(super) fn settle_if_many(&mut self, layout: Layout) {
        if self.waiting.len() >= FEW && self.waiting.len() >= self.tables.iter().map(Table::len).sum() {
            self.settle(layout);
        }
    }

    /// Adds the rows that wait.
    pub(super) fn settle(&mut self, layout: Layout) {
        let columns = by_cell::columns(&mut self.waiting, layout);
        self.waiting.clear();
        self.add_columns(columns);
    }

    /// With the rows that wait added, which `self` may lack.
    pub(super) fn settled(&self, layout: Layout) -> Cow<'_, Self> {
        if self.waiting.is_empty() {
            return Cow::Borrowed(self);
        }
        let columns = by_cell::columns(&mut self.waiting.clone(), layout);
        let mut all = self.tables.iter().zip(columns).map(|(table, column)| table.with(column));
        // proof: there is one for each
        let tables = std::array::from_fn(|_| all.next().unwrap_or_default());
        Cow::Owned(Tables { tables, waiting: Vec::new() })
    }

    /// The tables, in which rows that wait are not.
    pub(super) fn tables(&self) -> &[Table<S>; N_TABLES] {
        &self.tables
    }

    pub(super) fn add_columns(&mut self, columns: [Column<S>; N_TABLES]) {
        for (table, column) in self.tables.iter_mut().zip(columns).filter(|(_, column)| !column.cells.is_empty()) {
            table.add_column(column);
        }
    }

    /// Adds settled tables of another kind, or with narrower cells.
    pub(super) fn add_tables<T: Sums>(&mut self, others: &Tables<T>, widening: Widening, convert: impl Fn(T) -> S) {
        for (ours, theirs) in self.tables.iter_mut().zip(&others.tables).filter(|(_, theirs)| theirs.len() > 0) {
            ours.make_pages_for(theirs.len());
            let theirs = theirs.column();
            let cells = theirs.iter().map(|(cell, sums)| widening.apply(cell, convert(sums)));
            if ours.has_pages() {
                cells.for_each(|(cell, sums)| ours.add_to_page(cell, sums));
            } else {
                let mut column = Column::with_capacity(theirs.cells.len());
                cells.for_each(|(cell, sums)| column.push(cell, sums));
                ours.add_column(column);
            }
        }
    }

    /// Settled tables with wider cells.
    pub(super) fn widened(&self, widening: Widening) -> Self {
        let mut wide = Tables::default();
        wide.add_tables(self, widening, |sums| sums);
        wide
    }

    /// Whether there is a row of outcome 1.
    pub(super) fn has_positive(&self, layout: Layout) -> bool {
        let waits = |row: &S::Row| layout.split(S::key(*row)).0 % 2 == 1;
        self.tables[1].len() + self.tables[3].len() > 0 || self.waiting.iter().any(waits)
    }

    /// Bytes of memory.
    pub(super) fn heap_bytes(&self) -> usize {
        let waiting = self.waiting.capacity() * size_of::<S::Row>();
        waiting + self.tables.iter().map(Table::heap_bytes).sum::<usize>()
    }
}
