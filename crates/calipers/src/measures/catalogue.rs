//! Every measure by its name, with a line that says what it is: what commands list and tables explain.

use std::sync::Arc;

use super::{
    BetaKdeEce, BrierScore, CalibrationIndex, Corp, CoxCalibration, CoxCoefficient, CumulativeCalibrationError,
    CumulativeStatistic, IndexStatistic, KdeEce, KernelCalibrationError, LogLoss, LowerDistance, ObservedExpected,
    SmoothCalibrationError, SmoothEce, SplineCalibrationError, SurrogateIntervalCalibrationError, TCal,
};
use crate::Error;
use crate::binned::{BinnedEce, DebiasedEce, Norm, Strategy, SweepEce};
use crate::estimate::Estimator;
use crate::link::Link;
use crate::ls_ece::LsEce;

/// A measure that can be asked for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// The name.
    pub name: &'static str,
    /// What it is, in one line; p are probabilities, y outcomes, r = y - p.
    pub definition: &'static str,
}

/// A measure with its default options.
pub type BoxedEstimator = Box<dyn Estimator>;

macro_rules! catalogue {
    ($($name:literal, $definition:literal, $link:ident => $estimator:expr;)*) => {
        /// All measures of one outcome, in the order of a table.
        pub const ALL: &[Listed] = &[$(Listed { name: $name, definition: $definition }),*];

        /// The measure of that name, with its default options and a link for raw scores.
        pub fn by_name(name: &str, link: Arc<dyn Link>) -> Result<BoxedEstimator, Error> {
            match name {
                $($name => { let $link = link; Ok(Box::new($estimator)) })*
                _ => {
                    let names: Vec<&str> = ALL.iter().map(|listed| listed.name).collect();
                    Err(Error::setting("measure", format!("one of {}", names.join(", ")), format!("{name:?}")))
                }
            }
        }
    };
}

catalogue! {
    "ls_ece", "mean |E[y|t] - t| after Gaussian noise of scale sigma on the logits",
        link => LsEce::new().shared_link(link);
    "residual_ls_ece", "total size of the residuals r after smoothing by Gaussian noise of scale sigma on the logits",
        link => LsEce::new().residual().shared_link(link);
    "expected_calibration_error", "mean gap |mean y - mean p| over 15 bins of equal width",
        link => BinnedEce::new().shared_link(link);
    "adaptive_calibration_error", "mean gap over 15 bins of equal mass, ties in one bin",
        link => BinnedEce::new().strategy(Strategy::Quantile).shared_link(link);
    "root_mean_squared_calibration_error", "root of the mean squared gap over 15 bins of equal width",
        link => BinnedEce::new().norm(Norm::L2).shared_link(link);
    "maximum_calibration_error", "largest gap of 15 bins of equal width",
        link => BinnedEce::new().norm(Norm::Max).shared_link(link);
    "debiased_ece", "root of the mean squared gap less its noise, over 15 bins of equal mass",
        link => DebiasedEce::new().shared_link(link);
    "sweep_ece", "mean gap over as many bins of equal mass as keep mean y rising",
        link => SweepEce::new().shared_link(link);
    "smooth_ece", "residuals smoothed by a reflected Gaussian whose width is the value itself",
        link => SmoothEce::new().shared_link(link);
    "kde_ece", "mean |E[y|p] - p| by kernel densities of p",
        link => KdeEce::new().shared_link(link);
    "beta_kde_ece", "mean |E[y|p] - p| by beta kernels, each row left out of its own",
        link => BetaKdeEce::new().shared_link(link);
    "ecce_r", "range of the cumulated residuals in the order of p (Kuiper)",
        link => CumulativeCalibrationError::new().statistic(CumulativeStatistic::Range).shared_link(link);
    "ecce_mad", "largest size of the cumulated residuals in the order of p (KS error)",
        link => CumulativeCalibrationError::new().statistic(CumulativeStatistic::MaximumAbsolute).shared_link(link);
    "spline_calibration_error", "mean |slope| of a cubic spline with 6 knots through the cumulated residuals (Gupta)",
        link => SplineCalibrationError::new().shared_link(link);
    "smooth_calibration_error", "largest mean of r w(p) over 1-Lipschitz w of size at most 1",
        link => SmoothCalibrationError::new().shared_link(link);
    "lower_distance_to_calibration", "least mean |p - u| to any u for which E[y|u] = u",
        link => LowerDistance::new().shared_link(link);
    "surrogate_interval_calibration_error", "least width plus mean gap over shifted intervals of that width",
        link => SurrogateIntervalCalibrationError::new().shared_link(link);
    "kernel_calibration_error", "root of the mean of r r' exp(-|p - p'|) over all pairs",
        link => KernelCalibrationError::new().shared_link(link);
    "mmce", "root of the mean of r r' exp(-|p - p'| / 0.4) over all pairs",
        link => KernelCalibrationError::mmce().shared_link(link);
    "tcal_squared_error", "mean squared gap of 15 bins less its noise; may be negative",
        link => TCal::new(15).shared_link(link);
    "corp_miscalibration", "Brier score less that of the isotonic recalibration",
        link => Corp::new().shared_link(link);
    "brier_score", "mean (y - p)²",
        link => BrierScore::new().shared_link(link);
    "log_loss", "mean of -ln of the probability that the outcome was given",
        link => LogLoss::new().shared_link(link);
    "observed_expected", "Σ y / Σ p",
        link => ObservedExpected::new().shared_link(link);
    "ici", "mean |E[y|p] - p| over the rows, by the smoothed curve",
        link => CalibrationIndex::new().statistic(IndexStatistic::Ici).smoother(LsEce::new().shared_link(link));
    "e50", "median |E[y|p] - p| over the rows, by the smoothed curve",
        link => CalibrationIndex::new().statistic(IndexStatistic::E50).smoother(LsEce::new().shared_link(link));
    "e90", "90th percentile of |E[y|p] - p| over the rows, by the smoothed curve",
        link => CalibrationIndex::new().statistic(IndexStatistic::E90).smoother(LsEce::new().shared_link(link));
    "emax", "largest |E[y|p] - p| over the rows, by the smoothed curve",
        link => CalibrationIndex::new().statistic(IndexStatistic::Emax).smoother(LsEce::new().shared_link(link));
    "calibration_in_the_large", "intercept of the logistic regression of y with logit p as offset; 0 is ideal",
        _link => CoxCalibration::new().coefficient(CoxCoefficient::InTheLarge);
    "calibration_slope", "slope of the logistic regression of y on logit p; 1 is ideal",
        _link => CoxCalibration::new().coefficient(CoxCoefficient::Slope);
    "calibration_intercept", "intercept of the logistic regression of y on logit p; 0 is ideal",
        _link => CoxCalibration::new().coefficient(CoxCoefficient::Intercept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Logistic;
    use crate::predictions::Input;

    #[test]
    fn every_listed_measure_answers() {
        let p: Vec<f64> = (0..200).map(|k| 0.02 + 0.96 * (f64::from(k) * 0.618_033_988_749_895).fract()).collect();
        let y: Vec<u8> = (0..200).map(|k| u8::from((f64::from(k) * 0.754_877_666).fract() < p[k as usize])).collect();
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        for listed in ALL {
            let estimate = by_name(listed.name, Arc::new(Logistic)).unwrap().estimate(&view).expect(listed.name);
            assert!(estimate.value.is_finite(), "{}", listed.name);
        }
    }
}
