//! Cells by their number: a sorted map while they are few, pages when they are many.

use std::collections::BTreeMap;

use super::content::Sums;

/// Cells of a page.
const PAGE: usize = 256;

/// Cells from which on pages are considered.
const MANY: usize = 1 << 12;

/// Cells that a node of the map has room for.
const NODE: usize = 11;

/// Cells that a page must hold on average to pay.
const WORTH_A_PAGE: usize = 8;

fn page_of(cell: u32) -> usize {
    cell as usize / PAGE
}

/// Whether this number of pages is worth its memory.
fn pay(n_pages: usize, n_cells: usize) -> bool {
    n_cells >= MANY && n_pages * WORTH_A_PAGE <= n_cells
}

/// The occupied cells of one half and one outcome.
#[derive(Debug, Clone)]
pub(super) enum Table<S> {
    Few(BTreeMap<u32, S>),
    Many { pages: Vec<Option<Box<[S]>>>, n_occupied: usize },
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Table::Few(BTreeMap::new())
    }
}

impl<S: Sums> PartialEq for Table<S> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<S: Sums> Table<S> {
    /// Cells in the order of their numbers, none of which is empty.
    pub(super) fn from_sorted(cells: Vec<(u32, S)>) -> Self {
        let n_pages = cells.chunk_by(|(a, _), (b, _)| page_of(*a) == page_of(*b)).count();
        if pay(n_pages, cells.len()) {
            let mut table = Table::Many { pages: Vec::new(), n_occupied: 0 };
            cells.into_iter().for_each(|(cell, sums)| table.add(cell, sums));
            return table;
        }
        Table::Few(cells.into_iter().collect())
    }

    /// Adds rows to a cell; `sums` is not empty.
    pub(super) fn add(&mut self, cell: u32, sums: S) {
        match self {
            Table::Few(cells) => {
                cells.entry(cell).or_default().add(sums);
                // Looked at now and then: a scan for each doubling.
                if cells.len() >= MANY && cells.len().is_power_of_two() {
                    self.make_pages_if_dense();
                }
            }
            Table::Many { pages, n_occupied } => {
                let page = page_of(cell);
                if page >= pages.len() {
                    pages.resize_with(page + 1, || None);
                }
                let page = pages[page].get_or_insert_with(|| vec![S::default(); PAGE].into());
                let place = &mut page[cell as usize % PAGE];
                *n_occupied += usize::from(place.is_empty());
                place.add(sums);
            }
        }
    }

    fn make_pages_if_dense(&mut self) {
        let Table::Few(cells) = self else { return };
        let mut n_pages = 0;
        let mut last = usize::MAX;
        for page in cells.keys().map(|cell| page_of(*cell)) {
            n_pages += usize::from(page != last);
            last = page;
        }
        if pay(n_pages, cells.len()) {
            let cells = std::mem::take(cells);
            *self = Table::Many { pages: Vec::new(), n_occupied: 0 };
            cells.into_iter().for_each(|(cell, sums)| self.add(cell, sums));
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Table::Few(cells) => cells.len(),
            Table::Many { n_occupied, .. } => *n_occupied,
        }
    }

    /// Memory that the cells take, an upper estimate: nodes of the map are at least half full,
    /// pages are as large as they are.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Table::Few(cells) => cells.len().div_ceil(NODE / 2) * NODE * size_of::<(u32, S)>(),
            Table::Many { pages, .. } => {
                let of_a_page = PAGE * size_of::<S>();
                size_of_val(pages.as_slice()) + pages.iter().flatten().count() * of_a_page
            }
        }
    }

    /// Occupied cells in the order of their numbers.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (u32, S)> + '_> {
        match self {
            Table::Few(cells) => Box::new(cells.iter().map(|(cell, sums)| (*cell, *sums))),
            Table::Many { pages, .. } => {
                let pages = pages.iter().enumerate();
                let pages = pages.filter_map(|(page, cells)| cells.as_ref().map(|cells| (page * PAGE, cells)));
                let cells = pages.flat_map(|(first, cells)| cells.iter().enumerate().map(move |(k, s)| (first + k, s)));
                Box::new(cells.filter(|(_, sums)| !sums.is_empty()).map(|(cell, sums)| (cell as u32, *sums)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Content;

    #[test]
    fn pages_hold_what_the_map_held() {
        let (mut table, mut map) = (Table::<Content>::default(), BTreeMap::<u32, Content>::new());
        for k in 0u32..20_000 {
            let cell = k.wrapping_mul(2_654_435_761) % 9_000;
            let content = Content { count: 1, first: u64::from(k), second: u128::from(k) };
            table.add(cell, content);
            map.entry(cell).or_default().add(content);
        }
        assert!(matches!(table, Table::Many { .. }));
        assert_eq!(Table::from_sorted(map.iter().map(|(cell, content)| (*cell, *content)).collect()), table);
        assert_eq!(table.len(), map.len());
        assert!(table.iter().eq(map.iter().map(|(cell, content)| (*cell, *content))));
    }

    #[test]
    fn memory_is_that_of_pages_not_of_cells() {
        let mut table = Table::<Content>::default();
        assert_eq!(table.heap_bytes(), 0);
        // One cell in sixteen: pages that are mostly empty.
        for k in 0u32..MANY as u32 {
            table.add(k * 16, Content { count: 1, first: 0, second: 0 });
        }
        assert!(matches!(table, Table::Many { .. }));
        assert!(table.heap_bytes() >= MANY * 16 * size_of::<Content>());
    }

    #[test]
    fn scattered_cells_get_no_pages() {
        let mut table = Table::<Content>::default();
        for k in 0u32..20_000 {
            table.add(k * 1000, Content { count: 1, first: 0, second: 0 });
        }
        assert!(matches!(table, Table::Few(_)));
        assert_eq!(table.iter().count(), 20_000);
    }
}
