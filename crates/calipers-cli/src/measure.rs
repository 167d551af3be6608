//! `calipers measure`: LS-ECE and binned ECE of the predictions in files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use calipers::{BinnedEce, Estimate, Estimator, Form, LsEce, Multiclass};
use clap::Args;

use crate::args::{BinnedEceArgs, InputArgs, InputRules, LsEceArgs, OutputArgs};
use crate::columns::{self, Chosen, Scores};
use crate::input::{self, Loaded};
use crate::read::{self, Column, Table};
use crate::{json, table};

/// Measure the calibration error of predictions: LS-ECE, with a bound on its numerical error, and binned ECE
///
/// Each file and each --prob gives one row. Columns that are not named are taken by names that leave no doubt,
/// such as prob and label, and the output says so. An .npz file has arrays probs or logits, (n) or (n, k), or
/// conf and pred, with labels.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  calipers measure predictions.csv
  calipers measure predictions.parquet --prob model_a --prob model_b --label bought --positive yes
  calipers measure cifar10_*.npz --sigma 0.1 --json

Exit code: 0 fine, 2 could not measure.")]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    ls_ece: LsEceArgs,
    #[command(flatten)]
    ece: BinnedEceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// One model in one file, measured.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) file: PathBuf,
    pub(crate) prob: String,
    pub(crate) label: String,
    pub(crate) predicted: Option<String>,
    pub(crate) weight: Option<String>,
    pub(crate) form: Form,
    pub(crate) multiclass: Multiclass,
    /// 1 for a plain column.
    pub(crate) n_classes: usize,
    pub(crate) ls_ece: Estimate,
    pub(crate) ece: Estimate,
    pub(crate) rules: InputRules,
    /// What was not named, in words: `probability from column prob`.
    pub(crate) guessed: Vec<String>,
}

/// Everything that the options say, read before any file is.
struct Plan<'a> {
    args: &'a InputArgs,
    rules: InputRules,
    ls_ece: LsEce,
    ece: BinnedEce,
}

pub(crate) fn run(args: &MeasureArgs) -> Result<String> {
    let plan = Plan {
        args: &args.input,
        rules: args.input.rules()?,
        ls_ece: args.ls_ece.measure()?,
        ece: args.ece.measure(args.ls_ece.link()?)?,
    };
    args.output.start_threads()?;
    let mut results = Vec::new();
    for file in &args.input.files {
        results.extend(plan.measure_file(file).with_context(|| file.display().to_string())?);
    }
    Ok(if args.output.json { json::render(&results) } else { table::render(&results) })
}

impl Plan<'_> {
    fn measure_file(&self, file: &Path) -> Result<Vec<Measured>> {
        let (table, chosen): (Box<dyn Table>, Chosen) = if read::extension(file) == "npy" {
            // A name without a file is the likelier mistake.
            read::open_file(file)?;
            let (files, chosen) = columns::choose_files(file, self.args)?;
            (Box::new(files), chosen)
        } else {
            let table = read::open(file, self.rules.invalid)?;
            let chosen = columns::choose(&*table, self.args)?;
            (table, chosen)
        };
        let columns = read::collect(&*table, &input::wanted(&chosen, &self.rules), u64::MAX)?.unwrap_or_default();
        let loaded = Loaded::new(columns, 0, &chosen, &self.rules)?;
        let models = chosen.scores.iter().zip(&loaded.scores);
        let mut measured = Vec::with_capacity(chosen.scores.len());
        for (scores, column) in models {
            let result = self.measure_model(file, &*table, &chosen, &loaded, scores, column);
            let model = || format!("{} {}", table.noun(), table.names()[scores.place]);
            measured.push(if chosen.scores.len() > 1 { result.with_context(model)? } else { result? });
        }
        Ok(measured)
    }

    fn measure_model(
        &self,
        file: &Path,
        table: &dyn Table,
        chosen: &Chosen,
        loaded: &Loaded,
        scores: &Scores,
        column: &Column,
    ) -> Result<Measured> {
        let predictions = loaded.input(column, scores.form, &self.rules)?.check()?;
        let multiclass = loaded.multiclass(&self.rules);
        let ties = self.rules.ties;
        let (ls_ece, ece) = if multiclass == Multiclass::Classwise {
            let of = |measure: &dyn Estimator| predictions.estimate(multiclass, ties, measure);
            (of(&self.ls_ece)?, of(&self.ece)?)
        } else {
            let view = predictions.view(multiclass, ties)?;
            (self.ls_ece.estimate(&view)?, self.ece.estimate(&view)?)
        };
        let name = |place: usize| table.names()[place].clone();
        Ok(Measured {
            file: file.to_owned(),
            prob: name(scores.place),
            label: name(chosen.label),
            predicted: chosen.predicted.map(name),
            weight: chosen.weight.map(name),
            form: scores.form,
            multiclass: loaded.shown_multiclass(column, &self.rules),
            n_classes: column.n_classes,
            ls_ece,
            ece,
            rules: self.rules.clone(),
            guessed: guesses(table, chosen, scores, column.n_classes),
        })
    }
}

/// What was not named, in words.
fn guesses(table: &dyn Table, chosen: &Chosen, scores: &Scores, n_classes: usize) -> Vec<String> {
    let from = |place: usize| format!("{} {}", table.noun(), table.names()[place]);
    let score = match (scores.form, n_classes) {
        (Form::Probabilities, 1) => "probability",
        (Form::Probabilities, _) => "probabilities",
        (Form::Logits, 1) => "raw logit",
        (Form::Logits, _) => "raw logits",
    };
    let guessed = &chosen.guessed;
    let label = match (chosen.predicted, n_classes) {
        (Some(predicted), _) => format!("outcome from whether {} equals {}", from(predicted), from(chosen.label)),
        (None, 1) => format!("outcome from {}", from(chosen.label)),
        (None, _) => format!("labels from {}", from(chosen.label)),
    };
    let all = [
        (guessed.scores || scores.form_guessed).then(|| format!("{score} from {}", from(scores.place))),
        (guessed.label || guessed.predicted).then_some(label),
        chosen.weight.filter(|_| guessed.weight).map(|weight| format!("weight from {}", from(weight))),
    ];
    all.into_iter().flatten().collect()
}
