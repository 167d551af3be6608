//! Ctrl-C leaves nothing half-written, and a closed pipe is no error, whatever the verb.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Desk, Folder, succeed};

const SIGINT: i32 = 2;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn interrupt(child: &mut Child) {
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
}

/// A file whose reading takes long enough to be interrupted.
fn long(folder: &Folder) -> std::path::PathBuf {
    let rows: String = (0..1_500_000).map(|row| format!("{},{}\n", row % 2, f64::from(row % 999) / 999.0)).collect();
    folder.write("long.csv", "label,prob\n".to_owned() + &rows)
}

#[test]
fn an_interrupted_sketch_leaves_the_old_file_and_no_other() {
    let folder = Folder::new();
    let (small, long) = (folder.write("small.csv", "label,prob\n1,0.5\n0,0.25\n"), long(&folder));
    let out = folder.path("out.calipers");
    succeed(&["sketch", text(&small), "-o", text(&out)]);
    let old = std::fs::read(&out).unwrap();
    let mut n_interrupted = 0;
    for milliseconds in [5, 30, 60, 120] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_calipers"))
            .args(["sketch", text(&long), "-o", text(&out)])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        interrupt(&mut child);
        let status = child.wait().unwrap();
        if status.success() {
            break;
        }
        n_interrupted += 1;
        // Ended by the signal, so that a shell ends its loop, too.
        assert_eq!(status.signal(), Some(SIGINT));
        assert_eq!(std::fs::read(&out).unwrap(), old);
        assert_eq!(folder.names(), ["long.csv", "out.calipers", "small.csv"]);
    }
    assert!(n_interrupted > 0);
}

#[test]
fn an_interrupt_removes_the_copy_of_standard_input() {
    let folder = Folder::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_calipers"))
        .args(["measure", "-", "--format", "csv"])
        .env("TMPDIR", folder.path(""))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all("label,prob\n1,0.5\n".repeat(1000).as_bytes()).unwrap();
    input.flush().unwrap();
    let start = Instant::now();
    while folder.names().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "no copy was made");
        std::thread::sleep(Duration::from_millis(5));
    }
    interrupt(&mut child);
    assert_eq!(child.wait().unwrap().signal(), Some(SIGINT));
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn an_interrupted_study_leaves_no_page() {
    let folder = Folder::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_calipers"))
        .args(["study", "estimators", "--quick", "--out", text(&folder.path("pages"))])
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&mut child);
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(SIGINT));
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn a_closed_pipe_is_no_error_for_any_verb() {
    let desk = Desk::new();
    let cases = [
        "measure breast_cancer.csv --prob mlp",
        "measure breast_cancer.csv --prob mlp --all --floor never",
        "assess breast_cancer.csv --prob mlp --n-resamples 40",
        "sweep breast_cancer.csv --prob mlp",
        "compare breast_cancer.csv --prob mlp --prob naive_bayes --n-resamples 40",
        "check breast_cancer.csv --prob mlp --max ls-ece=0.5 --n-resamples 40",
        "list",
        "sketch breast_cancer.csv --prob mlp -o a.calipers",
        "merge a.calipers -o b.calipers",
        "study",
        "study two-point --quick --out pages",
        "inspect breast_cancer.csv",
        "completions bash",
        "man measure",
        "measure --help",
    ];
    for line in cases {
        for n_lines in [0, 1] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_calipers"))
                .args(line.split(' '))
                .current_dir(desk.path(""))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut output = BufReader::new(child.stdout.take().unwrap());
            // As `head -1` does; or as a reader that is gone before there is anything to read.
            for _ in 0..n_lines {
                output.read_line(&mut String::new()).unwrap();
            }
            drop(output);
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{line}");
        }
    }
}
