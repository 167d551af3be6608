//! smECE as relplot 1.0.3 computes it, to reproduce values that were published with it.
//!
//! Its grids, its kernel and its search are reproduced; sums are taken in another order, so that
//! values agree to about 1e-12 where the search ends at the same width.

use super::probabilities::Probabilities;
use super::reflected::Value;
use super::smooth_ece::SmoothSigma;
use crate::Error;
use crate::numerics::convolution::Taps;
use crate::numerics::parallel;

/// Added to the smoothed count of rows at each place.
const DENSITY_FLOOR: f64 = 1e-4;

/// Below this width the search goes no further.
const SMALLEST: f64 = 1e-3;

/// The value and the width.
pub(super) fn smooth_ece(rows: &Probabilities<'_>, sigma: SmoothSigma) -> Result<(Value, f64), Error> {
    let sigma = match sigma {
        SmoothSigma::Value(sigma) => sigma,
        SmoothSigma::FixedPoint => width(rows),
    };
    Ok((Value { value: at_width(rows, sigma), bound: 1e-11 }, sigma))
}

/// Ten halvings of (0, 1); the upper end of what is left.
fn width(rows: &Probabilities<'_>) -> f64 {
    let is_below = |sigma: f64| sigma < SMALLEST || sigma < at_width(rows, sigma);
    if is_below(1.0) {
        return 1.0;
    }
    let (mut upper, mut lower) = (1.0, 0.0);
    for _ in 0..10 {
        let middle = 0.5 * (upper + lower);
        *(if is_below(middle) { &mut lower } else { &mut upper }) = middle;
    }
    upper
}

fn at_width(rows: &Probabilities<'_>, sigma: f64) -> f64 {
    let n_nodes = 2000usize.max((20.0 / sigma).round_ties_even() as usize) / 2 + 1;
    let taps = taps(n_nodes, sigma);
    let [residuals, counts] = spread(rows, n_nodes).map(|values| {
        let extended = reflect(&values);
        let start = n_nodes / 2;
        taps.convolve(&extended[start..start + n_nodes + 2 * taps.reach()]).values
    });
    let n_places = 200usize.max((10.0 / sigma).round_ties_even() as usize);
    let (mut sum, mut total) = (0.0, 0.0);
    for place in 0..n_places {
        let t = if place + 1 == n_places { 1.0 } else { place as f64 * (1.0 / (n_places - 1) as f64) };
        let position = t * (n_nodes - 1) as f64;
        let node = (position as usize).min(n_nodes - 2);
        let fraction = position - node as f64;
        let between = |values: &[f64]| values[node] * (1.0 - fraction) + values[node + 1] * fraction;
        sum += between(&residuals).abs();
        total += between(&counts) + DENSITY_FLOOR;
    }
    sum / total
}

/// The kernel at as many places as there are nodes, from -1/2 to 1/2. Where their number is even,
/// the middle of the kernel is between two nodes, and what it smooths is moved by half a node.
fn taps(n_nodes: usize, sigma: f64) -> Taps {
    let reach = n_nodes / 2;
    Taps::new(reach, |offset| {
        let index = reach as f64 - offset;
        if !(0.0..n_nodes as f64).contains(&index) {
            return 0.0;
        }
        let t = index / (n_nodes - 1) as f64 - 0.5;
        (-t * t / (2.0 * sigma * sigma)).exp() / ((std::f64::consts::TAU).sqrt() * sigma)
    })
}

/// Residuals p - y and counts, each row on the two nodes around it.
fn spread(rows: &Probabilities<'_>, n_nodes: usize) -> [Vec<f64>; 2] {
    let segment = rows.len().div_ceil(64).max(parallel::CHUNK);
    let empty = || [vec![0.0; n_nodes], vec![0.0; n_nodes]];
    rows.sums(segment, empty, |[residuals, counts], p, outcome, _| {
        let position = p * (n_nodes - 1) as f64;
        let node = (position as usize).min(n_nodes - 2);
        let fraction = position - node as f64;
        let residual = p - f64::from(outcome);
        residuals[node] += (1.0 - fraction) * residual;
        residuals[node + 1] += fraction * residual;
        counts[node] += 1.0 - fraction;
        counts[node + 1] += fraction;
    })
}

/// The values, reflected once at each end.
fn reflect(values: &[f64]) -> Vec<f64> {
    let inner = values.len() - 1;
    let before = values[1..].iter().rev();
    let after = values[..inner].iter().rev();
    before.chain(values).chain(after).copied().collect()
}
