//! The options of a measure that is made by name.

use std::str::FromStr;
use std::sync::Arc;

use super::spec::{OptionDefault, OptionKind, OptionSpec, Spec};
use super::{Setting, Settings};
use crate::Error;
use crate::error::number;
use crate::link::{self, Link};
use crate::noise::{self, Noise};

/// Options by name: those that were given, and else the defaults of the [`Spec`].
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

    /// The value of an option, given or by default; `None` where it has neither.
    pub fn get(&self, name: &'static str) -> Option<Setting> {
        self.given.get(name).cloned().or_else(|| match self.spec.option(name)?.default {
            OptionDefault::None => None,
            OptionDefault::Auto => Some(Setting::from("auto")),
            OptionDefault::Number(value) => Some(value.into()),
            OptionDefault::Count(value) => Some(value.into()),
            OptionDefault::Text(value) => Some(value.into()),
        })
    }

    /// Whether it was given or has a default.
    pub fn is_some(&self, name: &'static str) -> bool {
        self.get(name).is_some()
    }

    /// Whether it was given.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.get(name).is_some()
    }

    /// A real number.
    pub fn number(&self, name: &'static str) -> Result<f64, Error> {
        match self.get(name) {
            Some(Setting::Number(value)) => Ok(value),
            Some(Setting::Count(value)) => Ok(value as f64),
            other => Err(wrong(name, "a number", other)),
        }
    }

    /// An integer that counts things in memory.
    pub fn size(&self, name: &'static str) -> Result<usize, Error> {
        match self.get(name) {
            Some(Setting::Count(value)) if usize::try_from(value).is_ok() => Ok(value as usize),
            other => Err(wrong(name, "an integer that is not negative", other)),
        }
    }

    /// What a text says, or what a number is made into: `auto`, `max`, 0.1.
    pub fn parse<T: FromStr<Err = Error>>(&self, name: &'static str) -> Result<T, Error> {
        match self.get(name) {
            Some(Setting::Text(text)) => text.parse(),
            Some(Setting::Count(value)) => value.to_string().parse(),
            Some(Setting::Number(value)) => number(value).parse(),
            None => Err(wrong(name, "given", None)),
        }
    }

    /// The same, where it need not be there.
    pub fn parse_optional<T: FromStr<Err = Error>>(&self, name: &'static str) -> Result<Option<T>, Error> {
        self.is_some(name).then(|| self.parse(name)).transpose()
    }

    /// A number as it is, or what the text `auto` stands for.
    pub fn number_or_auto<T: From<f64> + FromStr<Err = Error>>(&self, name: &'static str) -> Result<T, Error> {
        match self.get(name) {
            Some(Setting::Text(_)) => self.parse(name),
            _ => Ok(self.number(name)?.into()),
        }
    }

    /// The option `link`.
    pub fn link(&self) -> Result<Arc<dyn Link>, Error> {
        link::by_name(&self.text("link")?)
    }

    /// The option `noise`.
    pub fn noise(&self) -> Result<Arc<dyn Noise>, Error> {
        noise::by_name(&self.text("noise")?)
    }

    fn text(&self, name: &'static str) -> Result<String, Error> {
        match self.get(name) {
            Some(Setting::Text(text)) => Ok(text),
            other => Err(wrong(name, "text", other)),
        }
    }
}

fn wrong(name: &'static str, expected: &str, got: Option<Setting>) -> Error {
    Error::setting(name, expected, got.map_or_else(|| "nothing".to_owned(), |value| format!("{value:?}")))
}

impl OptionKind {
    /// What it takes, in words.
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
