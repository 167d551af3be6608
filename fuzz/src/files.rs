//! The files of a target: seeds, regressions, and what a run has found.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Target;

fn folder(kind: &str, target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(kind).join(target.name)
}

/// The contents of `seeds/` and `regressions/` of a target, and of other folders, in the order of
/// their names. A folder that does not exist has none.
pub fn files_of(target: &Target, others: &[PathBuf]) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    for folder in [folder("seeds", target), folder("regressions", target)].iter().chain(others) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        paths.extend(entries.map(|entry| entry.path()).filter(|path| path.is_file()));
    }
    paths.sort();
    paths.iter().filter_map(|path| fs::read(path).ok()).collect()
}

/// Keeps an input that fails, and returns where.
pub fn found(target: &Target, input: &[u8]) -> String {
    let folder = folder("found", target);
    let path = folder.join(format!("{:08x}", crc32fast::hash(input)));
    match fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input)) {
        Ok(()) => path.display().to_string(),
        Err(error) => format!("{input:?}, which cannot be written: {error}"),
    }
}
