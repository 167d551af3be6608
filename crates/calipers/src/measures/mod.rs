//! Measures that are neither LS-ECE nor binned, one file each.

mod scores;

pub use scores::{BrierScore, LogLoss};
