//! A chart as SVG. The plot is an inner `svg` element, which clips its content without the
//! identifiers that a clip path would need, so that several charts can stand in one page.

use std::fmt::{Display, Write};

use super::super::text::escaped;
use super::super::{Band, Chart, PALETTE, Series, Stroke};
use super::{Area, Entry, Layout, SAMPLE, Sample, Text};
use crate::number::rounded;

const FONTS: &str = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
/// The inner element is larger than the plot by this, so that lines at its edge are drawn whole.
const OVERHANG: f64 = 3.0;
/// Points further out are moved to here, which keeps the numbers short and hardly turns the visible
/// part of their lines.
const FAR: f64 = 20_000.0;

/// A number with at most two decimals.
pub(in crate::chart) struct Pixels(pub(in crate::chart) f64);

impl Display for Pixels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Adding 0 removes the sign of a negative zero.
        let rounded = (self.0 * 100.0).round() / 100.0 + 0.0;
        write!(f, "{rounded}")
    }
}

/// The colours of a chart, and whether its markers have titles.
struct Style {
    palette: [&'static str; PALETTE.len()],
    ink: &'static str,
    frame: &'static str,
    grid: &'static str,
    has_titles: bool,
}

const FILE: Style = Style { palette: PALETTE, ink: "#222222", frame: "#888888", grid: "#E3E3E3", has_titles: true };

/// The colours are those of the page, light or dark. Its script shows the values of markers.
const PAGE: Style = Style {
    palette: ["var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"],
    ink: "var(--ink)",
    frame: "var(--axis)",
    grid: "var(--grid)",
    has_titles: false,
};

/// Appends a line of text. Writing to a string cannot fail.
macro_rules! put {
    ($svg:expr, $($format:tt)*) => {{ let _ = writeln!($svg, $($format)*); }};
}

/// A chart as a document of its own.
pub(super) fn file(chart: &Chart, layout: &Layout) -> String {
    let [width, height] = [layout.width, layout.height].map(Pixels);
    let size = format!(r#"width="{width}" height="{height}""#);
    let mut writer = Writer::new(chart, layout, &FILE, &format!(" {size}"));
    put!(writer.svg, r##"<rect {size} fill="#FFFFFF"/>"##);
    writer.grid();
    writer.plot(chart, "");
    writer.finish()
}

/// Charts that share their layout. The page shows one at a time, at first the one with index
/// `shown`.
pub(super) fn inline(charts: &[Chart], shown: usize, layout: &Layout) -> String {
    let Some(first) = charts.first() else { return String::new() };
    let mut writer = Writer::new(first, layout, &PAGE, "");
    writer.grid();
    for (number, chart) in charts.iter().enumerate() {
        let hidden = if number == shown { "" } else { r#" style="display:none""# };
        let step = if charts.len() > 1 { format!(r#" data-step="{number}"{hidden}"#) } else { String::new() };
        writer.plot(chart, &step);
    }
    let [top, bottom] = [layout.plot.top, layout.plot.bottom()].map(Pixels);
    put!(
        writer.svg,
        r#"<line class="cursor" y1="{top}" y2="{bottom}" stroke="var(--ink)" stroke-width="1" visibility="hidden"/>"#
    );
    writer.finish()
}

/// The chart in words, for screen readers.
fn description(chart: &Chart) -> String {
    let series = chart.series.iter().map(|series| &series.name).chain(chart.bands.iter().map(|band| &band.name));
    let names = series.chain(chart.rules.iter().map(|rule| &rule.name)).filter(|name| !name.trim().is_empty());
    let names: Vec<&str> = names.map(String::as_str).collect();
    let shown = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    format!("Line chart of {} against {}{shown}", chart.y.label, chart.x.label)
}

struct Writer<'a> {
    svg: String,
    layout: &'a Layout,
    style: &'static Style,
}

impl<'a> Writer<'a> {
    /// A writer whose document is open. `size` are the attributes of a fixed size.
    fn new(chart: &Chart, layout: &'a Layout, style: &'static Style, size: &str) -> Self {
        let [width, height] = [layout.width, layout.height].map(Pixels);
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\"{size} viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"{FONTS}\" fill=\"{}\">\n<title>{}</title>\n<desc>{}</desc>\n",
            style.ink,
            escaped(&chart.title),
            escaped(&description(chart))
        );
        Writer { svg, layout, style }
    }

    /// Adds legend and texts, and closes the document.
    fn finish(mut self) -> String {
        for entry in &self.layout.legend {
            self.legend_entry(entry);
        }
        for text in &self.layout.texts {
            self.text(text);
        }
        self.svg.push_str("</svg>\n");
        self.svg
    }

    fn grid(&mut self) {
        let Area { left, top, width, height } = self.layout.plot;
        let (right, bottom) = (left + width, top + height);
        let (x, y) = (&self.layout.x, &self.layout.y);
        let vertical = |value: f64, from: f64, to: f64| {
            Some(format!("M{} {}V{}", Pixels(left + x.place(value)? * width), Pixels(from), Pixels(to)))
        };
        let horizontal = |value: f64, from: f64, to: f64| {
            Some(format!("M{} {}H{}", Pixels(from), Pixels(bottom - y.place(value)? * height), Pixels(to)))
        };
        let (x_major, y_major) = (|| x.major.iter().map(|mark| mark.0), || y.major.iter().map(|mark| mark.0));
        let lines = x_major().map(|x| vertical(x, top, bottom)).chain(y_major().map(|y| horizontal(y, left, right)));
        let marks = x_major().map(|x| vertical(x, bottom, bottom + 5.0));
        let marks = marks.chain(y_major().map(|y| horizontal(y, left - 5.0, left)));
        let marks = marks.chain(x.minor.iter().map(|x| vertical(*x, bottom, bottom + 3.0)));
        let marks = marks.chain(y.minor.iter().map(|y| horizontal(*y, left - 3.0, left)));
        let frame = format!("M{} {}V{}H{}", Pixels(left), Pixels(top), Pixels(bottom), Pixels(right));
        let paths: [(String, &str); 3] = [
            (lines.flatten().collect(), self.style.grid),
            (marks.flatten().collect(), self.style.frame),
            (frame, self.style.frame),
        ];
        for (path, colour) in paths.iter().filter(|(path, _)| !path.is_empty()) {
            put!(self.svg, r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="1"/>"#);
        }
    }

    /// The content of the plot. `attributes` are those of its elements.
    fn plot(&mut self, chart: &Chart, attributes: &str) {
        let Area { left, top, width, height } = self.layout.plot;
        let [x, y] = [left - OVERHANG, top - OVERHANG].map(Pixels);
        let [inner_width, inner_height] = [width + 2.0 * OVERHANG, height + 2.0 * OVERHANG].map(Pixels);
        put!(self.svg, r#"<svg x="{x}" y="{y}" width="{inner_width}" height="{inner_height}"{attributes}>"#);
        for (band, colour) in chart.bands.iter().zip(&self.layout.band_colours) {
            self.band(band, self.style.palette[*colour]);
        }
        for rule in &chart.rules {
            if let Some(y) = self.y(rule.value).map(Pixels) {
                let [from, to] = [OVERHANG, OVERHANG + width].map(Pixels);
                let stroke = stroke(self.style.palette[rule.colour % PALETTE.len()], rule.stroke, true);
                put!(self.svg, r#"<line x1="{from}" x2="{to}" y1="{y}" y2="{y}" {stroke}/>"#);
            }
        }
        for (series, colour) in chart.series.iter().zip(&self.layout.series_colours) {
            self.line(series, self.style.palette[*colour]);
        }
        self.svg.push_str("</svg>\n");
        self.markers(chart, attributes);
    }

    /// The horizontal position in the inner element.
    fn x(&self, value: f64) -> Option<f64> {
        let place = OVERHANG + self.layout.x.place(value)? * self.layout.plot.width;
        Some(place.clamp(-FAR, FAR))
    }

    /// The vertical position in the inner element.
    fn y(&self, value: f64) -> Option<f64> {
        let place = OVERHANG + (1.0 - self.layout.y.place(value)?) * self.layout.plot.height;
        Some(place.clamp(-FAR, FAR))
    }

    fn place(&self, &(x, y): &(f64, f64)) -> Option<(f64, f64)> {
        Some((self.x(x)?, self.y(y)?))
    }

    fn line(&mut self, series: &Series, colour: &str) {
        if series.stroke == Stroke::None {
            return;
        }
        for run in runs(series.points.iter().map(|point| self.place(point))) {
            match run[..] {
                // A line through one point would be invisible.
                [(x, y)] if !series.markers => {
                    put!(
                        self.svg,
                        r#"<circle cx="{}" cy="{}" r="{}" fill="{colour}"/>"#,
                        Pixels(x),
                        Pixels(y),
                        if series.thin { 1.5 } else { 3.0 }
                    );
                }
                _ => {
                    let stroke = stroke(colour, series.stroke, series.thin);
                    put!(self.svg, r#"<polyline points="{}" fill="none" {stroke}/>"#, self.listed(run));
                }
            }
        }
    }

    /// Along the upper line and back along the lower line, for each run of points that can be
    /// drawn.
    fn band(&mut self, band: &Band, colour: &str) {
        let pairs = band.lower.iter().zip(&band.upper);
        for run in runs(pairs.map(|(lower, upper)| self.place(lower).zip(self.place(upper)))) {
            let (lower, upper): (Vec<_>, Vec<_>) = run.into_iter().unzip();
            let points = self.listed(upper.into_iter().chain(lower.into_iter().rev()).collect());
            let opacity = band.opacity.clamp(0.0, 1.0);
            put!(
                self.svg,
                "<polygon points=\"{points}\" fill=\"{colour}\" fill-opacity=\"{opacity}\" stroke=\"{colour}\" \
                 stroke-opacity=\"{opacity}\"/>"
            );
        }
    }

    /// Markers are outside the inner element, so that a marker at its edge is drawn whole.
    fn markers(&mut self, chart: &Chart, attributes: &str) {
        if !chart.series.iter().any(|series| series.markers) {
            return;
        }
        let grouped = !attributes.is_empty();
        if grouped {
            put!(self.svg, "<g{attributes}>");
        }
        let Area { left, top, width, height } = self.layout.plot;
        let within = |place: f64, length: f64| (OVERHANG - 0.01..=OVERHANG + length + 0.01).contains(&place);
        let marked = chart.series.iter().zip(&self.layout.series_colours).filter(|(series, _)| series.markers);
        for (series, colour) in marked {
            let colour = self.style.palette[*colour];
            for point in &series.points {
                let Some((x, y)) = self.place(point) else { continue };
                if !(within(x, width) && within(y, height)) {
                    continue;
                }
                let values = format!("{} {}, {}", series.name, point.0, rounded(point.1));
                let title = format!("<title>{}</title>", escaped(values.trim()));
                let title = if self.style.has_titles { title.as_str() } else { "" };
                let [cx, cy] = [x + left - OVERHANG, y + top - OVERHANG].map(Pixels);
                let radius = radius(series.large);
                put!(self.svg, r#"<circle cx="{cx}" cy="{cy}" r="{radius}" fill="{colour}">{title}</circle>"#);
            }
        }
        if grouped {
            self.svg.push_str("</g>\n");
        }
    }

    /// The points of a line. A page has many drawings, so there points that are hardly apart are
    /// left out, and a tenth of a pixel is enough.
    fn listed(&self, points: Vec<(f64, f64)>) -> String {
        if self.style.has_titles {
            return points.iter().map(|(x, y)| format!("{},{}", Pixels(*x), Pixels(*y))).collect::<Vec<_>>().join(" ");
        }
        let mut kept: Vec<(f64, f64)> = Vec::with_capacity(points.len());
        for (place, point) in points.iter().enumerate() {
            let is_apart = |last: &(f64, f64)| (point.0 - last.0).abs() >= 1.0 || (point.1 - last.1).abs() >= 0.6;
            if place + 1 == points.len() || kept.last().is_none_or(is_apart) {
                kept.push(*point);
            }
        }
        let tenths = |value: f64| (value * 10.0).round() / 10.0 + 0.0;
        kept.iter().map(|(x, y)| format!("{},{}", tenths(*x), tenths(*y))).collect::<Vec<_>>().join(" ")
    }

    fn legend_entry(&mut self, &Entry { sample, colour, x, y }: &Entry) {
        let colour = self.style.palette[colour];
        let [from, to, centre, middle] = [x, x + SAMPLE, x + SAMPLE / 2.0, y].map(Pixels);
        match sample {
            Sample::Line { stroke: kind, thin, marker } => {
                let stroke = stroke(colour, kind, thin);
                // Large dots have no line.
                if marker != Some(true) {
                    put!(self.svg, r#"<line x1="{from}" x2="{to}" y1="{middle}" y2="{middle}" {stroke}/>"#);
                }
                if let Some(radius) = marker.map(radius) {
                    put!(self.svg, r#"<circle cx="{centre}" cy="{middle}" r="{radius}" fill="{colour}"/>"#);
                }
            }
            Sample::Area { opacity } => {
                let (top, opacity) = (Pixels(y - 5.0), if opacity > 0.25 { opacity } else { 0.25 });
                put!(
                    self.svg,
                    r#"<rect x="{from}" y="{top}" width="{SAMPLE}" height="10" fill="{colour}" fill-opacity="{opacity}"/>"#
                );
            }
        }
    }

    fn text(&mut self, text: &Text) {
        let [x, y, size] = [text.x, text.y, text.size].map(Pixels);
        let bold = if text.bold { r#" font-weight="bold""# } else { "" };
        let turned = if text.upright { format!(r#" transform="rotate(-90 {x} {y})""#) } else { String::new() };
        let whole = text.whole.as_ref().map_or(String::new(), |whole| format!("<title>{}</title>", escaped(whole)));
        let (anchor, content) = (text.anchor, escaped(&text.text));
        put!(
            self.svg,
            r#"<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"{bold}{turned}>{whole}{content}</text>"#
        );
    }
}

fn radius(large: bool) -> &'static str {
    if large { "4.6" } else { "2.6" }
}

/// Runs of values between those that are absent.
fn runs<T: Copy>(values: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let values: Vec<Option<T>> = values.collect();
    let runs = values.split(Option::is_none).filter(|run| !run.is_empty());
    runs.map(|run| run.iter().flatten().copied().collect()).collect()
}

fn stroke(colour: &str, stroke: Stroke, thin: bool) -> String {
    let dashes = match stroke {
        Stroke::Solid => "",
        Stroke::Dashed => r#" stroke-dasharray="7 4""#,
        Stroke::Dotted => r#" stroke-dasharray="1.5 3.5""#,
        Stroke::None => return r#"stroke="none""#.to_owned(),
    };
    let width = if thin { "1.3" } else { "2" };
    format!(r#"stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"{dashes}"#)
}
