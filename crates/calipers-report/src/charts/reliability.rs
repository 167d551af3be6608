//! Reliability diagrams: outcome rate by probability.

use calipers::{Bin, LsCurve};

use crate::chart::{Axis, BLACK, Band, Chart, PALETTE, Series, Stroke};
use crate::gather::{Corp, Overlay, Reliability, Smoothed};
use crate::number::count;

/// The share of the height that the density takes.
const DENSITY: f64 = 0.18;

/// With fewer rows than this within one sigma, a curve shows nothing about the model. If there are
/// few rows in all, the limit is a share of them.
const LEAST_ROWS: f64 = 0.5;

/// With fewer rows than this within one sigma, the line is thin.
pub(crate) const FEW_ROWS: f64 = 20.0;

/// The two axes of a diagram, which have the same ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Axes {
    /// Probabilities between these ends.
    Linear(f64, f64),
    /// Log-odds, marked with the probabilities between these ends.
    Logit(f64, f64),
}

impl Axes {
    /// From 0 to 1; or only the part with nearly all rows and the curve as far as it rests on many
    /// rows, if that is at most half.
    pub(crate) fn linear(reliability: &Reliability) -> Self {
        const ENDS: [f64; 6] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
        // The largest share of rows that may be beyond the end of the axis.
        const BEYOND: f64 = 0.005;
        let total: f64 = reliability.fine.iter().map(|bin| bin.weight).sum();
        // A curve that leaves the part would be cut. Spurs that rest on few rows may be, unless
        // they are most of the curve.
        let chosen = reliability.smoothed.get(reliability.chosen);
        let curve = chosen.map_or(Vec::new(), |diagram| {
            let all = seen(diagram, &diagram.curve.outcome_rates);
            let [firm, _] = by_rows(&diagram.curve, &diagram.rows_nearby);
            let n = |rates: &[f64]| rates.iter().filter(|rate| !rate.is_nan()).count();
            let rates = if 2 * n(&firm) >= n(&all) { firm } else { all };
            diagram.curve.probabilities.iter().copied().zip(rates).collect()
        });
        let ends = reliability.ends.iter().map(|end| (end.mean_probability, end.outcome_rate));
        let points: Vec<(f64, f64)> = curve.into_iter().chain(ends).filter(|(_, rate)| !rate.is_nan()).collect();
        let within = |from: f64, to: f64| {
            let inside = |bin: &&Bin| bin.lower >= from - 1e-9 && bin.upper <= to + 1e-9;
            let weight: f64 = reliability.fine.iter().filter(inside).map(|bin| bin.weight).sum();
            total > 0.0
                && weight >= (1.0 - BEYOND) * total
                && points.iter().all(|(p, rate)| !(from..=to).contains(p) || (from..=to).contains(rate))
        };
        let low = ENDS.into_iter().find(|end| within(0.0, *end)).map(|end| Axes::Linear(0.0, end));
        let high = || ENDS.into_iter().find(|end| within(1.0 - end, 1.0)).map(|end| Axes::Linear(1.0 - end, 1.0));
        low.or_else(high).unwrap_or(Axes::Linear(0.0, 1.0))
    }

    /// From the smallest to the largest probability at which the curve is drawn.
    pub(crate) fn logit(diagram: &Smoothed) -> Self {
        Self::logit_of_all([(&diagram.curve, &diagram.rows_nearby)].into_iter())
    }

    /// The same for several curves, each with the number of rows near its points.
    pub(crate) fn logit_of_all<'a>(curves: impl Iterator<Item = (&'a LsCurve, &'a Vec<f64>)>) -> Self {
        let (mut least, mut greatest) = (0.09f64, 0.91f64);
        for (curve, near) in curves {
            for (p, _) in curve.probabilities.iter().zip(near).filter(|(_, near)| **near >= LEAST_ROWS) {
                (least, greatest) = (least.min(*p), greatest.max(*p));
            }
        }
        Axes::Logit(least, greatest)
    }

    /// These axes if a curve does not leave them, else from 0 to 1.
    pub(crate) fn holding(self, x: &[f64], y: &[f64]) -> Self {
        let (from, to) = self.ends();
        let is_inside = |value: &f64| (from..=to).contains(value);
        if x.iter().zip(y).all(|(x, y)| !is_inside(x) || is_inside(y)) { self } else { Axes::Linear(0.0, 1.0) }
    }

    pub(super) fn axis(self, label: &str) -> Axis {
        match self {
            Axes::Linear(from, to) => Axis::linear(label).range(from, to),
            Axes::Logit(from, to) => Axis::logit(format!("{label}, log-odds scale")).range(from, to),
        }
    }

    pub(super) fn ends(self) -> (f64, f64) {
        match self {
            Axes::Linear(from, to) | Axes::Logit(from, to) => (from, to),
        }
    }

    /// A value of the vertical axis: log-odds of 0 and 1 are infinite, and shown at the end.
    fn y(self, value: f64) -> f64 {
        match self {
            Axes::Linear(..) => value,
            Axes::Logit(from, to) if !value.is_nan() => value.clamp(from, to),
            Axes::Logit(..) => value,
        }
    }

    /// The rows beyond the ends of a linear axis, in words.
    fn beyond(self, bins: &[Bin]) -> String {
        let Axes::Linear(from, to) = self else { return String::new() };
        let n: u64 = bins.iter().filter(|bin| bin.upper > to + 1e-9 || bin.lower < from - 1e-9).map(|bin| bin.n).sum();
        match n {
            0 => String::new(),
            1 => " (1 row is beyond this axis)".to_owned(),
            n => format!(" ({} rows are beyond this axis)", count(n)),
        }
    }

    fn points(self, x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
        x.iter().copied().zip(y.iter().map(|y| self.y(*y))).collect()
    }

    /// Whether a smoothed curve is drawn at a probability. Next to 0 and 1 a linear axis has no
    /// room for it, so that it would be a vertical line; dots show the rows there.
    fn has_room(self, p: f64) -> bool {
        match self {
            Axes::Linear(from, to) => p.min(1.0 - p) >= 0.001 * (to - from),
            Axes::Logit(..) => true,
        }
    }

    /// The points of a smoothed curve.
    pub(super) fn curve(self, x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
        let shown = |(x, y): (&f64, &f64)| (*x, if self.has_room(*x) { self.y(*y) } else { f64::NAN });
        x.iter().zip(y).map(shown).collect()
    }
}

pub(super) fn diagram(title: &str, name: &str, axes: Axes, fine: &[Bin]) -> Chart {
    let (from, to) = axes.ends();
    let x = axes.axis("probability");
    let x = Axis { label: format!("{}{}", x.label, axes.beyond(fine)), ..x };
    let chart = super::square(title).x(x).y(axes.axis("outcome rate")).subtitle(name);
    let diagonal = vec![(from, from), (to, to)];
    chart.add(Series::line("perfect calibration", diagonal).colour(BLACK).stroke(Stroke::Dotted))
}

/// Whether there are enough rows at a point to draw the curve there.
pub(crate) fn is_seen(diagram: &Smoothed, place: usize) -> bool {
    is_drawn(&diagram.curve, &diagram.rows_nearby, place)
}

fn is_drawn(curve: &LsCurve, rows_nearby: &[f64], place: usize) -> bool {
    rows_nearby[place] >= LEAST_ROWS.min(0.004 * curve.n as f64) && !curve.outcome_rates[place].is_nan()
}

/// Values along the curve, with NaN where it is not drawn.
pub(crate) fn seen(diagram: &Smoothed, values: &[f64]) -> Vec<f64> {
    let value = |(place, value): (usize, &f64)| if is_seen(diagram, place) { *value } else { f64::NAN };
    values.iter().enumerate().map(value).collect()
}

/// The outcome rates of a curve, with NaN where it is not drawn.
pub(crate) fn drawn((curve, rows_nearby): (&LsCurve, &Vec<f64>)) -> Vec<f64> {
    let rate = |place: usize| if is_drawn(curve, rows_nearby, place) { curve.outcome_rates[place] } else { f64::NAN };
    (0..curve.outcome_rates.len()).map(rate).collect()
}

/// The curve where it rests on many rows, and where it rests on few. The two touch.
pub(crate) fn by_rows(curve: &LsCurve, rows_nearby: &[f64]) -> [Vec<f64>; 2] {
    let n = curve.outcome_rates.len();
    let is_firm = |place: usize| rows_nearby[place] >= FEW_ROWS;
    let touches =
        |place: usize| [place.saturating_sub(1), place, (place + 1).min(n - 1)].iter().any(|at| !is_firm(*at));
    let pick = |is_kept: &dyn Fn(usize) -> bool| {
        let kept = |place: usize| is_drawn(curve, rows_nearby, place) && is_kept(place);
        (0..n).map(|place| if kept(place) { curve.outcome_rates[place] } else { f64::NAN }).collect()
    };
    [pick(&is_firm), pick(&touches)]
}

/// The smoothed curve with its consistency band, dots for the rows next to 0 and 1, and the density
/// of the smoothed probabilities at the bottom.
pub(crate) fn smoothed(
    name: &str,
    reliability: &Reliability,
    diagram: &Smoothed,
    axes: Axes,
    band_name: &str,
) -> Chart {
    let curve = &diagram.curve;
    let at = |values: &[f64]| axes.curve(&curve.probabilities, values);
    let [firm, weak] = by_rows(curve, &diagram.rows_nearby);
    let (lower, upper) = (seen(diagram, &diagram.band.lower), seen(diagram, &diagram.band.upper));
    let chart = self::diagram("Reliability diagram, smoothed", name, axes, &reliability.fine)
        .band(density(diagram, axes))
        .band(Band::new(band_name, at(&lower), at(&upper)).colour(0));
    let lines = [
        Series::line("outcome rate", at(&firm)).colour(0),
        Series::line(format!("from < {FEW_ROWS} rows"), at(&weak)).colour(0).thin(),
    ];
    // A line without points would be in the legend alone.
    let chart = lines.into_iter().filter(Series::has_points).fold(chart, Chart::add);
    ends(reliability, axes)
        .into_iter()
        .fold(chart, |chart, (name, point)| chart.add(Series::line(name, vec![point]).colour(1).markers().large()))
}

/// The rows next to 0 and to 1, which a smoothed curve does not reach: a dot for each.
fn ends(reliability: &Reliability, axes: Axes) -> Vec<(String, (f64, f64))> {
    let (from, to) = axes.ends();
    let dot = |end: &Bin| {
        let name = format!("{} rows near {}", count(end.n), if end.upper < 0.5 { 0 } else { 1 });
        (name, (end.mean_probability.clamp(from, to), axes.y(end.outcome_rate)))
    };
    reliability.ends.iter().filter(|end| end.upper > from && end.lower < to).map(dot).collect()
}

/// The density as an area at the bottom. Its height is the square root, so that few rows are
/// visible beside many.
fn density(diagram: &Smoothed, axes: Axes) -> Band {
    let (from, to) = axes.ends();
    // On log-odds the density is that of the logits, which rows within sigma are proportional to.
    let densities = if matches!(axes, Axes::Logit(..)) { &diagram.rows_nearby } else { &diagram.curve.densities };
    let inside: Vec<(f64, f64)> = (diagram.curve.probabilities.iter().zip(densities))
        .filter(|(p, _)| (from..=to).contains(*p) && axes.has_room(**p))
        .map(|(p, density)| (*p, *density))
        .collect();
    let highest = inside.iter().map(|point| point.1).fold(f64::MIN_POSITIVE, f64::max);
    let height = |density: f64| {
        let share = DENSITY * (density / highest).sqrt();
        match axes {
            Axes::Linear(..) => from + share * (to - from),
            Axes::Logit(..) => {
                let logit = |p: f64| p.ln() - (-p).ln_1p();
                let u = logit(from) + share * (logit(to) - logit(from));
                1.0 / (1.0 + (-u).exp())
            }
        }
    };
    let bottom = inside.iter().map(|point| (point.0, from)).collect();
    let top = inside.iter().map(|point| (point.0, height(point.1))).collect();
    Band::new("density (√ scale)", bottom, top).colour(BLACK).visible()
}

/// A bar for the outcome rate of each bin, a dot at its mean probability, and where the rate of a
/// calibrated model would be.
pub(crate) fn binned(name: &str, reliability: &Reliability, axes: Axes, band_name: &str) -> Chart {
    let (bins, chance) = (&reliability.bins, &reliability.bins_band);
    let (from, to) = axes.ends();
    let occupied = bins.iter().filter(|bin| !bin.outcome_rate.is_nan());
    let dots = occupied.map(|bin| (bin.mean_probability.clamp(from, to), axes.y(bin.outcome_rate))).collect();
    // NaN separates the bars.
    let bars = |height: &dyn Fn(usize) -> f64, gap: f64| -> Vec<(f64, f64)> {
        let bar = |(place, bin): (usize, &Bin)| {
            let (left, right) = ((bin.lower + gap).clamp(from, to), (bin.upper - gap).clamp(from, to));
            [(left, f64::NAN), (left, axes.y(height(place))), (right, axes.y(height(place)))]
        };
        bins.iter().enumerate().flat_map(bar).collect()
    };
    let gap = 0.002 * (to - from);
    let upper = bars(&|place| bins[place].outcome_rate, gap);
    let lower = upper.iter().map(|(x, _)| (*x, from)).collect();
    diagram("Reliability diagram, binned", name, axes, &reliability.fine)
        .band(Band::new("outcome rate", lower, upper).colour(0).strong())
        .band(
            Band::new(
                band_name,
                bars(&|place| chance.lower[place], 4.0 * gap),
                bars(&|place| chance.upper[place], 4.0 * gap),
            )
            .colour(1),
        )
        .add(Series::line("mean of the bin", dots).colour(0).markers())
}

/// The isotonic fit with its consistency band.
pub(crate) fn corp(name: &str, reliability: &Reliability, axes: Axes, band_name: &str) -> Chart {
    let (from, to) = axes.ends();
    let Corp { probabilities, outcome_rates, lower, upper } = &reliability.corp;
    let x: Vec<f64> = match axes {
        Axes::Linear(..) => probabilities.clone(),
        Axes::Logit(..) => probabilities.iter().map(|p| p.clamp(from, to)).collect(),
    };
    let at = |values: &[f64]| axes.points(&x, values);
    diagram("Reliability diagram, CORP", name, axes, &reliability.fine)
        .band(Band::new(band_name, at(lower), at(upper)).colour(2))
        .add(Series::line("outcome rate", at(outcome_rates)).colour(2))
}

/// The smoothed curves of several models in one diagram, all with the same sigma. Each has dots for
/// its rows next to 0 and 1, and is thin where it rests on few rows.
pub(crate) fn overlay(models: &[(&str, &Reliability)], overlay: &Overlay, axes: Axes) -> Chart {
    let strokes = [Stroke::Solid, Stroke::Dashed, Stroke::Dotted];
    let n_colours = PALETTE.len() - 1;
    let mut chart = diagram("Reliability diagrams of all models, smoothed", "", axes, &[]);
    for (place, ((name, reliability), (curve, near))) in
        models.iter().zip(overlay.curves.iter().zip(&overlay.rows_nearby)).enumerate()
    {
        let (colour, stroke) = (place % n_colours, strokes[place / n_colours % strokes.len()]);
        let [firm, weak] = by_rows(curve, near).map(|rates| axes.curve(&curve.probabilities, &rates));
        chart = chart.add(Series::line("", weak).colour(colour).thin());
        chart = chart.add(Series::line(*name, firm).colour(colour).stroke(stroke));
        for (_, point) in ends(reliability, axes) {
            chart = chart.add(Series::line("", vec![point]).colour(colour).markers().large());
        }
    }
    chart
}
