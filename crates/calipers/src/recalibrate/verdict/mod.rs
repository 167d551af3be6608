//! Is there anything to fix, does a map help, which one, and what is left?
//!
//! ```text
//! cross_fit, _classes, _sketches      gain on new rows out of fold -> improvement
//! folds                               which rows are held out together
//! gain, line                          the interval of a gain
//! drawn, class_floor                  the gain that a calibrated model would seem to have
//! left                                LS-ECE before, and out of fold after
//! choose, _classes -> trials          the method that the rows support -> choice
//! held_out                            the gain of a given map on rows of another file
//! decompose                           what of a proper score is miscalibration
//! ```

mod choice;
mod choose;
mod choose_classes;
mod class_floor;
pub(crate) mod cross_fit;
pub(crate) mod cross_fit_classes;
mod cross_fit_sketches;
mod decompose;
pub(crate) mod drawn;
pub(crate) mod folds;
pub(crate) mod gain;
pub(crate) mod held_out;
pub(crate) mod improvement;
mod left;
pub(crate) mod line;
mod trials;

pub use choice::{Candidate, Choice};
pub use choose::Choose;
pub use cross_fit::CrossFit;
pub use cross_fit_sketches::SketchImprovement;
pub use decompose::{Decompose, Decomposition};
pub use drawn::GainFloor;
pub use folds::fold_of;
pub use held_out::{HeldOut, HeldOutGain};
pub use improvement::{GainInterval, Improvement, Verdict};
pub use left::Left;
