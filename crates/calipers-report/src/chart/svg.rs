//! A chart as SVG. What lies in the plot is in an inner `svg` element, which cuts what is outside
//! its box without the identifiers that a clip path would need; several charts may stand in one
//! page.

use std::fmt::{Display, Write};

use super::layout::{Anchor, Area, Entry, Layout, SAMPLE, Sample, Text};
use super::text::escaped;
use super::{Band, Chart, PALETTE, Series, Stroke};

const INK: &str = "#222222";
const FRAME: &str = "#888888";
const GRID: &str = "#E3E3E3";
const FONTS: &str = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
/// Lines at the very edge of the plot are drawn whole.
const OVERHANG: f64 = 3.0;
/// Points further out are brought to there: the numbers stay short, and what is seen of their lines
/// hardly turns.
const FAR: f64 = 20_000.0;

/// A number with at most two digits after the point.
struct Pixels(f64);

impl Display for Pixels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Rounded first, and without the sign of a zero.
        let rounded = (self.0 * 100.0).round() / 100.0 + 0.0;
        write!(f, "{rounded}")
    }
}

/// Where colours come from: written out in a file of its own, the page's where a chart stands in
/// one, so that it is dark where the page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colours {
    Fixed,
    Page,
}

impl Colours {
    fn of(self, colour: &'static str) -> &'static str {
        if self == Colours::Fixed {
            return colour;
        }
        match PALETTE.iter().position(|other| *other == colour) {
            Some(0) => "var(--c0)",
            Some(1) => "var(--c1)",
            Some(2) => "var(--c2)",
            Some(3) => "var(--c3)",
            Some(4) => "var(--c4)",
            Some(5) => "var(--c5)",
            Some(_) => "var(--c6)",
            None if colour == INK => "var(--ink)",
            None if colour == FRAME => "var(--axis)",
            None => "var(--grid)",
        }
    }
}

/// Writing to a string cannot fail, so results of `write!` are dropped in this file.
pub(super) fn write(chart: &Chart, layout: &Layout) -> String {
    let mut svg = String::new();
    let (width, height) = (Pixels(layout.width), Pixels(layout.height));
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"{FONTS}\" fill=\"{INK}\">"
    );
    let _ = writeln!(svg, "<title>{}</title>", escaped(&chart.title));
    let _ = writeln!(svg, "<desc>{}</desc>", escaped(&description(chart)));
    let _ = writeln!(svg, "<rect width=\"{width}\" height=\"{height}\" fill=\"#FFFFFF\"/>");
    let colours = Colours::Fixed;
    grid(&mut svg, layout, colours);
    plot(&mut svg, chart, layout, colours, "");
    markers(&mut svg, chart, layout, colours, "");
    surroundings(&mut svg, layout, colours);
    svg.push_str("</svg>\n");
    svg
}

/// Charts that share their layout, as the moments of one: all are there, and the page shows one of
/// them, `shown` at first.
pub(super) fn write_inline(charts: &[Chart], shown: usize, layout: &Layout) -> String {
    let mut svg = String::new();
    let Some(first) = charts.first() else { return svg };
    let (width, height) = (Pixels(layout.width), Pixels(layout.height));
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FONTS}\" \
         fill=\"var(--ink)\">"
    );
    let _ = writeln!(svg, "<title>{}</title>", escaped(&first.title));
    let _ = writeln!(svg, "<desc>{}</desc>", escaped(&description(first)));
    let colours = Colours::Page;
    grid(&mut svg, layout, colours);
    for (number, chart) in charts.iter().enumerate() {
        let moment = match (charts.len(), number == shown) {
            (1, _) => String::new(),
            (_, true) => format!(" data-moment=\"{number}\""),
            (_, false) => format!(" data-moment=\"{number}\" style=\"display:none\""),
        };
        plot(&mut svg, chart, layout, colours, &moment);
        markers(&mut svg, chart, layout, colours, &moment);
    }
    let Area { top, height, .. } = layout.plot;
    let _ = writeln!(
        svg,
        "<line class=\"cursor\" y1=\"{}\" y2=\"{}\" stroke=\"var(--ink)\" stroke-width=\"1\" visibility=\"hidden\"/>",
        Pixels(top),
        Pixels(top + height)
    );
    surroundings(&mut svg, layout, colours);
    svg.push_str("</svg>\n");
    svg
}

/// What lies in the plot, but for dots.
fn plot(svg: &mut String, chart: &Chart, layout: &Layout, colours: Colours, attributes: &str) {
    let inside = Inside { layout, colours };
    let plot = layout.plot;
    let _ = writeln!(
        svg,
        "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{attributes}>",
        Pixels(plot.left - OVERHANG),
        Pixels(plot.top - OVERHANG),
        Pixels(plot.width + 2.0 * OVERHANG),
        Pixels(plot.height + 2.0 * OVERHANG)
    );
    for (band, colour) in chart.bands.iter().zip(&layout.band_colours) {
        inside.band(svg, band, colours.of(colour));
    }
    for rule in &chart.rules {
        if let Some(y) = inside.y(rule.value) {
            let (from, to) = (Pixels(OVERHANG), Pixels(OVERHANG + plot.width));
            let _ = writeln!(
                svg,
                "<line x1=\"{from}\" x2=\"{to}\" y1=\"{y}\" y2=\"{y}\" {}/>",
                stroke(colours.of(PALETTE[rule.colour % PALETTE.len()]), rule.stroke, true),
                y = Pixels(y)
            );
        }
    }
    for (series, colour) in chart.series.iter().zip(&layout.series_colours) {
        inside.line(svg, series, colours.of(colour));
    }
    svg.push_str("</svg>\n");
}

fn markers(svg: &mut String, chart: &Chart, layout: &Layout, colours: Colours, attributes: &str) {
    if !chart.series.iter().any(|series| series.markers) {
        return;
    }
    let inside = Inside { layout, colours };
    if !attributes.is_empty() {
        let _ = writeln!(svg, "<g{attributes}>");
    }
    for (series, colour) in chart.series.iter().zip(&layout.series_colours) {
        inside.markers(svg, series, colours.of(colour));
    }
    if !attributes.is_empty() {
        svg.push_str("</g>\n");
    }
}

/// Legend and texts.
fn surroundings(svg: &mut String, layout: &Layout, colours: Colours) {
    for entry in &layout.legend {
        sample(svg, entry, colours);
    }
    for text in &layout.texts {
        line_of_text(svg, text);
    }
}

/// The chart in words, for those who do not see it.
fn description(chart: &Chart) -> String {
    let series = chart.series.iter().map(|series| &series.name).chain(chart.bands.iter().map(|band| &band.name));
    let names = series.chain(chart.rules.iter().map(|rule| &rule.name)).filter(|name| !name.trim().is_empty());
    let names: Vec<&str> = names.map(String::as_str).collect();
    let shown = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    format!("Line chart of {} against {}{shown}", chart.y.label, chart.x.label)
}

fn grid(svg: &mut String, layout: &Layout, colours: Colours) {
    let Area { left, top, width, height } = layout.plot;
    let (right, bottom) = (left + width, top + height);
    let x_places = |values: &[f64]| -> Vec<f64> {
        values.iter().filter_map(|value| layout.x.place(*value)).map(|share| left + share * width).collect()
    };
    let y_places = |values: &[f64]| -> Vec<f64> {
        values.iter().filter_map(|value| layout.y.place(*value)).map(|share| bottom - share * height).collect()
    };
    let major = |ticks: &[(f64, String)]| -> Vec<f64> { ticks.iter().map(|(value, _)| *value).collect() };
    let mut path = |d: String, colour: &str| {
        if !d.is_empty() {
            let _ = writeln!(svg, "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1\"/>");
        }
    };
    let vertical = |x: &f64, from: f64, to: f64| format!("M{} {}V{}", Pixels(*x), Pixels(from), Pixels(to));
    let horizontal = |y: &f64, from: f64, to: f64| format!("M{} {}H{}", Pixels(from), Pixels(*y), Pixels(to));
    let (x_major, y_major) = (x_places(&major(&layout.x.major)), y_places(&major(&layout.y.major)));
    let lines = x_major.iter().map(|x| vertical(x, top, bottom));
    path(lines.chain(y_major.iter().map(|y| horizontal(y, left, right))).collect(), colours.of(GRID));
    let marks = x_major.iter().map(|x| vertical(x, bottom, bottom + 5.0));
    let marks = marks.chain(y_major.iter().map(|y| horizontal(y, left - 5.0, left)));
    let marks =
        marks.chain(x_places(&layout.x.minor).iter().map(|x| vertical(x, bottom, bottom + 3.0)).collect::<Vec<_>>());
    let marks =
        marks.chain(y_places(&layout.y.minor).iter().map(|y| horizontal(y, left - 3.0, left)).collect::<Vec<_>>());
    path(marks.collect(), colours.of(FRAME));
    path(format!("M{} {}V{}H{}", Pixels(left), Pixels(top), Pixels(bottom), Pixels(right)), colours.of(FRAME));
}

/// Places in the inner element.
struct Inside<'a> {
    layout: &'a Layout,
    colours: Colours,
}

impl Inside<'_> {
    fn x(&self, value: f64) -> Option<f64> {
        let place = OVERHANG + self.layout.x.place(value)? * self.layout.plot.width;
        Some(place.clamp(-FAR, FAR))
    }

    fn y(&self, value: f64) -> Option<f64> {
        let place = OVERHANG + (1.0 - self.layout.y.place(value)?) * self.layout.plot.height;
        Some(place.clamp(-FAR, FAR))
    }

    fn place(&self, &(x, y): &(f64, f64)) -> Option<(f64, f64)> {
        Some((self.x(x)?, self.y(y)?))
    }

    /// Runs of points between those that cannot be drawn.
    fn runs(&self, points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let places: Vec<Option<(f64, f64)>> = points.iter().map(|point| self.place(point)).collect();
        let runs = places.split(|place| place.is_none()).filter(|run| !run.is_empty());
        runs.map(|run| run.iter().flatten().copied().collect()).collect()
    }

    fn line(&self, svg: &mut String, series: &Series, colour: &str) {
        for run in self.runs(&series.points) {
            match run[..] {
                // A line through one point would not be seen.
                [(x, y)] if !series.markers => {
                    let _ =
                        writeln!(svg, "<circle cx=\"{}\" cy=\"{}\" r=\"3\" fill=\"{colour}\"/>", Pixels(x), Pixels(y));
                }
                _ => {
                    let style = stroke(colour, series.stroke, false);
                    let _ = writeln!(svg, "<polyline points=\"{}\" fill=\"none\" {style}/>", listed(&run));
                }
            }
        }
    }

    /// Along the upper line and back along the lower, for each run of pairs that can be drawn.
    fn band(&self, svg: &mut String, band: &Band, colour: &str) {
        let pairs = band.lower.iter().zip(&band.upper);
        let places: Vec<_> = pairs.map(|(lower, upper)| self.place(lower).zip(self.place(upper))).collect();
        for run in places.split(|place| place.is_none()).filter(|run| !run.is_empty()) {
            let (lower, upper): (Vec<_>, Vec<_>) = run.iter().flatten().copied().unzip();
            let around: Vec<(f64, f64)> = upper.into_iter().chain(lower.into_iter().rev()).collect();
            let _ = writeln!(
                svg,
                "<polygon points=\"{}\" fill=\"{colour}\" fill-opacity=\"{opacity}\" stroke=\"{colour}\" stroke-opacity=\"{opacity}\"/>",
                listed(&around),
                opacity = band.opacity.clamp(0.0, 1.0)
            );
        }
    }

    /// Dots are outside the inner element: one at its edge is whole.
    fn markers(&self, svg: &mut String, series: &Series, colour: &str) {
        let plot = self.layout.plot;
        let within = |place: f64, length: f64| (OVERHANG - 0.01..=OVERHANG + length + 0.01).contains(&place);
        for point in series.points.iter().filter(|_| series.markers) {
            let Some((x, y)) = self.place(point) else { continue };
            if within(x, plot.width) && within(y, plot.height) {
                let (cx, cy) = (Pixels(x + plot.left - OVERHANG), Pixels(y + plot.top - OVERHANG));
                // In a page the values are shown by its script.
                let values = format!("{} {}, {}", series.name, point.0, significant(point.1));
                let title = match self.colours {
                    Colours::Fixed => format!("<title>{}</title>", escaped(values.trim())),
                    Colours::Page => String::new(),
                };
                let _ = writeln!(svg, "<circle cx=\"{cx}\" cy=\"{cy}\" r=\"2.6\" fill=\"{colour}\">{title}</circle>");
            }
        }
    }
}

/// Four digits that mean something.
fn significant(value: f64) -> String {
    format!("{value:.3e}").parse::<f64>().map_or(String::new(), |rounded| rounded.to_string())
}

fn listed(points: &[(f64, f64)]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", Pixels(*x), Pixels(*y))).collect();
    points.join(" ")
}

fn stroke(colour: &str, stroke: Stroke, thin: bool) -> String {
    let dashes = match stroke {
        Stroke::Solid => "",
        Stroke::Dashed => " stroke-dasharray=\"7 4\"",
        Stroke::Dotted => " stroke-dasharray=\"1.5 3.5\"",
    };
    let width = if thin { "1.3" } else { "2" };
    format!("stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashes}")
}

fn sample(svg: &mut String, Entry { sample, colour, x, y }: &Entry, colours: Colours) {
    let colour = colours.of(colour);
    let (from, to, middle) = (Pixels(*x), Pixels(x + SAMPLE), Pixels(*y));
    let _ = match sample {
        Sample::Line { stroke: kind, thin, .. } => writeln!(
            svg,
            "<line x1=\"{from}\" x2=\"{to}\" y1=\"{middle}\" y2=\"{middle}\" {}/>",
            stroke(colour, *kind, *thin)
        ),
        Sample::Area { opacity } => writeln!(
            svg,
            "<rect x=\"{from}\" y=\"{}\" width=\"{}\" height=\"10\" fill=\"{colour}\" fill-opacity=\"{}\"/>",
            Pixels(y - 5.0),
            Pixels(SAMPLE),
            if *opacity > 0.25 { *opacity } else { 0.25 }
        ),
    };
    if let Sample::Line { marker: true, .. } = sample {
        let centre = Pixels(x + SAMPLE / 2.0);
        let _ = writeln!(svg, "<circle cx=\"{centre}\" cy=\"{middle}\" r=\"2.6\" fill=\"{colour}\"/>");
    }
}

fn line_of_text(svg: &mut String, text: &Text) {
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (x, y) = (Pixels(text.x), Pixels(text.y));
    let bold = if text.bold { " font-weight=\"bold\"" } else { "" };
    let turned = if text.upright { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let whole = text.whole.as_ref().map_or(String::new(), |whole| format!("<title>{}</title>", escaped(whole)));
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\"{bold}{turned}>{whole}{}</text>",
        Pixels(text.size),
        escaped(&text.text)
    );
}
