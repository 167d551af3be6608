//! `calipers report`: everything that is known of one or more models, as one page of HTML.

pub(crate) mod origin;
mod pairing;

use std::cell::RefCell;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use calipers::{InputReport, Predictions};
use calipers_report::{Groups, Model, Options, Report, Source};
use clap::{ArgMatches, Args};
use serde_json::{Value, json};

use crate::args::significance::{AdjustArgs, ResampleArgs};
use crate::args::{self, InputArgs, OptionArgs, OutputArgs};
use crate::dataset::batch::{self, Batch};
use crate::dataset::files::{self, InputFile};
use crate::dataset::groups::Numbers;
use crate::dataset::model::Measured;
use crate::dataset::sketches::Sketches;
use crate::dataset::{Content, Dataset, Reader};
use crate::output::{Output, OutputFolder};
use crate::progress;
use crate::render::{json, left_out, legend, number};

/// Write a report: one self-contained HTML page about one or more models
///
/// Use it to share results. The page has the verdict, all measures, reliability diagrams, the
/// sweep, classes, groups and comparisons. It loads nothing from elsewhere and works without a
/// network, on a phone, in print and with a screen reader. Files, columns, models and groups are
/// named as for `calipers measure`. Several models are side by side, and are compared in pairs if
/// their rows are the same. Files of more than a million rows, and files of sketches, are shown
/// through a sketch; the page names what a sketch does not have.
#[derive(Debug, Args)]
#[command(after_help = include_str!("../help/report.txt"))]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    resample: ResampleArgs,
    #[command(flatten)]
    adjust: AdjustArgs,
    #[command(flatten)]
    options: OptionArgs,
    /// File of an earlier sample of the same models, of rows or sketches: the page shows what has
    /// changed since, as `calipers drift` finds it
    #[arg(long, value_name = "BEFORE", help_heading = "Input")]
    against: Option<PathBuf>,
    /// File to write, usually named .html
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Also save the charts of the page as SVG files, into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    svg: Option<PathBuf>,
    /// Title of the page [default: the names of the models]
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    title: Option<String>,
    #[command(flatten)]
    outcome: OutputArgs,
}

/// What the sample of `--against` is called where the name of its file is that of a model.
const EARLIER: &str = "before";

/// Nobody reads a page with more.
const MOST_MODELS: usize = 40;

/// The largest page that is written.
const MOST_BYTES: usize = 2_000_000;

pub(crate) fn run(args: &ReportArgs, matches: &ArgMatches) -> Result<String> {
    let options = Options::new()
        .ls_ece(args.options.ls_ece(), args.options.clip(), args.options.link())
        .ece(args.options.binned_ece())
        .level(args.resample.level)
        .n_resamples(args.resample.n_resamples)
        .random_state(args.resample.random_state.random_state)
        .adjust(args.adjust.adjust);
    options.check()?;
    args.resample.check()?;
    args.outcome.start_threads()?;
    let (output, inputs) = (&args.output, args.input.open_files()?);
    let against = args
        .against
        .as_ref()
        .map(|file| files::expand(std::slice::from_ref(file), args.input.format, args.input.rules.limit()));
    let against = against.transpose()?;
    let all_inputs: Vec<InputFile> = inputs.iter().chain(against.iter().flatten()).cloned().collect();
    if all_inputs.iter().all(InputFile::is_sketch)
        && let Some(option) = args::first_given::<InputArgs>(matches)
    {
        bail!("{option} is for rows, which sketches do not have");
    }
    files::reject_overwriting(output, &all_inputs)?;
    let place = Output::new(output)?;
    let folder = args.svg.as_deref().map(OutputFolder::new).transpose()?;
    // Only where a sketch answers as well as the rows do.
    let n_bins = args.options.sketch_options().and(args.options.n_bins_of_a_sketch());
    let sketch = n_bins.map(|n_bins| options.sketch(n_bins));
    let reader = Reader { args: &args.input, cluster: args.resample.cluster.as_deref(), sketch };
    let mut datasets = Vec::new();
    for file in &inputs {
        datasets.push(reader.open(file).with_context(|| file.shown())?);
    }
    let earlier = earlier(&reader, against.as_deref(), &datasets)?;
    let n_models = datasets.iter().map(|dataset| dataset.models.len()).sum::<usize>();
    if n_models > MOST_MODELS {
        bail!("a report has at most {MOST_MODELS} models, got {n_models}");
    }
    // A cluster has one number in all files.
    let mut clusters = Numbers::new();
    let mut check = |dataset| check(dataset, &mut clusters);
    let checked = datasets.iter().map(|dataset| check(dataset).with_context(|| dataset.file.shown()));
    let checked = checked.collect::<Result<Vec<_>>>()?;
    let earlier_checked = earlier.as_ref().map(|dataset| check(dataset).with_context(|| dataset.file.shown()));
    let earlier_checked = earlier_checked.transpose()?.unwrap_or_default();
    let waiting = progress::waiting();
    progress::begin(&waiting, "values");
    let models: Vec<Measured<()>> = datasets.iter().flat_map(|dataset| dataset.models.clone()).collect();
    let inputs_read: Vec<(String, InputReport)> =
        legend::names(&models).into_iter().zip(reports(&datasets, &checked)).collect();
    let mut report = report(args, options, &datasets, &checked)?;
    if let Some(dataset) = &earlier {
        let stem = crate::printable(&legend::stem(&dataset.file.name));
        // A file of the same name in another folder would not tell which is which.
        let name = if inputs_read.iter().any(|(name, _)| *name == stem) { EARLIER.to_owned() } else { stem };
        for (place, measured) in dataset.models.iter().enumerate() {
            report = report.against(model(dataset, place, measured, earlier_checked.get(place), name.clone())?);
        }
    }
    let values = report.gather()?;
    progress::begin(&waiting, "page");
    let (html, charts) = (values.to_html(), values.charts());
    drop(waiting);
    if html.len() > MOST_BYTES {
        bail!(
            "the page would have {} bytes: fewer models, classes or groups make it smaller",
            number::count(html.len() as u64)
        );
    }
    // If the page cannot be written, the charts stay as they were.
    let page = place.prepare(html.as_bytes())?;
    if let Some(folder) = &folder {
        let files: Vec<(String, String)> = charts.iter().map(|(name, chart)| (name.clone(), chart.to_svg())).collect();
        folder.write(&files)?;
    }
    page.finish()?;
    if args.outcome.json {
        return Ok(json::document([
            ("file", output.display().to_string().into()),
            ("from", files::names(&inputs)),
            ("n_models", n_models.into()),
            ("models", inputs_read.iter().map(|(name, input)| of_model(name, input)).collect()),
            ("n_bytes", html.len().into()),
            ("charts", charts.iter().map(|(name, _)| name.as_str()).collect()),
        ]));
    }
    let models = if n_models == 1 { "1 model".to_owned() } else { format!("{n_models} models") };
    let size = number::count(html.len() as u64);
    let left_out = left_out::sentences(inputs_read.iter().map(|(name, input)| (name.as_str(), input)));
    let left_out: String = left_out.iter().map(|sentence| format!("{sentence}\n")).collect();
    Ok(crate::printable(&format!("{}: {models}, {size} bytes", output.display())) + "\n" + &left_out)
}

fn of_model(name: &str, input: &InputReport) -> Value {
    json!({ "name": name, "input": json::input(input) })
}

/// What happened to the rows of each model, in the order of the models.
fn reports(datasets: &[Dataset], checked: &[Vec<Checked<'_>>]) -> Vec<InputReport> {
    let of_dataset = |(dataset, checked): (&Dataset, &Vec<Checked<'_>>)| -> Vec<InputReport> {
        match &dataset.content {
            Content::Sketches(all) => all.iter().map(Sketches::report).collect(),
            Content::Rows(_) => checked.iter().map(|model| model.predictions.report().clone()).collect(),
        }
    };
    datasets.iter().zip(checked).flat_map(of_dataset).collect()
}

/// A model whose rows are valid.
struct Checked<'a> {
    predictions: Predictions<'a>,
    clusters: Option<Vec<u32>>,
}

/// The rows of each model; none of sketches.
fn check<'a>(dataset: &'a Dataset, numbers: &mut Numbers) -> Result<Vec<Checked<'a>>> {
    let Content::Rows(batch) = &dataset.content else { return Ok(Vec::new()) };
    let numbers = RefCell::new(numbers);
    dataset.each_model(|place, _| {
        let predictions = batch.predictions(place)?;
        let clusters = batch.cluster_numbers_among(&predictions, &mut numbers.borrow_mut())?;
        Ok([Checked { clusters, predictions }])
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
            report = report.model(model(dataset, place, measured, checked.get(place), name)?);
        }
    }
    Ok(report)
}

/// A model of a file; `checked` are its rows.
fn model<'a>(
    dataset: &'a Dataset,
    place: usize,
    measured: &Measured<()>,
    checked: Option<&'a Checked<'a>>,
    name: String,
) -> Result<Model<'a>> {
    let (source, groups) = match (&dataset.content, checked) {
        (Content::Sketches(all), _) => (Source::Sketch(all[place].all()?), of_sketches(&all[place])),
        (Content::Rows(batch), Some(Checked { predictions, clusters })) => {
            let (multiclass, ties) = (batch.multiclass(), batch.ties());
            let rows = Source::Rows { predictions, multiclass, ties, clusters: clusters.as_deref() };
            (rows, of_rows(measured, batch, predictions))
        }
        // proof: every model of rows was checked
        (Content::Rows(_), None) => bail!("no rows of {name}"),
    };
    let mut model = Model::new(name, source).origin(origin::of(measured));
    if let Some(columns) = measured.columns.as_ref().filter(|columns| !columns.classes.is_empty()) {
        model = model.class_names(columns.classes.clone());
    }
    Ok(match groups {
        Some(groups) => model.groups(groups),
        None => model,
    })
}

/// The file of an earlier sample, with as many models as all others together.
fn earlier(reader: &Reader<'_>, files: Option<&[InputFile]>, datasets: &[Dataset]) -> Result<Option<Dataset>> {
    let file = match files {
        None => return Ok(None),
        Some([file]) => file,
        Some(several) => bail!("--against takes one file, got {}", several.len()),
    };
    let dataset = reader.open(file).with_context(|| file.shown())?;
    let (n, n_models) = (dataset.models.len(), datasets.iter().map(|dataset| dataset.models.len()).sum::<usize>());
    if n != n_models {
        bail!("{}: --against needs the models of the report, got {n} and {n_models}", file.shown());
    }
    Ok(Some(dataset))
}

fn of_sketches(sketches: &Sketches) -> Option<Groups<'_>> {
    let groups = sketches.groups.as_ref()?;
    Some(Groups::Sketches { by: groups.by.to_string(), sketches: groups.with_rows() })
}

fn of_rows(model: &Measured<()>, batch: &Batch, predictions: &Predictions<'_>) -> Option<Groups<'static>> {
    let by = model.columns.as_ref()?.by.as_ref()?.to_string();
    let (keys, numbers) = batch.groups.as_ref()?.keys_and_numbers(&batch::kept_rows(predictions));
    Some(Groups::Rows { by, keys, numbers })
}
