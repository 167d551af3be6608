//! Classes that have a column each: which columns, and what the classes are called.

use std::borrow::Cow;

use anyhow::{Result, bail};

use super::formats::{Column, Table, Values};
use super::names::find;

/// What columns of classes are called, before the number of the class.
const PREFIXES: [&str; 11] =
    ["prob_", "probs_", "proba_", "probability_", "p_", "y_prob_", "y_proba_", "prob_class_", "prob", "proba", "p"];
const LOGIT_PREFIXES: [&str; 3] = ["logit_", "logits_", "logit"];

/// Columns of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClassColumns {
    pub(super) places: Vec<usize>,
    /// As they can be typed.
    pub(super) name: String,
    /// What is different in the names of the columns.
    pub(super) classes: Vec<String>,
}

/// What `--prob` names: one column; or one for each class, as a list with commas or as a pattern
/// with `*`.
pub(super) fn named(table: &dyn Table, text: &str) -> Result<ClassColumns> {
    let one = find(table, "--prob", text);
    let is_list = text.contains(',') || text.contains('*');
    if one.is_ok() || !is_list {
        let place = one?;
        return Ok(ClassColumns { places: vec![place], name: table.names()[place].clone(), classes: Vec::new() });
    }
    let mut places = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.contains('*') {
            true => places.extend(matching(table, part)?),
            false => places.push(find(table, "--prob", part)?),
        }
    }
    let names = |places: &[usize]| places.iter().map(|place| table.names()[*place].clone()).collect::<Vec<_>>();
    if let [place] = places[..] {
        return Ok(ClassColumns { places, name: table.names()[place].clone(), classes: Vec::new() });
    }
    let mut classes = differing(&names(&places));
    if text.contains('*') {
        in_order_of_numbers(&mut places, &mut classes);
    }
    Ok(ClassColumns { places, name: text.to_owned(), classes })
}

/// Columns such as prob_0, prob_1, prob_2, and whether they are logits.
pub(super) fn guessed(table: &dyn Table) -> Option<(ClassColumns, bool)> {
    let families =
        PREFIXES.map(|prefix| (prefix, false)).into_iter().chain(LOGIT_PREFIXES.map(|prefix| (prefix, true)));
    families.filter_map(|(prefix, are_logits)| Some((family(table, prefix)?, are_logits))).next()
}

/// Columns of this prefix whose classes are numbered from 0 or 1 without a gap.
fn family(table: &dyn Table, prefix: &str) -> Option<ClassColumns> {
    let number = |name: &str| -> Option<u64> {
        let rest = name.get(prefix.len()..).filter(|_| name[..prefix.len()].eq_ignore_ascii_case(prefix))?;
        rest.bytes().all(|byte| byte.is_ascii_digit()).then(|| rest.parse().ok()).flatten()
    };
    let has_prefix = |name: &str| name.is_char_boundary(prefix.len().min(name.len())) && name.len() > prefix.len();
    let names = table.names().iter().enumerate().filter(|(_, name)| has_prefix(name));
    let mut columns: Vec<(u64, usize)> = names.filter_map(|(place, name)| Some((number(name)?, place))).collect();
    columns.sort_unstable();
    // Before anything is counted from there: a name may have any number.
    let first = columns.first().map(|(number, _)| *number).filter(|first| *first <= 1)?;
    let is_whole = columns.iter().zip(first..).all(|((number, _), expected)| *number == expected);
    (columns.len() > 1 && is_whole).then(|| ClassColumns {
        places: columns.iter().map(|(_, place)| *place).collect(),
        name: format!("{prefix}*"),
        classes: columns.iter().map(|(number, _)| number.to_string()).collect(),
    })
}

/// A pattern for columns that look like those of classes with names, for an error.
pub(super) fn suggested(table: &dyn Table) -> Option<String> {
    let n_with = |prefix: &str| table.names().iter().filter(|name| name.to_lowercase().starts_with(prefix)).count();
    let prefix = PREFIXES.iter().chain(&LOGIT_PREFIXES).find(|prefix| prefix.ends_with('_') && n_with(prefix) > 1)?;
    Some(format!("{prefix}*"))
}

fn matching(table: &dyn Table, pattern: &str) -> Result<Vec<usize>> {
    let Ok(glob) = glob::Pattern::new(pattern) else { bail!("{pattern} for --prob is no pattern of names") };
    let names = table.names();
    let places: Vec<usize> = (0..names.len()).filter(|place| glob.matches(&names[*place])).collect();
    if places.is_empty() {
        bail!("no {} is named like {pattern} for --prob; the {0}s are {}", table.noun(), names.join(", "));
    }
    Ok(places)
}

/// By number, if all classes are numbers.
fn in_order_of_numbers(places: &mut [usize], classes: &mut [String]) {
    let Some(numbers) = classes.iter().map(|class| class.parse::<u64>().ok()).collect::<Option<Vec<u64>>>() else {
        return;
    };
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by_key(|index| numbers[*index]);
    let sorted: Vec<(usize, String)> = order.iter().map(|index| (places[*index], classes[*index].clone())).collect();
    for ((place, class), (sorted_place, sorted_class)) in places.iter_mut().zip(classes).zip(sorted) {
        (*place, *class) = (sorted_place, sorted_class);
    }
}

/// The names without the words that all begin and end with: `p_cat` and `p_dog` are cat and dog.
fn differing(names: &[String]) -> Vec<String> {
    let (first, rest) = (&names[0], &names[1..]);
    let start = rest.iter().fold(first.len(), |length, name| common(first.chars(), name.chars()).min(length));
    let end = rest.iter().fold(first.len(), |length, name| common(first.chars().rev(), name.chars().rev()).min(length));
    let is_end_of_word = |c: char| !c.is_alphanumeric();
    // Not within a word, but between letters and a number: p10 and p11 are 10 and 11.
    let prefix = first[..start].trim_end_matches(|c: char| c.is_ascii_digit());
    let rests_are_numbers = names.iter().all(|name| name[prefix.len()..].parse::<u64>().is_ok());
    let prefix = match prefix.rfind(is_end_of_word) {
        _ if rests_are_numbers => prefix,
        Some(place) => &prefix[..=place],
        None => "",
    };
    let suffix = &first[first.len() - end..];
    let suffix = suffix.find(is_end_of_word).map_or("", |place| &suffix[place..]);
    let is_longer = names.iter().all(|name| name.len() > prefix.len() + suffix.len());
    let (prefix, suffix) = if is_longer { (prefix, suffix) } else { ("", "") };
    names.iter().map(|name| name[prefix.len()..name.len() - suffix.len()].to_owned()).collect()
}

/// Bytes of what two texts begin with.
fn common(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// Labels as numbers of classes, where classes have names; `None` if they are such numbers already.
/// A label that is none of the classes is -1.
pub(super) fn numbers(labels: &Column, classes: &[String]) -> Option<Column> {
    let is_number = |class: &String| class.parse::<i64>().is_ok();
    let in_place = classes.iter().enumerate().all(|(number, class)| *class == number.to_string());
    let number = |row: usize| -> i64 {
        let label: Cow<'_, str> = match &labels.values {
            Values::Text(texts) => Cow::Borrowed(&texts[row]),
            values => Cow::Owned(values.display(row)),
        };
        let is_truth = matches!(labels.values, Values::Bool(_));
        let same = |class: &String| *class == label || (is_truth && class.eq_ignore_ascii_case(&label));
        classes.iter().position(same).map_or(-1, |class| class as i64)
    };
    let applies = match &labels.values {
        Values::Text(_) => true,
        Values::Bool(_) => classes.iter().any(|class| class.eq_ignore_ascii_case("true")),
        _ => classes.iter().all(is_number) && !in_place,
    };
    let numbers = || (0..labels.n_rows()).map(|row| if labels.is_missing(row) { 0 } else { number(row) });
    applies.then(|| Column { missing: labels.missing.clone(), ..Column::plain(numbers().collect::<Vec<i64>>().into()) })
}

/// Why a label is none of the classes.
pub(super) fn unknown(labels: &Column, numbers: &Column, classes: &[String]) -> Option<(usize, String)> {
    let Values::I64(found) = &numbers.values else { return None };
    let row = found.iter().position(|number| *number < 0)?;
    let label = match &labels.values {
        Values::Text(texts) => format!("{:?}", texts[row]),
        values => values.display(row),
    };
    Some((row, format!("must be one of the classes {}, got {label}", classes.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_what_differs_in_the_names_of_their_columns() {
        let differing = |names: &[&str]| differing(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(differing(&["p_cat", "p_cow", "p_dog"]), ["cat", "cow", "dog"]);
        assert_eq!(differing(&["p_10", "p_11", "p_12"]), ["10", "11", "12"]);
        assert_eq!(differing(&["p10", "p11"]), ["10", "11"]);
        assert_eq!(differing(&["p1", "p10"]), ["1", "10"]);
        assert_eq!(differing(&["cat", "cow"]), ["cat", "cow"]);
        assert_eq!(differing(&["cat_prob", "dog_prob"]), ["cat", "dog"]);
        assert_eq!(differing(&["prob_no", "prob_not"]), ["no", "not"]);
        assert_eq!(differing(&["p_a_x", "p_b_x"]), ["a", "b"]);
        assert_eq!(differing(&["p_", "p_a"]), ["p_", "p_a"]);
    }
}
