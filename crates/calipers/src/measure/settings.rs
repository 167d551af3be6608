//! Options with their values, in order.

/// Named options, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings(Vec<(&'static str, Setting)>);

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum Setting {
    /// A real number.
    Number(f64),
    /// A count.
    Count(u64),
    /// A name.
    Text(String),
}

impl Settings {
    /// Adds an option.
    pub fn with(mut self, name: &'static str, value: impl Into<Setting>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// The option of that name.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The option of that name, if it is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Setting::Number(number) => Some(*number),
            Setting::Count(count) => Some(*count as f64),
            Setting::Text(_) => None,
        }
    }

    /// The option of that name, if it is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Setting::Text(text) => Some(text),
            Setting::Number(_) | Setting::Count(_) => None,
        }
    }

    /// All options in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Setting)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

macro_rules! setting_from {
    ($($type:ty => $variant:ident),*) => {
        $(impl From<$type> for Setting {
            fn from(value: $type) -> Self {
                Setting::$variant(value.into())
            }
        })*
    };
}

setting_from! { f64 => Number, u64 => Count, &str => Text }

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Number(value) => value.fmt(f),
            Setting::Count(value) => value.fmt(f),
            Setting::Text(value) => value.fmt(f),
        }
    }
}
