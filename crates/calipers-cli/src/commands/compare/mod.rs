//! `calipers compare`: which of several models on the same rows is better calibrated.

pub(crate) mod paired;
mod table;

use anyhow::{Result, bail};
use calipers::{Asked, Compare, Comparison, LsEce, Pair, Sample};
use clap::Args;
use serde_json::{Value, json};

use crate::args::significance::ResampleArgs;
use crate::args::{InputArgs, NamedOptionArgs, OptionArgs, OutputArgs};
use crate::commands::analysis::selected::{self, Selected};
use crate::dataset::WholeFiles;
use crate::dataset::model::Measured;
use crate::progress;
use crate::render::screen::Screen;
use crate::render::{json, legend};
use paired::Checked;

/// Compare models on the same rows: which one is better calibrated, and is the difference chance?
///
/// Use it to choose between models. They are several --prob of one file, or several files with the
/// same labels in the same order. A row that is hard for both models does not contribute to their
/// difference, so the difference is more precise than the two values. If sigma is auto, all models
/// have the same one. P-values are two-sided, and adjusted for the number of pairs (Holm).
#[derive(Debug, Args)]
#[command(
    mut_arg("by", |by| by.hide(true)),
    after_help = include_str!("../help/compare.txt")
)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    input: InputArgs,
    /// A measure by its name in `calipers list`; repeat it for further ones [default: ls_ece]
    #[arg(long, value_name = "NAME", help_heading = "Measures")]
    measure: Vec<String>,
    #[command(flatten)]
    named: NamedOptionArgs,
    #[command(flatten)]
    resample: ResampleArgs,
    #[command(flatten)]
    options: OptionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Models, compared by one measure after the other.
struct Compared {
    /// One for each model.
    models: Vec<Measured<()>>,
    names: Vec<String>,
    by_measure: Vec<(Selected, Comparison)>,
}

const WHOLE_FILES: WholeFiles = WholeFiles { verb: "compare", needs: "pairs of models", by_group: false };

/// The first file is that of all.
const OF_ALL: &str = "";

pub(crate) fn run(args: &CompareArgs, screen: &Screen) -> Result<String> {
    let names: Vec<&str> = args.measure.iter().map(String::as_str).collect();
    let names = if names.is_empty() { vec![LsEce::NAME] } else { names };
    let selected = selected::by_names(&names, &args.options, &args.named)?;
    args.resample.check()?;
    let mut reader = WHOLE_FILES.reader(&args.input, args.resample.cluster.as_deref())?;
    args.output.start_threads()?;
    let datasets = paired::open_all(&args.input.open_files()?, &mut reader, &WHOLE_FILES, OF_ALL)?;
    let checked = paired::check_all(&datasets, OF_ALL)?;
    let [first, _, ..] = &checked[..] else {
        bail!("a comparison needs two models or more: several --prob, or several files");
    };
    let measured_by = |model: &Measured<()>| model.measured_by(selected.iter().map(|each| each.measure.spec()));
    let models: Vec<Measured<()>> = datasets.iter().flat_map(|dataset| &dataset.models).map(measured_by).collect();
    let names = legend::names(&models);
    let asked = checked.iter().map(Checked::asked).collect::<Result<Vec<Asked<'_>>>>()?;
    let clusters = first.dataset.content.cluster_numbers(&first.predictions)?;
    let named: Vec<(&str, Sample<'_>)> =
        names.iter().map(String::as_str).zip(asked.iter().map(Asked::sample)).collect();
    let waiting = progress::waiting();
    let mut by_measure = Vec::new();
    for selected in selected {
        progress::begin(&waiting, selected.name());
        let compare = Compare::new(&*selected.measure).level(args.resample.level);
        let compare =
            compare.n_resamples(args.resample.n_resamples).random_state(args.resample.random_state.random_state);
        let compare = clusters.as_ref().map_or(compare, |clusters| compare.clusters(clusters));
        let comparison = compare.run(&named)?;
        by_measure.push((selected, comparison));
    }
    drop(waiting);
    let compared = Compared { models, names, by_measure };
    Ok(if args.output.json { to_json(&compared) } else { table::render(&compared, screen) })
}

fn to_json(compared: &Compared) -> String {
    let Compared { models, names, by_measure } = compared;
    let models = models.iter().zip(names).enumerate().map(|(place, (model, name))| {
        let of_model = || by_measure.iter().map(move |(selected, comparison)| (selected, &comparison.models[place].1));
        let measures = of_model().map(|(selected, assessment)| (selected.name(), json::assessed(assessment)));
        let entries = [("name", name.as_str().into()), ("measures", json::by_name(measures))];
        // proof: there is at least one measure
        let (n, input) = of_model().next().map_or_else(Default::default, |(_, assessment)| {
            (assessment.estimate.n, assessment.estimate.input.clone())
        });
        json::result(model, n, entries, &input)
    });
    let comparisons = by_measure.iter().map(|(selected, found)| (selected.name(), comparison(selected.name(), found)));
    json::document([("models", models.collect()), ("comparisons", json::by_name(comparisons))])
}

fn comparison(selected: &str, comparison: &Comparison) -> Value {
    let pair = |pair: &Pair| {
        let mut object = json!(pair);
        object["first"] = comparison.models[pair.first].0.as_str().into();
        object["second"] = comparison.models[pair.second].0.as_str().into();
        object["sentence"] = comparison.pair_sentence(pair).into();
        object
    };
    // All models are compared by one measure at one sigma.
    let compared_by = comparison.compared.first();
    let of_models = comparison.models.first().map(|(_, model)| model.estimate.measure());
    let measure = compared_by.map(|estimate| estimate.measure()).filter(|name| Some(*name) != of_models);
    json!({
        "level": comparison.level,
        "compared_by": {
            "measure": measure.unwrap_or(selected),
            "sigma": compared_by.and_then(|estimate| estimate.settings.number("sigma")),
        },
        "sentence": comparison.sentence(),
        "pairs": comparison.pairs.iter().map(pair).collect::<Vec<Value>>(),
    })
}
