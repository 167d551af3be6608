//! How far long work has come, for people who wait at a terminal; nobody else sees it.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::dataset::formats::{Extent, Part};
use crate::render::number;

/// One file that is being read.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    start: Instant,
    n_rows: AtomicU64,
}

/// Many files that are read at once.
pub(crate) struct ManyFiles(Option<ProgressBar>);

impl ManyFiles {
    pub(crate) fn new(n_files: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(n_files as u64), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{pos} of {len} files, {eta} left") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        ManyFiles(bar)
    }

    pub(crate) fn add(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }
}

impl Drop for ManyFiles {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

impl Progress {
    pub(crate) fn new(file: &Path, extent: Extent) -> Self {
        // A thread that has the file for itself is one of many, whose files are counted.
        let is_alone = rayon::current_thread_index().is_none();
        let bar = (is_alone && std::io::stderr().is_terminal()).then(|| {
            let (Extent::Rows(length) | Extent::Bytes(length)) = extent;
            let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{prefix} {percent:>3}% {msg}, {eta} left") {
                bar.set_style(style);
            }
            let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
            bar.set_prefix(crate::printable(&name));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Progress { bar, start: Instant::now(), n_rows: AtomicU64::new(0) }
    }

    pub(crate) fn add(&self, part: &Part) {
        let more = part.n_rows() as u64;
        let n_rows = self.n_rows.fetch_add(more, Ordering::Relaxed) + more;
        let Some(bar) = &self.bar else { return };
        let rate = n_rows as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        bar.set_message(format!("{} rows, {} rows/s", number::count(n_rows), number::count(rate as u64)));
        bar.inc(part.extent);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Long arithmetic, of which nothing is known but how often it has begun.
pub(crate) struct Waiting(Option<ProgressBar>);

impl Waiting {
    pub(crate) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{elapsed} {msg} ({pos})") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Waiting(bar)
    }

    /// What is begun.
    pub(crate) fn say(&self, what: &'static str) {
        if let Some(bar) = &self.0 {
            bar.set_message(what);
            bar.inc(1);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
