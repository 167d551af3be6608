//! The distribution of the probabilities by outcome.

use calipers::Bin;

use crate::chart::{Axis, Band, Chart};

/// Bars of the share of rows with outcome 1 and with outcome 0, both from 0.
pub(crate) fn distribution(name: &str, bars: &[Bin]) -> Chart {
    let band = |name: &str, heights: &[f64], colour: usize| {
        let steps = |(bin, height): (&Bin, &f64)| [(bin.lower, *height), (bin.upper, *height)];
        let upper: Vec<(f64, f64)> = bars.iter().zip(heights).flat_map(steps).collect();
        Band::new(name, upper.iter().map(|(x, _)| (*x, 0.0)).collect(), upper).colour(colour).strong()
    };
    let [ones, zeros] = shares(bars);
    super::low("Probabilities by outcome")
        .subtitle(name)
        .x(Axis::linear("probability").range(0.0, 1.0))
        .y(Axis::linear("share of all rows"))
        .band(band("outcome 1", &ones, 0))
        .band(band("outcome 0", &zeros, 1))
}

/// The share of all rows that is in each bar, with outcome 1 and with outcome 0.
pub(crate) fn shares(bars: &[Bin]) -> [Vec<f64>; 2] {
    let total: f64 = bars.iter().map(|bin| bin.weight).sum();
    let share = |bin: &Bin, rate: f64| if bin.weight > 0.0 { bin.weight / total * rate } else { 0.0 };
    let ones = bars.iter().map(|bin| share(bin, bin.outcome_rate)).collect();
    [ones, bars.iter().map(|bin| share(bin, 1.0 - bin.outcome_rate)).collect()]
}
