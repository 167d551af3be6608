//! `-` is standard input, in any format.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use parquet::basic::Compression;
use serde_json::Value;
use std::sync::Arc;

use crate::support::{Array, Folder, Run, json};

const ROWS: [(i64, f64); 4] = [(1, 0.5), (0, 0.25), (1, 0.75), (0, 0.125)];

/// The command with these bytes on standard input, and the temporary files that it leaves.
fn piped(bytes: &[u8], args: &[&str]) -> (Run, usize) {
    let temporary = Folder::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_calipers"))
        .args(args)
        .env("TMPDIR", temporary.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that refuses at once does not wait for its input.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    let output = child.wait_with_output().unwrap();
    let run = Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    (run, temporary.names().len())
}

fn text(delimiter: char) -> String {
    let rows: String = ROWS.iter().map(|(label, prob)| format!("{label}{delimiter}{prob}\n")).collect();
    format!("label{delimiter}prob\n{rows}")
}

#[test]
fn every_format_is_known_by_its_first_bytes() {
    let folder = Folder::new();
    let columns = [
        ("label", Arc::new(Int64Array::from_iter_values(ROWS.map(|(label, _)| label))) as ArrayRef),
        ("prob", Arc::new(Float64Array::from_iter_values(ROWS.map(|(_, prob)| prob)))),
    ];
    let arrays = [
        ("probs", Array::Double(vec![4], ROWS.map(|(_, prob)| prob).to_vec())),
        ("labels", Array::Integers(vec![4], ROWS.map(|(label, _)| label).to_vec())),
    ];
    let lines: String =
        ROWS.iter().map(|(label, prob)| format!("{{\"label\": {label}, \"prob\": {prob}}}\n")).collect();
    let csv = folder.write("a.csv", text(','));
    let sketch = folder.path("a.calipers");
    crate::support::succeed(&["sketch", csv.to_str().unwrap(), "-o", sketch.to_str().unwrap()]);
    let read = |path: &Path| std::fs::read(path).unwrap();
    let formats = [
        ("csv", read(&csv)),
        ("tsv", text('\t').into_bytes()),
        ("jsonl", lines.into_bytes()),
        ("parquet", read(&folder.parquet("a.parquet", &columns, Compression::SNAPPY))),
        ("arrow", read(&folder.arrow("a.arrow", &columns, None))),
        ("arrow", read(&folder.arrow_stream("stream.arrow", &columns))),
        ("npz", read(&folder.npz("a.npz", &arrays))),
        ("sketch", read(&sketch)),
    ];
    let expected = json(&csv, &["--sigma", "0.5"]);
    for (format, bytes) in formats {
        for args in [&["--sigma", "0.5"][..], &["--sigma", "0.5", "--format", format]] {
            let (run, n_left) = piped(&bytes, &[&["measure", "-", "--json"], args].concat());
            assert_eq!((run.code, run.stderr.as_str(), n_left), (Some(0), "", 0), "{format}");
            let all: Value = serde_json::from_str(&run.stdout).unwrap();
            let result = &all["results"][0];
            assert_eq!((&result["file"], &result["n"]), (&"-".into(), &4.into()), "{format}");
            let value = |result: &Value| result["measures"]["ls_ece"]["value"].as_f64().unwrap();
            assert!((value(result) - value(&expected)).abs() < 1e-6, "{format}");
        }
    }
}

#[test]
fn people_read_standard_input_and_not_a_temporary_name() {
    let (run, _) = piped(text(',').as_bytes(), &["measure", "-"]);
    assert!(run.stdout.starts_with("measure ") && run.stdout.contains("standard"), "{run:?}");
    let (run, n_left) = piped(b"label,prob\n1,7\n", &["measure", "-"]);
    let stderr = "calipers: standard input: probability in line 2 must be in [0, 1], got 7\n";
    assert_eq!((run.code, run.stderr.as_str(), n_left), (Some(2), stderr, 0));
    let refused = [
        (&b""[..], &["measure", "-"][..], "calipers: standard input: is empty\n"),
        (
            b"[{\"prob\": 1}]",
            &["measure", "-"],
            "calipers: standard input: pass the format with --format: JSON must be one object on each line, got one list\n",
        ),
        (b"a", &["measure", "-", "-"], "calipers: standard input can be read once, got - twice\n"),
    ];
    for (bytes, args, stderr) in refused {
        assert_eq!(piped(bytes, args).0.stderr, stderr);
    }
}

#[test]
fn every_verb_reads_it() {
    let folder = Folder::new();
    let rows = crate::support::answers(600);
    let other = folder.write("other.csv", &rows);
    let (other, out, pages) = (other.to_str().unwrap(), folder.path("a.calipers"), folder.path("pages"));
    let (out, pages) = (out.to_str().unwrap(), pages.to_str().unwrap());
    let cases: [&[&str]; 7] = [
        &["measure", "-"],
        &["assess", "-", "--n-resamples", "40"],
        &["sweep", "-"],
        &["compare", "-", other, "--n-resamples", "40"],
        &["check", "-", "--max", "ls-ece=0.5", "--n-resamples", "40"],
        &["sketch", "-", "-o", out],
        &["study", "images", "--quick", "--out", pages, "-"],
    ];
    for args in cases {
        let (run, n_left) = piped(rows.as_bytes(), args);
        assert_eq!((run.code, n_left), (Some(0), 0), "{args:?} {run:?}");
    }
    let sketch = std::fs::read(out).unwrap();
    let merged = folder.path("merged.calipers");
    assert_eq!(piped(&sketch, &["merge", "-", "-o", merged.to_str().unwrap()]).0.code, Some(0));
    assert_eq!(std::fs::read(&merged).unwrap(), sketch);
}
