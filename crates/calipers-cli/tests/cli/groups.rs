//! `--by`: groups by one column or several, in every format and verb.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, StringArray, types::Int8Type};
use parquet::basic::Compression;

use crate::support::{Folder, assert_fails, results, succeed};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Names that are hard to tell apart when they are joined, and none.
const NAMES: [&str; 5] = ["a", "a, 1", "", "\"a\"", "b"];

/// Probability, outcome, name and number of a row.
fn row(row: usize) -> (f64, i64, &'static str, i64) {
    let p = (row as f64 * 0.618_033_988_749_895).fract();
    let y = i64::from((row as f64 * 0.414_213_562_373_095).fract() < p * p);
    (p, y, NAMES[row * row % 7 % 5], (row / 3 % 3) as i64)
}

/// The same rows as text, and as Parquet with texts and with a dictionary.
fn files(folder: &Folder, n: usize) -> [std::path::PathBuf; 3] {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let line = |k| {
        let (p, y, name, number) = row(k);
        format!("{p},{y},{},{number}\n", quoted(name))
    };
    let csv = folder.write("rows.csv", "prob,label,name,number\n".to_owned() + &(0..n).map(line).collect::<String>());
    let p: ArrayRef = Arc::new(Float64Array::from_iter_values((0..n).map(|k| row(k).0)));
    let y: ArrayRef = Arc::new(Int64Array::from_iter_values((0..n).map(|k| row(k).1)));
    let number: ArrayRef = Arc::new(Int64Array::from_iter_values((0..n).map(|k| row(k).3)));
    let names = || (0..n).map(|k| Some(row(k).2).filter(|name| !name.is_empty()));
    let kinds: [(&str, ArrayRef); 2] = [
        ("texts.parquet", Arc::new(StringArray::from_iter(names()))),
        ("words.parquet", Arc::new(DictionaryArray::<Int8Type>::from_iter(names()))),
    ];
    let [texts, words] = kinds.map(|(file, names)| {
        let columns = [("prob", p.clone()), ("label", y.clone()), ("name", names), ("number", number.clone())];
        folder.parquet(file, &columns, Compression::SNAPPY)
    });
    [csv, texts, words]
}

#[test]
fn several_columns_have_a_group_for_each_combination_of_values() {
    const N: usize = 3_000;
    let folder = Folder::new();
    let mut expected: BTreeMap<(String, String), u64> = BTreeMap::new();
    for k in 0..N {
        let (_, _, name, number) = row(k);
        *expected.entry((name.to_owned(), number.to_string())).or_default() += 1;
    }
    let groups = |file: &Path, by: &[&str]| {
        let found = results(&[&[text(file)], by, &["--sigma", "0.5"]].concat());
        assert!(found[0].get("keys").is_none() && found[0]["n"] == N);
        assert_eq!(found[0]["by"], "name, number");
        let key = |row: &serde_json::Value, column: &str| row["keys"][column].as_str().unwrap().to_owned();
        let group = |row: &serde_json::Value| ((key(row, "name"), key(row, "number")), row["n"].as_u64().unwrap());
        found[1..].iter().map(group).collect::<BTreeMap<_, _>>()
    };
    let by = ["--by", "name", "--by", "number"];
    let mut bytes = Vec::new();
    for file in files(&folder, N) {
        assert_eq!(groups(&file, &by), expected, "{}", file.display());
        let sketches = folder.path("groups.parquet");
        let said = succeed(&[&["sketch", text(&file)], &by[..], &["-o", text(&sketches)]].concat());
        assert!(said.contains(&format!("in {} groups by name, number", expected.len())), "{said}");
        assert_eq!(groups(&sketches, &[]), expected, "{}", file.display());
        bytes.push(std::fs::read(&sketches).unwrap());
        let merged = folder.path("merged.parquet");
        succeed(&["merge", text(&sketches), "-o", text(&merged)]);
        assert_eq!(std::fs::read(&merged).unwrap(), bytes[0]);
    }
    assert!(bytes.iter().all(|other| *other == bytes[0]));
}

#[test]
fn many_rows_have_the_groups_of_few() {
    // Several parts for several threads, and a folder.
    let folder = Folder::new();
    let sketch = |file: &Path, threads: &str| {
        let out = folder.path("out.parquet");
        succeed(&["sketch", text(file), "--by", "name", "--threads", threads, "-o", text(&out)]);
        std::fs::read(out).unwrap()
    };
    let [csv, texts, words] = files(&folder, 150_000);
    let bytes = sketch(&csv, "1");
    for file in [&csv, &texts, &words] {
        assert!(sketch(file, "3") == bytes, "{}", file.display());
    }
    let parts = folder.path("parts");
    std::fs::create_dir(&parts).unwrap();
    std::fs::rename(&words, parts.join("only.parquet")).unwrap();
    assert!(sketch(&parts, "2") == bytes);
}

#[test]
fn maps_by_several_columns_are_applied_by_them() {
    let folder = Folder::new();
    let [csv, ..] = files(&folder, 2_000);
    let (map, out) = (folder.path("map.json"), folder.path("after.csv"));
    let fit = ["recalibrate", "fit", text(&csv), "--by", "name", "--by", "number", "--method", "platt"];
    succeed(&[&fit[..], &["--n-resamples", "20", "-o", text(&map)]].concat());
    let written = std::fs::read_to_string(&map).unwrap();
    assert!(written.contains("\"by\": \"name, number\"") && written.contains("\"\\\"a, 1\\\", 2\""), "{written}");
    succeed(&["recalibrate", "apply", "--map", text(&map), text(&csv), "-o", text(&out)]);
    let by_name = folder.path("by_name.csv");
    let apply = ["recalibrate", "apply", "--map", text(&map), text(&csv), "--by", "name", "--by", "number"];
    succeed(&[&apply[..], &["-o", text(&by_name)]].concat());
    assert_eq!(std::fs::read(out).unwrap(), std::fs::read(by_name).unwrap());
}

#[test]
fn names_of_columns_are_checked() {
    let folder = Folder::new();
    let [csv, ..] = files(&folder, 20);
    let measure = |by: &[&str]| {
        let by: Vec<&str> = by.iter().flat_map(|name| ["--by", name]).collect();
        [&["measure", text(&csv)], &by[..]].concat().into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    let fails = |by: &[&str], error: &str| {
        let args = measure(by);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        assert_fails(&args, &format!("{}: {error}", csv.display()));
    };
    fails(&["name,number"], "--by names one column, got name,number: pass it once for each, as --by name --by number");
    fails(&["name", "Name"], "column name is named twice for --by");
}

/// A file of a few kilobytes whose one word, spelled out for each row, is a gigabyte.
#[cfg(target_os = "linux")]
#[test]
fn rows_of_a_long_word_share_it() {
    const N: usize = 5_000;
    const MOST_KIB: u64 = 1 << 19;
    let folder = Folder::new();
    let p: ArrayRef = Arc::new(Float64Array::from_iter_values((0..N).map(|k| if k % 2 == 0 { 0.75 } else { 0.25 })));
    let y: ArrayRef = Arc::new(Int64Array::from_iter_values((0..N).map(|k| i64::from(k % 2 == 0))));
    let long = "w".repeat(200_000);
    let keys = || Int32Array::from_iter_values((0..N).map(|k| (k % 2) as i32));
    let words = |of: [&str; 2]| DictionaryArray::new(keys(), Arc::new(StringArray::from_iter_values(of)));
    let word: ArrayRef = Arc::new(words([&long, &long]));
    let class: ArrayRef = Arc::new(words(["yes", &long]));
    let columns = [("p", p), ("y", y), ("word", word), ("class", class)];
    let file = folder.parquet("rows.parquet", &columns, Compression::ZSTD(Default::default()));
    assert!(std::fs::metadata(&file).unwrap().len() < 8_000);
    let (sketch, map) = (folder.path("sketch.parquet"), folder.path("map.json"));
    let run = |args: &[&str]| {
        // Memory that the system would have to find, not that it has found.
        let limited = format!("ulimit -v {MOST_KIB}; exec \"$0\" \"$@\"");
        let done = std::process::Command::new("sh")
            .args(["-c", &limited, env!("CARGO_BIN_EXE_calipers")])
            .args(args)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{:?}: {}", args, &said[..said.len().min(500)]);
    };
    let of = |label: &'static str| ["--prob", "p", "--label", label, "--threads", "1"];
    let by = |label| [&[text(&file), "--by", "word"][..], &of(label)].concat();
    run(&[&["measure"], &by("y")[..]].concat());
    run(&[&["measure", "--pos-label", "yes"], &by("class")[..]].concat());
    run(&[&["sketch", "-o", text(&sketch)], &by("y")[..]].concat());
    run(&[&["sketch", "-o", text(&sketch), "--pos-label", "yes"], &by("class")[..]].concat());
    let fit = ["recalibrate", "fit", "--method", "shift", "--n-resamples", "20", "-o", text(&map)];
    run(&[&fit[..], &by("y")].concat());
}
