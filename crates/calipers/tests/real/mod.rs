//! Real predictions, read by the tests' own few lines. They stay outside the project:
//! `CALIPERS_DATA` says where.

#![allow(unreachable_pub)] // shared by several test files

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use calipers::{BinaryView, Error, Input, Predictions, Ties};
use npyz::NpyFile;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use zip::ZipArchive;

use crate::oracle::{self, Point};

/// The folder of real predictions, or a line that says that tests on it are skipped.
pub fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("CALIPERS_DATA").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    say!("skipped: no real predictions (set CALIPERS_DATA)");
    None
}

pub fn files() -> Vec<PathBuf> {
    let Some(folder) = folder() else { return Vec::new() };
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files
        .retain(|file| ["csv", "npz", "parquet"].iter().any(|known| file.extension().is_some_and(|ext| ext == *known)));
    files.sort();
    assert!(files.len() >= 20, "the folder of real predictions is incomplete");
    files
}

/// What a file holds, in the shape that it has.
pub enum Content {
    Binary { p: Vec<f64>, y: Vec<bool> },
    Single { p: Vec<f32>, y: Vec<bool> },
    Classes { scores: Vec<f32>, k: usize, labels: Vec<i16>, are_logits: bool },
}

pub fn read(path: &Path) -> Content {
    match path.extension().unwrap().to_str().unwrap() {
        "csv" => read_csv(path),
        "parquet" => read_parquet(path),
        _ => read_npz(path),
    }
}

fn read_csv(path: &Path) -> Content {
    let text = fs::read_to_string(path).unwrap();
    let (mut p, mut y) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let mut cells = line.split(',');
        p.push(cells.next().unwrap().parse().unwrap());
        y.push(cells.next().unwrap() == "1");
    }
    Content::Binary { p, y }
}

fn read_parquet(path: &Path) -> Content {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let (mut p, mut y) = (Vec::new(), Vec::new());
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        p.push(row.get_double(0).unwrap());
        y.push(row.get_long(1).unwrap() == 1);
    }
    Content::Binary { p, y }
}

fn read_npz(path: &Path) -> Content {
    let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    let has = |name: &str| names.iter().any(|other| other == name);
    let labels: Vec<i16> = NpyFile::new(archive.by_name("labels.npy").unwrap()).unwrap().into_vec().unwrap();
    if has("conf.npy") {
        let p = NpyFile::new(archive.by_name("conf.npy").unwrap()).unwrap().into_vec().unwrap();
        let predicted: Vec<i16> = NpyFile::new(archive.by_name("pred.npy").unwrap()).unwrap().into_vec().unwrap();
        let y = predicted.iter().zip(&labels).map(|(a, b)| a == b).collect();
        return Content::Single { p, y };
    }
    let are_logits = has("logits.npy");
    let name = if are_logits { "logits.npy" } else { "probs.npy" };
    let array = NpyFile::new(archive.by_name(name).unwrap()).unwrap();
    let k = array.shape()[1] as usize;
    Content::Classes { scores: array.into_vec().unwrap(), k, labels, are_logits }
}

impl Content {
    pub fn check(&self) -> Result<Predictions<'_>, Error> {
        match self {
            Content::Binary { p, y } => Input::probabilities(p, y).check(),
            Content::Single { p, y } => Input::probabilities(p.as_slice(), y).check(),
            Content::Classes { scores, k, labels, are_logits } => {
                let scores = scores.as_slice();
                let input =
                    if *are_logits { Input::logits(scores, labels) } else { Input::probabilities(scores, labels) };
                input.classes(*k).sum_tolerance(0.02).check()
            }
        }
    }

    /// The same rows for the oracle.
    pub fn points(&self) -> Vec<Point> {
        match self {
            Content::Binary { p, y } => {
                oracle::points(&p.iter().map(|p| oracle::logit(*p, 1e-6)).collect::<Vec<_>>(), y)
            }
            Content::Single { p, y } => {
                oracle::points(&p.iter().map(|p| oracle::logit(f64::from(*p), 1e-6)).collect::<Vec<_>>(), y)
            }
            Content::Classes { scores, k, labels, are_logits } => {
                let row = |(row, label): (&[f32], &i16)| {
                    let top = (1..*k).fold(0, |best, class| if row[class] > row[best] { class } else { best });
                    let others = (0..*k).filter(|class| *class != top).map(|class| f64::from(row[class]));
                    let z = f64::from(row[top]);
                    let h = if *are_logits {
                        -others.map(|other| (other - z).exp()).sum::<f64>().ln()
                    } else {
                        oracle::logit(z, 1e-6)
                    };
                    Point { h, y: top == *label as usize, w: 1.0 }
                };
                scores.chunks(*k).zip(labels).map(row).collect()
            }
        }
    }
}

/// The view that is measured by default: the column, or the top class.
pub fn view<'a>(predictions: &'a Predictions<'_>) -> BinaryView<'a> {
    if predictions.n_classes() == 1 {
        predictions.binary().unwrap()
    } else {
        predictions.top_class(Ties::First).unwrap()
    }
}
