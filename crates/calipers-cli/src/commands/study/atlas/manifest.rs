//! `manifest.csv`: what is known about each file of a folder of predictions.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use calipers_studies::atlas::Entry;

/// The name of the manifest in a folder.
pub(super) const NAME: &str = "manifest.csv";

/// The entries of a manifest, by file.
pub(super) type Manifest = HashMap<String, Entry>;

/// Sets a field of an entry.
type Set = fn(&mut Entry, String);

/// The columns that are read, and what they set. Others are for people.
const COLUMNS: [(&str, Set); 7] = [
    ("domain", |entry, text| entry.domain = text),
    ("data_set", |entry, text| entry.data_set = text),
    ("model", |entry, text| entry.model = text),
    ("split", |entry, text| entry.split = text),
    ("rows", |entry, text| entry.rows = text),
    ("cluster", |entry, text| entry.cluster = Some(text)),
    ("caution", |entry, text| entry.caution = text),
];

/// The column that names the file.
const FILE: &str = "file";

/// Reads a manifest. An empty cell sets nothing.
pub(super) fn read(path: &Path) -> Result<Manifest> {
    read_entries(path).with_context(|| path.display().to_string())
}

fn read_entries(path: &Path) -> Result<Manifest> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(path)?;
    let headers = reader.headers()?.clone();
    let place = |name: &str| headers.iter().position(|header| header.trim_start_matches('\u{feff}') == name);
    let Some(of_file) = place(FILE) else {
        bail!("must have a column {FILE}, got {}", headers.iter().collect::<Vec<_>>().join(", "));
    };
    let columns: Vec<(usize, Set)> = COLUMNS.iter().filter_map(|(name, set)| Some((place(name)?, *set))).collect();
    let mut manifest = Manifest::new();
    for record in reader.records() {
        let record = record?;
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |place: usize| record.get(place).unwrap_or_default();
        if cell(of_file).is_empty() {
            bail!("line {line} names no file");
        }
        let mut entry = Entry::of_file(cell(of_file));
        for (place, set) in &columns {
            if !cell(*place).is_empty() {
                set(&mut entry, cell(*place).to_owned());
            }
        }
        if let Some(twice) = manifest.insert(entry.file.clone(), entry) {
            bail!("line {line} names {} again", crate::printable(&twice.file));
        }
    }
    Ok(manifest)
}
