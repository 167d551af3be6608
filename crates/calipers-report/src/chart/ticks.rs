//! The ends of an axis, and the values that are marked on it.

use super::{Axis, Scale};
use crate::number;

/// An axis with its ends and marks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ticks {
    scale: Scale,
    from: f64,
    to: f64,
    /// Marked with a number and a line across the plot.
    pub(super) major: Vec<(f64, String)>,
    /// Marked with a short line.
    pub(super) minor: Vec<f64>,
}

impl Ticks {
    /// Marks for these data, of which about `most` have numbers.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>, most: usize) -> Self {
        let most = most.max(2);
        let given =
            axis.range.filter(|&(from, to)| axis.scale.shows(from) && axis.scale.shows(to) && is_wide(from, to));
        let (from, to) = given.unwrap_or_else(|| {
            let extent = values.filter(|value| axis.scale.shows(*value)).fold(None, |extent, value| match extent {
                None => Some((value, value)),
                Some((least, most)) => Some((value.min(least), value.max(most))),
            });
            match (axis.scale, extent) {
                (Scale::Linear, Some((least, greatest))) if axis.has_zero => {
                    linear_range(Some((least.min(0.0), greatest.max(0.0))), most)
                }
                (Scale::Linear, _) => linear_range(extent, most),
                (Scale::Log, _) => log_range(extent),
                (Scale::Logit, _) => logit_range(extent),
            }
        });
        let (major, minor) = match axis.scale {
            Scale::Linear => (linear_ticks(from, to, step(from, to, most)), Vec::new()),
            Scale::Log => log_ticks(from, to, most),
            Scale::Logit => (logit_ticks(from, to, most), Vec::new()),
        };
        Ticks { scale: axis.scale, from, to, major, minor }
    }

    /// The position of a value as a share of the axis: 0 at its start, 1 at its end. `None` if the
    /// axis cannot show the value.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        self.scale.shows(value).then(|| match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log => (value / self.from).log10() / (self.to / self.from).log10(),
            Scale::Logit => (logit(value) - logit(self.from)) / (logit(self.to) - logit(self.from)),
        })
    }
}

/// Whether the numbers between the two ends can be distinguished.
fn is_wide(from: f64, to: f64) -> bool {
    to - from > 1e-9 * from.abs().max(to.abs())
}

/// Ends on marks around the data. One end is 0 if the data then still fill half of the plot.
fn linear_range(extent: Option<(f64, f64)>, most: usize) -> (f64, f64) {
    let (least, greatest) = match extent {
        None | Some((0.0, 0.0)) => (0.0, 1.0),
        Some((least, greatest)) if !is_wide(least, greatest) => {
            let half = greatest.abs().max(least.abs()) / 2.0;
            (least - half, greatest + half)
        }
        Some((least, greatest)) if least >= 0.0 && least <= greatest / 2.0 => (0.0, greatest),
        Some((least, greatest)) if greatest <= 0.0 && greatest >= least / 2.0 => (least, 0.0),
        Some(extent) => extent,
    };
    let step = step(least, greatest, most);
    // Slightly inside, so that an end on a mark stays there.
    ((least / step + 1e-9).floor() * step, (greatest / step - 1e-9).ceil() * step)
}

/// The smallest of 1, 2, 5, 10, ... times a power of ten that cuts a range into fewer parts than
/// `most`.
fn step(from: f64, to: f64, most: usize) -> f64 {
    let least = (to - from) / most as f64;
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

fn linear_ticks(from: f64, to: f64, step: f64) -> Vec<(f64, String)> {
    let first = (from / step - 1e-9).ceil();
    let count = ((to / step + 1e-9).floor() - first).max(0.0) as usize;
    // Multiples of the step, since the errors of sums would grow. Adding 0 removes the sign of -0.
    let values: Vec<f64> = (0..=count).map(|index| (first + index as f64) * step + 0.0).collect();
    labelled(values, step)
}

/// Numbers with the digits that the step needs, all in one notation.
fn labelled(values: Vec<f64>, step: f64) -> Vec<(f64, String)> {
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let exponent = (step.log10() + 1e-9).floor() as i32;
    let label = |value: f64| match (largest, exponent) {
        (_, -6..) if largest < 1e7 => grouped(value, (-exponent).max(0) as usize),
        _ if value == 0.0 => "0".to_owned(),
        // As many digits as the largest number needs at this step.
        _ => scientific(value, (largest.log10().floor() as i32 - exponent).clamp(0, 15) as usize),
    };
    values.into_iter().map(|value| (value, label(value))).collect()
}

fn log_range(extent: Option<(f64, f64)>) -> (f64, f64) {
    let (least, greatest) = match extent {
        None => (1.0, 10.0),
        Some((least, greatest)) if !is_wide(least, greatest) => (least / 2.0, greatest * 2.0),
        Some(extent) => extent,
    };
    let marks = |value: f64| [1.0, 2.0, 5.0, 10.0].map(|factor| factor * 10f64.powf(value.log10().floor()));
    let below = marks(least).into_iter().rev().find(|mark| *mark <= least * (1.0 + 1e-9));
    let above = marks(greatest).into_iter().find(|mark| *mark >= greatest * (1.0 - 1e-9));
    (below.unwrap_or(least), above.unwrap_or(greatest))
}

/// Powers of ten with numbers, and 2 to 9 times them without. If there are fewer than three powers,
/// 1, 2 and 5 times them have numbers; if that is too few, the marks are those of a linear axis.
fn log_ticks(from: f64, to: f64, most: usize) -> (Vec<(f64, String)>, Vec<f64>) {
    let inside = |value: &f64| (from * (1.0 - 1e-9)..=to * (1.0 + 1e-9)).contains(value);
    let (first, last) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let multiples = |factors: &'static [f64]| {
        let values = (first..=last).flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
        values.filter(inside).collect::<Vec<f64>>()
    };
    let powers = multiples(&[1.0]);
    let between = multiples(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    let label = |value: f64| (value, power_label(value));
    if powers.len() > most {
        let stride = powers.len().div_ceil(most) as i32;
        let kept = |value: &&f64| value.log10().round() as i32 % stride == 0;
        return (powers.iter().filter(kept).map(|value| label(*value)).collect(), powers);
    }
    let few = multiples(&[1.0, 2.0, 5.0]);
    let marked = match (powers.len(), few.len()) {
        (3.., _) => powers,
        (_, 2..) if few.len() <= most => few,
        (2, _) => powers,
        _ => return (linear_ticks(from, to, step(from, to, most)), Vec::new()),
    };
    (marked.into_iter().map(label).collect(), between)
}

fn logit(p: f64) -> f64 {
    p.ln() - (-p).ln_1p()
}

/// The marks of a logit axis: 10⁻¹², ..., 0.01, 0.1, 0.5, 0.9, 0.99, ..., 1 - 10⁻¹².
fn logit_marks() -> Vec<(f64, String)> {
    let near_zero = (1..=12).rev().map(|power| (10f64.powi(-power), power_label(10f64.powi(-power))));
    let near_one = (1..=12).map(|power| {
        let distance = 10f64.powi(-power);
        (
            1.0 - distance,
            if power <= 3 { format!("{}", 1.0 - distance) } else { format!("1−{}", power_label(distance)) },
        )
    });
    near_zero.chain([(0.5, "0.5".to_owned())]).chain(near_one).collect()
}

/// Ends on marks around the data.
fn logit_range(extent: Option<(f64, f64)>) -> (f64, f64) {
    let (least, greatest) = extent.unwrap_or((0.01, 0.99));
    let marks: Vec<f64> = logit_marks().into_iter().map(|(mark, _)| mark).collect();
    // proof: there are marks, and the first is below the last
    let below = marks.iter().rev().copied().find(|mark| *mark <= least).unwrap_or(least.max(1e-300));
    let above = marks.iter().copied().find(|mark| *mark >= greatest).unwrap_or(1.0 - 1e-15);
    if below < above { (below, above) } else { (0.5 * below, 0.5 * (1.0 + above).min(1.0 - 1e-15)) }
}

/// Marks with as much space between them as `most` evenly spaced ones have.
fn logit_ticks(from: f64, to: f64, most: usize) -> Vec<(f64, String)> {
    let least = (logit(to) - logit(from)) / most as f64;
    let mut inside: Vec<(f64, String)> =
        logit_marks().into_iter().filter(|(mark, _)| (from..=to).contains(mark)).collect();
    // The middle stays, and the others as far as they are not too near to one that stays.
    inside.sort_by(|a, b| logit(a.0).abs().total_cmp(&logit(b.0).abs()));
    let mut kept: Vec<(f64, String)> = Vec::new();
    for (mark, label) in inside {
        if kept.iter().all(|(other, _)| (logit(*other) - logit(mark)).abs() >= 0.8 * least) {
            kept.push((mark, label));
        }
    }
    kept.sort_by(|a, b| a.0.total_cmp(&b.0));
    if kept.len() < 2 {
        kept = linear_ticks(from, to, step(from, to, most))
            .into_iter()
            .filter(|(mark, _)| *mark > 0.0 && *mark < 1.0)
            .collect();
    }
    kept
}

/// `0.01`, `200`, `10⁻⁵`, `2·10⁶`.
fn power_label(value: f64) -> String {
    let exponent = (value.log10() + 1e-9).floor() as i32;
    match exponent {
        -3..=5 => grouped(value, (-exponent).max(0) as usize),
        _ => scientific(value, 0),
    }
}

/// `3·10⁻⁷`, or `10⁻⁷` if the factor is 1.
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let (factor, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let raised = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => digit.to_digit(10).and_then(|digit| char::from_u32('⁰' as u32 + digit)).unwrap_or(digit),
    };
    let exponent: String = exponent.chars().map(raised).collect();
    match factor {
        "1" => format!("10{exponent}"),
        _ => format!("{}·10{exponent}", factor.replace('-', "−")),
    }
}

/// With a comma between thousands from five digits on, and a minus as wide as a plus.
fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let whole = if whole.len() > 4 { number::with_commas(whole) } else { whole.to_owned() };
    format!("{}{whole}{rest}", if value < 0.0 { "−" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64], most: usize) -> Vec<String> {
        Ticks::new(axis, values.iter().copied(), most).major.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn linear_marks_are_round_numbers_around_the_data() {
        let linear = Axis::linear("");
        assert_eq!(labels(&linear, &[0.0, 1.0], 6), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&linear, &[1.0, 100.0], 6), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(&linear, &[0.0121, 0.0187], 5), ["0.012", "0.014", "0.016", "0.018", "0.020"]);
        assert_eq!(labels(&linear, &[-3.0, 4.0], 5), ["−4", "−2", "0", "2", "4"]);
        assert_eq!(labels(&linear, &[0.0, 50_000.0], 5), ["0", "10,000", "20,000", "30,000", "40,000", "50,000"]);
        assert_eq!(labels(&linear, &[0.0, 3e-9], 3), ["0", "10⁻⁹", "2·10⁻⁹", "3·10⁻⁹"]);
        assert_eq!(labels(&linear.range(0.05, 0.31), &[], 5), ["0.1", "0.2", "0.3"]);
    }

    #[test]
    fn log_marks_are_powers_of_ten_and_finer_where_there_are_few() {
        let log = Axis::log("");
        assert_eq!(labels(&log, &[100.0, 1e6], 8), ["100", "1000", "10,000", "100,000", "10⁶"]);
        assert_eq!(labels(&log, &[0.001, 1.0], 8), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(labels(&log, &[0.02, 0.11], 8), ["0.02", "0.05", "0.1", "0.2"]);
        assert_eq!(labels(&log, &[1e-12, 1.0], 5), ["10⁻¹²", "10⁻⁹", "10⁻⁶", "0.001", "1"]);
        assert_eq!(labels(&log.clone().range(3.1, 3.9), &[], 5), ["3.2", "3.4", "3.6", "3.8"]);
        assert_eq!(Ticks::new(&log, [1.0, 1000.0].into_iter(), 8).minor.len(), 24);
    }

    #[test]
    fn an_axis_from_zero_has_zero_however_far_the_data_are() {
        assert_eq!(
            labels(&Axis::linear("").from_zero(), &[0.0121, 0.0187], 4),
            ["0.000", "0.005", "0.010", "0.015", "0.020"]
        );
        assert_eq!(labels(&Axis::linear("").from_zero(), &[-3.0, -2.0], 3), ["−3", "−2", "−1", "0"]);
    }

    #[test]
    fn logit_marks_show_what_is_near_0_and_near_1() {
        let logit = Axis::logit("");
        assert_eq!(labels(&logit, &[0.02, 0.97], 10), ["0.01", "0.1", "0.5", "0.9", "0.99"]);
        assert_eq!(labels(&logit, &[1e-6, 0.9], 10), ["10⁻⁶", "10⁻⁵", "10⁻⁴", "0.001", "0.01", "0.1", "0.5", "0.9"]);
        let ticks = Ticks::new(&logit.clone().range(1e-6, 1.0 - 1e-6), [].into_iter(), 8);
        assert!(ticks.major.iter().any(|(_, label)| label == "1−10⁻⁶" || label == "1−10⁻⁵"), "{ticks:?}");
        assert!(ticks.place(0.5).is_some_and(|place| (place - 0.5).abs() < 1e-9), "{ticks:?}");
        assert_eq!((ticks.place(0.0), ticks.place(1.0)), (None, None));
        for values in [&[][..], &[0.5], &[1e-200, 0.5], &[0.3, 0.300001], &[1e-9, 1.0 - 1e-13]] {
            let ticks = Ticks::new(&logit, values.iter().copied(), 6);
            assert!(0.0 < ticks.from && ticks.from < ticks.to && ticks.to < 1.0, "{values:?} {ticks:?}");
        }
    }

    #[test]
    fn any_data_have_finite_ends_that_hold_them() {
        let cases: [&[f64]; 9] = [
            &[],
            &[f64::NAN, f64::INFINITY],
            &[0.0],
            &[5.0],
            &[-5.0, -5.0],
            &[1e300, -1e300],
            &[1e-300, 2e-300],
            &[1.0, 1.0 + f64::EPSILON],
            &[0.3, 0.300001],
        ];
        for values in cases {
            for axis in [Axis::linear(""), Axis::log("")] {
                let ticks = Ticks::new(&axis, values.iter().copied(), 6);
                assert!(
                    ticks.from.is_finite() && ticks.to.is_finite() && ticks.from < ticks.to,
                    "{values:?} {ticks:?}"
                );
                for place in values.iter().filter_map(|value| ticks.place(*value)) {
                    assert!((-1e-9..=1.0 + 1e-9).contains(&place), "{values:?} {ticks:?}");
                }
                assert!((2..20).contains(&ticks.major.len()), "{values:?} {ticks:?}");
            }
        }
    }
}
