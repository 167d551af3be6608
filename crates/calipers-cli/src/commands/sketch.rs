//! `calipers sketch` and `calipers merge`: summaries that stand for any number of rows.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use calipers::{Sketch, SketchOptions};
use clap::Args;
use serde_json::{Value, json};

use crate::args::{InputArgs, OutputArgs, check_sigma};
use crate::dataset::Reader;
use crate::dataset::files::{self, InputFile};
use crate::dataset::sketches::{self, Sketches};
use crate::output::Output;
use crate::render::{json, number};

/// Put the predictions of all files into one sketch, which is measured and merged like the rows
/// themselves
///
/// A sketch has some megabytes, whatever the number of rows; with --by there is one for each group,
/// and those with few rows are small. It answers LS-ECE for any sigma from --smallest-sigma on, and
/// ECE with the --n-bins that it keeps. Sketches of days, files or machines can be merged: the
/// result is that of all rows.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  calipers sketch monday.parquet tuesday.parquet -o days.calipers
  calipers sketch 'logs/*.csv' --prob score --label bought --by country -o countries.parquet
  calipers measure days.calipers --sigma 0.1

The output appears whole or not at all: a kill in the middle leaves the old file.

Exit code: 0 fine, 2 could not be done.")]
pub(crate) struct SketchArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// File to write: .calipers for one sketch, .parquet for rows of keys and sketches, as --by
    /// needs them
    #[arg(short, long, value_name = "FILE", required_unless_present = "columns", help_heading = "Sketch")]
    output: Option<PathBuf>,

    /// The smallest sigma that LS-ECE will be asked for: the smaller, the larger the sketch
    #[arg(long, value_name = "X", default_value = "0.02", allow_negative_numbers = true, help_heading = "Sketch")]
    smallest_sigma: f64,

    /// The largest numerical error that will be accepted there
    #[arg(long, value_name = "X", default_value = "1e-6", allow_negative_numbers = true, help_heading = "Sketch")]
    tolerance: f64,

    /// Probabilities are clipped to [X, 1 - X], since 0 and 1 have no finite logit
    #[arg(long, value_name = "X", default_value = "1e-6", allow_negative_numbers = true, help_heading = "Sketch")]
    clip: f64,

    /// Numbers of equal-width bins for which ECE will be asked
    #[arg(long, value_name = "N", value_delimiter = ',', default_values = ["10", "15"], help_heading = "Sketch")]
    n_bins: Vec<usize>,

    #[command(flatten)]
    pub(crate) outcome: OutputArgs,
}

/// Merge sketches into one, which is that of all their rows
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  calipers merge monday.calipers tuesday.calipers -o days.calipers

Sketches must have been made with the same --clip and --n-bins, and --by if any; the result has the coarser cells of two.

Exit code: 0 fine, 2 could not be done.")]
pub(crate) struct MergeArgs {
    /// Sketches: files that `calipers sketch` or `calipers merge` wrote
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// File to write: .calipers for one sketch, .parquet for rows of keys and sketches, as --by
    /// needs them
    #[arg(short, long, value_name = "FILE", help_heading = "Sketch")]
    output: PathBuf,

    #[command(flatten)]
    pub(crate) outcome: OutputArgs,
}

pub(crate) fn run(args: &SketchArgs) -> Result<String> {
    let reader = Reader { args: &args.input, rules: args.input.rules()?, cluster: None, sketch: None };
    if args.input.prob.len() > 1 {
        bail!("a sketch has one model, got --prob {}: make one for each", args.input.prob.join(" and --prob "));
    }
    check_sigma("smallest_sigma", args.smallest_sigma)?;
    let options =
        SketchOptions::new().serving(args.tolerance, args.smallest_sigma).clip(args.clip).n_bins(&args.n_bins);
    args.outcome.start_threads()?;
    // proof: left out only with --columns, for which nothing is written
    let output = args.output.as_deref().context("-o FILE is needed")?;
    sketches::check_name(output, args.input.by.is_some())?;
    write_all(&args.input.open_files()?, output, args.outcome.json, |file| {
        if file.is_sketch() {
            bail!("is a sketch already: calipers merge puts sketches together");
        }
        // proof: one model was chosen, as several are refused above and a guess is one
        reader.open_sketches(file, &options)?.content.into_iter().next().context("no model in it")
    })
}

pub(crate) fn merge(args: &MergeArgs) -> Result<String> {
    args.outcome.start_threads()?;
    let files = files::expand(&args.files, None)?;
    write_all(&files, &args.output, args.outcome.json, |file| Sketches::read(&file.path))
}

/// Merges what `read` makes of each file, writes it, and says so.
fn write_all(
    inputs: &[InputFile],
    output: &Path,
    as_json: bool,
    read: impl Fn(&InputFile) -> Result<Sketches> + Sync,
) -> Result<String> {
    files::refuse_overwriting(output, inputs)?;
    let place = Output::new(output)?;
    let mut all: Option<Sketches> = None;
    files::for_each(inputs, read, |sketches| match &mut all {
        None => {
            all = Some(sketches);
            Ok(())
        }
        Some(all) => all.merge(&sketches),
    })?;
    let all = all.context("no files")?;
    let bytes = all.to_bytes(output)?;
    place.write(&bytes)?;
    if as_json {
        return Ok(written(inputs, output, &all, bytes.len()));
    }
    let groups = all.groups.map_or(String::new(), |groups| {
        format!(" in {} groups by {}", number::count(groups.sketches.len() as u64), groups.by)
    });
    let (n, size) = (number::count(all.all.n()), number::count(bytes.len() as u64));
    Ok(crate::printable(&format!("{}: {n} rows{groups}, {size} bytes", output.display())) + "\n")
}

/// What was written, for programs.
fn written(inputs: &[InputFile], output: &Path, sketches: &Sketches, n_bytes: usize) -> String {
    let files: Vec<String> = inputs.iter().map(|file| file.name.display().to_string()).collect();
    let groups = sketches.groups.as_ref();
    let of_group = |(group, sketch): (&String, &Sketch)| json!({ "group": group, "n": sketch.n() });
    json::text(&json!({
        "calipers": env!("CARGO_PKG_VERSION"),
        "file": output.display().to_string(),
        "from": files,
        "n": sketches.all.n(),
        "n_bytes": n_bytes,
        "by": groups.map(|groups| &groups.by),
        "groups": groups.map(|groups| groups.sketches.iter().map(of_group).collect::<Vec<Value>>()),
    }))
}
