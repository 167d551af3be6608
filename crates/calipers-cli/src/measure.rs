//! `calipers measure`: LS-ECE and binned ECE of the predictions in files, or the measures that are named.
//!
//! ```text
//! few rows  -> columns in memory -> measures
//! many rows -> fill -> sketches  -> measures      and so are groups, files together, and files of sketches
//! ```

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use calipers::{Multiclass, SketchOptions};
use clap::Args;
use rayon::prelude::*;

use crate::args::{BinnedEceArgs, InputArgs, InputRules, LsEceArgs, MeasuresArgs, OutputArgs};
use crate::columns::{self, Chosen, Scores};
use crate::fill;
use crate::groups::Sketches;
use crate::input::{self, Loaded};
use crate::measured::{Columns, Group, Measured, Method};
use crate::question::{LsEceAndEce, Question};
use crate::read::{self, Column, Table};
use crate::{files, json, measures, measures_table, sketch_files, table};

/// Files of more rows are not kept in memory, if a sketch can answer.
const MOST_ROWS_IN_MEMORY: u64 = 1 << 20;

/// Measure the calibration error of predictions: LS-ECE, with a bound on its numerical error, and binned ECE
///
/// Other measures are asked for by name with --measure, or all with --all; `calipers measures` lists them.
/// Each file and each --prob gives one row, or one column of a table of many measures. Columns that are not named are taken by names that leave no doubt,
/// such as prob and label, and the output says so. An .npz file has arrays probs or logits, (n) or (n, k), or
/// conf and pred, with labels. A file of sketches (`calipers sketch`) is measured as the rows that it was made from.
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
    input: InputArgs,
    /// Measure the rows of all files together, in place of a row for each file
    #[arg(long, help_heading = "Input")]
    together: bool,
    #[command(flatten)]
    measures: MeasuresArgs,
    #[command(flatten)]
    ls_ece: LsEceArgs,
    #[command(flatten)]
    ece: BinnedEceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Everything that the options say, read before any file is.
struct Plan<'a, Q> {
    args: &'a InputArgs,
    rules: InputRules,
    question: Q,
    /// A sketch that the question can be put to, if there is one.
    sketch: Option<SketchOptions>,
    /// Whether that sketch answers as well as the rows do.
    sketch_is_enough: bool,
}

/// Sketches, and what they were made from.
struct Summed {
    files: Vec<PathBuf>,
    columns: Option<Columns>,
    sketches: Sketches,
}

pub(crate) fn run(args: &MeasureArgs) -> Result<String> {
    let json = args.output.json;
    let ls_ece = args.ls_ece.measure()?;
    let ece = args.ece.measure(args.ls_ece.link()?)?;
    match measures::named(&args.measures, &args.ls_ece, &args.ece)? {
        None => {
            let results = measure(args, LsEceAndEce { ls_ece, ece }, true, &[])?;
            Ok(if json { json::render(&results) } else { table::render(&results) })
        }
        Some(named) => {
            let sketch_is_enough = named.sketch_is_enough();
            let results = measure(args, named, sketch_is_enough, &[measures::N_BINS])?;
            Ok(if json { json::render_named(&results) } else { measures_table::render(&results) })
        }
    }
}

/// `more_bins` are kept in sketches next to those of ECE.
fn measure<Q: Question>(
    args: &MeasureArgs,
    question: Q,
    sketch_is_enough: bool,
    more_bins: &[usize],
) -> Result<Vec<Measured<Q::Answer>>> {
    let rules = args.input.rules()?;
    let sketch = args.ls_ece.sketch_options().zip(args.ece.n_bins_of_a_sketch()).and_then(|(options, n_bins)| {
        (rules.multiclass != Multiclass::Classwise).then(|| options.n_bins(&[&[n_bins], more_bins].concat()))
    });
    let plan = Plan { args: &args.input, rules, question, sketch, sketch_is_enough };
    args.output.start_threads()?;
    let files = files::expand(&args.input.files)?;
    if args.together {
        return plan.measure_together(&files);
    }
    let mut results = Vec::new();
    for file in &files {
        results.extend(plan.measure_file(file).with_context(|| file.display().to_string())?);
    }
    Ok(results)
}

impl<Q: Question> Plan<'_, Q> {
    fn measure_file(&self, file: &Path) -> Result<Vec<Measured<Q::Answer>>> {
        if sketch_files::is_one(file) {
            let sketches = sketch_files::read(file)?;
            return self.measure_sketches(Summed { files: vec![file.to_owned()], columns: None, sketches });
        }
        let (table, chosen) = columns::open(file, self.args, self.rules.invalid)?;
        let most_rows = match &self.sketch {
            Some(_) if chosen.by.is_some() => 0,
            Some(_) if self.sketch_is_enough => MOST_ROWS_IN_MEMORY,
            _ => u64::MAX,
        };
        if self.sketch.is_none() && chosen.by.is_some() {
            bail!(NEEDS_ROWS);
        }
        let in_memory = match chosen.by {
            Some(_) => None,
            None => read::collect(&*table, &input::wanted(&chosen, &self.rules), most_rows)?,
        };
        match in_memory {
            Some(columns) => self.measure_rows(file, &*table, &chosen, columns),
            None => {
                let mut measured = Vec::new();
                for (scores, summed) in chosen.scores.iter().zip(self.sum(file, &*table, &chosen)?) {
                    let result = self.measure_sketches(summed);
                    measured.extend(result.map_err(|error| chosen.in_model(&*table, scores, error))?);
                }
                Ok(measured)
            }
        }
    }

    fn measure_rows(
        &self,
        file: &Path,
        table: &dyn Table,
        chosen: &Chosen,
        columns: Vec<Column>,
    ) -> Result<Vec<Measured<Q::Answer>>> {
        let loaded = Loaded::new(columns, 0, chosen, &self.rules)?;
        let models = chosen.scores.iter().zip(&loaded.scores);
        let measured = models.map(|(scores, column)| {
            let result = self.measure_model(file, table, chosen, &loaded, scores, column);
            result.map_err(|error| chosen.in_model(table, scores, error))
        });
        measured.collect()
    }

    fn measure_model(
        &self,
        file: &Path,
        table: &dyn Table,
        chosen: &Chosen,
        loaded: &Loaded,
        scores: &Scores,
        column: &Column,
    ) -> Result<Measured<Q::Answer>> {
        let predictions = loaded.input(column, scores.form, &self.rules)?.check()?;
        let multiclass = loaded.multiclass(&self.rules);
        let ties = self.rules.ties;
        let figures = if multiclass == Multiclass::Classwise {
            self.question.answer(&|measure| predictions.estimate(multiclass, ties, measure))?
        } else {
            let view = predictions.view(multiclass, ties)?;
            self.question.answer(&|measure| measure.estimate(&view))?
        };
        let columns = Some(Columns::new(table, chosen, scores, column.n_classes, &self.rules));
        Ok(Measured { files: vec![file.to_owned()], columns, group: None, method: Method::Rows, figures })
    }

    /// The sketches of each model in a file.
    fn sum(&self, file: &Path, table: &dyn Table, chosen: &Chosen) -> Result<Vec<Summed>> {
        let Some(options) = &self.sketch else { bail!(NEEDS_ROWS) };
        let filled = fill::fill(file, table, chosen, &self.rules, options)?;
        let summed = chosen.scores.iter().zip(filled).map(|(scores, filled)| Summed {
            files: vec![file.to_owned()],
            columns: Some(Columns::new(table, chosen, scores, filled.n_classes, &self.rules)),
            sketches: filled.sketches,
        });
        Ok(summed.collect())
    }

    fn sum_file(&self, file: &Path) -> Result<Vec<Summed>> {
        if sketch_files::is_one(file) {
            let sketches = sketch_files::read(file)?;
            return Ok(vec![Summed { files: vec![file.to_owned()], columns: None, sketches }]);
        }
        let (table, chosen) = columns::open(file, self.args, self.rules.invalid)?;
        self.sum(file, &*table, &chosen)
    }

    /// All files as one.
    fn measure_together(&self, files: &[PathBuf]) -> Result<Vec<Measured<Q::Answer>>> {
        if self.sketch.is_none() {
            bail!(NEEDS_ROWS);
        }
        let mut all: Vec<Summed> = Vec::new();
        for file in files {
            let name = || file.display().to_string();
            let more = self.sum_file(file).with_context(name)?;
            if all.is_empty() {
                all = more;
                continue;
            }
            if more.len() != all.len() {
                bail!("{}: must have the models of the files before it, got {} and {}", name(), more.len(), all.len());
            }
            for (summed, more) in all.iter_mut().zip(more) {
                summed.sketches.merge(&more.sketches).with_context(name)?;
                summed.files.extend(more.files);
            }
        }
        let measured = all.into_iter().map(|summed| self.measure_sketches(summed));
        Ok(measured.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// All rows, and each group of them at the sigma of all: what is compared has one.
    fn measure_sketches(&self, summed: Summed) -> Result<Vec<Measured<Q::Answer>>> {
        let Summed { files, columns, sketches } = summed;
        let measured = |group, figures| Measured {
            files: files.clone(),
            columns: columns.clone(),
            group,
            method: Method::Sketch,
            figures,
        };
        let all = self.question.answer(&|measure| sketches.all.estimate(measure))?;
        let Some(groups) = sketches.groups else { return Ok(vec![measured(None, all)]) };
        let question = self.question.at_sigma_of(&all);
        let of_group = |key: Option<String>| Some(Group { by: groups.by.clone(), key });
        let mut keys: Vec<&String> = groups.sketches.keys().collect();
        sort_as_people_do(&mut keys);
        let rows = keys.into_par_iter().map(|key| {
            let sketch = &groups.sketches[key];
            let figures = question.answer(&|measure| sketch.estimate(measure));
            let figures = figures.with_context(|| format!("{} {key}", groups.by))?;
            Ok(measured(of_group(Some(key.clone())), figures))
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        Ok(std::iter::once(measured(of_group(None), all)).chain(rows).collect())
    }
}

const NEEDS_ROWS: &str = "--by and --together need what a sketch can answer: --noise gaussian or logistic, --link logistic, a number \
     of --n-bins of equal width without --compat, and no --multiclass classwise";

/// By number if all are numbers.
fn sort_as_people_do(keys: &mut [&String]) {
    let number = |key: &String| key.parse::<f64>().ok();
    if keys.iter().all(|key| number(key).is_some()) {
        keys.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
    }
}
