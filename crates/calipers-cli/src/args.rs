//! What can be typed. Options that name a choice of the core stay text here: the core reads them, so that
//! a refusal has the same words as in Rust and Python.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use calipers::{
    BinnedEce, Compat, Error, Invalid, Link, LsEce, Multiclass, NBins, Norm, Sigma, SketchOptions, Strategy, Ties,
    link, noise,
};
use clap::{Args, Parser, Subcommand};

use crate::assess::AssessArgs;
use crate::check::CheckArgs;
use crate::compare::CompareArgs;
use crate::measure::MeasureArgs;
use crate::measures::ListArgs;
use crate::report::ReportArgs;
use crate::sketch::{MergeArgs, SketchArgs};
use crate::study::StudyArgs;
use crate::sweep::SweepArgs;

/// How far a classifier's probabilities are from the truth, and how much of that figure can be trusted
#[derive(Debug, Parser)]
#[command(name = "calipers", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Cells of a sketch that stands for the rows of a file: finer ones would need hundreds of megabytes.
const FINEST_RESOLUTION: u32 = 14;

/// More would take longer to start than to work.
const MOST_THREADS: usize = 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Measure(MeasureArgs),
    Assess(AssessArgs),
    Compare(CompareArgs),
    Check(CheckArgs),
    Measures(ListArgs),
    Sweep(SweepArgs),
    Report(ReportArgs),
    Sketch(SketchArgs),
    Merge(MergeArgs),
    Study(StudyArgs),
}

/// Where predictions are, and how they are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Predictions: .csv .tsv .parquet .arrow .feather .ipc .npz, or .npy with --label FILE.npy; patterns such as 'logs/*.csv'
    #[arg(required = true, value_name = "FILE", help_heading = "Arguments")]
    pub(crate) files: Vec<PathBuf>,

    /// Column or array of probabilities; give it again for each further model
    #[arg(long, value_name = "COL")]
    pub(crate) prob: Vec<String>,

    /// Column or array of outcomes or class labels
    #[arg(long, value_name = "COL")]
    pub(crate) label: Option<String>,

    /// Predicted class, where --prob is the probability of that class alone: the outcome is whether it equals the label
    #[arg(long, value_name = "COL")]
    pub(crate) pred: Option<String>,

    /// Column or array of weights; only sample_weight is taken without being named
    #[arg(long, value_name = "COL")]
    pub(crate) weight: Option<String>,

    /// Column or array whose values tell groups apart, each of which is summed on its own
    #[arg(long, value_name = "COL")]
    pub(crate) by: Option<String>,

    /// The scores are raw: logits, or log-probabilities; columns and arrays that are called logits are raw anyway
    #[arg(long)]
    pub(crate) logits: bool,

    /// The label that counts as outcome 1, where labels are not 0 and 1
    #[arg(long, value_name = "LABEL", allow_negative_numbers = true)]
    pub(crate) positive: Option<String>,

    /// How rows of several classes are measured: top_class, classwise or a class from 0.
    /// Class 1 of two classes and top_class of more, unless given
    #[arg(long, value_name = "HOW", allow_negative_numbers = true)]
    pub(crate) multiclass: Option<String>,

    /// The top class, if several tie: first, or any (right if the label is any of them) [default: first]
    #[arg(long, value_name = "RULE")]
    pub(crate) ties: Option<String>,

    /// How far class probabilities of a row may be from summing to 1 [default: 0.001]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) sum_tolerance: Option<f64>,

    /// If rows break a rule: refuse (the file), or count (leave them out and count them). Rows are counted from 0 [default: refuse]
    #[arg(long, value_name = "RULE")]
    pub(crate) invalid: Option<String>,
}

/// The help of `--multiclass` where there is one figure for all rows.
pub(crate) const MULTICLASS_OF_ONE: &str = "How rows of several classes are measured: top_class or a class from 0, but not classwise. \
                                            Class 1 of two classes and top_class of more, unless given";

/// Which measures are asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measures")]
pub(crate) struct MeasuresArgs {
    /// A measure by its name in `calipers measures`, with its default options, in place of LS-ECE and ECE; give it again
    /// for each further one. ls_ece and expected_calibration_error have the options below
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub(crate) measure: Vec<String>,

    /// All measures; those that cannot be computed for the predictions say why
    #[arg(long)]
    pub(crate) all: bool,
}

/// The options of LS-ECE.
#[derive(Debug, Args)]
#[command(next_help_heading = "LS-ECE")]
pub(crate) struct LsEceArgs {
    /// Scale of the noise: a number, or auto
    #[arg(long, value_name = "X", default_value = "auto", allow_negative_numbers = true)]
    sigma: String,

    /// Noise: gaussian, uniform, laplace, logistic or epanechnikov
    #[arg(long, value_name = "NAME", default_value = "gaussian")]
    noise: String,

    /// Link between logits and probabilities: logistic, probit or cloglog. It is that of every measure but the calibration_ ones
    /// of Cox, whose regression is logistic
    #[arg(long, value_name = "NAME", default_value = "logistic")]
    link: String,

    /// Largest numerical error that is accepted
    #[arg(long, value_name = "X", default_value = "1e-6", allow_negative_numbers = true)]
    tolerance: f64,

    /// Probabilities are clipped to [X, 1 - X], since 0 and 1 have no finite logit
    #[arg(long, value_name = "X", default_value = "1e-6", allow_negative_numbers = true)]
    clip: f64,
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

/// How the command runs and what it prints.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// JSON for programs, with every digit and setting, in place of the table
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    threads: ThreadArgs,
}

/// How many threads work.
#[derive(Debug, Args)]
pub(crate) struct ThreadArgs {
    /// Number of threads; all cores unless given. It changes no digit
    #[arg(long, value_name = "N", help_heading = "Output")]
    threads: Option<NonZeroUsize>,
}

/// The rules of the input, read.
#[derive(Debug, Clone)]
pub(crate) struct InputRules {
    pub(crate) positive: Option<String>,
    pub(crate) multiclass: Multiclass,
    pub(crate) ties: Ties,
    pub(crate) ties_name: String,
    pub(crate) sum_tolerance: f64,
    pub(crate) invalid: Invalid,
    pub(crate) invalid_name: String,
}

impl InputArgs {
    pub(crate) fn rules(&self) -> Result<InputRules, Error> {
        let ties = self.ties.as_deref().unwrap_or("first");
        let invalid = self.invalid.as_deref().unwrap_or("refuse");
        Ok(InputRules {
            positive: self.positive.clone(),
            multiclass: self.multiclass.as_deref().map_or(Ok(Multiclass::Auto), str::parse)?,
            ties: ties.parse()?,
            ties_name: ties.to_owned(),
            sum_tolerance: self.sum_tolerance.unwrap_or(0.001),
            invalid: invalid.parse()?,
            invalid_name: invalid.to_owned(),
        })
    }

    /// The first option that was typed, files aside: where nothing is read, it would be ignored.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let options = [
            ("--prob", !self.prob.is_empty()),
            ("--label", self.label.is_some()),
            ("--pred", self.pred.is_some()),
            ("--weight", self.weight.is_some()),
            ("--by", self.by.is_some()),
            ("--logits", self.logits),
            ("--positive", self.positive.is_some()),
            ("--multiclass", self.multiclass.is_some()),
            ("--ties", self.ties.is_some()),
            ("--sum-tolerance", self.sum_tolerance.is_some()),
            ("--invalid", self.invalid.is_some()),
        ];
        options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

impl LsEceArgs {
    pub(crate) fn measure(&self) -> Result<LsEce, Error> {
        Ok(LsEce::new()
            .sigma(self.sigma.parse::<Sigma>()?)
            .shared_noise(noise::by_name(&self.noise)?)
            .shared_link(self.link()?)
            .tolerance(self.tolerance)
            .clip(self.clip))
    }

    pub(crate) fn link(&self) -> Result<Arc<dyn Link>, Error> {
        link::by_name(&self.link)
    }

    /// As it was given.
    pub(crate) fn clip_value(&self) -> f64 {
        self.clip
    }

    /// What options have made of the measure, unless it is what it is called.
    pub(crate) fn definition(&self) -> Option<String> {
        let noise = (self.noise != "gaussian").then_some(&self.noise)?;
        Some(format!("mean |E[y|t] - t| after {noise} noise of scale sigma on the logits"))
    }

    /// A sketch small enough to replace the rows, and fine enough for sigma and tolerance; `None` if there is none.
    pub(crate) fn sketch_options(&self) -> Option<SketchOptions> {
        let has_bound = matches!(self.noise.as_str(), "gaussian" | "logistic") && self.link == "logistic";
        let options = match self.sigma.parse() {
            Ok(Sigma::Auto) => SketchOptions::new().resolution(FINEST_RESOLUTION),
            Ok(Sigma::Value(sigma)) => SketchOptions::new().serving(self.tolerance, sigma),
            Err(_) => return None,
        };
        (has_bound && options.resolution_bits() <= FINEST_RESOLUTION).then(|| options.clip(self.clip))
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
            .shared_link(link))
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

    /// The number of bins that a sketch has to keep; `None` if sums of bins of equal width are not enough.
    pub(crate) fn n_bins_of_a_sketch(&self) -> Option<usize> {
        let plain = self.strategy == "uniform" && self.compat.is_none();
        self.n_bins.parse().ok().filter(|_| plain)
    }
}

impl OutputArgs {
    /// Sets the number of threads, before any work is done.
    pub(crate) fn start_threads(&self) -> anyhow::Result<()> {
        self.threads.start()
    }
}

impl ThreadArgs {
    /// Sets the number of threads, before any work is done.
    pub(crate) fn start(&self) -> anyhow::Result<()> {
        let Some(threads) = self.threads else { return Ok(()) };
        if threads.get() > MOST_THREADS {
            anyhow::bail!("threads must be from 1 to {MOST_THREADS}, got {threads}");
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get());
        pool.build_global().map_err(|error| anyhow::anyhow!("cannot start {threads} threads: {error}"))
    }
}

/// The range of sigma, for an option that is one. Written so that NaN fails.
pub(crate) fn check_sigma(name: &'static str, sigma: f64) -> Result<(), Error> {
    if (1e-9..=1e6).contains(&sigma) {
        return Ok(());
    }
    Err(Error::InvalidSetting { name, rule: "in [1e-9, 1e6]".to_owned(), value: sigma.to_string() })
}
