//! The sketches of all groups in one file: what `calipers sketch --by` writes. docs/sketch-format.md has the layout.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use calipers::Sketch;

use crate::dataset::formats;
use crate::dataset::formats::sketch_rows;

const MAGIC: &[u8; 8] = b"calgroup";
const VERSION: u8 = 1;
/// Bytes of the checksum at the end.
const CHECKSUM: usize = 4;

/// One sketch, or one for each group and one for all together.
#[derive(Debug, Clone)]
pub(crate) struct Sketches {
    /// All rows.
    pub(crate) all: Sketch,
    pub(crate) groups: Option<Groups>,
}

/// Sketches by the value of a column.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    /// The column's name.
    pub(crate) by: String,
    pub(crate) sketches: BTreeMap<String, Sketch>,
}

impl Sketches {
    /// Whether bytes begin as a file of sketches does.
    pub(crate) fn begin(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC) || bytes.starts_with(b"calipers")
    }

    pub(crate) fn merge(&mut self, other: &Sketches) -> Result<()> {
        match (&mut self.groups, &other.groups) {
            (None, None) => {}
            (Some(ours), Some(theirs)) if ours.by == theirs.by => {
                for (key, sketch) in &theirs.sketches {
                    let empty = || sketch.empty_like();
                    ours.sketches.entry(key.clone()).or_insert_with(empty).merge(sketch)?;
                }
            }
            (ours, theirs) => {
                let name =
                    |groups: &Option<Groups>| groups.as_ref().map_or("none".to_owned(), |groups| groups.by.clone());
                bail!("sketches must have the same groups to be merged, got {} and {}", name(ours), name(theirs));
            }
        }
        Ok(self.all.merge(&other.all)?)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Some(groups) = &self.groups else { return self.all.to_bytes() };
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        put(&mut bytes, groups.by.as_bytes());
        put(&mut bytes, &self.all.to_bytes());
        bytes.extend((groups.sketches.len() as u64).to_le_bytes());
        for (key, sketch) in &groups.sketches {
            put(&mut bytes, key.as_bytes());
            put(&mut bytes, &sketch.to_bytes());
        }
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    /// Those of a file, by its bytes or by its rows.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        if sketch_rows::is_one(path) {
            return sketch_rows::read(path);
        }
        let mut bytes = Vec::new();
        let mut file = formats::open_file(path)?;
        file.read_to_end(&mut bytes).map_err(|error| anyhow!("cannot read: {error}"))?;
        Sketches::from_bytes(&bytes)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Ok(Sketches { all: Sketch::from_bytes(bytes)?, groups: None });
        };
        if let Some(version) = rest.first().filter(|version| **version != VERSION) {
            bail!("version of grouped sketches must be {VERSION}, got {version}");
        }
        let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>().ok_or_else(cut)?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            bail!("grouped sketches must have the checksum that they were written with: the file was damaged or cut");
        }
        let mut rest = content.get(MAGIC.len() + 1..).ok_or_else(cut)?;
        let by = text(take(&mut rest)?)?;
        let all = Sketch::from_bytes(take(&mut rest)?)?;
        let n_groups = number(&mut rest)?;
        let mut sketches = BTreeMap::new();
        for _ in 0..n_groups {
            let key = text(take(&mut rest)?)?;
            let sketch = Sketch::from_bytes(take(&mut rest)?)?;
            // Ascending, so that the same sketches have the same bytes.
            if sketches.last_key_value().is_some_and(|(last, _)| *last >= key) {
                bail!("grouped sketches must ascend by their group, got {key:?} out of order");
            }
            sketches.insert(key, sketch);
        }
        if !rest.is_empty() {
            bail!("grouped sketches must end with the last group, got {} bytes more", rest.len());
        }
        Ok(Sketches { all, groups: Some(Groups { by, sketches }) })
    }
}

fn put(bytes: &mut Vec<u8>, more: &[u8]) {
    bytes.extend((more.len() as u64).to_le_bytes());
    bytes.extend(more);
}

fn number(rest: &mut &[u8]) -> Result<u64> {
    let (number, after) = rest.split_first_chunk().ok_or_else(cut)?;
    *rest = after;
    Ok(u64::from_le_bytes(*number))
}

fn take<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = number(rest)?;
    let (taken, after) =
        usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length)).ok_or_else(cut)?;
    *rest = after;
    Ok(taken)
}

fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| anyhow!("names of groups must be UTF-8"))
}

fn cut() -> anyhow::Error {
    anyhow!("grouped sketches must be whole: the file ends early")
}
