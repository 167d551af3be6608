//! How much of a figure can be trusted: its noise floor, a p-value, an interval and a value with the bias removed, for any measure.
//!
//! ```text
//! Estimator -> Resampler -> NoiseFloor (outcomes drawn from the predictions)  -> p-value -\
//!                        -> Bootstrap  (rows drawn with replacement)          -> Interval  -> Assessment
//!                        -> influence deviation                               -> Debias   -/
//! ```
//! LS-ECE has a resampler of its own whose cost does not grow with the number of rows; every other measure is asked again for each resample.

mod assess;
mod bootstrap;
mod debias;
mod floor;
mod interval;
mod resampler;
mod rows;
mod sentence;

pub use assess::{Assess, Assessment};
pub use bootstrap::Bootstrap;
pub use debias::Debias;
pub use floor::NoiseFloor;
pub use interval::{Interval, IntervalMethod};
pub use resampler::Resampler;
pub(crate) use resampler::check_level;
pub use rows::RowResampler;
