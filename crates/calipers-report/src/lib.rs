//! The drawing part of calipers: a report as one HTML page, and charts as SVG. All values come from
//! [`calipers`]; this crate computes none, and no other part of the project draws.
//!
//! ```text
//! rows or sketches -> gather (calls the core) -> Values -> charts (values -> Chart) -> chart (Chart -> SVG)
//!                                                     -> page (HTML with the charts, and the values as JSON)
//! ```

mod chart;
mod charts;
mod gather;
pub mod number;
mod page;
mod setters;

pub use chart::{Axis, BLACK, Band, Chart, PALETTE, Rule, Scale, Series, Stroke};
pub use charts::sweep_chart;
pub use gather::{
    Candidate, Changed, Compared, Corp, Cumulative, Drifted, Finding, Groups, MapCurve, Measured, Model, ModelValues,
    Options, Origin, Outcome, Overlay, Part, Parts, Recalibrated, Recalibration, Reliability, Report, Smoothed, Source,
    Spread, SweepValues, Values,
};
pub use page::{Detail, ModelPoint, ModelsPage, models_page, monitor_page};
