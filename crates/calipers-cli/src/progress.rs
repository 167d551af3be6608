//! How far long work has come, for people who wait at a terminal; nobody else sees it.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::dataset::formats::{Extent, Part};
use crate::render::number;

/// A line on standard error, if that is a terminal; it is gone when the work is done.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new(length: Option<u64>, template: &str) -> Self {
        Bar(std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        }))
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Many files that are read at once.
pub(crate) struct ManyFiles(Bar);

impl ManyFiles {
    pub(crate) fn new(n_files: usize) -> Self {
        ManyFiles(Bar::new(Some(n_files as u64), "{pos} of {len} files, {eta} left"))
    }

    pub(crate) fn add(&self) {
        if let Some(bar) = &self.0.0 {
            bar.inc(1);
        }
    }
}

/// One file that is being read.
pub(crate) struct Progress {
    bar: Bar,
    start: Instant,
    n_rows: AtomicU64,
}

impl Progress {
    pub(crate) fn new(file: &Path, extent: Extent) -> Self {
        // A thread that has the file for itself is one of many, whose files are counted.
        let is_alone = rayon::current_thread_index().is_none();
        let (Extent::Rows(length) | Extent::Bytes(length)) = extent;
        let bar = match is_alone {
            true => Bar::new(Some(length), "{prefix} {percent:>3}% {msg}, {eta} left"),
            false => Bar(None),
        };
        if let Some(bar) = &bar.0 {
            let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
            bar.set_prefix(crate::printable(&name));
        }
        Progress { bar, start: Instant::now(), n_rows: AtomicU64::new(0) }
    }

    pub(crate) fn add(&self, part: &Part) {
        let more = part.n_rows() as u64;
        let n_rows = self.n_rows.fetch_add(more, Ordering::Relaxed) + more;
        let Some(bar) = &self.bar.0 else { return };
        let rate = n_rows as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        bar.set_message(format!("{} rows, {} rows/s", number::count(n_rows), number::count(rate as u64)));
        bar.inc(part.extent);
    }
}

/// Long arithmetic, of which nothing is known but how often it has begun.
pub(crate) struct Waiting(Bar);

impl Waiting {
    pub(crate) fn new() -> Self {
        Waiting(Bar::new(None, "{elapsed} {msg} ({pos})"))
    }

    /// What is begun.
    pub(crate) fn say(&self, what: &'static str) {
        if let Some(bar) = &self.0.0 {
            bar.set_message(what);
            bar.inc(1);
        }
    }
}
