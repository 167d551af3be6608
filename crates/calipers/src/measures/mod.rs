//! Measures that are neither LS-ECE nor binned, one file each.

mod clinical;
mod cox;
mod kde;
mod probabilities;
mod reflected;
mod relplot;
mod scores;
mod smooth_ece;

pub use clinical::{CalibrationIndex, CalibrationIndices, IndexStatistic, ObservedExpected};
pub use cox::{CoxCalibration, CoxCoefficient, CoxFit};
pub use kde::{Bandwidth, BetaKdeEce, CanonicalKdeEce, KdeEce, KdeKernel};
pub(crate) use probabilities::{Group, Probabilities};
pub use scores::{BrierScore, LogLoss};
pub use smooth_ece::{SmoothEce, SmoothMethod, SmoothSigma, Smoothing};
