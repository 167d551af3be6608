//! What calipers shows: a report as one page of HTML, and charts as SVG, both written by code of
//! our own. It takes figures from [`calipers`] and computes none; nothing else in the project
//! draws.
//!
//! ```text
//! rows or sketches -> gather (asks the core) -> Figures -> charts (figures -> Chart) -> chart (boxes -> SVG)
//!                                                      -> page (HTML around them, and their numbers as JSON)
//! ```

mod chart;
mod charts;
mod gather;
pub mod number;
mod page;

pub use chart::{Axis, BLACK, Band, Chart, PALETTE, Rule, Scale, Series, Stroke};
pub use charts::sweep_chart;
pub use gather::{
    Bins, Compared, Corp, Figures, Groups, Measured, Model, ModelFigures, Moment, Options, Origin, Outcome, Part,
    Parts, Reliability, Report, Source, Spread, SweepFigures,
};
