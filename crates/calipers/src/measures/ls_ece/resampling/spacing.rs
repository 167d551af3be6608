//! How fine the grid of resamples is.

use super::super::Kernel;
use super::super::plan::Smoothness;
use crate::inference::Likeness;
use crate::numerics::convolution::Taps;
use crate::numerics::lagrange::Lagrange;

/// Nodes that a row is spread over, at most.
pub(super) const MAX_ORDER: usize = 6;

/// What spreading and reading between nodes may do to a smoothed mass, in the L1 norm and at worst.
const BUDGET: f64 = 1e-3;

/// What of the kernel may be cut off.
const TAIL: f64 = 1e-5;

/// Panels of half the width of uniform noise.
const HALF_WIDTH: usize = 64;

/// Nodes that a kernel may reach on each side.
const MAX_REACH: f64 = 65536.0;

/// A grid for a kernel.
///
/// # Accuracy
/// Noise with four derivatives: sigma / 8, masses by six nodes and integrals by four, so that
/// LS-ECE of the rows comes out to 1e-4 at worst and typically to 1e-6. Noise with kinks: fine
/// enough for 1e-3 at worst, and typically 1e-5. Uniform noise: 1/128 of its width. Its kernel is a
/// trapezoid then, which moves LS-ECE only where the sign of G changes within a panel: the tests
/// see less than 0.5 % of the value.
///
/// Rows of a panel share one random number in a resample. So the noise of a resample is smoothed by
/// the width of a panel as well, which lowers its standard deviation by (spacing / sigma)² / 48 of
/// itself for Gaussian noise: 0.03 %.
pub(super) struct Spacing {
    pub(super) spacing: f64,
    /// Nodes that a row is spread over.
    pub(super) order: usize,
    /// Whether integrals are those of cubics through four nodes, or of straight lines through two.
    pub(super) cubic: bool,
    /// Samples of the kernel.
    pub(super) taps: Taps,
    /// The same for -x.
    pub(super) mirrored: Taps,
}

impl Spacing {
    /// `None` for noise that has no smoothness to build on, or too heavy a tail.
    pub(super) fn new(kernel: &Kernel<'_>) -> Option<Self> {
        if let Some(half_width) = kernel.noise.plateau() {
            let a = half_width * kernel.sigma;
            let sample = |offset: f64| {
                let end = if offset.abs() == HALF_WIDTH as f64 { 0.5 } else { 1.0 };
                end / (2.0 * a)
            };
            let taps = Taps::new(HALF_WIDTH, sample);
            return Some(Spacing {
                spacing: a / HALF_WIDTH as f64,
                order: 2,
                cubic: false,
                mirrored: taps.clone(),
                taps,
            });
        }
        let smoothness = Smoothness::new(kernel.noise, kernel.link, kernel.sigma);
        let order = (smoothness.order / 2 * 2).min(MAX_ORDER);
        if order < 2 {
            return None;
        }
        let cubic = order >= 4;
        let degree = if cubic { 4 } else { 2 };
        let (spread, read) = (Lagrange::new(order), Lagrange::new(degree));
        let error = |spacing: f64| {
            smoothness.deposit(order, spacing, spread.max_remainder())
                + smoothness.interpolation(&read, degree, spacing)
        };
        let mut spacing = kernel.sigma / 8.0;
        while error(spacing) > BUDGET {
            spacing *= 0.9;
            // Written so that NaN fails.
            if !(spacing > 1e-6 * kernel.sigma) {
                return None;
            }
        }
        let mut reach_sigmas = 0.5;
        while kernel.noise.tail(reach_sigmas) > TAIL {
            reach_sigmas *= 1.02;
            if !(reach_sigmas < 200.0) {
                return None;
            }
        }
        let reach = (reach_sigmas * kernel.sigma / spacing).ceil() + 1.0;
        if !(reach <= MAX_REACH) {
            return None;
        }
        let taps = Taps::new(reach as usize, |offset| kernel.density(offset * spacing));
        let mirrored = Taps::new(reach as usize, |offset| kernel.density(-offset * spacing));
        Some(Spacing { spacing, order, cubic, taps, mirrored })
    }

    /// How alike the noise of G is at nearby places: its correlation is that of the kernel with
    /// itself.
    pub(super) fn likeness(&self, kernel: &Kernel<'_>) -> Likeness {
        const STEPS: usize = 96;
        let step = self.taps.reach() as f64 * self.spacing / STEPS as f64;
        let density = |k: usize| kernel.density((k as f64 - STEPS as f64) * step);
        let density: Vec<f64> = (0..=2 * STEPS).map(density).collect();
        let product = |lag: usize| density.iter().zip(&density[lag..]).map(|(a, b)| a * b).sum::<f64>();
        let whole = product(0);
        let correlations: Vec<f64> = (0..=2 * STEPS).map(|lag| product(lag) / whole).collect();
        Likeness::new(&correlations, step)
    }

    /// The panel that a logit is in, and where in it, from 0 to 1; `None` where doubles do not tell
    /// panels apart.
    #[inline]
    pub(super) fn panel(&self, logit: f64) -> Option<(i64, f64)> {
        let position = logit / self.spacing;
        let panel = position.floor();
        (panel.abs() < (1u64 << 48) as f64).then_some((panel as i64, position - panel))
    }
}
