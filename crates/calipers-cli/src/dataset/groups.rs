//! Rows by the values of columns: groups, which are measured one by one, and clusters, whose rows
//! depend on each other.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;

use anyhow::{Result, bail};
use arrow_array::{Array, StringArray};
use calipers::Error;

use super::formats::{Column, Values};

/// The most groups, unless the user chooses another number. Each is measured like a file.
pub(crate) const MOST: usize = 200_000;

/// Rejects more groups than there may be.
pub(crate) fn check_number(n_groups: usize, most: usize) -> Result<()> {
    if n_groups > most {
        bail!("there are more than {most} groups; pass a larger --max-groups if that is meant");
    }
    Ok(())
}

/// The columns whose values tell groups apart, of which there is one at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct By(Vec<String>);

impl By {
    /// `None` if no column is named.
    pub(crate) fn new(names: Vec<String>) -> Option<Self> {
        (!names.is_empty()).then_some(By(names))
    }

    /// The columns that [`fmt`](fmt::Display) shows so.
    pub(crate) fn of_text(text: &str) -> Self {
        By(split(text))
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// The value of each column in a key.
    pub(crate) fn values(&self, key: &str) -> Vec<String> {
        if self.0.len() == 1 { vec![key.to_owned()] } else { split(key) }
    }

    /// The key of a value for each column.
    pub(crate) fn key(values: Vec<String>) -> String {
        match <[String; 1]>::try_from(values) {
            Ok([value]) => value,
            Err(values) => joined(&values),
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&joined(&self.0))
    }
}

/// Several texts as one. Those with a comma or a quote are quoted, so that no others make the same
/// text.
fn joined(texts: &[String]) -> String {
    let quoted = |text: &String| match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.clone(),
    };
    texts.iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// The texts that [`joined`] made one of.
fn split(text: &str) -> Vec<String> {
    let (mut texts, mut rest) = (Vec::new(), text);
    loop {
        let (text, after) = match rest.strip_prefix('"') {
            None => {
                let end = rest.find(", ").unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
            Some(quoted) => {
                let end = closing_quote(quoted).unwrap_or(quoted.len());
                (quoted[..end].replace("\"\"", "\""), quoted.get(end + 1..).unwrap_or_default())
            }
        };
        texts.push(text);
        match after.strip_prefix(", ") {
            Some(after) => rest = after,
            None => return texts,
        }
    }
}

/// Where the first quote is that is not one of two.
fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', Some(b'"')) => at += 2,
            (b'"', _) => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// The groups of rows: the number of each row's group, and the key of each number.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowGroups {
    pub(crate) keys: Vec<String>,
    pub(crate) numbers: Vec<u32>,
}

impl RowGroups {
    /// The groups of rows that have the same values in all columns. Rows without a value are a
    /// group too, that of the empty text.
    pub(crate) fn new(columns: &[Column]) -> Self {
        let mut columns = columns.iter().map(RowGroups::of_column);
        let Some(mut all) = columns.next() else { return RowGroups::default() };
        let mut values: Vec<Vec<String>> = all.keys.into_iter().map(|key| vec![key]).collect();
        for RowGroups { keys, numbers } in columns {
            let pairs: Vec<u64> =
                all.numbers.iter().zip(&numbers).map(|(a, b)| u64::from(*a) << 32 | u64::from(*b)).collect();
            let (of_pair, firsts) = numbered(&pairs);
            let value = |row: &usize| {
                let mut value = values[all.numbers[*row] as usize].clone();
                value.push(keys[numbers[*row] as usize].clone());
                value
            };
            values = firsts.iter().map(value).collect();
            all.numbers = of_pair;
        }
        RowGroups { keys: values.into_iter().map(By::key).collect(), numbers: all.numbers }
    }

    /// The groups of rows that have the same number.
    pub(super) fn of_numbers(numbers: &[u64]) -> Self {
        let (groups, firsts) = numbered(numbers);
        of_keys(firsts.iter().map(|row| numbers[*row].to_string()), groups)
    }

    fn of_column(column: &Column) -> Self {
        let is_missing = |row: usize| column.missing.as_ref().is_some_and(|missing| missing[row]);
        if let (Some(words), Values::U32(codes)) = (&column.words, &column.values) {
            return of_words(codes, words, is_missing);
        }
        let (numbers, firsts) = match &column.values {
            Values::Text(texts) => {
                let texts: Vec<&str> =
                    texts.iter().enumerate().map(|(row, text)| if is_missing(row) { "" } else { text }).collect();
                numbered(&texts)
            }
            values => {
                let missing = u128::from(u64::MAX) + 1;
                let value = |(row, bits): (usize, u64)| if is_missing(row) { missing } else { bits.into() };
                numbered(&values.bits().into_iter().enumerate().map(value).collect::<Vec<u128>>())
            }
        };
        let key = |row: &usize| if is_missing(*row) { String::new() } else { column.text(*row) };
        of_keys(firsts.iter().map(key), numbers)
    }

    /// The key of a row.
    pub(crate) fn key(&self, row: usize) -> &str {
        &self.keys[self.numbers[row] as usize]
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.numbers.len()
    }

    /// The rows of each group, among the given ones.
    pub(crate) fn rows(&self, rows: impl IntoIterator<Item = usize>) -> BTreeMap<String, Vec<usize>> {
        let mut groups = vec![Vec::new(); self.keys.len()];
        rows.into_iter().for_each(|row| groups[self.numbers[row] as usize].push(row));
        let groups = self.keys.iter().cloned().zip(groups);
        groups.filter(|(_, rows)| !rows.is_empty()).collect()
    }

    /// The keys of groups among the given rows in order, and for each row the place of its own.
    pub(crate) fn keys_and_numbers(&self, rows: &[usize]) -> (Vec<String>, Vec<u32>) {
        let mut places: Vec<Option<u32>> = vec![None; self.keys.len()];
        rows.iter().for_each(|row| places[self.numbers[*row] as usize] = Some(0));
        let present = places.iter().zip(self.keys.iter().zip(0usize..)).filter(|(place, _)| place.is_some());
        let present: BTreeMap<String, usize> = present.map(|(_, (key, number))| (key.clone(), number)).collect();
        let ordered = in_order(&present);
        ordered.iter().zip(0..).for_each(|((_, number), place)| places[**number] = Some(place));
        let keys = ordered.into_iter().map(|(key, _)| key.clone()).collect();
        let number = |row: &usize| places[self.numbers[*row] as usize].unwrap_or_default();
        (keys, rows.iter().map(number).collect())
    }
}

/// Groups by the words that codes stand for.
fn of_words(codes: &[u32], words: &StringArray, is_missing: impl Fn(usize) -> bool) -> RowGroups {
    // The last place is that of rows without a word.
    let mut numbers_of_words: Vec<Option<u32>> = vec![None; words.len() + 1];
    let mut keys = Vec::new();
    let mut number = |code: usize| {
        *numbers_of_words[code].get_or_insert_with(|| {
            keys.push(if code < words.len() { words.value(code).to_owned() } else { String::new() });
            keys.len() as u32 - 1
        })
    };
    let code = |(row, code): (usize, &u32)| if is_missing(row) { words.len() } else { *code as usize };
    let numbers = codes.iter().enumerate().map(code).map(&mut number).collect();
    of_keys(keys.into_iter(), numbers)
}

/// Groups by keys, of which several may be the same: the missing value and the empty text, say.
fn of_keys(keys: impl Iterator<Item = String>, mut numbers: Vec<u32>) -> RowGroups {
    let mut places: HashMap<String, u32> = HashMap::new();
    let mut all = Vec::new();
    let place = |key: String| {
        *places.entry(key).or_insert_with_key(|key| {
            all.push(key.clone());
            all.len() as u32 - 1
        })
    };
    let places: Vec<u32> = keys.map(place).collect();
    if all.len() < places.len() {
        numbers.iter_mut().for_each(|number| *number = places[*number as usize]);
    }
    RowGroups { keys: all, numbers }
}

/// Values whose number is remembered by a few bits.
const REMEMBERED: usize = 1 << 10;

/// What tells values apart quickly, if not always.
trait Mixed: Copy + Eq + Hash {
    fn word(self) -> u64;

    fn is_same(self, other: Self) -> bool {
        self == other
    }
}

impl Mixed for u64 {
    fn word(self) -> u64 {
        self ^ self >> 32
    }
}

impl Mixed for u128 {
    fn word(self) -> u64 {
        let word = (self ^ self >> 64) as u64;
        word ^ word >> 32
    }
}

impl Mixed for &str {
    fn word(self) -> u64 {
        let bytes = self.as_bytes();
        let mut word = [0; 8];
        let n = bytes.len().min(word.len());
        word[..n].copy_from_slice(&bytes[bytes.len() - n..]);
        u64::from_le_bytes(word)
    }

    /// Rows may share one long text, which need not be compared with itself.
    fn is_same(self, other: Self) -> bool {
        std::ptr::eq(self, other) || self == other
    }
}

/// A number for each value, the same for equal ones, and for each number the first place of its
/// value. Values are few as a rule: most are found where they were before, without a search.
fn numbered<T: Mixed>(values: &[T]) -> (Vec<u32>, Vec<usize>) {
    let mut firsts: Vec<usize> = Vec::new();
    let mut known: HashMap<T, u32> = HashMap::new();
    let mut recent = [0u32; REMEMBERED];
    let number = |(place, value): (usize, &T)| {
        let mixed = value.word().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let recent = &mut recent[(mixed >> 54) as usize % REMEMBERED];
        if firsts.get(*recent as usize).is_none_or(|first| !values[*first].is_same(*value)) {
            *recent = *known.entry(*value).or_insert_with(|| {
                firsts.push(place);
                firsts.len() as u32 - 1
            });
        }
        *recent
    };
    let numbers = values.iter().enumerate().map(number).collect();
    (numbers, firsts)
}

/// The numbers of clusters that are known so far.
pub(crate) type Numbers = HashMap<String, u32>;

/// A number for each row, the same for rows of one cluster; clusters that `known` does not have are
/// added to it.
pub(crate) fn cluster_numbers(column: &Column, rows: &[usize], known: &mut Numbers) -> Result<Vec<u32>, Error> {
    if let Some(row) = rows.iter().find(|row| column.is_missing(**row)) {
        return Err(Error::Missing { what: "cluster", row: *row as u64 });
    }
    let groups = RowGroups::of_column(column);
    let mut numbers: Vec<Option<u32>> = vec![None; groups.keys.len()];
    let number = |row: &usize| {
        let group = groups.numbers[*row] as usize;
        *numbers[group].get_or_insert_with(|| {
            let next = known.len() as u32;
            *known.entry(groups.keys[group].clone()).or_insert(next)
        })
    };
    Ok(rows.iter().map(number).collect())
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

    /// Groups as a map of texts finds them.
    fn expected(texts: &[String]) -> BTreeMap<String, Vec<usize>> {
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (row, text) in texts.iter().enumerate() {
            groups.entry(text.clone()).or_default().push(row);
        }
        groups
    }

    /// More groups than are remembered, with texts that end alike, and one without a value.
    fn texts(n: usize) -> Vec<String> {
        let text = |k: usize| if k == 7 { String::new() } else { format!("{}-the same end-{:08}", k % 3, k % 1_500) };
        (0..n).map(|k| text(k * k % 3_001)).collect()
    }

    fn shared(texts: &[String]) -> Values {
        Values::Text(texts.iter().map(|text| text.as_str().into()).collect())
    }

    #[test]
    fn rows_of_texts_are_those_of_their_texts() {
        let texts = texts(20_000);
        assert_eq!(RowGroups::new(&[Column::plain(shared(&texts))]).rows(0..20_000), expected(&texts));
    }

    #[test]
    fn rows_of_words_are_those_of_their_texts() {
        let texts = texts(20_000);
        // Words that stand there twice, or for no row.
        let words: Vec<&str> = texts[..2_000].iter().map(String::as_str).chain(["none"]).collect();
        let codes: Vec<u32> = (0..20_000u32).map(|k| k * 7 % 2_000).collect();
        let shown: Vec<String> = codes.iter().map(|code| words[*code as usize].to_owned()).collect();
        let words = Some(StringArray::from(words));
        let mut column = Column { words, ..Column::plain(codes.into()) };
        assert_eq!(RowGroups::new(std::slice::from_ref(&column)).rows(0..20_000), expected(&shown));
        column.missing = Some((0..20_000).map(|row| row % 10 == 3).collect());
        let shown: Vec<String> =
            shown.into_iter().enumerate().map(|(row, text)| if row % 10 == 3 { String::new() } else { text }).collect();
        assert_eq!(RowGroups::new(&[column]).rows(0..20_000), expected(&shown));
    }

    #[test]
    fn rows_of_numbers_are_those_of_the_numbers_as_they_are_shown() {
        let numbers: Vec<f64> =
            (0..5_000).map(|k| [0.0, -0.0, f64::NAN, 1.5, f64::from(k % 1_100)][k as usize % 5]).collect();
        let shown: Vec<String> = numbers.iter().map(f64::to_string).collect();
        assert_eq!(RowGroups::new(&[Column::plain(numbers.into())]).rows(0..5_000), expected(&shown));
        let numbers: Vec<i64> = (0..5_000).map(|k| (k * k % 77 - 30) << (k % 3 * 20)).collect();
        let shown: Vec<String> = numbers.iter().map(i64::to_string).collect();
        assert_eq!(RowGroups::new(&[Column::plain(numbers.into())]).rows(0..5_000), expected(&shown));
    }

    #[test]
    fn several_columns_have_a_group_for_each_pair_that_occurs() {
        let first: Vec<String> = (0..1_000).map(|k| ["a", "b, c", "", "\"d\""][k % 4].to_owned()).collect();
        let second: Vec<bool> = (0..1_000).map(|k| k % 3 == 0).collect();
        let columns = [Column::plain(shared(&first)), Column::plain(second.clone().into())];
        let groups = RowGroups::new(&columns).rows(0..1_000);
        assert_eq!(groups.len(), 8);
        let by = By::new(vec!["x".to_owned(), "y".to_owned()]).unwrap();
        for (key, rows) in groups {
            for row in rows {
                assert_eq!(by.values(&key), [first[row].clone(), second[row].to_string()]);
            }
        }
    }

    #[test]
    fn texts_that_were_joined_are_split_again() {
        let hard = ["", "a", "b c", "a, b", ",", "\"", "\"\"", "a\"", "\"a\", \"b\"", " ", "ü,", ", "];
        for first in hard {
            for second in hard {
                for third in hard {
                    let texts = [first, second, third].map(str::to_owned);
                    assert_eq!(split(&joined(&texts)), texts);
                }
            }
            assert_eq!(By::of_text(&By(vec![first.to_owned()]).to_string()).names(), [first]);
            assert_eq!(By(vec!["x".to_owned()]).values(first), [first]);
        }
    }

    #[test]
    fn keys_are_numbered_in_their_order() {
        let column = Column::plain(vec![10i64, 9, 10, -1, 9].into());
        let groups = RowGroups::new(&[column]);
        let (keys, numbers) = groups.keys_and_numbers(&[0, 1, 2, 4]);
        assert_eq!((keys, numbers), (vec!["9".to_owned(), "10".to_owned()], vec![1, 0, 1, 0]));
    }
}
