//! Runs targets on random changes of their seeds, without feedback and without an engine.
//!
//! `mutate TARGET SECONDS [SEED] [FOLDER ...]` prints how many inputs were run; the folders are
//! corpora beside `seeds/` and `regressions/`. An input that fails is written to
//! `fuzz/found/TARGET`, and the exit code is 1. `mutate list` prints the targets and the most bytes
//! of their inputs. It runs several times as many inputs in a second as
//! libFuzzer does, and so is for what libFuzzer's corpus has already reached. A run with the same
//! seed, files and number of inputs is the same run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use calipers_fuzz::{Target, files_of, found, mutation::Mutation};

/// Inputs between two looks at the clock.
const BATCH: u64 = 256;

fn main() -> ExitCode {
    calipers_fuzz::keep_damage_quiet();
    calipers_fuzz::work_on_this_thread();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["list"] {
        calipers_fuzz::all().iter().for_each(|target| println!("{} {}", target.name, target.max_len));
        return ExitCode::SUCCESS;
    }
    let [name, seconds, rest @ ..] = &arguments[..] else {
        eprintln!("usage: mutate TARGET SECONDS [SEED] [FOLDER ...], or mutate list");
        return ExitCode::from(2);
    };
    let (Some(target), Ok(seconds)) = (calipers_fuzz::named(name), seconds.parse()) else {
        let names: Vec<&str> = calipers_fuzz::all().iter().map(|target| target.name).collect();
        eprintln!("TARGET must be one of {}, and SECONDS a whole number", names.join(", "));
        return ExitCode::from(2);
    };
    let seed = rest.first().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let folders: Vec<PathBuf> = rest.iter().skip(1).map(PathBuf::from).collect();
    run(target, Duration::from_secs(seconds), seed, &folders)
}

fn run(target: &Target, limit: Duration, seed: u64, folders: &[PathBuf]) -> ExitCode {
    let mut corpus = files_of(target, folders);
    corpus.retain(|file| file.len() <= target.max_len);
    let mut mutation = Mutation::new(seed);
    let (start, mut n_inputs) = (Instant::now(), 0u64);
    let mut input = Vec::new();
    while start.elapsed() < limit {
        for _ in 0..BATCH {
            mutation.change(&corpus, target.max_len, &mut input);
            if catch_unwind(AssertUnwindSafe(|| target.check(&input))).is_err() {
                eprintln!("{}: input {n_inputs} of seed {seed} is {}", target.name, found(target, &input));
                return ExitCode::FAILURE;
            }
            n_inputs += 1;
        }
    }
    println!("{} {n_inputs}", target.name);
    ExitCode::SUCCESS
}
