//! `calipers monitor`: calibration over windows of sketches, with a false-alarm rate for all looks.

mod series;
mod table;
mod windows;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use calipers::{Assess, Look, LsEce, Measure, Monitor, Sigma, Sketch};
use clap::Args;
use serde_json::{Value, json};

use crate::args::OutputArgs;
use crate::args::values::one_of;
use crate::commands::report::origin;
use crate::dataset::files::{self, InputFile};
use crate::dataset::sketches::Sketches;
use crate::output::Output;
use crate::render::json;
use crate::render::screen::Screen;
use crate::{Printed, Status, progress};
use series::Series;
use windows::Windows;

/// Watch calibration over windows of sketches, with a false-alarm rate however often you look
///
/// Use it in a job that runs every hour on the sketches of all windows so far, or with --state on
/// the new ones alone. An alarm is raised once the e-value, which grows with evidence, reaches 1 /
/// alpha. If outcomes are as expected, that happens with a probability of at most alpha over the
/// whole life of the monitor, with any number of looks. Expected is that outcomes have the
/// predicted probabilities, or with --reference that outcomes at equal predictions are as in the
/// reference.
///
/// A file of one sketch is a window, in the order of the names. A Parquet table of sketches has a
/// column of windows: window_start, or what --window names. Other columns make groups, each of
/// which has a monitor with alpha divided by the number of groups.
#[derive(Debug, Args)]
#[command(after_help = include_str!("../help/monitor.txt"))]
pub(crate) struct MonitorArgs {
    /// Sketches: files of windows, a folder of them, or Parquet tables of sketches with a column of
    /// windows; patterns such as 'hours/*.sketch' are expanded
    #[arg(required = true, value_name = "FILE", help_heading = "Arguments")]
    files: Vec<PathBuf>,
    /// Column of windows in Parquet tables [default: window_start]
    #[arg(long, value_name = "COL", help_heading = "Input")]
    window: Option<String>,
    /// Sketch of a reference period, before all windows: outcomes at equal predictions are expected
    /// to be as there. With groups, a table with the same groups
    #[arg(long, value_name = "FILE", help_heading = "Monitor", conflicts_with = "reference_windows")]
    reference: Option<PathBuf>,
    /// Take the first N windows as the reference, and look at those after
    #[arg(long, value_name = "N", help_heading = "Monitor")]
    reference_windows: Option<usize>,
    /// Probability of a false alarm over the whole life of the monitor; groups share it
    #[arg(long, value_name = "X", default_value = "0.05", allow_negative_numbers = true, help_heading = "Monitor")]
    alpha: f64,
    /// No alarm for outcomes whose log-odds differ by at most X from what is expected
    #[arg(long, value_name = "X", default_value = "0", allow_negative_numbers = true, help_heading = "Monitor")]
    margin: f64,
    /// Keep the monitor in this file between runs: windows up to the last one that it has seen are
    /// passed over. If there is none, it is made. Not with groups
    #[arg(long, value_name = "FILE", help_heading = "Monitor")]
    state: Option<PathBuf>,
    /// Sigma of LS-ECE in each window: a number, or auto for that of the reference or the first
    /// window. LS-ECE is shown and does not decide
    #[arg(long, value_name = "X", default_value = "auto", help_heading = "Values", value_parser = one_of::<Sigma>(&["auto"]), hide_possible_values = true)]
    sigma: Sigma,
    /// Number of resamples for the noise floor and the interval of LS-ECE in each window; 0 leaves
    /// LS-ECE out
    #[arg(long, value_name = "N", default_value = "200", help_heading = "Values")]
    n_resamples: u64,
    /// Seed of the random numbers of the resamples
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Values")]
    random_state: u64,
    /// Also write a page with charts over time, usually named .html
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The monitor of one group, or of all rows.
struct Watched {
    /// `None` without groups.
    group: Option<String>,
    monitor: Monitor,
}

pub(crate) fn run(args: &MonitorArgs, screen: &Screen) -> Result<Printed> {
    let empty = Monitor::new().alpha(args.alpha).margin(args.margin);
    empty.check()?;
    args.output.start_threads()?;
    let inputs = files::expand(&args.files, None, u64::MAX)?;
    let page = args.report.as_deref().map(|path| output(path, &inputs)).transpose()?;
    let state = args.state.as_deref().map(|path| output(path, &inputs)).transpose()?;
    let windows = Windows::read(&inputs, args.window.as_deref())?;
    let waiting = progress::waiting();
    progress::begin(&waiting, "windows");
    let watched = match &args.state {
        None => watch_all(args, &empty, &windows)?,
        Some(path) => vec![resume(args, &empty, &windows, path)?],
    };
    drop(waiting);
    if let Some(page) = page {
        let name = |watched: &Watched| watched.group.clone().unwrap_or_default();
        let monitors: Vec<(String, &Monitor)> =
            watched.iter().map(|watched| (name(watched), &watched.monitor)).collect();
        let title = inputs.first().map_or_else(String::new, |file| crate::render::legend::stem(&file.name));
        page.write(calipers_report::monitor_page(&title, &monitors, Some(&origin::command())).as_bytes())?;
    }
    // The state is written last: if anything else fails, the next run looks at the same windows.
    if let (Some(state), [watched]) = (state, &watched[..]) {
        state.write(watched.monitor.to_json().as_bytes())?;
    }
    let is_alarm = watched.iter().any(|watched| watched.monitor.alarm().is_some());
    let text = match args.output.json {
        true => json::document([
            ("by", windows.by.clone().into()),
            ("alarm", is_alarm.into()),
            ("n_without_window", windows.n_without_window.into()),
            ("results", watched.iter().map(to_json).collect()),
        ]),
        false => table::render(&watched, &windows, screen),
    };
    Ok(Printed { text, warning: None, status: if is_alarm { Status::TooHigh } else { Status::Fine } })
}

fn output(path: &std::path::Path, inputs: &[InputFile]) -> Result<Output> {
    files::reject_overwriting(path, inputs)?;
    Output::new(path)
}

/// A monitor for each group, which share alpha.
fn watch_all(args: &MonitorArgs, empty: &Monitor, windows: &Windows) -> Result<Vec<Watched>> {
    let alpha = args.alpha / windows.groups.len() as f64;
    let reference = args.reference.as_ref().map(|path| Reference::read(path, windows)).transpose()?;
    let mut all = Vec::new();
    for (group, series) in &windows.groups {
        let watch = || {
            let monitor = empty.clone().alpha(alpha);
            let (reference, series) = match (args.reference_windows, &reference) {
                (Some(n), _) => {
                    let (first, rest) = series.split(n)?;
                    (Some(first), rest)
                }
                (None, Some(reference)) => (Some(reference.of(group.as_deref())?.clone()), series.clone()),
                (None, None) => (None, series.clone()),
            };
            watch(args, monitor, reference.as_ref(), &series)
        };
        let monitor = match group {
            Some(key) => watch().with_context(|| format!("group {key}"))?,
            None => watch()?,
        };
        all.push(Watched { group: group.clone(), monitor });
    }
    Ok(all)
}

fn watch(args: &MonitorArgs, monitor: Monitor, reference: Option<&Sketch>, series: &Series) -> Result<Monitor> {
    let mut monitor = match reference {
        Some(reference) => monitor.reference(reference).context("the reference")?,
        None => monitor,
    };
    look(args, &mut monitor, reference, series)?;
    Ok(monitor)
}

/// Looks at all windows of a series.
fn look(args: &MonitorArgs, monitor: &mut Monitor, reference: Option<&Sketch>, series: &Series) -> Result<()> {
    let measure = LsEce::new().sigma(args.sigma);
    // Windows are comparable at one sigma.
    let first = reference.or_else(|| series.windows.iter().map(|(_, sketch)| sketch).find(|sketch| sketch.n() > 0));
    let resolved = first.and_then(|sketch| measure.resolved_as(&sketch.estimate(&measure).ok()?));
    let measure: &dyn Measure = resolved.as_deref().unwrap_or(&measure);
    let assess = Assess::new(measure).n_resamples(args.n_resamples).random_state(args.random_state);
    for (name, sketch) in &series.windows {
        match args.n_resamples {
            0 => monitor.update(name, sketch).map(drop),
            _ => monitor.update_with(name, sketch, &assess).map(drop),
        }
        .with_context(|| format!("window {name}"))?;
    }
    Ok(())
}

/// The monitor of a file after the windows that it has not seen.
fn resume(args: &MonitorArgs, empty: &Monitor, windows: &Windows, path: &std::path::Path) -> Result<Watched> {
    let [(None, series)] = &windows.groups.iter().collect::<Vec<_>>()[..] else {
        bail!("--state is for windows without groups; keep a state in Python, or look at all windows");
    };
    if args.reference_windows.is_some() {
        bail!("--state does not accept --reference-windows, since later runs do not have them; pass --reference");
    }
    let monitor = match path.exists() {
        false => {
            let reference = args.reference.as_ref().map(|path| Reference::read(path, windows)).transpose()?;
            let reference = reference.as_ref().map(|reference| reference.of(None)).transpose()?;
            watch(args, empty.clone(), reference, series)?
        }
        true => {
            let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
            let mut monitor = Monitor::from_json(&text).with_context(|| path.display().to_string())?;
            if (monitor.alpha_value(), monitor.margin_value()) != (args.alpha, args.margin) {
                bail!(
                    "{}: was made with --alpha {} --margin {}, which cannot change in the life of a monitor",
                    path.display(),
                    monitor.alpha_value(),
                    monitor.margin_value()
                );
            }
            let last = monitor.looks().last().map(|look: &Look| look.window.clone());
            look(args, &mut monitor, None, &series.after(last.as_deref()))?;
            monitor
        }
    };
    Ok(Watched { group: None, monitor })
}

/// The sketches of a reference period.
struct Reference {
    sketches: Sketches,
    has_groups: bool,
}

impl Reference {
    fn read(path: &std::path::Path, windows: &Windows) -> Result<Self> {
        let read = || -> Result<Sketches> {
            let files = files::expand(&[path.to_owned()], None, u64::MAX)?;
            let [file] = &files[..] else { bail!("the reference must be one file or folder") };
            Sketches::open(file)
        };
        let sketches = read().with_context(|| path.display().to_string())?;
        Ok(Reference { sketches, has_groups: windows.by.is_some() })
    }

    fn of(&self, group: Option<&str>) -> Result<&Sketch> {
        match (group, &self.sketches.groups) {
            (Some(key), Some(groups)) => {
                groups.sketches.get(key).with_context(|| format!("the reference has no {} {key:?}", groups.by))
            }
            (Some(_), None) => bail!("the reference must have the groups of the windows, and has none"),
            (None, _) => {
                debug_assert!(!self.has_groups);
                self.sketches.all()
            }
        }
    }
}

fn to_json(watched: &Watched) -> Value {
    let monitor = &watched.monitor;
    let look = |look: &Look| {
        let mut value = json!(look);
        value["e_value"] = look.e_value().into();
        value
    };
    json!({
        "group": watched.group,
        "question": monitor.question(),
        "alpha": monitor.alpha_value(),
        "margin": monitor.margin_value(),
        "limit": monitor.limit(),
        "n_reference": monitor.n_reference(),
        "reference_uncertainty": monitor.reference_uncertainty(),
        "n_windows": monitor.n_windows(),
        "e_value": monitor.e_value(),
        "log_e_value": monitor.log_e_value(),
        "p_value": monitor.p_value(),
        "alarm": monitor.alarm().map(look),
        "onset": monitor.onset(),
        "sentence": monitor.sentence(),
        "windows": monitor.looks().iter().map(look).collect::<Vec<Value>>(),
    })
}
