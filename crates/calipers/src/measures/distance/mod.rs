//! Distance from calibration, and what is within a constant of it: the three measures of Blasiok,
//! Gopalan, Hu and Nakkiran.

mod certificate;
mod chain;
mod interior;
mod interval;
mod kinks;
mod lower;
mod smooth;

pub(crate) use interval::SURROGATE_INTERVAL;
pub use interval::SurrogateIntervalCalibrationError;
pub(crate) use lower::LOWER;
pub use lower::LowerDistance;
pub(crate) use smooth::SMOOTH;
pub use smooth::{SmoothCalibrationError, SmoothWitness};
