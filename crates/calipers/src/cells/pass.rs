//! One pass over rows into cells: the part whose speed is that of reading the data.
//!
//! Each worker adds to a small table of two words for each cell, which stays in its cache, and
//! empties it into the wide sums that all share before a word can overflow. Sums of integers do not
//! depend on who adds what when.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::cell::{Content, Resolution};
use super::{Cells, N_TABLES};
use crate::data::{Outcome, PlainPass, PlainRows, Probability};
use crate::numerics::dispatch::dispatched;
use crate::numerics::parallel;
use crate::watch;

/// Rows that a worker takes at a time.
const SHARE: usize = 1 << 15;

/// What the small tables of all workers may take.
const MAX_BYTES: usize = 1 << 25;

/// The cells of the rows; `None` if unchecked rows are invalid.
pub(super) fn run(rows: PlainRows<'_>, resolution: Resolution, clip: f64) -> Option<Cells> {
    let frame = Frame::new(resolution, resolution.offset_bits(), clip);
    let n_cells = frame.n_cells;
    let contents = vec![Content::default(); n_cells * N_TABLES];
    let n_workers = parallel::n_threads()
        .min(rows.len().div_ceil(SHARE))
        .min(MAX_BYTES / (contents.len() * size_of::<[u64; 2]>()))
        .max(1);
    let cells = Mutex::new(Cells { resolution, n_cells, contents, n_clipped: 0 });
    let (next, sound) = (AtomicUsize::new(0), AtomicBool::new(true));
    parallel::map(n_workers, |_| {
        let mut narrow = Narrow::new(frame);
        while sound.load(Ordering::Relaxed) {
            watch::check();
            let start = next.fetch_add(SHARE, Ordering::Relaxed);
            if start >= rows.len() {
                break;
            }
            let share = start..rows.len().min(start + SHARE);
            if !narrow.has_room(share.len()) {
                widen(&mut narrow, &cells);
            }
            if !narrow.add(rows, share) && !rows.checked {
                sound.store(false, Ordering::Relaxed);
            }
        }
        widen(&mut narrow, &cells);
    });
    sound.into_inner().then(|| cells.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Moves the narrow sums to the wide ones.
fn widen(narrow: &mut Narrow, cells: &Mutex<Cells>) {
    let mut cells = cells.lock().unwrap_or_else(PoisonError::into_inner);
    let n_cells = cells.n_cells;
    cells.n_clipped += narrow.empty(|table, cell, content| cells.contents[table * n_cells + cell].add(content));
}

/// What one worker adds to: small enough for a cache, so that it has to be emptied now and then.
#[derive(Debug, Clone)]
pub(crate) struct Narrow {
    frame: Frame,
    /// [count | sum of offsets, sum of squares], for each half and cell both outcomes side by side.
    /// Where all rows are in one half, like confidences in a top class, the cache holds only that.
    sums: Vec<[u64; 2]>,
    n_waiting: usize,
    n_clipped: u64,
}

impl Narrow {
    pub(crate) fn new(frame: Frame) -> Self {
        Narrow { frame, sums: vec![[0; 2]; frame.n_cells * N_TABLES], n_waiting: 0, n_clipped: 0 }
    }

    /// Whether no word could overflow if `n` more rows came.
    pub(crate) fn has_room(&self, n: usize) -> bool {
        self.n_waiting + n <= self.frame.most_rows()
    }

    /// Adds rows for which there is room; `false` if any of them breaks a rule.
    pub(crate) fn add(&mut self, rows: PlainRows<'_>, range: Range<usize>) -> bool {
        self.n_waiting += range.len();
        let seen = rows.visit(range, AddTo { frame: self.frame, narrow: &mut self.sums });
        self.n_clipped += seen.as_ref().map_or(0, |seen| seen.n_clipped);
        seen.is_some_and(|seen| seen.sound)
    }

    /// Hands over what has been added, by table and cell, and returns how many rows of it were
    /// clipped.
    pub(crate) fn empty(&mut self, mut take: impl FnMut(usize, usize, Content)) -> u64 {
        let count_bits = self.frame.count_bits;
        for (half, cells) in self.sums.chunks_exact_mut(2 * self.frame.n_cells).enumerate() {
            for (at, sums) in cells.iter_mut().enumerate().filter(|(_, sums)| sums[0] != 0) {
                let [count_and_sum, squares] = std::mem::take(sums);
                let count = count_and_sum & ((1 << count_bits) - 1);
                let content = Content { count, first: count_and_sum >> count_bits, second: squares.into() };
                take(half << 1 | at & 1, at >> 1, content);
            }
        }
        self.n_waiting = 0;
        std::mem::take(&mut self.n_clipped)
    }
}

/// Where rows go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    resolution: Resolution,
    offset_bits: u32,
    /// The low bits of a word that has a count and a sum of offsets.
    count_bits: u32,
    clip: f64,
    /// Cells of one half: down to the smallest q that clipping leaves.
    n_cells: usize,
}

/// A row on its way into a narrow table.
struct Placed {
    index: u64,
    count_and_offset: u64,
    square: u64,
    clipped: u64,
    /// Not 0 for a row that breaks a rule.
    fault: u64,
}

impl Frame {
    /// With c bits for a count there are fewer than 2^c rows. Their sum of offsets of b bits has
    /// c + b bits, in one word with the count, and their sum of squares has c + 2 b.
    pub(crate) fn new(resolution: Resolution, offset_bits: u32, clip: f64) -> Self {
        let count_bits = ((64 - offset_bits) / 2).min(64 - 2 * offset_bits);
        // 1 - (1 - clip) is clip with a rounding: the smaller of the two has the last cell.
        let n_cells = resolution.place(clip.min(1.0 - (1.0 - clip))).cell + 1;
        Frame { resolution, offset_bits, count_bits, clip, n_cells }
    }

    fn most_rows(self) -> usize {
        (1 << self.count_bits) - 1
    }

    /// Whatever p is, NaN included, its place is one of the table: clipping sees to that.
    #[inline(always)]
    fn place<P: Probability, L: Outcome>(self, probability: P, label: L) -> Placed {
        let p: f64 = probability.into();
        // Comparisons rather than `clamp`, which the compiler does not turn into two instructions.
        let raised = if p > self.clip { p } else { self.clip };
        let clipped = if raised < 1.0 - self.clip { raised } else { 1.0 - self.clip };
        let complement = 1.0 - clipped;
        let q = if clipped < complement { clipped } else { complement };
        let at = self.resolution.place_among(q, self.offset_bits);
        Placed {
            index: (at.cell as u64 + if clipped > 0.5 { self.n_cells as u64 } else { 0 }) << 1 | label.bit(),
            count_and_offset: 1 | at.offset << self.count_bits,
            square: at.offset * at.offset,
            clipped: u64::from(clipped != p),
            fault: u64::from(!probability.is_sound()) | label.excess(),
        }
    }
}

/// The pass over one share.
struct AddTo<'a> {
    frame: Frame,
    narrow: &'a mut [[u64; 2]],
}

/// What a share has shown.
struct Seen {
    n_clipped: u64,
    sound: bool,
}

impl PlainPass for AddTo<'_> {
    type Output = Seen;

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) -> Seen {
        add_rows(probabilities, labels, self.frame, self.narrow)
    }
}

dispatched! {
    /// The inner loop: the places of some rows at once, without a branch, and then their sums.
    fn add_rows / add_rows_portable<P: Probability, L: Outcome>(
        probabilities: &[P],
        labels: &[L],
        frame: Frame,
        narrow: &mut [[u64; 2]],
    ) -> Seen {
        const LANES: usize = 16;
        let (p_lanes, p_rest) = probabilities.as_chunks::<LANES>();
        let (label_lanes, label_rest) = labels.as_chunks::<LANES>();
        let (mut n_clipped, mut faults) = (0, 0);
        for (p, labels) in p_lanes.iter().zip(label_lanes) {
            let (mut indices, mut counts, mut squares) = ([0; LANES], [0; LANES], [0; LANES]);
            for lane in 0..LANES {
                let placed = frame.place(p[lane], labels[lane]);
                indices[lane] = placed.index;
                counts[lane] = placed.count_and_offset;
                squares[lane] = placed.square;
                n_clipped += placed.clipped;
                faults |= placed.fault;
            }
            for lane in 0..LANES {
                let sums = &mut narrow[indices[lane] as usize];
                sums[0] += counts[lane];
                sums[1] += squares[lane];
            }
        }
        for (p, label) in p_rest.iter().zip(label_rest) {
            let placed = frame.place(*p, *label);
            let sums = &mut narrow[placed.index as usize];
            sums[0] += placed.count_and_offset;
            sums[1] += placed.square;
            n_clipped += placed.clipped;
            faults |= placed.fault;
        }
        Seen { n_clipped, sound: faults == 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Floats, Labels};

    fn probabilities(n: u32) -> Vec<f64> {
        (0..n).map(|k| (f64::from(k) * 0.618_033_988_749_895).fract()).chain([0.0, 0.5, 1.0, 1e-7]).collect()
    }

    #[test]
    fn both_compilations_count_alike() {
        let p = probabilities(1003);
        let labels: Vec<i64> = (0..p.len() as i64).map(|k| k % 3 % 2).collect();
        let frame = Frame::new(Resolution(9), 20, 1e-6);
        let n = frame.n_cells * N_TABLES;
        let (mut fast, mut portable) = (vec![[0; 2]; n], vec![[0; 2]; n]);
        let seen = [add_rows(&p, &labels, frame, &mut fast), add_rows_portable(&p, &labels, frame, &mut portable)];
        assert_eq!(fast, portable);
        assert_eq!(seen.map(|seen| (seen.n_clipped, seen.sound)), [(4, true); 2]);
    }

    #[test]
    fn unchecked_rows_that_break_a_rule_have_no_cells() {
        for (bad_p, bad_label) in [(f64::NAN, 0), (1.5, 1), (-1e-9, 0), (0.5, 2), (0.5, -1)] {
            let mut p = probabilities(100_000);
            let mut labels = vec![0i8; p.len()];
            (p[70_001], labels[70_001]) = (bad_p, bad_label);
            let rows = PlainRows { probabilities: Floats::F64(&p), labels: Labels::I8(&labels), checked: false };
            assert!(run(rows, Resolution(9), 1e-6).is_none(), "{bad_p} {bad_label}");
            (p[70_001], labels[70_001]) = (0.25, 1);
            let rows = PlainRows { probabilities: Floats::F64(&p), labels: Labels::I8(&labels), checked: false };
            assert!(run(rows, Resolution(9), 1e-6).is_some());
        }
    }
}
