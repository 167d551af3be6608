//! Keyword options, by name: types are checked here, values in the core.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use calipers::inference::bands::{BandKind, BandOptions};
use calipers::{
    BinnedEce, Compat, Error, Link, LsEce, Multiclass, NBins, Noise, Sigma, SketchOptions, Sweep, link, noise,
};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};

use crate::failure::Failure;

/// What the user passed by keyword, defaults filled in by Python.
#[derive(Clone)]
pub(crate) struct Options<'py>(Bound<'py, PyDict>);

impl<'py> Options<'py> {
    pub(crate) fn new(options: Bound<'py, PyDict>) -> Self {
        Options(options)
    }

    pub(crate) fn get(&self, name: &'static str) -> Result<Bound<'py, PyAny>, Failure> {
        self.0.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name).into())
    }

    pub(crate) fn number(&self, name: &'static str) -> Result<f64, Failure> {
        let value = self.get(name)?;
        value.extract().map_err(|_| Failure::option_type(name, "a number", &value))
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<String, Failure> {
        let value = self.get(name)?;
        value.extract().map_err(|_| Failure::option_type(name, "text", &value))
    }

    pub(crate) fn optional_text(&self, name: &'static str, expected: &str) -> Result<Option<String>, Failure> {
        let value = self.get(name)?;
        value.extract().map_err(|_| Failure::option_type(name, expected, &value))
    }

    /// A choice that the core knows by name.
    pub(crate) fn named<T: FromStr<Err = Error>>(&self, name: &'static str) -> Result<T, Failure> {
        Ok(self.text(name)?.parse()?)
    }

    /// An integer that is not negative.
    pub(crate) fn count(&self, name: &'static str) -> Result<u64, Failure> {
        let value = integer(name, &self.get(name)?)?;
        value.extract().map_err(|_| out_of_range(name, "an integer from 0 to 2^64 - 1", &value))
    }

    /// One that counts things in memory.
    pub(crate) fn size(&self, name: &'static str) -> Result<usize, Failure> {
        let value = integer(name, &self.get(name)?)?;
        value.extract().map_err(|_| out_of_range(name, "an integer from 0 to 2^64 - 1", &value))
    }

    /// One that is small, too, as numbers of bits are.
    pub(crate) fn small_count(&self, name: &'static str) -> Result<u32, Failure> {
        let value = integer(name, &self.get(name)?)?;
        value.extract().map_err(|_| out_of_range(name, "an integer from 0 to 2^32 - 1", &value))
    }

    /// A sequence of them.
    fn sizes(&self, name: &'static str) -> Result<Vec<usize>, Failure> {
        let values = self.get(name)?;
        let values: Vec<Bound<'py, PyAny>> =
            values.extract().map_err(|_| Failure::option_type(name, "a sequence of integers", &values))?;
        let size = |value: &Bound<'py, PyAny>| {
            let value = integer(name, value)?;
            value.extract().map_err(|_| out_of_range(name, "integers from 0 to 2^64 - 1", &value))
        };
        values.iter().map(size).collect()
    }

    pub(crate) fn flag(&self, name: &'static str) -> Result<bool, Failure> {
        let value = self.get(name)?;
        value.extract().map_err(|_| Failure::option_type(name, "True or False", &value))
    }

    /// A width that is given, or left to a rule.
    pub(crate) fn number_or_auto<T: From<f64> + FromStr<Err = Error>>(&self, name: &'static str) -> Result<T, Failure> {
        let value = self.get(name)?;
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(text.to_str()?.parse()?);
        }
        let number: f64 = value.extract().map_err(|_| Failure::option_type(name, "a number or \"auto\"", &value))?;
        Ok(number.into())
    }

    pub(crate) fn noise(&self) -> Result<Arc<dyn Noise>, Failure> {
        Ok(noise::by_name(&self.text("noise")?)?)
    }

    pub(crate) fn link(&self) -> Result<Arc<dyn Link>, Failure> {
        Ok(link::by_name(&self.text("link")?)?)
    }

    pub(crate) fn multiclass(&self) -> Result<Multiclass, Failure> {
        let value = self.get("multiclass")?;
        if value.is_none() {
            return Ok(Multiclass::Auto);
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(text.to_str()?.parse()?);
        }
        // By its text, so that -1 is refused by the core's own rule.
        let class = integer("multiclass", &value)?;
        Ok(class.str()?.to_str()?.parse()?)
    }

    /// A one-dimensional array of doubles, which Python has made.
    pub(crate) fn probabilities(&self, name: &'static str) -> Result<Vec<f64>, Failure> {
        let array: PyReadonlyArray1<'_, f64> = self.get(name)?.extract()?;
        Ok(array.as_array().to_vec())
    }

    pub(crate) fn ls_ece(&self) -> Result<LsEce, Failure> {
        Ok(LsEce::new()
            .sigma(self.number_or_auto::<Sigma>("sigma")?)
            .noise(self.noise()?)
            .link(self.link()?)
            .tolerance(self.number("tolerance")?)
            .clip(self.number("clip")?))
    }

    /// The band that was asked for, and how it is made.
    pub(crate) fn band(&self) -> Result<(Option<BandKind>, BandOptions), Failure> {
        let kind = self.optional_text("band", "text or None")?.map(|name| name.parse()).transpose()?;
        let options = BandOptions::new()
            .level(self.number("level")?)
            .n_resamples(self.count("n_resamples")?)
            .random_state(self.count("random_state")?);
        Ok((kind, options))
    }

    pub(crate) fn is_text(&self, name: &'static str) -> Result<bool, Failure> {
        Ok(self.get(name)?.is_instance_of::<PyString>())
    }

    /// An integer or a text, as text.
    pub(crate) fn text_of_count(&self, name: &'static str) -> Result<String, Failure> {
        let value = self.get(name)?;
        let value = if self.is_text(name)? { value } else { integer(name, &value)?.into_any() };
        Ok(value.str()?.to_str()?.to_owned())
    }

    pub(crate) fn n_bins(&self) -> Result<NBins, Failure> {
        // By its text, so that -1 is refused by the core's own rule.
        Ok(self.text_of_count("n_bins")?.parse()?)
    }

    pub(crate) fn compat(&self) -> Result<Option<Compat>, Failure> {
        Ok(self.optional_text("compat", "text or None")?.map(|name| name.parse()).transpose()?)
    }

    pub(crate) fn binned_ece(&self) -> Result<BinnedEce, Failure> {
        Ok(BinnedEce::new()
            .n_bins(self.n_bins()?)
            .strategy(self.named("strategy")?)
            .norm(self.named("norm")?)
            .compat(self.compat()?)
            .link(self.link()?))
    }

    pub(crate) fn sweep(&self) -> Result<Sweep, Failure> {
        let sweep = Sweep::new()
            .noise(self.noise()?)
            .link(self.link()?)
            .tolerance(self.number("tolerance")?)
            .clip(self.number("clip")?)
            .compat(self.compat()?)
            .random_state(self.count("random_state")?);
        Ok(if self.is_given("bins")? { sweep.bins(self.sizes("bins")?) } else { sweep })
    }

    /// How fine a sketch is, in bits or by what it shall answer, and what else makes it.
    pub(crate) fn sketch(&self) -> Result<SketchOptions, Failure> {
        let n_bins = self.sizes("n_bins")?;
        let options = SketchOptions::new()
            .clip(self.number("clip")?)
            .largest_logit(self.number("largest_logit")?)
            .n_bins(&n_bins)
            .weight_bits(self.small_count("weight_bits")?);
        let given: Vec<&str> = self.given(["resolution", "tolerance", "smallest_sigma"])?;
        match given[..] {
            [] => Ok(options),
            ["resolution"] => Ok(options.resolution(self.small_count("resolution")?)),
            ["tolerance", "smallest_sigma"] => {
                Ok(options.serving(self.number("tolerance")?, self.number("smallest_sigma")?))
            }
            _ => {
                let rule = "given alone, or tolerance and smallest_sigma together";
                Err(out_of_range("resolution", rule, &given.join(" and ")))
            }
        }
    }

    /// Whether the function that was called has an option of that name.
    pub(crate) fn has(&self, name: &'static str) -> Result<bool, Failure> {
        Ok(self.0.contains(name)?)
    }

    pub(crate) fn is_given(&self, name: &'static str) -> Result<bool, Failure> {
        Ok(!self.get(name)?.is_none())
    }

    /// Which of these options are not `None`.
    fn given<const N: usize>(&self, names: [&'static str; N]) -> Result<Vec<&'static str>, Failure> {
        let mut given = Vec::new();
        for name in names {
            if self.is_given(name)? {
                given.push(name);
            }
        }
        Ok(given)
    }
}

/// Anything that is an integer to Python, those of numpy included; 2.0 and True are none.
fn integer<'py>(name: &str, value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyInt>, Failure> {
    let wrong = || Failure::option_type(name, "an integer", value);
    if value.is_instance_of::<pyo3::types::PyBool>() {
        return Err(wrong());
    }
    value.call_method0("__index__").ok().and_then(|index| index.cast_into().ok()).ok_or_else(wrong)
}

fn out_of_range(name: &'static str, rule: &str, value: &impl Display) -> Failure {
    Error::InvalidSetting { name, rule: rule.to_owned(), value: value.to_string() }.into()
}
