//! How results are shown: numbers, tables, the notes under them, and JSON.

pub(crate) mod cells;
pub(crate) mod class_table;
pub(crate) mod grid;
pub(crate) mod json;
pub(crate) mod left_out;
pub(crate) mod legend;
pub(crate) mod screen;
pub(crate) mod wrap;

/// Numbers as the report has them, too.
pub(crate) mod number {
    pub(crate) use calipers_report::number::four_digits as significant;
    pub(crate) use calipers_report::number::{bound, count, decimals, p_value, percent, plus_minus};
}

/// Values by key, in the order in which keys first occur.
pub(crate) fn grouped<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}
