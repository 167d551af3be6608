//! Exact order statistics: cells say where to look, and one more pass looks there.

use super::Cells;
use crate::numerics::dispatch::dispatched;
use crate::numerics::parallel;
use crate::predictions::{Floats, PlainRows, Probability};

/// Rows of a task: the pass does next to nothing with each.
const CHUNK: usize = 1 << 18;

/// The probabilities of a cell: those from the first to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    first: f64,
    last: f64,
}

impl Span {
    #[inline(always)]
    fn contains(self, p: f64) -> bool {
        (self.first <= p) & (p <= self.last)
    }
}

impl Cells {
    /// The probabilities, clipped, that have so many others before them when all are sorted.
    pub(crate) fn probabilities_of_ranks<const N: usize>(
        &self,
        rows: PlainRows<'_>,
        clip: f64,
        ranks: [usize; N],
    ) -> [f64; N] {
        let places = ranks.map(|rank| self.cell_of_rank(rank as u64));
        let mut spans: Vec<Span> = places.iter().map(|place| place.0).collect();
        spans.dedup();
        let found = parallel::map_chunks(rows.len(), CHUNK, |range| match rows.probabilities {
            Floats::F32(values) => inside(&values[range], clip, &spans),
            Floats::F64(values) => inside(&values[range], clip, &spans),
        });
        let found: Vec<f64> = found.into_iter().flatten().collect();
        let mut rank_in_cell = ranks.iter().zip(places).map(|(rank, (span, before))| {
            let mut here: Vec<f64> = found.iter().copied().filter(|p| span.contains(*p)).collect();
            *here.select_nth_unstable_by(rank - before as usize, f64::total_cmp).1
        });
        // proof: the iterator is as long as `ranks`
        std::array::from_fn(|_| rank_in_cell.next().unwrap_or(f64::NAN))
    }

    /// The cell of both outcomes that holds that rank, and how many rows come before it.
    fn cell_of_rank(&self, rank: u64) -> (Span, u64) {
        let count = |upper: bool, cell: usize| {
            let table = 2 * usize::from(upper);
            let index = |outcome: usize| (table + outcome) * self.n_cells + cell;
            self.contents[index(0)].count + self.contents[index(1)].count
        };
        // Below 1/2 cells are numbered against the order of probabilities, above it with them.
        let ascending =
            (0..self.n_cells).rev().map(|cell| (false, cell)).chain((0..self.n_cells).map(|cell| (true, cell)));
        let mut before = 0;
        let mut last = (false, 0, 0);
        for (upper, cell) in ascending {
            let here = count(upper, cell);
            if here > 0 {
                last = (upper, cell, before);
            }
            if rank < before + here {
                break;
            }
            before += here;
        }
        (self.span(last.0, last.1), last.2)
    }

    fn span(&self, upper: bool, cell: usize) -> Span {
        let lower = self.resolution.lower(cell);
        // The first cell has 1/2 alone.
        let next = if cell == 0 { 0.5f64.next_up() } else { self.resolution.lower(cell - 1) };
        if !upper {
            return Span { first: lower, last: next.next_down() };
        }
        // 1 - p is exact for p from 1/2 on, but 1 - q may be rounded: the ends are those whose 1 - p is in the cell.
        let (mut first, mut last) = ((1.0 - next).next_down(), (1.0 - lower).next_up());
        while !(1.0 - first < next) {
            first = first.next_up();
        }
        while 1.0 - last < lower {
            last = last.next_down();
        }
        Span { first: first.max(0.5f64.next_up()), last }
    }
}

fn clipped(p: f64, clip: f64) -> f64 {
    let raised = if p > clip { p } else { clip };
    if raised < 1.0 - clip { raised } else { 1.0 - clip }
}

dispatched! {
    /// Those of the values, clipped, that are in one of the spans: few, so that most blocks take no branch.
    fn inside / inside_portable<P: Probability>(values: &[P], clip: f64, spans: &[Span]) -> Vec<f64> {
        const BLOCK: usize = 64;
        let mut found = Vec::new();
        for block in values.chunks(BLOCK) {
            let any = |span: &Span| block.iter().fold(false, |any, p| any | span.contains(clipped((*p).into(), clip)));
            if spans.iter().any(any) {
                let block = block.iter().map(|p| clipped((*p).into(), clip));
                found.extend(block.filter(|p| spans.iter().any(|span| span.contains(*p))));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predictions::Labels;

    #[test]
    fn ranks_are_those_of_a_sort() {
        let p: Vec<f64> =
            (0..20_000).map(|k| (f64::from(k) * 0.618_033_988_749_895).fract()).chain([0.5; 500]).collect();
        let labels: Vec<u8> = (0..p.len()).map(|k| (k % 3 == 0) as u8).collect();
        let rows = PlainRows { probabilities: Floats::F64(&p), labels: Labels::U8(&labels), checked: true };
        let mut sorted: Vec<f64> = p.iter().map(|p| clipped(*p, 1e-6)).collect();
        sorted.sort_by(f64::total_cmp);
        for resolution in [6, 10] {
            let cells = Cells::new(rows, resolution, 1e-6).unwrap();
            for rank in [0, 1, 5_000, 10_249, 10_250, 10_600, 20_499] {
                let ranks = [rank, (rank + 1).min(20_499), 77];
                assert_eq!(cells.probabilities_of_ranks(rows, 1e-6, ranks), ranks.map(|rank| sorted[rank]));
            }
        }
    }

    #[test]
    fn spans_are_neighbours_without_gaps() {
        let p = [0.1, 0.9];
        let rows = PlainRows { probabilities: Floats::F64(&p), labels: Labels::U8(&[0, 1]), checked: true };
        let cells = Cells::new(rows, 8, 1e-15).unwrap();
        for cell in 1..cells.n_cells {
            assert_eq!(cells.span(false, cell).last.next_up(), cells.span(false, cell - 1).first);
        }
        // Far out, cells hold less than one double each, and some none.
        for cell in 2..20 * 256 {
            assert_eq!(cells.span(true, cell).first, cells.span(true, cell - 1).last.next_up(), "{cell}");
        }
    }
}
