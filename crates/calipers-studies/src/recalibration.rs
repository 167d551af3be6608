//! Whether recalibration helps, and whether the verdict on it can be trusted.

pub mod coverage;
mod population;
pub mod risk;
