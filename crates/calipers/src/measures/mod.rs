//! The measures, one file or folder each: its definition, its name and options, and what a sketch
//! answers.

pub(crate) mod binned;
pub(crate) mod clinical;
pub(crate) mod corp;
pub(crate) mod cox;
pub(crate) mod cumulative;
pub(crate) mod distance;
mod isotonic;
pub(crate) mod kde;
pub(crate) mod kernel;
pub(crate) mod ls_ece;
pub(crate) mod prelude;
mod probabilities;
mod reflected;
mod reflected_draws;
mod relplot;
pub(crate) mod scores;
pub(crate) mod smooth_ece;
pub(crate) mod spline;
pub(crate) mod tcal;

pub use binned::{Bin, BinnedEce, Compat, DebiasedEce, NBins, Norm, Strategy, SweepEce};
pub use clinical::{CalibrationIndex, CalibrationIndices, IndexStatistic, Loess, ObservedExpected};
pub use corp::{Corp, CorpDecomposition, IsotonicCurve, ProperScore};
pub use cox::{CoxCalibration, CoxCoefficient, CoxFit};
pub use cumulative::{CumulativeCalibrationError, CumulativeCurve, CumulativeStatistic};
pub use distance::{LowerDistance, SmoothCalibrationError, SmoothWitness, SurrogateIntervalCalibrationError};
pub(crate) use isotonic::isotonic;
pub use kde::{Bandwidth, BetaKdeEce, CanonicalKdeEce, KdeEce, KdeKernel};
pub use kernel::KernelCalibrationError;
pub use ls_ece::{LsCurve, LsEce, LsEceSampled, Sigma};
pub(crate) use probabilities::{Group, Pooled, Probabilities, running_sums, split_key};
pub use scores::{BrierScore, LogLoss, ScaleByHalf};
pub use smooth_ece::{SmoothEce, SmoothMethod, SmoothSigma, Smoothing};
pub use spline::{SplineCalibrationError, SplineCurve};
pub use tcal::TCal;
