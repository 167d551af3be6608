//! Recalibration: maps that repair probabilities, and whether they do.
//!
//! ```text
//! Recalibrate -> fit -> Fit { map, parameters with standard errors, proven bound, notes }
//! ```

mod classes;
mod cross_fit;
mod drawn;
mod fit;
mod folds;
mod formula;
mod gain;
mod improvement;
mod linear;
mod map;
mod method;
mod newton;
mod options;
mod rows;
mod slope;
mod table;

pub use classes::ClassMap;
pub use cross_fit::CrossFit;
pub use drawn::GainFloor;
pub use fit::{Band, Fit, Note, Parameter};
pub use improvement::{GainInterval, Improvement, Verdict};
pub use map::BinaryMap;
pub use method::Method;
pub use newton::FitBound;
pub use options::Recalibrate;
pub use table::{Between, Table};
