//! Where probabilities are, by outcome.

use calipers::Bin;

use crate::chart::{Axis, Band, Chart};

/// Bars of the share of rows with outcome 1 and with outcome 0, one over the other.
pub(crate) fn distribution(name: &str, bars: &[Bin]) -> Chart {
    let total: f64 = bars.iter().map(|bin| bin.weight).sum();
    let band = |name: &str, share: &dyn Fn(&Bin) -> f64, colour: usize| {
        let steps = |bin: &Bin| {
            let height = if bin.weight > 0.0 { bin.weight / total * share(bin) } else { 0.0 };
            [(bin.lower, height), (bin.upper, height)]
        };
        let upper: Vec<(f64, f64)> = bars.iter().flat_map(steps).collect();
        Band::new(name, upper.iter().map(|(x, _)| (*x, 0.0)).collect(), upper).colour(colour).strong()
    };
    super::low("Probabilities by outcome")
        .subtitle(name)
        .x(Axis::linear("probability").range(0.0, 1.0))
        .y(Axis::linear("share of all rows"))
        .band(band("outcome 1", &|bin| bin.outcome_rate, 0))
        .band(band("outcome 0", &|bin| 1.0 - bin.outcome_rate, 1))
}
