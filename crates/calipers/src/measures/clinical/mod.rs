//! Measures of clinical prediction models: the observed / expected ratio, and the gaps of a
//! smoothed curve.

mod indices;
mod loess;
mod observed_expected;

pub use indices::{CalibrationIndex, CalibrationIndices, IndexStatistic};
pub(crate) use indices::{E50, E90, EMAX, ICI};
pub use loess::Loess;
pub(crate) use observed_expected::ENTRY as OBSERVED_EXPECTED;
pub use observed_expected::ObservedExpected;
