//! The paper's proof that ECE can jump without a level set of positive mass.

use super::sample::Sample;
use crate::numerics::random::Uniforms;
use crate::numerics::sum::Sum;
use crate::{Error, Form};

/// Proposition counterexample: x1 is uniform on [0, 1], and given x1 the outcome is 1 (that is,
/// x2 >= 1/2) with probability x1.
///
/// The predictor g = x1 is calibrated: ECE(g) = 0. At distance delta = 1/N lies g_delta, which
/// tells apart the points of a cell [k delta, (k + 1) delta) whose outcome is 0, predicted as (k +
/// 1 - delta/4) delta, and 1, predicted as (k + delta/4) delta. All its level sets are pure, so
/// ```text
/// ECE(g_delta) = Σ_k P(cell k, Y = 0) (k + 1 - δ/4) δ + P(cell k, Y = 1) (1 - (k + δ/4) δ) = 1/3 + δ/2 - δ²/12
/// ```
/// with P(cell k, Y = 1) = (k + 1/2) δ². It goes to 1/3, and not to 0.
///
/// # Example
/// ```
/// use calipers::population::Counterexample;
///
/// let perturbed = Counterexample::perturbed(10)?;
/// assert!((perturbed.ece() - (1.0 / 3.0 + 0.05 - 0.01 / 12.0)).abs() < 1e-12);
/// assert_eq!(Counterexample::calibrated().ece(), 0.0);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counterexample {
    /// N = 1/delta; `None` for g itself.
    n_cells: Option<u64>,
}

impl Counterexample {
    /// With the predictor g = x1.
    pub fn calibrated() -> Self {
        Counterexample { n_cells: None }
    }

    /// With the predictor g_delta, delta = 1 / `n_cells`.
    pub fn perturbed(n_cells: u64) -> Result<Self, Error> {
        // Beyond 2^24 the levels of neighbouring cells, delta^2 / 2 apart, would round to the same
        // double.
        Error::require((1..=1 << 24).contains(&n_cells), "n_cells", "from 1 to 16777216", n_cells)?;
        Ok(Counterexample { n_cells: Some(n_cells) })
    }

    /// The exact ECE, summed over the level sets.
    pub fn ece(&self) -> f64 {
        let Some(n_cells) = self.n_cells else { return 0.0 };
        let delta = 1.0 / n_cells as f64;
        let term = |k: u64| {
            let ones = (k as f64 + 0.5) * delta * delta;
            (delta - ones) * self.prediction(k as f64 * delta, false)
                + ones * (1.0 - self.prediction(k as f64 * delta, true))
        };
        (0..n_cells).map(term).collect::<Sum>().value()
    }

    /// ‖g* - g‖₁, to which ECE jumps: 1/3 for g = x1, since g* is the outcome itself.
    pub fn distance_to_truth(&self) -> f64 {
        // Given x1, |y - x1| has mean 2 x1 (1 - x1). The perturbed predictor has pure level sets.
        self.n_cells.map_or(1.0 / 3.0, |_| self.ece())
    }

    /// The prediction at x1 for this outcome.
    pub fn prediction(&self, x1: f64, outcome: bool) -> f64 {
        let Some(n_cells) = self.n_cells else { return x1 };
        let delta = 1.0 / n_cells as f64;
        // The nearest cell start, where x1 is one, else the one below: k delta n_cells may round
        // below k.
        let scaled = x1 * n_cells as f64;
        let nearest = scaled.round();
        let start = if (scaled - nearest).abs() <= 4.0 * f64::EPSILON * nearest { nearest } else { scaled.floor() };
        let cell = start.min(n_cells as f64 - 1.0);
        if outcome { (cell + delta / 4.0) * delta } else { (cell + 1.0 - delta / 4.0) * delta }
    }

    /// `n` rows drawn independently.
    pub fn sample(&self, n: usize, random_state: u64) -> Sample {
        let mut uniforms = Uniforms::new(random_state);
        Sample::collect(Form::Probabilities, n, || {
            let x1 = uniforms.next();
            let outcome = uniforms.next() < x1;
            (self.prediction(x1, outcome), outcome)
        })
    }
}
