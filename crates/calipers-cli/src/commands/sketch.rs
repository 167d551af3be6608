//! `calipers sketch` and `calipers merge`: summaries that stand for any number of rows.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use calipers::{Profile, SketchOptions};
use clap::Args;

use crate::args::{InputArgs, OutputArgs, check_sigma, one_of};
use crate::dataset::Reader;
use crate::dataset::files::{self, InputFile};
use crate::dataset::sketches::{self, Groups, Sketches};
use crate::output::Output;
use crate::render::{json, left_out, number};

/// Each fold is a fit, and more of them tell hardly more.
const MOST_FOLDS: usize = 100;

/// Summarise the predictions of all files in one sketch, which can be measured and merged
///
/// Use it for logs that are too large to keep, or that arrive in parts: sketches of days, files or
/// machines are merged into the sketch of all rows, exactly. A sketch has some megabytes, whatever
/// the number of rows. It answers LS-ECE for any sigma from --smallest-sigma on, and ECE with the
/// --n-bins that it keeps. With --by there is one sketch for each group.
#[derive(Debug, Args)]
#[command(after_help = include_str!("help/sketch.txt"))]
pub(crate) struct SketchArgs {
    #[command(flatten)]
    input: InputArgs,

    /// File to write: .calipers for one sketch, .parquet for sketches of groups (a row for each)
    #[arg(short, long, value_name = "FILE", help_heading = "Sketch")]
    output: PathBuf,

    /// exact: LS-ECE to within --tolerance; monitoring: at most 10 KB for 10,000 rows, with a bound
    /// of a few hundredths of the noise floor
    #[arg(
        long,
        value_name = "NAME",
        default_value = "exact",
        value_parser = one_of::<Profile>(Profile::NAMES),
        conflicts_with_all = ["smallest_sigma", "tolerance"],
        help_heading = "Sketch"
    )]
    profile: Profile,

    /// The smallest sigma for which LS-ECE can be computed; a smaller one makes a larger sketch
    #[arg(long, value_name = "X", default_value = "0.02", allow_negative_numbers = true, help_heading = "Sketch")]
    smallest_sigma: f64,

    /// The largest numerical error of LS-ECE at that sigma
    #[arg(long, value_name = "X", default_value = "1e-6", allow_negative_numbers = true, help_heading = "Sketch")]
    tolerance: f64,

    /// Clip probabilities to [X, 1 - X], since 0 and 1 have no finite logit
    #[arg(long, value_name = "X", default_value = "1e-6", allow_negative_numbers = true, help_heading = "Sketch")]
    clip: f64,

    /// Numbers of equal-width bins for which ECE can be computed, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_values = ["10", "15"], help_heading = "Sketch")]
    n_bins: Vec<usize>,

    /// Put the rows into N sketches, one for each fold, in a Parquet file with a column fold. Each
    /// fold can be held out in turn, so that `calipers recalibrate compare` and `fit` can tell
    /// whether a map helps on new rows
    #[arg(long, value_name = "N", value_parser = n_folds, conflicts_with = "by", help_heading = "Sketch")]
    n_folds: Option<usize>,

    /// Column or array that decides the fold of a row, such as the person: its rows are in the same
    /// fold, in all files. Without it, the number of the row in its file decides
    #[arg(long, value_name = "COL", requires = "n_folds", help_heading = "Sketch")]
    cluster: Option<String>,

    #[command(flatten)]
    outcome: OutputArgs,
}

fn n_folds(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (2..=MOST_FOLDS).contains(number));
    number.ok_or_else(|| format!("must be a whole number from 2 to {MOST_FOLDS}"))
}

/// Merge sketches into one: the sketch of all their rows
///
/// Use it to combine the sketches of days, files or machines. The result is the same as one sketch
/// of all rows. The sketches must have the same --clip and --n-bins, and the same --by column if
/// any. With --minus, rows are taken out again: a month without a day is the sketch of the other
/// days.
#[derive(Debug, Args)]
#[command(after_help = include_str!("help/merge.txt"))]
pub(crate) struct MergeArgs {
    /// Files that `calipers sketch` or `calipers merge` wrote
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Sketches of rows to take out again, which must be part of the others; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Sketch")]
    minus: Vec<PathBuf>,

    /// File to write: .calipers for one sketch, .parquet for sketches of groups (a row for each)
    #[arg(short, long, value_name = "FILE", help_heading = "Sketch")]
    output: PathBuf,

    #[command(flatten)]
    outcome: OutputArgs,
}

pub(crate) fn run(args: &SketchArgs) -> Result<String> {
    let reader = Reader { args: &args.input, cluster: args.cluster.as_deref(), sketch: None };
    if args.input.prob.len() > 1 {
        bail!("a sketch has one model, got --prob {}: make one for each", args.input.prob.join(" and --prob "));
    }
    check_sigma("smallest_sigma", args.smallest_sigma)?;
    let options = match args.profile {
        Profile::Exact => SketchOptions::new().serving(args.tolerance, args.smallest_sigma),
        Profile::Monitoring => SketchOptions::new().profile(Profile::Monitoring),
    };
    let options = options.clip(args.clip).n_bins(&args.n_bins);
    args.outcome.start_threads()?;
    let output = &args.output;
    sketches::check_name(output, !args.input.by.is_empty() || args.n_folds.is_some())?;
    write_all(
        &args.input.open_files()?,
        output,
        args.outcome.json,
        |file| {
            if file.is_sketch() {
                bail!("is already a sketch; calipers merge combines sketches");
            }
            let opened = match args.n_folds {
                Some(n_folds) => reader.open_folds(file, &options, n_folds)?,
                None => reader.open_sketches(file, &options)?,
            };
            // proof: there is one model, since several are rejected above and a guess is one
            opened.content.into_iter().next().context("no model in it")
        },
        Ok,
    )
}

pub(crate) fn merge(args: &MergeArgs) -> Result<String> {
    args.outcome.start_threads()?;
    let files = files::expand(&args.files, None, u64::MAX)?;
    let minus = if args.minus.is_empty() { Vec::new() } else { files::expand(&args.minus, None, u64::MAX)? };
    files::reject_overwriting(&args.output, &minus)?;
    write_all(&files, &args.output, args.outcome.json, Sketches::open, |all| {
        minus.iter().try_fold(all, |all, file| {
            let part = Sketches::open(file).with_context(|| file.name.display().to_string())?;
            all.subtract(&part).with_context(|| file.name.display().to_string())
        })
    })
}

/// Merges what `read` makes of each file, writes what `finish` makes of that, and reports it.
fn write_all(
    inputs: &[InputFile],
    output: &Path,
    as_json: bool,
    read: impl Fn(&InputFile) -> Result<Sketches> + Sync,
    finish: impl FnOnce(Sketches) -> Result<Sketches>,
) -> Result<String> {
    files::reject_overwriting(output, inputs)?;
    let place = Output::new(output)?;
    let all = finish(files::merged(inputs, read, |all, sketches| all.merge(&sketches))?)?;
    let bytes = all.to_bytes(output)?;
    place.write(&bytes)?;
    if as_json {
        let groups = all.groups.as_ref();
        return Ok(json::document([
            ("file", output.display().to_string().into()),
            ("from", files::names(inputs)),
            ("n", all.n().into()),
            ("input", json::input(&all.report())),
            ("n_bytes", bytes.len().into()),
            ("by", groups.map(|groups| groups.by.to_string()).into()),
            ("groups", json::groups(groups)),
        ]));
    }
    let empty = all.groups.as_ref().map_or_else(Vec::new, Groups::without_rows);
    let empty = all.groups.as_ref().and_then(|groups| left_out::groups_without_rows(&groups.by, &empty));
    let (n_rows, left_out) = (all.n(), all.report());
    let left_out = left_out.left_out_sentence().into_iter().chain(empty);
    let left_out: String = left_out.map(|sentence| sentence + "\n").collect();
    let groups = all.groups.map_or(String::new(), |groups| {
        format!(" in {} groups by {}", number::count(groups.sketches.len() as u64), groups.by)
    });
    let (n, size) = (number::count(n_rows), number::count(bytes.len() as u64));
    Ok(crate::printable(&format!("{}: {n} rows{groups}, {size} bytes", output.display())) + "\n" + &left_out)
}
