//! What a run that was killed has left behind: found by its name, known by its lock, and removed.
//!
//! A temporary file or folder is locked as long as the process lives that writes it; the system
//! gives the lock back however the process ends. So one that can be locked is nobody's.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How names of temporary files begin.
pub(crate) const PREFIX: &str = ".calipers-";

/// How they end: what is being written, and copies of standard input.
pub(super) const UNFINISHED: &str = ".unfinished";
pub(crate) const INPUT: &str = ".input";

/// In a temporary folder: says that all files are whole and are being moved to where they belong.
pub(super) const COMMIT: &str = "commit";

/// In a temporary folder: the files that will be moved.
pub(super) const NEW: &str = "new";

/// A younger file may be one that its process has not yet locked.
const OLD: Duration = Duration::from_secs(60);

/// The lock of a temporary file or folder.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code, reason = "the lock is given back with the file")] File);

impl Lock {
    /// `None` if another process has it, or the file system has no locks.
    #[cfg(unix)]
    pub(super) fn take(path: &Path) -> Option<Self> {
        use rustix::fs::{FlockOperation, flock};
        let file = File::open(path).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Lock(file))
    }

    /// Elsewhere nothing is known to be abandoned, and nothing is removed.
    #[cfg(not(unix))]
    pub(super) fn take(_path: &Path) -> Option<Self> {
        None
    }
}

/// Removes temporary files in a folder that no process has, and finishes the moves that one has
/// begun. What cannot be removed stays: whoever writes to the folder will be told why.
pub(crate) fn clean(folder: &Path) {
    for path in temporary(folder) {
        let Some(_lock) = Lock::take(&path) else { continue };
        if path.join(COMMIT).is_file() {
            finish(&path, folder);
        } else if is_old(&path) {
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

/// Moves what is left of files that belong together; the rest was moved before.
fn finish(unfinished: &Path, folder: &Path) {
    let moved = match fs::read_dir(unfinished.join(NEW)) {
        Ok(files) => files.map(|file| file.and_then(|file| fs::rename(file.path(), folder.join(file.file_name())))),
        // All were moved, and the process was killed while it removed the folder.
        Err(error) if error.kind() == ErrorKind::NotFound => return drop(fs::remove_dir_all(unfinished)),
        Err(_) => return,
    };
    if moved.collect::<Vec<_>>().iter().all(Result::is_ok) {
        let _ = fs::remove_dir_all(unfinished);
    }
}

fn temporary(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_ours = |name: &str| name.starts_with(PREFIX) && (name.ends_with(UNFINISHED) || name.ends_with(INPUT));
    let ours = entries.flatten().filter(|entry| {
        // A link is none of ours.
        entry.file_name().to_str().is_some_and(is_ours) && entry.file_type().is_ok_and(|kind| !kind.is_symlink())
    });
    ours.map(|entry| entry.path()).collect()
}

fn is_old(path: &Path) -> bool {
    let age =
        fs::metadata(path).and_then(|metadata| metadata.modified()).map(|then| SystemTime::now().duration_since(then));
    age.is_ok_and(|age| age.is_ok_and(|age| age >= OLD))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn old(path: &Path) {
        File::open(path).unwrap().set_modified(SystemTime::now() - 2 * OLD).unwrap();
    }

    #[test]
    fn only_what_is_old_and_not_locked_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [".calipers-a.unfinished", ".calipers-b.input", ".calipers-c.unfinished", "mine.unfinished"] {
            fs::write(path(name), "").unwrap();
            old(&path(name));
        }
        fs::create_dir(path(".calipers-d.unfinished")).unwrap();
        old(&path(".calipers-d.unfinished"));
        fs::write(path(".calipers-young.unfinished"), "").unwrap();
        let lock = Lock::take(&path(".calipers-c.unfinished")).unwrap();
        clean(folder.path());
        let names = || {
            let mut names: Vec<String> = fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(), [".calipers-c.unfinished", ".calipers-young.unfinished", "mine.unfinished"]);
        drop(lock);
        clean(folder.path());
        assert_eq!(names(), [".calipers-young.unfinished", "mine.unfinished"]);
    }

    #[test]
    fn moves_that_were_begun_are_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let unfinished = path(".calipers-a.unfinished");
        fs::create_dir_all(unfinished.join(NEW)).unwrap();
        fs::write(unfinished.join(NEW).join("b"), "new").unwrap();
        fs::write(unfinished.join(COMMIT), "").unwrap();
        for (name, text) in [("a", "new"), ("b", "old"), ("c", "other")] {
            fs::write(path(name), text).unwrap();
        }
        clean(folder.path());
        assert_eq!(["a", "b", "c"].map(|name| fs::read_to_string(path(name)).unwrap()), ["new", "new", "other"]);
        assert!(!unfinished.exists());
    }

    /// A folder is removed entry by entry, in an order that differs from one system to another.
    #[test]
    fn a_removal_that_was_begun_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let unfinished = folder.path().join(".calipers-a.unfinished");
        fs::create_dir(&unfinished).unwrap();
        fs::write(unfinished.join(COMMIT), "").unwrap();
        clean(folder.path());
        assert!(!unfinished.exists());
    }
}
