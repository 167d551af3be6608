//! The options of LS-ECE and of binned ECE, and the measures that they make.

use std::sync::Arc;

use calipers::{
    BinnedEce, Compat, Error, Link, LsEce, NBins, Noise, Norm, Sigma, SketchOptions, Strategy, link, noise,
};
use clap::Args;

/// Cells of a sketch that stands for the rows of a file: finer ones would need hundreds of
/// megabytes.
const FINEST_RESOLUTION: u32 = 14;

/// The options of the measures that have any.
#[derive(Debug, Args)]
pub(crate) struct OptionArgs {
    #[command(flatten)]
    pub(crate) ls_ece: LsEceArgs,
    #[command(flatten)]
    pub(crate) ece: BinnedEceArgs,
}

impl OptionArgs {
    /// Binned ECE, whose link is that of LS-ECE.
    pub(crate) fn binned_ece(&self) -> Result<BinnedEce, Error> {
        self.ece.measure(self.ls_ece.link()?)
    }

    /// A sketch that can stand for the rows and keeps these bins too; `None` if there is none.
    pub(crate) fn sketch_options(&self, more_bins: &[usize]) -> Option<SketchOptions> {
        let (options, n_bins) = self.ls_ece.sketch_options().zip(self.ece.n_bins_of_a_sketch())?;
        Some(options.n_bins(&[&[n_bins], more_bins].concat()))
    }
}

/// The options of LS-ECE.
#[derive(Debug, Args)]
#[command(next_help_heading = "LS-ECE")]
pub(crate) struct LsEceArgs {
    /// Scale of the noise: a number, or auto
    #[arg(long, value_name = "X", default_value = "auto", allow_negative_numbers = true)]
    sigma: String,

    #[command(flatten)]
    smoothing: SmoothingArgs,
}

/// How LS-ECE smooths, but for sigma.
#[derive(Debug, Args)]
pub(crate) struct SmoothingArgs {
    /// Noise of LS-ECE: gaussian, uniform, laplace, logistic or epanechnikov
    #[arg(long, value_name = "NAME", default_value = "gaussian")]
    noise: String,

    /// Link between logits and probabilities: logistic, probit or cloglog. It is that of every
    /// measure but the calibration_ ones of Cox, whose regression is logistic
    #[arg(long, value_name = "NAME", default_value = "logistic")]
    link: String,

    /// Largest numerical error of LS-ECE that is accepted
    #[arg(long, value_name = "X", default_value = "1e-6", allow_negative_numbers = true)]
    pub(crate) tolerance: f64,

    /// For LS-ECE, probabilities are clipped to [X, 1 - X], since 0 and 1 have no finite logit
    #[arg(long, value_name = "X", default_value = "1e-6", allow_negative_numbers = true)]
    pub(crate) clip: f64,
}

impl SmoothingArgs {
    pub(crate) fn noise(&self) -> Result<Arc<dyn Noise>, Error> {
        noise::by_name(&self.noise)
    }

    pub(crate) fn link(&self) -> Result<Arc<dyn Link>, Error> {
        link::by_name(&self.link)
    }
}

/// The options of binned ECE.
#[derive(Debug, Args)]
#[command(next_help_heading = "ECE")]
pub(crate) struct BinnedEceArgs {
    /// Number of bins, or auto (the cube root of n)
    #[arg(long, value_name = "N", default_value = "15", allow_negative_numbers = true)]
    n_bins: String,

    /// Bins of equal width or of equal mass: uniform or quantile
    #[arg(long, value_name = "NAME", default_value = "uniform")]
    strategy: String,

    /// How gaps are put together: l1 (ECE), l2 (RMSCE) or max (MCE)
    #[arg(long, value_name = "NAME", default_value = "l1")]
    norm: String,

    /// Bin edges of another tool, to reproduce its figures: sklearn, netcal or torchmetrics
    #[arg(long, value_name = "TOOL")]
    compat: Option<String>,
}

impl LsEceArgs {
    pub(crate) fn measure(&self) -> Result<LsEce, Error> {
        Ok(LsEce::new()
            .sigma(self.sigma.parse::<Sigma>()?)
            .noise(self.smoothing.noise()?)
            .link(self.link()?)
            .tolerance(self.smoothing.tolerance)
            .clip(self.smoothing.clip))
    }

    pub(crate) fn link(&self) -> Result<Arc<dyn Link>, Error> {
        self.smoothing.link()
    }

    /// As it was given.
    pub(crate) fn clip_value(&self) -> f64 {
        self.smoothing.clip
    }

    /// What options have made of the measure, unless it is what it is called.
    pub(crate) fn definition(&self) -> Option<String> {
        let noise = (self.smoothing.noise != "gaussian").then_some(&self.smoothing.noise)?;
        Some(format!("mean |E[y|t] - t| after {noise} noise of scale sigma on the logits"))
    }

    /// The same for the residual form.
    pub(crate) fn residual_definition(&self) -> Option<String> {
        let noise = (self.smoothing.noise != "gaussian").then_some(&self.smoothing.noise)?;
        Some(format!("total size of the residuals r after smoothing by {noise} noise of scale sigma on the logits"))
    }

    /// A sketch small enough to replace the rows, and fine enough for sigma and tolerance; `None`
    /// if there is none.
    pub(crate) fn sketch_options(&self) -> Option<SketchOptions> {
        let has_bound =
            matches!(self.smoothing.noise.as_str(), "gaussian" | "logistic") && self.smoothing.link == "logistic";
        let options = match self.sigma.parse() {
            Ok(Sigma::Auto) => SketchOptions::new().resolution(FINEST_RESOLUTION),
            Ok(Sigma::Value(sigma)) => SketchOptions::new().serving(self.smoothing.tolerance, sigma),
            Err(_) => return None,
        };
        (has_bound && options.resolution_bits() <= FINEST_RESOLUTION).then(|| options.clip(self.smoothing.clip))
    }
}

impl BinnedEceArgs {
    /// `link` turns raw scores into probabilities, and is that of LS-ECE.
    pub(crate) fn measure(&self, link: Arc<dyn Link>) -> Result<BinnedEce, Error> {
        let compat: Option<Compat> = self.compat.as_deref().map(str::parse).transpose()?;
        Ok(BinnedEce::new()
            .n_bins(self.n_bins.parse::<NBins>()?)
            .strategy(self.strategy.parse::<Strategy>()?)
            .norm(self.norm.parse::<Norm>()?)
            .compat(compat)
            .link(link))
    }

    /// What options have made of the measure, unless it is what it is called.
    pub(crate) fn definition(&self) -> Option<String> {
        let text = (self.n_bins.as_str(), self.strategy.as_str(), self.norm.as_str(), self.compat.as_deref());
        let gaps = match self.norm.as_str() {
            "l2" => "root of the mean squared gap",
            "max" => "largest gap",
            _ => "mean gap |mean y - mean p|",
        };
        let n_bins = if self.n_bins == "auto" { "n^(1/3)" } else { &self.n_bins };
        let equal = if self.strategy == "quantile" { "mass" } else { "width" };
        let edges = self.compat.as_ref().map_or(String::new(), |tool| format!(", edges as {tool}"));
        (text != ("15", "uniform", "l1", None)).then(|| format!("{gaps} over {n_bins} bins of equal {equal}{edges}"))
    }

    /// The number of bins that a sketch has to keep; `None` if sums of bins of equal width are not
    /// enough.
    pub(crate) fn n_bins_of_a_sketch(&self) -> Option<usize> {
        let plain = self.strategy == "uniform" && self.compat.is_none();
        self.n_bins.parse().ok().filter(|_| plain)
    }
}

/// The range of sigma, for an option that is one. Written so that NaN fails.
pub(crate) fn check_sigma(name: &'static str, sigma: f64) -> Result<(), Error> {
    if (1e-9..=1e6).contains(&sigma) {
        return Ok(());
    }
    Err(Error::InvalidSetting { name, rule: "in [1e-9, 1e6]".to_owned(), value: sigma.to_string() })
}
