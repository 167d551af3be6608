//! A line chart as data, and what it looks like.

mod layout;
mod svg;
mod text;
mod ticks;

pub(crate) use text::escaped;

/// Colours that people with any kind of colour vision can tell apart on white (Okabe and Ito,
/// without the yellow, which is too light for a line). Series take them in turn; after the last
/// comes the first.
pub const PALETTE: [&str; 7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

/// The place of black in [`PALETTE`], for what belongs to no series.
pub const BLACK: usize = 6;

/// A line chart: titles, axes and what is drawn between them.
///
/// What has a name is in the legend, which stands below the plot. A series without points is in the
/// legend alone; one without a name is in the plot alone. What cannot be drawn (NaN, infinite, not
/// positive on a logarithmic axis) breaks a line and is left out.
///
/// # Example
/// ```
/// use calipers_report::{Axis, Chart, Series, Stroke};
///
/// let chart = Chart::new("Error by sample size")
///     .x(Axis::log("rows"))
///     .y(Axis::linear("error"))
///     .add(Series::line("ECE", vec![(100.0, 0.03), (1_000.0, 0.01), (10_000.0, 0.004)]))
///     .add(Series::line("LS-ECE", vec![(100.0, 0.02), (1_000.0, 0.008), (10_000.0, 0.003)]).stroke(Stroke::Dashed))
///     .horizontal_rule(0.0, "truth");
/// assert!(chart.to_svg().starts_with("<svg"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    title: String,
    subtitle: Option<String>,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    bands: Vec<Band>,
    rules: Vec<Rule>,
    size: (f64, f64),
}

/// One of the two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What is measured along it.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// From where to where; unless given, so that all data fit. A range that the scale cannot show
    /// is not taken.
    pub range: Option<(f64, f64)>,
}

/// How values become places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal differences are equally long.
    #[default]
    Linear,
    /// Equal ratios are equally long.
    Log,
}

/// Points with a line through them.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend; empty if it shall not stand there.
    pub name: String,
    /// Points in the order of the line.
    pub points: Vec<(f64, f64)>,
    /// How the line is drawn.
    pub stroke: Stroke,
    /// Index in [`PALETTE`], so that what belongs together can share one; unless given, the next in
    /// turn.
    pub colour: Option<usize>,
    /// Whether each point has a dot, with its values on hovering.
    pub markers: bool,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stroke {
    /// Without gaps.
    #[default]
    Solid,
    /// Of dashes.
    Dashed,
    /// Of dots.
    Dotted,
}

/// The area between two lines, as an interval has one at each x.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// Its name in the legend; empty if it shall not stand there.
    pub name: String,
    /// The points of the lower line.
    pub lower: Vec<(f64, f64)>,
    /// The points of the upper line.
    pub upper: Vec<(f64, f64)>,
    /// Index in [`PALETTE`]; unless given, the next in turn.
    pub colour: Option<usize>,
    /// How much of its colour is seen, from 0 to 1.
    pub opacity: f64,
}

/// A thin line across the plot at one value of y.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its name in the legend; empty if it shall not stand there.
    pub name: String,
    /// Where it is.
    pub value: f64,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Index in [`PALETTE`].
    pub colour: usize,
}

impl Chart {
    /// An empty chart of 640 by 400, before its legend.
    pub fn new(title: impl Into<String>) -> Self {
        Chart {
            title: title.into(),
            subtitle: None,
            x: Axis::linear(""),
            y: Axis::linear(""),
            series: Vec::new(),
            bands: Vec::new(),
            rules: Vec::new(),
            size: (640.0, 400.0),
        }
    }

    /// A second, smaller line under the title.
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.subtitle = Some(subtitle.into());
        self
    }

    /// The axis from left to right.
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// The axis from bottom to top.
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// Adds a series.
    #[expect(clippy::should_implement_trait, reason = "a setter, and no sum")]
    pub fn add(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds a band, behind all series.
    pub fn band(mut self, band: Band) -> Self {
        self.bands.push(band);
        self
    }

    /// Adds a thin black dotted line at a value of y.
    pub fn horizontal_rule(self, value: f64, name: impl Into<String>) -> Self {
        self.rule(Rule { name: name.into(), value, stroke: Stroke::Dotted, colour: BLACK })
    }

    /// Adds a thin line at a value of y, of any colour and stroke.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Width and height in pixels, at least 240 by 160; lines of titles and legend beyond the first
    /// make it higher.
    pub fn size(mut self, width: f64, height: f64) -> Self {
        let within = |size: f64, least: f64| if size >= least { size.min(10_000.0) } else { least };
        self.size = (within(width, 240.0), within(height, 160.0));
        self
    }

    /// The chart as an SVG document, which may also stand inside a page: it has no identifiers,
    /// styles or scripts.
    pub fn to_svg(&self) -> String {
        svg::write(self, &layout::Layout::new(self))
    }

    /// The chart for a page, in the page's colours and without the title, which stands in the page;
    /// screen readers have it.
    pub(crate) fn inline(&self) -> Drawing {
        Self::inline_moments(std::slice::from_ref(self), 0)
    }

    /// Charts with the same axes and names, of which the page shows one at a time, `shown` at
    /// first.
    pub(crate) fn inline_moments(charts: &[Chart], shown: usize) -> Drawing {
        let untitled = charts
            .get(shown)
            .map_or_else(|| Chart::new(""), |chart| Chart { title: String::new(), subtitle: None, ..chart.clone() });
        let layout = layout::Layout::new(&untitled);
        let layout = layout::Layout { height: layout.content_height, ..layout };
        Drawing { svg: svg::write_inline(charts, shown, &layout), layout }
    }

    /// Every point that is drawn or limits a band.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let bands = self.bands.iter().flat_map(|band| band.lower.iter().chain(&band.upper));
        self.series.iter().flat_map(|series| &series.points).chain(bands).copied()
    }
}

/// A chart as it stands in a page.
pub(crate) struct Drawing {
    pub(crate) svg: String,
    layout: layout::Layout,
}

impl Drawing {
    /// Where a value of x is, in pixels of the drawing; `None` if nowhere.
    pub(crate) fn x(&self, value: f64) -> Option<f64> {
        let share = self.layout.x.place(value)?;
        let place = self.layout.plot.left + share * self.layout.plot.width;
        Some((place * 10.0).round() / 10.0)
    }
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Linear, range: None }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Log, range: None }
    }

    /// From where to where.
    pub fn range(mut self, from: f64, to: f64) -> Self {
        self.range = Some((from, to));
        self
    }
}

impl Series {
    /// A solid line.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { name: name.into(), points, stroke: Stroke::Solid, colour: None, markers: false }
    }

    /// How the line is drawn.
    pub fn stroke(mut self, stroke: Stroke) -> Self {
        self.stroke = stroke;
        self
    }

    /// Index in [`PALETTE`].
    pub fn colour(mut self, colour: usize) -> Self {
        self.colour = Some(colour);
        self
    }

    /// With a dot at each point.
    pub fn markers(mut self) -> Self {
        self.markers = true;
        self
    }
}

impl Band {
    /// The area between two lines.
    pub fn new(name: impl Into<String>, lower: Vec<(f64, f64)>, upper: Vec<(f64, f64)>) -> Self {
        Band { name: name.into(), lower, upper, colour: None, opacity: 0.18 }
    }

    /// Index in [`PALETTE`].
    pub fn colour(mut self, colour: usize) -> Self {
        self.colour = Some(colour);
        self
    }
}

impl Band {
    /// As strong as a bar, for areas that are what is shown.
    pub fn strong(mut self) -> Self {
        self.opacity = 0.5;
        self
    }
}

impl Scale {
    /// Whether a value has a place on the axis. Values near the largest double are left out: their
    /// differences overflow.
    fn shows(self, value: f64) -> bool {
        match self {
            Scale::Linear => value.abs() <= 1e300,
            Scale::Log => (1e-300..=1e300).contains(&value),
        }
    }
}
