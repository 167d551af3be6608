//! Values -> charts, with one file for each kind of chart.

mod cumulative;
mod distribution;
mod reliability;
mod small;
mod sweep;

pub(crate) use cumulative::cumulative;
pub(crate) use distribution::{distribution, shares};
pub(crate) use reliability::{binned, corp, is_seen, seen, smoothed};
pub(crate) use small::small;
pub use sweep::sweep_chart;
pub(crate) use sweep::sweep_parts;

use crate::chart::Chart;

/// Narrow enough for a phone without much smaller letters. In a wide window, charts are side by
/// side.
const WIDTH: f64 = 420.0;

/// The height at which the plot is a square.
const SQUARE: f64 = 468.0;

const LOW: f64 = 340.0;

fn square(title: impl Into<String>) -> Chart {
    Chart::new(title).size(WIDTH, SQUARE)
}

fn low(title: impl Into<String>) -> Chart {
    Chart::new(title).size(WIDTH, LOW)
}
