//! Rows by the values of a column: groups, which are measured one by one, and clusters, whose rows depend on each other.

use std::collections::{BTreeMap, HashMap};

use calipers::Error;

use crate::dataset::formats::Column;

/// The rows of each group, among the given ones. Those without a value are a group too.
pub(crate) fn rows_of_groups(column: &Column, rows: &[usize]) -> BTreeMap<String, Vec<usize>> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for &row in rows {
        let key = if column.is_missing(row) { String::new() } else { column.values.display(row) };
        groups.entry(key).or_default().push(row);
    }
    groups
}

/// The values of groups among the given rows, each once, and for each row the place of its own. Those without a value are a group too.
pub(crate) fn keys_and_numbers(column: &Column, rows: &[usize]) -> (Vec<String>, Vec<u32>) {
    let groups = rows_of_groups(column, rows);
    let places: HashMap<&str, u32> = in_order(&groups).iter().map(|(key, _)| key.as_str()).zip(0..).collect();
    let number = |row: &usize| {
        let key = if column.is_missing(*row) { String::new() } else { column.values.display(*row) };
        places.get(key.as_str()).copied().unwrap_or_default()
    };
    (in_order(&groups).into_iter().map(|(key, _)| key.clone()).collect(), rows.iter().map(number).collect())
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
