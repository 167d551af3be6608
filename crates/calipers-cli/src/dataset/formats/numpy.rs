//! NumPy: named arrays in an .npz archive, or an .npy file for each array.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use calipers::Error;
use zip::ZipArchive;

use super::npy::NpyArray;
use super::{Expansion, Extent, Failure, PART_ROWS, Part, Parts, Role, Stream, Table, cannot_read, open_file};

pub(crate) struct NpzTable {
    archive: Mutex<ZipArchive<BufReader<File>>>,
    names: Vec<String>,
    /// For each name its place in the archive, which may have other files.
    places: Vec<usize>,
    expansion: Expansion,
}

impl NpzTable {
    pub(crate) fn open(path: &Path, expansion: Expansion) -> Result<Self> {
        let mut archive = ZipArchive::new(BufReader::new(open_file(path)?)).map_err(failed)?;
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for place in 0..archive.len() {
            let file = archive.by_index_raw(place).map_err(failed)?;
            let name = file.name().map_err(failed)?;
            if let Some(name) = name.strip_suffix(".npy") {
                names.push(name.to_owned());
                places.push(place);
            }
        }
        if names.is_empty() {
            bail!("no arrays in it: numpy.savez writes such a file");
        }
        Ok(NpzTable { archive: Mutex::new(archive), names, places, expansion })
    }
}

fn failed(error: impl std::error::Error + 'static) -> anyhow::Error {
    cannot_read(".npz")(Box::new(error))
}

impl Table for NpzTable {
    fn noun(&self) -> &'static str {
        "array"
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn type_name(&self, place: usize) -> Option<String> {
        let mut archive = self.archive.lock().unwrap_or_else(PoisonError::into_inner);
        NpyArray::type_and_shape(archive.by_index(self.places[place]).ok()?)
    }

    fn listed_role(&self, place: usize) -> Option<Role> {
        // A shape of two dimensions is one of classes: (1797, 10).
        let has_classes = self.type_name(place).is_some_and(|name| name.contains(", "));
        Some(if has_classes { Role::Logits } else { Role::Groups })
    }

    fn stream<'a>(&'a self, wanted: &[(usize, Role)], limit: u64) -> Result<Box<dyn Stream + 'a>> {
        let mut archive = self.archive.lock().unwrap_or_else(PoisonError::into_inner);
        let mut n_bytes = 0;
        let arrays = wanted.iter().map(|&(index, role)| {
            let mut file = archive.by_index(self.places[index]).map_err(failed)?;
            let array = NpyArray::read(&mut file, role, limit, |more| {
                n_bytes += more;
                self.expansion.check(n_bytes)
            });
            // The checksum of a member is compared at its end, which is behind that of the array.
            // If it is wrong, any other error is a consequence.
            std::io::copy(&mut file, &mut std::io::sink())
                .with_context(|| format!("array {} is damaged; get or write the file again", self.names[index]))?;
            array.map_err(|error| match error.downcast::<Error>() {
                Ok(error) => self.in_column(error.into(), wanted, index),
                Err(error) => error.context(format!("array {}", self.names[index])),
            })
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        Ok(Box::new(Arrays::new(self, wanted, arrays, limit)?))
    }
}

/// .npy files that belong together: scores, then labels and whatever else was named.
pub(crate) struct NpyFiles {
    paths: Vec<PathBuf>,
    names: Vec<String>,
}

impl NpyFiles {
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let names = paths.iter().map(|path| path.display().to_string()).collect();
        NpyFiles { paths, names }
    }
}

impl Table for NpyFiles {
    fn noun(&self) -> &'static str {
        "file"
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn type_name(&self, place: usize) -> Option<String> {
        NpyArray::type_and_shape(open_file(&self.paths[place]).ok()?)
    }

    fn listed_role(&self, place: usize) -> Option<Role> {
        // A shape of two dimensions is one of classes: (1797, 10).
        let has_classes = self.type_name(place).is_some_and(|name| name.contains(", "));
        Some(if has_classes { Role::Logits } else { Role::Groups })
    }

    fn stream<'a>(&'a self, wanted: &[(usize, Role)], limit: u64) -> Result<Box<dyn Stream + 'a>> {
        let arrays = wanted.iter().map(|&(index, role)| {
            let array = open_file(&self.paths[index]).and_then(|file| NpyArray::open(file, role));
            // The first is the file that is measured, which every error names.
            if index == 0 { array } else { array.with_context(|| self.names[index].clone()) }
        });
        Ok(Box::new(Arrays::new(self, wanted, arrays.collect::<Result<Vec<_>>>()?, limit)?))
    }
}

/// Arrays of one length, some rows at a time.
struct Arrays {
    arrays: Vec<NpyArray>,
    n_rows: usize,
    part_rows: usize,
    /// The first row that no thread has taken.
    next: AtomicUsize,
}

impl Arrays {
    fn new(table: &dyn Table, wanted: &[(usize, Role)], arrays: Vec<NpyArray>, limit: u64) -> Result<Self> {
        let length = |array: Option<&NpyArray>| array.map_or(0, NpyArray::n_rows);
        let labels = arrays.iter().zip(wanted).find(|(_, (_, role))| !role.is_numeric()).map(|(array, _)| array);
        // An array that is only looked at may be alone.
        let n_labels = length(labels.or(arrays.first()));
        for (array, &(index, role)) in arrays.iter().zip(wanted) {
            let (what, got, expected) = match role {
                // The scores have the number of rows, so the labels have the wrong length.
                role if role.may_have_classes() => ("labels", n_labels, array.n_rows()),
                Role::Weights => ("weights", array.n_rows(), n_labels),
                Role::Groups => ("groups", array.n_rows(), n_labels),
                Role::Kept { .. } => ("arrays", array.n_rows(), n_labels),
                _ => ("predicted classes", array.n_rows(), n_labels),
            };
            if got != expected {
                let error = Error::LengthMismatch { what, got, expected };
                return Err(if what == "labels" { table.in_column(error.into(), wanted, index) } else { error.into() });
            }
        }
        let n_classes = arrays.iter().map(NpyArray::n_classes).max().unwrap_or(1);
        let part_rows = (4 * PART_ROWS / n_classes).clamp(1 << 10, PART_ROWS);
        let n_rows = length(arrays.first()).min(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(Arrays { n_rows, arrays, part_rows, next: AtomicUsize::new(0) })
    }
}

impl Stream for Arrays {
    fn extent(&self) -> Extent {
        Extent::Rows(self.n_rows as u64)
    }

    fn parts(&self) -> Parts<'_> {
        Box::new(std::iter::from_fn(|| {
            let start = self.next.fetch_add(self.part_rows, Ordering::Relaxed);
            let rows = start..self.n_rows.min(start.saturating_add(self.part_rows));
            if rows.is_empty() {
                return None;
            }
            let columns = self.arrays.iter().map(|array| array.rows(rows.clone())).collect::<Result<_>>();
            let (first_row, extent) = (start as u64, rows.len() as u64);
            let part = columns.map(|columns| Part { first_row, columns, extent });
            Some(part.map_err(|error| Failure { first_row, error }))
        }))
    }
}
