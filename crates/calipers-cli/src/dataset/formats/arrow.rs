//! Arrow arrays -> columns: what Parquet and Arrow IPC have in common.

use anyhow::Result;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, OffsetSizeTrait, RecordBatch, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, Schema};
use calipers::Error;

use super::{Column, Part, Place, Role, Values};

pub(crate) fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// The first row of each part of so many rows, and at last the number of all rows.
pub(crate) fn first_rows(n_rows: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut first_rows = vec![0_u64];
    for n_rows in n_rows {
        first_rows.push(first_rows[first_rows.len() - 1].saturating_add(n_rows));
    }
    first_rows
}

/// The rows of a batch that are before the limit, of which there is one at least.
pub(crate) fn within(batch: RecordBatch, first_row: u64, limit: u64) -> RecordBatch {
    let n_rows = usize::try_from(limit - first_row).unwrap_or(usize::MAX);
    if batch.num_rows() <= n_rows { batch } else { batch.slice(0, n_rows) }
}

/// The batches of one column alone, in the order of the file.
type OneColumn<'a> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>;

/// The wanted columns, which are taken from record batches.
pub(crate) struct Projection {
    /// Their places in the schema, ascending and each once.
    places: Vec<usize>,
    /// For each wanted column its place among `places`.
    columns: Vec<(usize, Wanted)>,
}

/// A wanted column.
struct Wanted {
    name: String,
    role: Role,
    /// Values of a row: 1 for a plain column, and for lists the length of the first in the file.
    n_classes: usize,
}

impl Projection {
    /// Refuses what cannot be read by its type, before anything is read. Where rows are lists,
    /// `column` is read up to the first that is not null.
    pub(crate) fn new<'a>(
        schema: &Schema,
        wanted: &[(usize, Role)],
        column: impl Fn(usize) -> Result<OneColumn<'a>>,
    ) -> Result<Self> {
        let mut places: Vec<usize> = wanted.iter().map(|(place, _)| *place).collect();
        places.sort_unstable();
        places.dedup();
        for &(place, role) in wanted {
            check_type(schema.field(place), role)?;
        }
        let wanted = wanted.iter().map(|&(place, role)| {
            let field = schema.field(place);
            let n_classes = match field.data_type() {
                DataType::List(_) | DataType::LargeList(_) => first_length(column(place)?, field.name(), role)?,
                DataType::FixedSizeList(_, k) => usize::try_from(*k).unwrap_or(0),
                _ => 1,
            };
            let wanted = Wanted { name: field.name().clone(), role, n_classes };
            Ok((places.partition_point(|earlier| *earlier < place), wanted))
        });
        let columns = wanted.collect::<Result<_>>()?;
        Ok(Projection { places, columns })
    }

    pub(crate) fn places(&self) -> &[usize] {
        &self.places
    }

    /// The wanted columns of a batch that has the columns at [`places`](Self::places).
    pub(crate) fn part(&self, batch: &RecordBatch, first_row: u64) -> Result<Part> {
        let columns = self.columns.iter().map(|(place, wanted)| wanted.column(batch.column(*place), first_row));
        let columns = columns.collect::<Result<_, Error>>()?;
        Ok(Part { first_row, columns, extent: batch.num_rows() as u64 })
    }
}

/// Some of the columns of a batch, and all of them.
pub(crate) type WholeRows<'a> = Box<dyn Iterator<Item = Result<(Part, RecordBatch)>> + 'a>;

/// The rows of batches that have all columns, up to the limit.
pub(crate) fn whole_rows<'a>(
    mut batches: impl FnMut() -> Result<Option<RecordBatch>> + 'a,
    projection: Projection,
    limit: u64,
) -> WholeRows<'a> {
    let mut first_row = 0;
    Box::new(std::iter::from_fn(move || {
        if first_row >= limit {
            return None;
        }
        let batch = match batches().transpose()? {
            Ok(batch) => within(batch, first_row, limit),
            Err(error) => return Some(Err(error)),
        };
        let wanted = batch.project(projection.places()).map_err(anyhow::Error::from);
        let part = wanted.and_then(|wanted| projection.part(&wanted, first_row));
        first_row += batch.num_rows() as u64;
        Some(part.map(|part| (part, batch)))
    }))
}

fn check_type(field: &Field, role: Role) -> Result<(), Error> {
    let items = match field.data_type() {
        DataType::List(items) | DataType::LargeList(items) | DataType::FixedSizeList(items, _)
            if role.may_have_classes() =>
        {
            items.data_type()
        }
        plain => plain,
    };
    // Nested types are never plain, and there is no array of a union without types, which a damaged
    // file may state.
    let values = if items.is_nested() { None } else { plain_values(&*arrow_array::new_empty_array(items), role) };
    values.map(drop).ok_or_else(|| wrong_type(role, field.data_type(), field.name()))
}

fn wrong_type(role: Role, data_type: &DataType, column: &str) -> Error {
    role.wrong_type(format!("{} in column {column}", type_name(data_type)))
}

/// The length of the first list that is not null; 1 if all are.
fn first_length(batches: OneColumn<'_>, name: &str, role: Role) -> Result<usize> {
    let mut first_row = 0;
    for batch in batches {
        let lists = batch?.column(0).clone();
        let (_, bounds) = items(&*lists).unwrap_or((&*lists, Vec::new()));
        if let Some(row) = (0..bounds.len()).find(|row| lists.is_valid(*row)) {
            return match bounds[row].1 - bounds[row].0 {
                0 => Err(role.no_values(Place::Row((first_row + row) as u64), name).into()),
                length => Ok(length),
            };
        }
        first_row += lists.len();
    }
    Ok(1)
}

impl Wanted {
    fn column(&self, array: &dyn Array, first_row: u64) -> Result<Column, Error> {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let Some((items, bounds)) = items(array) else {
            let missing = nulls.is_some().then(|| (0..array.len()).map(is_null).collect());
            if let Some((codes, words)) = self.words(array) {
                return Ok(Column { missing, words: Some(words), ..Column::plain(codes) });
            }
            return Ok(Column { missing, ..Column::plain(self.values(array)?) });
        };
        let k = self.n_classes;
        let place = |row: usize| Place::Row(first_row + row as u64);
        for (row, (start, end)) in bounds.iter().enumerate().filter(|(row, _)| !is_null(*row)) {
            // All lists have the length of the first.
            match end - start {
                0 => return Err(self.role.no_values(place(row), &self.name)),
                length if length == k => {}
                length => return Err(self.role.other_length(place(row), &self.name, length, k)),
            }
        }
        let n_missing = nulls.as_ref().map_or(0, |nulls| nulls.null_count());
        self.role.check_missing_lists(n_missing, bounds.len(), k)?;
        let values = match bounds.first().zip(bounds.last()) {
            // Lists without gaps are one run of values.
            Some(((start, _), (_, end))) if nulls.is_none() => self.values(&*items.slice(*start, end - start))?,
            _ => {
                let places = bounds.iter().enumerate().flat_map(|(row, (start, _))| {
                    let start = (!is_null(row)).then_some(*start);
                    (0..k).map(move |class| start.map(|start| start + class))
                });
                self.values(items)?.gather(places)
            }
        };
        let item_nulls = items.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let has_null_item = |(start, end): (usize, usize)| {
            item_nulls.as_ref().is_some_and(|nulls| (start..end).any(|item| nulls.is_null(item)))
        };
        let is_missing = |(row, bounds): (usize, &(usize, usize))| is_null(row) || has_null_item(*bounds);
        let missing: Vec<bool> = bounds.iter().enumerate().map(is_missing).collect();
        let missing = missing.contains(&true).then_some(missing);
        Ok(Column { n_classes: k, missing, ..Column::plain(values) })
    }

    /// The numbers of words, and the words, where groups are told apart by such.
    fn words(&self, array: &dyn Array) -> Option<(Values, StringArray)> {
        let dictionary = array.as_any_dictionary_opt().filter(|_| self.role == Role::Groups)?;
        let words = dictionary.values();
        let words = match words.data_type() {
            // A word that is null stands for rows that are.
            DataType::Utf8 => words.as_string::<i32>().clone(),
            DataType::LargeUtf8 => StringArray::from_iter(words.as_string::<i64>()),
            DataType::Utf8View => StringArray::from_iter(words.as_string_view()),
            _ => return None,
        };
        let codes: Vec<u32> = match words.is_empty() {
            true => vec![0; array.len()],
            // proof: their offsets have 31 bits, so that there are fewer words than 2^32
            false => dictionary.normalized_keys().into_iter().map(|code| code as u32).collect(),
        };
        Some((codes.into(), words))
    }

    fn values(&self, array: &dyn Array) -> Result<Values, Error> {
        plain_values(array, self.role).ok_or_else(|| wrong_type(self.role, array.data_type(), &self.name))
    }
}

/// Where lists begin and end.
pub(crate) type Bounds = Vec<(usize, usize)>;

/// The values of an array of lists, and where each list begins and ends among them.
pub(crate) fn items(array: &dyn Array) -> Option<(&dyn Array, Bounds)> {
    if let Some(lists) = array.as_list_opt::<i32>() {
        Some((lists.values(), bounds(lists.value_offsets())))
    } else if let Some(lists) = array.as_list_opt::<i64>() {
        Some((lists.values(), bounds(lists.value_offsets())))
    } else {
        let lists = array.as_fixed_size_list_opt()?;
        let k = usize::try_from(lists.value_length()).unwrap_or(0);
        Some((lists.values(), (0..lists.len()).map(|row| (row * k, (row + 1) * k)).collect()))
    }
}

fn bounds<O: OffsetSizeTrait>(offsets: &[O]) -> Bounds {
    offsets.windows(2).map(|pair| (pair[0].as_usize(), pair[1].as_usize())).collect()
}

/// The values of an array of a plain type, nulls as whatever stands in their place; `None` for a
/// type that the role cannot have.
pub(crate) fn plain_values(array: &dyn Array, role: Role) -> Option<Values> {
    let values = match array.data_type() {
        DataType::Boolean => Values::Bool(array.as_boolean().values().iter().collect()),
        DataType::Int8 => primitive::<Int8Type>(array),
        DataType::Int16 => primitive::<Int16Type>(array),
        DataType::Int32 => primitive::<Int32Type>(array),
        DataType::Int64 => primitive::<Int64Type>(array),
        DataType::UInt8 => primitive::<UInt8Type>(array),
        DataType::UInt16 => primitive::<UInt16Type>(array),
        DataType::UInt32 => primitive::<UInt32Type>(array),
        DataType::UInt64 => primitive::<UInt64Type>(array),
        DataType::Float16 => {
            let halves = array.as_primitive::<Float16Type>().values().iter();
            halves.map(|value| value.to_f32()).collect::<Vec<f32>>().into()
        }
        DataType::Float32 => primitive::<Float32Type>(array),
        DataType::Float64 => primitive::<Float64Type>(array),
        DataType::Utf8 => texts(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter()),
        DataType::Utf8View => texts(array.as_string_view().iter()),
        DataType::Dictionary(_, _) => dictionary(array, role)?,
        _ => return None,
    };
    if role.is_numeric() { values.into_floats() } else { Some(values) }
}

fn primitive<T: ArrowPrimitiveType>(array: &dyn Array) -> Values
where
    Values: From<ScalarBuffer<T::Native>>,
{
    array.as_primitive::<T>().values().clone().into()
}

fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Values {
    texts.map(Option::unwrap_or_default).collect()
}

fn dictionary(array: &dyn Array, role: Role) -> Option<Values> {
    let dictionary = array.as_any_dictionary_opt()?;
    let words = plain_values(dictionary.values(), role)?;
    if words.len() == 0 {
        // All rows are null.
        return Some(words.gather(std::iter::repeat_n(None, array.len())));
    }
    Some(words.gather(dictionary.normalized_keys().into_iter().map(Some)))
}

/// What a column of a type can be read for that is only looked at.
pub(crate) fn listed_role(field: &Field) -> Option<Role> {
    [Role::Groups, Role::Logits].into_iter().find(|role| check_type(field, *role).is_ok())
}

pub(crate) fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Dictionary(_, words) => type_name(words),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{UnionFields, UnionMode};

    /// A damaged file may state one, of which arrow-rs cannot make an array.
    #[test]
    fn a_union_without_types_is_an_error() {
        let union = DataType::Union(UnionFields::empty(), UnionMode::Sparse);
        let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(union.clone()));
        let list = DataType::new_list(union.clone(), true);
        for data_type in [union, dictionary, list] {
            let field = Field::new("g", data_type, true);
            for role in [Role::Groups, Role::Logits, Role::Classes] {
                assert!(check_type(&field, role).is_err(), "{field}");
            }
        }
    }
}
