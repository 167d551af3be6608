#![doc = include_str!("../README.md")]

mod binned;
mod cells;
mod error;
mod estimate;
pub mod link;
mod ls_ece;
mod measures;
pub mod noise;
mod numerics;
mod predictions;
mod sketch;

pub use binned::{Bin, BinnedEce, Compat, NBins, Norm, Strategy};
pub use error::Error;
pub use estimate::{Estimate, Estimator, Setting, Settings};
pub use link::{CLogLog, Link, Logistic, Probit};
pub use ls_ece::{LsCurve, LsEce, LsEceSampled, Sigma};
pub use measures::{
    BrierScore, Corp, CorpDecomposition, CumulativeCalibrationError, CumulativeCurve, CumulativeStatistic,
    IsotonicCurve, KernelCalibrationError, LogLoss, LowerDistance, ProperScore, SmoothCalibrationError, SmoothWitness,
    SurrogateIntervalCalibrationError, TCal,
};
pub use noise::{Epanechnikov, Gaussian, Laplace, LogisticNoise, Noise, Uniform};
#[doc(hidden)]
pub use predictions::PlainRows;
pub use predictions::{
    BinaryView, Floats, Form, Input, InputReport, Invalid, Labels, Multiclass, PositiveLabel, Predictions, Rows, Scale,
    Tally, Ties,
};
pub use sketch::{Filling, Sketch, SketchOptions};
