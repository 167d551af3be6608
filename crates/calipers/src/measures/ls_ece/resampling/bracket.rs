//! The bracket of ∫ |G| with its standard errors, and those of the signed parts.

use super::super::Integrand;
use super::grid::Grid;
use super::rows::OfRows;
use super::slopes::Slopes;
use crate::inference::{Bracket, Enclosure, End, PartBracket, PartBrackets};

/// Rows or clusters, whose influence values are summed.
pub(super) trait Influences {
    /// The variance of ∫ f G from influence values.
    fn variance(&self, grid: &Grid, slopes: &Slopes) -> f64;
}

/// The deviation of the integral of these weights times G, with the variance that quiet places lack
/// beside calibrated predictions.
fn deviation(grid: &Grid, weights: &[f64], quiet: Option<&[f64]>, influences: &dyn Influences) -> f64 {
    let variance = influences.variance(grid, &Slopes::of_weights(grid, weights));
    (variance + quiet.map_or(0.0, |quiet| lacking(grid, quiet, influences))).sqrt()
}

/// What the variance of the integral of these weights times G lacks beside calibrated predictions.
/// For clusters it is larger than for independent rows by as much as the variance is.
pub(super) fn lacking(grid: &Grid, quiet: &[f64], influences: &dyn Influences) -> f64 {
    let slopes = Slopes::of_weights(grid, quiet);
    let of_rows = OfRows.variance(grid, &slopes);
    let lacking = (slopes.null_variance(grid) - of_rows).max(0.0);
    if of_rows > 0.0 { lacking * (influences.variance(grid, &slopes) / of_rows) } else { lacking }
}

pub(super) fn of_enclosure(grid: &Grid, found: &Enclosure, influences: &dyn Influences) -> Bracket {
    found.bracket(|end| deviation(grid, &end.weights, end.quiet.as_deref(), influences))
}

/// The four signed parts of the residual form; `None` for LS-ECE itself, of which noise on the
/// logits is a part.
///
/// With D = ∫ d(u) R(u) du and d = 1, the part where R is positive is (∫|R| + D) / 2: outcomes
/// above predictions. With d = -1 where predictions are above 1/2 and 1 elsewhere it is the part
/// where predictions are too far from 1/2. D has no bias, so that the bracket of ∫|R| gives that of
/// each part.
pub(super) fn parts(grid: &Grid, found: &Enclosure, influences: &dyn Influences) -> Option<PartBrackets> {
    if grid.integrand == Integrand::Paper {
        return None;
    }
    let spacing = grid.nodes.spacing();
    let part = |direction: &dyn Fn(f64) -> f64| {
        let directions: Vec<f64> = grid.nodes.responses.iter().map(|response| direction(*response)).collect();
        let difference =
            directions.iter().zip(&grid.residuals).map(|(d, residual)| d * residual).sum::<f64>() * spacing;
        let half = |weights: &[f64]| -> Vec<f64> {
            weights.iter().zip(&directions).map(|(weight, direction)| 0.5 * (weight + direction)).collect()
        };
        let of_end = |end: &End| {
            let Some(quiet) = &end.quiet else { return deviation(grid, &half(&end.weights), None, influences) };
            // Where rows show nothing, the picked sign may be wrong: then the part is linear in G
            // there, with the weight d, and its noise is that of all quiet places.
            let linear = |halves: &[f64], elsewhere: &dyn Fn(usize) -> f64| -> Vec<f64> {
                let weight = |place: usize| if quiet[place] != 0.0 { directions[place] } else { elsewhere(place) };
                (0..halves.len()).map(weight).collect()
            };
            let halves = half(&end.weights);
            let weights = linear(&halves, &|place| halves[place]);
            let picked = deviation(grid, &halves, None, influences);
            picked.max(deviation(grid, &weights, Some(&linear(&halves, &|_| 0.0)), influences))
        };
        let half = |value: f64| 0.5 * (value + difference);
        let whole = found.bracket(of_end);
        let bracket = Bracket {
            lower: half(whole.lower),
            upper: half(whole.upper),
            corrected: half(whole.corrected),
            debiased: half(whole.debiased).clamp(0.0, whole.debiased),
            ..whole
        };
        PartBracket { value: 0.5 * (grid.value + difference), bracket }
    };
    let outward = |response: f64| if response > 0.5 { -1.0 } else { 1.0 };
    Some(PartBrackets {
        too_low: part(&|_| 1.0),
        too_high: part(&|_| -1.0),
        overconfident: part(&outward),
        underconfident: part(&|response| -outward(response)),
    })
}
