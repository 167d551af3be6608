//! Values -> charts, with one file for each kind of chart.

mod cumulative;
mod distribution;
mod drift;
pub(crate) mod monitor;
mod recalibration;
mod reliability;
mod small;
mod sweep;

pub(crate) use cumulative::cumulative;
pub(crate) use distribution::{distribution, is_rare, shares};
pub(crate) use drift::drift;
pub(crate) use recalibration::{before_and_after, is_visible, map};
pub(crate) use reliability::{Axes, binned, by_rows, corp, drawn, is_seen, overlay, seen, smoothed};
pub(crate) use small::small;
pub use sweep::sweep_chart;
pub(crate) use sweep::sweep_parts;

use crate::chart::Chart;

/// The width of reliability diagrams, narrow enough for a phone without much smaller letters.
const WIDTH: f64 = 420.0;

/// The height at which the plot is a square.
const SQUARE: f64 = 468.0;

/// The width and the height of charts of which three are side by side.
const LOW: (f64, f64) = (360.0, 330.0);

fn square(title: impl Into<String>) -> Chart {
    Chart::new(title).size(WIDTH, SQUARE)
}

/// A chart with the size of those that are side by side.
pub(crate) fn low(chart: Chart) -> Chart {
    chart.size(LOW.0, LOW.1)
}
