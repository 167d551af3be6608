//! `calipers sweep`: ECE over numbers of bins beside LS-ECE over sigma, and whether the first is
//! brittle.

mod table;

use std::path::PathBuf;

use anyhow::{Context, Result};
use calipers::{Compat, Error, Sweep, SweepResult};
use clap::Args;

use crate::args::significance::SeedArgs;
use crate::args::{InputArgs, MULTICLASS_OF_ONE, OutputArgs, SmoothingArgs};
use crate::dataset::files::{self, InputFile};
use crate::dataset::model::Measured;
use crate::dataset::{Reader, WholeFiles};
use crate::output::Output;
use crate::render::screen::Screen;
use crate::render::{json, legend};

/// Say how brittle ECE is: its values over numbers of bins, beside LS-ECE over as many sigmas
///
/// ECE is brittle if, from 10 to 100 bins, it moves more than LS-ECE does over the same 1/sigma,
/// and more than twice what chance alone would move it by: the mean over 200 draws of outcomes from
/// the probabilities themselves. Up to 20,000 rows, the outcome of every row is drawn; with more,
/// sums of outcomes are drawn as normal numbers of the same variance. Files, columns and models are
/// named as for `calipers measure`, but for --by and --multiclass classwise, which a sweep does not
/// take.
#[derive(Debug, Args)]
#[command(
    mut_arg("by", |by| by.hide(true)),
    mut_arg("multiclass", |multiclass| multiclass.help(MULTICLASS_OF_ONE)),
    after_help = "\
Examples:
  calipers sweep predictions.csv
  calipers sweep predictions.parquet --prob model_a --prob model_b --label bought --svg sweep.svg
  calipers sweep cifar10_*.npz --bins 10,15,20,50,100 --json
  calipers sweep predictions.csv --compat netcal

All rows of a file are kept in memory. The chart has ECE with bins of equal width as solid lines, LS-ECE as dashed and smECE as dotted ones.

Exit code: 0 fine, 2 could not measure."
)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    options: OptionArgs,
    /// Draw the sweep, all models in one chart, into an SVG file
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The options of the sweep.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sweep")]
struct OptionArgs {
    /// Numbers of bins, with commas between; LS-ECE is at sigma = 1/N for each [default:
    /// 1,10,20,...,100]
    #[arg(long, value_name = "N,N", allow_negative_numbers = true)]
    bins: Option<String>,

    #[command(flatten)]
    smoothing: SmoothingArgs,

    /// Bin edges of another tool: sklearn, netcal, torchmetrics, relplot or
    /// uncertainty-calibration. torchmetrics and relplot have no bins of equal mass
    #[arg(long, value_name = "TOOL")]
    compat: Option<String>,

    #[command(flatten)]
    random_state: SeedArgs,
}

impl OptionArgs {
    fn sweep(&self) -> Result<Sweep, Error> {
        let compat: Option<Compat> = self.compat.as_deref().map(str::parse).transpose()?;
        let sweep = Sweep::new()
            .noise(self.smoothing.noise()?)
            .link(self.smoothing.link()?)
            .tolerance(self.smoothing.tolerance)
            .clip(self.smoothing.clip)
            .compat(compat)
            .random_state(self.random_state.value());
        let Some(bins) = &self.bins else {
            sweep.check()?;
            return Ok(sweep);
        };
        let counts: Result<Vec<usize>, _> = bins.split(',').map(|count| count.trim().parse()).collect();
        let refused = |_| Error::InvalidSetting {
            name: "bins",
            rule: "whole numbers with commas between, as 10,20,50".to_owned(),
            value: format!("{bins:?}"),
        };
        let sweep = sweep.bins(counts.map_err(refused)?);
        sweep.check()?;
        Ok(sweep)
    }
}

const WHOLE_FILES: WholeFiles =
    WholeFiles { verb: "sweep", done: "swept", figure: "sweep", needs: "bins of any number" };

pub(crate) fn run(args: &SweepArgs, screen: &Screen) -> Result<String> {
    let sweep = args.options.sweep()?;
    let reader = WHOLE_FILES.reader(&args.input, None)?;
    args.output.start_threads()?;
    let files = args.input.open_files()?;
    let svg = args.svg.as_deref().map(|path| {
        files::refuse_overwriting(path, &files)?;
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
    Ok(if args.output.json { json::render_swept(&results) } else { table::render(&results, &names, screen) })
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
        names.iter().zip(results).map(|(name, measured)| (name.as_str(), &measured.figures)).collect();
    calipers_report::sweep_chart(&models).to_svg()
}

fn sweep_file(file: &InputFile, reader: &Reader<'_>, sweep: &Sweep) -> Result<Vec<Measured<SweepResult>>> {
    let dataset = reader.open_rows(file, &WHOLE_FILES)?;
    dataset.each_model(|place, model| {
        let predictions = dataset.content.predictions(place)?;
        Ok(model.with(None, sweep.run(&dataset.content.view(&predictions)?)?))
    })
}
