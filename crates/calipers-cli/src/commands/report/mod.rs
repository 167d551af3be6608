//! `calipers report`: everything that is known of one or more models, as one page of HTML.

mod origin;
mod pairing;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use calipers::Predictions;
use calipers_report::{Chart, Groups, Model, Options, Report, Source};
use clap::Args;
use serde_json::json;

use crate::args::significance::DrawArgs;
use crate::args::{InputArgs, OptionArgs, OutputArgs};
use crate::dataset::batch::{self, Batch};
use crate::dataset::files::{self, InputFile};
use crate::dataset::model::Measured;
use crate::dataset::sketches::Sketches;
use crate::dataset::{Content, Dataset, Reader, groups};
use crate::output::{Output, OutputFolder};
use crate::progress::Waiting;
use crate::render::{json, legend, number};

/// Make a report: one page of HTML with verdict, measures, diagrams, sweep, classes, groups and
/// comparisons
///
/// The page needs nothing else: it opens anywhere, without a network, on a phone, in print and for
/// a screen reader. Files, columns, models and groups are named as for `calipers measure`; several
/// models stand side by side, and are compared pair by pair where their rows are the same. Files of
/// more than a million rows, and files of sketches, are shown through a sketch: what that cannot
/// tell is left out, and the page says so.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  calipers report predictions.csv -o report.html
  calipers report predictions.csv --prob model_a --prob model_b --label bought -o report.html
  calipers report cifar10_resnet20.npz cifar10_resnet56.npz -o report.html --svg charts
  calipers report answers.parquet --prob stated_confidence --label correct --by llm -o report.html
  calipers report week.calipers -o report.html

The page appears whole or not at all. The same files and options make the same page, to the byte.

Exit code: 0 fine, whatever the figures; 2 could not be made.")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    draws: DrawArgs,
    #[command(flatten)]
    options: OptionArgs,
    /// File to write, as a rule named .html
    #[arg(short, long, value_name = "FILE", required_unless_present = "columns", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Save the charts of the page as SVG files too, into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    svg: Option<PathBuf>,
    /// What the page is called [default: the names of the models]
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    title: Option<String>,
    #[command(flatten)]
    pub(crate) outcome: OutputArgs,
}

/// A page with more would be none that anyone reads.
const MOST_MODELS: usize = 40;

/// The largest page that is written.
const MOST_BYTES: usize = 2_000_000;

pub(crate) fn run(args: &ReportArgs) -> Result<String> {
    let rules = args.input.rules()?;
    let options = Options::new()
        .ls_ece(args.options.ls_ece.measure()?, args.options.ls_ece.clip_value(), args.options.ls_ece.link()?)
        .ece(args.options.binned_ece()?)
        .level(args.draws.level)
        .n_resamples(args.draws.resamples)
        .random_state(args.draws.random_state.value());
    options.check()?;
    args.draws.check()?;
    args.outcome.start_threads()?;
    // proof: left out only with --columns, for which nothing is written
    let output = args.output.as_deref().context("-o FILE is needed")?;
    let inputs = args.input.open_files()?;
    if let (true, Some(option)) = (inputs.iter().all(InputFile::is_sketch), args.input.first_given()) {
        bail!("{option} is for rows, which sketches have lost");
    }
    files::refuse_overwriting(output, &inputs)?;
    let place = Output::new(output)?;
    let folder = args.svg.as_deref().map(OutputFolder::new).transpose()?;
    // Only what a sketch answers as well as the rows do.
    let possible = args.options.ls_ece.sketch_options().zip(args.options.ece.n_bins_of_a_sketch());
    let sketch = possible.map(|(_, n_bins)| options.sketch(n_bins));
    let reader = Reader { args: &args.input, rules, cluster: args.draws.cluster.as_deref(), sketch };
    let mut datasets = Vec::new();
    for file in &inputs {
        datasets.push(reader.open(file).with_context(|| file.shown())?);
    }
    let n_models = datasets.iter().map(|dataset| dataset.models.len()).sum::<usize>();
    if n_models > MOST_MODELS {
        bail!("a report has at most {MOST_MODELS} models, got {n_models}");
    }
    let checked = datasets.iter().map(|dataset| check(dataset).with_context(|| dataset.file.shown()));
    let checked = checked.collect::<Result<Vec<_>>>()?;
    let waiting = Waiting::new();
    waiting.say("figures");
    let figures = report(args, options, &datasets, &checked)?.gather()?;
    waiting.say("page");
    let (html, charts) = (figures.to_html(), figures.charts());
    drop(waiting);
    if html.len() > MOST_BYTES {
        bail!(
            "the page would have {} bytes: fewer models, classes or groups make it smaller",
            number::count(html.len() as u64)
        );
    }
    if let Some(folder) = &folder {
        let files: Vec<(String, String)> = charts.iter().map(|(name, chart)| (name.clone(), chart.to_svg())).collect();
        folder.write(&files)?;
    }
    place.write(html.as_bytes())?;
    if args.outcome.json {
        return Ok(written(&inputs, output, &charts, n_models, html.len()));
    }
    let models = if n_models == 1 { "1 model".to_owned() } else { format!("{n_models} models") };
    let size = number::count(html.len() as u64);
    Ok(crate::printable(&format!("{}: {models}, {size} bytes", output.display())) + "\n")
}

/// A model whose rows are sound.
struct Checked<'a> {
    predictions: Predictions<'a>,
    clusters: Option<Vec<u32>>,
}

/// The rows of each model; none of sketches.
fn check(dataset: &Dataset) -> Result<Vec<Checked<'_>>> {
    let Content::Rows(batch) = &dataset.content else { return Ok(Vec::new()) };
    dataset.each_model(|place, _| {
        let predictions = batch.predictions(place)?;
        Ok(Checked { clusters: batch.cluster_numbers(&predictions)?, predictions })
    })
}

/// `checked` are the rows of each file's models.
fn report<'a>(
    args: &ReportArgs,
    options: Options,
    datasets: &'a [Dataset],
    checked: &'a [Vec<Checked<'a>>],
) -> Result<Report<'a>> {
    let models: Vec<Measured<()>> = datasets.iter().flat_map(|dataset| dataset.models.clone()).collect();
    let mut names = legend::names(&models).into_iter();
    let mut report = Report::new(options).command(origin::command());
    if let Some(title) = args.title.clone().or_else(|| origin::title(datasets)) {
        report = report.title(title);
    }
    if let Some(reason) = pairing::obstacle(datasets, checked) {
        report = report.unpaired(reason);
    }
    for (dataset, checked) in datasets.iter().zip(checked) {
        for (place, measured) in dataset.models.iter().enumerate() {
            let name = names.next().unwrap_or_default();
            let (source, groups) = match (&dataset.content, checked.get(place)) {
                (Content::Sketches(all), _) => (Source::Sketch(&all[place].all), of_sketches(&all[place])),
                (Content::Rows(batch), Some(Checked { predictions, clusters })) => {
                    let (multiclass, ties) = (batch.multiclass(), batch.ties());
                    let rows = Source::Rows { predictions, multiclass, ties, clusters: clusters.as_deref() };
                    (rows, of_rows(measured, batch, predictions))
                }
                // proof: every model of rows was checked
                (Content::Rows(_), None) => bail!("no rows of {name}"),
            };
            let model = Model::new(name, source).origin(origin::of(measured));
            report = report.model(match groups {
                Some(groups) => model.groups(groups),
                None => model,
            });
        }
    }
    Ok(report)
}

fn of_sketches(sketches: &Sketches) -> Option<Groups<'_>> {
    let groups = sketches.groups.as_ref()?;
    // A group whose rows were all left out has nothing to show.
    let sketches = groups.sketches.iter().filter(|(_, sketch)| sketch.n() > 0);
    let sketches = sketches.map(|(key, sketch)| (key.clone(), sketch)).collect();
    Some(Groups::Sketches { by: groups.by.clone(), sketches })
}

fn of_rows(model: &Measured<()>, batch: &Batch, predictions: &Predictions<'_>) -> Option<Groups<'static>> {
    let by = model.columns.as_ref()?.by.clone()?;
    let (keys, numbers) = groups::keys_and_numbers(batch.groups.as_ref()?, &batch::kept_rows(predictions));
    Some(Groups::Rows { by, keys, numbers })
}

/// What was written, for programs.
fn written(inputs: &[InputFile], output: &Path, charts: &[(String, Chart)], n_models: usize, n_bytes: usize) -> String {
    let files: Vec<String> = inputs.iter().map(|file| file.name.display().to_string()).collect();
    let charts: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    json::text(&json!({
        "calipers": env!("CARGO_PKG_VERSION"),
        "file": output.display().to_string(),
        "from": files,
        "n_models": n_models,
        "n_bytes": n_bytes,
        "charts": charts,
    }))
}
