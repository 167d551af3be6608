//! JSON as it is written: keys in order, numbers in the shortest form that reads back the same.

use serde_json::Value;

/// An object in the order in which keys are added.
#[derive(Default)]
pub(super) struct Text(Vec<(String, String)>);

impl Text {
    pub(super) fn with(mut self, key: &str, value: impl Json) -> Self {
        self.0.push((key.to_owned(), value.json()));
        self
    }

    /// Adds a key where there is a value.
    pub(super) fn maybe(self, key: &str, value: Option<impl Json>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The keys of another object after these.
    pub(super) fn and(mut self, other: Text) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Every key on a line of its own, and what is inside of its value on the same line.
    pub(super) fn lines(&self) -> String {
        format!("{{\n  {}\n}}\n", self.entries().join(",\n  "))
    }

    fn entries(&self) -> Vec<String> {
        self.0.iter().map(|(key, value)| format!("{}: {value}", key.as_str().json())).collect()
    }
}

/// What can be a value. A number that is not finite is null.
pub(super) trait Json {
    fn json(&self) -> String;
}

impl Json for Text {
    fn json(&self) -> String {
        format!("{{{}}}", self.entries().join(", "))
    }
}

impl Json for f64 {
    fn json(&self) -> String {
        Value::from(*self).to_string()
    }
}

impl Json for u64 {
    fn json(&self) -> String {
        self.to_string()
    }
}

impl Json for i64 {
    fn json(&self) -> String {
        self.to_string()
    }
}

impl Json for usize {
    fn json(&self) -> String {
        self.to_string()
    }
}

impl Json for &str {
    fn json(&self) -> String {
        Value::from(*self).to_string()
    }
}

impl Json for String {
    fn json(&self) -> String {
        self.as_str().json()
    }
}

impl<T: Json> Json for Option<T> {
    fn json(&self) -> String {
        self.as_ref().map_or_else(|| "null".to_owned(), Json::json)
    }
}

impl<T: Json> Json for [T] {
    fn json(&self) -> String {
        format!("[{}]", self.iter().map(Json::json).collect::<Vec<_>>().join(", "))
    }
}

impl<T: Json> Json for Vec<T> {
    fn json(&self) -> String {
        self.as_slice().json()
    }
}

impl<T: Json + ?Sized> Json for &T {
    fn json(&self) -> String {
        (*self).json()
    }
}
