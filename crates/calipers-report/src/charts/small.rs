//! A small diagram without numbers: the curve, its band and the diagonal in a square.

use std::fmt::Write;

use super::{by_rows, is_seen};
use crate::chart::escaped;
use crate::gather::Smoothed;

const SIDE: f64 = 120.0;

/// The diagram as SVG. Screen readers read the title. The line is thin where it rests on few rows.
pub(crate) fn small(title: &str, diagram: &Smoothed) -> String {
    let curve = &diagram.curve;
    let place = |p: f64, rate: f64| format!("{:.1},{:.1}", SIDE * p, SIDE * (1.0 - rate));
    let line = |run: &[usize], values: &[f64]| {
        run.iter().map(|at| place(curve.probabilities[*at], values[*at])).collect::<Vec<String>>()
    };
    let (mut bands, mut lines) = (String::new(), String::new());
    let seen: Vec<usize> = (0..curve.probabilities.len()).filter(|place| is_seen(diagram, *place)).collect();
    for run in seen.chunk_by(|a, b| a + 1 == *b) {
        let (upper, mut lower) = (line(run, &diagram.band.upper), line(run, &diagram.band.lower));
        lower.reverse();
        let points = [upper, lower].concat().join(" ");
        let _ = write!(bands, "<polygon points=\"{points}\" fill=\"var(--c0)\" fill-opacity=\"0.18\"/>");
    }
    for (rates, width) in by_rows(curve, &diagram.rows_nearby).iter().zip(["2", "0.8"]) {
        let drawn: Vec<usize> = (0..rates.len()).filter(|place| !rates[*place].is_nan()).collect();
        for run in drawn.chunk_by(|a, b| a + 1 == *b) {
            let points = line(run, rates).join(" ");
            let _ = write!(
                lines,
                "<polyline points=\"{points}\" fill=\"none\" stroke=\"var(--c0)\" stroke-width=\"{width}\" \
                 stroke-linejoin=\"round\" stroke-linecap=\"round\"/>"
            );
        }
    }
    format!(
        "<svg viewBox=\"-2 -2 {side} {side}\" role=\"img\"><title>{title}</title>\
         <rect width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"var(--grid)\"/>\
         <path d=\"M0 {SIDE}L{SIDE} 0\" stroke=\"var(--axis)\" stroke-dasharray=\"1.5 3.5\"/>\
         {bands}{lines}</svg>",
        side = SIDE + 4.0,
        title = escaped(title),
    )
}
