//! `calipers compare`: which of several models on the same rows is better calibrated.

mod json;
pub(crate) mod paired;
mod table;

use anyhow::{Context, Result, bail};
use calipers::{BinaryView, Compare, Comparison};
use clap::Args;

use crate::args::significance::DrawArgs;
use crate::args::{BinnedEceArgs, InputArgs, LsEceArgs, MULTICLASS_OF_ONE, OutputArgs};
use crate::commands::analysis::measures::Asked;
use crate::commands::measures;
use crate::dataset::batch::WholeFiles;
use crate::dataset::groups;
use crate::dataset::model::{Measured, Method};
use crate::progress::Waiting;
use crate::render::legend;
use crate::render::screen::Screen;
use paired::Opened;

/// Say which of several models on the same rows is better calibrated: differences with intervals and p-values
///
/// Models are several --prob of one file, or several files with the same labels in the same order. Rows that are hard for both models make no
/// difference between them, so a difference is known better than each figure is. Sigma by rule is one for all models. P-values are two-sided, and adjusted for the number
/// of pairs (Holm).
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
    /// A measure by its name in `calipers measures`, in place of LS-ECE; give it again for each further one
    #[arg(long, value_name = "NAME", help_heading = "Measures")]
    measure: Vec<String>,
    #[command(flatten)]
    draws: DrawArgs,
    #[command(flatten)]
    ls_ece: LsEceArgs,
    #[command(flatten)]
    ece: BinnedEceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Models, compared by one measure after the other.
pub(crate) struct Compared {
    /// One for each model.
    pub(crate) models: Vec<Measured<()>>,
    pub(crate) names: Vec<String>,
    pub(crate) by_measure: Vec<(Asked, Comparison)>,
}

const WHOLE_FILES: WholeFiles =
    WholeFiles { verb: "compare", done: "compared", figure: "comparison", needs: "pairs of models" };

/// The first file is that of all.
const OF_ALL: &str = "";

pub(crate) fn run(args: &CompareArgs, screen: &Screen) -> Result<String> {
    let asked: Vec<&str> = match args.measure.is_empty() {
        true => vec!["ls_ece"],
        false => args.measure.iter().map(String::as_str).collect(),
    };
    let asked = measures::by_names(&asked, &args.ls_ece, &args.ece)?;
    args.draws.check()?;
    let rules = WHOLE_FILES.rules(&args.input)?;
    args.output.start_threads()?;
    let mut opened: Vec<Opened> = Vec::new();
    for file in args.input.open_files()? {
        let name = || file.shown();
        // Rows are the same in all files, and so are clusters.
        let cluster = args.draws.cluster.as_deref().filter(|_| opened.is_empty());
        let next = Opened::read(&file, &WHOLE_FILES, &args.input, cluster, &rules).with_context(name)?;
        if let Some(first) = opened.first() {
            next.must_have_rows_of(first, OF_ALL).with_context(name)?;
        }
        opened.push(next);
    }
    let checked = paired::check_all(&opened, &rules, OF_ALL)?;
    if checked.len() < 2 {
        bail!("a comparison needs two models or more: several --prob, or several files");
    }
    let models: Vec<Measured<()>> = opened
        .iter()
        .flat_map(|opened| opened.models.iter().map(move |model| (&opened.file, model)))
        .map(|(file, model)| Measured {
            files: vec![file.name.clone()],
            columns: Some(model.columns.clone()),
            group: None,
            method: Method::Rows,
            figures: (),
        })
        .collect();
    let names = legend::names(&models);
    let views = checked.iter().map(|model| model.view(&rules)).collect::<Result<Vec<BinaryView<'_>>>>()?;
    let clusters = match (opened.first().and_then(|first| first.clusters.as_ref()), checked.first()) {
        (Some(column), Some(first)) => {
            let rows: Vec<usize> = (0..first.predictions.len()).map(|place| first.predictions.row(place)).collect();
            Some(groups::numbered(column, &rows)?)
        }
        _ => None,
    };
    let named: Vec<(&str, &BinaryView<'_>)> = names.iter().map(String::as_str).zip(&views).collect();
    let waiting = Waiting::new();
    let mut by_measure = Vec::new();
    for asked in asked {
        waiting.say(asked.name);
        let compare = Compare::new(asked.estimator()).level(args.draws.level);
        let compare = compare.n_resamples(args.draws.resamples).seed(args.draws.seed);
        let compare = clusters.as_ref().map_or(compare, |clusters| compare.clusters(clusters));
        let comparison = compare.run(&named)?;
        by_measure.push((asked, comparison));
    }
    drop(waiting);
    let compared = Compared { models, names, by_measure };
    Ok(if args.output.json { json::render(&compared) } else { table::render(&compared, screen) })
}
