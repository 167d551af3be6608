//! The name of a measure stands in its own file or folder and nowhere else: all others ask the
//! registry.

use std::fs;
use std::path::{Path, PathBuf};

use calipers::registry;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file, without comments and without its own tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_measure_is_named_in_its_own_folder_only() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for package in fs::read_dir(crates).unwrap() {
        sources(&package.unwrap().path().join("src"), &mut files);
    }
    let measures = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join("measures");
    let code: Vec<(PathBuf, String)> = files.into_iter().map(|path| (path.clone(), code(&path))).collect();
    let mut wrong = Vec::new();
    for entry in registry::all() {
        let literal = format!("\"{}\"", entry.spec.name);
        let places: Vec<&PathBuf> =
            code.iter().filter(|(_, code)| code.contains(&literal)).map(|(path, _)| path).collect();
        // The file of a measure, or the folder that has it.
        let home =
            |path: &Path| path.strip_prefix(&measures).ok().and_then(|path| path.iter().next()).map(PathBuf::from);
        let homes: Vec<Option<PathBuf>> = places.iter().map(|path| home(path)).collect();
        if places.is_empty() || homes.iter().any(Option::is_none) || homes.windows(2).any(|pair| pair[0] != pair[1]) {
            wrong.push(format!("{literal} stands in {places:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
