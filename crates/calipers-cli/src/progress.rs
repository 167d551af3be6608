//! The progress of long work, on standard error; it is hidden unless that is a terminal.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use crate::dataset::formats::{Extent, Part};
use crate::render::number;

/// A line that is cleared when the work is done.
fn bar(length: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    if bar.is_hidden() {
        return bar;
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_finish(ProgressFinish::AndClear)
}

/// Many files that are read at once.
pub(crate) fn many_files(n_files: usize) -> ProgressBar {
    bar(Some(n_files as u64), "{pos} of {len} files, {eta} left")
}

/// One file that is being read.
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Instant,
    n_rows: AtomicU64,
}

impl Progress {
    pub(crate) fn new(file: &Path, extent: Extent) -> Self {
        let (Extent::Rows(length) | Extent::Bytes(length)) = extent;
        // A thread that has the file for itself is one of many, whose files are counted.
        let bar = match rayon::current_thread_index() {
            None => bar(Some(length), "{prefix} {percent:>3}% {msg}, {eta} left"),
            Some(_) => ProgressBar::hidden(),
        };
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        bar.set_prefix(crate::printable(&name));
        Progress { bar, start: Instant::now(), n_rows: AtomicU64::new(0) }
    }

    pub(crate) fn add(&self, part: &Part) {
        let more = part.n_rows() as u64;
        let n_rows = self.n_rows.fetch_add(more, Ordering::Relaxed) + more;
        if self.bar.is_hidden() {
            return;
        }
        let rate = n_rows as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        self.bar.set_message(format!("{} rows, {} rows/s", number::count(n_rows), number::count(rate as u64)));
        self.bar.inc(part.extent);
    }
}

/// Long computations, of which only the number that have begun is known; [`begin`] names them.
pub(crate) fn waiting() -> ProgressBar {
    bar(None, "{elapsed} {msg} ({pos})")
}

pub(crate) fn begin(waiting: &ProgressBar, what: &'static str) {
    waiting.set_message(what);
    waiting.inc(1);
}
