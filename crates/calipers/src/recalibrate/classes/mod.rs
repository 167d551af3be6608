//! Maps of rows of classes.
//!
//! ```text
//! sample, panel, rows                 rows with clusters, in an order of their own, and one row
//! map                                 ClassMap: any of the following as a value
//! fit                                 Recalibrate::fit_classes, and temperature scaling
//! ensemble                            weights of three predictions
//! scaling/                            bias-corrected temperature, vector and matrix scaling
//! one_vs_rest                         binary maps of each class against the rest
//! ```

pub(crate) mod ensemble;
pub(crate) mod fit;
pub(crate) mod map;
pub(crate) mod one_vs_rest;
pub(crate) mod panel;
pub(crate) mod rows;
pub(crate) mod sample;
pub(crate) mod scaling;

pub use map::{ClassFormula, ClassMap};
pub use sample::ClassSample;
