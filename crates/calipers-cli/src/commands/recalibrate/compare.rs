//! `calipers recalibrate compare`: what several methods would gain.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use calipers::recalibrate::{Map, Method};
use clap::Args;
use serde_json::{Value, json};

use super::check::{BY, OnNewRows};
use super::method::{MapArgs, Requested, requested};
use super::model::{self, Found, Model};
use super::{groups, map_file, table};
use crate::args::significance::ResampleArgs;
use crate::args::{InputArgs, OutputArgs};
use crate::progress;
use crate::render::screen::Screen;
use crate::render::{json, left_out};

/// Compare methods of recalibration, or measure a map on rows that it was not fitted to
///
/// Use it before you fit a map: is there anything to fix, and which method gains most on new rows?
/// Log-loss and gain are out of fold: each row is mapped by a fit to other rows. A calibrated model
/// has nothing to gain, and the verdict says so. With --map, the rows are new ones, and the map
/// stays as it is.
#[derive(Debug, Args)]
#[command(mut_arg("by", |by| by.help(BY).long_help(None)), after_help = include_str!("../help/recalibrate_compare.txt"))]
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

pub(super) fn run(args: &CompareArgs, screen: &Screen) -> Result<String> {
    args.resample.check()?;
    args.output.start_threads()?;
    let map = args.with_map.as_deref().map(map_file::read).transpose()?;
    let cluster = args.resample.cluster.as_deref();
    if let Some(file) = map {
        let input = groups::input_of(&file.map, &args.input, "recalibrate compare")?;
        return on_new_rows(args, &Model::open(&input, cluster, "recalibrate compare", true)?, &file.map, screen);
    }
    let model = Model::open(&args.input, cluster, "recalibrate compare", false)?;
    let predictions = model.predictions()?;
    let named: Vec<Requested> = match &args.method[..] {
        [] => methods(predictions.n_classes()).into_iter().map(Requested::Named).chain([Requested::Auto]).collect(),
        named => named.to_vec(),
    };
    let waiting = progress::waiting();
    let mut all: Vec<(&str, Result<Found, String>)> = Vec::new();
    for requested in named {
        let name = match requested {
            Requested::Auto => "auto",
            Requested::Named(method) => method.name(),
        };
        progress::begin(&waiting, name);
        let found = model::requested(&model, &predictions, requested, (&args.map, &args.resample, true));
        all.push((name, found.map_err(|error| error.root_cause().to_string())));
    }
    drop(waiting);
    let found = || all.iter().filter_map(|(name, found)| Some((*name, found.as_ref().ok()?)));
    let Some((_, best)) = found().min_by(|(_, a), (_, b)| a.log_loss_after.total_cmp(&b.log_loss_after)) else {
        let reasons: Vec<String> =
            all.iter().filter_map(|(name, found)| Some(format!("{name}: {}", found.as_ref().err()?))).collect();
        bail!("{}: no method has a fit: {}", model.file.shown(), reasons.join("; "));
    };
    // A choice takes into account that the best of many looks better than it is.
    let sentence = match found().find(|(_, found)| found.candidates.is_some()) {
        Some((_, chosen)) => format!("auto: {}", chosen.sentence),
        None => format!("The smallest log-loss out of fold is that of {}. {}", best.method.name(), best.sentence),
    };
    if args.output.json {
        let one = |(name, found): &(&str, Result<Found, String>)| match found {
            Ok(found) => table::to_json(found),
            Err(error) => json!({ "method": name, "error": error }),
        };
        return Ok(json::document([
            ("file", model.file.name.display().to_string().into()),
            ("prob", model.prob().into()),
            ("best", best.method.name().into()),
            ("sentence", sentence.into()),
            ("methods", all.iter().map(one).collect::<Vec<Value>>().into()),
            ("input", json::input(&best.input)),
        ]));
    }
    let mut text = screen.prose(&format!("{sentence}\n"));
    text += &left_out::painted(&left_out::sentences(std::iter::once(("", &best.input))), screen);
    text += &format!("\n{}\n", table::of_methods(&all, args.resample.level).draw(screen));
    let reasons = all.iter().filter_map(|(name, found)| Some(format!("{name}: {}.\n", found.as_ref().err()?)));
    let notes = "log-loss, gain: out of fold, each row mapped by a fit to other rows. interval: for the gain on new \
                 rows of the map that is fitted to all. p: of the hypothesis that there is nothing to fix. LS-ECE: \
                 what is left of the miscalibration, out of fold; floor: what a calibrated model would have by chance \
                 alone.\n";
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
