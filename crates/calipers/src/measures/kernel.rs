//! Kernel calibration error with the Laplace kernel, and MMCE, which is the same with another
//! width.

use super::prelude::*;

measure! {
    /// Laplace-kernel calibration error: the largest correlation of residuals with a function of
    /// the probability that is smooth in the sense of the kernel.
    ///
    /// # Definition
    /// ```text
    /// kCE = sqrt( Σ_ij s_i s_j (y_i - p_i) (y_j - p_j) exp(-|p_i - p_j| / l) )
    /// ```
    /// with s_i shares of the weight and l the length scale, 1 unless set. Pairs i = j are part of
    /// the sum, as in the definition for distributions: this is the measure of the empirical
    /// distribution itself. [`mmce`](Self::mmce) has l = 0.4, and is usually asked of the view of
    /// the top class, whose probability is the confidence.
    ///
    /// # Assumptions
    /// Independent rows. With l = 1 it lies between smooth calibration error / √2 and the ECE of
    /// the pooled rows; for that constant see `tests/measures/relations.rs`; the paper has 3 in its
    /// place.
    ///
    /// # Cost
    /// O(n log n) time for a sort and one pass, 24 bytes for each row; others take all pairs.
    ///
    /// # Accuracy
    /// Numerical: proven, and free of n. The kernel is that of a Markov process, so with p
    /// ascending, d_k = (p_k - p_{k-1}) / l and a_k = Σ_{j>=k} c_j exp(-(p_j - p_k) / l), c_j = s_j
    /// r_j, the form is a sum of squares:
    /// ```text
    /// Σ_ij c_i c_j K_ij = a_1² + Σ_{k>1} (1 - exp(-2 d_k)) a_k²
    /// ```
    /// Nothing cancels but inside a_k. With m = 1 - exp(-d), a_k = c_k + a_{k+1} - m a_{k+1} is
    /// added up in two words; what is lost is the rounding of m and of m a_{k+1}, at most 6 ε m A
    /// with A = Σ |c_j|. An older error enters with a factor 1 - m, so that no error of any a_k
    /// exceeds 8 ε A; and the root, being a norm of (a_k), moves by at most 8 ε A sqrt(1 + 2 / l),
    /// and by its own rounding. Statistical: biased up, by about sqrt(Σ s_i² p_i (1 - p_i)) where
    /// calibrated.
    ///
    /// # Reference
    /// Blasiok, Gopalan, Hu, Nakkiran, "A unifying theory of distance from calibration", STOC 2023;
    /// MMCE: Kumar, Sarawagi, Jain, ICML 2018.
    ///
    /// # Example
    /// Residuals 0.75 and -0.75 of half the weight each, at a distance of 0.5: the square is 0.375²
    /// (1 + 1 - 2 exp(-0.5)).
    /// ```
    /// use calipers::{Measure, Input, KernelCalibrationError};
    ///
    /// let predictions = Input::probabilities(&[0.25, 0.75], &[1, 0]).check()?;
    /// let kce = KernelCalibrationError::new().estimate(&predictions.binary()?)?;
    /// assert!((kce.value - 0.375 * (2.0 - 2.0 * (-0.5f64).exp()).sqrt()).abs() < 1e-15);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct KernelCalibrationError {
        /// With a length scale of 1.
        new;

        /// By which name it is requested.
        spec: fixed &'static Spec = LAPLACE.spec;

        /// The distance of probabilities over which the kernel falls to 1 / e.
        length_scale: f64 = 1.0;

        link: Link;
    }
}

impl KernelCalibrationError {
    /// The maximum mean calibration error of Kumar et al.: a length scale of 0.4.
    pub fn mmce() -> Self {
        KernelCalibrationError { spec: MMCE.spec, length_scale: 0.4, ..Self::default() }
    }
}

// With the Laplace kernel.
entry! { LAPLACE = KernelCalibrationError::new();
    Spec::error("kernel_calibration_error", "root of the mean of r r' exp(-|p - p'|) over all pairs")
        .title("kernel calibration error")
        .family(Family::Kernel)
        .reference("Blasiok, Gopalan, Hu, Nakkiran, STOC 2023")
        .range(0.0, 1.0)
        .cost(Cost::Quick)
        .options(&[OptionSpec::number("length_scale", 1.0, "Distance over which the kernel falls to 1 / e."), LINK])
}

// The same with a length scale of 0.4.
entry! { MMCE = KernelCalibrationError::mmce();
    Spec::error("mmce", "root of the mean of r r' exp(-|p - p'| / 0.4) over all pairs")
        .title("MMCE")
        .family(Family::Kernel)
        .reference("Kumar, Sarawagi, Jain, ICML 2018")
        .range(0.0, 1.0)
        .cost(Cost::Quick)
        .options(&[LINK])
}

impl Measure for KernelCalibrationError {
    described! { self => self.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        check_range("length_scale", self.length_scale, 1e-6..=1e6, "from 0.000001 to 1000000")?;
        let pooled = Pooled::new(view, &*self.link)?;
        let value = sum_of_squares(&pooled, self.length_scale).sqrt();
        // The proof is in the doc comment. Probabilities that are off by e also move the kernel,
        // and with it the square by at most 2 e / l.
        let norm = (1.0 + 2.0 / self.length_scale).sqrt();
        let moved = 2.0 * pooled.score_error() / self.length_scale;
        let by_scores = if moved > 0.0 { moved.sqrt().min(moved / value) } else { 0.0 };
        let bound = norm * pooled.residual_error() + 8.0 * f64::EPSILON * value + by_scores;
        let estimate = Estimate::new(self.spec, value, bound).of(view);
        Ok(estimate.with("length_scale", self.length_scale).with("link", self.link.name()))
    }

    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        Ok(Some(Cells::new(2048)))
    }
}

fn sum_of_squares(pooled: &Pooled, length_scale: f64) -> f64 {
    let mut squares = Sum::default();
    // a_{k+1} in two words, and its p.
    let (mut head, mut tail, mut above) = (0.0f64, 0.0f64, 1.0f64);
    let mut is_first = true;
    for group in pooled.groups.iter().rev() {
        if !is_first {
            let lost = -(-(above - group.p) / length_scale).exp_m1();
            // 1 - exp(-2 d) = m (2 - m)
            squares.add(lost * (2.0 - lost) * head * head);
            tail -= lost * head + lost * tail;
        }
        let residual = group.residual();
        let sum = head + residual;
        let from_head = sum - residual;
        tail += (head - from_head) + (residual - (sum - from_head));
        head = sum + tail;
        tail -= head - sum;
        (above, is_first) = (group.p, false);
    }
    squares.add(head * head);
    squares.value()
}
