//! max Σ c_i w_i over |w_i| <= 1, |w_i - w_{i+1}| <= x_{i+1} - x_i, by dynamic programming.

use super::kinks::Kinks;
use crate::watch;

/// An optimal w, up to rounding.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub(super) values: Vec<f64>,
    /// By how much any value can differ from that of the feasible w which the same decisions give
    /// in exact arithmetic.
    pub(super) error: f64,
}

/// `x` ascends strictly, within [0, 1].
///
/// V_i(u), the best of the first i terms where w_i = u, is concave and piecewise linear on [-1, 1].
/// From V_i to V_{i+1} its maximum becomes flat over twice the step, and c u is added: a new slope
/// at the flat, which is used up by passing kinks.
pub(super) fn solve(x: &[f64], c: &[f64]) -> Solution {
    const LEFT: usize = 0;
    const RIGHT: usize = 1;
    let mut kinks = Kinks::new();
    let mut best = vec![0.0; x.len()];
    for (k, ((&x, &c), best)) in x.iter().zip(c).zip(&mut best).enumerate() {
        if k % 4096 == 0 {
            watch::check();
        }
        *best = if c > 0.0 {
            kinks.climb(RIGHT, x, c)
        } else if c < 0.0 {
            -kinks.climb(LEFT, x, -c)
        } else {
            // Anywhere on the flat.
            0f64.min(kinks.reach(RIGHT, x)).max(-kinks.reach(LEFT, x))
        };
    }
    trace_back(x, best)
}

/// From the last value back: each is the best of its own, or the nearest to it that its successor
/// allows.
fn trace_back(x: &[f64], mut values: Vec<f64>) -> Solution {
    let n = values.len();
    // Where the present straight run began, and whether it goes up or down or not at all. Values
    // along a run are computed from its beginning, so that their error grows with the number of
    // turns and not with the number of rows.
    let (mut start, mut run) = ((x[n - 1], values[n - 1]), 0.0);
    let (mut n_turns, mut most_turns) = (0u64, 0u64);
    for i in (0..n - 1).rev() {
        let (best, next) = (values[i], values[i + 1]);
        let length = x[i + 1] - x[i];
        let step = if best > next + length {
            1.0
        } else if best < next - length {
            -1.0
        } else {
            (start, run, n_turns) = ((x[i], best), 0.0, 0);
            continue;
        };
        if step != run {
            (start, run, n_turns) = ((x[i + 1], next), step, n_turns + 1);
            most_turns = most_turns.max(n_turns);
        }
        values[i] = (start.1 + step * (start.0 - x[i])).clamp(-1.0, 1.0);
    }
    Solution { values, error: 2.0 * f64::EPSILON * (most_turns + 2) as f64 }
}
