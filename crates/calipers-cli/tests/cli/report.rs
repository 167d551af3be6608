//! `calipers report`: one page from files of every kind, and nothing where it cannot be made.

use std::fs;

use serde_json::Value;

use crate::support::{Folder, assert_fails, calipers, succeed};

const ROWS: &str = "p,q,label,group\n0.9,0.8,1,a\n0.2,0.3,0,a\n0.6,0.5,0,b\n0.7,0.9,1,b\n0.4,0.3,1,a\n0.1,0.2,0,b\n";

fn json(html: &str) -> Value {
    let (_, after) = html.split_once("id=\"calipers-data\"").unwrap();
    let (_, after) = after.split_once('>').unwrap();
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_has_the_figures_of_assess_and_the_same_bytes_each_time() {
    let folder = Folder::new();
    let (csv, html) = (folder.write("rows.csv", ROWS), folder.path("report.html"));
    let (csv, html) = (csv.to_str().unwrap(), html.to_str().unwrap());
    let args = ["report", csv, "--prob", "p", "--n-resamples", "100", "-o", html];
    let said = succeed(&args);
    assert!(said.contains("report.html: 1 model, "), "{said}");
    let page = fs::read_to_string(html).unwrap();
    let assessed = succeed(&["assess", csv, "--prob", "p", "--n-resamples", "100", "--json"]);
    let assessed: Value = serde_json::from_str(&assessed).unwrap();
    let figures = &json(&page)["models"][0];
    for measure in ["ls_ece", "expected_calibration_error"] {
        let (ours, theirs) = (&figures["measures"][measure], &assessed["results"][0]["measures"][measure]);
        assert_eq!(ours["value"], theirs["value"], "{measure}");
        assert_eq!(ours["sentence"], theirs["sentence"], "{measure}");
        assert_eq!(ours["floor"]["p_value"], theirs["p_value"], "{measure}");
    }
    succeed(&args);
    assert_eq!(page, fs::read_to_string(html).unwrap());
}

#[test]
fn models_and_groups_are_named_as_elsewhere_and_charts_are_saved() {
    let folder = Folder::new();
    let (csv, html, svg) = (folder.write("rows.csv", ROWS), folder.path("report.html"), folder.path("charts"));
    let (html, svg) = (html.to_str().unwrap(), svg.to_str().unwrap());
    let args = ["--prob", "p", "--prob", "q", "--by", "group", "--n-resamples", "100", "-o", html, "--svg", svg];
    succeed(&[&["report", csv.to_str().unwrap()], &args[..]].concat());
    let figures = json(&fs::read_to_string(html).unwrap());
    assert_eq!((&figures["models"][0]["name"], &figures["models"][1]["name"]), (&"p".into(), &"q".into()));
    assert_eq!(figures["pairs"].as_array().unwrap().len(), 1);
    assert_eq!(figures["models"][1]["groups"]["parts"].as_array().unwrap().len(), 2);
    let mut names: Vec<String> =
        fs::read_dir(svg).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names.len(), 13, "{names:?}");
    assert!(names.contains(&"reliability_smoothed_1_p.svg".to_owned()), "{names:?}");
}

#[test]
fn files_of_other_rows_stand_side_by_side_without_being_compared() {
    let folder = Folder::new();
    let first = folder.write("first.csv", "prob,label\n0.9,1\n0.2,0\n");
    let second = folder.write("second.csv", "prob,label\n0.9,1\n0.2,1\n");
    let html = folder.path("report.html");
    let files = [first.to_str().unwrap(), second.to_str().unwrap()];
    succeed(&["report", files[0], files[1], "--n-resamples", "100", "-o", html.to_str().unwrap()]);
    let page = fs::read_to_string(html).unwrap();
    assert!(json(&page)["pairs"].is_null());
    assert!(page.contains("have the labels 0 and 1 in line 3"), "the reason");
}

/// A page is shared, so it has no folders of the machine and no more digits than people read.
#[test]
fn a_page_has_no_folders_and_no_long_numbers() {
    let folder = Folder::new();
    let first = folder.write("first.csv", "prob,label\n0.9,1\n0.2,0\n");
    let second = folder.write("second.csv", "prob,label\n0.9,1\n0.2,1\n");
    let html = folder.path("report.html");
    let (first, second, html) = (first.to_str().unwrap(), second.to_str().unwrap(), html.to_str().unwrap());
    succeed(&["report", first, second, "--n-resamples", "100", "-o", html]);
    let page = fs::read_to_string(html).unwrap();
    let folder = std::path::Path::new(first).parent().unwrap().to_str().unwrap();
    assert!(!page.contains(folder), "{folder}");
    assert!(page.contains("calipers report first.csv second.csv --n-resamples 100 -o report.html"));
    assert!(page.contains("first.csv and second.csv have the labels"));
}

#[test]
fn a_sketch_is_shown_like_rows() {
    let folder = Folder::new();
    let (csv, sketch) = (folder.write("rows.csv", ROWS), folder.path("rows.parquet"));
    let (csv, sketch) = (csv.to_str().unwrap(), sketch.to_str().unwrap());
    succeed(&["sketch", csv, "--prob", "p", "--by", "group", "-o", sketch]);
    let html = folder.path("report.html");
    succeed(&["report", sketch, "--n-resamples", "100", "-o", html.to_str().unwrap()]);
    let figures = &json(&fs::read_to_string(html).unwrap())["models"][0];
    assert_eq!(figures["from_sketch"], true);
    assert_eq!(figures["groups"]["by"], "group");
    let measured: Value =
        serde_json::from_str(&succeed(&["assess", csv, "--prob", "p", "--n-resamples", "100", "--json"])).unwrap();
    let exact = measured["results"][0]["measures"]["ls_ece"]["value"].as_f64().unwrap();
    assert!((figures["measures"]["ls_ece"]["value"].as_f64().unwrap() - exact).abs() < 3e-6);
}

#[test]
fn what_cannot_be_made_leaves_what_was_there() {
    let folder = Folder::new();
    let bad = folder.write("bad.csv", "prob,label\n0.9,1\n1.2,0\n");
    let html = folder.write("report.html", "old");
    let (bad, html) = (bad.to_str().unwrap(), html.to_str().unwrap());
    assert_fails(&["report", bad, "-o", html], &format!("{bad}: probability in line 3 must be in [0, 1], got 1.2"));
    assert_eq!(fs::read_to_string(html).unwrap(), "old");
    assert_fails(&["report", bad, "-o", bad], &format!("{bad}: must not be an input too, got {bad}"));
    let nowhere = folder.path("no/such/folder.html");
    let run = calipers(&["report", bad, "-o", nowhere.to_str().unwrap()]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("no such folder"), "{}", run.stderr);
}

/// Classes that the model is as good as sure of: their draws had infinite quotients once.
#[test]
fn classes_that_are_as_good_as_sure_have_a_page() {
    let folder = Folder::new();
    let html = folder.path("digits.html");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits_naive_bayes.npz");
    let args = ["report", file, "--limit", "400", "--n-resamples", "100", "-o", html.to_str().unwrap()];
    assert!(succeed(&args).contains("digits.html: 1 model, "));
}

#[test]
fn options_of_rows_are_refused_where_there_are_only_sketches() {
    let folder = Folder::new();
    let (csv, sketch) = (folder.write("rows.csv", ROWS), folder.path("rows.calipers"));
    let (csv, sketch, html) = (csv.to_str().unwrap(), sketch.to_str().unwrap(), folder.path("page.html"));
    succeed(&["sketch", csv, "--prob", "p", "-o", sketch]);
    let run = calipers(&["report", sketch, "--limit", "2", "-o", html.to_str().unwrap()]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("--limit is for rows, which sketches do not have"), "{}", run.stderr);
    assert!(!html.exists());
}
