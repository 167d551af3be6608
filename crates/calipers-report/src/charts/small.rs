//! A diagram so small that many stand on a page: the curve, its band and the diagonal in a square, no numbers.

use std::fmt::Write;

use super::is_seen;
use crate::chart::escaped;
use crate::gather::Moment;

const SIDE: f64 = 120.0;

/// `title` is for those who do not see it.
pub(crate) fn small(title: &str, moment: &Moment) -> String {
    let curve = &moment.curve;
    let place = |p: f64, rate: f64| format!("{:.1},{:.1}", SIDE * p, SIDE * (1.0 - rate));
    let seen: Vec<usize> = (0..curve.probabilities.len()).filter(|place| is_seen(moment, *place)).collect();
    let line = |values: &[f64]| seen.iter().map(|at| place(curve.probabilities[*at], values[*at])).collect::<Vec<_>>();
    let (upper, mut lower) = (line(&moment.band.upper), line(&moment.band.lower));
    lower.reverse();
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg viewBox=\"-2 -2 {side} {side}\" role=\"img\"><title>{title}</title>\
         <rect width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"var(--grid)\"/>\
         <path d=\"M0 {SIDE}L{SIDE} 0\" stroke=\"var(--axis)\" stroke-dasharray=\"1.5 3.5\"/>\
         <polygon points=\"{} {}\" fill=\"var(--c0)\" fill-opacity=\"0.18\"/>\
         <polyline points=\"{}\" fill=\"none\" stroke=\"var(--c0)\" stroke-width=\"2\" stroke-linejoin=\"round\"/></svg>",
        upper.join(" "),
        lower.join(" "),
        line(&curve.outcome_rates).join(" "),
        side = SIDE + 4.0,
        title = escaped(title),
    );
    svg
}
