//! How the values of options are read: by the core, which knows their names and the rules.

use std::ffi::OsStr;
use std::str::FromStr;

use calipers::Error;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

/// Reads a value as the core does, so that an error has the same words as in Rust and Python. The
/// names are what shells complete and what help lists.
#[derive(Clone)]
pub(crate) struct Parsed<T> {
    names: Vec<&'static str>,
    parse: fn(&str) -> Result<T, Error>,
}

/// An option whose value is one of these names, or what the type accepts besides: a number.
pub(crate) fn one_of<T: FromStr<Err = Error>>(names: &[&'static str]) -> Parsed<T> {
    named(names, T::from_str)
}

/// The same for what is not a type of its own.
pub(crate) fn named<T>(names: &[&'static str], parse: fn(&str) -> Result<T, Error>) -> Parsed<T> {
    Parsed { names: names.to_vec(), parse }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Parsed<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let parse = self.parse;
        StringValueParser::new().try_map(move |text| parse(&text)).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = self.names.iter().map(|name| PossibleValue::new(*name));
        (!self.names.is_empty()).then(|| Box::new(names) as Box<dyn Iterator<Item = PossibleValue>>)
    }
}
