//! One line of JSON: the values of the wanted keys as they stand there, so that their numbers are
//! read as those of every other text.

use std::borrow::Cow;
use std::fmt;

use anyhow::anyhow;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::dataset::formats::text::Cell;

/// Why a line is none.
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
        // Of a negative one the sign has been read.
        let starts = [column.saturating_sub(1), column.saturating_sub(2)];
        let begins =
            |word: &&&str| starts.iter().any(|start| content[content.len().min(*start)..].starts_with(word.as_bytes()));
        match NO_NUMBERS.iter().find(begins) {
            Some(word) => anyhow!("{place}: JSON has no {word}; null stands for a missing value"),
            None => anyhow!("{place}: {reason}"),
        }
    }
}

/// The values of the wanted keys, each as it stands in the line; the last one, where a key is there
/// twice.
pub(super) struct Found<'a>(Vec<Option<&'a RawValue>>);

impl<'a> Found<'a> {
    pub(super) fn read(line: &'a [u8], wanted: &[&str]) -> Result<Self, Fault> {
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let mut found = vec![None; wanted.len()];
        (&mut deserializer).deserialize_map(Object { wanted, found: &mut found }).map_err(Fault)?;
        deserializer.end().map_err(Fault)?;
        Ok(Found(found))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = Option<&'a RawValue>> {
        self.0.iter().copied()
    }
}

struct Object<'w, 'a> {
    wanted: &'w [&'w str],
    found: &'w mut [Option<&'a RawValue>],
}

impl<'a> Visitor<'a> for Object<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, as {\"prob\": 0.5, \"label\": 1}")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(place) = map.next_key_seed(Key(|key: &str| self.wanted.iter().position(|name| *name == key)))? {
            match place {
                Some(place) => {
                    let value: &RawValue = map.next_value()?;
                    // A column may be wanted for two things.
                    let name = self.wanted[place];
                    let places = self.wanted.iter().zip(self.found.iter_mut()).skip(place);
                    places.filter(|(other, _)| **other == name).for_each(|(_, found)| *found = Some(value));
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A key, of which no copy is made.
struct Key<F>(F);

impl<'a, T, F: FnOnce(&str) -> T> DeserializeSeed<'a> for Key<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T, F: FnOnce(&str) -> T> Visitor<'_> for Key<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<T, E> {
        Ok((self.0)(key))
    }
}

/// Hands on each key of a line.
pub(super) fn each_key(line: &[u8], take: impl FnMut(&str)) -> Result<(), Fault> {
    struct Keys<F>(F);
    impl<'a, F: FnMut(&str)> Visitor<'a> for Keys<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object, as {\"prob\": 0.5, \"label\": 1}")
        }

        fn visit_map<M: MapAccess<'a>>(mut self, mut map: M) -> Result<(), M::Error> {
            while map.next_key_seed(Key(&mut self.0))?.is_some() {
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    (&mut deserializer).deserialize_map(Keys(take)).map_err(Fault)?;
    deserializer.end().map_err(Fault)
}

/// What stands for a key.
pub(super) enum Value<'a> {
    Cell(Cell<'a>),
    Text(Cow<'a, str>),
    List(List<'a>),
    Object,
}

/// Values between brackets.
pub(super) struct List<'a>(Vec<&'a RawValue>);

impl<'a> Value<'a> {
    pub(super) fn new(raw: Option<&'a RawValue>) -> Result<Self, Fault> {
        let Some(raw) = raw else { return Ok(Value::Cell(Cell::Missing)) };
        Ok(match raw.get().as_bytes().first() {
            Some(b'"') => Value::Text(text(raw)?),
            Some(b'[') => Value::List(List(serde_json::from_str(raw.get()).map_err(Fault)?)),
            Some(b'{') => Value::Object,
            _ => Value::Cell(plain(raw)),
        })
    }
}

impl<'a> List<'a> {
    /// Texts, lists and objects in it are what no number is.
    pub(super) fn items(&self) -> impl Iterator<Item = Cell<'a>> {
        self.0.iter().map(|raw| match raw.get().as_bytes().first() {
            Some(b'"' | b'[' | b'{') => Cell::Text(raw.get()),
            _ => plain(raw),
        })
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

/// Without quotes, and copied only where something in it is escaped.
fn text(raw: &RawValue) -> Result<Cow<'_, str>, Fault> {
    let inner = raw.get().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner.filter(|inner| !inner.contains('\\')) {
        Some(inner) => Ok(Cow::Borrowed(inner)),
        None => serde_json::from_str::<String>(raw.get()).map(Cow::Owned).map_err(Fault),
    }
}
