//! Where everything of a chart is, in pixels from its upper left corner: every text with the box
//! that it needs, so that none is cut and none lies on another.

use super::ticks::Ticks;
use super::{Axis, Chart, PALETTE, Stroke, text};

pub(super) const TITLE: f64 = 15.0;
pub(super) const SMALL: f64 = 12.0;
/// Height of a line as a multiple of its size.
const LINE: f64 = 1.3;
/// Space around the whole and between its parts.
const SPACE: f64 = 10.0;
/// Length of the line or box before a name in the legend.
pub(super) const SAMPLE: f64 = 26.0;
/// From the sample to the name.
const AFTER_SAMPLE: f64 = 6.0;

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    #[cfg(test)]
    fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// Where a text starts from its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    pub(super) text: String,
    /// Its point: on the base line.
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    pub(super) bold: bool,
    /// Read from bottom to top.
    pub(super) upright: bool,
    /// The whole name, where only a part is shown.
    pub(super) whole: Option<String>,
}

impl Text {
    fn new(text: impl Into<String>, size: f64, anchor: Anchor, x: f64, y: f64) -> Self {
        Text { text: text.into(), x, y, size, anchor, bold: false, upright: false, whole: None }
    }

    /// The room that the text takes at most.
    #[cfg(test)]
    fn area(&self) -> Area {
        let width = text::width(&self.text, self.size);
        let before = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let (above, height) = (0.9 * self.size, 1.15 * self.size);
        match self.upright {
            false => Area { left: self.x - before, top: self.y - above, width, height },
            true => Area { left: self.x - above, top: self.y - (width - before), width: height, height: width },
        }
    }
}

/// What stands before a name in the legend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sample {
    Line { stroke: Stroke, thin: bool, marker: bool },
    Area { opacity: f64 },
}

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) sample: Sample,
    pub(super) colour: &'static str,
    /// The left end of the sample, and its middle from top to bottom.
    pub(super) x: f64,
    pub(super) y: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Where the last line ends, and some space: a page needs no more.
    pub(super) content_height: f64,
    pub(super) plot: Area,
    pub(super) x: Ticks,
    pub(super) y: Ticks,
    pub(super) texts: Vec<Text>,
    pub(super) legend: Vec<Entry>,
    /// Colours of the series and of the bands, in their order.
    pub(super) series_colours: Vec<&'static str>,
    pub(super) band_colours: Vec<&'static str>,
}

impl Layout {
    pub(super) fn new(chart: &Chart) -> Self {
        let width = chart.size.0;
        let mut texts = Vec::new();
        let inner = width - 2.0 * SPACE;

        let mut top = SPACE;
        let subtitle = chart.subtitle.as_deref().unwrap_or_default();
        let titles = [(chart.title.as_str(), TITLE, true), (subtitle, SMALL, false)];
        for (title, size, bold) in titles {
            // Bold letters are up to a tenth wider.
            for line in text::wrapped(title, size, if bold { inner / 1.1 } else { inner }) {
                top += LINE * size;
                texts.push(Text { bold, ..Text::new(line, size, Anchor::Middle, width / 2.0, top - 0.3 * size) });
            }
        }
        top += SPACE;

        // The first lines of titles and legend are within the height that was asked for.
        let plot_height = (chart.size.1 - 2.0 * SPACE - LINE * TITLE - 5.0 * LINE * SMALL - SPACE).max(60.0);
        let most_y = (plot_height / 45.0).round().clamp(2.0, 8.0) as usize;
        let rules = chart.rules.iter().map(|rule| rule.value);
        let y = Ticks::new(&chart.y, chart.points().map(|point| point.1).chain(rules), most_y);
        let widest = y.major.iter().map(|(_, label)| text::width(label, SMALL)).fold(0.0, f64::max);
        // About two lines of it, so that it leaves room for the plot.
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
            texts.push(Text { upright: true, ..Text::new(line, SMALL, Anchor::Middle, x, y) });
        }
        for (value, label) in &y.major {
            let place = plot.bottom() - y.place(*value).unwrap_or(0.0) * plot.height;
            texts.push(Text::new(label, SMALL, Anchor::End, plot.left - 8.0, place + 0.35 * SMALL));
        }
        let mut bottom = plot.bottom() + 8.0 + SMALL;
        for (value, label) in &x.major {
            let place = plot.left + x.place(*value).unwrap_or(0.0) * plot.width;
            texts.push(Text::new(label, SMALL, Anchor::Middle, place, bottom));
        }
        bottom += 0.3 * SMALL;
        for line in text::wrapped(&chart.x.label, SMALL, inner) {
            bottom += LINE * SMALL;
            texts.push(Text::new(line, SMALL, Anchor::Middle, width / 2.0, bottom));
        }
        bottom += 0.3 * SMALL;

        let mut turn = (0..PALETTE.len()).cycle();
        let mut colour =
            |given: Option<usize>| PALETTE[given.unwrap_or_else(|| turn.next().unwrap_or_default()) % PALETTE.len()];
        let series_colours: Vec<_> = chart.series.iter().map(|series| colour(series.colour)).collect();
        let band_colours: Vec<_> = chart.bands.iter().map(|band| colour(band.colour)).collect();
        let (legend, names, bottom) = legend(chart, &series_colours, &band_colours, bottom);
        texts.extend(names);
        let content_height = (bottom + SPACE).ceil();
        let height = content_height.max(chart.size.1.ceil());
        Layout { width, height, content_height, plot, x, y, texts, legend, series_colours, band_colours }
    }
}

/// As many marks as have numbers that do not touch.
fn x_ticks<I: Iterator<Item = f64>>(axis: &Axis, values: impl Fn() -> I, width: impl Fn(&Ticks) -> f64) -> Ticks {
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

/// Entries in columns as wide as the widest name, from left to right and then down; the names; and
/// where it ends.
fn legend(
    chart: &Chart,
    series_colours: &[&'static str],
    band_colours: &[&'static str],
    top: f64,
) -> (Vec<Entry>, Vec<Text>, f64) {
    let series = chart.series.iter().zip(series_colours).map(|(series, colour)| {
        (&series.name, Sample::Line { stroke: series.stroke, thin: false, marker: series.markers }, *colour)
    });
    let bands = chart
        .bands
        .iter()
        .zip(band_colours)
        .map(|(band, colour)| (&band.name, Sample::Area { opacity: band.opacity }, *colour));
    let rules = chart.rules.iter().map(|rule| {
        let sample = Sample::Line { stroke: rule.stroke, thin: true, marker: false };
        (&rule.name, sample, PALETTE[rule.colour % PALETTE.len()])
    });
    let named: Vec<_> = series.chain(bands).chain(rules).filter(|(name, _, _)| !name.trim().is_empty()).collect();
    if named.is_empty() {
        return (Vec::new(), Vec::new(), top);
    }
    let inner = chart.size.0 - 2.0 * SPACE;
    let longest = inner - SAMPLE - AFTER_SAMPLE;
    let shown: Vec<String> = named.iter().map(|(name, _, _)| text::shortened(name, SMALL, longest)).collect();
    let widest = shown.iter().map(|name| text::width(name, SMALL)).fold(0.0, f64::max);
    let column = SAMPLE + AFTER_SAMPLE + widest;
    let gap = 2.0 * SPACE;
    let most = (((inner + gap) / (column + gap)) as usize).clamp(1, named.len());
    // As many rows as that needs, and then no more columns than those need: four entries are two by
    // two rather than three and one.
    let n_columns = named.len().div_ceil(named.len().div_ceil(most));
    let left = (chart.size.0 - (n_columns as f64 * (column + gap) - gap)) / 2.0;
    let (mut entries, mut names) = (Vec::new(), Vec::new());
    let line = 1.5 * SMALL;
    for (index, ((name, sample, colour), shown)) in named.iter().zip(shown).enumerate() {
        let x = left + (index % n_columns) as f64 * (column + gap);
        let y = top + line * ((index / n_columns) as f64 + 0.7);
        entries.push(Entry { sample: *sample, colour, x, y });
        let whole = (shown != **name).then(|| (*name).clone());
        let at = x + SAMPLE + AFTER_SAMPLE;
        names.push(Text { whole, ..Text::new(shown, SMALL, Anchor::Start, at, y + 0.35 * SMALL) });
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
        assert_eq!(layout.series_colours, PALETTE[..2]);
        assert_eq!(layout.band_colours, PALETTE[2..3]);
    }
}
