//! `calipers drift`: what has changed between two samples that share no rows.

mod json;
mod samples;
mod table;

use anyhow::{Result, bail};
use calipers::measure::FromSketch;
use calipers::{Adjust, Change, Drift, Error, InputReport, LsEce, Multiclass};
use clap::Args;

use crate::args::significance::{AdjustArgs, ResampleArgs};
use crate::args::{InputArgs, NamedOptionArgs, OptionArgs, OutputArgs};
use crate::commands::analysis::selected::{self, Selected};
use crate::dataset::Reader;
use crate::dataset::model::{Group, Measured};
use crate::progress;
use crate::render::screen::Screen;
use samples::{Pair, Part};

/// Find what has changed between two samples that share no rows: this week against last week
///
/// Use it to compare this week with last week, a canary with production, or one group with another.
/// The samples are two files, BEFORE and AFTER, of rows or sketches; or two parts of one file, by
/// the values of the column --split. A larger calibration error after does not show that the model
/// has become worse: noise, and another distribution of predictions, change the value too. So the
/// first test is whether outcomes at equal predictions have changed; another distribution of
/// predictions alone does not move it. Then come the difference of the measure, each value without
/// the bias that chance adds, and how much of the change comes from outcomes and how much from
/// predictions.
///
/// Settings that are chosen from the data, such as sigma, are those of BEFORE, for each group
/// (--by) those of its own rows. P-values of groups are adjusted for their number (--adjust). If
/// rows depend on each other, name their clusters with --cluster: a cluster that is in both
/// samples, such as a person who has rows on both days, is one cluster. For models on the same rows
/// use `calipers compare`.
#[derive(Debug, Args)]
#[command(
    mut_arg("files", |files| files.value_names(["BEFORE", "AFTER"]).num_args(1..).help(FILES)),
    mut_arg("by", |by| by.help(BY)),
    after_help = include_str!("../help/drift.txt")
)]
pub(crate) struct DriftArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Column or array that splits one file into two samples
    #[arg(long, value_name = "COL", help_heading = "Input")]
    split: Option<String>,
    /// Value of --split in the rows before; may be left out if there are two values
    #[arg(long, value_name = "VALUE", requires = "split", allow_negative_numbers = true, help_heading = "Input")]
    before: Option<String>,
    /// Value of --split in the rows after; may be left out if there are two values
    #[arg(long, value_name = "VALUE", requires = "split", allow_negative_numbers = true, help_heading = "Input")]
    after: Option<String>,
    /// A measure by its name in `calipers list`; repeat it for further ones [default: ls_ece]
    #[arg(long, value_name = "NAME", help_heading = "Measures")]
    measure: Vec<String>,
    #[command(flatten)]
    named: NamedOptionArgs,
    #[command(flatten)]
    resample: ResampleArgs,
    #[command(flatten)]
    adjust: AdjustArgs,
    #[command(flatten)]
    options: OptionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

const FILES: &str = "Two files of predictions or of sketches, or one file with --split. Formats are those of `calipers measure`; a folder is one file of all rows in it";

const BY: &str = "Column or array of groups, with the same groups in both samples; each group that is in both also gets its own result";

/// Two samples of a model, or of a group of its rows, compared.
struct Compared {
    /// Before and after, with their numbers of rows and what happened to those.
    sides: [Measured<(u64, InputReport)>; 2],
    group: Option<Group>,
    by_measure: Vec<OfMeasure>,
    /// Groups that only one of the samples has.
    only: [Vec<String>; 2],
}

/// What has changed by one measure.
struct OfMeasure {
    name: &'static str,
    change: Result<Change, Error>,
    /// That of the curve, adjusted for all groups.
    p_adjusted: Option<f64>,
}

impl Compared {
    fn is_group(&self) -> bool {
        self.group.as_ref().is_some_and(|group| group.key.is_some())
    }
}

pub(crate) fn run(args: &DriftArgs, screen: &Screen) -> Result<String> {
    let names: Vec<&str> = args.measure.iter().map(String::as_str).collect();
    let names = if names.is_empty() { vec![LsEce::NAME] } else { names };
    let selected = selected::by_names(&names, &args.options, &args.named)?;
    args.resample.check()?;
    if let Multiclass::Classwise | Multiclass::AllClasses = args.input.rules.multiclass.asked {
        bail!("drift needs one outcome in each row; choose --multiclass top_class, or a class, as --multiclass 3");
    }
    args.output.start_threads()?;
    let from_sketch = |each: &Selected| each.measure.spec().from_sketch >= FromSketch::Assessment;
    let sketch = args.options.sketch_options().filter(|_| selected.iter().all(from_sketch));
    let split = args
        .split
        .as_deref()
        .map(|split| samples::Split { column: split, values: [args.before.as_deref(), args.after.as_deref()] });
    let mut input = args.input.clone();
    if let Some(split) = &split {
        if !input.by.is_empty() {
            bail!("--split does not go with --by; pass a file for each sample, or compare the groups one by one");
        }
        (input.by, input.by_option) = (vec![split.column.to_owned()], "--split");
    }
    let reader = Reader { args: &input, cluster: args.resample.cluster.as_deref(), sketch };
    let opened = samples::open(&args.input.open_files()?, &reader, split.as_ref())?;
    let waiting = progress::waiting();
    let mut results = Vec::new();
    for pair in opened.pairs()? {
        let comparing = Comparing { args, selected: &selected, n_tests: 1 };
        results.extend(comparing.all(&pair, &waiting)?);
    }
    drop(waiting);
    let adjust = args.adjust.adjust;
    adjust_for_groups(&mut results, adjust);
    Ok(if args.output.json {
        json::document(&results, adjust)
    } else {
        table::render(&results, adjust, split.as_ref(), screen)
    })
}

/// How samples are compared.
struct Comparing<'a> {
    args: &'a DriftArgs,
    selected: &'a [Selected],
    /// How many p-values are adjusted together.
    n_tests: u64,
}

impl Comparing<'_> {
    /// All rows, and each group that both samples have.
    fn all(&self, pair: &Pair<'_>, waiting: &indicatif::ProgressBar) -> Result<Vec<Compared>> {
        let parts = pair.parts()?;
        let by = parts.groups.as_ref().map(|groups| groups.by.clone());
        let of_group = |key: Option<String>| by.clone().map(|by| Group { by, key });
        let found = self.compared(parts.all.each_ref(), waiting)?;
        let whole = pair.compared(of_group(None), found);
        let Some(groups) = parts.groups else { return Ok(vec![whole]) };
        let for_groups = Comparing { n_tests: self.args.adjust.adjust.n_tests(groups.both.len()), ..*self };
        let mut all = vec![Compared { only: groups.only, ..whole }];
        for (key, parts) in &groups.both {
            let found = for_groups.compared(parts.each_ref(), waiting)?;
            all.push(pair.compared(of_group(Some(key.clone())), found));
        }
        Ok(all)
    }

    /// By each measure, with the numbers of rows.
    fn compared(&self, parts: [&Part<'_>; 2], waiting: &indicatif::ProgressBar) -> Result<samples::Found> {
        samples::with(parts, |before, after| {
            let resample = &self.args.resample;
            let change = |each: &Selected| {
                progress::begin(waiting, each.name());
                let drift = Drift::new(&*each.measure).level(resample.level).n_resamples(resample.n_resamples);
                let drift = drift.random_state(resample.random_state.random_state).n_tests(self.n_tests);
                OfMeasure { name: each.name(), change: drift.run(before, after), p_adjusted: None }
            };
            self.selected.iter().map(change).collect()
        })
    }
}

/// Adjusts the p-values of the groups of each model, measure by measure.
fn adjust_for_groups(results: &mut [Compared], adjust: Adjust) {
    // The result of all rows comes before those of its groups.
    for of_model in results.chunk_by_mut(|_, next| next.is_group()) {
        let groups = &mut of_model[1..];
        let n_measures = groups.first().map_or(0, |group| group.by_measure.len());
        for place in 0..n_measures {
            let known = groups.iter_mut().map(|group| &mut group.by_measure[place]).filter(|of| of.change.is_ok());
            let mut known: Vec<&mut OfMeasure> = known.collect();
            let p_value = |of: &&mut OfMeasure| of.change.as_ref().map_or(1.0, |change| change.curve.p_value);
            let adjusted = adjust.adjusted(&known.iter().map(p_value).collect::<Vec<f64>>());
            known.iter_mut().zip(adjusted).for_each(|(of, p)| of.p_adjusted = Some(p));
        }
    }
}
