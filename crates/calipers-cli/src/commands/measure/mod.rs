//! `calipers measure`: measures of the predictions in files, LS-ECE and binned ECE unless others
//! are named.

mod table;

use anyhow::Result;
use clap::Args;

use crate::args::significance::AdjustArgs;
use crate::args::{FilesArgs, MeasuresArgs, OptionArgs, OutputArgs};
use crate::commands::analysis::answers::{self, Analysis, How};
use crate::commands::analysis::floor::Floors;
use crate::commands::analysis::{Reading, selected};
use crate::render::json;
use crate::render::screen::Screen;

/// Measure the calibration error of predictions: LS-ECE and binned ECE, or other measures by name
///
/// Use it for a first look at one or more models. Each value has a bound on its numerical error and
/// a noise floor: the value that a perfectly calibrated model would get on the same data by chance
/// alone. `calipers assess` adds intervals and a verdict.
///
/// Each file and each --prob is a model, and each value of the --by column is a group of its rows.
/// Columns that are not named are found by names such as prob and label, and the output shows which
/// were used. `calipers inspect` shows the columns of a file. An .npz file has an array probs or
/// logits of shape (n,) or (n, k), or conf and pred, and labels.
#[derive(Debug, Args)]
#[command(after_help = include_str!("../help/measure.txt"))]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    files: FilesArgs,
    #[command(flatten)]
    measures: MeasuresArgs,
    #[command(flatten)]
    options: OptionArgs,
    /// When noise floors are computed
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Output")]
    floor: Floors,
    #[command(flatten)]
    adjust: AdjustArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &MeasureArgs, screen: &Screen) -> Result<String> {
    let selected = selected::by_names(&args.measures.names(), &args.options, &args.measures.options)?;
    args.output.start_threads()?;
    let reading = Reading { files: &args.files, cluster: None, options: &args.options };
    let all_needed = !args.measures.are_named();
    let (adjust, how) = (args.adjust.adjust, How::Measure { floors: args.floor, n_tests: 1 });
    let mut results = reading.run(&Analysis { selected, all_needed, each_class: true, adjust, how })?;
    answers::adjust_for_groups(&mut results);
    Ok(if args.output.json { json::results(&results) } else { table::render(&results, screen) })
}
