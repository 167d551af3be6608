//! One line of JSON: the values of the wanted keys as they are written, so that their numbers are
//! read as those of every other text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use anyhow::anyhow;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::dataset::formats::text::Cell;

/// Why a line cannot be read.
#[derive(Debug)]
pub(super) struct Fault(serde_json::Error);

/// What many programs write for numbers that JSON does not have.
const NO_NUMBERS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];

impl Fault {
    pub(super) fn in_line(self, line: u64, content: &[u8]) -> anyhow::Error {
        let text = self.0.to_string();
        // The library counts lines of what it is given, which is one.
        let reason = text.split(" at line ").next().unwrap_or_default();
        let column = self.0.column();
        let place = format!("cannot read as JSON lines: line {line}, column {column}");
        // The sign of a negative one has been read.
        let starts = [column.saturating_sub(1), column.saturating_sub(2)];
        let begins =
            |word: &&&str| starts.iter().any(|start| content[content.len().min(*start)..].starts_with(word.as_bytes()));
        match NO_NUMBERS.iter().find(begins) {
            Some(word) => anyhow!("{place}: JSON has no {word}; null stands for a missing value"),
            None => anyhow!("{place}: {reason}"),
        }
    }
}

/// Keys that are wanted.
pub(super) struct Wanted<'a> {
    names: Vec<&'a str>,
    /// For each name the place of the first that is the same: a column may be wanted twice.
    first: Vec<usize>,
    /// Places by their names, where there are many.
    by_name: HashMap<&'a str, usize>,
}

/// So few names are compared one by one.
const FEW_NAMES: usize = 16;

impl<'a> Wanted<'a> {
    pub(super) fn new(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.collect();
        let mut by_name = HashMap::with_capacity(names.len());
        let first = names.iter().enumerate().map(|(place, name)| *by_name.entry(*name).or_insert(place)).collect();
        Wanted { names, first, by_name }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a str> {
        self.names.iter().copied()
    }

    fn place(&self, key: &str) -> Option<usize> {
        match self.names.len() <= FEW_NAMES {
            true => self.names.iter().position(|name| *name == key),
            false => self.by_name.get(key).copied(),
        }
    }
}

/// The values of the wanted keys, each as it is written; the last one if a key occurs twice.
pub(super) struct Found<'a>(Vec<Option<&'a RawValue>>);

impl<'a> Found<'a> {
    pub(super) fn read(line: &'a [u8], wanted: &Wanted<'_>) -> Result<Self, Fault> {
        let mut found = vec![None; wanted.names.len()];
        read(line, |key| wanted.place(key), |place, value| found[place] = Some(value))?;
        Ok(Found(wanted.first.iter().map(|place| found[*place]).collect()))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = Option<&'a RawValue>> {
        self.0.iter().copied()
    }
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Plain,
    List,
    Object,
}

/// Passes on each key of a line, and what its value is.
pub(super) fn each_key(line: &[u8], mut take: impl FnMut(&str, Kind)) -> Result<(), Fault> {
    let kind = |value: &RawValue| match value.get().as_bytes().first() {
        Some(b'[') => Kind::List,
        Some(b'{') => Kind::Object,
        Some(b'n') => Kind::Null,
        _ => Kind::Plain,
    };
    read(line, |key| Some(key.to_owned()), |key, value| take(&key, kind(value)))
}

/// Passes on the values of the keys for which `place` has one.
fn read<'a, P>(
    line: &'a [u8],
    place: impl FnMut(&str) -> Option<P>,
    take: impl FnMut(P, &'a RawValue),
) -> Result<(), Fault> {
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    (&mut deserializer).deserialize_map(Object { place, take }).map_err(Fault)?;
    deserializer.end().map_err(Fault)
}

struct Object<F, T> {
    place: F,
    take: T,
}

impl<'a, P, F: FnMut(&str) -> Option<P>, T: FnMut(P, &'a RawValue)> Visitor<'a> for Object<F, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, as {\"prob\": 0.5, \"label\": 1}")
    }

    fn visit_map<M: MapAccess<'a>>(mut self, mut map: M) -> Result<(), M::Error> {
        while let Some(place) = map.next_key_seed(Key(&mut self.place))? {
            match place {
                Some(place) => (self.take)(place, map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// A key, which is not copied.
struct Key<F>(F);

impl<'a, T, F: FnMut(&str) -> T> DeserializeSeed<'a> for Key<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T, F: FnMut(&str) -> T> Visitor<'_> for Key<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(mut self, key: &str) -> Result<T, E> {
        Ok((self.0)(key))
    }
}

/// The value of a key.
pub(super) enum Value<'a> {
    Cell(Cell<'a>),
    Text(Cow<'a, str>),
    List(Vec<Cell<'a>>),
    Object,
}

impl<'a> Value<'a> {
    pub(super) fn new(raw: Option<&'a RawValue>) -> Result<Self, Fault> {
        let Some(raw) = raw else { return Ok(Value::Cell(Cell::Missing)) };
        Ok(match raw.get().as_bytes().first() {
            Some(b'"') => Value::Text(text(raw)?),
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(Fault)?;
                Value::List(items.into_iter().map(item).collect())
            }
            Some(b'{') => Value::Object,
            _ => Value::Cell(plain(raw)),
        })
    }
}

/// Of a list, in which texts, lists and objects are not numbers.
fn item(raw: &RawValue) -> Cell<'_> {
    match raw.get().as_bytes().first() {
        Some(b'"' | b'[' | b'{') => Cell::Text(raw.get()),
        _ => plain(raw),
    }
}

/// A number, true, false or null.
fn plain(raw: &RawValue) -> Cell<'_> {
    match raw.get() {
        "null" => Cell::Missing,
        "true" => Cell::Truth(true),
        "false" => Cell::Truth(false),
        number => Cell::Number(number),
    }
}

/// Without quotes, and copied only if something in it is escaped.
fn text(raw: &RawValue) -> Result<Cow<'_, str>, Fault> {
    let inner = raw.get().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner.filter(|inner| !inner.contains('\\')) {
        Some(inner) => Ok(Cow::Borrowed(inner)),
        None => serde_json::from_str::<String>(raw.get()).map(Cow::Owned).map_err(Fault),
    }
}
