//! Ensemble temperature scaling: weights of three predictions, one of them after a temperature.
//!
//! With q_i the probabilities that the three give to the label of row i, the weights w minimise
//! f(w) = -Σ ω_i log(w' q_i) on the simplex.
//!
//! # The certificate
//! 1. r_j = Σ ω_i q_ij / (w' q_i) is minus the derivative of f by w_j, and Σ_j w_j r_j = 1.
//! 2. f is convex: f(v) >= f(w) - Σ_j r_j (v_j - w_j) = f(w) + 1 - Σ_j r_j v_j for any v.
//! 3. On the simplex Σ_j r_j v_j <= max_j r_j. So f(w) is above its minimum by at most
//!    max_j r_j - 1 nats.

use super::fit::{Chosen, ClassFit, Classes, Slope};
use super::map::{ClassFormula, ClassMap};
use crate::Error;
use crate::numerics::sum::Sum;
use crate::recalibrate::fit::Parameter;
use crate::recalibrate::fit::newton::FitBound;

/// The gap in nats at which weights are taken.
const SMALL_GAP: f64 = 1e-12;

const NOT_FOUND: Error = Error::ToleranceNotMet {
    tolerance: SMALL_GAP,
    attainable: f64::INFINITY,
    reason: "no weights of the ensemble can be proven to be near the best ones",
};

/// Rows in an order of their own: what the three give to the label, and the share of the weight.
struct Labelled {
    rows: Vec<([f64; 3], f64)>,
}

impl Classes<'_> {
    pub(crate) fn fit_ensemble(&self, rows: &Chosen<'_>) -> Result<ClassFit, Error> {
        let (options, k) = (self.options, self.scores.n_classes());
        let slope = rows.temperature(0.0)?;
        let labelled = Labelled::new(rows, slope.value);
        let (weights, gap) = labelled.weights().ok_or(NOT_FOUND)?;
        let mixture = options.mixture.unwrap_or(0.0);
        let weight = |value: &f64| Parameter { name: "weight", value: *value, standard_error: None };
        let equal = mixture / k as f64;
        let mixed = |p: f64| (1.0 - mixture) * p + equal;
        let loss = |(q, share): &([f64; 3], f64)| -share * mixed(mean(q, &weights)).ln();
        let n_used = weights.iter().filter(|weight| **weight > 0.0).count();
        let Slope { value, bound, .. } = slope;
        Ok(ClassFit {
            parameters: std::iter::once(slope.parameter()).chain(weights.iter().map(weight)).collect(),
            covariance: Vec::new(),
            log_loss_after: labelled.rows.iter().map(loss).collect::<Sum>().value(),
            bound: FitBound { standard_errors: bound.standard_errors, nats: bound.nats + gap },
            effective_parameters: n_used as f64,
            notes: Vec::new(),
            spread: None,
            map: ClassMap {
                method: options.method,
                n_classes: k,
                slope: value,
                formula: ClassFormula::Ensemble { weights },
                mixture,
                clip: options.clip,
            },
        })
    }
}

fn mean(q: &[f64; 3], weights: &[f64; 3]) -> f64 {
    weights[0] * q[0] + weights[1] * q[1] + weights[2] * q[2]
}

impl Labelled {
    fn new(rows: &Chosen<'_>, slope: f64) -> Self {
        let scores = rows.scores;
        let losses = |slope: f64| {
            let chunks = scores.at_slope(slope / scores.unit, |_, terms| terms.iter().map(|row| row.loss).collect());
            chunks.into_iter().flat_map(|losses: Vec<f64>| losses).collect::<Vec<f64>>()
        };
        let (after, before) = (losses(slope), losses(1.0));
        let equal = 1.0 / scores.n_classes() as f64;
        let chosen = (0..scores.len()).filter(|index| (rows.is_chosen)(*index) && scores.weight(*index) > 0.0);
        let row =
            |index: usize| ([(-after[index]).exp(), (-before[index]).exp(), equal], scores.weight(index) / rows.total);
        let mut rows: Vec<([f64; 3], f64)> = chosen.map(row).collect();
        // Rows with equal numbers are alike, so that this is one order for any order of the rows.
        rows.sort_unstable_by(|(a, v), (b, w)| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])).then(v.total_cmp(w)));
        Labelled { rows }
    }

    /// r of the certificate.
    fn ratios(&self, weights: &[f64; 3]) -> [f64; 3] {
        let mut sums = [Sum::default(); 3];
        for (q, share) in &self.rows {
            let part = share / mean(q, weights);
            (0..3).for_each(|j| sums[j].add(part * q[j]));
        }
        sums.map(Sum::value)
    }

    /// The best weights and their gap. Each corner, each edge and the inside of the simplex is
    /// tried: what meets the conditions of optimality is the minimum, since f is convex.
    fn weights(&self) -> Option<([f64; 3], f64)> {
        let corners = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let edges = [[0, 1], [0, 2], [1, 2]].map(|[a, b]| self.on_edge(a, b));
        let found = corners.into_iter().chain(edges.into_iter().flatten()).find_map(|weights| self.certified(weights));
        found.or_else(|| self.certified(self.inside()?))
    }

    fn certified(&self, weights: [f64; 3]) -> Option<([f64; 3], f64)> {
        let ratios = self.ratios(&weights);
        // Sums are off by a few units of rounding.
        let gap = ratios.into_iter().fold(0.0, f64::max) - 1.0 + 16.0 * f64::EPSILON;
        // Not finite where the weights give a label the probability 0.
        let is_near = ratios.iter().all(|ratio| ratio.is_finite()) && gap <= SMALL_GAP;
        is_near.then_some((weights, gap.max(0.0)))
    }

    /// The least point between two corners, where the derivative changes its sign between them.
    fn on_edge(&self, a: usize, b: usize) -> Option<[f64; 3]> {
        let at = |t: f64| {
            let mut weights = [0.0; 3];
            weights[a] = t;
            weights[b] = 1.0 - t;
            weights
        };
        // f falls toward a where r_a > r_b; the difference falls with t.
        let (mut low, mut high) = (0.0, 1.0);
        let mut t = 0.5;
        for _ in 0..200 {
            let weights = at(t);
            let (mut first, mut second) = (Sum::default(), Sum::default());
            for (q, share) in &self.rows {
                let ratio = (q[a] - q[b]) / mean(q, &weights);
                first.add(share * ratio);
                second.add(share * ratio * ratio);
            }
            let (first, second) = (first.value(), second.value());
            if first > 0.0 {
                low = t
            } else {
                high = t
            }
            let newton = t + first / second;
            let next = if low < newton && newton < high { newton } else { 0.5 * (low + high) };
            if (next - t).abs() <= 2.0 * f64::EPSILON * t.min(1.0 - t) || next <= 0.0 || next >= 1.0 {
                break;
            }
            t = next;
        }
        (t > 0.0 && t < 1.0).then(|| at(t))
    }

    /// f, which is infinite where a label gets no probability.
    fn loss(&self, weights: &[f64; 3]) -> f64 {
        let part = |(q, share): &([f64; 3], f64)| {
            let mean = mean(q, weights);
            if mean > 0.0 { -share * mean.ln() } else { f64::INFINITY }
        };
        self.rows.iter().map(part).collect::<Sum>().value()
    }

    /// The weights after a step, which is halved until f falls by a share of what its slope
    /// promises. Weights may be negative on the way: f is finite on more than the simplex.
    fn stepped(&self, weights: [f64; 3], step: [f64; 3], decrement: f64) -> Option<[f64; 3]> {
        let before = self.loss(&weights);
        let slack = 1e-14 * (1.0 + before.abs());
        let shares = std::iter::successors(Some(1.0), |share| Some(0.5 * share)).take(60);
        let after = |share: f64| (share, std::array::from_fn(|j| weights[j] + share * step[j]));
        let falls = |(share, next): &(f64, [f64; 3])| {
            let loss = self.loss(next);
            loss.is_finite() && loss <= before - 1e-4 * share * decrement * decrement + slack
        };
        shares.map(after).find(falls).map(|(_, next)| next)
    }

    /// The least point, if it is inside, by Newton's method.
    fn inside(&self) -> Option<[f64; 3]> {
        let mut weights = [1.0 / 3.0; 3];
        for _ in 0..200 {
            let mut gradient = [Sum::default(); 2];
            let mut hessian = [Sum::default(); 3];
            for (q, share) in &self.rows {
                let total = mean(q, &weights);
                let ratio = [(q[0] - q[2]) / total, (q[1] - q[2]) / total];
                (0..2).for_each(|j| gradient[j].add(share * ratio[j]));
                hessian[0].add(share * ratio[0] * ratio[0]);
                hessian[1].add(share * ratio[0] * ratio[1]);
                hessian[2].add(share * ratio[1] * ratio[1]);
            }
            let [g0, g1] = gradient.map(Sum::value);
            let [h00, h01, h11] = hessian.map(Sum::value);
            let determinant = h00 * h11 - h01 * h01;
            let step = [(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant];
            let decrement = (g0 * step[0] + g1 * step[1]).max(0.0).sqrt();
            if !decrement.is_finite() {
                return None;
            }
            let step = [step[0], step[1], -step[0] - step[1]];
            weights = self.stepped(weights, step, decrement)?;
            if decrement < 1e-15 {
                break;
            }
        }
        let total: f64 = weights.iter().sum();
        weights.iter().all(|weight| *weight > 0.0).then(|| weights.map(|weight| weight / total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_agree_with_expectation_and_maximisation() {
        let mut state = 9_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut kinds = [0; 4];
        for _ in 0..60 {
            let tilt = [uniform(), uniform()];
            let row = |uniform: &mut dyn FnMut() -> f64| {
                ([uniform().powf(0.2 + tilt[0]), uniform().powf(0.2 + tilt[1]), 0.4], 0.02)
            };
            let labelled = Labelled { rows: (0..50).map(|_| row(&mut uniform)).collect() };
            let (weights, gap) = labelled.weights().unwrap();
            let mut slow = [1.0 / 3.0; 3];
            for _ in 0..20_000 {
                let ratios = labelled.ratios(&slow);
                slow = std::array::from_fn(|j| slow[j] * ratios[j]);
            }
            let loss =
                |weights: &[f64; 3]| labelled.rows.iter().map(|(q, share)| -share * mean(q, weights).ln()).sum::<f64>();
            assert!(loss(&weights) <= loss(&slow) + gap + 1e-14, "{weights:?} {slow:?}");
            (0..3).for_each(|j| assert!((weights[j] - slow[j]).abs() < 1e-2, "{weights:?} {slow:?}"));
            assert!(gap < 1e-12);
            kinds[weights.iter().filter(|weight| **weight > 0.0).count()] += 1;
        }
        assert!(kinds[1] > 0 && kinds[2] > 0 && kinds[3] > 0, "{kinds:?}");
    }
}
