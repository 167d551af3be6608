//! `calipers assess`: how much of a figure can be trusted.

pub(crate) mod assessed;
pub(crate) mod json;
pub(crate) mod table;
pub(crate) mod tests_of_calibration;

use anyhow::Result;
use calipers::{BinnedEce, Debias, LsEce};
use clap::Args;

use crate::args::significance::{DrawArgs, IntervalArgs, Significance};
use crate::args::{FilesArgs, MeasuresArgs, OptionArgs, OutputArgs};
use crate::commands::analysis::Reading;
use crate::commands::measures;
use crate::progress::Waiting;
use crate::render::screen::Screen;
use assessed::Assessing;
use tests_of_calibration::Tests;

/// Say how much of a figure can be trusted: noise floor, p-value, interval and debiased value of
/// LS-ECE and ECE
///
/// The floor is what a calibrated model would show on these rows, and p is how often a calibrated
/// model would show as much. The interval holds the value of the population at the same settings;
/// where p is above 1 - level, there is an upper limit in its place. The debiased value has what
/// noise adds taken out (--debias). For LS-ECE, p, the verdict and the debiased value are those of
/// its residual form (residual_ls_ece), which is 0 for a calibrated model at any sigma; the
/// direction tells how much of it is due to predictions that are too high or too low, overconfident
/// or underconfident. Files, columns, models and groups are named as for `calipers measure`. Groups
/// are assessed at the sigma of all rows, and their p-values are also adjusted for their number
/// (Holm).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  calipers assess predictions.csv
  calipers assess predictions.parquet --prob stated_confidence --label correct --by llm
  calipers assess answers.csv --cluster person --measure ls_ece --measure smooth_ece
  calipers assess predictions.csv --tests --json
  calipers assess week.calipers --measure ls_ece

LS-ECE takes about a second for any number of rows, and with --cluster as many passes over the rows as there are draws. Other measures are asked again for each draw. Files of more than a million rows are read through a sketch, which
knows LS-ECE and ECE with bins of equal width; with --tests, --cluster or other measures the rows are kept in memory.

Exit code: 0 fine, 2 could not measure.")]
pub(crate) struct AssessArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    #[command(flatten)]
    measures: MeasuresArgs,
    #[command(flatten)]
    draws: DrawArgs,
    #[command(flatten)]
    interval: IntervalArgs,
    /// How the debiased value is made: local (place by place, by the size of the gap that the rows
    /// show there), floor (the floor's mean is subtracted in squares), bootstrap, or mean (the mean
    /// of floor and bootstrap). local is mean for measures without places
    #[arg(long, value_name = "RULE", default_value = "local", help_heading = "Chance")]
    debias: String,
    /// Tests of calibration too: Spiegelhalter, Hosmer-Lemeshow, ECCE-R, ECCE-MAD, adaptive T-Cal
    /// and Cox
    #[arg(long, help_heading = "Chance")]
    tests: bool,
    #[command(flatten)]
    options: OptionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What is assessed unless measures are named.
const DEFAULT: [&str; 2] = [LsEce::NAME, BinnedEce::NAME];

pub(crate) fn run(args: &AssessArgs, screen: &Screen) -> Result<String> {
    let significance = Significance::new(&args.draws, &args.interval, args.debias.parse::<Debias>()?)?;
    let named = measures::named(&args.measures, &args.options)?;
    let sketch_is_enough = !args.tests && assessed::sketch_is_enough(named.iter().flatten());
    let selected = match named {
        Some(selected) => selected,
        None => measures::by_names(&DEFAULT, &args.options)?,
    };
    args.output.start_threads()?;
    let link = args.options.ls_ece.link()?;
    let waiting = Waiting::new();
    let tests = args.tests.then_some(Tests { link });
    let analysis = Assessing { selected, significance, tests, of_group: false, waiting: &waiting };
    let reading = Reading { files: &args.files, cluster: args.draws.cluster.as_deref(), options: &args.options };
    let mut results = reading.run(analysis, sketch_is_enough, &[measures::N_BINS])?;
    drop(waiting);
    assessed::adjust_for_groups(&mut results);
    Ok(if args.output.json { json::render(&results) } else { table::render(&results, screen) })
}
