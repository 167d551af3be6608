//! What can be typed. The core reads the values that it knows the names of (see [`values`]), so
//! that an error has the same words as in Rust and Python.

pub(crate) mod measures;
pub(crate) mod significance;
pub(crate) mod values;

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use calipers::{BinnedEce, Error, Invalid, LsEce, Multiclass, Ties, registry};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::assess::AssessArgs;
use crate::commands::check::CheckArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::drift::DriftArgs;
use crate::commands::inspect::InspectArgs;
use crate::commands::list::ListArgs;
use crate::commands::measure::MeasureArgs;
use crate::commands::monitor::MonitorArgs;
use crate::commands::recalibrate::RecalibrateArgs;
use crate::commands::report::ReportArgs;
use crate::commands::shell::{CompletionsArgs, ManArgs};
use crate::commands::sketch::{MergeArgs, SketchArgs};
use crate::commands::study::StudyArgs;
use crate::commands::sweep::SweepArgs;
use crate::dataset::files::{self, InputFile};
use crate::dataset::formats::{Format, Reading, expansion};
use crate::dataset::groups;
pub(crate) use measures::{NamedOptionArgs, OptionArgs, SmoothingArgs, check_sigma};
use values::named;
pub(crate) use values::one_of;

/// Measure how well a classifier's probabilities are calibrated, and how much of the error is
/// chance
#[derive(Debug, Parser)]
#[command(
    name = "calipers",
    version,
    max_term_width = 100,
    after_help = include_str!("../commands/help/calipers.txt")
)]
pub(crate) struct Arguments {
    /// Colours in tables; auto means on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Output")]
    pub(crate) color: ColorChoice,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Measure(MeasureArgs),
    Assess(AssessArgs),
    Compare(CompareArgs),
    Drift(DriftArgs),
    Check(CheckArgs),
    Monitor(MonitorArgs),
    Sweep(SweepArgs),
    Report(ReportArgs),
    Recalibrate(RecalibrateArgs),
    List(ListArgs),
    Inspect(InspectArgs),
    Sketch(SketchArgs),
    Merge(MergeArgs),
    Study(StudyArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Names of earlier versions and names that people try, with those that there are.
const FORMER: [(&str, &str); 9] = [
    ("--logits", "--from-logits"),
    ("--positive", "--pos-label"),
    ("--resamples", "--n-resamples"),
    ("--seed", "--random-state"),
    ("--interval", "--method"),
    ("--folds", "--n-folds"),
    ("--columns", "calipers inspect FILE"),
    ("measures", "list"),
    ("--per-class", "--multiclass classwise"),
];

impl Arguments {
    /// What was typed, and how clap matched it.
    pub(crate) fn read() -> Result<(Self, ArgMatches), clap::Error> {
        let matches = Self::command().try_get_matches().map_err(|mut error| {
            for (given, hint) in [
                (ContextKind::InvalidArg, ContextKind::SuggestedArg),
                (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
            ] {
                let Some(ContextValue::String(given)) = error.get(given) else { continue };
                if let Some((_, name)) = FORMER.iter().find(|(former, _)| former == given) {
                    error.insert(hint, ContextValue::String((*name).to_owned()));
                }
            }
            suggest_output_format(&mut error);
            error
        })?;
        Ok((Self::from_arg_matches(&matches)?, matches))
    }
}

/// Formats of output are not those of the files, whose option is the shorter name.
fn suggest_output_format(error: &mut clap::Error) {
    let text = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let value = text(ContextKind::InvalidValue).to_owned();
    if text(ContextKind::InvalidArg).starts_with("--format ") && ["github", "junit", "json", "table"].contains(&&*value)
    {
        let hint = format!("--format is the format of the files; calipers check has --output-format {value}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
}

/// The first of these options that was typed, other than files and how the command runs.
pub(crate) fn first_given<A: Args>(matches: &ArgMatches) -> Option<String> {
    let command = A::augment_args(clap::Command::new("options"));
    let mut ids = command.get_arguments().map(|option| option.get_id().as_str());
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    ids.find(|id| !["files", "name", "json", "threads"].contains(id) && is_given(id))
        .map(|id| format!("--{}", id.replace('_', "-")))
}

/// Where predictions are, and how they are read.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Files of predictions: .csv .tsv .jsonl .ndjson (also with .gz or .zst), .parquet .arrow
    /// .feather .ipc .npz, or .npy with --label FILE.npy; a folder is one file of all rows in it; -
    /// is standard input; patterns such as 'logs/*.csv' are expanded
    #[arg(required = true, value_name = "FILE", help_heading = "Arguments")]
    pub(crate) files: Vec<PathBuf>,

    /// Column or array of probabilities; repeat it for further models. If each class has a column,
    /// name all of them, as p_cat,p_dog,p_fish or 'p_*'
    #[arg(long, value_name = "COL")]
    pub(crate) prob: Vec<String>,

    /// Column or array of outcomes or class labels
    #[arg(long, value_name = "COL")]
    pub(crate) label: Option<String>,

    /// Names of the classes in their order, if labels are text: cat,dog,fish. Classes that have a
    /// column each are named by their columns
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) classes: Vec<String>,

    /// Column or array of predicted classes, if --prob is the probability of that class only. The
    /// outcome is whether the predicted class equals the label
    #[arg(long, value_name = "COL")]
    pub(crate) pred: Option<String>,

    /// Column or array of weights; only sample_weight is used without being named
    #[arg(long, value_name = "COL")]
    pub(crate) weight: Option<String>,

    /// Column or array of groups; each group also gets its own result. Repeat it for groups by
    /// several columns
    #[arg(long, value_name = "COL")]
    pub(crate) by: Vec<String>,

    /// The option that `by` is from, for errors: a verb may take groups from another one.
    #[arg(skip = "--by")]
    pub(crate) by_option: &'static str,

    /// The scores are raw: logits or log-probabilities. Columns and arrays named logit or logits
    /// are always read as raw
    #[arg(long)]
    pub(crate) from_logits: bool,

    /// Format of the files, if their names do not tell it. The format of standard input is detected
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    #[command(flatten)]
    pub(crate) text: TextArgs,

    #[command(flatten)]
    pub(crate) rules: InputRules,
}

/// How delimited text is written, and how much a file may take.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct TextArgs {
    /// What stands between the cells of a CSV file: one character, or tab. Without it, the first
    /// rows show which of , ; tab and | it is
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,

    /// What stands before the decimals of numbers in a CSV file: . or , [default: .]
    #[arg(long, value_name = "CHAR", value_parser = decimal)]
    pub(crate) decimal: Option<u8>,

    /// Reject a compressed file that takes more than 64 MiB and N times its size when it is
    /// decompressed, so that a small file cannot take all memory
    #[arg(long, value_name = "N", default_value_t = expansion::DEFAULT)]
    pub(crate) max_expansion: u64,
}

impl TextArgs {
    pub(crate) fn reading(&self, invalid: Invalid) -> Reading {
        Reading {
            invalid,
            delimiter: self.delimiter,
            decimal: self.decimal,
            is_scaled: false,
            max_expansion: self.max_expansion,
        }
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n.".contains(byte) => Ok(*byte),
        _ => Err("must be one character that is no letter, digit, quote or point, or tab".to_owned()),
    }
}

fn decimal(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte @ (b'.' | b',')] => Ok(*byte),
        _ => Err("must be . or ,".to_owned()),
    }
}

fn scale(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "must be a positive number, as 100 for percentages".to_owned())
}

/// How rows are checked and turned into outcomes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputRules {
    /// The label that counts as outcome 1, if labels are not 0 and 1
    #[arg(long, value_name = "LABEL", allow_negative_numbers = true)]
    pub(crate) pos_label: Option<String>,

    /// Divide probabilities by X: 100 if they are percentages
    #[arg(long, value_name = "X", value_parser = scale)]
    pub(crate) scale: Option<f64>,

    /// What is measured if rows have several classes: top_class (the predicted class), classwise
    /// (the mean over all classes), all_classes (all together, for brier_score and log_loss), or
    /// one class against the rest: its name, if classes have names, or its number, from 0. auto is
    /// class 1 of two classes, and of more all_classes for these two and top_class for others.
    /// compare, sweep and study do not accept classwise
    #[arg(long, value_name = "HOW", default_value = "auto", allow_negative_numbers = true)]
    #[arg(value_parser = named(&["auto", "top_class", "classwise", "all_classes"], Question::read))]
    pub(crate) multiclass: Question,

    /// The top class if several tie: the first of them, or any (the prediction is right if the
    /// label is any of them)
    #[arg(long, value_name = "RULE", default_value = "first", value_parser = one_of::<Ties>(Ties::NAMES))]
    pub(crate) ties: Ties,

    /// How far the class probabilities of a row may be from summing to 1. Rows are used as given;
    /// those that are off by more than 0.001 are counted
    #[arg(long, value_name = "X", default_value = "0.02", allow_negative_numbers = true)]
    pub(crate) sum_tolerance: f64,

    /// What happens to an invalid row: reject the file, naming the line of a text file, or the row
    /// counted from 0; or count the row and leave it out
    #[arg(long, value_name = "RULE", default_value = "reject", value_parser = one_of::<Invalid>(Invalid::NAMES))]
    pub(crate) invalid: Invalid,

    /// Read only the first N rows of each file
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroU64>,

    /// Reject rows that are in more than N groups, so that a small file cannot take all memory and
    /// time
    #[arg(long, value_name = "N", default_value_t = groups::MOST)]
    pub(crate) max_groups: usize,
}

/// What is measured of several classes.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// Automatic for a class that is known by its name alone, until the classes are known.
    pub(crate) asked: Multiclass,
    /// What may be the name of a class.
    name: Option<String>,
}

impl Question {
    /// Whether nothing was asked for.
    pub(crate) fn is_automatic(&self) -> bool {
        self.asked == Multiclass::Auto && self.name.is_none()
    }

    fn read(text: &str) -> Result<Self, Error> {
        let name = Some(text.to_owned());
        Ok(match text.parse() {
            Ok(asked @ Multiclass::Class(_)) => Question { asked, name },
            Ok(asked) => Question { asked, name: None },
            Err(_) => Question { asked: Multiclass::Auto, name },
        })
    }

    /// The question about models with these names of classes. A name comes before a number, since
    /// classes may be named 1, 2 and 3.
    pub(crate) fn of_classes<'a>(&self, classes: impl Iterator<Item = &'a [String]>) -> anyhow::Result<Self> {
        let Some(name) = &self.name else { return Ok(self.clone()) };
        let models: Vec<&[String]> = classes.collect();
        let mut places = models.iter().map(|classes| classes.iter().position(|class| class == name));
        let first = places.next().flatten();
        let asked = match (first, places.all(|place| place == first)) {
            (Some(class), true) => Multiclass::Class(class),
            (None, true) => name.parse().map_err(|error: Error| match models.first() {
                Some(classes) if !classes.is_empty() => {
                    anyhow::anyhow!("{error}; the classes are {}", classes.join(", "))
                }
                _ => anyhow::anyhow!("{error}; the classes have no names, which --classes gives them"),
            })?,
            (_, false) => anyhow::bail!("class {name} of --multiclass must have the same place in all models"),
        };
        Ok(Question { asked, name: None })
    }
}

/// Files that are measured one by one, or together.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Measure the rows of all files together instead of each file separately
    #[arg(long, help_heading = "Input")]
    pub(crate) together: bool,
}

/// Which measures are computed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measures")]
pub(crate) struct MeasuresArgs {
    /// A measure by its name in `calipers list`; repeat it for further ones [default: ls_ece and
    /// expected_calibration_error]
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    measure: Vec<String>,

    /// All measures; a measure that cannot be computed for the data shows the reason
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    pub(crate) options: NamedOptionArgs,
}

impl MeasuresArgs {
    /// Whether the user chose the measures.
    pub(crate) fn are_named(&self) -> bool {
        self.all || !self.measure.is_empty()
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        match (self.all, &self.measure[..]) {
            (true, _) => registry::all().iter().map(|entry| entry.spec.name).collect(),
            (false, []) => vec![LsEce::NAME, BinnedEce::NAME],
            (false, named) => named.iter().map(String::as_str).collect(),
        }
    }
}

/// How the command runs and what it prints.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print JSON with every digit and setting instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Number of threads [default: all cores]. It does not change any value
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// More would take longer to start than to work.
const MOST_THREADS: usize = 1024;

impl InputArgs {
    pub(crate) fn reading(&self) -> Reading {
        Reading { is_scaled: self.rules.scale.is_some(), ..self.text.reading(self.rules.invalid) }
    }

    /// The files, with patterns expanded.
    pub(crate) fn open_files(&self) -> anyhow::Result<Vec<InputFile>> {
        files::expand(&self.files, self.format, self.rules.limit())
    }
}

impl InputRules {
    /// Rows beyond are not read.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.map_or(u64::MAX, NonZeroU64::get)
    }
}

impl OutputArgs {
    /// Sets the number of threads, before any work is done.
    pub(crate) fn start_threads(&self) -> anyhow::Result<()> {
        let Some(threads) = self.threads else { return Ok(()) };
        if threads.get() > MOST_THREADS {
            anyhow::bail!("threads must be from 1 to {MOST_THREADS}, got {threads}");
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get());
        pool.build_global().map_err(|error| anyhow::anyhow!("cannot start {threads} threads: {error}"))
    }
}
