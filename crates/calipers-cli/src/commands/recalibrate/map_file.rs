//! Files of maps.

use std::path::Path;

use anyhow::{Context, Result, bail};
use calipers::recalibrate::MapFile;

/// More than any map has, and little enough to read.
const MOST_BYTES: u64 = 1 << 30;

pub(super) fn read(path: &Path) -> Result<MapFile> {
    let shown = || path.display().to_string();
    let read = || -> Result<String> {
        let metadata = match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!("no such file; calipers recalibrate fit writes a map")
            }
            metadata => metadata?,
        };
        if metadata.is_dir() {
            bail!("is a directory, not a file");
        }
        if metadata.len() > MOST_BYTES {
            bail!("is no map: it has {} bytes", metadata.len());
        }
        let bytes = std::fs::read(path)?;
        String::from_utf8(bytes).ok().context("is no map: it is not text")
    };
    let text = read().with_context(shown)?;
    MapFile::from_json(&text).with_context(shown)
}
