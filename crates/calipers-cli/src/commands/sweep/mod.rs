//! `calipers sweep`: ECE over numbers of bins beside LS-ECE over sigma, and whether the first is
//! brittle.

mod table;

use std::path::PathBuf;

use anyhow::{Context, Result};
use calipers::{Compat, Extent, LsEce, SmoothEce, Strategy, Sweep, SweepResult, Verdict};
use clap::Args;
use serde_json::{Value, json};

use crate::args::significance::RandomStateArgs;
use crate::args::values::one_of;
use crate::args::{InputArgs, OutputArgs, SmoothingArgs};
use crate::dataset::files::{self, InputFile};
use crate::dataset::model::Measured;
use crate::dataset::{Reader, WholeFiles};
use crate::output::Output;
use crate::render::screen::Screen;
use crate::render::{json, legend};

/// Show how ECE depends on the number of bins, beside LS-ECE at as many sigmas
///
/// Use it before you report an ECE, to see whether the number of bins decides it. ECE is called
/// brittle if, from 10 to 100 bins, it moves more than LS-ECE does over the same 1/sigma, and more
/// than twice what chance alone would move it by: the mean over 200 resamples, in which outcomes
/// are drawn from the probabilities. Up to 20,000 rows the outcome of each row is drawn; for more
/// rows, sums of outcomes are drawn as normal numbers of the same variance. Files, columns and
/// models are named as for `calipers measure`, without --by and --multiclass classwise.
#[derive(Debug, Args)]
#[command(
    mut_arg("by", |by| by.hide(true)),
    after_help = include_str!("../help/sweep.txt")
)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Numbers of bins, separated by commas. LS-ECE is computed at sigma = 1/N for each [default:
    /// 1,10,20,...,100]
    #[arg(long, value_name = "N,N", value_delimiter = ',', allow_negative_numbers = true, help_heading = "Sweep")]
    bins: Vec<usize>,
    #[command(flatten)]
    smoothing: SmoothingArgs,
    /// Use the bin edges of another package. torchmetrics and relplot have no bins of equal mass
    #[arg(long, value_name = "PACKAGE", help_heading = "Sweep", value_parser = one_of::<Compat>(Compat::NAMES))]
    compat: Option<Compat>,
    #[command(flatten, next_help_heading = "Sweep")]
    random_state: RandomStateArgs,
    /// Also draw the sweep, all models in one chart, into an SVG file
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

impl SweepArgs {
    fn sweep(&self) -> Result<Sweep> {
        let SmoothingArgs { noise, link, tolerance, clip } = &self.smoothing;
        let sweep = Sweep::new().noise(noise.clone()).link(link.clone()).tolerance(*tolerance).clip(*clip);
        let sweep = sweep.compat(self.compat).random_state(self.random_state.random_state);
        let sweep = if self.bins.is_empty() { sweep } else { sweep.bins(self.bins.clone()) };
        sweep.check()?;
        Ok(sweep)
    }
}

const WHOLE_FILES: WholeFiles = WholeFiles { verb: "sweep", needs: "bins of any number", by_group: false };

pub(crate) fn run(args: &SweepArgs, screen: &Screen) -> Result<String> {
    let sweep = args.sweep()?;
    let reader = WHOLE_FILES.reader(&args.input, None)?;
    args.output.start_threads()?;
    let files = args.input.open_files()?;
    let svg = args.svg.as_deref().map(|path| {
        files::reject_overwriting(path, &files)?;
        Output::new(path)
    });
    let svg = svg.transpose()?;
    let mut results = Vec::new();
    for file in &files {
        results.extend(sweep_file(file, &reader, &sweep).with_context(|| file.shown())?);
    }
    let names = names(&results, args);
    if let Some(svg) = svg {
        svg.write(chart(&results, &names).as_bytes())?;
    }
    if args.output.json {
        return Ok(json::document([("results", results.iter().map(to_json).collect())]));
    }
    Ok(table::render(&results, &names, screen))
}

fn to_json(measured: &Measured<SweepResult>) -> Value {
    let swept = &measured.found;
    let points = || swept.points.iter();
    let strategies: Vec<&str> = match &swept.verdict {
        Verdict::Brittle { strategies } => strategies.iter().map(|strategy| Strategy::name(*strategy)).collect(),
        Verdict::Stable | Verdict::Undecided => Vec::new(),
    };
    let range = |range: Option<Extent>| {
        range.map(|range| json!({ "least": range.least, "greatest": range.greatest, "width": range.width() }))
    };
    let ranges = json!({
        "ece_uniform": range(swept.range_uniform),
        "ece_quantile": range(swept.range_quantile),
        (LsEce::NAME): range(swept.range_ls_ece),
    });
    let noise = json!({ "ece_uniform": swept.sampling_noise.uniform, "ece_quantile": swept.sampling_noise.quantile });
    let entries = [
        ("verdict", swept.verdict.name().into()),
        ("brittle_with", json!(strategies)),
        ("sentence", swept.sentence().into()),
        ("bins", points().map(|point| point.n_bins).collect()),
        ("ece_uniform", points().map(|point| point.ece_uniform.value).collect()),
        ("ece_quantile", points().map(|point| point.ece_quantile.as_ref().map(|ece| ece.value)).collect()),
        (LsEce::NAME, points().map(|point| point.ls_ece.value).collect()),
        ("ls_ece_bounds", points().map(|point| point.ls_ece.numerical_bound).collect()),
        (SmoothEce::NAME, swept.smooth_ece.as_ref().map_or(Value::Null, json::estimate)),
        ("ranges", ranges),
        ("sampling_noise", noise),
        ("jump", swept.ties.map(|ties| ties.jump).into()),
        ("tied_ece", swept.ties.map(|ties| ties.tied_ece).into()),
        ("n_tied", swept.ties.map(|ties| ties.n_tied).into()),
        ("n_clipped", points().next().map(|point| point.ls_ece.n_clipped).into()),
        ("settings", json::settings(&swept.settings)),
    ];
    json::result(measured, swept.n, entries, &swept.input)
}

/// A file has the name of its only model, if that was named.
fn names(results: &[Measured<SweepResult>], args: &SweepArgs) -> Vec<String> {
    match (results, &args.input.prob[..]) {
        ([one], [_]) => vec![crate::printable(one.prob().unwrap_or_default())],
        _ => legend::names(results),
    }
}

fn chart(results: &[Measured<SweepResult>], names: &[String]) -> String {
    let models: Vec<(&str, &SweepResult)> =
        names.iter().zip(results).map(|(name, measured)| (name.as_str(), &measured.found)).collect();
    calipers_report::sweep_chart(&models).to_svg()
}

fn sweep_file(file: &InputFile, reader: &Reader<'_>, sweep: &Sweep) -> Result<Vec<Measured<SweepResult>>> {
    let dataset = reader.open_rows(file, &WHOLE_FILES)?;
    dataset.each_model(|place, model| {
        let predictions = dataset.content.predictions(place)?;
        Ok([model.with(None, sweep.run(&dataset.content.view(&predictions)?)?)])
    })
}
