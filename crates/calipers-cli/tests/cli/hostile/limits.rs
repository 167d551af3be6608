//! Runs of the command that may take 300 MB of memory and 10 s of processor time, and no more.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::Run;

/// The most memory, in units of 1,024 bytes: 300 MB.
const MEMORY: usize = 300_000_000 / 1024;

/// The most processor time, in seconds, and the longest wait for a run that does nothing.
const SECONDS: u64 = 10;
const LONGEST: Duration = Duration::from_secs(120);

/// Runs the command under these limits. A run that takes more memory is aborted where it allocates,
/// one that takes more time by a signal: neither has an exit code.
pub(super) fn run(args: &[&str], folder: &Path) -> Run {
    let script = format!("ulimit -d {MEMORY}; ulimit -t {SECONDS}; exec \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_calipers")]).args(args).current_dir(folder);
    // Files, since a full pipe would stop the command.
    let [stdout, stderr] = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
    let mut child =
        command.stdin(Stdio::null()).stdout(stdout.reopen().unwrap()).stderr(stderr.reopen().unwrap()).spawn().unwrap();
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if start.elapsed() > LONGEST {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let [stdout, stderr] = [stdout, stderr].map(|file| std::fs::read_to_string(file.path()).unwrap());
    Run { code, stdout, stderr }
}
