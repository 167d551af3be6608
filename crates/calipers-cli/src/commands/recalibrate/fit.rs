//! `calipers recalibrate fit`: predictions with outcomes -> a map.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use calipers::Sketch;
use calipers::recalibrate::{Label, MapFile, Method};
use clap::Args;
use serde_json::Value;

use super::method::{MapArgs, Requested, requested};
use super::model::{self, Found, Model};
use super::{groups, table};
use crate::args::significance::ResampleArgs;
use crate::args::{InputArgs, OutputArgs};
use crate::dataset::files::{self, InputFile};
use crate::dataset::formats::extension;
use crate::dataset::groups::By;
use crate::dataset::sketches::Sketches;
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
#[command(mut_arg("by", |by| by.help("Column of groups: a map for each group of rows, drawn to the pooled one as far as the rows say").long_help(None)), after_help = include_str!("../help/recalibrate_fit.txt"))]
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

/// All files, if they are sketches.
fn of_sketches(args: &FitArgs) -> Result<Vec<InputFile>> {
    // Standard input is read once, and rows are the likelier content.
    if args.input.files.iter().any(|name| files::is_standard_input(name)) {
        return Ok(Vec::new());
    }
    let files = args.input.open_files()?;
    let are_sketches = files.iter().all(InputFile::is_sketch);
    Ok(if are_sketches { files } else { Vec::new() })
}

/// The method for sketches, to which no option of rows applies.
fn method_of_sketches(args: &FitArgs) -> Result<Method> {
    if !args.input.by.is_empty() {
        bail!("--by needs the rows, which a sketch does not have");
    }
    if args.resample.cluster.is_some() {
        bail!("--cluster needs the rows, which a sketch does not have");
    }
    Ok(match args.method {
        Requested::Auto => Method::Beta,
        Requested::Named(method) => method,
    })
}

/// Several sketches are folds: each is held out in turn.
fn from_folds(args: &FitArgs, files: &[InputFile], output: &Output, screen: &Screen) -> Result<String> {
    let method = method_of_sketches(args)?;
    let open = |file: &InputFile| Sketches::open(file).and_then(Sketches::into_all).with_context(|| file.shown());
    let folds = files.iter().map(open).collect::<Result<Vec<Sketch>>>()?;
    let all = args.map.cross_fit(method, &args.resample).run_sketches(&folds)?;
    let found = Found { sentence: all.sentence(), ..Found::new(&all.improvement) };
    output.write(found.file.to_json().as_bytes())?;
    if args.outcome.json {
        let names: Vec<String> = files.iter().map(|file| file.name.display().to_string()).collect();
        return Ok(json::document([
            ("file", args.output.display().to_string().into()),
            ("from", names.join(", ").into()),
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
fn from_sketch(args: &FitArgs, file: &InputFile, output: &Output, screen: &Screen) -> Result<String> {
    let method = method_of_sketches(args)?;
    let sketch = Sketches::open(file).and_then(Sketches::into_all).with_context(|| file.shown())?;
    let fit = args.map.recalibrate(method).fit(&sketch).with_context(|| file.shown())?;
    let map = MapFile::new(fit.map.clone()).fit(&fit);
    output.write(map.to_json().as_bytes())?;
    if args.outcome.json {
        return Ok(json::document([
            ("file", args.output.display().to_string().into()),
            ("from", file.name.display().to_string().into()),
            ("prob", Value::Null),
            ("fingerprint", map.map.fingerprint().into()),
            ("result", Value::Null),
            ("input", json::input(&fit.input)),
        ]));
    }
    let [before, after] = [fit.log_loss_before, fit.log_loss_after].map(number::significant);
    let mut text = screen.prose(&format!(
        "Log-loss of the rows of the sketch goes from {before} to {after}. Whether the map helps on new rows cannot be \
         told from a sketch alone: give several, one for each fold of rows, or measure it with calipers recalibrate \
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
    match &of_sketches(args)?[..] {
        [] => {}
        [sketch] => return from_sketch(args, sketch, &output, screen),
        folds => return from_folds(args, folds, &output, screen),
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
