//! The distribution of the probabilities by outcome.

use calipers::Bin;

use crate::chart::{Axis, Band, Chart};

/// Bars of the share of rows with outcome 1 and with outcome 0, on a linear or a logarithmic axis.
pub(crate) fn distribution(name: &str, bars: &[Bin], is_log: bool) -> Chart {
    let [ones, zeros] = shares(bars);
    // On a logarithmic axis bars begin below the smallest share.
    let positive = || ones.iter().chain(&zeros).copied().filter(|share| *share > 0.0);
    let base = if is_log { 10f64.powf((0.5 * positive().fold(1.0, f64::min)).log10().floor()) } else { 0.0 };
    let band = |name: &str, heights: &[f64], colour: usize| {
        // A bar of nothing has no height, also on a logarithmic axis.
        let steps = |(bin, height): (&Bin, &f64)| [(bin.lower, height.max(base)), (bin.upper, height.max(base))];
        let upper: Vec<(f64, f64)> = bars.iter().zip(heights).flat_map(steps).collect();
        Band::new(name, upper.iter().map(|(x, _)| (*x, base)).collect(), upper).colour(colour).strong()
    };
    let y = if is_log { Axis::log("share of all rows, log scale") } else { Axis::linear("share of all rows") };
    super::low(Chart::new("Probabilities by outcome"))
        .subtitle(name)
        .x(Axis::linear("probability").range(0.0, 1.0))
        .y(y)
        .band(band("outcome 1", &ones, 0))
        .band(band("outcome 0", &zeros, 1))
}

/// Whether one outcome is so rare that its bars are hardly visible on a linear axis.
pub(crate) fn is_rare(bars: &[Bin]) -> bool {
    let highest = |shares: &[f64]| shares.iter().copied().fold(0.0, f64::max);
    let [ones, zeros] = shares(bars).map(|shares| highest(&shares));
    ones.min(zeros) < 0.05 * ones.max(zeros)
}

/// The share of all rows that is in each bar, with outcome 1 and with outcome 0.
pub(crate) fn shares(bars: &[Bin]) -> [Vec<f64>; 2] {
    let total: f64 = bars.iter().map(|bin| bin.weight).sum();
    let share = |bin: &Bin, rate: f64| if bin.weight > 0.0 { bin.weight / total * rate } else { 0.0 };
    let ones = bars.iter().map(|bin| share(bin, bin.outcome_rate)).collect();
    [ones, bars.iter().map(|bin| share(bin, 1.0 - bin.outcome_rate)).collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_outcome_is_visible_on_the_logarithmic_axis() {
        let bar = |lower: f64, weight: f64, outcome_rate: f64| Bin {
            lower,
            upper: lower + 0.5,
            n: weight as u64,
            weight,
            mean_probability: lower + 0.25,
            outcome_rate,
        };
        let bars = [bar(0.0, 9900.0, 0.001), bar(0.5, 100.0, 0.5)];
        assert!(is_rare(&bars) && !is_rare(&[bar(0.0, 10.0, 0.5), bar(0.5, 10.0, 0.5)]));
        let heights = |is_log: bool| -> Vec<f64> {
            let svg = distribution("m", &bars, is_log).to_svg();
            let document = roxmltree::Document::parse(&svg).unwrap();
            let areas = document.descendants().filter(|node| node.tag_name().name() == "polygon");
            let extent = |points: &str| {
                let y: Vec<f64> =
                    points.split(' ').map(|point| point.split(',').nth(1).unwrap().parse().unwrap()).collect();
                y.iter().copied().fold(0.0, f64::max) - y.iter().copied().fold(1e9, f64::min)
            };
            areas.map(|node| extent(node.attribute("points").unwrap())).collect()
        };
        // The outcome 1 has a share of at most 0.005 in a bar.
        assert!(heights(false)[0] < 5.0 && heights(true)[0] > 40.0, "{:?} {:?}", heights(false), heights(true));
    }
}
