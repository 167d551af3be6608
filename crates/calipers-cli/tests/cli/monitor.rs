//! `calipers monitor`: folders and tables of window sketches, groups, references, states and pages.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Folder, Run, assert_fails, calipers, succeed};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A hundred forecasts of 0.8 and of 0.3 a window, of which so many come true.
fn rows(of_80: usize, of_30: usize, group: &str) -> String {
    let line = |row: usize, p: &str, positive: usize| format!("{},{p},{group}\n", u8::from(row < positive));
    (0..100).map(|row| line(row, "0.8", of_80) + &line(row, "0.3", of_30)).collect()
}

/// A folder with a sketch of each window; the odds change with the sixth.
fn windows(folder: &Folder, n: usize) -> PathBuf {
    let hours = folder.path("hours");
    std::fs::create_dir_all(&hours).unwrap();
    for hour in 0..n {
        let content = if hour < 5 { rows(80, 30, "a") } else { rows(65, 18, "a") };
        let file = folder.write("rows.csv", format!("label,prob,g\n{content}"));
        succeed(&["sketch", text(&file), "-o", text(&hours.join(format!("hour-{hour:02}.calipers")))]);
    }
    hours
}

fn json(args: &[&str]) -> (Option<i32>, Value) {
    let Run { code, stdout, stderr } = calipers(&[&["monitor"], args, &["--json"]].concat());
    (code, serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}")))
}

#[test]
fn a_change_is_an_alarm_with_exit_code_1_and_an_onset() {
    let folder = Folder::new();
    let hours = windows(&folder, 10);
    let (code, found) = json(&[text(&hours), "--sigma", "0.5", "--n-resamples", "50"]);
    let result = &found["results"][0];
    assert_eq!((code, &found["alarm"], &found["by"]), (Some(1), &Value::Bool(true), &Value::Null));
    assert_eq!(result["onset"]["window"], "hour-05");
    assert!(result["alarm"]["number"].as_u64().is_some_and(|number| (6..=7).contains(&number)), "{result}");
    assert_eq!(result["windows"].as_array().map(Vec::len), Some(10));
    assert!(result["windows"][0]["value"]["floor"].as_f64().is_some_and(|floor| floor > 0.0));

    let Run { code, stdout, .. } = calipers(&["monitor", text(&hours), "--n-resamples", "0"]);
    assert!(code == Some(1) && stdout.starts_with("Alarm at window hour-0"), "{stdout}");
    assert!(stdout.contains("It began about window hour-05"), "{stdout}");
    let (code, found) = json(&[text(&windows(&Folder::new(), 4))]);
    assert!(code == Some(0) && found["results"][0]["alarm"].is_null());
}

#[test]
fn a_state_goes_on_where_it_was_and_passes_over_what_it_has_seen() {
    let (folder, other) = (Folder::new(), Folder::new());
    let state = other.path("state.json");
    let few = windows(&folder, 5);
    let run = |hours: &Path| json(&[text(hours), "--state", text(&state), "--n-resamples", "0"]);
    assert_eq!(run(&few).0, Some(0));
    assert_eq!(run(&few).1["results"][0]["n_windows"], 5);
    let all = windows(&folder, 10);
    let (code, resumed) = run(&all);
    let (_, whole) = json(&[text(&all), "--n-resamples", "0"]);
    assert_eq!(code, Some(1));
    assert_eq!(resumed, whole);
    let refusal = format!(
        "{}: was made with --alpha 0.05 --margin 0, which cannot change in the life of a monitor",
        state.display()
    );
    assert_fails(&["monitor", text(&all), "--state", text(&state), "--alpha", "0.01"], &refusal);
    std::fs::write(&state, "{}").unwrap();
    let refusal = format!("{}: text must be the state of a calipers monitor: \"what\" is missing", state.display());
    assert_fails(&["monitor", text(&all), "--state", text(&state)], &refusal);
}

#[test]
fn a_table_has_a_column_of_windows_and_groups_share_alpha() {
    let folder = Folder::new();
    let hours = folder.path("hours");
    std::fs::create_dir(&hours).unwrap();
    for hour in 0..9 {
        let changed = if hour < 5 { rows(80, 30, "b") } else { rows(62, 15, "b") };
        let content = format!("label,prob,g\n{}{changed}", rows(80, 30, "a"));
        let file = folder.write("rows.csv", &content);
        succeed(&["sketch", text(&file), "--by", "g", "-o", text(&hours.join(format!("{hour}.parquet")))]);
    }
    let (code, found) = json(&[text(&hours), "--n-resamples", "0"]);
    assert_eq!((code, &found["by"]), (Some(1), &Value::from("g")));
    let of = |group: usize, key: &str| found["results"][group][key].clone();
    assert_eq!((of(0, "group"), of(1, "group")), ("a".into(), "b".into()));
    assert_eq!((of(0, "alpha"), of(0, "alarm")), (0.025.into(), Value::Null));
    assert_eq!(found["results"][1]["onset"]["window"], "5");

    // One file whose groups are windows.
    let one = hours.join("0.parquet");
    let (code, found) = json(&[text(&one), "--window", "g", "--n-resamples", "0"]);
    assert_eq!((code, &found["results"][0]["n_windows"]), (Some(0), &Value::from(2)));
    let refusal = format!(
        "{}: has no column \"window_start\"; name the column of windows with --window: there are g",
        one.display()
    );
    assert_fails(&["monitor", text(&one)], &refusal);
    let refusal = format!("{}: has no column \"day\" of windows; there are g", one.display());
    assert_fails(&["monitor", text(&one), "--window", "day"], &refusal);
    let refusal = "--state is for windows without groups; keep a state in Python, or look at all windows";
    assert_fails(&["monitor", text(&hours), "--state", text(&folder.path("state.json"))], refusal);
    assert!(!folder.path("state.json").exists());
}

#[test]
fn a_reference_makes_a_miscalibrated_model_the_expected_one() {
    let folder = Folder::new();
    let hours = folder.path("hours");
    std::fs::create_dir(&hours).unwrap();
    for hour in 0..16 {
        let content = if hour < 12 { rows(65, 18, "a") } else { rows(95, 60, "a") };
        let file = folder.write("rows.csv", format!("label,prob,g\n{content}"));
        succeed(&["sketch", text(&file), "-o", text(&hours.join(format!("{hour:02}.calipers")))]);
    }
    let (_, found) = json(&[text(&hours), "--n-resamples", "0"]);
    assert_eq!(found["results"][0]["onset"]["window"], "00");
    let (code, found) = json(&[text(&hours), "--n-resamples", "0", "--reference-windows", "8"]);
    let result = &found["results"][0];
    assert_eq!((code, &result["n_windows"], &result["n_reference"]), (Some(1), &8.into(), &1600.into()));
    assert_eq!(result["onset"]["window"], "12");
    let reference = folder.path("reference.calipers");
    let first = hours.join("0[0-7].calipers");
    succeed(&["merge", text(&first), "-o", text(&reference)]);
    let (_, same) = json(&[text(&hours), "--n-resamples", "0", "--reference", text(&reference)]);
    assert_eq!(same["results"][0]["n_windows"], 16);
    assert_eq!(same["results"][0]["onset"]["window"], "12");
    let refusal = "--reference-windows must be from 1 to 15, got 16";
    assert_fails(&["monitor", text(&hours), "--reference-windows", "16"], refusal);
}

#[test]
fn a_page_is_written_whole_and_names_the_alarm() {
    let folder = Folder::new();
    let hours = windows(&folder, 8);
    let page = folder.path("page.html");
    let Run { code, .. } =
        calipers(&["monitor", text(&hours), "--sigma", "0.5", "--n-resamples", "50", "--report", text(&page)]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(code == Some(1) && html.starts_with("<!DOCTYPE html>") && html.contains("since about hour-05"), "{code:?}");
    let inside = hours.join("page.html");
    let Run { code, stderr, .. } = calipers(&["monitor", text(&hours), "--report", text(&inside)]);
    assert!(code == Some(2) && stderr.contains("must not be an input too"), "{stderr}");
    assert!(!inside.exists());
}

#[test]
fn rows_and_weighted_sketches_are_errors() {
    let folder = Folder::new();
    let file = folder.write("rows.csv", "label,prob,w\n1,0.9,2\n0,0.2,1\n");
    let refusal = format!("{}: is no sketch; make one of each window with calipers sketch", file.display());
    assert_fails(&["monitor", text(&file)], &refusal);
    let missing = folder.path("hours");
    assert_fails(&["monitor", text(&missing)], &format!("{}: no such file", missing.display()));
    let sketch = folder.path("w.calipers");
    succeed(&["sketch", text(&file), "--weight", "w", "-o", text(&sketch)]);
    let refusal = "window w: weights must be left out of a monitor, whose rows count equally, got some";
    assert_fails(&["monitor", text(&sketch), "--n-resamples", "0"], refusal);
    assert_fails(&["monitor", text(&sketch), "--alpha", "2"], "alpha must be in [1e-12, 0.5], got 2");
}
