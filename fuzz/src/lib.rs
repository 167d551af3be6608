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
