#![doc = include_str!("../README.md")]

// Sketches number cells and count rows with 64 bits, and tables are indexed by these numbers.
#[cfg(not(target_pointer_width = "64"))]
compile_error!("calipers needs a system with 64-bit addresses");

mod cells;
mod data;
mod error;
pub mod inference;
pub mod link;
pub mod measure;
mod measures;
mod names;
pub mod noise;
mod numerics;
pub mod population;
pub mod recalibrate;
mod setters;
mod shared;
pub mod simulate;
mod sketch;
mod sweep;
mod watch;

pub use error::Error;

#[doc(hidden)]
pub use data::PlainRows;
pub use data::{
    Asked, BinaryView, Description, Distribution, Distributions, Floats, Form, GroupedRows, Input, InputReport,
    Invalid, Labels, Multiclass, PositiveLabel, Predictions, Rows, Sample, Scale, Tally, Ties,
};
pub use inference::{
    Adjust, Against, Assess, Assessment, Change, CommonCurve, Compare, Comparison, CurveChange, Debias, Drift,
    Interval, IntervalMethod, Look, Monitor, NoiseFloor, Onset, Pair,
};
pub use link::{CLogLog, IntoLink, Link, Logistic, Probit};
pub use measure::{Estimate, Measure, Setting, Settings, Spec, registry};
pub use measures::{
    Bandwidth, BetaKdeEce, Bin, BinnedEce, BrierScore, CalibrationIndex, CalibrationIndices, CanonicalKdeEce, Compat,
    Corp, CorpDecomposition, CoxCalibration, CoxCoefficient, CoxFit, CumulativeCalibrationError, CumulativeCurve,
    CumulativeStatistic, DebiasedEce, IndexStatistic, IsotonicCurve, KdeEce, KdeKernel, KernelCalibrationError, Loess,
    LogLoss, LowerDistance, LsCurve, LsEce, LsEceSampled, NBins, Norm, ObservedExpected, ProperScore, ScaleByHalf,
    Sigma, SmoothCalibrationError, SmoothEce, SmoothMethod, SmoothSigma, SmoothWitness, Smoothing,
    SplineCalibrationError, SplineCurve, Strategy, SurrogateIntervalCalibrationError, SweepEce, TCal,
};
pub use noise::{Epanechnikov, Gaussian, IntoNoise, Laplace, LogisticNoise, Noise, Uniform};
pub use numerics::cubic_spline::RunOut;
pub use numerics::parallel::on_this_thread;
pub use sketch::{Dense, Filling, Profile, Sketch, SketchOptions};
pub use sweep::{Extent, SamplingNoise, Sweep, SweepPoint, SweepResult, TiedJump, Verdict};
pub use watch::{Stopped, Watch};
