//! The observed / expected ratio.

use crate::measures::prelude::*;
use crate::numerics::parallel;

measure! {
    /// Observed / expected ratio: outcomes that occurred for each that was predicted.
    ///
    /// # Definition
    /// ```text
    /// O/E = Σ_i w_i y_i / Σ_i w_i p_i
    /// ```
    /// # Assumptions
    /// None. 1 if calibrated in the large, above 1 where too little was predicted.
    ///
    /// # Cost
    /// O(n), one pass.
    ///
    /// # Accuracy
    /// Numerical: compensated sums, a few units of rounding of the ratio. Statistical: consistent;
    /// the expected count is taken as known.
    ///
    /// # Reference
    /// Miller, Hui, Tierney, "Validation techniques for logistic regression models", Statistics in
    /// Medicine 10, 1991.
    ///
    /// # Example
    /// ```
    /// use calipers::{Measure, Input, ObservedExpected};
    ///
    /// let predictions = Input::probabilities(&[0.5, 0.25, 0.25], &[1, 1, 0]).check()?;
    /// assert_eq!(ObservedExpected::new().estimate(&predictions.binary()?)?.value, 2.0);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct ObservedExpected {
        /// With the logistic link for raw scores.
        new;

        link: Link;
    }
}

entry! { ENTRY = ObservedExpected::new();
    Spec::coefficient("observed_expected", "Σ y / Σ p", 1.0)
        .title("observed / expected")
        .family(Family::Regression)
        .cost(Cost::Quick)
        .options(&[LINK])
}

impl Measure for ObservedExpected {
    described! { ENTRY.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let rows = Probabilities::new(view, &*self.link)?;
        let empty = || [Sum::default(); 3];
        let sums = rows.sums(parallel::CHUNK, empty, |[observed, expected, weights], p, outcome, weight| {
            expected.add(weight * p);
            weights.add(weight);
            if outcome {
                observed.add(weight);
            }
        });
        let [observed, expected, weights] = sums.map(Sum::value);
        if !(expected > 0.0) {
            return Err(Error::setting(
                "probabilities",
                "not all 0, since outcomes are divided by their sum",
                "only 0",
            ));
        }
        let value = observed / expected;
        let bound = value * (8.0 * f64::EPSILON + rows.error() * weights / expected);
        Ok(Estimate::new(self.spec(), value, bound).of(view).with("link", self.link.name()))
    }
}
