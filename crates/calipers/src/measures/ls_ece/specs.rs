//! LS-ECE and its residual form by their names.

use super::{DEFAULT_CLIP, Integrand, LsEce};
use crate::measures::prelude::*;
use crate::noise;

pub(crate) const SIGMA: OptionSpec = OptionSpec::number_or_auto("sigma", "Scale of the noise on the logits.");
pub(crate) const NOISE: OptionSpec = OptionSpec::choice("noise", &noise::NAMES, "Distribution of the noise.");
pub(crate) const CLIP: OptionSpec =
    OptionSpec::number("clip", DEFAULT_CLIP, "Probabilities are clipped to [clip, 1 - clip].");
const TOLERANCE: OptionSpec =
    OptionSpec::number("tolerance", 1e-6, "Largest numerical error that is accepted, absolute.");

entry! { LS_ECE = LsEce::new();
    smoothed("ls_ece", "mean |E[y|t] - t| after Gaussian noise of scale sigma on the logits").title("LS-ECE")
}

entry! { RESIDUAL = LsEce::new().residual();
    smoothed(
        "residual_ls_ece",
        "total size of the residuals r after smoothing by Gaussian noise of scale sigma on the logits",
    )
    .title("residual LS-ECE")
}

/// LS-ECE by samples of the noise.
pub(super) const SAMPLED: Spec =
    smoothed("ls_ece_sampled", "LS-ECE by samples of the noise, as the paper estimates it").title("LS-ECE (sampled)");

const fn smoothed(name: &'static str, definition: &'static str) -> Spec {
    Spec::error(name, definition)
        .family(Family::LogitSmoothing)
        .reference(
            "Chidambaram, Lee, McSwiggen, Rezchikov, \"How Flawed Is ECE? An Analysis via Logit Smoothing\", ICML 2024",
        )
        .range(0.0, 1.0)
        .cost(Cost::AnyNumberOfRows)
        .from_sketch(FromSketch::Assessment)
        .options(&[SIGMA, NOISE, LINK, TOLERANCE, CLIP])
}

pub(super) fn of(integrand: Integrand) -> &'static Spec {
    match integrand {
        Integrand::Paper => LS_ECE.spec,
        Integrand::Residual => RESIDUAL.spec,
    }
}
