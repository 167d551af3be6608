//! `calipers compare`: which of several models on the same rows is better calibrated.

mod json;
pub(crate) mod paired;
mod table;

use anyhow::{Result, bail};
use calipers::{BinaryView, Compare, Comparison, LsEce};
use clap::Args;

use crate::args::significance::DrawArgs;
use crate::args::{InputArgs, MULTICLASS_OF_ONE, OptionArgs, OutputArgs};
use crate::commands::analysis::measures::Selected;
use crate::commands::measures;
use crate::dataset::WholeFiles;
use crate::dataset::model::Measured;
use crate::progress::Waiting;
use crate::render::legend;
use crate::render::screen::Screen;
use paired::Checked;

/// Say which of several models on the same rows is better calibrated: differences with intervals
/// and p-values
///
/// Models are several --prob of one file, or several files with the same labels in the same order.
/// Rows that are hard for both models make no difference between them, so a difference is known
/// better than each figure is. Sigma by rule is one for all models. P-values are two-sided, and
/// adjusted for the number of pairs (Holm).
#[derive(Debug, Args)]
#[command(
    mut_arg("by", |by| by.hide(true)),
    mut_arg("multiclass", |multiclass| multiclass.help(MULTICLASS_OF_ONE)),
    after_help = "\
Examples:
  calipers compare predictions.csv --prob model_a --prob model_b
  calipers compare cifar10_resnet20.npz cifar10_resnet56.npz
  calipers compare predictions.parquet --prob old --prob new --label bought --cluster customer --json
  calipers compare a.npz b.npz c.npz --measure brier_score

All rows of all files are kept in memory. Files whose rows cannot be paired are refused, with the first row that differs.

Exit code: 0 fine, whatever the difference; 2 could not measure."
)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// A measure by its name in `calipers measures`, in place of LS-ECE; give it again for each
    /// further one
    #[arg(long, value_name = "NAME", help_heading = "Measures")]
    measure: Vec<String>,
    #[command(flatten)]
    draws: DrawArgs,
    #[command(flatten)]
    options: OptionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Models, compared by one measure after the other.
pub(crate) struct Compared {
    /// One for each model.
    pub(crate) models: Vec<Measured<()>>,
    pub(crate) names: Vec<String>,
    pub(crate) by_measure: Vec<(Selected, Comparison)>,
}

const WHOLE_FILES: WholeFiles =
    WholeFiles { verb: "compare", done: "compared", figure: "comparison", needs: "pairs of models" };

/// The first file is that of all.
const OF_ALL: &str = "";

pub(crate) fn run(args: &CompareArgs, screen: &Screen) -> Result<String> {
    let selected: Vec<&str> = match args.measure.is_empty() {
        true => vec![LsEce::NAME],
        false => args.measure.iter().map(String::as_str).collect(),
    };
    let selected = measures::by_names(&selected, &args.options)?;
    args.draws.check()?;
    let mut reader = WHOLE_FILES.reader(&args.input, args.draws.cluster.as_deref())?;
    args.output.start_threads()?;
    let datasets = paired::open_all(&args.input.open_files()?, &mut reader, &WHOLE_FILES, OF_ALL)?;
    let checked = paired::check_all(&datasets, OF_ALL)?;
    if checked.len() < 2 {
        bail!("a comparison needs two models or more: several --prob, or several files");
    }
    let models: Vec<Measured<()>> = datasets.iter().flat_map(|dataset| dataset.models.clone()).collect();
    let names = legend::names(&models);
    let views = checked.iter().map(Checked::view).collect::<Result<Vec<BinaryView<'_>>>>()?;
    let clusters = match checked.first() {
        Some(first) => first.dataset.content.cluster_numbers(&first.predictions)?,
        None => None,
    };
    let named: Vec<(&str, &BinaryView<'_>)> = names.iter().map(String::as_str).zip(&views).collect();
    let waiting = Waiting::new();
    let mut by_measure = Vec::new();
    for selected in selected {
        waiting.say(selected.name());
        let compare = Compare::new(&*selected.measure).level(args.draws.level);
        let compare = compare.n_resamples(args.draws.resamples).random_state(args.draws.random_state.value());
        let compare = clusters.as_ref().map_or(compare, |clusters| compare.clusters(clusters));
        let comparison = compare.run(&named)?;
        by_measure.push((selected, comparison));
    }
    drop(waiting);
    let compared = Compared { models, names, by_measure };
    Ok(if args.output.json { json::render(&compared) } else { table::render(&compared, screen) })
}
