//! Names of files as they were typed -> files: patterns that no shell has expanded are expanded here.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};

/// The files that are named; those of a pattern are sorted.
pub(crate) fn expand(names: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for name in names {
        match pattern(name) {
            None => files.push(name.clone()),
            Some(pattern) => files.extend(matches(pattern)?),
        }
    }
    Ok(files)
}

/// The name as a pattern, if it has a wildcard and is not itself the name of a file.
fn pattern(name: &Path) -> Option<&str> {
    let text = name.to_str()?;
    (text.contains(['*', '?', '[']) && name.symlink_metadata().is_err()).then_some(text)
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>> {
    let paths = glob::glob(pattern).map_err(|error| anyhow!("{pattern}: no pattern of file names: {error}"))?;
    let files = paths.collect::<Result<Vec<_>, _>>().map_err(|error| anyhow!("{pattern}: cannot list: {error}"))?;
    if files.is_empty() {
        bail!("{pattern}: no file has such a name");
    }
    Ok(files)
}

/// Refuses to write over a file that is read: a kill, or a full disk, must leave all input.
pub(crate) fn refuse_overwriting(output: &Path, inputs: &[PathBuf]) -> Result<()> {
    let Ok(output_file) = output.canonicalize() else { return Ok(()) };
    match inputs.iter().find(|input| input.canonicalize().is_ok_and(|input| input == output_file)) {
        Some(input) => bail!("{}: must not be an input too, got {}", output.display(), input.display()),
        None => Ok(()),
    }
}
