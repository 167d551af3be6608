//! The options of a measure that is made by name.

use std::ops::RangeBounds;
use std::sync::Arc;

use super::spec::{OptionDefault, OptionKind, OptionSpec, Spec};
use super::{Setting, Settings};
use crate::link::{self, Link};
use crate::noise::{self, Noise};
use crate::{Error, error};

/// Options by name: those that the caller gave, and the defaults of the [`Spec`] for the others.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    spec: &'static Spec,
    given: &'a Settings,
}

/// The link that turns raw scores into probabilities: an option of nearly every measure.
pub(crate) const LINK: OptionSpec =
    OptionSpec::choice("link", &link::NAMES, "What turns raw binary scores into probabilities.");

impl<'a> Options<'a> {
    /// Rejects an option that the measure does not have.
    pub(super) fn new(spec: &'static Spec, given: &'a Settings) -> Result<Self, Error> {
        match given.iter().find(|(name, _)| spec.option(name).is_none()) {
            None => Ok(Options { spec, given }),
            Some((name, _)) => {
                let names: Vec<&str> = spec.options.iter().map(|option| option.name).collect();
                let rule = format!("one of {}, which {} has", names.join(", "), spec.name);
                Err(Error::setting("option", rule, format!("{name:?}")))
            }
        }
    }

    /// Whether the caller gave it.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.get(name).is_some()
    }

    /// The value of an option, given or by default; `None` where it has neither, and where the
    /// measure has no such option.
    pub(crate) fn read<T: OptionValue>(&self, name: &'static str) -> Result<Option<T>, Error> {
        let default = || self.spec.option(name)?.default.setting();
        self.given.get(name).cloned().or_else(default).map(|value| T::read(name, value)).transpose()
    }
}

/// The type of an option.
pub(crate) trait OptionValue: Sized {
    /// The value that a setting of the option `name` stands for.
    fn read(name: &'static str, value: Setting) -> Result<Self, Error>;
}

impl OptionValue for f64 {
    fn read(name: &'static str, value: Setting) -> Result<Self, Error> {
        match value {
            Setting::Number(value) => Ok(value),
            Setting::Count(value) => Ok(value as f64),
            Setting::Text(_) => Err(wrong(name, "a number", &value)),
        }
    }
}

impl OptionValue for usize {
    fn read(name: &'static str, value: Setting) -> Result<Self, Error> {
        match value {
            Setting::Count(count) if usize::try_from(count).is_ok() => Ok(count as usize),
            _ => Err(wrong(name, "an integer that is not negative", &value)),
        }
    }
}

impl OptionValue for String {
    fn read(name: &'static str, value: Setting) -> Result<Self, Error> {
        match value {
            Setting::Text(text) => Ok(text),
            _ => Err(wrong(name, "text", &value)),
        }
    }
}

impl OptionValue for Arc<dyn Link> {
    fn read(name: &'static str, value: Setting) -> Result<Self, Error> {
        link::by_name(&String::read(name, value)?)
    }
}

impl OptionValue for Arc<dyn Noise> {
    fn read(name: &'static str, value: Setting) -> Result<Self, Error> {
        noise::by_name(&String::read(name, value)?)
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    fn read(name: &'static str, value: Setting) -> Result<Self, Error> {
        T::read(name, value).map(Some)
    }
}

/// An option whose value is read from a text: `auto`, `max`, 0.1.
macro_rules! parsed_option {
    ($type:ty) => {
        impl $crate::measure::OptionValue for $type {
            fn read(_: &'static str, value: $crate::Setting) -> Result<Self, $crate::Error> {
                match value {
                    // The shortest text that reads back as the same double.
                    $crate::Setting::Number(value) => $crate::error::number(value).parse(),
                    value => value.to_string().parse(),
                }
            }
        }
    };
}

pub(crate) use parsed_option;

/// Rejects an option outside its range. NaN is in no range.
pub(crate) fn check_range(
    name: &'static str,
    value: f64,
    range: impl RangeBounds<f64>,
    rule: &str,
) -> Result<(), Error> {
    if range.contains(&value) { Ok(()) } else { Err(Error::setting(name, rule, error::number(value))) }
}

fn wrong(name: &'static str, expected: &str, got: &Setting) -> Error {
    Error::setting(name, expected, format!("{got:?}"))
}

impl OptionDefault {
    /// The value as a setting, if there is one.
    pub fn setting(self) -> Option<Setting> {
        match self {
            OptionDefault::None => None,
            OptionDefault::Auto => Some("auto".into()),
            OptionDefault::Number(value) => Some(value.into()),
            OptionDefault::Count(value) => Some(value.into()),
            OptionDefault::Text(value) => Some(value.into()),
        }
    }
}

impl OptionSpec {
    /// The value that a text stands for, as a command or a query has it.
    pub fn parse(&self, text: &str) -> Result<Setting, Error> {
        let number = || text.parse::<f64>().ok().map(Setting::from);
        let count = || text.parse::<u64>().ok().map(Setting::from);
        let auto = || (text == "auto").then(|| Setting::from(text));
        let found = match self.kind {
            OptionKind::Number => number(),
            OptionKind::NumberOrAuto => auto().or_else(number),
            OptionKind::Count => count(),
            OptionKind::CountOrAuto => auto().or_else(count),
            OptionKind::Choice(_) => Some(Setting::from(text)),
        };
        found.ok_or_else(|| Error::setting(self.name, self.kind.expected(), format!("{text:?}")))
    }
}

impl OptionKind {
    /// The values that it takes, in words.
    pub fn expected(self) -> String {
        match self {
            OptionKind::Number => "a number".to_owned(),
            OptionKind::NumberOrAuto => "a number or \"auto\"".to_owned(),
            OptionKind::Count => "an integer".to_owned(),
            OptionKind::CountOrAuto => "an integer or \"auto\"".to_owned(),
            OptionKind::Choice(choices) => format!("one of {}", choices.join(", ")),
        }
    }
}
