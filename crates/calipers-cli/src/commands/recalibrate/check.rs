//! `calipers recalibrate check`: a gate for CI. Does a map still help, and is nothing left to fix?

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use calipers::recalibrate::{CrossFit, HeldOut, HeldOutGain, Map, Method, Recalibrate, Verdict};
use calipers::{InputReport, Sample};
use clap::Args;
use serde_json::{Value, json};

use super::groups as by_group;
use super::map_file;
use super::method;
use super::model::{self, Model, Question, recalibrated};
use super::table::{self, Ends};
use crate::args::significance::ResampleArgs;
use crate::args::{InputArgs, OutputArgs};
use crate::dataset::batch::{Batch, kept_rows};
use crate::render::grid::Grid;
use crate::render::screen::{Screen, Tone};
use crate::render::{json, left_out, number};
use crate::{Printed, Status, progress};

/// The column of groups where a map is given.
pub(super) const BY: &str = "Column of groups, for maps by group [default: the one that they were fitted by]";

/// Fail if a map makes predictions worse, or if a new map would improve on it: a gate for CI
///
/// Use it on new rows with outcomes, which the map was not fitted to. The check fails if log-loss
/// with the map is larger than without, or if recalibrating the recalibrated probabilities helps:
/// then the model or the data have changed, and the map must be fitted again. It passes if the map
/// helps. If no difference is seen, it is undecided: that is a warning, or a failure with --strict.
#[derive(Debug, Args)]
#[command(
    mut_arg("by", |by| by.help(BY).long_help(None)),
    mut_arg("n_resamples", method::default_of_draws),
    after_help = include_str!("../help/recalibrate_check.txt")
)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    input: InputArgs,

    /// The map that `calipers recalibrate fit` wrote
    #[arg(long, value_name = "FILE", help_heading = "Gate")]
    map: PathBuf,

    /// Fail what is undecided, too
    #[arg(long, help_heading = "Gate")]
    strict: bool,

    /// The fewest valid rows
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Gate")]
    min_rows: u64,

    #[command(flatten)]
    resample: ResampleArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// What a map does on rows that it was not fitted to.
pub(super) struct OnNewRows {
    pub(super) method: Method,
    pub(super) input: InputReport,
    found: HeldOutGain,
}

impl OnNewRows {
    /// With LS-ECE of what is left if that is asked for.
    pub(super) fn measure(model: &Model, map: &Map, resample: &ResampleArgs, left: bool) -> Result<Self> {
        let batch = &model.dataset.content;
        let predictions = batch.predictions(0)?;
        model::check_fits(map, batch.scores[0].n_classes)?;
        let found = match map {
            Map::Binary(map) => {
                let view = batch.view(&predictions)?;
                let clusters = batch.cluster_numbers(&predictions)?;
                let sample = Sample::from(&view);
                let sample = clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters));
                held_out(map, resample, left).run(sample)?
            }
            Map::Classes(map) => {
                let clusters = batch.cluster_numbers(&predictions)?;
                held_out(map, resample, left).run_classes(model::of_classes(&predictions, clusters.as_deref()))?
            }
            Map::Groups(maps) => {
                let view = batch.view(&predictions)?;
                let clusters = batch.cluster_numbers(&predictions)?;
                let sample = Sample::from(&view);
                let sample = clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters));
                // proof: the column was named
                let groups = batch.groups(&predictions)?.context("the map is by group")?;
                held_out(maps, resample, left).run_groups(sample, &groups)?
            }
            _ => bail!("a map of this kind cannot be measured"),
        };
        Ok(OnNewRows { method: map.method(), input: predictions.report().clone(), found })
    }

    pub(super) fn sentence(&self) -> String {
        self.found.sentence()
    }

    pub(super) fn grid(&self) -> Grid {
        let interval = Ends::from(self.found.interval);
        let decimals = table::decimals(&interval);
        let mut grid = Grid::default();
        grid.names("method", [self.method.name()]);
        grid.numbers("rows", [number::count(self.found.n)]);
        grid.numbers("before", [format!("{:.decimals$}", self.found.log_loss_before)]);
        grid.beside("after", [format!("{:.decimals$}", self.found.log_loss_after)]);
        grid.numbers("gain", [table::gain(self.found.gain, &interval)]);
        grid.beside("interval", [table::interval(&interval)]);
        grid
    }

    pub(super) fn to_json(&self) -> Value {
        let HeldOutGain { log_loss_before, log_loss_after, gain, standard_error, interval, .. } = self.found;
        json!({
            "method": self.method.name(),
            "n": self.found.n,
            "log_loss_before": log_loss_before,
            "log_loss_after": log_loss_after,
            "gain": gain,
            "standard_error": standard_error,
            "interval": { "lower": interval.lower, "upper": interval.upper, "level": interval.level },
            "verdict": self.found.verdict.name(),
            "sentence": self.sentence(),
            "left": self.found.left.as_ref().map(table::left_to_json),
        })
    }
}

fn held_out<'a, M>(map: &'a M, resample: &ResampleArgs, left: bool) -> HeldOut<'a, M> {
    let held_out = HeldOut::new(map).level(resample.level).left(left);
    held_out.n_resamples(resample.n_resamples).random_state(resample.random_state.random_state)
}

/// The rows with recalibrated probabilities.
fn recalibrated_rows(batch: &Batch, map: &Map) -> Result<Batch> {
    let scores = &batch.scores[0];
    let mut is_valid = vec![false; scores.n_rows()];
    kept_rows(&batch.predictions(0)?).into_iter().for_each(|row| is_valid[row] = true);
    let after = recalibrated(map, (scores, batch.form(0)), batch.groups.as_ref(), &is_valid)?;
    Ok(batch.with_probabilities(0, after))
}

pub(super) fn run(args: &CheckArgs, screen: &Screen) -> Result<Printed> {
    args.resample.check()?;
    args.output.start_threads()?;
    let file = map_file::read(&args.map)?;
    let input = by_group::input_of(&file.map, &args.input, "recalibrate check")?;
    let model = Model::open(&input, args.resample.cluster.as_deref(), "recalibrate check", true)?;
    let waiting = progress::waiting();
    let held_out = OnNewRows::measure(&model, &file.map, &args.resample, false).with_context(|| model.file.shown())?;
    let again = refitted(&model, &file.map, &args.resample).with_context(|| model.file.shown())?;
    drop(waiting);
    let needs_refit = again.as_ref().is_some_and(|again| again.verdict == Verdict::Helps);
    let verdict = match held_out.found.verdict {
        _ if held_out.found.n < args.min_rows => "not_measured",
        Verdict::Hurts => "failed",
        _ if needs_refit => "failed",
        Verdict::Helps => "passed",
        _ => "undecided",
    };
    let further = again.as_ref().map_or(String::new(), |again| match needs_refit {
        true => format!(
            " Fit the map again: recalibrating once more gains {} ({}).",
            table::gain(again.gain, &again.interval),
            table::interval(&again.interval)
        ),
        false => " There is no evidence that recalibrating once more would help.".to_owned(),
    });
    let sentence = match verdict {
        "not_measured" => {
            format!("not measured: {} valid rows, at least {} are needed", held_out.found.n, args.min_rows)
        }
        verdict => format!("{verdict}: {}{further}", held_out.sentence()),
    };
    let status = match verdict {
        "failed" => Status::TooHigh,
        "undecided" if args.strict => Status::TooHigh,
        "not_measured" => Status::NotMeasured,
        _ => Status::Fine,
    };
    let undecided = "the check is undecided; more rows would decide it, --strict makes this a failure".to_owned();
    let warning = (verdict == "undecided" && !args.strict).then_some(undecided);
    let text = match args.output.json {
        true => json::document([
            ("verdict", verdict.into()),
            ("sentence", sentence.into()),
            ("strict", args.strict.into()),
            ("min_rows", args.min_rows.into()),
            ("file", model.file.name.display().to_string().into()),
            ("map", args.map.display().to_string().into()),
            ("fingerprint", file.map.fingerprint().into()),
            ("result", held_out.to_json()),
            ("once_more", again.as_ref().map_or(Value::Null, table::to_json)),
            ("input", json::input(&held_out.input)),
        ]),
        false => {
            let tone = if status == Status::Fine { Tone::Plain } else { Tone::Warning };
            let text = screen.paint(&screen.prose(&format!("{sentence}\n")), tone);
            let left_out = left_out::sentences(std::iter::once(("", &held_out.input)));
            text + &left_out::painted(&left_out, screen) + "\n" + &held_out.grid().draw(screen)
        }
    };
    Ok(Printed { text, warning, status })
}

/// What a further map on top of this one would gain; `None` if it has no fit.
fn refitted(model: &Model, map: &Map, resample: &ResampleArgs) -> Result<Option<model::Found>> {
    let after = recalibrated_rows(&model.dataset.content, map)?;
    let predictions = after.predictions(0)?;
    let method = if predictions.n_classes() > 2 { Method::Temperature } else { Method::Beta };
    let cross_fit = CrossFit::new(Recalibrate::new(method)).level(resample.level).n_resamples(resample.n_resamples);
    let cross_fit = cross_fit.random_state(resample.random_state.random_state);
    Ok(model::answer(&after, &predictions, &Question::Named(cross_fit)).ok())
}
