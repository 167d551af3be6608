//! How far the densities of smoothed logits are from those of a sample, in L1: the two distances of
//! Lemma varlemma.
//!
//! # Definition
//! ```text
//! ∫ |p_{T,Y=1}(t) - its estimate| dt = ∫ |f₁(u) - f̂₁(u)| du,      f₁(u) = E[1{Y = 1} p_ξ(u - h)]
//! ∫ |p_T(t)       - its estimate| dt = ∫ |f(u)  - f̂(u)|  du,      f(u)  = E[p_ξ(u - h)]
//! ```
//! by t = ρ(u); f̂ is f of the empirical measure. The noise is Gaussian.
//!
//! # Method
//! Between -W and W on nodes of spacing sigma/6, W at most 50 and less where the logits end before:
//! f and f₁ once for each sigma, f̂ by adding each row's kernel, cut at 6.5 sigma, to the nodes
//! that it reaches. Where heavy tails go on beyond W, rows lie apart (the largest of n is near n²)
//! and no common grid holds them. There f is the density itself, to a share of 2 sigma² / W² of it,
//! and outcomes are settled; around rows |f - f̂| is integrated on nodes of their own, and between
//! rows f̂ is 0 and the integral is the mass of f, from the distribution function.

use calipers::population::{Family, Sample};
use calipers::{Error, Gaussian, Noise};

/// Nodes for each sigma.
const NODES: f64 = 6.0;

/// The kernel beyond so many sigmas, 8e-11 of it, is left out.
const REACH: f64 = 6.5;

/// Logits beyond are looked at row by row.
const FAR: f64 = 50.0;

/// The two distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Distances {
    /// With outcome 1.
    pub(crate) positive: f64,
    /// With either outcome.
    pub(crate) total: f64,
}

/// f₁ and f of a family at one sigma, ready to be compared with samples.
pub(crate) struct Smoothed<'a> {
    family: &'a Family,
    kernel: Kernel,
    /// Nodes go from -edge to edge.
    edge: f64,
    positive: Vec<f64>,
    total: Vec<f64>,
}

impl<'a> Smoothed<'a> {
    pub(crate) fn new(family: &'a Family, sigma: f64) -> Result<Self, Error> {
        let kernel = Kernel::new(sigma);
        let logits = family.logits();
        let outside = |w: f64| logits.distribution(-w) + 1.0 - logits.distribution(w);
        let ends = (1..).map(|k| 0.25 * f64::from(k)).find(|&w| w >= FAR || outside(w) < 1e-12).unwrap_or(FAR);
        // A whole number of panels on either side.
        let n_panels = ((ends + REACH * sigma) / kernel.step).ceil();
        let edge = n_panels * kernel.step;
        let nodes: Vec<f64> = (0..=2 * n_panels as usize).map(|j| j as f64 * kernel.step - edge).collect();
        let masses = family.smoothed(&Gaussian, sigma, &nodes)?;
        let (positive, total) = masses.into_iter().map(|mass| (mass.positive, mass.total)).unzip();
        Ok(Smoothed { family, kernel, edge, positive, total })
    }

    /// The distances of a sample.
    pub(crate) fn distances(&self, sample: &Sample) -> Distances {
        let share = 1.0 / sample.scores.len() as f64;
        let rows = || sample.scores.iter().copied().zip(sample.outcomes.iter().copied());
        let (mut positive, mut total) = (vec![0.0; self.total.len()], vec![0.0; self.total.len()]);
        for (logit, outcome) in rows().filter(|(logit, _)| logit.abs() < self.edge + self.kernel.reach) {
            let place = logit + self.edge;
            self.kernel.add(&mut total, place, share);
            if outcome {
                self.kernel.add(&mut positive, place, share);
            }
        }
        let near = Distances {
            positive: self.kernel.integral(&self.positive, &positive),
            total: self.kernel.integral(&self.total, &total),
        };
        [-1.0, 1.0].into_iter().fold(near, |sum, side| {
            // The side's rows, mirrored if need be, and far out only.
            let beyond = rows().map(|(logit, outcome)| (side * logit, outcome));
            let mut beyond: Vec<(f64, bool)> =
                beyond.filter(|(logit, _)| *logit > self.edge - self.kernel.reach).collect();
            beyond.sort_by(|a, b| a.0.total_cmp(&b.0));
            let far = self.far(&beyond, side, share);
            Distances { positive: sum.positive + far.positive, total: sum.total + far.total }
        })
    }

    /// The part of the distances beyond the edge on one side; rows in order of their mirrored
    /// logits.
    fn far(&self, rows: &[(f64, bool)], side: f64, share: f64) -> Distances {
        let logits = self.family.logits();
        // P(mirrored logit > u) and the share of outcome 1 in it, which no longer changes out here.
        let tail = |u: f64| if side > 0.0 { 1.0 - logits.distribution(u) } else { logits.distribution(-u) };
        let rate = self.family.truth().probability(side * self.edge);
        let Kernel { reach, step, .. } = self.kernel;
        let mut sum = Distances { positive: 0.0, total: 0.0 };
        let add_gap = |sum: &mut Distances, mass: f64| {
            sum.positive += rate * mass;
            sum.total += mass;
        };
        let mut position = self.edge;
        for cluster in rows.chunk_by(|a, b| b.0 - a.0 <= 2.0 * reach + step) {
            // Ways are measured from the first row: a logit of 1e15 itself is only good to sigmas.
            let (first, last) = (cluster[0].0, cluster[cluster.len() - 1].0);
            let lead = (first - self.edge).min(reach);
            let start = first - lead;
            let n_panels = ((last - first + lead + reach) / step).ceil().max(1.0) as usize;
            let end = start + n_panels as f64 * step;
            add_gap(&mut sum, tail(position) - tail(start));
            position = end;
            let density: Vec<f64> = (0..=n_panels).map(|j| logits.density(side * (start + j as f64 * step))).collect();
            let with_outcome: Vec<f64> = density.iter().map(|f| rate * f).collect();
            let (mut positive, mut total) = (vec![0.0; n_panels + 1], vec![0.0; n_panels + 1]);
            for (logit, outcome) in cluster {
                let place = logit - first + lead;
                self.kernel.add(&mut total, place, share);
                if *outcome {
                    self.kernel.add(&mut positive, place, share);
                }
            }
            sum.positive += self.kernel.integral(&with_outcome, &positive);
            sum.total += self.kernel.integral(&density, &total);
        }
        add_gap(&mut sum, tail(position));
        sum
    }
}

/// The Gaussian kernel at nodes.
struct Kernel {
    sigma: f64,
    step: f64,
    reach: f64,
    /// The kernel at whole numbers of steps from its middle.
    table: Vec<f64>,
}

impl Kernel {
    fn new(sigma: f64) -> Self {
        let n = (REACH * NODES) as usize;
        let table = (0..=n).map(|j| Gaussian.density(j as f64 / NODES) / sigma).collect();
        Kernel { sigma, step: sigma / NODES, reach: REACH * sigma, table }
    }

    /// Adds a kernel with its middle at `place`, of total `share`, to the nodes 0, step, 2 step,
    /// ...
    ///
    /// With x the distance from the middle to the nearest node, K(x + jΔ) = exp(-x²/2σ²) ·
    /// exp(-xΔ/σ²)^j · K(jΔ), which takes two exponentials for all nodes. Since |x| <= Δ/2, the
    /// powers stay between 1/2 and 2.
    fn add(&self, values: &mut [f64], place: f64, share: f64) {
        let nearest = (place / self.step).round();
        let x = (nearest * self.step - place) / self.sigma;
        let (peak, ratio) = (share * (-0.5 * x * x).exp(), (-x / NODES).exp());
        let inverse = 1.0 / ratio;
        // Nodes from the nearest on, and those before it; kernels may hang over either end.
        let (nearest, n_nodes) = (nearest as i64, values.len() as i64);
        let skipped = (-nearest).clamp(0, self.table.len() as i64);
        let from = (nearest + skipped).clamp(0, n_nodes) as usize;
        let mut power = peak * ratio.powi(skipped as i32);
        for (value, own) in values[from..].iter_mut().zip(&self.table[skipped as usize..]) {
            *value += power * own;
            power *= ratio;
        }
        let skipped = (nearest - n_nodes + 1).clamp(1, self.table.len() as i64);
        let to = (nearest - skipped + 1).clamp(0, n_nodes) as usize;
        power = peak * inverse.powi(skipped as i32);
        for (value, own) in values[..to].iter_mut().rev().zip(&self.table[skipped as usize..]) {
            *value += power * own;
            power *= inverse;
        }
    }

    /// ∫ |f - g| from their values at the nodes.
    ///
    /// The trapezoid rule is as good as exact for kernels, but where f - g passes through 0 the
    /// slope of |f - g| jumps by s. There the integral of the straight piece is exact, and s Δ² /
    /// 12 is what the rule misses on the smooth pieces that end there (Euler and Maclaurin).
    fn integral(&self, f: &[f64], g: &[f64]) -> f64 {
        let gaps: Vec<f64> = f.iter().zip(g).map(|(f, g)| f - g).collect();
        let panel = |a: f64, b: f64| {
            let size = a.abs() + b.abs();
            if a * b < 0.0 { 0.5 * (a * a + b * b) / size + size / 6.0 } else { 0.5 * size }
        };
        self.step * gaps.windows(2).map(|pair| panel(pair[0], pair[1])).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use calipers::Form;

    use super::*;

    /// ∫ over [-to, to] with 60 nodes for each sigma and kernels written out.
    fn slow(family: &Family, sigma: f64, sample: &Sample, to: f64) -> Distances {
        let step = sigma / 60.0;
        let nodes: Vec<f64> = (0..(2.0 * to / step) as usize).map(|j| (j as f64 + 0.5) * step - to).collect();
        let masses = family.smoothed(&Gaussian, sigma, &nodes).unwrap();
        let mut sum = Distances { positive: 0.0, total: 0.0 };
        for (u, mass) in nodes.iter().zip(masses) {
            let n = sample.scores.len() as f64;
            let kernel = |row: usize| Gaussian.density((u - sample.scores[row]) / sigma) / (n * sigma);
            let total: f64 = (0..sample.scores.len()).map(kernel).sum();
            let positive: f64 = (0..sample.scores.len()).filter(|&row| sample.outcomes[row]).map(kernel).sum();
            sum.positive += step * (mass.positive - positive).abs();
            sum.total += step * (mass.total - total).abs();
        }
        sum
    }

    fn check(fast: Distances, slow: Distances) {
        assert!((fast.positive - slow.positive).abs() < 1e-4, "{fast:?} against {slow:?}");
        assert!((fast.total - slow.total).abs() < 1e-4, "{fast:?} against {slow:?}");
    }

    #[test]
    fn the_distances_are_those_of_a_slow_quadrature() {
        for (name, to) in [("calibrated", 14.0), ("jumps", 7.0)] {
            let family = Family::named(name).unwrap();
            for (n, sigma) in [(3, 0.3), (300, 0.3), (100, 0.1)] {
                let sample = family.sample(n, 5);
                check(Smoothed::new(&family, sigma).unwrap().distances(&sample), slow(&family, sigma, &sample, to));
            }
        }
    }

    #[test]
    fn far_rows_are_counted_wherever_they_are() {
        let family = Family::named("calibrated-heavy-tails").unwrap();
        // Alone, in pairs, on both sides of the edge at 50 and a bit, and out of reach of every
        // grid.
        let scores = vec![-1e30, -81.0, -80.6, -53.1, -3.0, 0.0, 0.5, 49.0, 52.0, 53.2, 54.0, 90.0, 1e9];
        let outcomes = scores.iter().map(|&h| h > 0.1).collect();
        let sample = Sample { form: Form::Logits, scores, outcomes };
        let mut slow = slow(&family, 0.5, &sample, 100.0);
        // Beyond 100, the mass of the law and two rows of which one has outcome 1.
        let tail = family.logits().distribution(-100.0);
        slow.total += 2.0 * tail + 2.0 / 13.0;
        slow.positive += tail + 1.0 / 13.0;
        check(Smoothed::new(&family, 0.5).unwrap().distances(&sample), slow);
    }

    #[test]
    fn a_sample_far_from_everything_is_at_distance_2() {
        let family = Family::named("calibrated").unwrap();
        let sample = Sample { form: Form::Logits, scores: vec![-1e3, 200.0], outcomes: vec![true, false] };
        let found = Smoothed::new(&family, 0.1).unwrap().distances(&sample);
        assert!((found.total - 2.0).abs() < 1e-9, "{found:?}");
    }
}
