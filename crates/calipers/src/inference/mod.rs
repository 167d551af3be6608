//! Uncertainty of any measure: the noise floor, a p-value, an interval, and a value with the bias
//! removed.
//!
//! ```text
//! Measure -> Resampler -> NoiseFloor (outcomes drawn from the predictions)  -> p-value -\
//!                        -> Bootstrap  (rows drawn with replacement)          -> Interval  -> Assessment
//!                        -> influence deviation                               -> Debias   -/
//! ```
//! Many groups or classes: their p-values are adjusted for their number (`adjust.rs`), with more
//! draws where these matter (`floor.rs`, `tail.rs`); the worst of them has a p-value of its own
//! (`worst.rs`).
//! Two or more models on the same rows: their draws share the rows, or their influence values are
//! subtracted row by row (`compare.rs`). LS-ECE has a resampler of its own whose cost does not grow
//! with the number of rows; every other measure is asked again for each resample.

mod adjust;
mod assess;
pub mod bands;
mod bootstrap;
mod bracket;
pub mod calibration_tests;
mod cells;
mod classwise;
mod clusters;
mod compare;
mod debias;
mod difference;
mod direction;
mod drift;
mod floor;
mod interval;
mod loss_draws;
mod mean_loss;
mod monitor;
mod parts;
mod per_class;
mod resampler;
mod rows;
mod segments;
mod sentence;
mod tail;
mod threshold;
mod worst;

pub use adjust::{Adjust, holm};
pub use assess::{Assess, Assessment};
pub use bootstrap::Bootstrap;
pub use bracket::{Bracket, RowBracket, RowEnd};
pub(crate) use bracket::{Enclosure, End, Likeness, Places};
pub use cells::Cells;
pub(crate) use cells::{CellResampler, CellTable, CellWeights, FEW_ROWS};
pub(crate) use classwise::ClasswiseResampler;
pub(crate) use clusters::deviation_of_sums;
pub use clusters::{Clusters, CorrelatedOutcomes};
pub use compare::{Compare, Comparison, Pair};
pub use debias::Debias;
pub use direction::{Direction, Region, most_of_all};
pub use drift::{Change, CommonCurve, CurveChange, Drift, Origin};
pub use floor::NoiseFloor;
pub use interval::{Interval, IntervalMethod};
pub(crate) use loss_draws::LossDraws;
pub(crate) use mean_loss::MeanLoss;
pub use monitor::{Look, Monitor, Onset, WindowValue, e_value_text};
pub use parts::{Confidence, Part, PartBracket, PartBrackets, Parts};
pub use per_class::ClassAssessment;
pub(crate) use resampler::check_level;
pub use resampler::{RareDraws, Resampler, SecondTest};
pub use rows::RowResampler;
pub use segments::{AssessedSegments, Segment, Segments};
pub use sentence::p_value_text;
pub(crate) use sentence::{digits, p_value, percent, signed};
pub use threshold::Against;
pub use worst::{FindWorst, Standing, Worst};
