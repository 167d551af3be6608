//! What can be typed. Options that name a choice of the core stay text here: the core reads them,
//! so that a refusal has the same words as in Rust and Python.

pub(crate) mod measures;
pub(crate) mod significance;

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use calipers::{Error, Invalid, Multiclass, Ties};
use clap::{Args, ColorChoice, Parser, Subcommand};

use crate::commands::assess::AssessArgs;
use crate::commands::check::CheckArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::measure::MeasureArgs;
use crate::commands::measures::ListArgs;
use crate::commands::report::ReportArgs;
use crate::commands::shell::{CompletionsArgs, ManArgs};
use crate::commands::sketch::{MergeArgs, SketchArgs};
use crate::commands::study::StudyArgs;
use crate::commands::sweep::SweepArgs;
use crate::dataset::files::{self, InputFile};
use crate::dataset::formats::Format;
pub(crate) use measures::{OptionArgs, SmoothingArgs, check_sigma};

/// How far a classifier's probabilities are from the truth, and how much of that figure can be
/// trusted
#[derive(Debug, Parser)]
#[command(
    name = "calipers",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  calipers measure predictions.csv --columns      what is in the file?
  calipers measure predictions.csv                how far are its probabilities from the truth?
  calipers assess predictions.csv                 how much of that is chance?
  calipers compare predictions.csv --prob a --prob b
  calipers check predictions.csv --max ls-ece=0.03

Exit code: 0 fine, 1 a check failed, 2 could not measure."
)]
pub(crate) struct Arguments {
    /// Colours in tables: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        help_heading = "Output"
    )]
    pub(crate) color: ColorChoice,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

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
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Verb {
    /// The files that are only to be looked at, and whether as JSON.
    pub(crate) fn looks_at(&self) -> Option<(&InputArgs, bool)> {
        let (input, output) = match self {
            Verb::Measure(args) => (&args.files.input, &args.output),
            Verb::Assess(args) => (&args.files.input, &args.output),
            Verb::Compare(args) => (&args.input, &args.output),
            Verb::Check(args) => (&args.files.input, &args.output),
            Verb::Sweep(args) => (&args.input, &args.output),
            Verb::Report(args) => (&args.input, &args.outcome),
            Verb::Sketch(args) => (&args.input, &args.outcome),
            Verb::Measures(_) | Verb::Merge(_) | Verb::Study(_) | Verb::Completions(_) | Verb::Man(_) => return None,
        };
        input.columns.then_some((input, output.json))
    }
}

/// Where predictions are, and how they are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Predictions: .csv .tsv .jsonl .ndjson .parquet .arrow .feather .ipc .npz, or .npy with
    /// --label FILE.npy; - is standard input; patterns such as 'logs/*.csv'
    #[arg(required = true, value_name = "FILE", help_heading = "Arguments")]
    pub(crate) files: Vec<PathBuf>,

    /// Column or array of probabilities; give it again for each further model
    #[arg(long, value_name = "COL")]
    pub(crate) prob: Vec<String>,

    /// Column or array of outcomes or class labels
    #[arg(long, value_name = "COL")]
    pub(crate) label: Option<String>,

    /// Predicted class, where --prob is the probability of that class alone: the outcome is whether
    /// it equals the label
    #[arg(long, value_name = "COL")]
    pub(crate) pred: Option<String>,

    /// Column or array of weights; only sample_weight is taken without being named
    #[arg(long, value_name = "COL")]
    pub(crate) weight: Option<String>,

    /// Column or array whose values tell groups apart, each of which is summed on its own
    #[arg(long, value_name = "COL")]
    pub(crate) by: Option<String>,

    /// The scores are raw: logits, or log-probabilities; columns and arrays that are called logits
    /// are raw anyway
    #[arg(long)]
    pub(crate) logits: bool,

    /// The label that counts as outcome 1, where labels are not 0 and 1
    #[arg(long, value_name = "LABEL", allow_negative_numbers = true)]
    pub(crate) positive: Option<String>,

    /// How rows of several classes are measured: top_class, classwise or a class from 0.
    /// Class 1 of two classes and top_class of more, unless given
    #[arg(long, value_name = "HOW", allow_negative_numbers = true)]
    pub(crate) multiclass: Option<String>,

    /// The top class, if several tie: first, or any (right if the label is any of them) [default:
    /// first]
    #[arg(long, value_name = "RULE")]
    pub(crate) ties: Option<String>,

    /// How far class probabilities of a row may be from summing to 1 [default: 0.001]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) sum_tolerance: Option<f64>,

    /// Format of the files, where their names do not say it; that of standard input is seen from
    /// its first bytes
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Read the first N rows of each file and no more
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroU64>,

    /// Only look at the files: their columns, with types and first values, and how many rows there
    /// are
    #[arg(long)]
    pub(crate) columns: bool,

    /// If rows break a rule: refuse (the file), or count (leave them out and count them). Rows are
    /// counted from 0 [default: refuse]
    #[arg(long, value_name = "RULE")]
    pub(crate) invalid: Option<String>,
}

/// The help of `--multiclass` where there is one figure for all rows.
pub(crate) const MULTICLASS_OF_ONE: &str = "How rows of several classes are measured: top_class or a class from 0, but not classwise. \
                                            Class 1 of two classes and top_class of more, unless given";

/// Files that are measured each by itself, or together.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Take the rows of all files together, in place of each file by itself
    #[arg(long, help_heading = "Input")]
    pub(crate) together: bool,
}

/// Which measures are computed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measures")]
pub(crate) struct MeasuresArgs {
    /// A measure by its name in `calipers measures`, with its default options, in place of LS-ECE
    /// and ECE; give it again for each further one. ls_ece, residual_ls_ece and
    /// expected_calibration_error have the options below
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub(crate) measure: Vec<String>,

    /// All measures; those that cannot be computed for the predictions say why
    #[arg(long)]
    pub(crate) all: bool,
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
    /// Rows beyond are not read; the largest number if there is none.
    pub(crate) limit: u64,
}

impl InputArgs {
    pub(crate) fn rules(&self) -> Result<InputRules, Error> {
        let ties = self.ties.as_deref().unwrap_or("first");
        let invalid = self.invalid.as_deref().unwrap_or("reject");
        Ok(InputRules {
            positive: self.positive.clone(),
            multiclass: self.multiclass.as_deref().map_or(Ok(Multiclass::Auto), str::parse)?,
            ties: ties.parse()?,
            ties_name: ties.to_owned(),
            sum_tolerance: self.sum_tolerance.unwrap_or(0.001),
            invalid: invalid.parse()?,
            invalid_name: invalid.to_owned(),
            limit: self.limit.map_or(u64::MAX, NonZeroU64::get),
        })
    }

    /// The files, found.
    pub(crate) fn open_files(&self) -> anyhow::Result<Vec<InputFile>> {
        files::expand(&self.files, self.format)
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
            ("--format", self.format.is_some()),
            ("--limit", self.limit.is_some()),
            ("--columns", self.columns),
        ];
        options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
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
