//! What is known of each set, kept in files of the output folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use calipers_studies::Setting;
use calipers_studies::atlas::{Entry, LeftOut, MeasuredSet};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::args::InputArgs;
use crate::dataset::files::InputFile;
use crate::output::Output;

/// The folder of the parts, in the folder of the page.
const FOLDER: &str = "atlas-parts";

/// The values of a set, and the files that have none.
type Found = (MeasuredSet, Vec<LeftOut>);

/// The files of all sets.
pub(super) struct Parts {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Part {
    /// A digest of all that the values depend on.
    key: String,
    found: Found,
}

/// A digest of the files of a set, of what the manifest tells about them, and of the setting.
pub(super) fn key<'a>(
    files: impl Iterator<Item = (&'a Entry, &'a InputFile)>,
    input: &InputArgs,
    setting: &Setting,
) -> Result<String> {
    let mut digest = Sha256::new();
    let program =
        format!("{} {} {setting:?} {:?}", env!("CARGO_PKG_VERSION"), calipers_studies::atlas::VERSION, input.rules);
    digest.update(program);
    for (entry, file) in files {
        digest.update(serde_json::to_string(entry)?);
        let bytes = fs::read(&file.path).with_context(|| file.shown())?;
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(&bytes);
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Parts {
    /// The parts of a study in this folder, which is made if needed.
    pub(super) fn new(out: &Path) -> Result<Self> {
        let folder = out.join(FOLDER);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Parts { folder })
    }

    /// Named by a digest, since sets may have any name.
    fn path(&self, set: &str) -> PathBuf {
        let digest = Sha256::digest(set.as_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.json"))
    }

    /// The values of a set, if they are there and of this key. A part that cannot be read is made
    /// again.
    pub(super) fn get(&self, set: &str, key: &str) -> Option<Found> {
        let part: Part = serde_json::from_slice(&fs::read(self.path(set)).ok()?).ok()?;
        (part.key == key).then_some(part.found)
    }

    /// Keeps the values of a set, and returns them as they will be read.
    pub(super) fn put(&self, set: &str, key: &str, found: &Found) -> Result<Found> {
        let part = Part { key: key.to_owned(), found: found.clone() };
        let text = serde_json::to_string(&part)?;
        Output::new(&self.path(set))?.write(text.as_bytes())?;
        self.get(set, key).ok_or_else(|| anyhow!("values of {} are not numbers", crate::printable(set)))
    }
}
