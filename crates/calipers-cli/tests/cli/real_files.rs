//! The real predictions beside the project: every file is measured, and ECE is what its table says.

use std::path::{Path, PathBuf};

use crate::support::{assert_refused, json};

fn folder() -> Option<PathBuf> {
    let set = std::env::var_os("CALIPERS_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    set.into_iter().chain([beside]).find(|folder| folder.is_dir())
}

#[test]
fn every_real_file_has_the_ece_of_its_table() {
    let Some(folder) = folder() else {
        eprintln!("no real predictions (CALIPERS_DATA): skipped");
        return;
    };
    let sources = std::fs::read_to_string(folder.join("SOURCES.md")).unwrap();
    let mut n_measured = 0;
    for line in sources.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Ok(n), Ok(ece)) = (cells[3].parse::<u64>(), cells[6].parse::<f64>()) else { continue };
        let path = folder.join(cells[1]);
        let result = json(&path, &[]);
        let measured = result["ece"]["value"].as_f64().unwrap();
        assert_eq!(result["n"], n, "{}", path.display());
        assert_eq!(format!("{measured:.4}"), format!("{ece:.4}"), "{}", path.display());
        assert!(result["ls_ece"]["numerical_bound"].as_f64().unwrap() <= 1e-6, "{}", path.display());
        n_measured += 1;
    }
    let is_data = |path: &Path| path.extension().is_some_and(|extension| extension != "md");
    let n_files = std::fs::read_dir(&folder).unwrap().filter(|entry| is_data(&entry.as_ref().unwrap().path())).count();
    assert_eq!(n_measured, n_files);
}

#[test]
fn rows_of_the_quantised_model_are_counted_or_refused_with_what_to_set() {
    let Some(folder) = folder() else { return };
    let path = folder.join("cifar10_resnet8_mlperftiny_int8.npz");
    assert!(json(&path, &[])["input"]["n_inexact_sums"].as_u64().unwrap() > 0);
    let text = "probabilities in row 1 (counting from 0) must sum to 1 within 0.001, got 0.996094; a quantised model needs a wider \
                --sum-tolerance, raw scores need --from-logits";
    assert_refused(&path, &["--sum-tolerance", "0.001"], text);
}
