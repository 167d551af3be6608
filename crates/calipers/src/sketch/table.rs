//! Cells by their number: a sorted map while they are few, pages when they are many.

use std::collections::BTreeMap;

use super::content::Sums;

/// Cells of a page.
const PAGE: usize = 256;

/// Cells from which on pages are considered.
const MANY: usize = 1 << 12;

/// Cells that a page must hold on average to pay.
const WORTH_A_PAGE: usize = 8;

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
                let page = cell as usize / PAGE;
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
        let mut last = u32::MAX;
        for page in cells.keys().map(|cell| cell / PAGE as u32) {
            n_pages += usize::from(page != last);
            last = page;
        }
        if n_pages * WORTH_A_PAGE <= cells.len() {
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
        assert_eq!(table.len(), map.len());
        assert!(table.iter().eq(map.iter().map(|(cell, content)| (*cell, *content))));
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
