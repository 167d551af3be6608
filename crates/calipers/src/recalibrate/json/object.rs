//! JSON as it is read: every key is known, every value has its type, and errors have the place.

use std::cell::RefCell;

use serde_json::Value;

use crate::Error;

pub(super) fn error(reason: impl Into<String>) -> Error {
    Error::InvalidMap { reason: reason.into() }
}

/// An object whose keys are read one by one; [`finish`](Self::finish) rejects the others.
pub(super) struct Object<'a> {
    /// Where it is, as `fit.` or nothing.
    place: String,
    entries: &'a serde_json::Map<String, Value>,
    read: RefCell<Vec<String>>,
}

impl<'a> Object<'a> {
    pub(super) fn top(value: &'a Value) -> Result<Self, Error> {
        let entries = value.as_object().ok_or_else(|| error(format!("it must be an object, got {}", shown(value))))?;
        Ok(Object { place: String::new(), entries, read: RefCell::default() })
    }

    /// The full name of a key, in quotes, which may be one of a stranger.
    pub(super) fn name(&self, key: &str) -> String {
        shown(&Value::from(format!("{}{key}", self.place)))
    }

    fn wrong(&self, key: &str, rule: &str, value: &Value) -> Error {
        error(format!("{} must be {rule}, got {}", self.name(key), shown(value)))
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.read.borrow_mut().push(key.to_owned());
        self.entries.get(key)
    }

    pub(super) fn require(&self, key: &str) -> Result<&'a Value, Error> {
        self.get(key).ok_or_else(|| error(format!("{} is missing", self.name(key))))
    }

    pub(super) fn text(&self, key: &str) -> Result<&'a str, Error> {
        let value = self.require(key)?;
        value.as_str().ok_or_else(|| self.wrong(key, "text", value))
    }

    /// A text that must be this one.
    pub(super) fn exactly(&self, key: &str, expected: &str) -> Result<(), Error> {
        let text = self.text(key)?;
        if text == expected { Ok(()) } else { Err(self.wrong(key, &format!("{expected:?}"), &Value::from(text))) }
    }

    pub(super) fn count(&self, key: &str) -> Result<u64, Error> {
        let value = self.require(key)?;
        value.as_u64().ok_or_else(|| self.wrong(key, "a count", value))
    }

    /// A finite number; the rule is for the error and `holds` decides.
    pub(super) fn number(&self, key: &str, rule: &str, holds: impl Fn(f64) -> bool) -> Result<f64, Error> {
        let value = self.require(key)?;
        value.as_f64().filter(|number| holds(*number)).ok_or_else(|| self.wrong(key, rule, value))
    }

    /// A number, or NaN where it is null: what JSON has for a number that is not finite.
    pub(super) fn measured(&self, key: &str) -> Result<f64, Error> {
        let value = self.require(key)?;
        number_or_null(value)
            .map(|number| number.unwrap_or(f64::NAN))
            .ok_or_else(|| self.wrong(key, "a number or null", value))
    }

    /// A list of finite numbers.
    pub(super) fn numbers(&self, key: &str, rule: &str, holds: impl Fn(f64) -> bool) -> Result<Vec<f64>, Error> {
        let value = self.require(key)?;
        let items = value.as_array().ok_or_else(|| self.wrong(key, "a list of numbers", value))?;
        let item = |(index, item): (usize, &Value)| {
            let fault = || self.wrong(&format!("{key}[{index}]"), rule, item);
            item.as_f64().filter(|number| holds(*number)).ok_or_else(fault)
        };
        items.iter().enumerate().map(item).collect()
    }

    /// A list with `convert` for each item.
    pub(super) fn list<T>(
        &self,
        key: &str,
        rule: &str,
        convert: impl Fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let value = self.require(key)?;
        let items = value.as_array().ok_or_else(|| self.wrong(key, "a list", value))?;
        let item = |(index, item): (usize, &Value)| {
            convert(item).ok_or_else(|| self.wrong(&format!("{key}[{index}]"), rule, item))
        };
        items.iter().enumerate().map(item).collect()
    }

    pub(super) fn object(&self, key: &str) -> Result<Object<'a>, Error> {
        let value = self.require(key)?;
        let entries = value.as_object().ok_or_else(|| self.wrong(key, "an object", value))?;
        Ok(Object { place: format!("{}{key}.", self.place), entries, read: RefCell::default() })
    }

    /// A list of objects.
    pub(super) fn objects(&self, key: &str) -> Result<Vec<Object<'a>>, Error> {
        let value = self.require(key)?;
        let items = value.as_array().ok_or_else(|| self.wrong(key, "a list of objects", value))?;
        let item = |(index, item): (usize, &'a Value)| {
            let key = format!("{key}[{index}]");
            let entries = item.as_object().ok_or_else(|| self.wrong(&key, "an object", item))?;
            Ok(Object { place: format!("{}{key}.", self.place), entries, read: RefCell::default() })
        };
        items.iter().enumerate().map(item).collect()
    }

    /// An object, if the key is there.
    pub(super) fn maybe_object(&self, key: &str) -> Result<Option<Object<'a>>, Error> {
        if self.get(key).is_none() { Ok(None) } else { self.object(key).map(Some) }
    }

    /// All keys must have been read.
    pub(super) fn finish(&self) -> Result<(), Error> {
        let read = self.read.borrow();
        match self.entries.keys().find(|key| !read.contains(key)) {
            None => Ok(()),
            Some(key) => Err(error(format!(
                "{} is not a key of this format; remove it, or update calipers if a newer version wrote the map",
                self.name(key)
            ))),
        }
    }
}

/// `None` for what is neither a number nor null.
pub(super) fn number_or_null(value: &Value) -> Option<Option<f64>> {
    if value.is_null() { Some(None) } else { value.as_f64().map(Some) }
}

/// A value in an error, cut where it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(57).collect::<String>() + "..." }
}
