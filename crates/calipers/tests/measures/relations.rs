//! What is known of the measures beside each other.

use calipers::{
    CumulativeCalibrationError, CumulativeStatistic, KernelCalibrationError, LowerDistance, Measure,
    SmoothCalibrationError, SurrogateIntervalCalibrationError,
};
use proptest::prelude::*;

use crate::data::{config, measure, residuals, rows};

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn relations_that_were_proven_hold(rows in rows(120)) {
        let of = |measure_: &dyn Measure| measure(measure_, &rows);
        let smooth = of(&SmoothCalibrationError::new());
        let lower = of(&LowerDistance::new().n_nodes(1024));
        let interval = of(&SurrogateIntervalCalibrationError::new());
        let kernel = of(&KernelCalibrationError::new());
        let ks = of(&CumulativeCalibrationError::new().statistic(CumulativeStatistic::MaximumAbsolute));
        let range = of(&CumulativeCalibrationError::new());
        let points = residuals(&rows);
        // The ECE of the pooled rows, one bin for each distinct probability, and the mean residual.
        let ece: f64 = points.iter().map(|point| point.1.abs()).sum();
        let mean = points.iter().map(|point| point.1).sum::<f64>().abs();
        let small = 1e-12 + lower.numerical_bound;

        // Blasiok, Gopalan, Hu, Nakkiran, STOC 2023: lower dCE / 2 <= smCE <= 2 lower dCE.
        prop_assert!(0.5 * lower.value <= smooth.value + small);
        prop_assert!(smooth.value <= 2.0 * lower.value + 2.0 * small);
        // Same: lower dCE <= intCE; and intCE <= RintCE(e) + e, since no bin is wider than e.
        prop_assert!(lower.value <= interval.value + small);
        // Same, with 3 in place of √2. On [0, 1] the norm of the kernel's space is
        // |w|² = (w(0)² + w(1)² + ∫ w² + ∫ w'²) / 2, at most 2 for every w that smCE admits.
        prop_assert!(smooth.value <= std::f64::consts::SQRT_2 * kernel.value + small);
        // The kernel is at most 1, so its form is at most (Σ |c|)².
        prop_assert!(kernel.value <= ece + small);
        // w = ±1 is admitted, and no w exceeds 1.
        prop_assert!(mean <= smooth.value + small && smooth.value <= ece + small);
        // E|p - u| >= |E p - E u| and E u = E y; and to move every probability to its rate costs
        // the ECE.
        prop_assert!(mean <= lower.value + small && lower.value <= ece + small);
        // C_n is the mean residual; C_k is at most the sum of the positive parts.
        prop_assert!(mean <= ks.value + small && ks.value <= ece + small && range.value <= ece + small);
        // Abel: Σ c w = C_n w_n - Σ C_k (w_{k+1} - w_k), and the steps of w sum to at most 1.
        prop_assert!(smooth.value <= mean + ks.value + small);
        // The narrowest bins have the ECE of the pooled rows.
        prop_assert!(interval.value <= ece + small);
    }
}
