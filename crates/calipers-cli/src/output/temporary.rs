//! Files that must not outlive the command: what is being written, and copies of standard input.
//! Ctrl-C removes them all. What `kill -9` leaves behind, the next run does (`abandoned.rs`).

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::abandoned::Lock;

/// Where they are. Whoever holds the lock is not interrupted.
static ALL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<PathBuf>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file or folder, which removes itself when it is dropped, and is removed where the
/// command is interrupted.
#[derive(Debug)]
pub(crate) struct Unfinished<T: AsRef<Path>> {
    /// Until it is finished.
    temporary: Option<T>,
    path: PathBuf,
    /// Shows other runs that it is in use.
    _lock: Option<Lock>,
}

impl<T: AsRef<Path>> Unfinished<T> {
    /// Makes one; an interrupt comes before or after.
    pub(crate) fn make(make: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<Self> {
        let mut all = all();
        let temporary = make()?;
        let path = temporary.as_ref().to_owned();
        all.push(path.clone());
        let lock = Lock::take(&path);
        Ok(Unfinished { temporary: Some(temporary), path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself, which is there until it is finished.
    pub(crate) fn get(&self) -> Option<&T> {
        self.temporary.as_ref()
    }

    /// Moves it to where it belongs; an interrupt comes before or after.
    pub(crate) fn finish<R>(mut self, finish: impl FnOnce(T) -> R) -> Option<R> {
        let mut all = all();
        let finished = self.temporary.take().map(finish);
        all.retain(|path| *path != self.path);
        finished
    }
}

impl<T: AsRef<Path>> Drop for Unfinished<T> {
    fn drop(&mut self) {
        if self.temporary.take().is_some() {
            all().retain(|path| *path != self.path);
        }
    }
}

/// Work that is done whole, or not begun, when the command is interrupted.
pub(crate) fn uninterrupted<R>(work: impl FnOnce() -> R) -> R {
    let _guard = all();
    work()
}

/// Removes a file or a folder. Another thread may still write to the folder, whose removal then
/// fails until that thread finds no folder to write to.
#[cfg(unix)]
fn remove(path: &Path) {
    for _ in 0..MOST_ATTEMPTS {
        let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        if removed.is_ok() || !path.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// How often a removal is tried.
#[cfg(unix)]
const MOST_ATTEMPTS: u32 = 100;

/// From here on, SIGINT (Ctrl-C) and SIGTERM remove what is unfinished, and then end the command as
/// they always do.
#[cfg(unix)]
pub(crate) fn remove_on_interrupt() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    // Where signals cannot be had, the command works without.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Never given back: nothing new is begun.
            let all = all();
            all.iter().for_each(|path| remove(path));
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

/// Elsewhere an interrupt may leave a file whose name begins with `.calipers-`.
#[cfg(not(unix))]
pub(crate) fn remove_on_interrupt() {}
