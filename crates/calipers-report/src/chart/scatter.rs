//! A scatter chart of two quantities on one scale: both axes have the same ends, and the diagonal
//! shows where the two are equal. The area of a mark grows with its number of rows.

use std::fmt::Write;

use super::layout::{Pixels, x_ticks};
use super::mark::{Mark, RADII, Radius};
use super::text::{escaped, shortened, width};
use super::ticks::Ticks;
use super::{Axis, Scale};
use crate::number::count;

/// The width of the drawing. Pages draw it from about 0.65 to 1.35 times as large.
const WIDTH: f64 = 520.0;
/// The size of letters for which there is space; a page makes them smaller in a wide window.
const LETTER: f64 = 16.0;
/// The size of letters for which [`x_ticks`] looks for space.
const SMALL: f64 = 12.0;
/// The space above the plot, and at least that to its right.
const MARGIN: f64 = 14.0;
/// The distance of numbers from their axis.
const BELOW: f64 = 8.0;
/// The width of the strip beside a logarithmic axis, for values that it cannot show.
const STRIP: f64 = 24.0;
/// A scatter chart. Marks with a value that is not finite are left out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scatter {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) marks: Vec<Mark>,
}

/// Where values are on both axes.
struct Places {
    ticks: Ticks,
    left: f64,
    top: f64,
    /// The length of both axes.
    side: f64,
    /// The width of the strip for values that a logarithmic axis cannot show.
    strip: f64,
}

impl Places {
    /// The distance from the start of an axis.
    fn along(&self, value: f64) -> f64 {
        match self.ticks.place(value) {
            Some(place) => self.strip + place.clamp(0.0, 1.0) * (self.side - self.strip),
            None => self.strip / 2.0,
        }
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.along(value)
    }

    fn y(&self, value: f64) -> f64 {
        self.top + self.side - self.along(value)
    }
}

/// Appends to the text. Writing to a string cannot fail.
macro_rules! put {
    ($svg:expr, $($format:tt)*) => {{ let _ = write!($svg, $($format)*); }};
}

impl Scatter {
    /// The marks that can be drawn.
    pub(crate) fn drawn(&self) -> impl Iterator<Item = &Mark> {
        let is_known = |value: f64| Scale::Linear.shows(value);
        self.marks.iter().filter(move |mark| is_known(mark.x) && is_known(mark.y))
    }

    /// The chart inside a page, with linear or logarithmic axes. Zeros and negative values are at
    /// the start of a logarithmic axis.
    pub(crate) fn svg(&self, scale: Scale) -> String {
        // Large marks first, so that they do not cover small ones.
        let mut marks: Vec<&Mark> = self.drawn().collect();
        marks.sort_by_key(|mark| std::cmp::Reverse(mark.n));
        let radius = Radius::new(marks.iter().map(|mark| mark.n));
        let places = self.places(scale, &marks);
        let Places { left, top, side, .. } = places;
        let bottom = top + side;
        // Below the numbers and the name of the axis.
        let sizes_at = bottom + BELOW + 3.1 * LETTER + RADII.1;
        let height = sizes_at + RADII.1 + 8.0;

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" fill=\"var(--ink)\" \
             font-size=\"{SMALL}\">\n<title>{}</title>\n<desc>Scatter chart of {} against {}, {} marks. The table \
             below has the values.</desc>\n",
            Pixels(WIDTH),
            Pixels(height),
            escaped(&self.title),
            escaped(&self.y),
            escaped(&self.x),
            marks.len(),
        );
        self.frame(&mut svg, &places, marks.iter().any(|mark| mark.x.min(mark.y) < 0.0));
        let (across, up) = (left + side / 2.0, top + side / 2.0);
        let name = |text: &str| escaped(&shortened(text, LETTER, side));
        // Distances in letters, since the page chooses the size of letters.
        put!(
            svg,
            "<text class=\"name\" x=\"{}\" y=\"{}\" dy=\"2.4em\" text-anchor=\"middle\">{}</text>\n",
            Pixels(across),
            Pixels(bottom + BELOW),
            name(&self.x)
        );
        put!(
            svg,
            "<text class=\"name up\" x=\"{LETTER}\" y=\"{}\" text-anchor=\"middle\" transform=\"rotate(-90 {LETTER} {})\">{}</text>\n",
            Pixels(up),
            Pixels(up),
            name(&self.y)
        );
        for mark in &marks {
            let outline = mark.shape.outline(places.x(mark.x), places.y(mark.y), radius.of(mark.n));
            put!(
                svg,
                "<path class=\"mark k{}\" data-place=\"{}\" d=\"{outline}\"><title>{}</title></path>\n",
                mark.colour,
                mark.place,
                escaped(&mark.title)
            );
        }
        put!(svg, "<circle class=\"ring\" r=\"0\" visibility=\"hidden\"/>\n");
        sizes(&mut svg, &marks, radius, left, sizes_at);
        svg.push_str("</svg>\n");
        svg
    }

    fn places(&self, scale: Scale, marks: &[&Mark]) -> Places {
        let values = || marks.iter().flat_map(|mark| [mark.x, mark.y]);
        let mut axis = Axis { scale, ..Axis::linear("").from_zero() };
        if scale == Scale::Log && !values().any(|value| scale.shows(value)) {
            axis = axis.range(0.001, 1.0);
        }
        let has_strip = scale == Scale::Log && values().any(|value| !scale.shows(value));
        let strip = if has_strip { STRIP } else { 0.0 };
        // Labels are at most as wide as 120, so that most of the drawing is the plot.
        let left_of = |ticks: &Ticks| {
            let widest = ticks.major.iter().map(|(_, label)| width(label, LETTER)).fold(48.0, f64::max);
            1.5 * LETTER + widest.min(120.0) + BELOW
        };
        let side_of = |ticks: &Ticks| {
            let last = ticks.major.last().map_or(0.0, |(_, label)| width(label, LETTER));
            WIDTH - left_of(ticks) - MARGIN.max(last.min(120.0) / 2.0 + 2.0)
        };
        let ticks = x_ticks(&axis, values, |ticks| (side_of(ticks) - strip) * SMALL / LETTER);
        Places { left: left_of(&ticks), side: side_of(&ticks), ticks, top: MARGIN, strip }
    }

    /// Grid, axes with numbers, the strip and the diagonal.
    fn frame(&self, svg: &mut String, places: &Places, has_negative: bool) {
        let Places { ticks, left, top, side, strip } = places;
        let (right, bottom) = (left + side, top + side);
        if *strip > 0.0 {
            let [x, y, from, to, wide] = [*left, *top, bottom - strip, right, *strip].map(Pixels);
            put!(svg, "<path class=\"zeros\" d=\"M{x} {y}h{wide}V{from}H{to}v{wide}H{x}Z\"/>\n");
            let label = if has_negative { "≤ 0" } else { "0" };
            let middle = strip / 2.0;
            put!(svg, "{}", x_label(left + middle, bottom, label));
            put!(svg, "{}", y_label(*left, bottom - middle, label));
        }
        let (mut grid, mut marks) = (String::new(), String::new());
        for (value, label) in &ticks.major {
            let (x, y) = (places.x(*value), places.y(*value));
            put!(
                grid,
                "M{} {}V{}M{} {}H{}",
                Pixels(x),
                Pixels(*top),
                Pixels(bottom),
                Pixels(*left),
                Pixels(y),
                Pixels(right)
            );
            put!(marks, "M{} {}v5M{} {}h-5", Pixels(x), Pixels(bottom), Pixels(*left), Pixels(y));
            put!(svg, "{}", x_label(x, bottom, label));
            put!(svg, "{}", y_label(*left, y, label));
        }
        for value in &ticks.minor {
            let (x, y) = (places.x(*value), places.y(*value));
            put!(marks, "M{} {}v3M{} {}h-3", Pixels(x), Pixels(bottom), Pixels(*left), Pixels(y));
        }
        put!(marks, "M{} {}V{}H{}", Pixels(*left), Pixels(*top), Pixels(bottom), Pixels(right));
        put!(svg, "<path class=\"grid\" d=\"{grid}\"/>\n<path class=\"axes\" d=\"{marks}\"/>\n");
        put!(
            svg,
            "<path class=\"diagonal\" d=\"M{} {}L{} {}\"/>\n",
            Pixels(left + strip),
            Pixels(bottom - strip),
            Pixels(right),
            Pixels(*top)
        );
    }
}

fn x_label(x: f64, bottom: f64, label: &str) -> String {
    format!(
        "<text x=\"{}\" y=\"{}\" dy=\"0.85em\" text-anchor=\"middle\">{}</text>\n",
        Pixels(x),
        Pixels(bottom + BELOW),
        escaped(label)
    )
}

fn y_label(left: f64, y: f64, label: &str) -> String {
    format!(
        "<text x=\"{}\" y=\"{}\" dy=\"0.35em\" text-anchor=\"end\">{}</text>\n",
        Pixels(left - BELOW),
        Pixels(y),
        escaped(label)
    )
}

/// Circles of a few numbers of rows in one line, with the numbers.
fn sizes(svg: &mut String, marks: &[&Mark], radius: Radius, left: f64, y: f64) {
    let space = |n: &u64| 2.0 * radius.of(*n) + 5.0 + width(&count(*n), LETTER) + 14.0;
    let start = left + width("Rows", LETTER) + 12.0;
    let mut shown = examples(marks);
    if shown.len() > 2 && start + shown.iter().map(space).sum::<f64>() > WIDTH {
        shown.remove(1);
    }
    let at = Pixels(y);
    put!(svg, "<text x=\"{}\" y=\"{at}\" dy=\"0.35em\">Rows</text>\n", Pixels(left));
    let mut x = start;
    for n in shown {
        let r = radius.of(n);
        put!(svg, "<circle class=\"size\" cx=\"{}\" cy=\"{at}\" r=\"{}\"/>", Pixels(x + r), Pixels(r));
        let beside = Pixels(x + 2.0 * r + 5.0);
        put!(svg, "<text x=\"{beside}\" y=\"{at}\" dy=\"0.35em\">{}</text>\n", count(n));
        x += space(&n);
    }
}

/// The least, the middle and the greatest number of rows with one digit, without repetition.
fn examples(marks: &[&Mark]) -> Vec<u64> {
    let numbers = || marks.iter().map(|mark| mark.n.max(1));
    let (Some(least), Some(most)) = (numbers().min(), numbers().max()) else { return Vec::new() };
    let middle = (least as f64 * most as f64).sqrt();
    let one_digit = |n: f64| {
        let power = 10f64.powf(n.log10().floor());
        ((n / power).round() * power).round() as u64
    };
    let mut shown = [least as f64, middle, most as f64].map(one_digit).to_vec();
    shown.dedup();
    shown
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    fn mark(n: u64, x: f64, y: f64) -> Mark {
        Mark { place: 0, x, y, n, colour: 0, shape: Shape::Circle, title: String::new() }
    }

    fn places(scale: Scale, marks: &[Mark]) -> Places {
        let scatter = Scatter { title: String::new(), x: "x".to_owned(), y: "y".to_owned(), marks: marks.to_vec() };
        scatter.places(scale, &marks.iter().collect::<Vec<_>>())
    }

    #[test]
    fn both_axes_have_one_scale_and_equal_values_are_on_the_diagonal() {
        let marks = [mark(1, 0.0, 0.2), mark(1, 3e-4, 0.5)];
        for scale in [Scale::Log, Scale::Linear] {
            let places = places(scale, &marks);
            for value in [0.0, 3e-4, 0.01, 0.5] {
                let along = (places.x(value) - places.left, places.top + places.side - places.y(value));
                assert!((along.0 - along.1).abs() < 1e-9, "{scale:?} {value}: {along:?}");
                assert!((0.0..=places.side).contains(&along.0), "{scale:?} {value}: {along:?}");
            }
        }
    }

    #[test]
    fn zeros_are_in_the_strip_of_a_logarithmic_axis_and_before_all_other_values() {
        let marks = [mark(1, 0.0, 1e-4), mark(1, -0.1, 0.5)];
        let log = places(Scale::Log, &marks);
        assert!(log.along(0.0) > 0.0 && log.along(0.0) < log.strip && log.strip <= log.along(1e-4));
        assert_eq!(log.along(-0.1), log.along(0.0));
        let without = places(Scale::Log, &marks[..0]);
        assert_eq!((without.strip, places(Scale::Linear, &marks).strip), (0.0, 0.0));
        assert!(places(Scale::Linear, &marks).along(-0.1) < places(Scale::Linear, &marks).along(0.0));
    }

    #[test]
    fn sizes_have_one_digit() {
        let shown = |numbers: &[u64]| {
            let marks: Vec<Mark> = numbers.iter().map(|n| mark(*n, 0.1, 0.1)).collect();
            examples(&marks.iter().collect::<Vec<_>>())
        };
        assert_eq!(shown(&[569, 1797, 482_000]), [600, 20_000, 500_000]);
        assert_eq!(shown(&[800, 800]), [800]);
        assert_eq!(shown(&[]), [] as [u64; 0]);
    }
}
