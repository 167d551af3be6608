//! `calipers measure`: LS-ECE and binned ECE of the predictions in files, or the measures that are
//! named.

pub(crate) mod named_table;
pub(crate) mod table;

use anyhow::Result;
use clap::Args;

use crate::args::{FilesArgs, MeasuresArgs, OptionArgs, OutputArgs};
use crate::commands::analysis::Reading;
use crate::commands::analysis::floor::Floors;
use crate::commands::analysis::measures::{LsEceAndEce, Named};
use crate::commands::measures;
use crate::render::json;
use crate::render::screen::Screen;

/// Measure the calibration error of predictions: LS-ECE, with a bound on its numerical error, and
/// binned ECE
///
/// Beside each figure is its floor: what a calibrated model would show on these rows, as mean and
/// deviation of 200 draws of outcomes from the probabilities themselves; p is how often a
/// calibrated model would show as much, of LS-ECE by its residual form. `calipers assess` has more
/// draws, and intervals. Other measures are asked for by name with --measure, or all with --all;
/// `calipers measures` lists them. Each file and each --prob gives one row, or one column of a
/// table of many measures. Columns that are not named are taken by names that leave no doubt, such
/// as prob and label, and the output says so. An .npz file has arrays probs or logits, (n) or (n,
/// k), or conf and pred, with labels. A file of sketches (`calipers sketch`) is measured as the
/// rows that it was made from.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  calipers measure predictions.csv
  calipers measure predictions.parquet --prob model_a --prob model_b --label bought --positive yes
  calipers measure cifar10_*.npz --sigma 0.1 --json
  calipers measure 'logs/*.parquet' --together --by country
  calipers measure week.calipers
  calipers measure predictions.csv --all
  calipers measure predictions.csv --measure smooth_ece --measure brier_score --json

Files of more than a million rows are read in constant memory, through a sketch whose error is part of the bound;
measures that need the rows have them in memory. With --measure or --all, a measure that cannot be computed says why in its
place, and where none can be, that is an error. In JSON such a measure has null as value and the reason as refused. JSON has
no infinity: a value that is infinite is null, with value_text \"inf\".

Exit code: 0 fine, 2 could not measure.")]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    #[command(flatten)]
    measures: MeasuresArgs,
    #[command(flatten)]
    options: OptionArgs,
    /// Floors: auto (where they are no long wait), always or never. auto has that of LS-ECE for any
    /// number of rows, that of quick measures such as ECE up to 100,000 rows, and none for the
    /// slower ones (`calipers assess` has those) and for more than 100 groups
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Output")]
    floor: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

pub(crate) fn run(args: &MeasureArgs, screen: &Screen) -> Result<String> {
    let json = args.output.json;
    let ls_ece = args.options.ls_ece.measure()?;
    let ece = args.options.binned_ece()?;
    let floors: Floors = args.floor.parse()?;
    let named = measures::named(&args.measures, &args.options)?;
    args.output.start_threads()?;
    let reading = Reading { files: &args.files, cluster: None, options: &args.options };
    match named {
        None => {
            let results = reading.run(LsEceAndEce { ls_ece, ece, floors }, true, &[])?;
            Ok(if json { json::render(&results) } else { table::render(&results, screen) })
        }
        Some(selected) => {
            let sketch_is_enough = measures::sketch_is_enough(&selected);
            let results = reading.run(Named { selected, floors }, sketch_is_enough, &[measures::N_BINS])?;
            Ok(if json { json::render_named(&results) } else { named_table::render(&results, screen) })
        }
    }
}
