//! NumPy: named arrays in an .npz archive, or an .npy file for each array.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use zip::ZipArchive;

use super::{Column, Role, Table, cannot_read, npy, open_file};

pub(crate) struct NpzTable {
    archive: ZipArchive<BufReader<File>>,
    names: Vec<String>,
    /// For each name its place in the archive, which may have other files.
    places: Vec<usize>,
}

impl NpzTable {
    pub(crate) fn open(path: &Path) -> Result<Self> {
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
        Ok(NpzTable { archive, names, places })
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

    fn read(&mut self, wanted: &[(usize, Role)]) -> Result<Vec<Column>> {
        let mut columns = Vec::with_capacity(wanted.len());
        for &(index, role) in wanted {
            let file = self.archive.by_index(self.places[index]).map_err(failed)?;
            let column = npy::read(file, role).map_err(|error| match error.downcast::<calipers::Error>() {
                Ok(refusal) => self.in_column(refusal, wanted, index),
                Err(error) => error.context(format!("array {}", self.names[index])),
            });
            columns.push(column?);
        }
        Ok(columns)
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

    fn read(&mut self, wanted: &[(usize, Role)]) -> Result<Vec<Column>> {
        let mut columns = Vec::with_capacity(wanted.len());
        for &(index, role) in wanted {
            let column = open_file(&self.paths[index]).and_then(|file| npy::read(BufReader::new(file), role));
            // The first is the file that is measured, which every error names.
            columns.push(if index == 0 { column? } else { column.with_context(|| self.names[index].clone())? });
        }
        Ok(columns)
    }
}
