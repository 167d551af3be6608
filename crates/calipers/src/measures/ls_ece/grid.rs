//! Points spread over the nodes of an equally spaced grid, in pages that exist only where points
//! are.

use std::ops::Range;

use super::plan::{MAX_OCCUPIED, PAGE, Plan};
use super::points::Points;
use crate::numerics::dispatch::dispatched;
use crate::numerics::lagrange::{Lagrange, MAX_ORDER};
use crate::numerics::parallel;

/// Pages that the table of a grid may have.
const MAX_PAGES: f64 = (1u64 << 26) as f64;

/// Nodes that a page has masses for. A point of the page's last panel reaches nodes of the next
/// page: the page has room for them, and they are added up when nodes are read.
const PAGE_NODES: usize = PAGE as usize + MAX_ORDER;

/// Masses of a page: those of outcome 0, then those of outcome 1.
const PAGE_MASSES: usize = 2 * PAGE_NODES;

/// Rows that are spread on one thread: the sums of several would take as long to add up.
const FEW_ROWS: usize = 1 << 14;

/// Panels that may have [slots](Slots): a megabyte of them.
const MAX_SLOTS: usize = 1 << 14;

/// Masses at nodes, in the units of the points' weights. Node j is at logit j · spacing.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// Number of the first page.
    first_page: i64,
    /// For each page, 0 or 1 + its place in `masses`.
    table: Vec<u32>,
    /// Page after page, in the order in which points came.
    masses: Vec<f64>,
    /// First node that a point in panel 0 of a page touches, relative to the page.
    margin: i64,
    /// Σ mass · |w(theta)|: what the deposit's bound is made of.
    pub(super) remainder: f64,
    /// Rows added up one after another, and such sums added up in turn: what rounding is made of.
    pub(super) longest_sum: f64,
    /// More pages would have been needed than may be.
    overflowed: bool,
}

impl Grid {
    /// Spreads all points with these masses (1 each, if there are none) in place of their weights,
    /// or returns `None` if the grid would be too large.
    pub(super) fn new(points: &Points, masses: Option<&[f64]>, plan: &Plan) -> Option<Self> {
        let (min, max) = points.range;
        // Panels are counted in the last bits of doubles. NaN fails, too.
        if !(plan.position(min).abs().max(plan.position(max).abs()) < 2e15) {
            return None;
        }
        let first_page = plan.panel(min).0.div_euclid(PAGE);
        let n_pages = (plan.panel(max).0.div_euclid(PAGE) - first_page + 1) as f64;
        if n_pages > MAX_PAGES {
            return None;
        }
        let empty = Grid {
            first_page,
            table: vec![0; n_pages as usize],
            masses: Vec::new(),
            margin: plan.order as i64 / 2 - 1,
            remainder: 0.0,
            longest_sum: 0.0,
            overflowed: false,
        };

        // As many sums as fit into 32 MiB: a number that depends on data and settings, not on
        // threads.
        let n = points.len();
        let page_bytes = (size_of::<f64>() * PAGE_MASSES) as f64;
        let bytes = n_pages.min(n as f64) * page_bytes + 4.0 * n_pages;
        let n_segments = ((1u64 << 25) as f64 / bytes).clamp(2.0, 64.0) as usize;
        let segment = if n <= FEW_ROWS { n } else { n.div_ceil(n_segments).max(parallel::chunk_of(n)) };
        let mut segments = parallel::map_chunks(n, segment, |rows| {
            let mut grid = empty.clone();
            grid.remainder = deposit(points, masses, plan, rows, &mut grid);
            grid
        })
        .into_iter();
        let mut grid = segments.next()?;
        segments.for_each(|other| grid.absorb(&other));
        grid.longest_sum = (segment + n.div_ceil(segment)) as f64;
        if grid.overflowed {
            return None;
        }
        Some(grid)
    }

    /// The place of a page's first mass in `masses`; `None` if there are too many pages.
    #[inline(always)]
    fn page(&mut self, page: i64) -> Option<usize> {
        let slot = self.table[(page - self.first_page) as usize] as usize;
        if slot > 0 { Some((slot - 1) * PAGE_MASSES) } else { self.new_page((page - self.first_page) as usize) }
    }

    #[cold]
    fn new_page(&mut self, index: usize) -> Option<usize> {
        let start = self.masses.len();
        let n_pages = start / PAGE_MASSES;
        if n_pages == MAX_OCCUPIED {
            return None;
        }
        self.masses.resize(start + PAGE_MASSES, 0.0);
        self.table[index] = n_pages as u32 + 1;
        Some(start)
    }

    fn absorb(&mut self, other: &Grid) {
        self.remainder += other.remainder;
        self.overflowed |= other.overflowed;
        for index in 0..self.table.len() {
            let Some(theirs) = other.masses_of(index) else { continue };
            let Some(ours) = self.page(self.first_page + index as i64) else {
                self.overflowed = true;
                return;
            };
            self.masses[ours..][..PAGE_MASSES].iter_mut().zip(theirs).for_each(|(sum, mass)| *sum += mass);
        }
    }

    /// Both outcomes' masses of the page at `index` of the table, if there are any.
    fn masses_of(&self, index: usize) -> Option<&[f64]> {
        let slot = self.table[index] as usize;
        (slot > 0).then(|| &self.masses[(slot - 1) * PAGE_MASSES..][..PAGE_MASSES])
    }

    /// Nodes that have mass, as ranges that neither touch nor overlap after growing by `halo` on
    /// both sides.
    pub(super) fn windows(&self, halo: i64) -> Vec<Range<i64>> {
        let mut windows: Vec<Range<i64>> = Vec::new();
        for nodes in (0..self.table.len()).filter_map(|index| self.occupied(index)) {
            let (start, end) = (nodes.start - halo, nodes.end + halo);
            match windows.last_mut() {
                Some(last) if start <= last.end => *last = last.start.min(start)..last.end.max(end),
                _ => windows.push(start..end),
            }
        }
        windows
    }

    /// The nodes from the first to the last that has mass, in the page at `index` of the table.
    fn occupied(&self, index: usize) -> Option<Range<i64>> {
        let (negatives, positives) = self.masses_of(index)?.split_at(PAGE_NODES);
        let start = self.start_of(index);
        let first = first_mass(negatives.iter()).min(first_mass(positives.iter()));
        let after = first_mass(negatives.iter().rev()).min(first_mass(positives.iter().rev()));
        // A page without mass counts as its first node.
        let (first, end) = if first < PAGE_NODES { (first, PAGE_NODES - after) } else { (0, 1) };
        Some(start + first as i64..start + end as i64)
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
            let Some(masses) = self.masses_of(index) else { continue };
            let masses = &masses[usize::from(outcome) * PAGE_NODES..][..PAGE_NODES];
            let start = self.start_of(index);
            let (from, to) = (start.max(nodes.start), (start + PAGE_NODES as i64).min(nodes.end));
            if from < to {
                let sums = &mut out[(from - nodes.start) as usize..(to - nodes.start) as usize];
                let masses = &masses[(from - start) as usize..(to - start) as usize];
                sums.iter_mut().zip(masses).for_each(|(sum, mass)| *sum += mass);
            }
        }
        out
    }

    /// Σ |mass|: the sum of the points' masses, and somewhat more for sparse points.
    pub(super) fn total_mass(&self) -> f64 {
        sum_of_sizes(&self.masses)
    }
}

/// How many there are before the first that is not 0: in blocks, which are compiled to vectors.
fn first_mass<'a>(masses: impl ExactSizeIterator<Item = &'a f64> + Clone) -> usize {
    const BLOCK: usize = 8;
    let n = masses.len();
    let is_empty = |block: &usize| {
        // Without the sign, which 0 may have, too.
        masses.clone().skip(block * BLOCK).take(BLOCK).fold(0, |bits, mass| bits | mass.to_bits() << 1) == 0
    };
    let n_empty = BLOCK * (0..n.div_ceil(BLOCK)).take_while(is_empty).count();
    n.min(n_empty + masses.skip(n_empty).take_while(|mass| **mass == 0.0).count())
}

dispatched! {
    /// Σ |mass|, as eight sums side by side: in one, each addition would wait for the one before.
    fn sum_of_sizes / sum_of_sizes_portable(masses: &[f64]) -> f64 {
        let mut sums = [0.0; 8];
        let (blocks, rest) = masses.as_chunks::<8>();
        for block in blocks {
            for lane in 0..8 {
                sums[lane] += block[lane].abs();
            }
        }
        rest.iter().zip(&mut sums).for_each(|(mass, sum)| *sum += mass.abs());
        sums.iter().sum()
    }
}

dispatched! {
    /// Spreads some points over the nodes around them, by mass, and returns Σ mass · |w(theta)|.
    fn deposit / deposit_portable(
        points: &Points,
        masses: Option<&[f64]>,
        plan: &Plan,
        rows: Range<usize>,
        grid: &mut Grid,
    ) -> f64 {
        match plan.order {
            2 => spread::<2, true>(points, masses, plan, rows, grid),
            4 => spread::<4, true>(points, masses, plan, rows, grid),
            6 => spread::<6, true>(points, masses, plan, rows, grid),
            _ => match Slots::new(points, plan, rows.len()) {
                Some(mut slots) => {
                    let remainder = match masses {
                        None => spread::<MAX_ORDER, false>(points, None, plan, rows, &mut slots),
                        Some(_) => spread::<MAX_ORDER, true>(points, masses, plan, rows, &mut slots),
                    };
                    slots.add_to(grid);
                    remainder
                }
                None => spread::<MAX_ORDER, true>(points, masses, plan, rows, grid),
            },
        }
    }
}

/// What rows are spread over. A closure would not be compiled for the processor of its caller.
trait Spread<const M: usize> {
    /// Adds a row of that mass with its place in the panel, from -1/2 to 1/2.
    fn add(&mut self, lagrange: &Lagrange, panel: i64, outcome: bool, mass: f64, place: f64);
}

/// Spreads the rows that have mass, and returns Σ mass · |w(theta)|. All masses are 1 unless the
/// rows are `WEIGHTED`.
///
/// Places of some rows are computed at once, which the compiler does in vectors.
#[inline(always)]
fn spread<const M: usize, const WEIGHTED: bool>(
    points: &Points,
    masses: Option<&[f64]>,
    plan: &Plan,
    rows: Range<usize>,
    over: &mut impl Spread<M>,
) -> f64 {
    const LANES: usize = 16;
    let mut remainders = [0.0; LANES];
    for start in rows.clone().step_by(LANES) {
        let n = LANES.min(rows.end - start);
        let (mut weights, mut panels, mut places) = ([0.0; LANES], [0; LANES], [0.0; LANES]);
        match masses {
            Some(all) => weights[..n].copy_from_slice(&all[start..start + n]),
            None => weights[..n].fill(1.0),
        }
        let mut logits = [0.0; LANES];
        logits[..n].copy_from_slice(&points.logits[start..start + n]);
        for lane in 0..LANES {
            let (panel, theta) = plan.panel(logits[lane]);
            (panels[lane], places[lane]) = (panel, theta - 0.5);
            let remainder = Lagrange::remainder::<M>(places[lane]);
            remainders[lane] += if WEIGHTED || n < LANES { weights[lane] * remainder } else { remainder };
        }
        for (lane, outcome) in points.outcomes[start..start + n].iter().enumerate() {
            // A row without mass may be beyond the pages.
            let mass = if WEIGHTED { weights[lane] } else { 1.0 };
            if mass != 0.0 {
                over.add(&plan.lagrange, panels[lane], *outcome, mass, places[lane]);
            }
        }
    }
    remainders.iter().sum()
}

impl<const M: usize> Spread<M> for Grid {
    #[inline(always)]
    fn add(&mut self, lagrange: &Lagrange, panel: i64, outcome: bool, mass: f64, place: f64) {
        let Some(page) = self.page(panel.div_euclid(PAGE)) else {
            self.overflowed = true;
            return;
        };
        let first = page + usize::from(outcome) * PAGE_NODES + panel.rem_euclid(PAGE) as usize;
        // proof: a page has room for M nodes from each of its panels on
        let masses = self.masses[first..].first_chunk_mut::<M>().expect("room for the nodes");
        add_to(masses, mass, lagrange.weights::<M>(place));
    }
}

/// By way of a copy, which no other memory can overlap.
#[inline(always)]
fn add_to<const N: usize>(masses: &mut [f64; N], mass: f64, weights: [f64; N]) {
    let mut sums = *masses;
    for k in 0..N {
        sums[k] += mass * weights[k];
    }
    *masses = sums;
}

/// Half of the nodes of a panel.
const HALF: usize = MAX_ORDER / 2;

/// Masses of the highest order in places of their own for each panel, for rows that are many beside
/// the panels.
///
/// A processor that reads what it has just written has to wait if one is a part of the other. The
/// nodes of neighbouring panels overlap; slots are alike or apart.
struct Slots {
    /// The first panel that has rows.
    first: i64,
    n_panels: usize,
    /// Slot q + 3 has masses of both outcomes for the nodes from q on, relative to the first node
    /// of the first panel: the first half of the nodes of panel q, and the second half of those of
    /// panel q - 4.
    slots: Vec<[[f64; HALF]; 2]>,
}

impl Slots {
    /// `None` if rows are few beside the panels.
    fn new(points: &Points, plan: &Plan, n_rows: usize) -> Option<Self> {
        let (first, last) = (plan.panel(points.range.0).0, plan.panel(points.range.1).0);
        let n_panels = usize::try_from(last - first).ok()? + 1;
        (n_panels <= n_rows.min(MAX_SLOTS)).then(|| {
            let slots = vec![[[0.0; HALF]; 2]; n_panels + HALF + 2 * (HALF - 1)];
            Slots { first, n_panels, slots }
        })
    }

    /// Adds up what slots have for each node.
    fn add_to(&self, grid: &mut Grid) {
        let last = self.first + self.n_panels as i64 - 1;
        for page in self.first.div_euclid(PAGE)..=last.div_euclid(PAGE) {
            let Some(start) = grid.page(page) else {
                grid.overflowed = true;
                return;
            };
            let (from, to) = (self.first.max(page * PAGE), last.min((page + 1) * PAGE - 1));
            // The last page has all nodes of the last panel.
            let n_nodes = (to - from) as usize + if to == last { MAX_ORDER } else { 1 };
            let slots = &self.slots[(from - self.first) as usize..][..n_nodes + HALF - 1];
            for outcome in 0..2 {
                let place = start + outcome * PAGE_NODES + (from - page * PAGE) as usize;
                for (mass, slots) in grid.masses[place..][..n_nodes].iter_mut().zip(slots.windows(HALF)) {
                    *mass += (0..HALF).fold(0.0, |sum, k| sum + slots[HALF - 1 - k][outcome][k]);
                }
            }
        }
    }
}

impl Spread<MAX_ORDER> for Slots {
    #[inline(always)]
    fn add(&mut self, lagrange: &Lagrange, panel: i64, outcome: bool, mass: f64, place: f64) {
        let slots = &mut self.slots[(panel - self.first) as usize + HALF - 1..];
        // proof: panels with mass end with the last, and the slots go on for 7 more
        let slots = slots.first_chunk_mut::<{ HALF + 1 }>().expect("slots of both halves");
        let weights = lagrange.weights::<MAX_ORDER>(place);
        let [low, high] = [0, HALF].map(|half| std::array::from_fn(|k| weights[half + k]));
        add_to(&mut slots[0][usize::from(outcome)], mass, low);
        add_to(&mut slots[HALF][usize::from(outcome)], mass, high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Logistic;
    use crate::measures::ls_ece::plan::Smoothness;
    use crate::noise::{Gaussian, Laplace, Noise};

    #[test]
    fn both_compilations_spread_alike() {
        let logits: Vec<f64> = (0..1000).map(|k| f64::from(k * k % 997) / 70.0 - 7.0).collect();
        let outcomes = (0..1000).map(|k| k % 3 == 0).collect();
        let weights = (0..1000).map(|k| f64::from(k % 5)).collect();
        let points = Points::from_atoms(logits, outcomes, weights, 0.0, 0.0);
        for noise in [&Gaussian as &dyn Noise, &Laplace] {
            let plan = Plan::new(noise, &Smoothness::new(noise, &Logistic, 0.1), 1e-5);
            let mut grid = Grid::new(&points, points.weights.as_deref(), &plan).unwrap();
            grid.masses = Vec::new();
            grid.table.fill(0);
            let mut portable = grid.clone();
            let masses = points.weights.as_deref();
            let remainders = [
                deposit(&points, masses, &plan, 0..1000, &mut grid),
                deposit_portable(&points, masses, &plan, 0..1000, &mut portable),
            ];
            assert_eq!(remainders[0].to_bits(), remainders[1].to_bits());
            assert!(grid.masses.iter().zip(&portable.masses).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}
