//! `calipers check`: a gate for CI. Is calibration error at most what was allowed?

mod json;
mod table;

use anyhow::{Context, Result};
use calipers::inference::holm;
use calipers::{Against, Assessment, Debias, Error, Estimate};
use clap::Args;

use crate::args::significance::{DrawArgs, IntervalArgs, Significance};
use crate::args::{FilesArgs, OptionArgs, OutputArgs};
use crate::commands::analysis::Reading;
use crate::commands::assess::assessed::{self, Assessed, Assessing};
use crate::commands::measures;
use crate::dataset::files;
use crate::dataset::model::Measured;
use crate::progress::Waiting;
use crate::render::legend;
use crate::render::screen::Screen;

/// Fail if calibration error is above a maximum: a gate for CI that knows what chance does
///
/// A figure passes where the upper end of its interval is at most the maximum, and fails where the
/// lower end is above it. Between the two it is undecided: that is a warning, or with --strict a
/// failure. Of several groups, models and measures, each is decided by a p-value that is adjusted
/// for their number (Holm), so that chance alone fails a sound gate in at most 1 - level of all
/// runs. LS-ECE is decided by its residual form (residual_ls_ece), since noise on the logits alone
/// makes LS-ECE of a calibrated model larger than 0. Groups are measured at the sigma of all rows;
/// for a gate, give one with --sigma, so that it is the same in every run.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  calipers check predictions.csv --max ls-ece=0.03 --sigma 0.5
  calipers check predictions.parquet --max ls-ece=0.03 --max ece=0.05 --by country
  calipers check answers.csv --max ls-ece=0.05 --cluster person --strict --json

Exit code: 0 passed (or undecided, with a warning), 1 failed (or undecided, with --strict), 2 could not measure.")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    /// The most that a measure may be: ls-ece=0.03, ece=0.05, or any name of `calipers measures`;
    /// give it again for each further one
    #[arg(long, value_name = "NAME=X", required_unless_present = "columns", help_heading = "Gate")]
    max: Vec<String>,
    /// Fail what is undecided too
    #[arg(long, help_heading = "Gate")]
    strict: bool,
    #[command(flatten)]
    draws: DrawArgs,
    #[command(flatten)]
    interval: IntervalArgs,
    #[command(flatten)]
    options: OptionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What a gate has to say.
pub(crate) struct Checked {
    pub(crate) text: String,
    /// For standard error.
    pub(crate) warning: Option<String>,
    pub(crate) passed: bool,
}

/// What is known of a figure and its maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Failed,
    Undecided,
    Passed,
}

/// One figure of one model or group.
pub(crate) struct Line {
    /// Of its model or group among all.
    pub(crate) place: usize,
    pub(crate) measure: &'static str,
    pub(crate) max: f64,
    pub(crate) estimate: Estimate,
    /// What is known of chance; nothing in a group of too few clusters, which is undecided.
    pub(crate) tested: Option<Tested>,
    pub(crate) verdict: Verdict,
}

/// A figure against its maximum.
pub(crate) struct Tested {
    pub(crate) assessment: Assessment,
    pub(crate) against: Against,
    pub(crate) p_adjusted: f64,
}

impl Line {
    /// Undecided for want of draws: the p-value is the least that so many can give.
    fn wants_draws(&self) -> bool {
        let at_least = |tested: &Tested| tested.against.p_value <= tested.against.least_p_value * (1.0 + 1e-9);
        self.verdict == Verdict::Undecided && self.tested.as_ref().is_some_and(at_least)
    }
}

/// All lines, and the settings of the check.
pub(crate) struct Gate {
    pub(crate) results: Vec<Measured<Assessed>>,
    pub(crate) names: Vec<String>,
    pub(crate) lines: Vec<Line>,
    pub(crate) level: f64,
    pub(crate) strict: bool,
}

impl Verdict {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Failed => "failed",
            Verdict::Undecided => "undecided",
            Verdict::Passed => "passed",
        }
    }
}

impl Gate {
    pub(crate) fn lines_of(&self, verdict: Verdict) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.verdict == verdict)
    }

    /// What becomes of the run.
    pub(crate) fn verdict(&self) -> Verdict {
        let all = [Verdict::Failed, Verdict::Undecided];
        all.into_iter().find(|verdict| self.lines_of(*verdict).next().is_some()).unwrap_or(Verdict::Passed)
    }

    /// What would decide the undecided.
    pub(crate) fn remedy(&self) -> String {
        let undecided = self.lines_of(Verdict::Undecided).count();
        let n_of_draws = self.lines.iter().filter(|line| line.wants_draws()).count();
        let n_of_clusters = self.lines.iter().filter(|line| line.tested.is_none()).count();
        // Both ends of an interval, and Holm's adjustment of the least p-value for all lines.
        let draws = (2.0 * self.lines.len() as f64 / (1.0 - self.level) - 1e-6).ceil();
        let remedies = [
            (undecided - n_of_draws - n_of_clusters, "more rows".to_owned()),
            (n_of_draws, format!("more draws (--resamples {draws})")),
            (n_of_clusters, "more clusters".to_owned()),
        ];
        let remedies: Vec<String> = remedies.into_iter().filter(|(n, _)| *n > 0).map(|(_, remedy)| remedy).collect();
        remedies.join(" or ")
    }
}

pub(crate) fn run(args: &CheckArgs, screen: &Screen) -> Result<Checked> {
    let significance = Significance::new(&args.draws, &args.interval, Debias::default())?;
    let maxima = maxima(&args.max)?;
    let names: Vec<&str> = maxima.iter().map(|(name, _)| name.as_str()).collect();
    let selected = measures::by_names(&names, &args.options)?;
    args.output.start_threads()?;
    let sketch_is_enough = assessed::sketch_is_enough(selected.iter());
    let waiting = Waiting::new();
    let level = significance.level;
    let analysis = Assessing { selected, significance, tests: None, of_group: false, waiting: &waiting };
    let reading = Reading { files: &args.files, cluster: args.draws.cluster.as_deref(), options: &args.options };
    let results = reading.run(analysis, sketch_is_enough, &[measures::N_BINS])?;
    drop(waiting);
    let thresholds: Vec<f64> = maxima.iter().map(|(_, threshold)| *threshold).collect();
    let lines = lines(&results, &thresholds, level)?;
    let names = legend::names(&results);
    let gate = Gate { results, names, lines, level, strict: args.strict };
    let n_undecided = gate.lines_of(Verdict::Undecided).count();
    Ok(Checked {
        text: if args.output.json { json::render(&gate) } else { table::render(&gate, screen) },
        warning: (n_undecided > 0).then(|| {
            format!(
                "{n_undecided} of {} undecided: {} would tell{}",
                gate.lines.len(),
                gate.remedy(),
                STRICT[usize::from(args.strict)]
            )
        }),
        passed: match gate.verdict() {
            Verdict::Passed => true,
            Verdict::Undecided => !args.strict,
            Verdict::Failed => false,
        },
    })
}

/// What becomes of undecided ones, without and with --strict.
const STRICT: [&str; 2] = [", and --strict would fail", ", and --strict fails"];

/// Names of measures as the registry has them, with their maxima.
fn maxima(given: &[String]) -> Result<Vec<(String, f64)>> {
    let mut maxima: Vec<(String, f64)> = Vec::new();
    for text in given {
        let refused =
            |rule: &str| Error::InvalidSetting { name: "max", rule: rule.to_owned(), value: format!("{text:?}") };
        let (name, threshold) = text.split_once('=').ok_or_else(|| refused("NAME=X, as ls-ece=0.03"))?;
        let name = measures::listed_name(name.trim());
        let threshold: f64 = threshold.trim().parse().map_err(|_| refused("NAME=X with a number, as ls-ece=0.03"))?;
        // A log loss has no upper end; all others are at most 1, and 3 is more likely 3 %. Written
        // so that NaN fails.
        let is_in_range = threshold >= 0.0 && (threshold <= 1.0 || name.contains("log") && threshold.is_finite());
        if !is_in_range {
            return Err(refused("NAME=X with X in [0, 1], as ls-ece=0.03").into());
        }
        if maxima.iter().any(|(before, _)| *before == name) {
            return Err(refused("given once for each measure").into());
        }
        maxima.push((name, threshold));
    }
    Ok(maxima)
}

/// All figures against their maxima; one that could not be had is an error.
fn lines(results: &[Measured<Assessed>], thresholds: &[f64], level: f64) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (place, measured) in results.iter().enumerate() {
        for (figure, threshold) in measured.figures.figures.iter().zip(thresholds) {
            let of = || match measured.group.as_ref().and_then(|group| Some((&group.by, group.key.as_ref()?))) {
                Some((by, key)) => format!("{}: {by} {key}: {}", files::shown(measured.file()), figure.name),
                None => format!("{}: {}", files::shown(measured.file()), figure.name),
            };
            let (estimate, tested) = match (&figure.outcome, &figure.alone) {
                (Err(_), Some(estimate)) => (estimate.clone(), None),
                (outcome, _) => {
                    let assessment = outcome.clone().with_context(of)?;
                    let against = assessment.against(*threshold).with_context(of)?;
                    (assessment.estimate.clone(), Some(Tested { assessment, against, p_adjusted: 1.0 }))
                }
            };
            let (measure, verdict) = (figure.name, Verdict::Undecided);
            lines.push(Line { place, measure, max: *threshold, estimate, tested, verdict });
        }
    }
    let p_value = |line: &Line| line.tested.as_ref().map_or(1.0, |tested| tested.against.p_value);
    let adjusted = holm(&lines.iter().map(p_value).collect::<Vec<f64>>());
    for (line, p_adjusted) in lines.iter_mut().zip(adjusted) {
        let Some(tested) = &mut line.tested else { continue };
        tested.p_adjusted = p_adjusted;
        line.verdict = match (p_adjusted <= 1.0 - level + 1e-12, tested.against.above) {
            (false, _) => Verdict::Undecided,
            (true, true) => Verdict::Failed,
            (true, false) => Verdict::Passed,
        };
    }
    Ok(lines)
}
