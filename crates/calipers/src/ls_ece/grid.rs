//! Points spread over the nodes of an equally spaced grid, in pages that exist only where points are.

use std::ops::Range;

use super::plan::{MAX_OCCUPIED, PAGE, Plan};
use super::points::Points;
use crate::numerics::lagrange::MAX_ORDER;
use crate::numerics::parallel;

/// Pages that the table of a grid may have.
const MAX_PAGES: f64 = (1u64 << 26) as f64;

/// Masses of both outcomes at the nodes of one page. A point of the page's last panel reaches nodes of the
/// next page: the page has room for them, and they are added up when nodes are read.
#[derive(Debug, Clone)]
struct Page {
    masses: [Box<[f64]>; 2],
}

/// Masses at nodes. Node j is at logit j · spacing.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// Number of the first page.
    first_page: i64,
    /// For each page, 0 or 1 + its place in `pages`.
    table: Vec<u32>,
    pages: Vec<Page>,
    /// First node that a point in panel 0 of a page touches, relative to the page.
    margin: i64,
    /// Σ share · |w(theta)|: what the deposit's bound is made of.
    pub(super) remainder: f64,
    /// Rows added up one after another, and such sums added up in turn: what rounding is made of.
    pub(super) longest_sum: f64,
    /// More pages would have been needed than may be.
    overflowed: bool,
}

impl Grid {
    /// Spreads all points, or says that the grid would be too large.
    pub(super) fn new(points: &Points, plan: &Plan) -> Option<Self> {
        let (min, max) = points.range();
        let (first_panel, last_panel) = (plan.panel(min).0, plan.panel(max).0);
        // Panels are counted in doubles: beyond 2^52 they would not be told apart. NaN fails, too.
        if !(first_panel.abs().max(last_panel.abs()) < 4e15) {
            return None;
        }
        let first_page = (first_panel as i64).div_euclid(PAGE);
        let n_pages = ((last_panel as i64).div_euclid(PAGE) - first_page + 1) as f64;
        if n_pages > MAX_PAGES {
            return None;
        }
        let empty = Grid {
            first_page,
            table: vec![0; n_pages as usize],
            pages: Vec::new(),
            margin: plan.order as i64 / 2 - 1,
            remainder: 0.0,
            longest_sum: 0.0,
            overflowed: false,
        };

        // As many sums as fit into 128 MiB: a number that depends on data and settings, not on threads.
        let n = points.len();
        let page_bytes = 16.0 * (PAGE as f64 + MAX_ORDER as f64);
        let bytes = n_pages.min(n as f64) * page_bytes + 4.0 * n_pages;
        let n_segments = ((1u64 << 27) as f64 / bytes).clamp(2.0, 64.0) as usize;
        let segment = n.div_ceil(n_segments).max(parallel::CHUNK);
        let mut segments = parallel::map_chunks(n, segment, |rows| {
            let mut grid = empty.clone();
            grid.deposit(points, plan, rows);
            grid
        })
        .into_iter();
        let mut grid = segments.next()?;
        segments.for_each(|other| grid.absorb(other));
        grid.longest_sum = (segment + n.div_ceil(segment)) as f64;
        (!grid.overflowed && grid.pages.len() <= MAX_OCCUPIED).then_some(grid)
    }

    fn deposit(&mut self, points: &Points, plan: &Plan, rows: Range<usize>) {
        for index in rows {
            let share = points.share(index);
            if share == 0.0 {
                continue;
            }
            let (panel, theta) = plan.panel(points.logits[index]);
            let (weights, remainder) = plan.lagrange.weights(theta);
            self.remainder += share * remainder;
            let panel = panel as i64;
            let page = panel.div_euclid(PAGE);
            let offset = panel.rem_euclid(PAGE) as usize;
            let outcome = usize::from(points.outcomes[index]);
            let Some(page) = self.page_mut(page, plan.order) else {
                self.overflowed = true;
                return;
            };
            let masses = &mut page.masses[outcome][offset..offset + plan.order];
            for (mass, weight) in masses.iter_mut().zip(&weights) {
                *mass += share * weight;
            }
        }
    }

    fn page_mut(&mut self, page: i64, order: usize) -> Option<&mut Page> {
        let slot = &mut self.table[(page - self.first_page) as usize];
        if *slot == 0 {
            if self.pages.len() == MAX_OCCUPIED {
                return None;
            }
            let zeros = vec![0.0; PAGE as usize + order - 1].into_boxed_slice();
            self.pages.push(Page { masses: [zeros.clone(), zeros] });
            *slot = self.pages.len() as u32;
        }
        Some(&mut self.pages[*slot as usize - 1])
    }

    fn absorb(&mut self, mut other: Grid) {
        self.remainder += other.remainder;
        self.overflowed |= other.overflowed;
        for index in 0..self.table.len() {
            let theirs = other.table[index];
            if theirs == 0 {
                continue;
            }
            let page = &mut other.pages[theirs as usize - 1];
            match self.table[index] {
                0 => {
                    let moved = std::mem::replace(page, Page { masses: [Box::new([]), Box::new([])] });
                    self.pages.push(moved);
                    self.table[index] = self.pages.len() as u32;
                }
                ours => {
                    let ours = &mut self.pages[ours as usize - 1];
                    for (sums, masses) in ours.masses.iter_mut().zip(&page.masses) {
                        sums.iter_mut().zip(masses).for_each(|(sum, mass)| *sum += mass);
                    }
                }
            }
        }
    }

    /// Nodes that have mass, as ranges that neither touch nor overlap after growing by `halo` on both sides.
    pub(super) fn windows(&self, halo: i64) -> Vec<Range<i64>> {
        let mut windows: Vec<Range<i64>> = Vec::new();
        for (index, _) in self.table.iter().enumerate().filter(|(_, slot)| **slot != 0) {
            let nodes = self.occupied(index);
            let (start, end) = (nodes.start - halo, nodes.end + halo);
            match windows.last_mut() {
                Some(last) if start <= last.end => *last = last.start.min(start)..last.end.max(end),
                _ => windows.push(start..end),
            }
        }
        windows
    }

    /// The nodes from the first to the last that has mass, in the page at `index` of the table.
    fn occupied(&self, index: usize) -> Range<i64> {
        let page = &self.pages[self.table[index] as usize - 1];
        let start = self.start_of(index);
        let has_mass = |k: &usize| page.masses.iter().any(|masses| masses[*k] != 0.0);
        let n = page.masses[0].len();
        let first = (0..n).find(has_mass).unwrap_or(0) as i64;
        let last = (0..n).rev().find(has_mass).unwrap_or(0) as i64;
        start + first..start + last + 1
    }

    /// The node of the first mass of the page at `index` of the table.
    fn start_of(&self, index: usize) -> i64 {
        (self.first_page + index as i64) * PAGE - self.margin
    }

    /// The masses of one outcome at a range of nodes.
    pub(super) fn masses(&self, outcome: bool, nodes: Range<i64>) -> Vec<f64> {
        let mut out = vec![0.0; (nodes.end - nodes.start) as usize];
        let last_table_page = self.first_page + self.table.len() as i64 - 1;
        let first = (nodes.start.div_euclid(PAGE) - 1).max(self.first_page);
        let last = (nodes.end.div_euclid(PAGE) + 1).min(last_table_page);
        for page in first..=last {
            let index = (page - self.first_page) as usize;
            if self.table[index] == 0 {
                continue;
            }
            let masses = &self.pages[self.table[index] as usize - 1].masses[usize::from(outcome)];
            let start = self.start_of(index);
            let (from, to) = (start.max(nodes.start), (start + masses.len() as i64).min(nodes.end));
            for node in from..to {
                out[(node - nodes.start) as usize] += masses[(node - start) as usize];
            }
        }
        out
    }

    /// Σ |mass|: 1 if no weights were negative, and somewhat more for sparse points.
    pub(super) fn total_mass(&self) -> f64 {
        let pages = self.pages.iter().flat_map(|page| &page.masses);
        pages.map(|masses| masses.iter().map(|mass| mass.abs()).sum::<f64>()).sum()
    }
}
