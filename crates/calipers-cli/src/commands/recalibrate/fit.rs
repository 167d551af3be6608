//! `calipers recalibrate fit`: predictions with outcomes -> a map.

use std::path::PathBuf;

use anyhow::{Result, bail};
use calipers::recalibrate::Label;
use clap::Args;

use super::method::{MapArgs, Requested, requested};
use super::model::{self, Model};
use super::table;
use crate::args::significance::ResampleArgs;
use crate::args::{InputArgs, OutputArgs};
use crate::dataset::files;
use crate::dataset::formats::extension;
use crate::output::Output;
use crate::progress;
use crate::render::json;
use crate::render::screen::Screen;

/// Fit a map to predictions with outcomes, and write it as JSON
///
/// Use rows that the model was not trained on, such as a validation set. The verdict says whether
/// the map helps on new rows: the gain is measured on rows that are held out in turn, and its
/// interval takes the error of the fitted map into account. The map is written whatever the verdict.
#[derive(Debug, Args)]
#[command(mut_arg("by", |by| by.hide(true)), after_help = include_str!("../help/recalibrate_fit.txt"))]
pub(super) struct FitArgs {
    #[command(flatten)]
    input: InputArgs,

    /// The family of maps; auto is beta for a binary outcome and temperature for more classes
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

pub(super) fn run(args: &FitArgs, screen: &Screen) -> Result<String> {
    args.resample.check()?;
    args.outcome.start_threads()?;
    if extension(&args.output) != "json" {
        bail!("{}: a map is JSON; name the file .json", args.output.display());
    }
    files::reject_overwriting(&args.output, &args.input.open_files()?)?;
    let output = Output::new(&args.output)?;
    let model = Model::open(&args.input, args.resample.cluster.as_deref(), "recalibrate fit")?;
    let predictions = model.predictions()?;
    let waiting = progress::waiting();
    let mut found = model::requested(&model, &predictions, args.method, &args.map, &args.resample)?;
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
    let written = format!("{}: {}, {} rows\n", args.output.display(), found.method.name(), found.n);
    Ok(table::of_fit(&found, &written, screen))
}
