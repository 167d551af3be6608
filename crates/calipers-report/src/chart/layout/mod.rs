//! The positions of all parts of a chart, in pixels from its upper left corner. Every text gets the
//! space that it needs, so that no text is cut and no text covers another.

mod svg;

pub(super) use svg::Pixels;

use super::ticks::Ticks;
use super::{Axis, Chart, PALETTE, Stroke, text};

/// A chart as an SVG document.
pub(super) fn file(chart: &Chart) -> String {
    svg::file(chart, &Layout::new(chart))
}

/// A chart inside a page.
pub(crate) struct Drawing {
    pub(crate) svg: String,
    layout: Layout,
}

impl Drawing {
    /// Charts with the same axes and names, of which the one with index `shown` is visible. Only
    /// screen readers get the title.
    pub(super) fn new(charts: &[Chart], shown: usize) -> Self {
        let untitled = charts.get(shown).cloned().map(|chart| Chart { title: String::new(), ..chart.subtitle("") });
        let layout = Layout::of(&untitled.unwrap_or_else(|| Chart::new("")), LEAST_LABEL);
        let layout = Layout { height: layout.content_height, ..layout };
        Drawing { svg: svg::inline(charts, shown, &layout), layout }
    }

    /// The horizontal position of a value in pixels of the drawing, if it is in the plot.
    pub(crate) fn x(&self, value: f64) -> Option<f64> {
        let Area { left, width, .. } = self.layout.plot;
        let place = self.layout.x.place(value).filter(|place| (-1e-9..=1.0 + 1e-9).contains(place))?;
        Some(((left + place * width) * 10.0).round() / 10.0)
    }
}

const TITLE: f64 = 15.0;
const SMALL: f64 = 12.0;
/// The height of a line of text as a multiple of its size.
const LINE: f64 = 1.3;
/// The space around the chart and between its parts.
const SPACE: f64 = 10.0;
/// In a page, numbers beside the vertical axis have at least this space, so that the plots of
/// charts side by side begin and end at the same places.
const LEAST_LABEL: f64 = 40.0;
/// The length of the line or box before a name in the legend.
const SAMPLE: f64 = 26.0;

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Area {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Area {
    #[cfg(test)]
    fn right(&self) -> f64 {
        self.left + self.width
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
struct Text {
    text: String,
    /// The reference point, which is on the base line.
    x: f64,
    y: f64,
    size: f64,
    /// The part of the text that is at the reference point: `start`, `middle` or `end`.
    anchor: &'static str,
    bold: bool,
    /// Whether the text runs from bottom to top.
    upright: bool,
    /// The whole name, if only a part of it is shown.
    whole: Option<String>,
}

impl Text {
    fn new(text: impl Into<String>, size: f64, anchor: &'static str, x: f64, y: f64) -> Self {
        Text { text: text.into(), x, y, size, anchor, bold: false, upright: false, whole: None }
    }

    /// The largest area that the text can take.
    #[cfg(test)]
    fn area(&self) -> Area {
        let width = text::width(&self.text, self.size);
        let before = match self.anchor {
            "start" => 0.0,
            "middle" => width / 2.0,
            _ => width,
        };
        let (above, height) = (0.9 * self.size, 1.15 * self.size);
        match self.upright {
            false => Area { left: self.x - before, top: self.y - above, width, height },
            true => Area { left: self.x - above, top: self.y - (width - before), width: height, height: width },
        }
    }
}

/// The line or box before a name in the legend.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sample {
    /// `marker` is whether the dot is large, if there is one.
    Line {
        stroke: Stroke,
        thin: bool,
        marker: Option<bool>,
    },
    Area {
        opacity: f64,
    },
}

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    sample: Sample,
    /// Index in [`PALETTE`].
    colour: usize,
    /// The left end of the sample, and its vertical middle.
    x: f64,
    y: f64,
}

#[derive(Debug, Clone, PartialEq)]
struct Layout {
    width: f64,
    height: f64,
    /// The height that the content needs, which is enough in a page.
    content_height: f64,
    plot: Area,
    x: Ticks,
    y: Ticks,
    texts: Vec<Text>,
    legend: Vec<Entry>,
    /// Indices in [`PALETTE`], in the order of the series and of the bands.
    series_colours: Vec<usize>,
    band_colours: Vec<usize>,
}

impl Layout {
    fn new(chart: &Chart) -> Self {
        Self::of(chart, 0.0)
    }

    /// With at least some space for the numbers beside the vertical axis.
    fn of(chart: &Chart, least_label: f64) -> Self {
        let width = chart.size.0;
        let mut texts = Vec::new();
        let inner = width - 2.0 * SPACE;

        let mut top = SPACE;
        for (title, size, bold) in [(&chart.title, TITLE, true), (&chart.subtitle, SMALL, false)] {
            // Bold letters are up to a tenth wider.
            for line in text::wrapped(title, size, if bold { inner / 1.1 } else { inner }) {
                top += LINE * size;
                texts.push(Text { bold, ..Text::new(line, size, "middle", width / 2.0, top - 0.3 * size) });
            }
        }
        top += SPACE;

        // The requested height includes one line of each title and of the legend.
        let plot_height = (chart.size.1 - 2.0 * SPACE - LINE * TITLE - 5.0 * LINE * SMALL - SPACE).max(60.0);
        let most_y = (plot_height / 45.0).round().clamp(2.0, 8.0) as usize;
        let rules = chart.rules.iter().map(|rule| rule.value);
        let y = Ticks::new(&chart.y, chart.points().map(|point| point.1).chain(rules), most_y);
        let widest = y.major.iter().map(|(_, label)| text::width(label, SMALL)).fold(least_label, f64::max);
        // At most about two lines, so that space remains for the plot.
        let label = text::shortened(&chart.y.label, SMALL, 1.8 * plot_height);
        let y_label = text::wrapped(&label, SMALL, plot_height);
        let beside = if y_label.is_empty() { 0.0 } else { 4.0 };
        let left = SPACE + LINE * SMALL * y_label.len() as f64 + beside + widest + 8.0;
        let plot_width = |x: &Ticks| {
            let half = x.major.last().map_or(0.0, |(_, label)| text::width(label, SMALL) / 2.0);
            (width - left - SPACE.max(half + 2.0)).max(60.0)
        };
        let x = x_ticks(&chart.x, || chart.points().map(|point| point.0), plot_width);
        let plot = Area { left, top, width: plot_width(&x), height: plot_height };

        for (index, line) in y_label.into_iter().enumerate() {
            let (x, y) = (SPACE + LINE * SMALL * (index as f64 + 0.8), plot.top + plot.height / 2.0);
            texts.push(Text { upright: true, ..Text::new(line, SMALL, "middle", x, y) });
        }
        for (value, label) in &y.major {
            let place = plot.bottom() - y.place(*value).unwrap_or(0.0) * plot.height;
            texts.push(Text::new(label, SMALL, "end", plot.left - 8.0, place + 0.35 * SMALL));
        }
        let mut bottom = plot.bottom() + 8.0 + SMALL;
        for (value, label) in &x.major {
            let place = plot.left + x.place(*value).unwrap_or(0.0) * plot.width;
            texts.push(Text::new(label, SMALL, "middle", place, bottom));
        }
        bottom += 0.3 * SMALL;
        for line in text::wrapped(&chart.x.label, SMALL, inner) {
            bottom += LINE * SMALL;
            texts.push(Text::new(line, SMALL, "middle", width / 2.0, bottom));
        }
        bottom += 0.3 * SMALL;

        let mut turn = 0..;
        let mut colour = |given: Option<usize>| given.or_else(|| turn.next()).unwrap_or_default() % PALETTE.len();
        let series_colours: Vec<_> = chart.series.iter().map(|series| colour(series.colour)).collect();
        let band_colours: Vec<_> = chart.bands.iter().map(|band| colour(band.colour)).collect();
        let (legend, names, bottom) = legend(chart, &series_colours, &band_colours, bottom);
        texts.extend(names);
        let content_height = (bottom + SPACE).ceil();
        let height = content_height.max(chart.size.1.ceil());
        Layout { width, height, content_height, plot, x, y, texts, legend, series_colours, band_colours }
    }
}

/// As many marks as possible without overlapping numbers.
pub(super) fn x_ticks<I: Iterator<Item = f64>>(
    axis: &Axis,
    values: impl Fn() -> I,
    width: impl Fn(&Ticks) -> f64,
) -> Ticks {
    let fits = |ticks: &Ticks| {
        let width = width(ticks);
        ticks.major.windows(2).all(|pair| {
            let place = |index: usize| ticks.place(pair[index].0).unwrap_or(0.0) * width;
            let half = |index: usize| text::width(&pair[index].1, SMALL) / 2.0;
            place(1) - half(1) - place(0) - half(0) >= SPACE
        })
    };
    let tried = (3..=10).rev().map(|most| Ticks::new(axis, values(), most));
    tried.into_iter().find(fits).unwrap_or_else(|| {
        let mut ticks = Ticks::new(axis, values(), 2);
        while !fits(&ticks) && ticks.major.len() > 1 {
            ticks.major.remove(ticks.major.len() / 2);
        }
        ticks
    })
}

/// The entries in columns as wide as the widest name, row by row; their names; and the lower end of
/// the legend.
fn legend(chart: &Chart, series_colours: &[usize], band_colours: &[usize], top: f64) -> (Vec<Entry>, Vec<Text>, f64) {
    let line = |stroke: Stroke, thin: bool, marker: Option<bool>| Sample::Line { stroke, thin, marker };
    let series = chart.series.iter().zip(series_colours);
    let series = series.map(|(series, colour)| {
        (&series.name, line(series.stroke, series.thin, series.markers.then_some(series.large)), *colour)
    });
    let bands = chart.bands.iter().zip(band_colours);
    let bands = bands.map(|(band, colour)| (&band.name, Sample::Area { opacity: band.opacity }, *colour));
    let rules = chart.rules.iter().map(|rule| (&rule.name, line(rule.stroke, true, None), rule.colour % PALETTE.len()));
    let named: Vec<_> = series.chain(bands).chain(rules).filter(|(name, _, _)| !name.trim().is_empty()).collect();
    if named.is_empty() {
        return (Vec::new(), Vec::new(), top);
    }
    // The sample and the space after it.
    let before = SAMPLE + 6.0;
    let inner = chart.size.0 - 2.0 * SPACE;
    let longest = inner - before;
    let shown: Vec<String> = named.iter().map(|(name, _, _)| text::shortened(name, SMALL, longest)).collect();
    let widest = shown.iter().map(|name| text::width(name, SMALL)).fold(0.0, f64::max);
    let column = before + widest;
    let gap = 2.0 * SPACE;
    let most = (((inner + gap) / (column + gap)) as usize).clamp(1, named.len());
    // No more columns than the number of rows needs: four entries are two by two, not three and
    // one.
    let n_columns = named.len().div_ceil(named.len().div_ceil(most));
    let left = (chart.size.0 - (n_columns as f64 * (column + gap) - gap)) / 2.0;
    let (mut entries, mut names) = (Vec::new(), Vec::new());
    let line = 1.5 * SMALL;
    for (index, ((name, sample, colour), shown)) in named.iter().zip(shown).enumerate() {
        let x = left + (index % n_columns) as f64 * (column + gap);
        let y = top + line * ((index / n_columns) as f64 + 0.7);
        entries.push(Entry { sample: *sample, colour: *colour, x, y });
        let whole = (shown != **name).then(|| (*name).clone());
        let at = x + before;
        names.push(Text { whole, ..Text::new(shown, SMALL, "start", at, y + 0.35 * SMALL) });
    }
    (entries, names, top + line * named.len().div_ceil(n_columns) as f64)
}

#[cfg(test)]
mod tests {
    use super::super::{Band, Scale, Series};
    use super::*;

    fn check(chart: &Chart) {
        let layout = Layout::new(chart);
        let areas: Vec<(Area, &str)> = layout.texts.iter().map(|text| (text.area(), text.text.as_str())).collect();
        for (index, (a, text)) in areas.iter().enumerate() {
            assert!(
                a.left >= 0.0 && a.top >= 0.0 && a.right() <= layout.width && a.bottom() <= layout.height,
                "{text:?} at {a:?} is outside {} x {}",
                layout.width,
                layout.height
            );
            for (b, other) in &areas[index + 1..] {
                let apart = a.right() <= b.left || b.right() <= a.left || a.bottom() <= b.top || b.bottom() <= a.top;
                assert!(apart, "{text:?} at {a:?} lies on {other:?} at {b:?}");
            }
            let plot = layout.plot;
            let outside =
                a.right() <= plot.left || a.left >= plot.right() || a.bottom() <= plot.top || a.top >= plot.bottom();
            assert!(outside, "{text:?} at {a:?} lies in the plot {plot:?}");
        }
    }

    fn line(n: usize, from: f64, to: f64) -> Vec<(f64, f64)> {
        (0..n).map(|k| from + (to - from) * k as f64 / (n.max(2) - 1) as f64).map(|v| (v, v)).collect()
    }

    #[test]
    fn no_text_is_cut_or_lies_on_another() {
        let long =
            "a title that goes on and on for longer than anyone would want to read, and then some more ".repeat(3);
        let ranges =
            [(0.0, 1.0), (1.0, 100.0), (1e-9, 3e-9), (1e6, 5e9), (-1e5, 1e5), (0.123456, 0.123457), (3.0, 3.0)];
        for size in [(640.0, 400.0), (240.0, 160.0), (1200.0, 300.0)] {
            for (from, to) in ranges {
                for scale in [Scale::Linear, Scale::Log] {
                    for n_series in [0, 1, 4, 25] {
                        for title in ["Short", long.as_str(), ""] {
                            let axis = Axis { scale, ..Axis::linear("an axis of some length, with units (m/s)") };
                            let mut chart = Chart::new(title).subtitle(title).x(axis.clone()).y(axis);
                            chart = chart.size(size.0, size.1).horizontal_rule(from, "a rule");
                            for index in 0..n_series {
                                let name = format!("model {}", "x".repeat(index * 7));
                                chart = chart.add(Series::line(name, line(5, from, to)));
                            }
                            check(&chart);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn entries_without_a_name_are_not_in_the_legend() {
        let chart = Chart::new("t")
            .add(Series::line("", line(3, 0.0, 1.0)))
            .add(Series::line("only here", Vec::new()))
            .band(Band::new("band", line(3, 0.0, 0.5), line(3, 0.5, 1.0)));
        let layout = Layout::new(&chart);
        assert_eq!(layout.legend.len(), 2);
        assert_eq!((layout.series_colours, layout.band_colours), (vec![0, 1], vec![2]));
    }
}
