//! `calipers check`: a gate for CI. Is calibration error at most what was allowed?

mod github;
mod junit;
mod markdown;
mod rows;
mod table;

use std::path::PathBuf;

use anyhow::{Context, Result};
use calipers::{Adjust, Against, Assessment, Debias, Error, Estimate, registry};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::args::significance::{AdjustArgs, IntervalArgs, ResampleArgs, Significance};
use crate::args::values::one_of;
use crate::args::{FilesArgs, NamedOptionArgs, OptionArgs, OutputArgs};
use crate::commands::analysis::answers::{Analysis, Answer, Answers, How};
use crate::commands::analysis::{Reading, selected};
use crate::dataset::files;
use crate::dataset::model::Measured;
use crate::output::Output;
use crate::render::screen::Screen;
use crate::render::{json, left_out, legend};
use crate::{Printed, Status, progress};
use rows::{EnoughRows, Share};

/// Fail if a calibration error is above a maximum: a gate for CI that accounts for chance
///
/// Use it in a CI job, after the predictions of a new model. A value passes if the upper end of its
/// interval is at most the maximum, and fails if the lower end is above it. Otherwise it is
/// undecided: that is a warning, or a failure with --strict. If there are several values (groups,
/// models, measures), each is decided by a p-value that is adjusted for their number (--adjust): by
/// Holm's method, chance alone fails a sound gate in at most 1 - level of all runs.
///
/// With --invalid count, invalid rows are left out. If that is more than --max-missing of the rows
/// of a value, or fewer than --min-rows remain, the value is not measured: it has no verdict, and
/// the exit code is 2.
///
/// LS-ECE is decided by its residual form (residual_ls_ece), since noise on the logits alone makes
/// LS-ECE of a calibrated model larger than 0. Unless --sigma is given, it is chosen for the number
/// of rows, of each group and in each run: pass one, so that all values are comparable.
#[derive(Debug, Args)]
#[command(after_help = include_str!("../help/check.txt"))]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    files: FilesArgs,
    /// The maximum of a measure: ls-ece=0.03, ece=0.05, or any name of `calipers list`; repeat it
    /// for further ones
    #[arg(long, value_name = "NAME=X", required = true, help_heading = "Gate")]
    max: Vec<String>,
    /// Fail what is undecided, too
    #[arg(long, help_heading = "Gate")]
    strict: bool,
    /// The largest share of rows that --invalid count may leave out, for each value: 0.01 or 1%
    #[arg(long, value_name = "SHARE", default_value = "1%", allow_negative_numbers = true, help_heading = "Gate")]
    #[arg(value_parser = one_of::<Share>(&[]))]
    max_missing: Share,
    /// The fewest valid rows for each value
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Gate")]
    min_rows: u64,
    #[command(flatten)]
    named: NamedOptionArgs,
    #[command(flatten)]
    resample: ResampleArgs,
    #[command(flatten)]
    interval: IntervalArgs,
    #[command(flatten)]
    adjust: AdjustArgs,
    #[command(flatten)]
    options: OptionArgs,
    /// Format of the result. (--format is the format of the input)
    #[arg(long, value_name = "FORMAT", default_value = "table", help_heading = "Output", conflicts_with = "json")]
    output_format: OutputFormat,
    /// Write the result to this file in --output-format, and print the table
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    outcome: OutputArgs,
}

/// For whom the result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// For people
    Table,
    /// For programs; --json is the same
    Json,
    /// Annotations of GitHub Actions: an error for each value that failed or was not measured, a
    /// warning for each that is undecided, and a notice if nothing failed. Within GitHub Actions,
    /// it adds Markdown to the summary of the job, too
    Github,
    /// JUnit XML, which GitLab, Jenkins and others show: a test case for each value
    Junit,
    /// Markdown with a table, for a comment or a summary
    Markdown,
}

/// What is known of a value and its maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Failed,
    /// Of too few rows.
    NotMeasured,
    Undecided,
    Passed,
}

/// One value of one model or group.
struct Line {
    /// Of its model or group among all.
    place: usize,
    measure: &'static str,
    max: f64,
    estimate: Estimate,
    /// What is known of chance; nothing for a group with too few clusters, which is undecided.
    tested: Option<Tested>,
    /// Why there are too few rows for a verdict, if there are.
    too_few: Option<String>,
    verdict: Verdict,
}

/// A value against its maximum.
struct Tested {
    assessment: Assessment,
    against: Against,
    p_adjusted: f64,
}

impl Line {
    /// Undecided since there are too few resamples: the p-value is the least that they can give.
    fn wants_resamples(&self) -> bool {
        let at_least = |tested: &Tested| tested.against.p_value <= tested.against.least_p_value * (1.0 + 1e-9);
        self.verdict == Verdict::Undecided && self.tested.as_ref().is_some_and(at_least)
    }

    /// The measure that decides, if it is another one.
    fn deciding(&self) -> Option<&Assessment> {
        self.tested.as_ref()?.assessment.residual.as_deref()
    }

    fn to_json(&self) -> Value {
        let tested = self.tested.as_ref();
        let decided_by = self.deciding().map_or(self.measure, |deciding| deciding.estimate.measure());
        json!({
            "max": self.max,
            "decided_by": tested.map(|_| decided_by),
            "above": tested.map(|tested| tested.against.above),
            "p_value": tested.map(|tested| tested.against.p_value),
            "p_adjusted": tested.map(|tested| tested.p_adjusted),
            "verdict": self.verdict.key(),
            "reason": self.too_few,
        })
    }
}

/// All lines, and the settings of the check.
struct Gate {
    results: Vec<Measured<Answers>>,
    names: Vec<String>,
    lines: Vec<Line>,
    level: f64,
    adjust: Adjust,
    strict: bool,
    enough: EnoughRows,
}

impl Verdict {
    const ALL: [Verdict; 4] = [Verdict::Failed, Verdict::NotMeasured, Verdict::Undecided, Verdict::Passed];

    fn name(self) -> &'static str {
        match self {
            Verdict::Failed => "failed",
            Verdict::NotMeasured => "not measured",
            Verdict::Undecided => "undecided",
            Verdict::Passed => "passed",
        }
    }

    /// As JSON and other programs have it.
    fn key(self) -> &'static str {
        if self == Verdict::NotMeasured { "not_measured" } else { self.name() }
    }
}

impl Gate {
    fn lines_of(&self, verdict: Verdict) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.verdict == verdict)
    }

    /// What becomes of the run: the worst of all values. A failure comes first, since it is known.
    fn verdict(&self) -> Verdict {
        let has = |verdict: Verdict| {
            let is_empty = verdict == Verdict::NotMeasured && !self.empty_groups().is_empty();
            is_empty || self.lines_of(verdict).next().is_some()
        };
        Verdict::ALL.into_iter().find(|verdict| has(*verdict)).unwrap_or(Verdict::Passed)
    }

    /// Groups of which no row is left: they are not measured, whatever share may be missing.
    fn empty_groups(&self) -> Vec<String> {
        self.results.iter().filter_map(left_out::empty_groups).collect()
    }

    /// How many rows of each model were left out, and why.
    fn rows_left_out(&self) -> Vec<String> {
        left_out::of_results(&self.results, &self.names)
    }

    fn status(&self) -> Status {
        match self.verdict() {
            Verdict::Failed => Status::TooHigh,
            Verdict::NotMeasured => Status::NotMeasured,
            Verdict::Undecided if self.strict => Status::TooHigh,
            Verdict::Undecided | Verdict::Passed => Status::Fine,
        }
    }

    fn rendered(&self, format: OutputFormat, screen: &Screen) -> String {
        match format {
            OutputFormat::Table => table::render(self, screen),
            OutputFormat::Json => self.to_json(),
            OutputFormat::Github => github::annotations(self),
            OutputFormat::Junit => junit::document(self),
            OutputFormat::Markdown => markdown::document(self),
        }
    }

    /// What would decide the undecided.
    fn remedy(&self) -> String {
        let n_undecided = self.lines_of(Verdict::Undecided).count();
        let n_of_resamples = self.lines.iter().filter(|line| line.wants_resamples()).count();
        let n_of_clusters = self.lines_of(Verdict::Undecided).filter(|line| line.tested.is_none()).count();
        // Both ends of an interval, and the adjustment of the least p-value for all lines.
        let needed = (2.0 * self.lines.len() as f64 / (1.0 - self.level) - 1e-6).ceil();
        let remedies = [
            (n_undecided - n_of_resamples - n_of_clusters, "more rows".to_owned()),
            (n_of_resamples, format!("--n-resamples {needed}")),
            (n_of_clusters, "more clusters".to_owned()),
        ];
        let remedies: Vec<String> = remedies.into_iter().filter(|(n, _)| *n > 0).map(|(_, remedy)| remedy).collect();
        remedies.join(" or ")
    }

    /// For standard error, if anything is undecided or not measured.
    fn warning(&self) -> Option<String> {
        let reason = || self.lines.iter().find_map(|line| line.too_few.clone());
        let too_few = reason().or_else(|| self.empty_groups().into_iter().next());
        let not_measured = too_few.map(|reason| format!("not measured: {}", reason.trim_end_matches('.')));
        let all: Vec<String> = not_measured.into_iter().chain(self.undecided_warning()).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn undecided_warning(&self) -> Option<String> {
        let n_undecided = self.lines_of(Verdict::Undecided).count();
        let strict = if self.strict { "--strict makes this a failure" } else { "--strict would make this a failure" };
        let of = format!("{n_undecided} of {} undecided", self.lines.len());
        (n_undecided > 0).then(|| format!("{of}: {} would decide; {strict}", self.remedy()))
    }

    fn to_json(&self) -> String {
        let result = |(place, result): (usize, &_)| {
            let mut object = json::answers(result);
            for line in self.lines.iter().filter(|line| line.place == place) {
                object["measures"][line.measure]["check"] = line.to_json();
            }
            object["name"] = self.names[place].as_str().into();
            object
        };
        json::document([
            ("verdict", self.verdict().key().into()),
            ("sentence", table::sentence(self).into()),
            ("level", self.level.into()),
            ("adjust", self.adjust.name().into()),
            ("strict", self.strict.into()),
            ("max_missing", self.enough.max_missing.0.into()),
            ("min_rows", self.enough.min_rows.into()),
            ("results", self.results.iter().enumerate().map(result).collect()),
        ])
    }
}

pub(crate) fn run(args: &CheckArgs, screen: &Screen) -> Result<Printed> {
    let significance = Significance::new(&args.resample, &args.interval, Debias::default())?;
    let maxima = maxima(&args.max)?;
    let names: Vec<&str> = maxima.iter().map(|(name, _)| name.as_str()).collect();
    let selected = selected::by_names(&names, &args.options, &args.named)?;
    args.outcome.start_threads()?;
    let files = args.files.input.open_files()?;
    let output = args.output.as_deref().map(|path| {
        files::reject_overwriting(path, &files)?;
        Output::new(path)
    });
    let output = output.transpose()?;
    let waiting = progress::waiting();
    let level = significance.level;
    let how = How::Assess { significance, tests: None, finds_groups: false, of_group: false, waiting: &waiting };
    let reading = Reading { files: &args.files, cluster: args.resample.cluster.as_deref(), options: &args.options };
    let adjust = args.adjust.adjust;
    let analysis = Analysis { selected, all_needed: false, each_class: false, adjust, how };
    let results = reading.run_on(&files, &analysis)?;
    drop(waiting);
    let maxima: Vec<f64> = maxima.iter().map(|(_, maximum)| *maximum).collect();
    let enough = EnoughRows { max_missing: args.max_missing, min_rows: args.min_rows };
    let (lines, names) = (lines(&results, &maxima, (level, adjust), &enough)?, legend::names(&results));
    let gate = Gate { results, names, lines, level, adjust, strict: args.strict, enough };
    let format = if args.outcome.json { OutputFormat::Json } else { args.output_format };
    let printed = match &output {
        Some(output) => {
            let plain = Screen { width: None, colours: false };
            output.write(gate.rendered(format, &plain).as_bytes())?;
            OutputFormat::Table
        }
        None => format,
    };
    if format == OutputFormat::Github {
        markdown::add_to_job_summary(&gate)?;
    }
    Ok(Printed { text: gate.rendered(printed, screen), warning: gate.warning(), status: gate.status() })
}

/// Names of measures as the registry has them, with their maxima.
fn maxima(given: &[String]) -> Result<Vec<(String, f64)>> {
    let mut maxima: Vec<(String, f64)> = Vec::new();
    for text in given {
        let rejected =
            |rule: &str| Error::InvalidSetting { name: "max", rule: rule.to_owned(), value: format!("{text:?}") };
        let (name, maximum) = text.split_once('=').ok_or_else(|| rejected("NAME=X, as ls-ece=0.03"))?;
        // What is unknown is an error once the measures are made.
        let name = registry::spec(name.trim()).map_or(name.trim(), |spec| spec.name).to_owned();
        let maximum: f64 = maximum.trim().parse().map_err(|_| rejected("NAME=X with a number, as ls-ece=0.03"))?;
        // A log loss has no upper end; all others are at most 1, and 3 is more likely 3 %. Written
        // so that NaN fails.
        let is_in_range = maximum >= 0.0 && (maximum <= 1.0 || name.contains("log") && maximum.is_finite());
        if !is_in_range {
            return Err(rejected("NAME=X with X in [0, 1], as ls-ece=0.03").into());
        }
        if maxima.iter().any(|(before, _)| *before == name) {
            return Err(rejected("given once for each measure").into());
        }
        maxima.push((name, maximum));
    }
    Ok(maxima)
}

/// All values against their maxima; a value that is not available is an error.
fn lines(
    results: &[Measured<Answers>],
    maxima: &[f64],
    (level, adjust): (f64, Adjust),
    enough: &EnoughRows,
) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (place, measured) in results.iter().enumerate() {
        let group = measured.group.as_ref().and_then(|group| Some(format!("{} {}: ", group.by, group.key.as_ref()?)));
        for (Answer { name: measure, outcome, .. }, max) in measured.found.values.iter().zip(maxima) {
            let of = || format!("{}: {}{measure}", files::shown(measured.file()), group.as_deref().unwrap_or_default());
            let known = outcome.clone().with_context(of)?;
            let tested = known.assessment.map(|assessment| {
                let against = assessment.against(*max).with_context(of)?;
                Ok::<Tested, anyhow::Error>(Tested { assessment, against, p_adjusted: 1.0 })
            });
            let (tested, verdict) = (tested.transpose()?, Verdict::Undecided);
            let too_few = enough.reason(known.estimate.n, &measured.found.input);
            lines.push(Line { place, measure, max: *max, estimate: known.estimate, tested, too_few, verdict });
        }
    }
    let p_value = |line: &Line| line.tested.as_ref().map_or(1.0, |tested| tested.against.p_value);
    let adjusted = adjust.adjusted(&lines.iter().map(p_value).collect::<Vec<f64>>());
    for (line, p_adjusted) in lines.iter_mut().zip(adjusted) {
        if let Some(tested) = &mut line.tested {
            tested.p_adjusted = p_adjusted;
            line.verdict = match (p_adjusted <= 1.0 - level + 1e-12, tested.against.above) {
                (false, _) => Verdict::Undecided,
                (true, true) => Verdict::Failed,
                (true, false) => Verdict::Passed,
            };
        }
        if line.too_few.is_some() {
            line.verdict = Verdict::NotMeasured;
        }
    }
    Ok(lines)
}
