//! Sketches of a model: of all rows, and of each group.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail};
use calipers::{InputReport, Sketch};

use super::files::{self, InputFile};
use super::formats::{self, sketch_rows};
use super::groups::By;

/// The first bytes of a sketch.
const MAGIC: &[u8] = b"calipers";

/// The first bytes of a file of groups, before those were rows of Parquet.
const FORMER_GROUPS: &[u8] = b"calgroup";

/// The largest sketch that is read: a hundred times that of 10^9 rows.
pub(crate) const MOST_SKETCH_BYTES: u64 = 1 << 28;

/// Rejects a file that is too long to be a sketch.
pub(crate) fn check_size(n_bytes: u64) -> Result<()> {
    if n_bytes >= MOST_SKETCH_BYTES {
        bail!("is too long for a sketch, which has less than {} MiB", MOST_SKETCH_BYTES >> 20);
    }
    Ok(())
}

/// One sketch, or one for each group.
#[derive(Debug, Clone)]
pub(crate) struct Sketches {
    /// That of all rows. Where there are groups it is made of them when it is asked for, which
    /// takes as long as reading their rows.
    all: OnceLock<Sketch>,
    pub(crate) groups: Option<Groups>,
}

/// Sketches by the values of columns.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    pub(crate) by: By,
    pub(crate) sketches: BTreeMap<String, Sketch>,
}

impl Groups {
    /// Those in which not all rows were left out.
    pub(crate) fn with_rows<'a, C: FromIterator<(String, &'a Sketch)>>(&'a self) -> C {
        let sketches = self.sketches.iter().filter(|(_, sketch)| sketch.n() > 0);
        sketches.map(|(key, sketch)| (key.clone(), sketch)).collect()
    }

    /// Those of which all rows were left out.
    pub(crate) fn without_rows(&self) -> Vec<String> {
        self.sketches.iter().filter(|(_, sketch)| sketch.n() == 0).map(|(key, _)| key.clone()).collect()
    }
}

impl Sketches {
    /// That of all rows, without groups.
    pub(crate) fn one(all: Sketch) -> Self {
        Sketches { all: all.into(), groups: None }
    }

    pub(crate) fn of_groups(by: By, sketches: BTreeMap<String, Sketch>) -> Self {
        Sketches { all: OnceLock::new(), groups: Some(Groups { by, sketches }) }
    }

    /// The same with the sketch of all rows, which is known.
    pub(crate) fn with_all(self, all: Sketch) -> Self {
        Sketches { all: all.into(), ..self }
    }

    /// The sketch of all rows.
    pub(crate) fn all(&self) -> Result<&Sketch> {
        if self.all.get().is_none() {
            let mut groups = self.groups.iter().flat_map(|groups| groups.sketches.values());
            let mut all = groups.next().context("no sketches in it")?.clone();
            groups.try_for_each(|sketch| all.merge(sketch))?;
            return Ok(self.all.get_or_init(|| all));
        }
        // proof: it is there
        self.all.get().context("no sketches in it")
    }

    pub(crate) fn into_all(self) -> Result<Sketch> {
        self.all()?;
        self.all.into_inner().context("no sketches in it")
    }

    fn each(&self) -> impl Iterator<Item = &Sketch> {
        let groups = self.groups.iter().flat_map(|groups| groups.sketches.values());
        groups.chain(self.all.get().filter(|_| self.groups.is_none()))
    }

    /// Rows of all sketches.
    pub(crate) fn n(&self) -> u64 {
        self.each().map(Sketch::n).sum()
    }

    /// What was read and left out, over all sketches.
    pub(crate) fn report(&self) -> InputReport {
        let mut all = InputReport::default();
        self.each().for_each(|sketch| all.absorb(sketch.report()));
        all
    }

    /// Whether bytes begin as a sketch does: by its name and a version, which no text has there.
    pub(crate) fn begin(bytes: &[u8]) -> bool {
        bytes.strip_prefix(MAGIC).is_some_and(|rest| rest.first().is_none_or(|version| *version < b'\t'))
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
                    |groups: &Option<Groups>| groups.as_ref().map_or("none".to_owned(), |groups| groups.by.to_string());
                bail!("sketches must have the same groups to be merged, got {} and {}", name(ours), name(theirs));
            }
        }
        if let (Some(all), None) = (self.all.get_mut(), &self.groups) {
            all.merge(other.all()?)?;
        } else {
            self.all = OnceLock::new();
        }
        Ok(())
    }

    /// Those of the rows that are not in `part`.
    pub(crate) fn subtract(&self, part: &Sketches) -> Result<Sketches> {
        match (&self.groups, &part.groups) {
            (Some(ours), Some(theirs)) if ours.by == theirs.by => {
                if let Some(key) = theirs.sketches.keys().find(|key| !ours.sketches.contains_key(*key)) {
                    bail!("{} {key:?} is not among the groups to take it out of", ours.by);
                }
                let mut rest = BTreeMap::new();
                for (key, sketch) in &ours.sketches {
                    let left =
                        theirs.sketches.get(key).map_or_else(|| Ok(sketch.clone()), |part| sketch.subtract(part))?;
                    // A group without rows is none.
                    if left.report().n_rows > 0 {
                        rest.insert(key.clone(), left);
                    }
                }
                Ok(Sketches::of_groups(ours.by.clone(), rest))
            }
            (None, None) => Ok(Sketches::one(self.all()?.subtract(part.all()?)?)),
            _ => bail!("sketches must have the same groups to be subtracted"),
        }
    }

    /// Those of a file, or of all files of a folder together.
    pub(crate) fn open(file: &InputFile) -> Result<Self> {
        match file.is_folder() && !sketch_rows::is_one(&file.path) {
            true => files::merged(&file.members()?, |file| Self::read(&file.path), |all, more| all.merge(&more)),
            false => Self::read(&file.path),
        }
    }

    /// Those of a file: the bytes of one sketch, or rows of Parquet.
    fn read(path: &Path) -> Result<Self> {
        if sketch_rows::is_one(path) {
            return sketch_rows::read(path);
        }
        let mut bytes = Vec::new();
        let mut file = formats::open_file(path)?;
        check_size(file.metadata().map_or(0, |metadata| metadata.len()))?;
        file.read_to_end(&mut bytes).map_err(|error| anyhow!("cannot read: {error}"))?;
        if bytes.starts_with(FORMER_GROUPS) {
            bail!(
                "has sketches of groups in a format that is no longer read; make them again with calipers sketch --by"
            );
        }
        Ok(Sketches::one(Sketch::from_bytes(&bytes)?))
    }

    /// The bytes of a file of that name.
    pub(crate) fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        check_name(path, self.groups.is_some())?;
        if is_parquet(path) { sketch_rows::to_bytes(self) } else { Ok(self.all()?.to_bytes()) }
    }
}

/// Sketches of groups are rows of Parquet, which every program reads.
pub(crate) fn check_name(path: &Path, has_groups: bool) -> Result<()> {
    if has_groups && !is_parquet(path) {
        bail!("{}: sketches of groups are rows of Parquet: name the file .parquet", path.display());
    }
    Ok(())
}

fn is_parquet(path: &Path) -> bool {
    formats::extension(path) == sketch_rows::EXTENSION
}
