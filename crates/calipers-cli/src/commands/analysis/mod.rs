//! Files -> answers to a question, for each model and each group.
//!
//! ```text
//! few rows  -> columns in memory -> question        and groups of them
//! many rows -> fill -> sketches  -> question        and so are files together, and files of sketches
//! ```

pub(crate) mod floor;
pub(crate) mod measures;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use calipers::{Error, Multiclass, Predictions, SketchOptions};
use rayon::prelude::*;

use crate::args::{BinnedEceArgs, InputArgs, InputRules, LsEceArgs};
use crate::commands::analysis::measures::Question;
use crate::dataset::batch::{self, Loaded};
use crate::dataset::columns::{self, Chosen, Scores};
use crate::dataset::files::{self, InputFile};
use crate::dataset::formats::{self, Column, Table};
use crate::dataset::groups::{in_order, numbered, rows_of_groups};
use crate::dataset::model::{Columns, Group, Measured, Method};
use crate::dataset::sketches::Sketches;
use crate::dataset::sketching;
use crate::dataset::source::Source;

/// Files of more rows are not kept in memory, if a sketch can answer.
const MOST_ROWS_IN_MEMORY: u64 = 1 << 20;

/// What is read and how, as it was typed.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) input: &'a InputArgs,
    /// All files as one.
    pub(crate) together: bool,
    /// The column that tells clusters apart.
    pub(crate) cluster: Option<&'a str>,
    pub(crate) ls_ece: &'a LsEceArgs,
    pub(crate) ece: &'a BinnedEceArgs,
}

/// Everything that the options say, read before any file is.
struct Plan<'a, Q> {
    args: &'a InputArgs,
    cluster: Option<&'a str>,
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

/// One model of a file, in memory.
struct Model<'a> {
    file: &'a InputFile,
    loaded: &'a Loaded,
    scores: &'a Scores,
    column: &'a Column,
    /// Columns that tell groups and clusters apart.
    groups: Option<(&'a str, &'a Column)>,
    clusters: Option<&'a Column>,
    columns: Columns,
}

impl Reading<'_> {
    /// `more_bins` are kept in sketches next to those of ECE.
    pub(crate) fn answers<Q: Question>(
        self,
        question: Q,
        sketch_is_enough: bool,
        more_bins: &[usize],
    ) -> Result<Vec<Measured<Q::Answer>>> {
        let rules = self.input.rules()?;
        let sketch = self.ls_ece.sketch_options().zip(self.ece.n_bins_of_a_sketch()).and_then(|(options, n_bins)| {
            (rules.multiclass != Multiclass::Classwise).then(|| options.n_bins(&[&[n_bins], more_bins].concat()))
        });
        let plan = Plan { args: self.input, cluster: self.cluster, rules, question, sketch, sketch_is_enough };
        let files = self.input.open_files()?;
        if self.together {
            return plan.answer_together(&files);
        }
        let mut results = Vec::new();
        for file in &files {
            results.extend(plan.answer_file(file).with_context(|| file.shown())?);
        }
        Ok(results)
    }
}

impl<Q: Question> Plan<'_, Q> {
    fn answer_file(&self, file: &InputFile) -> Result<Vec<Measured<Q::Answer>>> {
        if file.is_sketch() {
            if self.cluster.is_some() {
                bail!("--cluster needs the rows, which a sketch has lost");
            }
            let sketches = self.read_sketches(file)?;
            return self.answer_sketches(Summed { files: vec![file.name.clone()], columns: None, sketches });
        }
        let (table, chosen) = columns::open(file, self.args, self.cluster, self.rules.invalid)?;
        let most_rows = match &self.sketch {
            Some(_) if self.sketch_is_enough && chosen.cluster.is_none() => MOST_ROWS_IN_MEMORY,
            _ => u64::MAX,
        };
        match formats::collect(&*table, &batch::wanted(&chosen, &self.rules), self.rules.limit, most_rows)? {
            Some(columns) => self.answer_rows(file, &*table, &chosen, columns),
            None => {
                let mut answers = Vec::new();
                for (scores, summed) in chosen.scores.iter().zip(self.sum(file, &*table, &chosen)?) {
                    let result = self.answer_sketches(summed);
                    answers.extend(result.map_err(|error| chosen.in_model(&*table, scores, error))?);
                }
                Ok(answers)
            }
        }
    }

    fn answer_rows(
        &self,
        file: &InputFile,
        table: &dyn Table,
        chosen: &Chosen,
        mut columns: Vec<Column>,
    ) -> Result<Vec<Measured<Q::Answer>>> {
        let clusters = chosen.cluster.and_then(|_| columns.pop());
        let groups = chosen.by.and_then(|_| columns.pop());
        let by = chosen.by.map_or("", |place| &table.names()[place]);
        let loaded = Loaded::new(columns, 0, chosen, &self.rules)?;
        let mut answers = Vec::new();
        for (scores, column) in chosen.scores.iter().zip(&loaded.scores) {
            let model = Model {
                file,
                loaded: &loaded,
                scores,
                column,
                groups: groups.as_ref().map(|groups| (by, groups)),
                clusters: clusters.as_ref(),
                columns: Columns::new(table, chosen, scores, column.n_classes, &self.rules),
            };
            let result = self.answer_model(&model);
            answers.extend(result.map_err(|error| chosen.in_model(table, scores, error))?);
        }
        Ok(answers)
    }

    /// All rows, and each group of them.
    fn answer_model(&self, model: &Model<'_>) -> Result<Vec<Measured<Q::Answer>>> {
        let predictions = model.loaded.input(model.column, model.scores.form, &self.rules)?.check()?;
        let rows: Vec<usize> = (0..predictions.len()).map(|place| predictions.row(place)).collect();
        let all = self.answer(model, &predictions, &rows)?;
        let measured = |group, figures| Measured {
            files: vec![model.file.name.clone()],
            columns: Some(model.columns.clone()),
            group,
            method: Method::Rows,
            figures,
        };
        let Some((by, column)) = model.groups else { return Ok(vec![measured(None, all)]) };
        let of_group = |key: Option<String>| Some(Group { by: by.to_owned(), key });
        let groups = rows_of_groups(column, &rows);
        let question = self.question.for_groups(&all, groups.len());
        let plan = Plan { question, rules: self.rules.clone(), sketch: None, ..*self };
        let figures = in_order(&groups).into_par_iter().map(|(key, rows)| {
            let answered = || -> Result<Q::Answer> {
                let (loaded, column) = model.loaded.select(model.column, rows);
                let predictions = loaded.input(&column, model.scores.form, &self.rules)?.check()?;
                Ok(plan.answer(model, &predictions, rows)?)
            };
            let figures = answered().with_context(|| format!("{by} {key}"))?;
            Ok(measured(of_group(Some(key.clone())), figures))
        });
        let figures = figures.collect::<Result<Vec<_>>>()?;
        Ok(std::iter::once(measured(of_group(None), all)).chain(figures).collect())
    }

    /// The answer of some rows of a model, which are those of the predictions.
    fn answer(&self, model: &Model<'_>, predictions: &Predictions<'_>, rows: &[usize]) -> Result<Q::Answer, Error> {
        let (multiclass, ties) = (model.loaded.multiclass(&self.rules), self.rules.ties);
        let clusters = model.clusters.map(|column| numbered(column, rows)).transpose()?;
        if multiclass == Multiclass::Classwise {
            return self.question.answer(&Source::Classes { predictions, ties, clusters });
        }
        let view = predictions.view(multiclass, ties)?;
        self.question.answer(&Source::Rows { view: &view, clusters })
    }

    /// The sketches of each model in a file.
    fn sum(&self, file: &InputFile, table: &dyn Table, chosen: &Chosen) -> Result<Vec<Summed>> {
        let Some(options) = &self.sketch else { bail!(NEEDS_ROWS) };
        let filled = sketching::fill(file, table, chosen, &self.rules, options)?;
        let summed = chosen.scores.iter().zip(filled).map(|(scores, filled)| Summed {
            files: vec![file.name.clone()],
            columns: Some(Columns::new(table, chosen, scores, filled.n_classes, &self.rules)),
            sketches: filled.sketches,
        });
        Ok(summed.collect())
    }

    fn read_sketches(&self, file: &InputFile) -> Result<Sketches> {
        if self.args.limit.is_some() {
            bail!("--limit needs the rows, which a sketch has lost");
        }
        Sketches::read(&file.path)
    }

    fn sum_file(&self, file: &InputFile) -> Result<Vec<Summed>> {
        if file.is_sketch() {
            let sketches = self.read_sketches(file)?;
            return Ok(vec![Summed { files: vec![file.name.clone()], columns: None, sketches }]);
        }
        let (table, chosen) = columns::open(file, self.args, None, self.rules.invalid)?;
        self.sum(file, &*table, &chosen)
    }

    /// All files as one.
    fn answer_together(&self, files: &[InputFile]) -> Result<Vec<Measured<Q::Answer>>> {
        if self.cluster.is_some() {
            bail!("--cluster needs the rows of one file, and --together makes a sketch of all");
        }
        if self.sketch.is_none() {
            bail!(NEEDS_ROWS);
        }
        let mut all: Vec<Summed> = Vec::new();
        files::for_each(
            files,
            |file| self.sum_file(file),
            |more| {
                if all.is_empty() {
                    all = more;
                    return Ok(());
                }
                if more.len() != all.len() {
                    bail!("must have the models of the files before it, got {} and {}", more.len(), all.len());
                }
                for (summed, more) in all.iter_mut().zip(more) {
                    summed.sketches.merge(&more.sketches)?;
                    summed.files.extend(more.files);
                }
                Ok(())
            },
        )?;
        let answers = all.into_iter().map(|summed| self.answer_sketches(summed));
        Ok(answers.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// All rows, and each group of them.
    fn answer_sketches(&self, summed: Summed) -> Result<Vec<Measured<Q::Answer>>> {
        let Summed { files, columns, sketches } = summed;
        let measured = |group, figures| Measured {
            files: files.clone(),
            columns: columns.clone(),
            group,
            method: Method::Sketch,
            figures,
        };
        // A file of sketches does not tell.
        let confidences = columns.as_ref().map(|columns| columns.multiclass == Multiclass::TopClass);
        let all = self.question.answer(&Source::Sketch { sketch: &sketches.all, confidences })?;
        let Some(groups) = sketches.groups else { return Ok(vec![measured(None, all)]) };
        let question = self.question.for_groups(&all, groups.sketches.len());
        let of_group = |key: Option<String>| Some(Group { by: groups.by.clone(), key });
        let rows = in_order(&groups.sketches).into_par_iter().map(|(key, sketch)| {
            let figures = question.answer(&Source::Sketch { sketch, confidences });
            let figures = figures.with_context(|| format!("{} {key}", groups.by))?;
            Ok(measured(of_group(Some(key.clone())), figures))
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        Ok(std::iter::once(measured(of_group(None), all)).chain(rows).collect())
    }
}

const NEEDS_ROWS: &str = "--together needs what a sketch can answer: --noise gaussian or logistic, --link logistic, a number \
     of --n-bins of equal width without --compat, and no --multiclass classwise";
