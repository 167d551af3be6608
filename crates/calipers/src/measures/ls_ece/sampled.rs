//! The paper's own estimator, which samples the outer expectation.

use super::regression::Regression;
use super::specs::SAMPLED;
use super::{LsEce, Points, Sigma};
use crate::link::IntoLink;
use crate::measures::prelude::*;
use crate::noise::IntoNoise;
use crate::numerics::parallel;
use crate::numerics::random::Uniforms;
use crate::setters::setters;

/// Samples that are worked on at once.
const CHUNK: usize = 1 << 16;

/// More would take hours, and their standard error is below 2e-5 already.
const MOST_SAMPLES: f64 = 1e9;

/// LS-ECE by sampling, as in section 5 of the paper: for those who want to reproduce it.
///
/// # Definition
/// ```text
/// (1/m) Σ_j |r(u_j) - ρ(u_j)|,   u_j = h_I + ξ,   r(u) = Σ_i s_i y_i p_ξ(u - h_i) / Σ_i s_i p_ξ(u - h_i)
/// ```
/// with I drawn by weight and p_ξ the density of the noise that is drawn.
///
/// # Cost
/// O(n log n) and, for each sample, the rows within reach of the noise; memory O(n).
///
/// # Accuracy
/// Unbiased for [`LsEce`](crate::LsEce), with the standard error in the result: about 1/(2 √m).
/// Prefer [`LsEce`](crate::LsEce), which is exact to its tolerance and faster.
///
/// # Example
/// ```
/// use calipers::{Measure, Input, LsEce, LsEceSampled};
///
/// let predictions = Input::probabilities(&[0.9, 0.6, 0.2], &[1, 0, 0]).check()?;
/// let view = predictions.binary()?;
/// let exact = LsEce::new().sigma(0.5).estimate(&view)?;
/// let sampled = LsEceSampled::new(0.5).random_state(7).estimate(&view)?;
/// assert!((sampled.value - exact.value).abs() < 5.0 * sampled.standard_error.unwrap());
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LsEceSampled {
    /// The same measure as an integral.
    exact: LsEce,
    n_samples: u64,
    random_state: u64,
}

impl LsEceSampled {
    /// Gaussian noise of that scale, logistic link, 10,000 samples, seed 0.
    pub fn new(sigma: impl Into<Sigma>) -> Self {
        LsEceSampled { exact: LsEce::new().sigma(sigma), n_samples: 10_000, random_state: 0 }
    }

    /// The distribution of the noise, drawn and smoothed with alike.
    pub fn noise(self, noise: impl IntoNoise) -> Self {
        LsEceSampled { exact: self.exact.noise(noise), ..self }
    }

    /// The link between logits and probabilities.
    pub fn link(self, link: impl IntoLink) -> Self {
        LsEceSampled { exact: self.exact.link(link), ..self }
    }

    /// As for [`LsEce::clip`](crate::LsEce::clip).
    pub fn clip(self, clip: f64) -> Self {
        LsEceSampled { exact: self.exact.clip(clip), ..self }
    }

    setters! {
        /// How many samples, from 2 to 10^9.
        n_samples: u64;

        /// The seed: the same numbers on every machine and any number of threads.
        random_state: u64;
    }
}

impl Measure for LsEceSampled {
    fn spec(&self) -> &'static Spec {
        &SAMPLED
    }

    fn link(&self) -> &dyn Link {
        &*self.exact.link
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let LsEce { noise, link, clip, .. } = &self.exact;
        self.exact.check_settings()?;
        check_range("n_samples", self.n_samples as f64, 2.0..=MOST_SAMPLES, "from 2 to 1000000000")?;
        let (points, sigma) = self.exact.points(view)?;
        let regression = Regression::new(&points, self.exact.kernel(sigma));
        let order = regression.order();
        let cumulated: Vec<f64> = running_sums(order.iter().map(|&index| points.weight(index))).collect();
        let mut uniforms = Uniforms::new(self.random_state);
        // u = h_I + ξ, one after another from one stream.
        let mut draw = || {
            let target = uniforms.next() * points.total_weight;
            let place = cumulated.partition_point(|&weight| weight <= target).min(order.len() - 1);
            points.logits[order[place]] + sigma * noise.sample(&mut || uniforms.next())
        };
        let gap = |&u: &f64| (outcome_rate(&points, &regression, u) - link.response(u)).abs();
        let (mut sum, mut squares) = (Sum::default(), Sum::default());
        for start in (0..self.n_samples).step_by(CHUNK) {
            let places: Vec<f64> = (start..self.n_samples).take(CHUNK).map(|_| draw()).collect();
            let gaps = parallel::map_each(&places, gap);
            for gap in gaps {
                sum.add(gap);
                squares.add(gap * gap);
            }
        }
        let m = self.n_samples as f64;
        let mean = sum.value() / m;
        let variance = ((squares.value() - m * mean * mean) / (m - 1.0)).max(0.0);
        // How far the mean that is sampled can be from LS-ECE: the ratios' rounding, and the
        // logits' by the noise's total variation. The error of sampling itself stands beside it.
        let bound = 2f64.powi(-43)
            + 2.0 * regression.neglected * sigma
            + noise.variation(1).unwrap_or(f64::INFINITY) * points.logit_error / sigma;
        let estimate = Estimate::new(self.spec(), mean, bound)
            .of(view)
            .clipped(points.n_clipped)
            .with("sigma", sigma)
            .with("sigma_rule", self.exact.sigma_rule())
            .with("noise", noise.name())
            .with("link", link.name())
            .with("n_samples", self.n_samples)
            .with("random_state", self.random_state)
            .with("clip", *clip);
        Ok(Estimate { standard_error: Some((variance / m).sqrt()), ..estimate })
    }

    fn decided_by(&self) -> Option<Box<dyn Measure>> {
        self.exact.decided_by()
    }

    fn compared_by(&self, views: &[&BinaryView<'_>]) -> Result<Option<Box<dyn Measure>>, Error> {
        self.exact.compared_by(views)
    }

    fn resolve(&self, views: &[&BinaryView<'_>]) -> Result<Option<Box<dyn Measure>>, Error> {
        let sampled = |exact: LsEce| LsEceSampled { exact, ..self.clone() };
        Ok(self.exact.at_common_sigma(views)?.map(|exact| Box::new(sampled(exact)) as Box<dyn Measure>))
    }
}

/// E[Y | h + ξ = u]. Rounding may put a draw of bounded noise outside its own kernel, by a last
/// bit: then the nearest point decides.
fn outcome_rate(points: &Points, regression: &Regression<'_>, u: f64) -> f64 {
    let masses = regression.at(u);
    if masses.total > 0.0 {
        return masses.positives / masses.total;
    }
    let distance = |index: &&usize| (points.logits[**index] - u).abs();
    let nearest = regression.order().iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    f64::from(u8::from(nearest.is_some_and(|&index| points.outcomes[index])))
}
