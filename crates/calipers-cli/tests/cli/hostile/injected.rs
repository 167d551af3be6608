//! Runs of the command in which a call of the C library fails, or ends the process: see `faults.c`.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What happens at a call, by the name that `faults.c` has for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) kind: &'static str,
    /// Counted from 1; at 0 nothing happens.
    pub(super) number: usize,
}

/// How a run ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ended {
    /// Success, or exit code 2 with one line: nothing else may come of a fault.
    pub(super) fn is_answer_or_error(&self) -> bool {
        match self.code {
            Some(0) => true,
            Some(2) => {
                self.stdout.is_empty() && self.stderr.starts_with("calipers: ") && self.stderr.lines().count() == 1
            }
            _ => false,
        }
    }
}

/// The compiled `faults.c`, made once for all tests of the process.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/hostile/faults.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{}.so", std::process::id()));
        let mut compile = Command::new("cc");
        compile.args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source);
        assert!(compile.arg("-ldl").status().expect("cc, which `make check-tools` asks for").success());
        library
    })
}

/// The command with a fault at a call on files under a folder.
pub(super) fn command(args: &[String], under: &Path, fault: Fault) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_calipers"));
    command.args(args).env("LD_PRELOAD", library()).env("CALIPERS_FAULT_UNDER", under);
    command.env("CALIPERS_FAULT", format!("{}:{}", fault.kind, fault.number)).stdin(Stdio::null());
    command
}

pub(super) fn run(args: &[String], under: &Path, fault: Fault) -> Ended {
    ended(command(args, under, fault).output().unwrap())
}

pub(super) fn ended(output: std::process::Output) -> Ended {
    Ended {
        code: output.status.code(),
        signal: output.status.signal(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// How many calls a run makes that faults of this kind count.
pub(super) fn n_calls(args: &[String], under: &Path, kind: &'static str) -> usize {
    let count = tempfile::NamedTempFile::new().unwrap();
    let mut command = command(args, under, Fault { kind, number: 0 });
    let done = ended(command.env("CALIPERS_FAULT_COUNT", count.path()).output().unwrap());
    assert!(matches!(done.code, Some(0 | 1)), "{args:?} {done:?}");
    std::fs::read_to_string(count.path()).unwrap().parse().unwrap()
}

/// Numbers of calls at which a fault is tried: every one, or the first, the last and some between.
pub(super) fn moments(n_calls: usize, most: usize) -> Vec<usize> {
    assert!(n_calls > 0);
    let mut moments: Vec<usize> = match n_calls <= most {
        true => (1..=n_calls).collect(),
        false => (0..most).map(|step| 1 + step * (n_calls - 1) / (most - 1)).collect(),
    };
    moments.dedup();
    moments
}
