//! Distance from calibration, and what is within a constant of it: the three measures of Blasiok, Gopalan, Hu and Nakkiran.

mod certificate;
mod chain;
mod interior;
mod interval;
mod kinks;
mod lower;
mod smooth;

pub use interval::SurrogateIntervalCalibrationError;
pub use lower::LowerDistance;
pub use smooth::{SmoothCalibrationError, SmoothWitness};
