//! Measures that are neither LS-ECE nor binned, one file each.

mod corp;
mod cumulative;
mod distance;
mod isotonic;
mod kernel;
mod pooled;
mod scores;
mod tcal;

pub use corp::{Corp, CorpDecomposition, IsotonicCurve, ProperScore};
pub use cumulative::{CumulativeCalibrationError, CumulativeCurve, CumulativeStatistic};
pub use distance::{LowerDistance, SmoothCalibrationError, SmoothWitness, SurrogateIntervalCalibrationError};
pub use kernel::KernelCalibrationError;
pub use scores::{BrierScore, LogLoss};
pub use tcal::TCal;
