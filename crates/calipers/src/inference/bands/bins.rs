//! Bands about the bins of a reliability diagram, and about the curve of cumulative differences.

use super::{Band, BandKind, BandOptions};
use crate::Error;
use crate::data::{Binary, Sample};
use crate::inference::calibration_tests::TrialSet;
use crate::link::{Link, Probit};
use crate::measure::Measure;
use crate::measures::{Bin, CumulativeCalibrationError, CumulativeCurve};
use crate::numerics::binomial::binomial;

impl BandOptions {
    /// Where the outcome rate of each bin would lie, were its predictions calibrated.
    ///
    /// # Definition
    /// Order statistics over draws of binomial(n, q) / n, with n the rows of the bin and q their
    /// mean probability. This is a little too wide, since the variance of the rows is at most
    /// n q (1 - q). NaN where a bin has no rows, and everywhere if rows have different weights.
    ///
    /// # Example
    /// One row at 1/2 can have either outcome.
    /// ```
    /// use calipers::inference::bands::BandOptions;
    /// use calipers::{BinnedEce, Input};
    ///
    /// let predictions = Input::probabilities(&[0.5], &[1]).check()?;
    /// let bins = BinnedEce::new().n_bins(1).bins(&predictions.binary()?)?;
    /// let band = BandOptions::new().of_bins(&bins)?;
    /// assert_eq!((band.lower[0], band.upper[0]), (0.0, 1.0));
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn of_bins(&self, bins: &[Bin]) -> Result<Band, Error> {
        self.check()?;
        let mut weights = bins.iter().filter(|bin| bin.n > 0).map(|bin| bin.weight / bin.n as f64);
        let first = weights.next().unwrap_or(1.0);
        let is_weighted = !weights.all(|weight| (weight / first - 1.0).abs() < 1e-9);
        let known = |bin: &Bin| !is_weighted && bin.n > 0 && (0.0..=1.0).contains(&bin.mean_probability);
        let ends = self.ends(bins.len(), |uniforms| {
            let rate = |bin: &Bin| match known(bin) {
                true => binomial(uniforms, bin.n, bin.mean_probability) as f64 / bin.n as f64,
                false => f64::NAN,
            };
            bins.iter().map(rate).collect()
        });
        Ok(self.band(BandKind::Consistency, ends.into_iter()))
    }
}

impl CumulativeCalibrationError {
    /// Where the curve would lie, were the predictions calibrated.
    ///
    /// # Definition
    /// ```text
    /// ± z √(Σ_{i: p_i <= p_k} s_i² p_i (1 - p_i)),      s_i the shares of the weight, z the normal quantile of the level
    /// ```
    /// at each point of the curve: pointwise, about 0.
    ///
    /// # Assumptions
    /// Independent rows.
    ///
    /// # Example
    /// Four rows at 1/2: the sum of their residuals has the standard deviation 1/4.
    /// ```
    /// use calipers::inference::bands::BandOptions;
    /// use calipers::{CumulativeCalibrationError, Input};
    ///
    /// let predictions = Input::probabilities(&[0.5; 4], &[1, 0, 1, 1]).check()?;
    /// let (view, measure) = (predictions.binary()?, CumulativeCalibrationError::new());
    /// let band = measure.consistency_band(&view, &measure.curve(&view)?, &BandOptions::new())?;
    /// assert!(band.upper[0] == 0.0 && (band.upper[1] - 1.96 / 4.0).abs() < 1e-4);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn consistency_band<'s>(
        &self,
        sample: impl Into<Sample<'s>>,
        curve: &CumulativeCurve,
        options: &BandOptions,
    ) -> Result<Band, Error> {
        options.check()?;
        let TrialSet(trials) = match sample.into().binary("a band")? {
            Binary::Rows(view) => TrialSet::read(view, self.link())?,
            Binary::Sketch(sketch) => TrialSet::of_sketch(sketch, self.link())?,
        };
        let total: f64 = trials.iter().map(|trials| trials.total_weight()).sum();
        let z = Probit.inverse(1.0 - options.tail(), options.tail());
        let (mut next, mut variance) = (0, 0.0);
        let mut until = |place: usize, p: f64| {
            // The first point of a curve is before all rows.
            while place > 0 && next < trials.len() && trials[next].p <= p {
                variance += trials[next].variance();
                next += 1;
            }
            z * variance.sqrt() / total
        };
        let half: Vec<f64> = curve.probabilities.iter().enumerate().map(|(place, p)| until(place, *p)).collect();
        Ok(options.band(BandKind::Consistency, half.into_iter().map(|half| (-half, half))))
    }
}
