#![doc = include_str!("../README.md")]

pub mod bands;
mod binned;
pub mod calibration_tests;
mod cells;
mod error;
mod estimate;
pub mod link;
mod ls_ece;
mod measures;
pub mod noise;
mod numerics;
pub mod population;
mod predictions;
pub mod significance;
pub mod simulate;
mod sketch;
mod sweep;
mod watch;

pub use binned::{Bin, BinnedEce, Compat, DebiasedEce, NBins, Norm, Strategy, SweepEce};
pub use error::Error;
pub use estimate::{Estimate, Estimator, Setting, Settings};
pub use link::{CLogLog, Link, Logistic, Probit};
pub use ls_ece::{LsCurve, LsEce, LsEceSampled, Sigma};
pub use measures::catalogue;
pub use measures::{
    Bandwidth, BetaKdeEce, BrierScore, CalibrationIndex, CalibrationIndices, CanonicalKdeEce, Corp, CorpDecomposition,
    CoxCalibration, CoxCoefficient, CoxFit, CumulativeCalibrationError, CumulativeCurve, CumulativeStatistic,
    IndexStatistic, IsotonicCurve, KdeEce, KdeKernel, KernelCalibrationError, LogLoss, LowerDistance, ObservedExpected,
    ProperScore, SmoothCalibrationError, SmoothEce, SmoothMethod, SmoothSigma, SmoothWitness, Smoothing,
    SplineCalibrationError, SplineCurve, SurrogateIntervalCalibrationError, TCal,
};
pub use noise::{Epanechnikov, Gaussian, Laplace, LogisticNoise, Noise, Uniform};
pub use numerics::cubic_spline::RunOut;
#[doc(hidden)]
pub use predictions::PlainRows;
pub use predictions::{
    BinaryView, Floats, Form, Input, InputReport, Invalid, Labels, Multiclass, PositiveLabel, Predictions, Rows, Scale,
    Tally, Ties,
};
pub use significance::{
    Against, Assess, Assessment, Compare, Comparison, Debias, Interval, IntervalMethod, NoiseFloor, Pair,
};
pub use sketch::{Dense, Filling, Sketch, SketchOptions};
pub use sweep::{Extent, SamplingNoise, SketchSweep, Sweep, SweepPoint, SweepResult, TiedJump, Verdict};
pub use watch::{Stopped, Watch};
