//! The paper's own estimator, which samples the outer expectation.

use std::sync::Arc;

use rayon::prelude::*;

use super::regression::Regression;
use super::specs::SAMPLED;
use super::{DEFAULT_CLIP, Kernel, LsEce, Points, Sigma, check_clip};
use crate::measures::prelude::*;
use crate::noise::{Gaussian, Noise};
use crate::numerics::random::Uniforms;
use crate::setters::setters;
use crate::watch;

/// Samples that are worked on at once.
const CHUNK: u64 = 1 << 16;

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
    sigma: Sigma,
    /// Whether sigma was chosen automatically for several models together.
    common_sigma: bool,
    noise: Arc<dyn Noise>,
    link: Arc<dyn Link>,
    n_samples: u64,
    random_state: u64,
    clip: f64,
}

impl LsEceSampled {
    /// Gaussian noise of that scale, logistic link, 10,000 samples, seed 0.
    pub fn new(sigma: impl Into<Sigma>) -> Self {
        LsEceSampled {
            sigma: sigma.into(),
            common_sigma: false,
            noise: Arc::new(Gaussian),
            link: Arc::new(Logistic),
            n_samples: 10_000,
            random_state: 0,
            clip: DEFAULT_CLIP,
        }
    }

    setters! {
        /// The distribution of the noise, drawn and smoothed with alike.
        noise: shared Noise;

        /// The link between logits and probabilities.
        link: shared Link;

        /// How many samples, at least 2.
        n_samples: u64;

        /// The seed: the same numbers on every machine and any number of threads.
        random_state: u64;

        /// As for [`LsEce::clip`](crate::LsEce::clip).
        clip: f64;
    }
}

/// Draws of u = h_I + ξ, one after another from one stream.
struct Draws<'a> {
    points: &'a Points,
    kernel: Kernel<'a>,
    order: &'a [usize],
    /// Weights cumulated in the order of the logits.
    cumulated: Vec<f64>,
    uniforms: Uniforms,
}

impl<'a> Draws<'a> {
    fn new(points: &'a Points, kernel: Kernel<'a>, order: &'a [usize], random_state: u64) -> Self {
        let cumulated = running_sums(order.iter().map(|&index| points.weight(index))).collect();
        Draws { points, kernel, order, cumulated, uniforms: Uniforms::new(random_state) }
    }

    fn draw(&mut self) -> f64 {
        let target = self.uniforms.next() * self.points.total_weight;
        let place = self.cumulated.partition_point(|&weight| weight <= target).min(self.order.len() - 1);
        let noise = self.kernel.noise.sample(&mut || self.uniforms.next());
        self.points.logits[self.order[place]] + self.kernel.sigma * noise
    }
}

impl LsEceSampled {
    /// The same measure as an integral.
    fn exact(&self) -> LsEce {
        LsEce::new().sigma(self.sigma).noise(Arc::clone(&self.noise)).link(Arc::clone(&self.link)).clip(self.clip)
    }
}

impl Measure for LsEceSampled {
    described! { &SAMPLED }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        check_clip(self.clip)?;
        check_range("n_samples", self.n_samples as f64, 2.0.., "at least 2")?;
        let points = Points::new(view, &*self.link, self.clip)?;
        let sigma = self.sigma.resolve(&points, &*self.link)?;
        let kernel = Kernel { noise: &*self.noise, link: &*self.link, sigma };
        let regression = Regression::new(&points, kernel);
        let mut draws = Draws::new(&points, kernel, regression.order(), self.random_state);
        let (mut sum, mut squares) = (Sum::default(), Sum::default());
        let mut n_left = self.n_samples;
        while n_left > 0 {
            let n_now = n_left.min(CHUNK);
            let places: Vec<f64> = (0..n_now).map(|_| draws.draw()).collect();
            let gap = |&u: &f64| {
                watch::check();
                (outcome_rate(&points, &regression, u) - self.link.response(u)).abs()
            };
            let gaps: Vec<f64> = places.par_iter().panic_fuse().map(gap).collect();
            for gap in gaps {
                sum.add(gap);
                squares.add(gap * gap);
            }
            n_left -= n_now;
        }
        let m = self.n_samples as f64;
        let mean = sum.value() / m;
        let variance = ((squares.value() - m * mean * mean) / (m - 1.0)).max(0.0);
        // How far the mean that is sampled can be from LS-ECE: the ratios' rounding, and the
        // logits' by the noise's total variation. The error of sampling itself stands beside it.
        let bound = 2f64.powi(-43)
            + 2.0 * regression.neglected * sigma
            + self.noise.variation(1).unwrap_or(f64::INFINITY) * points.logit_error / sigma;
        let estimate = Estimate::new(self.spec(), mean, bound)
            .of(view)
            .clipped(points.n_clipped)
            .with("sigma", sigma)
            .with("sigma_rule", self.sigma.rule_name(self.common_sigma))
            .with("noise", self.noise.name())
            .with("link", self.link.name())
            .with("n_samples", self.n_samples)
            .with("random_state", self.random_state)
            .with("clip", self.clip);
        Ok(Estimate { standard_error: Some((variance / m).sqrt()), ..estimate })
    }

    fn decided_by(&self) -> Option<Box<dyn Measure>> {
        self.exact().decided_by()
    }

    fn compared_by(&self, views: &[&BinaryView<'_>]) -> Result<Option<Box<dyn Measure>>, Error> {
        self.exact().compared_by(views)
    }

    fn resolve(&self, views: &[&BinaryView<'_>]) -> Result<Option<Box<dyn Measure>>, Error> {
        check_clip(self.clip)?;
        let common = self.sigma.common(views, &*self.link, self.clip)?;
        let at = |sigma: f64| LsEceSampled { sigma: Sigma::Value(sigma), common_sigma: true, ..self.clone() };
        Ok(common.map(|sigma| Box::new(at(sigma)) as Box<dyn Measure>))
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
