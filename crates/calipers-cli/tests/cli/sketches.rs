//! `calipers sketch` and `calipers merge`: the same bytes whatever the split, and figures of the
//! rows.

use std::path::Path;

use crate::support::{Folder, assert_fails, json, results, succeed};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Rows of a CSV file with a column `g` of so many groups.
fn rows(range: std::ops::Range<usize>, n_groups: usize) -> String {
    let row = |row: usize| {
        let p = ((row as f64 * 0.618_033_988_749_895).fract() * 1000.0).round() / 1000.0;
        format!("{},{p},{}\n", u8::from((row as f64 * 0.414_213_562_373_095).fract() < p * p), row * row % n_groups)
    };
    "label,prob,g\n".to_owned() + &range.map(row).collect::<String>()
}

#[test]
fn merged_sketches_have_the_bytes_of_all_rows() {
    let folder = Folder::new();
    let a = folder.write("a.csv", rows(0..5_000, 7));
    let b = folder.write("b.csv", rows(5_000..60_000, 7));
    let all = folder.write("all.csv", rows(0..60_000, 7));
    for (by, extension) in [(&[][..], "calipers"), (&["--by", "g"], "parquet")] {
        let named = |name: &str| folder.path(&format!("{name}.{extension}"));
        let sketch = |name: &str, args: &[&str]| {
            let path = named(name);
            succeed(&[&["sketch"], args, by, &["-o", text(&path)]].concat());
            path
        };
        let whole = sketch("all", &[text(&all)]);
        let bytes = std::fs::read(&whole).unwrap();
        assert_eq!(std::fs::read(sketch("one", &[text(&all), "--threads", "1"])).unwrap(), bytes);
        assert_eq!(std::fs::read(sketch("both", &[text(&b), text(&a)])).unwrap(), bytes);
        let (a, b) = (sketch("a", &[text(&a)]), sketch("b", &[text(&b)]));
        let merged = named("merged");
        let said = succeed(&["merge", text(&b), text(&a), "-o", text(&merged)]);
        assert_eq!(std::fs::read(&merged).unwrap(), bytes);
        let groups = if by.is_empty() { "" } else { " in 4 groups by g" };
        assert_eq!(said, format!("{}: 60,000 rows{groups}, {} bytes\n", merged.display(), number_of(bytes.len())));
    }
}

fn number_of(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|d| std::str::from_utf8(d).unwrap()).collect();
    groups.join(",")
}

#[test]
fn a_sketch_is_measured_like_its_rows() {
    let folder = Folder::new();
    let csv = folder.write("a.csv", rows(0..20_000, 3));
    let sketch = folder.path("a.calipers");
    succeed(&["sketch", text(&csv), "-o", text(&sketch), "--n-bins", "15,30"]);
    // The name is no matter, the first bytes are.
    let renamed = folder.path("renamed.csv");
    std::fs::copy(&sketch, &renamed).unwrap();
    for path in [&sketch, &renamed] {
        for args in
            [&["--sigma", "0.1"][..], &["--sigma", "0.5", "--n-bins", "30"], &["--sigma", "0.3", "--norm", "max"]]
        {
            let (of_sketch, of_rows) = (json(path, args), json(&csv, args));
            assert_eq!((&of_sketch["method"], &of_rows["method"]), (&"sketch".into(), &"rows".into()));
            assert_eq!((&of_sketch["n"], &of_sketch["prob"]), (&of_rows["n"], &serde_json::Value::Null));
            for (measure, slack) in [("ls_ece", 0.0), ("ece", 1e-14)] {
                let figure = |result: &serde_json::Value, key: &str| result[measure][key].as_f64().unwrap();
                let bound = figure(&of_sketch, "numerical_bound") + figure(&of_rows, "numerical_bound") + slack;
                let gap = (figure(&of_sketch, "value") - figure(&of_rows, "value")).abs();
                assert!(gap <= bound, "{measure} {args:?} {gap}");
            }
        }
    }
    let table = succeed(&["measure", text(&sketch)]);
    assert!(table.starts_with("measure ") && table.lines().next().unwrap().contains(" a "), "{table}");
}

#[test]
fn groups_are_the_files_of_their_rows() {
    let folder = Folder::new();
    let csv = folder.write("a.csv", rows(0..3_000, 11));
    let all = results(&[text(&csv), "--by", "g"]);
    let keys: Vec<_> = all.iter().map(|result| result["group"].as_str().map(str::to_owned)).collect();
    // Squares modulo 11, in the order of numbers.
    let expected = [None, Some("0"), Some("1"), Some("3"), Some("4"), Some("5"), Some("9")];
    assert_eq!(keys, expected.map(|key| key.map(str::to_owned)));
    let sigma = &all[0]["ls_ece"]["settings"]["sigma"];
    for result in &all[1..] {
        let key = result["group"].as_str().unwrap();
        let own: String = rows(0..3_000, 11)
            .lines()
            .filter(|line| line.ends_with(&format!(",{key}")))
            .map(|line| format!("{line}\n"))
            .collect();
        let alone = json(&folder.write("own.csv", "label,prob,g\n".to_owned() + &own), &[]);
        assert_eq!(
            (&result["ls_ece"]["settings"]["sigma"], &result["n"], &result["by"]),
            (&alone["ls_ece"]["settings"]["sigma"], &alone["n"], &"g".into())
        );
        let value = |result: &serde_json::Value, measure: &str| result[measure]["value"].as_f64().unwrap();
        assert!((value(result, "ls_ece") - value(&alone, "ls_ece")).abs() <= 2e-6, "{key}");
        assert!((value(result, "ece") - value(&alone, "ece")).abs() <= 1e-12, "{key}");
    }
    let sketch = folder.path("a.parquet");
    succeed(&["sketch", text(&csv), "--by", "g", "-o", text(&sketch)]);
    let again = results(&[text(&sketch), "--sigma", &sigma.to_string()]);
    assert_eq!(again.len(), all.len());
    let table = succeed(&["measure", text(&csv), "--by", "g", "--sigma", "0.5"]);
    let rows = table.lines().skip_while(|line| !line.starts_with("---")).skip(1);
    let names: Vec<&str> = rows.take(2).map(|line| line.split_whitespace().next().unwrap_or("")).collect();
    assert!(table.starts_with("g "), "{table}");
    assert_eq!(names, ["all", "0"]);
}

#[test]
fn missing_and_bad_rows_are_counted_in_all_and_groups_may_be_text() {
    let folder = Folder::new();
    let csv = folder.write("a.csv", "label,prob,country\n1,0.5,fr\n0,0.2,\n1,7,de\n0,0.4,de\n1,-1,gb\n");
    let sketch = folder.path("a.parquet");
    let how = ["--by", "country", "--invalid", "count"];
    succeed(&[&["sketch", text(&csv), "-o", text(&sketch)], &how[..]].concat());
    let of_rows = results(&[&[text(&csv), "--sigma", "1"], &how[..]].concat());
    for all in [of_rows, results(&[text(&sketch), "--sigma", "1"])] {
        let rows: Vec<_> = all.iter().map(|result| (result["group"].as_str(), result["n"].as_u64().unwrap())).collect();
        assert_eq!(rows, [(None, 3), (Some(""), 1), (Some("de"), 1), (Some("fr"), 1)]);
        assert_eq!(all[0]["input"]["left_out"], serde_json::json!({"invalid probability": 2}));
    }
    assert!(succeed(&["measure", text(&csv), "--by", "country", "--invalid", "count"]).contains("(none)"));
}

#[test]
fn many_small_groups_stay_small() {
    let folder = Folder::new();
    let row = |row: usize| format!("{},{},user{}\n", row % 2, (row % 997) as f64 / 996.0, row % 20_000);
    let csv = folder.write("users.csv", "label,prob,user\n".to_owned() + &(0..60_000).map(row).collect::<String>());
    let sketch = folder.path("users.parquet");
    let said = succeed(&["sketch", text(&csv), "--by", "user", "-o", text(&sketch)]);
    assert!(said.contains("60,000 rows in 20,000 groups by user"), "{said}");
    let size = std::fs::metadata(&sketch).unwrap().len();
    assert!(size < 20_000 * 400, "{size}");
}

#[test]
fn what_cannot_be_sketched_or_merged_is_refused() {
    let folder = Folder::new();
    let csv = folder.write("a.csv", "label,prob,other,g\n1,0.5,0.5,x\n0,0.2,0.4,y\n");
    let out = folder.path("out.calipers");
    let (a, plain, grouped, finer) =
        (text(&csv), folder.path("plain.calipers"), folder.path("grouped.parquet"), folder.path("bins.calipers"));
    succeed(&["sketch", a, "-o", text(&plain)]);
    succeed(&["sketch", a, "--by", "g", "-o", text(&grouped)]);
    succeed(&["sketch", a, "--n-bins", "20", "-o", text(&finer)]);
    let o = ["-o", text(&out)];
    let fails = |args: &[&str], text: &str| assert_fails(&[args, &o].concat(), text);
    fails(
        &["sketch", a, "--prob", "prob", "--prob", "other"],
        "a sketch has one model, got --prob prob and --prob other: make one for each",
    );
    let rule = format!("{}: sketches of groups are rows of Parquet: name the file .parquet", out.display());
    fails(&["sketch", a, "--by", "g"], &rule);
    fails(&["merge", text(&grouped)], &rule);
    fails(&["sketch", a, "--smallest-sigma", "0"], "smallest_sigma must be in [1e-9, 1e6], got 0");
    fails(&["sketch", a, "--n-bins", "0"], &format!("{a}: n_bins must be from 1 to 10000 in a sketch, got 0"));
    fails(
        &["sketch", text(&plain)],
        &format!("{}: is already a sketch; calipers merge combines sketches", plain.display()),
    );
    fails(&["merge", a], &format!("{a}: bytes must be a calipers sketch: they do not begin with \"calipers\""));
    let unlike = format!("{}: sketches must have the same groups to be merged, got none and g", grouped.display());
    fails(&["merge", text(&plain), text(&grouped)], &unlike);
    let unlike = format!("{}: sketches must have the same n_bins to be merged, got [10, 15] and [20]", finer.display());
    fails(&["merge", text(&plain), text(&finer)], &unlike);
    assert!(!out.exists());
}

/// Whatever byte is changed, a sketch is refused: never a panic. Parquet has no checksum of keys,
/// so that those may be other ones.
#[test]
fn damaged_sketches_are_refused() {
    let folder = Folder::new();
    let csv = folder.write("a.csv", rows(0..200, 3));
    for (by, name) in [(&[][..], "a.calipers"), (&["--by", "g"], "a.parquet")] {
        let path = folder.path(name);
        succeed(&[&["sketch", text(&csv), "-o", text(&path)], by].concat());
        let bytes = std::fs::read(&path).unwrap();
        let changed = (0..bytes.len()).step_by(bytes.len() / 40).map(|place| {
            let mut bytes = bytes.clone();
            bytes[place] ^= 0x55;
            bytes
        });
        let cut = (1..20).map(|part| bytes[..bytes.len() * part / 20].to_vec());
        for damaged in changed.chain(cut).chain([[&bytes[..], b"x"].concat()]) {
            let path = folder.write("damaged.calipers", damaged);
            let run = crate::support::calipers(&["measure", text(&path), "--floor", "never"]);
            if !by.is_empty() && run.code == Some(0) {
                continue;
            }
            let start = format!("calipers: {}: ", path.display());
            assert!(run.stderr.starts_with(&start) && run.stderr.lines().count() == 1, "{run:?}");
            assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
        }
    }
}

#[test]
fn many_files_are_read_at_once_and_give_the_bytes_and_refusals_of_one_after_the_other() {
    let folder = Folder::new();
    for file in 0..20 {
        folder.write(&format!("day-{file:02}.csv"), rows(100 * file..100 * (file + 1), 5));
    }
    let pattern = folder.path("day-*.csv");
    let sketch = |threads: &str| {
        let out = folder.path(&format!("{threads}.parquet"));
        succeed(&["sketch", text(&pattern), "--by", "g", "--threads", threads, "-o", text(&out)]);
        std::fs::read(out).unwrap()
    };
    let one = sketch("1");
    assert_eq!(sketch("2"), one);
    assert_eq!(sketch("3"), one);
    let together = |threads: &str| succeed(&["measure", text(&pattern), "--together", "--json", "--threads", threads]);
    assert_eq!(together("2"), together("1"));

    for file in [11, 3, 12] {
        folder.write(&format!("day-{file:02}.csv"), "label,prob,g\n1,1.5,0\n");
    }
    let first = folder.path("day-03.csv");
    for threads in ["1", "2"] {
        let out = folder.path("bad.parquet");
        let refusal = format!("{}: probability in line 2 must be in [0, 1], got 1.5", first.display());
        assert_fails(&["sketch", text(&pattern), "--by", "g", "--threads", threads, "-o", text(&out)], &refusal);
        assert!(!out.exists());
    }
}

#[test]
fn what_is_left_without_a_part_has_the_bytes_of_the_other_rows() {
    let folder = Folder::new();
    let a = folder.write("a.csv", rows(0..3_000, 5));
    // One group more, which is only here.
    let b = folder.write("b.csv", rows(3_000..9_000, 5) + "1,0.25,only here\n");
    for (by, extension) in [(&[][..], "calipers"), (&["--by", "g"], "parquet")] {
        let sketch = |name: &str, file: &Path| {
            let path = folder.path(&format!("{name}.{extension}"));
            succeed(&[&["sketch", text(file)], by, &["-o", text(&path)]].concat());
            path
        };
        let (first, second) = (sketch("first", &a), sketch("second", &b));
        let [both, rest] = ["both", "rest"].map(|name| folder.path(&format!("{name}.{extension}")));
        succeed(&["merge", text(&first), text(&second), "-o", text(&both)]);
        succeed(&["merge", text(&both), "--minus", text(&second), "-o", text(&rest)]);
        assert_eq!(std::fs::read(&rest).unwrap(), std::fs::read(&first).unwrap());
        let reason = match by.is_empty() {
            true => "a sketch that is subtracted must be part of the other: rows of a cell in it are not in the other",
            false => "g \"only here\" is not among the groups to take it out of",
        };
        let args = ["merge", text(&first), "--minus", text(&second), "-o", text(&rest)];
        assert_fails(&args, &format!("{}: {reason}", second.display()));
    }
}

#[test]
fn the_monitoring_profile_is_small_and_answers_with_its_bound() {
    let folder = Folder::new();
    let file = folder.write("a.csv", rows(0..10_000, 5));
    let (small, exact) = (folder.path("small.calipers"), folder.path("exact.calipers"));
    succeed(&["sketch", text(&file), "--profile", "monitoring", "-o", text(&small)]);
    succeed(&["sketch", text(&file), "-o", text(&exact)]);
    assert!(std::fs::metadata(&small).unwrap().len() <= 10_000);
    let value = |path: &Path| {
        let found = results(&[text(path), "--measure", "ls_ece", "--sigma", "0.3"]);
        let found = &found[0]["ls_ece"];
        (found["value"].as_f64().unwrap(), found["numerical_bound"].as_f64().unwrap())
    };
    let ((coarse, bound), (fine, _)) = (value(&small), value(&exact));
    assert!((coarse - fine).abs() <= bound + 1e-6 && bound < 4.4e-4, "{coarse} {fine} {bound}");
    let merged = folder.path("merged.calipers");
    succeed(&["merge", text(&small), text(&exact), "-o", text(&merged)]);
}
