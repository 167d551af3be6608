//! A line chart as data. [`layout`] places its parts and writes them as SVG.

mod layout;
mod mark;
mod scatter;
mod text;
mod ticks;

pub(crate) use text::escaped;

use crate::setters::setters;
pub(crate) use layout::Drawing;
pub(crate) use mark::{Mark, Shape};
pub(crate) use scatter::Scatter;

/// Colours that people with any kind of colour vision can distinguish on white (Okabe and Ito,
/// without the yellow, which is too light for a line). Series take them in turn, cyclically.
pub const PALETTE: [&str; 7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

/// The index of black in [`PALETTE`], for lines that belong to no series.
pub const BLACK: usize = 6;

/// A line chart: titles, axes, series, bands and horizontal lines.
///
/// The legend below the plot lists everything that has a name. A series without points appears in
/// the legend only, and a series without a name appears in the plot only. A point that cannot be
/// drawn (NaN, infinite, or not positive on a logarithmic axis) is left out and interrupts its
/// line.
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
    subtitle: String,
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
    /// The quantity along the axis.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// The ends of the axis. By default, and if the scale cannot show the given range, all data
    /// fit.
    pub range: Option<(f64, f64)>,
    /// Whether a linear axis has 0, also if the data are far from it.
    pub has_zero: bool,
}

/// How values become positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal differences are equally long.
    #[default]
    Linear,
    /// Equal ratios are equally long.
    Log,
    /// Equal ratios of the odds are equally long: for probabilities between 0 and 1.
    Logit,
}

/// Points with a line through them.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name in the legend. An empty name is not listed.
    pub name: String,
    /// The points, in the order of the line.
    pub points: Vec<(f64, f64)>,
    /// How the line is drawn.
    pub stroke: Stroke,
    /// Index in [`PALETTE`]. The default is the next colour in turn.
    pub colour: Option<usize>,
    /// Whether each point has a dot, which shows the values of the point on hover.
    pub markers: bool,
    /// Whether the dots are large, for points that stand for many rows.
    pub large: bool,
    /// Whether the line is thin, for values that rest on few rows.
    pub thin: bool,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stroke {
    /// A continuous line.
    #[default]
    Solid,
    /// A dashed line.
    Dashed,
    /// A dotted line.
    Dotted,
    /// No line: the markers alone.
    None,
}

/// The area between two lines, for example an interval at each x.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// The name in the legend. An empty name is not listed.
    pub name: String,
    /// The points of the lower line.
    pub lower: Vec<(f64, f64)>,
    /// The points of the upper line.
    pub upper: Vec<(f64, f64)>,
    /// Index in [`PALETTE`]. The default is the next colour in turn.
    pub colour: Option<usize>,
    /// The opacity of the area, from 0 to 1.
    pub opacity: f64,
}

/// A thin horizontal line across the plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The name in the legend. An empty name is not listed.
    pub name: String,
    /// The value of y.
    pub value: f64,
    /// How the line is drawn.
    pub stroke: Stroke,
    /// Index in [`PALETTE`].
    pub colour: usize,
}

impl Chart {
    /// An empty chart of 640 by 400 pixels.
    pub fn new(title: impl Into<String>) -> Self {
        Chart {
            title: title.into(),
            subtitle: String::new(),
            x: Axis::linear(""),
            y: Axis::linear(""),
            series: Vec::new(),
            bands: Vec::new(),
            rules: Vec::new(),
            size: (640.0, 400.0),
        }
    }

    setters! {
        /// A second, smaller line under the title.
        subtitle(subtitle: impl Into<String>) |chart| chart.subtitle = subtitle.into();

        /// The horizontal axis.
        x(axis: Axis) |chart| chart.x = axis;

        /// The vertical axis.
        y(axis: Axis) |chart| chart.y = axis;

        /// Adds a series.
        #[expect(clippy::should_implement_trait, reason = "a builder method, not a sum")]
        add(series: Series) |chart| chart.series.push(series);

        /// Adds a band, which is drawn behind all series.
        band(band: Band) |chart| chart.bands.push(band);

        /// Adds a thin horizontal line.
        rule(rule: Rule) |chart| chart.rules.push(rule);
    }

    /// Adds a thin black dotted line at a value of y.
    pub fn horizontal_rule(self, value: f64, name: impl Into<String>) -> Self {
        self.rule(Rule { name: name.into(), value, stroke: Stroke::Dotted, colour: BLACK })
    }

    /// Width and height in pixels, at least 240 by 160. Titles and legends of several lines make
    /// the chart higher.
    pub fn size(mut self, width: f64, height: f64) -> Self {
        let within = |size: f64, least: f64| if size >= least { size.min(10_000.0) } else { least };
        self.size = (within(width, 240.0), within(height, 160.0));
        self
    }

    /// The chart as an SVG document. It has no identifiers, styles or scripts, so it can also stand
    /// inside a page.
    pub fn to_svg(&self) -> String {
        layout::file(self)
    }

    /// Charts with the same axes and names for a page, which shows one at a time, at first the one
    /// with index `shown`.
    pub(crate) fn inline(charts: &[Chart], shown: usize) -> Drawing {
        Drawing::new(charts, shown)
    }

    /// All points of series and bands.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let bands = self.bands.iter().flat_map(|band| band.lower.iter().chain(&band.upper));
        self.series.iter().flat_map(|series| &series.points).chain(bands).copied()
    }
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Linear, range: None, has_zero: false }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Axis { scale: Scale::Log, ..Axis::linear(label) }
    }

    /// An axis of probabilities that shows those near 0 and near 1 apart.
    pub fn logit(label: impl Into<String>) -> Self {
        Axis { scale: Scale::Logit, ..Axis::linear(label) }
    }

    /// A linear axis that has 0, so that differences are not exaggerated.
    pub fn from_zero(self) -> Self {
        Axis { has_zero: true, ..self }
    }

    /// The ends of the axis.
    pub fn range(self, from: f64, to: f64) -> Self {
        Axis { range: Some((from, to)), ..self }
    }
}

impl Series {
    /// A solid line.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        let name = name.into();
        Series { name, points, stroke: Stroke::Solid, colour: None, markers: false, large: false, thin: false }
    }

    /// Whether there is anything to draw.
    pub fn has_points(&self) -> bool {
        self.points.iter().any(|(x, y)| !x.is_nan() && !y.is_nan())
    }

    setters! {
        /// How the line is drawn.
        stroke(stroke: Stroke) |series| series.stroke = stroke;

        /// Index in [`PALETTE`].
        colour(colour: usize) |series| series.colour = Some(colour);

        /// Adds a dot at each point.
        markers() |series| series.markers = true;

        /// Makes the dots large.
        large() |series| series.large = true;

        /// Makes the line thin.
        thin() |series| series.thin = true;
    }
}

impl Band {
    /// The area between two lines.
    pub fn new(name: impl Into<String>, lower: Vec<(f64, f64)>, upper: Vec<(f64, f64)>) -> Self {
        Band { name: name.into(), lower, upper, colour: None, opacity: 0.18 }
    }

    setters! {
        /// Index in [`PALETTE`].
        colour(colour: usize) |band| band.colour = Some(colour);

        /// Draws the area strongly enough that a low one is visible.
        visible() |band| band.opacity = 0.35;

        /// Draws the area as strongly as a bar, for an area that is the content of the chart.
        strong() |band| band.opacity = 0.5;
    }
}

impl Scale {
    /// Whether a value has a position on the axis. Values near the largest double have none, since
    /// their differences overflow.
    fn shows(self, value: f64) -> bool {
        match self {
            Scale::Linear => value.abs() <= 1e300,
            Scale::Log => (1e-300..=1e300).contains(&value),
            Scale::Logit => (1e-300..1.0).contains(&value),
        }
    }
}
