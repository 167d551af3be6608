//! Hostile files and injected faults: an answer or an error of one line, in bounded memory and
//! time, and files that are whole.
//!
//! Tests that are ignored take minutes; `make test-hostile` runs them.

#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod injected;
#[cfg(target_os = "linux")]
mod interrupted_writes;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod read_faults;
#[cfg(target_os = "linux")]
mod write_faults;
#[cfg(target_os = "linux")]
mod writers;
