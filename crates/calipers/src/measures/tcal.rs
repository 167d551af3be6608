//! The debiased plug-in estimator of T-Cal.

use super::prelude::*;

measure! {
    /// T-Cal's debiased plug-in estimator of the squared calibration error: products of the
    /// residuals of different rows of a bin.
    ///
    /// # Definition
    /// ```text
    /// DPE = Σ_b ( (Σ_{i in b} s_i r_i)² - Σ_{i in b} s_i² r_i² ) / S_b        r_i = y_i - p_i, S_b = Σ_{i in b} s_i
    /// ```
    /// with s_i shares of the weight, over m bins [(b-1)/m, b/m), the last closed. Without weights
    /// this is (1/n) Σ_b ((Σ r)² - Σ r²) / n_b. **It may be negative**: it is about 0 on average
    /// where rows are calibrated, and is not cut at 0, because that would bring the bias back. It
    /// estimates a square; no root is taken.
    ///
    /// # Assumptions
    /// Independent rows. What is left out are the pairs of a row with itself, so a row of weight 2
    /// is *not* two rows: two rows would be two independent ones. The scale of weights does not
    /// matter.
    ///
    /// # Cost
    /// O(n) time, one pass, O(m) memory.
    ///
    /// # Accuracy
    /// Numerical: compensated sums; no bin is off by more than some units of rounding of its share.
    /// Statistical: unbiased for Σ_b S_b (mean residual of b)², up to 1/n_b.
    ///
    /// # Reference
    /// Lee, Huang, Hassani, Dobriban, "T-Cal: an optimal test for the calibration of predictive
    /// models", JMLR 24, 2023.
    ///
    /// # Example
    /// One bin, residuals 0.5, 0.5 and -0.5: ((0.5)² - 0.75) / 3² is negative.
    /// ```
    /// use calipers::{Measure, Input, TCal};
    ///
    /// let predictions = Input::probabilities(&[0.5, 0.5, 0.5], &[1, 1, 0]).check()?;
    /// let squared = TCal::new(1).estimate(&predictions.binary()?)?;
    /// assert!((squared.value + 0.5 / 9.0).abs() < 1e-15);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct TCal {
        /// How many bins of equal width.
        n_bins: usize = 15;

        link: Link;
    }
}

impl TCal {
    /// With so many bins of equal width.
    pub fn new(n_bins: usize) -> Self {
        Self::default().n_bins(n_bins)
    }
}

entry! { ENTRY = TCal::default();
    Spec::error("tcal_squared_error", "mean squared gap of 15 bins less its noise; may be negative")
        .title("T-Cal squared error")
        .family(Family::Binned)
        .reference("Lee, Huang, Hassani, Dobriban, JMLR 24, 2023")
        .range(-1.0, 1.0)
        .unbiased()
        .cost(Cost::Quick)
        .options(&[OptionSpec::count("n_bins", 15, "Bins of equal width."), LINK])
}

impl Measure for TCal {
    described! { ENTRY.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        check_range("n_bins", self.n_bins as f64, 1.0..=1e6, "from 1 to 1000000")?;
        let rows = Probabilities::new(view, &*self.link)?;
        let place = |p: f64| (bin_of(p, self.n_bins), p);
        let bins =
            rows.sums_by_bin(self.n_bins, place, |[weights, residuals, squares]: &mut [Sum; 3], p, outcome, weight| {
                let residual = weight * (f64::from(outcome) - p);
                weights.add(weight);
                residuals.add(residual);
                squares.add(residual * (rows.row_weight(weight) * (f64::from(outcome) - p)));
            });
        let total = bins.iter().map(|[weights, ..]| weights.value()).collect::<Sum>().value();
        let of_bin = |bin: &[Sum; 3]| {
            let [weight, residual, squares] = bin.map(Sum::value);
            (weight > 0.0).then(|| (residual * residual - squares) / weight / total)
        };
        let value = bins.iter().filter_map(of_bin).collect::<Sum>().value();
        // In each bin both sums are at most the square of its weight, and so all terms together at
        // most 1.
        let numerical_bound = 32.0 * f64::EPSILON + 4.0 * view.score_error(1.0);
        let estimate = Estimate::new(self.spec(), value, numerical_bound).of(view);
        Ok(estimate.with("n_bins", self.n_bins as u64).with("link", self.link.name()))
    }

    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        Ok(Some(Cells::new(512).within(|p| bin_of(p, self.n_bins)).counting_rows()))
    }
}

/// The b with b/m <= p < (b+1)/m in doubles, the last bin closed. The product can round up to the
/// next whole number, so it is checked against the edge.
fn bin_of(p: f64, n_bins: usize) -> usize {
    let m = n_bins as f64;
    let guess = ((p * m) as usize).min(n_bins - 1);
    if guess as f64 / m > p {
        guess - 1
    } else if guess + 1 < n_bins && (guess + 1) as f64 / m <= p {
        guess + 1
    } else {
        guess
    }
}
