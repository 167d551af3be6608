//! A bound on p-values beyond all draws, from how the draws thin out.
//!
//! # The bound
//! Let v be the value, above all n draws under calibration, u the (K + 1)-th largest draw, k the
//! number of draws above u, and S(x) = P(draw > x). One outcome moves the measure by at most c.
//!
//! 1. The measures that use it are norms of sums of independent residuals. For a normal limit of
//!    these sums log S is concave (Borell's inequality): a draw beyond u is beyond u + t with a
//!    probability that falls at least as fast as an exponential one in the long run. With μ the
//!    mean excess over u, Barlow and Marshall (1964) have the sharp bound for t > μ:
//!    ```text
//!    S(u + t) / S(u) <= exp(-w t)      where w is the positive root of 1 - w μ = exp(-w t)
//!    ```
//! 2. S(u) and μ are estimated by the draws above u: three standard errors, 3 / √k of each, are
//!    added. Many draws may equal u, and are not above it.
//! 3. Counts of outcomes have no density: S is a staircase with steps of c at most. The bound is on
//!    a continuous curve below it, through the left ends of the steps: it has at v - c what the
//!    staircase has at v, so c is taken from v; and its mean excess is at most that of the draws.
//!    If steps are wider than μ, the draws do not show how the tail falls, and there is no bound.
//! 4. An outcome that is rare need not be among the draws at all, and no tail shows it. One that n
//!    draws lack has a rate of less than 5 / n in all but 0.7 % of all samples, and more than J of
//!    them come together with a probability below (5 / n)^(J + 1) / (J + 1)!. Where many outcomes
//!    are rare, the draws have some of them, and by step 3 none moves the measure by more than μ.
//!    So for any J
//!    ```text
//!    P(v) <= S(v - (J + 1) c) + (5 / n)^(J + 1) / (J + 1)!
//!    ```
//!    The smallest of these over J is the bound: where one row has most of the weight, it says
//!    little.
//!
//! Steps 1 and 2 are approximate. The test below compares the bound with exact binomial tails; the
//! example `segments` measures how often calibrated groups have a p-value of at most 1e-4 and 1e-5.

use super::resampler::TIE;

/// The share of the draws that is the tail, and the most draws of it.
const SHARE: f64 = 0.1;
const MOST: usize = 200;

/// With fewer, the mean excess is not known well enough.
const FEWEST: usize = 20;

/// Standard errors that are added to what is estimated.
const MARGIN: f64 = 3.0;

/// n times the rate of all outcomes that n draws lack is less in all but 0.7 % of the samples.
const UNSEEN: f64 = 5.0;

/// The most outcomes that no draw has, which are considered together.
const MOST_UNSEEN: i32 = 6;

/// A bound on the probability of the value under calibration; `None` where draws reach it or are
/// too few. `largest_difference` is by how much one outcome can move the measure.
pub(super) fn bound(sorted: &[f64], value: f64, largest_difference: f64) -> Option<f64> {
    let n = sorted.len();
    let k = ((SHARE * n as f64) as usize).min(MOST);
    if k < FEWEST {
        return None;
    }
    let below = sorted[n - k - 1];
    let above = &sorted[sorted.partition_point(|draw| *draw <= below + TIE)..];
    let k = above.len();
    if k < FEWEST || above.last().is_none_or(|largest| *largest >= value) {
        return None;
    }
    let margin = MARGIN / (k as f64).sqrt();
    let excess = above.iter().map(|draw| draw - below).sum::<f64>() / k as f64 * (1.0 + margin);
    if largest_difference > excess {
        return None;
    }
    let share = k as f64 / n as f64 * (1.0 + margin);
    let mut unseen = 1.0;
    let mut least = f64::INFINITY;
    for number in 0..=MOST_UNSEEN {
        unseen *= UNSEEN / n as f64 / f64::from(number + 1);
        let beyond = value - f64::from(number + 1) * largest_difference - below;
        least = least.min(share * survival(beyond, excess) + unseen);
    }
    Some(least.min(1.0))
}

/// The most that P(X >= t) can be for X >= 0 of this mean whose log survival is concave.
fn survival(t: f64, mean: f64) -> f64 {
    if !(t > mean) {
        return 1.0;
    }
    if mean == 0.0 {
        return 0.0;
    }
    // 1 - w μ - exp(-w t) is 0 at w = 0, rises, and falls to below 0 at 1 / μ.
    let (mut positive, mut negative) = ((t / mean).ln() / t, 1.0 / mean);
    for _ in 0..60 {
        let middle = 0.5 * (positive + negative);
        if 1.0 - middle * mean > (-middle * t).exp() { positive = middle } else { negative = middle }
    }
    (-positive * t).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::binomial::Binomial;
    use crate::numerics::random::{Normals, Uniforms};

    #[test]
    fn the_bound_is_sharp_for_exponential_and_above_normal_tails() {
        // The root is found: 1 - w μ = exp(-w t).
        for (t, mean) in [(1.5, 1.0), (3.0, 1.0), (20.0, 1.0), (0.3, 0.01)] {
            let found = survival(t, mean);
            let w = -found.ln() / t;
            assert!((1.0 - w * mean - found).abs() < 1e-12, "{t} {mean}: {found}");
            assert!(found >= (-t / mean).exp());
        }
        assert_eq!((survival(0.5, 1.0), survival(1.0, 0.0)), (1.0, 0.0));
        // Sizes of normal numbers: 6 is beyond 1,000 of them, and rarer than any bound says.
        let mut normals = Normals::new(7);
        let mut draws: Vec<f64> = (0..1000).map(|_| normals.next().abs()).collect();
        draws.sort_unstable_by(f64::total_cmp);
        let found = bound(&draws, 6.0, 0.0).unwrap();
        assert!((1e-8..1e-4).contains(&found), "{found}");
        assert_eq!(bound(&draws, 0.5, 0.0), None);
    }

    /// One prediction for all rows, so that the measure is |count / n - p|, whose exact tail is
    /// known.
    #[test]
    fn the_bound_is_above_exact_tails_of_counts() {
        let mut least: f64 = f64::INFINITY;
        for (n, p) in [(8, 0.02), (8, 0.3), (20, 0.02), (30, 0.2), (100, 0.05), (200, 0.2), (2000, 0.01), (2000, 0.5)] {
            let mut probabilities = vec![(f64::from(n) * f64::ln_1p(-p)).exp()];
            for count in 0..n {
                let next = probabilities[count as usize] * f64::from(n - count) / f64::from(count + 1) * p / (1.0 - p);
                probabilities.push(next);
            }
            let size = |count: usize| (count as f64 / f64::from(n) - p).abs();
            for seed in 0..40 {
                let (law, mut uniforms) = (Binomial::new(n as u64, p), Uniforms::new(seed));
                let mut draws: Vec<f64> = (0..1000).map(|_| size(law.draw(&mut uniforms) as usize)).collect();
                draws.sort_unstable_by(f64::total_cmp);
                for count in 0..=n as usize {
                    let value = size(count);
                    let exact: f64 =
                        (0..=n as usize).filter(|c| size(*c) >= value - 1e-12).map(|c| probabilities[c]).sum();
                    // Beyond, the proof of McDiarmid's bound is what counts.
                    if let Some(found) = bound(&draws, value, 1.0 / f64::from(n)).filter(|_| exact > 1e-12) {
                        least = least.min(found / exact);
                    }
                }
            }
        }
        assert!(least > 0.5, "a bound of {least} of the exact tail");
    }

    #[test]
    fn one_row_that_can_make_the_value_alone_is_no_evidence() {
        // 1,000 draws near 0.1, and a row whose rare outcome none of them has.
        let draws: Vec<f64> = (0..1000).map(|k| 0.1 + 1e-5 * f64::from(k)).collect();
        assert_eq!(bound(&draws, 0.9, 0.85), None);
        assert!(bound(&draws, 0.112, 1e-4).unwrap() > 1e-6);
        assert!(bound(&draws, 0.9, 1e-4).unwrap() < 1e-12);
    }
}
