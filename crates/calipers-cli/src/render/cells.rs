//! Cells that several tables have.

use calipers::{Interval, NoiseFloor};

use super::grid::Cell;
use super::number;
use super::screen::Tone;

pub(crate) fn floor(floor: Option<&NoiseFloor>) -> Cell {
    floor.map_or_else(Cell::dash, |floor| Cell::toned(number::plus_minus(floor.mean, floor.deviation), Tone::Quiet))
}

/// A p-value; one of at most `significant` stands out.
pub(crate) fn p_value(p: Option<f64>, significant: f64) -> Cell {
    match p {
        None => Cell::dash(),
        Some(p) if p <= significant + 1e-12 => Cell::toned(number::p_value(p), Tone::Warning),
        Some(p) => number::p_value(p).into(),
    }
}

/// `[0.027, 0.036]`, or `<= 0.036` for an upper limit.
pub(crate) fn interval(interval: &Interval) -> String {
    let decimals = number::decimals(0.5 * (interval.upper - interval.lower));
    match interval.is_upper_limit {
        true => format!("<= {:.decimals$}", interval.upper),
        false => format!("[{:.decimals$}, {:.decimals$}]", interval.lower, interval.upper),
    }
}

/// In place of a value that there is not.
pub(crate) fn error() -> Cell {
    Cell::toned("error", Tone::Quiet)
}
