//! `calipers recalibrate apply`: a file again, with recalibrated probabilities.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use calipers::recalibrate::Map;
use calipers::{Form, Ties};
use clap::Args;

use super::check::BY;
use super::model::{check_fits, recalibrated};
use super::{groups, map_file};
use crate::args::{InputArgs, OutputArgs};
use crate::dataset::files;
use crate::dataset::formats::{Column, Values};
use crate::dataset::whole_rows::{Rows, WholeFile, array, batch_of};
use crate::output::Output;
use crate::output::rows::{RowFormat, RowWriter};
use crate::render::{json, number};

/// Write a file again with recalibrated probabilities
///
/// All columns stay as they are, and a column `<column>_recalibrated` is added for each column of
/// probabilities; --replace puts the recalibrated probabilities in place of the others. Input and
/// output may have different formats. Rows are read and written in parts, so memory does not grow
/// with the file. A .npy output has the recalibrated probabilities alone.
///
/// With --invalid count, a row with a missing or invalid probability stays, and its recalibrated
/// probability is missing.
#[derive(Debug, Args)]
#[command(
    mut_arg("label", |arg| arg.hide(true)),
    mut_arg("pred", |arg| arg.hide(true)),
    mut_arg("weight", |arg| arg.hide(true)),
    mut_arg("by", |arg| arg.help(BY).long_help(None)),
    mut_arg("pos_label", |arg| arg.hide(true)),
    mut_arg("multiclass", |arg| arg.hide(true)),
    mut_arg("ties", |arg| arg.hide(true)),
    after_help = include_str!("../help/recalibrate_apply.txt")
)]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    input: InputArgs,

    /// The map that `calipers recalibrate fit` wrote
    #[arg(long, value_name = "FILE", help_heading = "Map")]
    map: PathBuf,

    /// Put recalibrated probabilities in place of the others, instead of into further columns
    #[arg(long, help_heading = "Map")]
    replace: bool,

    /// File to write: .csv .tsv .jsonl .ndjson (also with .gz or .zst), .parquet .arrow .feather
    /// .ipc .npz or .npy
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,

    #[command(flatten)]
    outcome: OutputArgs,
}

impl ApplyArgs {
    /// Options of outcomes, of which there are none here.
    fn check(&self) -> Result<()> {
        let InputArgs { label, pred, weight, rules, .. } = &self.input;
        let given = [
            ("--label", label.is_some()),
            ("--pred", pred.is_some()),
            ("--weight", weight.is_some()),
            ("--pos-label", rules.pos_label.is_some()),
            ("--multiclass", !rules.multiclass.is_automatic()),
            ("--ties", rules.ties != Ties::First),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => bail!("recalibrate apply does not accept {option}: it reads probabilities alone"),
            None => Ok(()),
        }
    }
}

/// What was written so far.
struct Written {
    writer: Box<dyn RowWriter>,
    n: u64,
    n_invalid: u64,
}

pub(super) fn run(args: &ApplyArgs) -> Result<String> {
    args.check()?;
    args.outcome.start_threads()?;
    // Before anything is read; delimited text may turn out to have other delimiters.
    RowFormat::of(&args.output, None)?;
    let map = map_file::read(&args.map)?.map;
    let mut inputs = args.input.open_files()?;
    files::reject_overwriting(&args.output, &inputs)?;
    let (Some(input), true) = (inputs.pop(), inputs.is_empty()) else {
        bail!("recalibrate apply takes one file; put files of the same columns into one folder");
    };
    let output = Output::new(&args.output)?;
    let apply = || -> Result<Written> {
        if input.is_sketch() {
            bail!("recalibrate apply does not accept a sketch: a map is applied to rows");
        }
        let by = groups::by_of(&map, &args.input, "recalibrate apply")?;
        let file = WholeFile::open(&input, &args.input, &by)?;
        let format = RowFormat::of(&args.output, file.dialect())?;
        let names = Names::new(&file, args.replace)?;
        output.write_with(|target| {
            let start = || Ok(Written { writer: format.start(target)?, n: 0, n_invalid: 0 });
            let mut written = file.for_each(format.is_delimited(), start, |written, rows| {
                written.n += rows.is_valid.len() as u64;
                written.n_invalid += rows.is_valid.iter().filter(|is_valid| !**is_valid).count() as u64;
                let (rows, new) = names.recalibrate(&map, file.form(), rows)?;
                written.writer.write(&rows, &new)
            })?;
            if written.n == 0 {
                bail!("no rows: there is nothing to write");
            }
            std::mem::replace(&mut written.writer, Box::new(Closed)).finish()?;
            Ok(written)
        })
    };
    let Written { n, n_invalid, .. } = apply().with_context(|| input.shown())?;
    if args.outcome.json {
        return Ok(json::document([
            ("file", args.output.display().to_string().into()),
            ("from", input.name.display().to_string().into()),
            ("map", args.map.display().to_string().into()),
            ("fingerprint", map.fingerprint().into()),
            ("n", n.into()),
            ("n_invalid", n_invalid.into()),
        ]));
    }
    let invalid = match n_invalid {
        0 => String::new(),
        n => format!(", {} of them without a valid probability", number::count(n)),
    };
    Ok(format!("{}: {} rows{invalid}, {}\n", args.output.display(), number::count(n), map.method().name()))
}

/// In place of a writer that has finished.
struct Closed;

impl RowWriter for Closed {
    fn write(&mut self, _rows: &RecordBatch, _new: &[usize]) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// The columns of probabilities, and those that take their values.
struct Names {
    /// One, or one for each class.
    scores: Vec<String>,
    replace: bool,
}

impl Names {
    fn new(file: &WholeFile<'_>, replace: bool) -> Result<Self> {
        let scores: Vec<String> = file.score_names().into_iter().map(str::to_owned).collect();
        let is_taken = |name: &&String| file.names().contains(&added(name));
        if let Some(name) = scores.iter().find(is_taken).filter(|_| !replace) {
            bail!("{} {} is there already; rename it or pass --replace", file.noun(), added(name));
        }
        Ok(Names { scores, replace })
    }

    /// All columns of the output, and the places of those that are new.
    fn recalibrate(&self, map: &Map, form: Form, rows: Rows) -> Result<(RecordBatch, Vec<usize>)> {
        check_fits(map, rows.scores.n_classes)?;
        let after = recalibrated(map, (&rows.scores, form), rows.groups.as_ref(), &rows.is_valid)?;
        let new = columns(after, self.scores.len())?;
        let schema = rows.columns.schema();
        let mut all: Vec<(String, ArrayRef)> = schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .zip(rows.columns.columns().iter().cloned())
            .collect();
        let mut places = Vec::new();
        for (name, array) in self.scores.iter().zip(new) {
            match all.iter().position(|(other, _)| other == name).filter(|_| self.replace) {
                Some(place) => {
                    all[place].1 = array;
                    places.push(place);
                }
                None => {
                    places.push(all.len());
                    all.push((added(name), array));
                }
            }
        }
        Ok((batch_of(all)?, places))
    }
}

fn added(name: &str) -> String {
    format!("{name}_recalibrated")
}

/// Rows of several classes as one column of lists, or as a column for each class.
fn columns(column: Column, n_columns: usize) -> Result<Vec<ArrayRef>> {
    if n_columns == 1 {
        return Ok(vec![array(&column)?]);
    }
    let Values::F64(values) = &column.values else { bail!("recalibrated probabilities must be doubles") };
    let of_class = |class: usize| -> ArrayRef {
        let cell = |row: usize| (!column.is_missing(row)).then(|| values[row * n_columns + class]);
        Arc::new(Float64Array::from_iter((0..column.n_rows()).map(cell)))
    };
    Ok((0..n_columns).map(of_class).collect())
}
