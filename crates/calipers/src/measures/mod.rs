//! Measures that are neither LS-ECE nor binned, one file each.

pub mod catalogue;
mod clinical;
mod corp;
mod cox;
mod cumulative;
mod distance;
mod isotonic;
mod kde;
mod kernel;
mod probabilities;
mod reflected;
mod relplot;
mod scores;
mod smooth_ece;
mod spline;
mod tcal;

pub use clinical::{CalibrationIndex, CalibrationIndices, IndexStatistic, ObservedExpected};
pub use corp::{Corp, CorpDecomposition, IsotonicCurve, ProperScore};
pub use cox::{CoxCalibration, CoxCoefficient, CoxFit};
pub use cumulative::{CumulativeCalibrationError, CumulativeCurve, CumulativeStatistic};
pub use distance::{LowerDistance, SmoothCalibrationError, SmoothWitness, SurrogateIntervalCalibrationError};
pub(crate) use isotonic::isotonic;
pub use kde::{Bandwidth, BetaKdeEce, CanonicalKdeEce, KdeEce, KdeKernel};
pub use kernel::KernelCalibrationError;
pub(crate) use probabilities::{Group, Probabilities};
pub use scores::{BrierScore, LogLoss};
pub use smooth_ece::{SmoothEce, SmoothMethod, SmoothSigma, Smoothing};
pub use spline::{SplineCalibrationError, SplineCurve};
pub use tcal::TCal;
