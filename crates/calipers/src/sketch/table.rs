//! Cells by their number: two sorted columns, or pages where much smaller tables are added to them.

use std::borrow::Cow;

use super::content::Sums;

/// Cells of a page.
const PAGE: usize = 256;

/// Cells from which on pages are considered.
const MANY: usize = 1 << 12;

/// Cells that a page must hold on average to pay.
const WORTH_A_PAGE: usize = 8;

/// Columns of so much fewer cells are not worth going through a table.
const MUCH_SMALLER: usize = 4;

fn page_of(cell: u32) -> usize {
    cell as usize / PAGE
}

/// Whether these ascending cells are worth the memory of their pages.
fn are_dense(cells: &[u32]) -> bool {
    let n_pages = || cells.chunk_by(|a, b| page_of(*a) == page_of(*b)).count();
    cells.len() >= MANY && n_pages() * WORTH_A_PAGE <= cells.len()
}

/// The occupied cells of one half and one outcome.
#[derive(Debug, Clone)]
pub(super) enum Table<S> {
    Few(Column<S>),
    Many { pages: Vec<Option<Box<[S]>>>, n_occupied: usize },
}

/// Cells in ascending order, each once and none of them empty, beside their sums.
#[derive(Debug, Clone)]
pub(super) struct Column<S> {
    pub(super) cells: Vec<u32>,
    pub(super) sums: Vec<S>,
}

impl<S> Default for Column<S> {
    fn default() -> Self {
        Column { cells: Vec::new(), sums: Vec::new() }
    }
}

impl<S: Sums> Column<S> {
    pub(super) fn with_capacity(n_cells: usize) -> Self {
        Column { cells: Vec::with_capacity(n_cells), sums: Vec::with_capacity(n_cells) }
    }

    /// Adds rows to a cell that is the last one, or beyond it.
    #[inline]
    pub(super) fn push(&mut self, cell: u32, sums: S) {
        match (self.cells.last(), self.sums.last_mut()) {
            (Some(last), Some(there)) if *last == cell => there.add(sums),
            _ => {
                self.cells.push(cell);
                self.sums.push(sums);
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, S)> + '_ {
        self.cells.iter().copied().zip(self.sums.iter().copied())
    }

    /// The cells of both.
    fn merged(&self, other: &Column<S>) -> Column<S> {
        let mut all = Column::with_capacity(self.cells.len() + other.cells.len());
        let (mut ours, mut theirs) = (0, 0);
        while let (Some(our), Some(their)) = (self.cells.get(ours), other.cells.get(theirs)) {
            // Which of them is first cannot be foreseen: so this is a choice and no branch.
            let first = if our <= their { &self.sums[ours] } else { &other.sums[theirs] };
            all.cells.push(*our.min(their));
            all.sums.push(*first);
            if our == their
                && let Some(sums) = all.sums.last_mut()
            {
                sums.add(other.sums[theirs]);
            }
            (ours, theirs) = (ours + usize::from(our <= their), theirs + usize::from(their <= our));
        }
        all.cells.extend_from_slice(&self.cells[ours..]);
        all.sums.extend_from_slice(&self.sums[ours..]);
        all.cells.extend_from_slice(&other.cells[theirs..]);
        all.sums.extend_from_slice(&other.sums[theirs..]);
        if all.cells.len() < all.cells.capacity() / 4 * 3 {
            all.cells.shrink_to_fit();
            all.sums.shrink_to_fit();
        }
        all
    }
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Table::Few(Column::default())
    }
}

impl<S: Sums> PartialEq for Table<S> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<S: Sums> Table<S> {
    pub(super) fn of(column: Column<S>) -> Self {
        Table::Few(column)
    }

    /// A table with the rows of all cells of a column as well.
    pub(super) fn with(&self, column: Column<S>) -> Self {
        match column.cells.is_empty() {
            true => self.clone(),
            false => Table::Few(self.column().merged(&column)),
        }
    }

    /// Adds the rows of all cells of a column.
    pub(super) fn add_column(&mut self, column: Column<S>) {
        match self {
            Table::Few(ours) => *ours = if ours.cells.is_empty() { column } else { ours.merged(&column) },
            Table::Many { .. } => column.iter().for_each(|(cell, sums)| self.add_to_page(cell, sums)),
        }
    }

    /// Whether cells can be added one by one, and not only with many others.
    #[inline]
    pub(super) fn has_pages(&self) -> bool {
        matches!(self, Table::Many { .. })
    }

    /// Adds rows to a cell of a table that has pages; `sums` is not empty.
    #[inline]
    pub(super) fn add_to_page(&mut self, cell: u32, sums: S) {
        let Table::Many { pages, n_occupied } = self else { return };
        let page = page_of(cell);
        if page >= pages.len() {
            pages.resize_with(page + 1, || None);
        }
        let page = pages[page].get_or_insert_with(|| vec![S::default(); PAGE].into());
        let place = &mut page[cell as usize % PAGE];
        *n_occupied += usize::from(place.is_empty());
        place.add(sums);
    }

    /// Makes pages if so few cells are to be added that it does not pay to go through all, and if
    /// pages are worth their memory.
    pub(super) fn make_pages_for(&mut self, n_cells: usize) {
        let Table::Few(column) = self else { return };
        if MUCH_SMALLER * n_cells <= column.cells.len() && are_dense(&column.cells) {
            let column = std::mem::take(column);
            *self = Table::Many { pages: Vec::new(), n_occupied: 0 };
            self.add_column(column);
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Table::Few(column) => column.cells.len(),
            Table::Many { n_occupied, .. } => *n_occupied,
        }
    }

    /// Memory that the cells take.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Table::Few(column) => column.cells.capacity() * size_of::<u32>() + column.sums.capacity() * size_of::<S>(),
            Table::Many { pages, .. } => {
                let of_a_page = PAGE * size_of::<S>();
                size_of_val(pages.as_slice()) + pages.iter().flatten().count() * of_a_page
            }
        }
    }

    /// Occupied cells in the order of their numbers.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (u32, S)> + '_> {
        match self {
            Table::Few(column) => Box::new(column.iter()),
            Table::Many { pages, .. } => {
                let pages = pages.iter().enumerate();
                let pages = pages.filter_map(|(page, cells)| cells.as_ref().map(|cells| (page * PAGE, cells)));
                let cells = pages.flat_map(|(first, cells)| cells.iter().enumerate().map(move |(k, s)| (first + k, s)));
                Box::new(cells.filter(|(_, sums)| !sums.is_empty()).map(|(cell, sums)| (cell as u32, *sums)))
            }
        }
    }

    /// The occupied cells as a column.
    pub(super) fn column(&self) -> Cow<'_, Column<S>> {
        match self {
            Table::Few(column) => Cow::Borrowed(column),
            Table::Many { .. } => {
                let mut column = Column::with_capacity(self.len());
                self.iter().for_each(|(cell, sums)| column.push(cell, sums));
                Cow::Owned(column)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cells::Content;

    fn column(cells: impl IntoIterator<Item = (u32, Content)>) -> Column<Content> {
        let mut column = Column::default();
        cells.into_iter().for_each(|(cell, content)| column.push(cell, content));
        column
    }

    #[test]
    fn a_table_holds_what_a_map_holds() {
        let (mut table, mut map) = (Table::<Content>::default(), BTreeMap::<u32, Content>::new());
        for k in 0u32..20_000 {
            let part: BTreeMap<u32, Content> = (0..k % 4 + 1)
                .map(|j| {
                    let content = Content { count: 1, first: u64::from(k), second: u128::from(j) };
                    ((4 * k + j).wrapping_mul(2_654_435_761) % 9_000, content)
                })
                .collect();
            part.iter().for_each(|(cell, content)| map.entry(*cell).or_default().add(*content));
            // Both ways to add cells.
            if k == 10_000 {
                assert!(!table.has_pages());
                table.make_pages_for(4);
                assert!(table.has_pages());
            }
            table.add_column(column(part));
        }
        let expected = column(map.iter().map(|(cell, content)| (*cell, *content)));
        assert_eq!(Table::of(expected.clone()), table);
        assert_eq!(Table::Few(expected), table);
        assert_eq!(table.len(), map.len());
        assert!(table.iter().eq(map.iter().map(|(cell, content)| (*cell, *content))));
        assert!(table.column().iter().eq(table.iter()));
    }

    #[test]
    fn memory_is_that_of_pages_not_of_cells() {
        assert_eq!(Table::<Content>::default().heap_bytes(), 0);
        // One cell in sixteen: pages that are mostly empty.
        let cells = (0u32..MANY as u32).map(|k| (k * 16, Content { count: 1, first: 0, second: 0 }));
        let mut table = Table::of(column(cells));
        table.make_pages_for(MANY / MUCH_SMALLER + 1);
        assert!(!table.has_pages());
        table.make_pages_for(MANY / MUCH_SMALLER);
        assert!(table.has_pages());
        assert!(table.heap_bytes() >= MANY * 16 * size_of::<Content>());
    }

    #[test]
    fn scattered_cells_get_no_pages() {
        let cells = (0u32..20_000).map(|k| (k * 1000, Content { count: 1, first: 0, second: 0 }));
        let mut table = Table::of(column(cells));
        table.make_pages_for(1);
        assert!(!table.has_pages());
        assert_eq!(table.iter().count(), 20_000);
    }
}
