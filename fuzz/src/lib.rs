//! Fuzz targets: bytes of others -> a decoder of calipers -> properties that must hold.
//!
//! ```text
//! bytes -> Target::check -> decoder -> an error, or what was read -> properties, else a panic
//!             Spent: memory and time of the call, which are limited by the number of bytes
//! ```
//! The targets know no engine. `main.rs` runs one of them under libFuzzer, `bin/mutate.rs` on
//! random changes, and `tests/replay.rs` runs all of them on the files of `seeds/` and
//! `regressions/`. README.md has the commands.

mod bytes;
mod files;
pub mod mutation;
mod spent;
mod target;
mod targets;

pub use files::{files_of, found};
pub use target::{Limit, Target};

/// All targets; those of the command are last.
pub fn all() -> Vec<&'static Target> {
    targets::all()
}

/// The target of that name.
pub fn named(name: &str) -> Option<&'static Target> {
    all().into_iter().find(|target| target.name == name)
}

/// Keeps panics quiet that the readers of the command turn into errors.
pub fn keep_damage_quiet() {
    #[cfg(feature = "command")]
    calipers_cli::fuzzing::keep_damage_quiet();
}

/// Makes all later calls work on the thread that calls this, the main one of an engine: inputs are
/// so small that waking other threads takes longer than the work. With `CALIPERS_FUZZ_THREADS`, so
/// many threads share the work instead.
pub fn work_on_this_thread() {
    let n_threads = std::env::var("CALIPERS_FUZZ_THREADS").ok().and_then(|text| text.parse().ok());
    let pool = match n_threads {
        None => rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread(),
        Some(n_threads) => rayon::ThreadPoolBuilder::new().num_threads(n_threads),
    };
    // An error only where there is a pool already, which then does the work.
    let _ = pool.build_global();
}
