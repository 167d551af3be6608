//! Work on rows in chunks of a fixed size, so that the number of threads changes no bit.

use std::ops::Range;

use rayon::prelude::*;

use crate::watch;

/// Rows of a chunk: large enough to amortise a task, small enough for the cache.
pub(crate) const CHUNK: usize = 1 << 14;

/// Rows of a chunk where n rows are few: a quarter of them, so that there is some for each of a few threads.
pub(crate) fn chunk_of(n: usize) -> usize {
    n.div_ceil(4).clamp(1 << 11, CHUNK)
}

/// Applies `work` to the chunks of `0..n` on all cores; results come in the order of the chunks. A call that is
/// stopped ends with a chunk.
pub(crate) fn map_chunks<T: Send>(n: usize, chunk: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let rows = |index: usize| index * chunk..n.min((index + 1) * chunk);
    match n.div_ceil(chunk) {
        // Waking another thread takes longer than a chunk of few rows.
        1 => vec![work(rows(0))],
        n_chunks => (0..n_chunks)
            .into_par_iter()
            .panic_fuse()
            .map(|index| {
                watch::check();
                work(rows(index))
            })
            .collect(),
    }
}
