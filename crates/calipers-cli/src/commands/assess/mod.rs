//! `calipers assess`: how much of a value is chance.

pub(crate) mod table;
pub(crate) mod tests_of_calibration;

use anyhow::Result;
use calipers::Debias;
use calipers::inference::calibration_tests::Quantiles;
use clap::Args;

use crate::args::significance::{AdjustArgs, IntervalArgs, ResampleArgs, Significance};
use crate::args::values::one_of;
use crate::args::{FilesArgs, MeasuresArgs, OptionArgs, OutputArgs};
use crate::commands::analysis::answers::{self, Analysis, How};
use crate::commands::analysis::{Reading, selected};
use crate::progress;
use crate::render::json;
use crate::render::screen::Screen;
use tests_of_calibration::Tests;

/// Assess how much of a calibration error is chance: noise floor, p-value, interval, debiased value
///
/// Use it to decide whether a model is miscalibrated. It prints a sentence with the verdict, and a
/// table. The noise floor is the value that a perfectly calibrated model would get on the same data
/// by chance alone, and p is how often such a model would get at least the value. The interval is
/// for the value of the population at the same settings; if p is above 1 - level, it is an upper
/// limit. The debiased value is the value without the bias that chance adds.
///
/// The verdict on LS-ECE, p and the debiased value come from its residual form (residual_ls_ece),
/// which is 0 for a calibrated model at any sigma. The direction splits it into predictions that
/// are too high and too low, overconfident and underconfident. Files, columns, models and groups
/// are named as for `calipers measure`.
///
/// With --by, the worst group comes first, with a p-value for having looked at all groups. Each
/// group is assessed at a sigma that is chosen for its number of rows, unless --sigma is given. The
/// p-values of groups are adjusted for their number (--adjust), and get as many more resamples as
/// that takes. More than eight groups are listed by evidence.
#[derive(Debug, Args)]
#[command(after_help = include_str!("../help/assess.txt"))]
pub(crate) struct AssessArgs {
    #[command(flatten)]
    files: FilesArgs,
    #[command(flatten)]
    measures: MeasuresArgs,
    #[command(flatten)]
    resample: ResampleArgs,
    #[command(flatten)]
    interval: IntervalArgs,
    #[command(flatten)]
    adjust: AdjustArgs,
    /// How the bias is removed: local (for each block of probabilities, by the gap in it), floor
    /// (the mean of the noise floor is subtracted in squares), bootstrap, or mean (of floor and
    /// bootstrap). local is only for LS-ECE and ECE; other measures use mean instead
    #[arg(long, value_name = "NAME", default_value = "local", help_heading = "Chance")]
    #[arg(value_parser = one_of::<Debias>(&Debias::ALL.map(Debias::name)))]
    debias: Debias,
    /// Also run tests of calibration: Spiegelhalter, Hosmer-Lemeshow, ECCE-R, ECCE-MAD, adaptive
    /// T-Cal and Cox. --option quantiles=interpolated makes the groups of Hosmer and Lemeshow as R
    /// does
    #[arg(long, help_heading = "Chance")]
    tests: bool,
    #[command(flatten)]
    options: OptionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &AssessArgs, screen: &Screen) -> Result<String> {
    let significance = Significance::new(&args.resample, &args.interval, args.debias)?;
    // An option of a test is none without the tests.
    let (quantiles, options) = match args.tests {
        true => args.measures.options.split_off("quantiles"),
        false => (None, args.measures.options.clone()),
    };
    let quantiles = quantiles.map_or(Ok(Quantiles::default()), str::parse)?;
    let selected = selected::by_names(&args.measures.names(), &args.options, &options)?;
    args.output.start_threads()?;
    let waiting = progress::waiting();
    let tests = args.tests.then(|| Tests { link: args.options.link(), quantiles });
    let how = How::Assess { significance, tests, finds_groups: true, of_group: false, waiting: &waiting };
    let reading = Reading { files: &args.files, cluster: args.resample.cluster.as_deref(), options: &args.options };
    let mut results =
        reading.run(&Analysis { selected, all_needed: false, each_class: true, adjust: args.adjust.adjust, how })?;
    drop(waiting);
    answers::adjust_for_groups(&mut results);
    if args.output.json {
        return Ok(json::results(&results));
    }
    answers::sort_many_groups(&mut results);
    Ok(table::render(&results, screen))
}
