//! Files that hold sketches: known by their first bytes, or by their columns where they are Parquet, whatever their name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, anyhow};

use crate::groups::Sketches;
use crate::{read, sketch_rows};

/// The extension that such files are given.
pub(crate) const EXTENSION: &str = "calipers";

/// Whether a file is one of sketches, or claims to be by its name.
pub(crate) fn is_one(path: &Path) -> bool {
    if read::extension(path) == EXTENSION {
        return true;
    }
    let mut start = Vec::new();
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let begins =
        File::open(path).and_then(|file| file.take(8).read_to_end(&mut start)).is_ok() && Sketches::begin(&start);
    is_file && (begins || sketch_rows::is_one(path))
}

pub(crate) fn read(path: &Path) -> Result<Sketches> {
    if sketch_rows::is_one(path) {
        return sketch_rows::read(path);
    }
    let mut bytes = Vec::new();
    let mut file = read::open_file(path)?;
    file.read_to_end(&mut bytes).map_err(|error| anyhow!("cannot read: {error}"))?;
    Sketches::from_bytes(&bytes)
}
