//! Work on rows in chunks of a fixed size, so that the number of threads changes no bit.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::sum::Sum;
use crate::watch;

/// Rows of a chunk: large enough to amortise a task, small enough for the cache.
pub(crate) const CHUNK: usize = 1 << 14;

/// Fewer values are sorted before other threads are awake.
const FEW_TO_SORT: usize = 1 << 13;

thread_local! {
    static IS_ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on this thread alone: for few rows, which are done before another thread is awake,
/// and for callers who have threads of their own. Values are the same to the bit.
///
/// # Example
/// ```
/// use calipers::{BinnedEce, Input, Multiclass, Ties, on_this_thread};
///
/// let rows = Input::probabilities(&[0.2, 0.9], &[0, 1]);
/// let ece = on_this_thread(|| rows.estimate(Multiclass::Auto, Ties::First, &BinnedEce::new()))?;
/// assert!((ece.value - 0.15).abs() < 1e-15);
/// # Ok::<(), calipers::Error>(())
/// ```
pub fn on_this_thread<T>(work: impl FnOnce() -> T) -> T {
    /// As it was before, after a panic too.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_ALONE.set(self.0);
        }
    }
    let _before = Before(IS_ALONE.replace(true));
    work()
}

/// Threads that work is shared by.
pub(crate) fn n_threads() -> usize {
    if IS_ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// Sorts by a total order, on all cores where that is worth it.
pub(crate) fn sort_unstable_by<T: Send>(values: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    if values.len() < FEW_TO_SORT || IS_ALONE.get() {
        values.sort_unstable_by(compare);
    } else {
        values.par_sort_unstable_by(compare);
    }
}

/// Rows of a chunk where n rows are few: a quarter of them, so that there is some for each of a few
/// threads.
pub(crate) fn chunk_of(n: usize) -> usize {
    n.div_ceil(4).clamp(1 << 11, CHUNK)
}

/// Applies `work` to the chunks of `0..n` on all cores; results come in the order of the chunks. A
/// call that is stopped ends with a chunk.
pub(crate) fn map_chunks<T: Send>(n: usize, chunk: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let rows = |index: usize| index * chunk..n.min((index + 1) * chunk);
    match n.div_ceil(chunk) {
        // Waking another thread takes longer than a chunk of few rows.
        1 => vec![work(rows(0))],
        n_chunks => map(n_chunks, |index| work(rows(index))),
    }
}

/// Applies `work` to the parts of some values, which it may change, with the number of each.
pub(crate) fn map_parts<T: Send, R: Send>(
    values: &mut [T],
    part: usize,
    work: impl Fn(usize, &mut [T]) -> R + Sync,
) -> Vec<R> {
    map_items(values.chunks_mut(part).collect(), work)
}

/// Applies `work` to items that it takes, with the number of each; one item stays on this thread.
pub(crate) fn map_items<T: Send, R: Send>(items: Vec<T>, work: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
    if items.len() == 1 {
        return items.into_iter().map(|item| work(0, item)).collect();
    }
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let take = |index: usize| items[index].lock().unwrap_or_else(PoisonError::into_inner).take();
    map(items.len(), |index| take(index).map(|item| work(index, item))).into_iter().flatten().collect()
}

/// Compensated sums over the rows `0..n`: `add` adds the rows of a chunk to its sums.
pub(crate) fn sums<const N: usize>(n: usize, add: impl Fn(Range<usize>, &mut [Sum; N]) + Sync) -> [f64; N] {
    let chunks = map_chunks(n, CHUNK, |range| {
        let mut sums = [Sum::default(); N];
        add(range, &mut sums);
        sums
    });
    let mut all = [Sum::default(); N];
    chunks.into_iter().for_each(|chunk| all.iter_mut().zip(chunk).for_each(|(sum, part)| sum.merge(part)));
    all.map(Sum::value)
}

/// Applies `work` to the numbers below `n` on all cores; results come in their order. For work that
/// takes longer than the microsecond of handing it over. A call that is stopped ends with one of
/// them.
///
/// Rayon's iterators are compiled anew for each closure, some 3,000 lines of LLVM's language each
/// time: behind a pointer they are compiled once.
///
/// Places for results are made for [`AT_ONCE`] of them at a time: those of 10^7 resamples would
/// take up to a second, in which nothing can be stopped.
pub(crate) fn map<T: Send>(n: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if n <= AT_ONCE {
        return map_at_once(0..n, &work);
    }
    let mut results = Vec::new();
    for start in (0..n).step_by(AT_ONCE) {
        results.extend(map_at_once(start..n.min(start + AT_ONCE), &work));
    }
    results
}

/// So many that the wait for the last one of them takes no time that counts.
const AT_ONCE: usize = 1 << 16;

fn map_at_once<T: Send>(range: Range<usize>, work: &(impl Fn(usize) -> T + Sync)) -> Vec<T> {
    let results: Vec<Mutex<Option<T>>> = range.clone().map(|_| Mutex::new(None)).collect();
    for_each(results.len(), &|index| {
        let result = work(range.start + index);
        *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    results.into_iter().filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// [`map`] over the items of a slice.
pub(crate) fn map_each<A: Sync, T: Send>(items: &[A], work: impl Fn(&A) -> T + Sync) -> Vec<T> {
    map(items.len(), |index| work(&items[index]))
}

fn for_each(n: usize, work: &(dyn Fn(usize) + Sync)) {
    let watched = |index: usize| {
        watch::check();
        work(index);
    };
    if IS_ALONE.get() {
        (0..n).for_each(watched);
    } else {
        (0..n).into_par_iter().panic_fuse().for_each(watched);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_on_another_thread_where_that_is_asked_for() {
        let threads = || map(64, |_| std::thread::current().id());
        let here = std::thread::current().id();
        assert!(on_this_thread(threads).into_iter().all(|thread| thread == here));
        assert_eq!(on_this_thread(n_threads), 1);
        assert!(std::panic::catch_unwind(|| on_this_thread(|| panic!("as some work does"))).is_err());
        assert!(!IS_ALONE.get(), "as it was before");
    }

    #[test]
    fn results_come_in_order() {
        assert_eq!(map(10_000, |index| 3 * index), (0..10_000).map(|index| 3 * index).collect::<Vec<_>>());
        assert!(map(0, |index| index).is_empty());
        for n in [AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE - 1] {
            assert_eq!(map(n, |index| index), (0..n).collect::<Vec<_>>());
        }
        assert_eq!(map_each(&[5, 1, 3], |item| item + 1), [6, 2, 4]);
        assert_eq!(map_chunks(10, 4, |rows| rows), [0..4, 4..8, 8..10]);
        assert_eq!(map_chunks(3, 4, |rows| rows.len()), [3]);
        assert_eq!(map_chunks(0, 4, |rows| rows), []);
        let mut values = [1, 2, 3, 4, 5];
        let lengths = map_parts(&mut values, 2, |part, values| {
            values.iter_mut().for_each(|value| *value += 10 * part);
            values.len()
        });
        assert_eq!((values, lengths), ([1, 2, 13, 14, 25], vec![2, 2, 1]));
    }
}
