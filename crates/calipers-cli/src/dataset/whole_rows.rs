//! All columns of a file beside the scores of one model, part after part in the order of the file:
//! for a command that writes the rows again.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeListArray, PrimitiveArray, RecordBatch, StringArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{Field, Schema};
use calipers::{Error, Floats, Form, Input, Labels, Tally};

use super::batch;
use super::columns::{self, Scores};
use super::files::InputFile;
use super::formats::{self, AtPlace, Column, Dialect, Part, Role, Table, Values};
use super::groups::RowGroups;
use crate::args::{InputArgs, InputRules};
use crate::progress::Progress;

/// A file whose rows are written again.
pub(crate) struct WholeFile<'a> {
    file: &'a InputFile,
    table: Box<dyn Table>,
    scores: Scores,
    /// The columns of groups, if rows are told apart by such.
    by: Vec<usize>,
    rules: &'a InputRules,
}

/// Some rows.
pub(crate) struct Rows {
    /// Of the model; one value for each row, or one for each class.
    pub(crate) scores: Column,
    /// The groups of rows, if they are told apart by such.
    pub(crate) groups: Option<RowGroups>,
    /// Rows with valid scores.
    pub(crate) is_valid: Vec<bool>,
    /// All columns of the file.
    pub(crate) columns: RecordBatch,
}

impl<'a> WholeFile<'a> {
    /// With the columns of groups, if any are named.
    pub(crate) fn open(file: &'a InputFile, args: &'a InputArgs, by: &[String]) -> Result<Self> {
        let (table, scores) = columns::open_scores(file, args)?;
        let by = columns::find_groups(&*table, by, args.by_option)?;
        Ok(WholeFile { file, table, scores, by, rules: &args.rules })
    }

    /// The names of the columns of the scores.
    pub(crate) fn score_names(&self) -> Vec<&str> {
        self.scores.places.iter().map(|place| self.table.names()[*place].as_str()).collect()
    }

    pub(crate) fn names(&self) -> &[String] {
        self.table.names()
    }

    pub(crate) fn noun(&self) -> &'static str {
        self.table.noun()
    }

    pub(crate) fn form(&self) -> Form {
        self.scores.form
    }

    pub(crate) fn dialect(&self) -> Option<Dialect> {
        self.table.dialect()
    }

    /// Hands all rows to `take`. `start` makes what a reading of the file begins with: a file of
    /// text is read again if its columns turn out to have other types. Cells of text stay as they
    /// are written with `as_text`.
    pub(crate) fn for_each<S>(
        &self,
        as_text: bool,
        mut start: impl FnMut() -> Result<S>,
        mut take: impl FnMut(&mut S, Rows) -> Result<()>,
    ) -> Result<S> {
        let role = match self.scores.form {
            Form::Probabilities => Role::Probabilities,
            Form::Logits => Role::Logits,
        };
        let limit = self.rules.limit();
        let scores = self.scores.places.iter().map(|place| (*place, role));
        let wanted: Vec<(usize, Role)> = scores.chain(self.by.iter().map(|place| (*place, Role::Groups))).collect();
        let n_wanted = wanted.len();
        if let Some(rows) = self.table.whole_rows(&wanted, limit)? {
            let mut state = start()?;
            for part in rows {
                let (part, columns) = part?;
                take(&mut state, self.rows(part.first_row, part.columns, columns)?)?;
            }
            return Ok(state);
        }
        // Scores of delimited text are read twice: as numbers, and as they are written.
        let twice = self.table.dialect().is_some();
        let kept: Vec<usize> =
            (0..self.table.names().len()).filter(|place| twice || !self.scores.places.contains(place)).collect();
        let wanted: Vec<(usize, Role)> =
            wanted.into_iter().chain(kept.iter().map(|place| (*place, Role::Kept { as_text }))).collect();
        let start = |extent| Ok((Progress::new(&self.file.name, extent), start()?));
        let (_, state) = formats::in_order(&*self.table, &wanted, limit, start, |(progress, state), part| {
            progress.add(&part);
            let Part { first_row, mut columns, .. } = part;
            let others = columns.split_off(n_wanted);
            let mut arrays: Vec<Option<ArrayRef>> = vec![None; self.table.names().len()];
            for (place, column) in kept.iter().zip(&others) {
                arrays[*place] = Some(array(column)?);
            }
            for (place, column) in self.scores.places.iter().zip(&columns) {
                if arrays[*place].is_none() {
                    arrays[*place] = Some(array(column)?);
                }
            }
            let named = self.table.names().iter().zip(arrays.into_iter().flatten());
            let batch = batch_of(named.map(|(name, array)| (name.clone(), array)).collect())?;
            take(state, self.rows(first_row, columns, batch)?)
        })?;
        Ok(state)
    }

    fn rows(&self, first_row: u64, mut scores: Vec<Column>, columns: RecordBatch) -> Result<Rows> {
        let by = scores.split_off(scores.len() - self.by.len());
        let groups = (!by.is_empty()).then(|| RowGroups::new(&by));
        let scores = batch::scaled(batch::one_column(scores, &self.scores)?, &self.scores, self.rules)?;
        let is_valid = self.check(&scores, first_row).map_err(|error| match error.row() {
            Some(row) => AtPlace::new(error, self.table.place(row)).into(),
            None => anyhow::Error::from(error),
        })?;
        Ok(Rows { scores, groups, is_valid, columns })
    }

    /// Which rows have valid scores; an error where invalid rows are rejected. There are no labels,
    /// so all are 0 in their place.
    fn check(&self, scores: &Column, first_row: u64) -> Result<Vec<bool>, Error> {
        let Some(floats) = scores.floats() else { return Err(Role::Logits.wrong_type(scores.values.type_name())) };
        let labels = vec![0u8; scores.n_rows()];
        let input = match self.scores.form {
            Form::Probabilities => Input::probabilities(floats, Labels::from(&labels[..])),
            Form::Logits => Input::logits(floats, Labels::from(&labels[..])),
        };
        let InputRules { sum_tolerance, invalid, .. } = *self.rules;
        let input = input.first_row(first_row).classes(scores.n_classes).sum_tolerance(sum_tolerance).invalid(invalid);
        let predictions = input.missing(scores.missing.as_deref(), None, None).check_batch(&mut Tally::default())?;
        let mut is_valid = vec![false; scores.n_rows()];
        batch::kept_rows(&predictions).into_iter().for_each(|row| is_valid[row] = true);
        Ok(is_valid)
    }
}

/// Columns with names as Arrow has them.
pub(crate) fn batch_of(columns: Vec<(String, ArrayRef)>) -> Result<RecordBatch> {
    let field = |(name, array): &(String, ArrayRef)| Field::new(name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<Field>>());
    Ok(RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, array)| array).collect())?)
}

/// A column as Arrow has it; one of several values for each row is one of lists.
pub(crate) fn array(column: &Column) -> Result<ArrayRef> {
    let is_present = || column.missing.as_ref().map(|missing| missing.iter().map(|missing| !missing).collect());
    let nulls = is_present().map(|present: Vec<bool>| NullBuffer::new(BooleanBuffer::from(present)));
    if column.n_classes > 1 {
        let items = values(&column.values, None);
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        let k = i32::try_from(column.n_classes)?;
        return Ok(Arc::new(FixedSizeListArray::try_new(field, k, items, nulls)?));
    }
    Ok(values(&column.values, nulls))
}

fn values(values: &Values, nulls: Option<NullBuffer>) -> ArrayRef {
    fn primitive<T: ArrowPrimitiveType>(values: &ScalarBuffer<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(values.clone(), nulls))
    }
    match values {
        Values::Bool(values) => Arc::new(BooleanArray::new(BooleanBuffer::from(&values[..]), nulls)),
        Values::I8(values) => primitive::<Int8Type>(values, nulls),
        Values::I16(values) => primitive::<Int16Type>(values, nulls),
        Values::I32(values) => primitive::<Int32Type>(values, nulls),
        Values::I64(values) => primitive::<Int64Type>(values, nulls),
        Values::U8(values) => primitive::<UInt8Type>(values, nulls),
        Values::U16(values) => primitive::<UInt16Type>(values, nulls),
        Values::U32(values) => primitive::<UInt32Type>(values, nulls),
        Values::U64(values) => primitive::<UInt64Type>(values, nulls),
        Values::F32(values) => primitive::<Float32Type>(values, nulls),
        Values::F64(values) => primitive::<Float64Type>(values, nulls),
        Values::Text(texts) => {
            let is_present = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let cells = texts.iter().enumerate().map(|(row, text)| is_present(row).then_some(&**text));
            Arc::new(StringArray::from_iter(cells))
        }
    }
}

/// The scores of a row as doubles.
pub(crate) fn row_of(scores: &Column, row: usize, into: &mut Vec<f64>) {
    into.clear();
    let places = row * scores.n_classes..(row + 1) * scores.n_classes;
    match scores.floats() {
        Some(Floats::F64(values)) => into.extend_from_slice(&values[places]),
        Some(Floats::F32(values)) => into.extend(values[places].iter().map(|value| f64::from(*value))),
        _ => {}
    }
}
