//! Every measure by its name, made from the options of a call.

use std::sync::Arc;

use calipers::catalogue::{self, BoxedEstimator};
use calipers::link::Logistic;
use calipers::{
    Bandwidth, BetaKdeEce, BrierScore, CalibrationIndex, CanonicalKdeEce, Corp, CoxCalibration, CoxCoefficient,
    CumulativeCalibrationError, CumulativeStatistic, DebiasedEce, IndexStatistic, KdeEce, KernelCalibrationError,
    LogLoss, LowerDistance, LsEceSampled, ObservedExpected, Sigma, SmoothCalibrationError, SmoothEce, SmoothMethod,
    SmoothSigma, SplineCalibrationError, SurrogateIntervalCalibrationError, SweepEce, TCal,
};

use crate::failure::Failure;
use crate::options::Options;

impl Options<'_> {
    /// The measure of one outcome that python/calipers asks for.
    pub(crate) fn estimator(&self, measure: &str) -> Result<BoxedEstimator, Failure> {
        Ok(match measure {
            "ls_ece" => Box::new(self.ls_ece()?),
            "residual_ls_ece" => Box::new(self.ls_ece()?.residual()),
            "ls_ece_sampled" => Box::new(
                LsEceSampled::new(self.number_or_auto::<Sigma>("sigma")?)
                    .shared_noise(self.noise()?)
                    .shared_link(self.link()?)
                    .n_samples(self.count("n_samples")?)
                    .seed(self.count("random_state")?)
                    .clip(self.number("clip")?),
            ),
            "expected_calibration_error" => Box::new(self.binned_ece()?),
            "debiased_ece" => Box::new(
                DebiasedEce::new()
                    .n_bins(self.n_bins()?)
                    .strategy(self.named("strategy")?)
                    .norm(self.named("norm")?)
                    .compat(self.compat()?)
                    .shared_link(self.link()?),
            ),
            "sweep_ece" => {
                let sweep = SweepEce::new().strategy(self.named("strategy")?).norm(self.named("norm")?);
                let sweep = sweep.shared_link(self.link()?);
                Box::new(match self.is_given("max_bins")? {
                    true => sweep.max_bins(self.size("max_bins")?),
                    false => sweep,
                })
            }
            "tcal_squared_error" => Box::new(TCal::new(self.size("n_bins")?).shared_link(self.link()?)),
            "smooth_ece" => Box::new(
                SmoothEce::new()
                    .sigma(self.number_or_auto::<SmoothSigma>("sigma")?)
                    .smoothing(self.named("smoothing")?)
                    .method(if self.is_given("compat")? { self.named("compat")? } else { SmoothMethod::Exact })
                    .tolerance(self.number("tolerance")?)
                    .shared_link(self.link()?),
            ),
            "kde_ece" => Box::new(
                KdeEce::new()
                    .kernel(self.named("kernel")?)
                    .bandwidth(self.number_or_auto::<Bandwidth>("bandwidth")?)
                    .tolerance(self.number("tolerance")?)
                    .shared_link(self.link()?),
            ),
            "beta_kde_ece" => Box::new(
                BetaKdeEce::new()
                    .bandwidth(self.number_or_auto::<Bandwidth>("bandwidth")?)
                    .norm(self.named("norm")?)
                    .clip(self.number("clip")?)
                    .shared_link(self.link()?),
            ),
            "ecce_r" => Box::new(self.cumulative()?.statistic(CumulativeStatistic::Range)),
            "ecce_mad" => Box::new(self.cumulative()?.statistic(CumulativeStatistic::MaximumAbsolute)),
            "spline_calibration_error" => Box::new(self.spline()?),
            "smooth_calibration_error" => Box::new(SmoothCalibrationError::new().shared_link(self.link()?)),
            "lower_distance_to_calibration" => {
                Box::new(LowerDistance::new().n_nodes(self.size("n_nodes")?).shared_link(self.link()?))
            }
            "surrogate_interval_calibration_error" => {
                Box::new(SurrogateIntervalCalibrationError::new().shared_link(self.link()?))
            }
            "kernel_calibration_error" => Box::new(
                KernelCalibrationError::new().length_scale(self.number("length_scale")?).shared_link(self.link()?),
            ),
            "mmce" => Box::new(KernelCalibrationError::mmce().shared_link(self.link()?)),
            "brier_score" => Box::new(BrierScore::new().shared_link(self.link()?)),
            "log_loss" => Box::new(LogLoss::new().clip(self.number("clip")?).shared_link(self.link()?)),
            "observed_expected" => Box::new(ObservedExpected::new().shared_link(self.link()?)),
            "corp_miscalibration" => Box::new(self.corp()?),
            "ici" => Box::new(self.calibration_index()?.statistic(IndexStatistic::Ici)),
            "e50" => Box::new(self.calibration_index()?.statistic(IndexStatistic::E50)),
            "e90" => Box::new(self.calibration_index()?.statistic(IndexStatistic::E90)),
            "emax" => Box::new(self.calibration_index()?.statistic(IndexStatistic::Emax)),
            "calibration_in_the_large" => Box::new(self.cox()?.coefficient(CoxCoefficient::InTheLarge)),
            "calibration_slope" => Box::new(self.cox()?.coefficient(CoxCoefficient::Slope)),
            "calibration_intercept" => Box::new(self.cox()?.coefficient(CoxCoefficient::Intercept)),
            // Refused there, with the names that can be asked for.
            unknown => catalogue::by_name(unknown, Arc::new(Logistic))?,
        })
    }

    pub(crate) fn corp(&self) -> Result<Corp, Failure> {
        Ok(Corp::new().score(self.named("score")?).shared_link(self.link()?))
    }

    pub(crate) fn calibration_index(&self) -> Result<CalibrationIndex, Failure> {
        Ok(CalibrationIndex::new().smoother(self.ls_ece()?))
    }

    pub(crate) fn cox(&self) -> Result<CoxCalibration, Failure> {
        Ok(CoxCalibration::new().clip(self.number("clip")?))
    }

    pub(crate) fn cumulative(&self) -> Result<CumulativeCalibrationError, Failure> {
        Ok(CumulativeCalibrationError::new().shared_link(self.link()?))
    }

    pub(crate) fn spline(&self) -> Result<SplineCalibrationError, Failure> {
        Ok(SplineCalibrationError::new()
            .n_knots(self.size("n_knots")?)
            .run_out(self.named("run_out")?)
            .shared_link(self.link()?))
    }

    pub(crate) fn canonical_kde_ece(&self) -> Result<CanonicalKdeEce, Failure> {
        Ok(CanonicalKdeEce::new(self.number("bandwidth")?)
            .norm(self.named("norm")?)
            .clip(self.number("clip")?)
            .limit(self.count("limit")?.into()))
    }
}
