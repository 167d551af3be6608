//! `calipers recalibrate fit`: predictions with outcomes -> a map.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use calipers::Sketch;
use calipers::recalibrate::{Label, MapFile, Method};
use clap::Args;
use serde_json::Value;

use super::folds::{self, Folded};
use super::method::{self, MapArgs, Requested, requested};
use super::model::{self, Found, Model};
use super::{groups, table};
use crate::args::significance::ResampleArgs;
use crate::args::{InputArgs, OutputArgs};
use crate::dataset::files::{self, InputFile};
use crate::dataset::formats::extension;
use crate::dataset::groups::By;
use crate::output::Output;
use crate::progress;
use crate::render::screen::Screen;
use crate::render::{json, number};

/// Fit a map to predictions with outcomes, and write it as JSON
///
/// Use rows that the model was not trained on, such as a validation set. The verdict says whether
/// the map helps on new rows: the gain is measured on rows that are held out in turn, and its
/// interval takes the error of the fitted map into account. The map is written whatever the
/// verdict.
#[derive(Debug, Args)]
#[command(
    mut_arg("by", |by| by.help("Column of groups: a map for each group of rows, drawn to the pooled one as far as the rows say").long_help(None)),
    mut_arg("n_resamples", method::default_of_draws),
    after_help = include_str!("../help/recalibrate_fit.txt")
)]
pub(super) struct FitArgs {
    #[command(flatten)]
    input: InputArgs,

    /// The family of maps; auto chooses one by its log-loss on rows that are held out, or leaves
    /// probabilities as they are if none helps. For a sketch, which has no rows to hold out, and
    /// with --by, auto is beta
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = requested(), help_heading = "Map")]
    method: Requested,

    #[command(flatten)]
    map: MapArgs,

    #[command(flatten)]
    resample: ResampleArgs,

    /// File to write: JSON
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,

    #[command(flatten)]
    outcome: OutputArgs,
}

/// The method for sketches.
fn method_of_sketches(args: &FitArgs) -> Method {
    match args.method {
        Requested::Auto => Method::Beta,
        Requested::Named(method) => method,
    }
}

/// Each sketch is a fold, which is held out in turn.
fn from_folds(
    args: &FitArgs,
    files: &[InputFile],
    sketches: &[Sketch],
    output: &Output,
    screen: &Screen,
) -> Result<String> {
    let method = method_of_sketches(args);
    let all = args.map.cross_fit(method, &args.resample).run_sketches(sketches)?;
    let found = Found::from_sketches(&all);
    output.write(found.file.to_json().as_bytes())?;
    if args.outcome.json {
        return Ok(json::document([
            ("file", args.output.display().to_string().into()),
            ("from", folds::names(files).into()),
            ("prob", Value::Null),
            ("fingerprint", found.file.map.fingerprint().into()),
            ("result", table::to_json(&found)),
            ("input", json::input(&found.input)),
        ]));
    }
    let auto = match args.method {
        Requested::Auto => "auto is beta for sketches.\n",
        Requested::Named(_) => "",
    };
    let written = format!("{auto}{}: {}, {} rows\n", args.output.display(), method.name(), found.n);
    Ok(table::of_fit(&found, &written, screen))
}

/// One sketch has no folds: there is a map, and no verdict.
fn from_sketch(
    args: &FitArgs,
    files: &[InputFile],
    sketch: &Sketch,
    output: &Output,
    screen: &Screen,
) -> Result<String> {
    let method = method_of_sketches(args);
    let fit = args.map.recalibrate(method).fit(sketch).with_context(|| folds::names(files))?;
    let map = MapFile::new(fit.map.clone()).fit(&fit);
    output.write(map.to_json().as_bytes())?;
    if args.outcome.json {
        return Ok(json::document([
            ("file", args.output.display().to_string().into()),
            ("from", folds::names(files).into()),
            ("prob", Value::Null),
            ("fingerprint", map.map.fingerprint().into()),
            ("result", Value::Null),
            ("input", json::input(&fit.input)),
        ]));
    }
    let [before, after] = [fit.log_loss_before, fit.log_loss_after].map(number::significant);
    let mut text = screen.prose(&format!(
        "Log-loss of the rows of the sketch goes from {before} to {after}. Whether the map helps on new rows cannot be \
         told from a sketch alone: make folds with calipers sketch --n-folds, or measure it with calipers recalibrate \
         compare --map {}.\n",
        args.output.display()
    ));
    text += &format!("\n{}\n", table::of_fitted(&fit.parameters).draw(screen));
    let mut notes: String = fit.notes.iter().map(|note| format!("{note}\n")).collect();
    if args.method == Requested::Auto {
        notes += "auto is beta for a sketch: methods cannot be compared without rows to hold out.\n";
    }
    Ok(text + &screen.notes(&format!("{notes}{}: {}, {} rows\n", args.output.display(), method.name(), fit.n)))
}

pub(super) fn run(args: &FitArgs, screen: &Screen) -> Result<String> {
    args.resample.check()?;
    args.outcome.start_threads()?;
    if extension(&args.output) != "json" {
        bail!("{}: a map is JSON; name the file .json", args.output.display());
    }
    if !args.input.files.iter().any(|name| files::is_standard_input(name)) {
        files::reject_overwriting(&args.output, &args.input.open_files()?)?;
    }
    let output = Output::new(&args.output)?;
    let files = folds::sketch_files(&args.input, &args.resample)?;
    if !files.is_empty() {
        return match folds::folded(&files)? {
            Folded::Whole(sketch) => from_sketch(args, &files, &sketch, &output, screen),
            Folded::Folds(sketches) => from_folds(args, &files, &sketches, &output, screen),
        };
    }
    let model = Model::open(&args.input, args.resample.cluster.as_deref(), "recalibrate fit", true)?;
    let predictions = model.predictions()?;
    let waiting = progress::waiting();
    let by = By::new(args.input.by.clone());
    let mut found = match &by {
        Some(by) => groups::fit(&model, &predictions, args.method, (&args.map, &args.resample), by)?,
        None => model::requested(&model, &predictions, args.method, (&args.map, &args.resample, false))?,
    };
    drop(waiting);
    let names = model.class_names();
    if names.len() == found.file.map.n_classes() {
        found.file = found.file.labels(names.into_iter().map(Label::Text).collect());
    }
    output.write(found.file.to_json().as_bytes())?;
    if args.outcome.json {
        return Ok(json::document([
            ("file", args.output.display().to_string().into()),
            ("from", model.file.name.display().to_string().into()),
            ("prob", model.prob().into()),
            ("fingerprint", found.file.map.fingerprint().into()),
            ("result", table::to_json(&found)),
            ("input", json::input(&found.input)),
        ]));
    }
    let identity = match found.method {
        Method::Identity => "The map that was written leaves all probabilities as they are.\n",
        _ => "",
    };
    let by = by.map_or(String::new(), |by| format!(" by {by}"));
    let written = format!("{identity}{}: {}{by}, {} rows\n", args.output.display(), found.method.name(), found.n);
    Ok(table::of_fit(&found, &written, screen))
}
