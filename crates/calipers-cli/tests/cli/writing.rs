//! Written files appear whole or not at all.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Folder, assert_fails, json, succeed};

const ROWS: &str = "label,prob\n1,0.5\n0,0.25\n";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_kill_in_the_middle_leaves_the_old_file() {
    let folder = Folder::new();
    let small = folder.write("small.csv", ROWS);
    let long: String = (0..2_000_000).map(|row| format!("{},{}\n", row % 2, f64::from(row % 999) / 999.0)).collect();
    let long = folder.write("long.csv", "label,prob\n".to_owned() + &long);
    let out = folder.path("out.calipers");
    succeed(&["sketch", text(&small), "-o", text(&out)]);
    let old = std::fs::read(&out).unwrap();
    let mut n_killed = 0;
    for milliseconds in [1, 5, 20, 40, 80] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_calipers"))
            .args(["sketch", text(&long), "-o", text(&out)])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        // SIGKILL, which no program can answer.
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        n_killed += 1;
        assert_eq!(std::fs::read(&out).unwrap(), old);
        assert_eq!(json(&out, &[])["n"], 2);
    }
    assert!(n_killed > 0);
    succeed(&["sketch", text(&long), "-o", text(&out)]);
    assert_eq!(json(&out, &[])["n"], 2_000_000);
}

#[test]
fn a_failure_leaves_the_old_file_and_no_other() {
    let folder = Folder::new();
    let good = folder.write("good.csv", ROWS);
    let bad = folder.write("bad.csv", "label,prob\n1,7\n");
    let out = folder.write("out.calipers", "what was there before");
    let refusal = format!("{}: probability in line 2 must be in [0, 1], got 7", bad.display());
    assert_fails(&["sketch", text(&good), text(&bad), "-o", text(&out)], &refusal);
    assert_eq!(std::fs::read(&out).unwrap(), b"what was there before");
    assert_eq!(folder.names(), ["bad.csv", "good.csv", "out.calipers"]);
    succeed(&["sketch", text(&good), "-o", text(&out)]);
    assert_eq!(folder.names(), ["bad.csv", "good.csv", "out.calipers"]);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_anything_is_read() {
    let folder = Folder::new();
    let csv = folder.write("a.csv", ROWS);
    let absent = folder.path("absent/out.calipers");
    assert_fails(
        &["sketch", "no.csv", "-o", text(&absent)],
        &format!("{}: cannot write: no such folder", absent.display()),
    );
    let directory = folder.path("");
    let refusal = format!("{}: is a directory, not a file", directory.display());
    assert_fails(&["sketch", text(&csv), "-o", text(&directory)], &refusal);
    let refusal = "/dev/null: is a device or a pipe, which cannot be replaced by a file";
    assert_fails(&["sketch", text(&csv), "-o", "/dev/null"], refusal);
    let refusal =
        "-: must be a file, since it appears whole or not at all, got standard output (./- is a file of that name)";
    assert_fails(&["sketch", text(&csv), "-o", "-"], refusal);
    let input = format!("{0}: must not be an input too, got {0}", csv.display());
    assert_fails(&["sketch", text(&csv), "-o", text(&csv)], &input);
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), ROWS);
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_refused_and_links_stay_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    let csv = folder.write("a.csv", ROWS);
    let (target, link) = (folder.write("target.calipers", "old"), folder.path("link.calipers"));
    symlink(&target, &link).unwrap();
    succeed(&["sketch", text(&csv), "-o", text(&link)]);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(json(&target, &[])["n"], 2);

    let closed = folder.path("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    let out = closed.join("out.calipers");
    // The superuser may write anywhere.
    if std::fs::write(closed.join("probe"), "").is_err() {
        let refusal = format!("{}: cannot write: permission denied", out.display());
        assert_fails(&["sketch", text(&csv), "-o", text(&out)], &refusal);
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
}
