//! Kills and signals while files are written: each file is the old one or the new one, whole, and
//! the next run removes what was left.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::hostile::injected::{self, Fault, moments};
use crate::hostile::writers::{Left, Writer};

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// Files are whole after a kill. The next run that writes there leaves no temporary file, and files
/// that belong together are all old or all new.
fn check_killed(writer: &Writer, context: &str) {
    writer.left(context);
    writer.age();
    writer.write_another();
    let left = writer.left(context);
    assert!(!writer.is_one_folder() || left != Left::Mixed, "{}, {context}: old and new files", writer.name);
    assert_eq!(writer.temporary(), Vec::<std::path::PathBuf>::new(), "{}, {context}", writer.name);
    let again = writer.run_again();
    assert_eq!((again.code, writer.left(context)), (Some(0), Left::AllNew), "{}, {context}", writer.name);
}

fn kill_at(writer: &Writer, number: usize) {
    writer.reset();
    let context = format!("killed at call {number}");
    let ended = writer.run(Fault { kind: "kill", number });
    assert_eq!(ended.signal, Some(SIGKILL), "{}, {context}: {ended:?}", writer.name);
    check_killed(writer, &context);
}

#[test]
fn a_kill_leaves_whole_files() {
    for writer in Writer::all() {
        moments(writer.n_calls(), 4).into_iter().for_each(|number| kill_at(&writer, number));
    }
}

#[test]
#[ignore = "minutes; make test-hostile"]
fn a_kill_at_any_call_leaves_whole_files() {
    let mut n_kills = 0;
    for writer in Writer::all() {
        let n_calls = writer.n_calls();
        (1..=n_calls).for_each(|number| kill_at(&writer, number));
        println!("{}: killed at each of {n_calls} calls", writer.name);
        n_kills += n_calls;
    }
    assert!(n_kills > 200, "{n_kills}");
}

/// Numbers in [0, 1) that look random and are the same in each run.
fn fractions() -> impl Iterator<Item = f64> {
    (1..).map(|number| (f64::from(number) * 0.618_033_988_749_895).fract())
}

/// Kills each verb at moments of time; returns how many runs were not finished by then.
fn kill_by_the_clock(n_of_each: usize) -> usize {
    let mut n_killed = 0;
    for writer in Writer::all() {
        writer.reset();
        let start = Instant::now();
        writer.run(Fault { kind: "kill", number: 0 });
        let takes = start.elapsed();
        for fraction in fractions().take(n_of_each) {
            writer.reset();
            let mut command = injected::command(&writer.args, &writer.out(), Fault { kind: "kill", number: 0 });
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(takes.mul_f64(fraction));
            child.kill().unwrap();
            let is_killed = !child.wait().unwrap().success();
            n_killed += usize::from(is_killed);
            check_killed(&writer, &format!("killed after {fraction:.3} of its time"));
        }
    }
    n_killed
}

#[test]
fn a_kill_by_the_clock_leaves_whole_files() {
    kill_by_the_clock(1);
}

#[test]
#[ignore = "minutes; make test-hostile"]
fn two_hundred_kills_by_the_clock_leave_whole_files() {
    let n_killed = kill_by_the_clock(20);
    println!("{n_killed} runs were killed before their end");
    assert!(n_killed > 200, "{n_killed}");
}

/// Ctrl-C and SIGTERM also remove what is unfinished, at once.
fn signal_at(writer: &Writer, kind: &'static str, signal: i32, number: usize) {
    writer.reset();
    let context = format!("{kind} at call {number}");
    let ended = writer.run(Fault { kind, number });
    let as_expected = ended.signal == Some(signal) || ended.code == Some(0);
    assert!(as_expected, "{}, {context}: {ended:?}", writer.name);
    let left = writer.left(&context);
    assert!(!writer.is_one_folder() || left != Left::Mixed, "{}, {context}: old and new files", writer.name);
    assert!(ended.code != Some(0) || left == Left::AllNew, "{}, {context}: {left:?}", writer.name);
    assert_eq!(writer.temporary(), Vec::<std::path::PathBuf>::new(), "{}, {context}", writer.name);
}

#[test]
fn a_signal_leaves_whole_files_and_no_other() {
    for (place, writer) in Writer::all().enumerate() {
        let (kind, signal) = [("interrupt", SIGINT), ("terminate", SIGTERM)][place % 2];
        moments(writer.n_calls(), 3).into_iter().for_each(|number| signal_at(&writer, kind, signal, number));
    }
}

#[test]
#[ignore = "minutes; make test-hostile"]
fn a_signal_at_any_call_leaves_whole_files_and_no_other() {
    for writer in Writer::all() {
        for number in 1..=writer.n_calls() {
            let (kind, signal) = [("interrupt", SIGINT), ("terminate", SIGTERM)][number % 2];
            signal_at(&writer, kind, signal, number);
        }
    }
}

/// Two runs of a verb at once: each file is that of one of them.
#[test]
fn two_writers_leave_whole_files() {
    for writer in Writer::all() {
        let n_rounds = if writer.is_one_folder() { 2 } else { 3 };
        for round in 0..n_rounds {
            writer.reset();
            let start = || {
                let mut command = injected::command(&writer.args, &writer.out(), Fault { kind: "kill", number: 0 });
                command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
            };
            let first = start();
            std::thread::sleep(Duration::from_millis(7 * round));
            let second = start();
            for child in [first, second] {
                let ended = injected::ended(child.wait_with_output().unwrap());
                assert!(ended.is_answer_or_error(), "{}: {ended:?}", writer.name);
            }
            // The state of the second may go on from that of the first.
            if !writer.new.contains_key("state.json") {
                assert_eq!(writer.left("two writers"), Left::AllNew, "{}", writer.name);
            }
            assert_eq!(writer.temporary(), Vec::<std::path::PathBuf>::new(), "{}", writer.name);
        }
    }
}
