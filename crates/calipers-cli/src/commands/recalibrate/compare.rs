//! `calipers recalibrate compare`: what several methods would gain.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use calipers::recalibrate::{Map, Method};
use clap::Args;
use serde_json::{Value, json};

use super::check::{BY, OnNewRows};
use super::folds::{self, Folded};
use super::method::{self, MapArgs, Requested, requested};
use super::model::{self, Found, Model};
use super::{groups, map_file, table};
use crate::args::significance::ResampleArgs;
use crate::args::{InputArgs, OutputArgs};
use crate::dataset::files::InputFile;
use crate::progress;
use crate::render::screen::Screen;
use crate::render::{json, left_out};

/// Compare methods of recalibration, or measure a map on rows that it was not fitted to
///
/// Use it before you fit a map: is there anything to fix, and which method gains most on new rows?
/// Log-loss and gain are out of fold: each row is mapped by a fit to other rows. A calibrated model
/// has nothing to gain, and the verdict says so. With --map, the rows are new ones, and the map
/// stays as it is. Several sketches, or those of `calipers sketch --n-folds`, are folds.
#[derive(Debug, Args)]
#[command(
    mut_arg("by", |by| by.help(BY).long_help(None)),
    mut_arg("n_resamples", method::default_of_draws),
    after_help = include_str!("../help/recalibrate_compare.txt")
)]
pub(super) struct CompareArgs {
    #[command(flatten)]
    input: InputArgs,

    /// A family of maps, or auto for the one that `calipers recalibrate fit` chooses; repeat it for
    /// further ones [default: all that suit the rows, and auto]
    #[arg(long, value_name = "NAME", value_parser = requested(), help_heading = "Map", conflicts_with = "with_map")]
    method: Vec<Requested>,

    /// A map that `calipers recalibrate fit` wrote, which is measured on these rows
    #[arg(long = "map", id = "with_map", value_name = "FILE", help_heading = "Map")]
    with_map: Option<PathBuf>,

    #[command(flatten)]
    map: MapArgs,

    #[command(flatten)]
    resample: ResampleArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// The methods that are compared unless some are named.
fn methods(n_classes: usize) -> Vec<Method> {
    let of_classes =
        |method: &Method| matches!(method, Method::Identity | Method::Temperature) || method.is_of_classes();
    Method::ALL
        .into_iter()
        .filter(|method| if n_classes > 2 { of_classes(method) } else { !method.is_of_classes() })
        .collect()
}

/// A method, with what it does or why it has no fit.
type Compared = (&'static str, Result<Found, String>);

/// What the columns of the table are.
const ROWS: &str = "log-loss, gain: out of fold, each row mapped by a fit to other rows. interval: for the gain on \
                    new rows of the map that is fitted to all. p: of the hypothesis that there is nothing to fix. \
                    LS-ECE: what is left of the miscalibration, out of fold; floor: what a calibrated model would \
                    have by chance alone.\n";
const SKETCHES: &str = "log-loss, gain: out of fold, each sketch mapped by a fit to the others. interval: for the gain \
                        on new rows of the map that is fitted to all. Sketches have no rows to draw outcomes for: p, \
                        LS-ECE and its floor are not available.\n";

pub(super) fn run(args: &CompareArgs, screen: &Screen) -> Result<String> {
    args.resample.check()?;
    args.output.start_threads()?;
    let map = args.with_map.as_deref().map(map_file::read).transpose()?;
    let cluster = args.resample.cluster.as_deref();
    if let Some(file) = map {
        let input = groups::input_of(&file.map, &args.input, "recalibrate compare")?;
        return on_new_rows(args, &Model::open(&input, cluster, "recalibrate compare", true)?, &file.map, screen);
    }
    let files = folds::sketch_files(&args.input, &args.resample)?;
    if !files.is_empty() {
        return of_folds(args, &files, screen);
    }
    let model = Model::open(&args.input, cluster, "recalibrate compare", false)?;
    let predictions = model.predictions()?;
    let named: Vec<Requested> = match &args.method[..] {
        [] => methods(predictions.n_classes()).into_iter().map(Requested::Named).chain([Requested::Auto]).collect(),
        named => named.to_vec(),
    };
    let all =
        each(&named, |requested| model::requested(&model, &predictions, requested, (&args.map, &args.resample, true)));
    shown(args, (&model.file.name.display().to_string(), model.prob().into()), &all, ROWS, screen)
}

/// What each method does, or why it has no fit.
fn each(named: &[Requested], find: impl Fn(Requested) -> Result<Found>) -> Vec<Compared> {
    let waiting = progress::waiting();
    let one = |requested: &Requested| {
        let name = match requested {
            Requested::Auto => "auto",
            Requested::Named(method) => method.name(),
        };
        progress::begin(&waiting, name);
        (name, find(*requested).map_err(|error| error.root_cause().to_string()))
    };
    named.iter().map(one).collect()
}

/// Methods on sketches, each of which is held out in turn.
fn of_folds(args: &CompareArgs, files: &[InputFile], screen: &Screen) -> Result<String> {
    let name = folds::names(files);
    let Folded::Folds(sketches) = folds::folded(files)? else {
        bail!("{name}: one sketch has no folds to hold out; make some with calipers sketch --n-folds 5");
    };
    let named: Vec<Requested> = match &args.method[..] {
        [] => methods(2).into_iter().map(Requested::Named).collect(),
        named => named.to_vec(),
    };
    let all = each(&named, |requested| match requested {
        Requested::Auto => bail!("auto needs the rows, which a sketch does not have"),
        Requested::Named(method) => {
            Ok(Found::from_sketches(&args.map.cross_fit(method, &args.resample).run_sketches(&sketches)?))
        }
    });
    shown(args, (&name, Value::Null), &all, SKETCHES, screen)
}

/// The table of methods, or JSON.
fn shown(
    args: &CompareArgs,
    (name, prob): (&str, Value),
    all: &[Compared],
    notes: &str,
    screen: &Screen,
) -> Result<String> {
    let found = || all.iter().filter_map(|(name, found)| Some((*name, found.as_ref().ok()?)));
    let Some((_, best)) = found().min_by(|(_, a), (_, b)| a.log_loss_after.total_cmp(&b.log_loss_after)) else {
        let reasons: Vec<String> =
            all.iter().filter_map(|(name, found)| Some(format!("{name}: {}", found.as_ref().err()?))).collect();
        bail!("{name}: no method has a fit: {}", reasons.join("; "));
    };
    // A choice takes into account that the best of many looks better than it is.
    let sentence = match found().find(|(_, found)| found.candidates.is_some()) {
        Some((_, chosen)) => format!("auto: {}", chosen.sentence),
        None => format!("The smallest log-loss out of fold is that of {}. {}", best.method.name(), best.sentence),
    };
    if args.output.json {
        let one = |(name, found): &Compared| match found {
            Ok(found) => table::to_json(found),
            Err(error) => json!({ "method": name, "error": error }),
        };
        return Ok(json::document([
            ("file", name.into()),
            ("prob", prob),
            ("best", best.method.name().into()),
            ("sentence", sentence.into()),
            ("methods", all.iter().map(one).collect::<Vec<Value>>().into()),
            ("input", json::input(&best.input)),
        ]));
    }
    let mut text = screen.prose(&format!("{sentence}\n"));
    text += &left_out::painted(&left_out::sentences(std::iter::once(("", &best.input))), screen);
    text += &format!("\n{}\n", table::of_methods(all, args.resample.level).draw(screen));
    let reasons = all.iter().filter_map(|(name, found)| Some(format!("{name}: {}.\n", found.as_ref().err()?)));
    Ok(text + &screen.notes(&(reasons.collect::<String>() + notes)))
}

/// The gain of a map as it is, on rows that it was not fitted to.
fn on_new_rows(args: &CompareArgs, model: &Model, map: &Map, screen: &Screen) -> Result<String> {
    let held_out = OnNewRows::measure(model, map, &args.resample, true).with_context(|| model.file.shown())?;
    if args.output.json {
        return Ok(json::document([
            ("file", model.file.name.display().to_string().into()),
            ("prob", model.prob().into()),
            ("result", held_out.to_json()),
            ("input", json::input(&held_out.input)),
        ]));
    }
    let mut text = screen.prose(&format!("{}\n", held_out.sentence()));
    text += &left_out::painted(&left_out::sentences(std::iter::once(("", &held_out.input))), screen);
    Ok(text + "\n" + &held_out.grid().draw(screen))
}
