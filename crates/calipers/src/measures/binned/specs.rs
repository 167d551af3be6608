//! Binned calibration errors by their names.

use super::{BinnedEce, Compat, Norm};
use crate::measures::prelude::*;

/// The name by which a binned error was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Expected,
    Adaptive,
    RootMeanSquared,
    Maximum,
}

pub(super) const N_BINS: OptionSpec =
    OptionSpec::count_or_auto("n_bins", 15, "Number of bins; \"auto\" is the cube root of n.");
pub(super) const COMPAT: OptionSpec =
    OptionSpec::optional_choice("compat", Compat::NAMES, "Bin edges of another package, to reproduce its values.");
const STRATEGY: OptionSpec =
    OptionSpec::choice("strategy", &["uniform", "quantile"], "Bins of equal width or of equal mass.");
pub(super) const STRATEGY_QUANTILE: OptionSpec =
    OptionSpec::choice("strategy", &["quantile", "uniform"], "Bins of equal mass or of equal width.");
pub(super) const NORM_L2: OptionSpec = OptionSpec::choice("norm", &["l2", "l1"], "How gaps are put together.");
const NORM: OptionSpec = OptionSpec::choice("norm", &["l1", "l2", "max"], "How gaps are put together.");

entry! { ECE = BinnedEce::new(); EXPECTED }

entry! { ADAPTIVE = BinnedEce::adaptive();
    binned("adaptive_calibration_error", "mean gap over 15 bins of equal mass, ties in one bin")
        .title("adaptive ECE")
        .reference("Nixon, Dusenberry, Zhang, Jerfel, Tran, CVPR workshops 2019")
        .from_sketch(FromSketch::Approximation)
        .options(&[N_BINS, LINK])
}

entry! { ROOT_MEAN_SQUARED = BinnedEce::root_mean_squared();
    binned("root_mean_squared_calibration_error", "root of the mean squared gap over 15 bins of equal width")
        .title("RMSCE")
        .from_sketch(FromSketch::Assessment)
        .options(&[N_BINS, STRATEGY, LINK])
}

entry! { MAXIMUM = BinnedEce::maximum();
    binned("maximum_calibration_error", "largest gap of 15 bins of equal width")
        .title("MCE")
        .from_sketch(FromSketch::Assessment)
        .options(&[N_BINS, STRATEGY, COMPAT, LINK])
}

const EXPECTED: Spec = binned("expected_calibration_error", "mean gap |mean y - mean p| over 15 bins of equal width")
    .title("ECE")
    .from_sketch(FromSketch::Assessment)
    .options(&[N_BINS, STRATEGY, NORM, COMPAT, LINK]);

/// Requested as ECE with another norm: it keeps the name, and is called what it is.
const EXPECTED_L2: Spec = EXPECTED.title("RMSCE");
const EXPECTED_MAX: Spec = EXPECTED.title("MCE");

const fn binned(name: &'static str, definition: &'static str) -> Spec {
    Spec::error(name, definition)
        .family(Family::Binned)
        .reference("Naeini, Cooper, Hauskrecht, AAAI 2015")
        .range(0.0, 1.0)
        .cost(Cost::Quick)
}

pub(super) fn of(name: Name, norm: Norm) -> &'static Spec {
    match (name, norm) {
        (Name::Expected, Norm::L1) => &EXPECTED,
        (Name::Expected, Norm::L2) => &EXPECTED_L2,
        (Name::Expected, Norm::Max) => &EXPECTED_MAX,
        (Name::Adaptive, _) => ADAPTIVE.spec,
        (Name::RootMeanSquared, _) => ROOT_MEAN_SQUARED.spec,
        (Name::Maximum, _) => MAXIMUM.spec,
    }
}
