//! `calipers study atlas`: manifests, files that cannot be used, and runs that go on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{Folder, assert_fails, succeed};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Predictions as CSV, from a generator of its own; `sharpness` tells models apart.
fn predictions(n: u32, sharpness: f64) -> String {
    let mut state = 12_345u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state) / f64::from(u32::MAX)
    };
    let mut rows = "prob,label,event\n".to_owned();
    for row in 0..n {
        let p = next();
        let outcome = u8::from(next() < p);
        let logit = sharpness * (p / (1.0 - p)).ln();
        rows += &format!("{:.6},{outcome},{}\n", 1.0 / (1.0 + (-logit).exp()), row / 3);
    }
    rows
}

/// Every file of a folder and of those below it, by name.
fn contents(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            contents(&path, found);
        } else {
            found.insert(path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap());
        }
    }
}

/// A folder with a manifest, of which some files cannot be used.
fn atlas(folder: &Folder) -> std::path::PathBuf {
    let place = folder.path("atlas");
    fs::create_dir(&place).unwrap();
    let manifest = "file,domain,data_set,model,split,rows,cluster,caution\n\
                    a.csv,weather,rain,sharp,test,rain,,\n\
                    b.csv,weather,rain,blunt,test,rain,,\n\
                    c.csv,weather,rain,plain,test,rain,,\n\
                    a_val.csv,weather,rain,sharp,val,rain_val,,\n\
                    forecasts.csv,elections,forecasts,,test,forecasts,,dependent rows\n\
                    clustered.csv,elections,clustered,,test,clustered,event,dependent rows\n\
                    gone.csv,weather,rain,gone,test,rain,,\n\
                    broken.csv,weather,broken,,test,broken,,\n";
    let files = [
        ("manifest.csv", manifest.to_owned()),
        ("a.csv", predictions(400, 2.0)),
        ("b.csv", predictions(400, 0.5)),
        ("c.csv", predictions(400, 1.0)),
        ("a_val.csv", predictions(50, 2.0)),
        ("forecasts.csv", predictions(300, 1.0)),
        ("clustered.csv", predictions(300, 1.5)),
        ("broken.csv", "prob,label\n0.5,1\n1.7,0\n".to_owned()),
        ("stranger.csv", predictions(10, 1.0)),
        ("README.md", "not predictions".to_owned()),
    ];
    for (name, text) in files {
        fs::write(place.join(name), text).unwrap();
    }
    place
}

#[test]
fn every_file_is_measured_or_listed_with_a_reason() {
    let folder = Folder::new();
    let (place, out) = (atlas(&folder), folder.path("out"));
    let printed = succeed(&["study", "atlas", text(&place), "--out", text(&out), "--quick"]);
    assert!(printed.contains("LS-ECE tracks ECE closely"), "{printed}");
    let page = fs::read_to_string(out.join("atlas.md")).unwrap();
    let table = fs::read_to_string(out.join("atlas-models.csv")).unwrap();
    let measured: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(measured, ["clustered.csv", "forecasts.csv", "a.csv", "b.csv", "c.csv"]);
    let reasons = [
        ("a_val.csv", "it is the part val of a model, which counts once, by its test part"),
        ("broken.csv", "probability in line 3 must be in [0, 1], got 1.7"),
        ("gone.csv", "the manifest names it, and the folder does not have it"),
        ("stranger.csv", "no manifest names it"),
    ];
    for (file, reason) in reasons {
        let line = page.lines().find(|line| line.starts_with('|') && line.ends_with(&format!("| {file} |")));
        assert!(line.is_some_and(|line| line.contains(reason)), "{file}: {line:?}\n{page}");
    }
    assert!(!page.contains("README.md"));
    // Rows that depend on each other have no floor: neither with a cluster column nor without.
    for file in ["clustered.csv", "forecasts.csv"] {
        let line = table.lines().find(|line| line.starts_with(file)).unwrap();
        let columns: Vec<&str> = table.lines().next().unwrap().split(',').collect();
        let place = columns.iter().position(|column| *column == "noise_floor").unwrap();
        assert_eq!(line.split(',').nth(place), Some(""), "{line}");
    }
}

#[test]
fn a_run_that_goes_on_gives_the_bytes_of_one_that_was_not_interrupted() {
    let folder = Folder::new();
    let place = atlas(&folder);
    let run = |out: &str| {
        let out = folder.path(out);
        succeed(&["study", "atlas", text(&place), "--out", text(&out), "--quick"]);
        let mut found = BTreeMap::new();
        contents(&out, &mut found);
        found
    };
    let whole = run("whole");
    // As after a kill: one part is missing, one was never finished, and there is no page.
    let parts = folder.path("resumed").join("atlas-parts");
    fs::create_dir_all(&parts).unwrap();
    let mut names: Vec<&String> = whole.keys().filter(|name| name.ends_with(".json")).collect();
    names.sort();
    assert!(names.len() >= 4, "{names:?}");
    for name in &names[1..] {
        fs::write(parts.join(name), &whole[*name]).unwrap();
    }
    fs::write(parts.join(names[1]), &whole[names[1]][..20]).unwrap();
    assert_eq!(run("resumed"), whole);
    // Values of other predictions are not used again.
    fs::write(place.join("a.csv"), predictions(400, 3.0)).unwrap();
    let changed = run("resumed");
    assert_ne!(changed["atlas-models.csv"], whole["atlas-models.csv"]);
}

#[test]
fn manifests_are_checked() {
    let folder = Folder::new();
    let (place, out) = (atlas(&folder), folder.path("out"));
    let (place, out) = (text(&place), text(&out));
    let study = |args: &[&'static str]| [&["study", "atlas", "--out", out, "--quick"], args].concat();
    assert_fails(&study(&[]), "atlas needs folders of predictions, each with a manifest.csv");
    let file = folder.write("some.csv", "prob,label\n0.5,1\n");
    let named: Vec<&str> = ["study", "atlas", "--out", out, text(&file)].to_vec();
    assert_fails(&named, &format!("{}: must be a folder of predictions with a manifest.csv", text(&file)));
    for (content, error) in [
        ("name,rows\na.csv,r\n", "must have a column file, got name, rows"),
        ("file,rows\na.csv,r\na.csv,s\n", "line 3 names a.csv again"),
        ("file,rows\n,r\n", "line 2 names no file"),
    ] {
        let manifest = folder.write("extra.csv", content);
        let args = ["study", "atlas", place, "--out", out, "--manifest", text(&manifest)];
        assert_fails(&args, &format!("{}: {error}", text(&manifest)));
    }
    let manifest = folder.write("extra.csv", "file\nstranger.csv\n");
    let args = ["study", "two-point", "--out", out, "--manifest", text(&manifest)];
    assert_fails(&args, &format!("--manifest is for atlas, and two-point has no use for {}", text(&manifest)));
}
