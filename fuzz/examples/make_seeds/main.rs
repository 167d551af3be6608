//! Makes `fuzz/seeds`: `cargo run --profile fast -p calipers-fuzz --example make_seeds`.
//!
//! Seeds are small files that decoders accept, so that an engine begins with what is valid. They
//! come from `fixtures/` and from rows that this program makes; none is from elsewhere.

mod core;
#[cfg(feature = "command")]
mod files;

use std::fs;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    core::make()?;
    #[cfg(feature = "command")]
    files::make()?;
    Ok(())
}

/// A folder of the repository.
fn repository(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder)
}

/// Writes a seed of a target, if it is no longer than what engines try.
fn put(target: &str, name: &str, bytes: &[u8]) -> Result<()> {
    let known = calipers_fuzz::named(target).ok_or_else(|| format!("no target {target}"))?;
    if bytes.len() <= known.max_len {
        let folder = repository("fuzz/seeds").join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

/// The files of a folder with that ending, with their names.
fn files_of(folder: &str, ending: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(repository(folder))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(ending) {
            found.push((name.to_owned(), fs::read(&path)?));
        }
    }
    found.sort();
    Ok(found)
}
