//! Rows by the values of a column: groups, which are measured one by one, and clusters, whose rows
//! depend on each other.

use std::collections::{BTreeMap, HashMap};

use calipers::Error;

use crate::dataset::formats::{Column, Values};

/// The rows of each group, among the given ones. Those without a value are a group too.
pub(crate) fn rows_of_groups(column: &Column, rows: impl IntoIterator<Item = usize>) -> BTreeMap<String, Vec<usize>> {
    match &column.values {
        Values::Text(texts) => {
            let text = |row: usize| if column.is_missing(row) { "" } else { texts[row].as_str() };
            rows_of_texts(rows.into_iter().map(|row| (row, text(row))))
        }
        _ => {
            let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for row in rows {
                groups.entry(key(column, row)).or_default().push(row);
            }
            groups
        }
    }
}

/// Groups whose number is remembered by a few bytes of their text.
const REMEMBERED: usize = 1 << 10;

/// Rows by their texts, which are few: most are found where they were before, without a search.
fn rows_of_texts<'a>(rows: impl Iterator<Item = (usize, &'a str)>) -> BTreeMap<String, Vec<usize>> {
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut recent = [0; REMEMBERED];
    for (row, text) in rows {
        let bytes = text.as_bytes();
        let mut word = [0; 8];
        let n = bytes.len().min(word.len());
        // The last bytes, by which numbered names differ.
        word[..n].copy_from_slice(&bytes[bytes.len() - n..]);
        let mixed = u64::from_le_bytes(word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = &mut recent[(mixed >> 54) as usize % REMEMBERED];
        if groups.get(*place).is_none_or(|(known, _)| *known != text) {
            *place = *numbers.entry(text).or_insert_with(|| {
                groups.push((text, Vec::new()));
                groups.len() - 1
            });
        }
        groups[*place].1.push(row);
    }
    groups.into_iter().map(|(text, rows)| (text.to_owned(), rows)).collect()
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

/// The numbers of clusters that are known so far.
pub(crate) type Numbers = HashMap<String, u32>;

/// A number for each row, the same for rows of one cluster; clusters that `numbers` does not have
/// are added to it.
pub(crate) fn numbered(column: &Column, rows: &[usize], numbers: &mut Numbers) -> Result<Vec<u32>, Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_texts_are_those_of_their_texts() {
        // More groups than are remembered, with texts that end alike, and one without a value.
        let texts: Vec<String> = (0..20_000usize)
            .map(|k| k * k % 3_001)
            .map(|k| if k == 7 { String::new() } else { format!("{}-the same end-{:08}", k % 3, k % 1_500) })
            .collect();
        let mut expected: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (row, text) in texts.iter().enumerate() {
            expected.entry(text.clone()).or_default().push(row);
        }
        assert_eq!(rows_of_groups(&Column::plain(texts.into()), 0..20_000), expected);
    }
}
