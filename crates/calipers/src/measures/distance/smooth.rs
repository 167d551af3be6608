//! Smooth calibration error: a linear program on a chain, solved exactly.

use super::{certificate, chain};
use crate::measures::prelude::*;

measure! {
    /// Smooth calibration error: the largest correlation of residuals with a function of the
    /// probability that changes no faster than it.
    ///
    /// # Definition
    /// ```text
    /// smCE = max Σ_i s_i (y_i - p_i) w(p_i)    over w: [0, 1] -> [-1, 1] with |w(p) - w(q)| <= |p - q|
    /// ```
    /// with s_i shares of the weight. [`witness`](Self::witness) gives a w that attains it: where w
    /// is positive, outcomes were more frequent than predicted.
    ///
    /// # Assumptions
    /// Independent rows. Between half and twice the [`LowerDistance`](crate::LowerDistance) to
    /// calibration, never above the ECE of the pooled rows, never below |mean residual|.
    ///
    /// # Cost
    /// O(n log n) time for a sort. The program is then solved by dynamic programming: with u the
    /// value of w at p_k, the best of the first k terms is a concave, piecewise linear function of
    /// u, of which the kinks left and right of the maximum are kept. A row adds at most two kinks,
    /// and moves those that the maximum passes from one side to the other; few one by one, many at
    /// once as part of a tree, in O(log n).
    ///
    /// # Accuracy
    /// Numerical: nothing of the solver is trusted. The w that it finds gives a lower bound; a flow
    /// with the same support, which is a solution of the dual program, gives an upper one;
    /// `numerical_bound` is the distance of the two with all rounding, typically 10^-15.
    /// Statistical: biased up; of order n^(-1/2) where calibrated.
    ///
    /// # Reference
    /// Kakade, Foster, "Deterministic calibration and Nash equilibrium", 2008; Blasiok, Gopalan,
    /// Hu, Nakkiran, STOC 2023; that it is solved on a chain: Hu, Jambulapati, Tian, Yang, "Testing
    /// calibration in nearly-linear time", NeurIPS 2024.
    ///
    /// # Example
    /// Residuals 0.6 and -0.6 at a distance of 0.2: w can differ by 0.2 between them, so 0.5 · 0.6
    /// · 0.2 is the best.
    /// ```
    /// use calipers::{Measure, Input, SmoothCalibrationError};
    ///
    /// let predictions = Input::probabilities(&[0.4, 0.6], &[1, 0]).check()?;
    /// let smce = SmoothCalibrationError::new().estimate(&predictions.binary()?)?;
    /// assert!((smce.value - 0.06).abs() < 1e-15);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct SmoothCalibrationError {
        /// With the logistic link for raw scores.
        new;

        link: Link;
    }
}

/// A function that attains the smooth calibration error.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SmoothWitness {
    /// Distinct probabilities, ascending.
    pub probabilities: Vec<f64>,
    /// Its value at each, in [-1, 1].
    pub values: Vec<f64>,
}

impl SmoothCalibrationError {
    /// A function that attains the maximum.
    pub fn witness(&self, view: &BinaryView<'_>) -> Result<SmoothWitness, Error> {
        let pooled = Pooled::new(view, &*self.link)?;
        let (probabilities, residuals) = columns(&pooled);
        let values = chain::solve(&probabilities, &residuals).values;
        Ok(SmoothWitness { probabilities, values })
    }
}

fn columns(pooled: &Pooled) -> (Vec<f64>, Vec<f64>) {
    (pooled.groups.iter().map(|group| group.p).collect(), pooled.groups.iter().map(Group::residual).collect())
}

entry! { SMOOTH = SmoothCalibrationError::new();
    Spec::error("smooth_calibration_error", "largest mean of r w(p) over 1-Lipschitz w of size at most 1")
        .title("smooth calibration error")
        .family(Family::Distance)
        .reference("Kakade, Foster, 2008; Blasiok, Gopalan, Hu, Nakkiran, STOC 2023")
        .range(0.0, 1.0)
        .cost(Cost::Quick)
        .options(&[LINK])
}

impl Measure for SmoothCalibrationError {
    described! { SMOOTH.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let pooled = Pooled::new(view, &*self.link)?;
        let (probabilities, residuals) = columns(&pooled);
        let solution = chain::solve(&probabilities, &residuals);
        let (value, distance) = certificate::enclose(&probabilities, &residuals, &solution);
        // Probabilities that are off by e move w(p) by at most e.
        let bound = distance + pooled.residual_error() + pooled.score_error();
        Ok(Estimate::new(self.spec(), value.max(0.0), bound).of(view).with("link", self.link.name()))
    }

    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        Ok(Some(Cells::new(2048)))
    }
}
