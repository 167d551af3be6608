//! Rows by the values of a column: groups, which are measured one by one, and clusters, whose rows
//! depend on each other.

use std::collections::{BTreeMap, HashMap};

use calipers::Error;

use crate::dataset::formats::Column;

/// The rows of each group, among the given ones. Those without a value are a group too.
pub(crate) fn rows_of_groups(column: &Column, rows: impl IntoIterator<Item = usize>) -> BTreeMap<String, Vec<usize>> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for row in rows {
        groups.entry(key(column, row)).or_default().push(row);
    }
    groups
}

/// What tells the group of a row.
pub(crate) fn key(column: &Column, row: usize) -> String {
    if column.is_missing(row) { String::new() } else { column.values.display(row) }
}

/// The values of groups among the given rows, each once, and for each row the place of its own.
/// Those without a value are a group too.
pub(crate) fn keys_and_numbers(column: &Column, rows: &[usize]) -> (Vec<String>, Vec<u32>) {
    let groups = rows_of_groups(column, rows.iter().copied());
    let keys: Vec<String> = in_order(&groups).into_iter().map(|(key, _)| key.clone()).collect();
    let places: HashMap<&str, u32> = keys.iter().map(String::as_str).zip(0..).collect();
    let numbers = rows.iter().map(|row| places.get(key(column, *row).as_str()).copied().unwrap_or_default()).collect();
    (keys, numbers)
}

/// A number for each row, the same for rows of one cluster.
pub(crate) fn numbered(column: &Column, rows: &[usize]) -> Result<Vec<u32>, Error> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let number = |&row: &usize| {
        if column.is_missing(row) {
            return Err(Error::Missing { what: "cluster", row: row as u64 });
        }
        let next = numbers.len() as u32;
        Ok(*numbers.entry(column.values.display(row)).or_insert(next))
    };
    rows.iter().map(number).collect()
}

/// By number if all keys are numbers.
pub(crate) fn in_order<T>(groups: &BTreeMap<String, T>) -> Vec<(&String, &T)> {
    let mut ordered: Vec<(&String, &T)> = groups.iter().collect();
    let number = |key: &String| key.parse::<f64>().ok();
    if ordered.iter().all(|(key, _)| number(key).is_some()) {
        ordered.sort_by(|(a, _), (b, _)| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
    }
    ordered
}
