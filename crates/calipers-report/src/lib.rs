//! What calipers shows: charts as SVG, written by code of our own. It takes figures from [`calipers`] and computes none;
//! nothing else in the project draws.
//!
//! ```text
//! figures -> Chart (data: axes, series, bands, rules) -> layout (boxes) -> SVG
//! ```

mod chart;
mod sweep;

pub use chart::{Axis, BLACK, Band, Chart, PALETTE, Rule, Scale, Series, Stroke};
pub use sweep::sweep_chart;
