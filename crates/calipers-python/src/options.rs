//! Keyword options, by name: types are checked here, values in the core.

use std::fmt::Display;
use std::sync::Arc;

use calipers::inference::bands::{BandKind, BandOptions};
use calipers::inference::calibration_tests::{NullDistribution, Quantiles};
use calipers::measure::{OptionDefault, OptionKind, OptionSpec};
use calipers::recalibrate::{Between, Dialect, Method, Recalibrate};
use calipers::{
    Adjust, BinnedEce, Compat, Debias, Error, IntervalMethod, Invalid, Link, LsEce, Measure, Multiclass, NBins, Noise,
    Norm, Profile, ProperScore, RunOut, Setting, Settings, Sigma, SketchOptions, Strategy, Sweep, Ties, link, noise,
    registry,
};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

use crate::failure::Failure;

/// What the user passed by keyword, defaults filled in by Python.
#[derive(Clone, FromPyObject)]
#[pyo3(transparent)]
pub(crate) struct Options<'py>(Bound<'py, PyDict>);

/// A type that options have: what Python gives as this type, or an error that names the option.
pub(crate) trait OptionValue: Sized {
    fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure>;
}

/// Types that Python has itself, with the words for them in errors.
macro_rules! plain_values {
    ($($type:ty: $expected:literal),+) => {$(
        impl OptionValue for $type {
            fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
                value.extract().map_err(|_| Failure::option_type(name, $expected, value))
            }
        }
    )+};
}
plain_values!(f64: "a number", bool: "True or False", String: "text", Option<String>: "text or None");

/// Integers that are not negative.
macro_rules! counts {
    ($($type:ty: $rule:literal),+) => {$(
        impl OptionValue for $type {
            fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
                counted(name, $rule, value)
            }
        }
    )+};
}
counts!(u64: "an integer from 0 to 2^64 - 1", usize: "an integer from 0 to 2^64 - 1", u32: "an integer from 0 to 2^32 - 1");

/// Choices that the core knows by name.
macro_rules! choices {
    ($($type:ty),+) => {$(
        impl OptionValue for $type {
            fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
                Ok(String::read(name, value)?.parse()?)
            }
        }

        impl OptionValue for Option<$type> {
            fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
                Ok(Option::<String>::read(name, value)?.map(|text| text.parse()).transpose()?)
            }
        }
    )+};
}
choices!(Adjust, BandKind, Compat, Debias, IntervalMethod, Invalid, Norm);
choices!(Between, Dialect, Method, NullDistribution, Profile, ProperScore, Quantiles, RunOut, Strategy, Ties);

impl OptionValue for Arc<dyn Noise> {
    fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        Ok(noise::by_name(&String::read(name, value)?)?)
    }
}

impl OptionValue for Arc<dyn Link> {
    fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        Ok(link::by_name(&String::read(name, value)?)?)
    }
}

impl OptionValue for Sigma {
    fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        Ok(number_or_text(name, value)?.to_string().parse()?)
    }
}

impl OptionValue for NBins {
    fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        Ok(count_or_text(name, value)?.parse()?)
    }
}

impl OptionValue for Multiclass {
    fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        Ok(if value.is_none() { Multiclass::Auto } else { count_or_text(name, value)?.parse()? })
    }
}

impl OptionValue for Vec<usize> {
    fn read(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let values: Vec<Bound<'_, PyAny>> =
            value.extract().map_err(|_| Failure::option_type(name, "a sequence of integers", value))?;
        let size = |value| counted(name, "integers from 0 to 2^64 - 1", value);
        values.iter().map(size).collect()
    }
}

/// A one-dimensional array of doubles, which Python has made.
impl OptionValue for Vec<f64> {
    fn read(_: &'static str, value: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        Ok(value.extract::<PyReadonlyArray1<'_, f64>>()?.as_array().to_vec())
    }
}

/// Structs whose fields are the options of the same names.
macro_rules! option_structs {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name {
            $(pub(crate) $field: $type),+
        }

        impl $name {
            pub(crate) fn read(options: &Options<'_>) -> Result<Self, Failure> {
                Ok($name { $($field: options.read(stringify!($field))?),+ })
            }
        }
    )+};
}
option_structs! {
    /// The binary question that is asked of the rows.
    Question { multiclass: Multiclass, ties: Ties }
    /// How many resamples there are, and what an interval holds.
    Resampling { level: f64, n_resamples: u64, random_state: u64 }
    /// How intervals and debiased values are made.
    Corrections { method: Option<IntervalMethod>, debias: Debias }
    /// The samples of a simulation.
    Samples { n: usize, runs: u64, random_state: u64 }
}

impl<'py> Options<'py> {
    pub(crate) fn get(&self, name: &'static str) -> Result<Bound<'py, PyAny>, Failure> {
        self.0.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name).into())
    }

    /// The option of that name as it is, if there is one.
    pub(crate) fn item(&self, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
        self.0.get_item(name).ok().flatten()
    }

    /// The option of that name, of the type that it must have.
    pub(crate) fn read<T: OptionValue>(&self, name: &'static str) -> Result<T, Failure> {
        T::read(name, &self.get(name)?)
    }

    /// The option of that name, unless it is `None`.
    pub(crate) fn given<T: OptionValue>(&self, name: &'static str) -> Result<Option<T>, Failure> {
        let value = self.get(name)?;
        (!value.is_none()).then(|| T::read(name, &value)).transpose()
    }

    /// The names of the classes, where they are known.
    pub(crate) fn class_names(&self) -> Result<Option<Vec<String>>, Failure> {
        Ok(self.get("classes")?.extract()?)
    }

    /// Whether the function that was called has an option of that name.
    pub(crate) fn has(&self, name: &'static str) -> Result<bool, Failure> {
        Ok(self.0.contains(name)?)
    }

    /// The measure of that name. Options that were left out have the core's defaults.
    pub(crate) fn measure(&self, name: &str) -> Result<Box<dyn Measure>, Failure> {
        let mut settings = Settings::default();
        for option in registry::spec(name)?.options {
            let takes_none = option.default == OptionDefault::None;
            if self.has(option.name)? && !(takes_none && self.get(option.name)?.is_none()) {
                settings = settings.with(option.name, self.setting(option)?);
            }
        }
        Ok(registry::make(name, &settings)?)
    }

    /// The value of an option, of the type that the option has.
    fn setting(&self, option: &OptionSpec) -> Result<Setting, Failure> {
        let (name, value) = (option.name, self.get(option.name)?);
        Ok(match option.kind {
            OptionKind::Number => f64::read(name, &value)?.into(),
            OptionKind::Count => u64::read(name, &value)?.into(),
            OptionKind::NumberOrAuto => number_or_text(name, &value)?,
            OptionKind::CountOrAuto => Setting::Text(count_or_text(name, &value)?),
            _ if option.default == OptionDefault::None => {
                Setting::Text(Option::<String>::read(name, &value)?.unwrap_or_default())
            }
            OptionKind::Choice(choices) if choices.contains(&"true") => Setting::Text(truth_or_text(name, &value)?),
            _ => Setting::Text(String::read(name, &value)?),
        })
    }

    pub(crate) fn ls_ece(&self) -> Result<LsEce, Failure> {
        Ok(LsEce::new()
            .sigma(self.read::<Sigma>("sigma")?)
            .noise(self.read::<Arc<dyn Noise>>("noise")?)
            .link(self.read::<Arc<dyn Link>>("link")?)
            .tolerance(self.read("tolerance")?)
            .clip(self.read("clip")?))
    }

    pub(crate) fn binned_ece(&self) -> Result<BinnedEce, Failure> {
        Ok(BinnedEce::new()
            .n_bins(self.read::<NBins>("n_bins")?)
            .strategy(self.read("strategy")?)
            .norm(self.read("norm")?)
            .compat(self.read::<Option<Compat>>("compat")?)
            .link(self.read::<Arc<dyn Link>>("link")?))
    }

    /// The band that was requested, and how it is made.
    pub(crate) fn band(&self) -> Result<(Option<BandKind>, BandOptions), Failure> {
        let Resampling { level, n_resamples, random_state } = Resampling::read(self)?;
        let options = BandOptions::new().level(level).n_resamples(n_resamples).random_state(random_state);
        Ok((self.read("band")?, options))
    }

    pub(crate) fn sweep(&self) -> Result<Sweep, Failure> {
        let sweep = Sweep::new()
            .noise(self.read::<Arc<dyn Noise>>("noise")?)
            .link(self.read::<Arc<dyn Link>>("link")?)
            .tolerance(self.read("tolerance")?)
            .clip(self.read("clip")?)
            .compat(self.read::<Option<Compat>>("compat")?)
            .random_state(self.read("random_state")?);
        Ok(match self.given::<Vec<usize>>("bins")? {
            None => sweep,
            Some(bins) => sweep.bins(bins),
        })
    }

    /// Whether the core chooses the recalibration method.
    pub(crate) fn is_auto(&self) -> Result<bool, Failure> {
        Ok(self.read::<String>("method")? == "auto")
    }

    /// Whether the recalibration method is for rows of classes only.
    pub(crate) fn is_of_classes(&self) -> Result<bool, Failure> {
        Ok(!self.is_auto()? && self.read::<Method>("method")?.is_of_classes())
    }

    /// How a recalibration map is fitted; by the default method where the core chooses.
    pub(crate) fn recalibrate(&self) -> Result<Recalibrate, Failure> {
        let method = if self.is_auto()? { Method::default() } else { self.read("method")? };
        let mut recalibrate = Recalibrate::new(method)
            .clip(self.read("clip")?)
            .between(self.read("between")?)
            .counts(self.read("counts")?)
            .n_bins(self.read("n_bins")?)
            .one_vs_rest(self.read("one_vs_rest")?);
        if let Some(ridge) = self.given::<f64>("ridge")? {
            recalibrate = recalibrate.ridge(ridge);
        }
        if let Some(mixture) = self.given::<f64>("mixture")? {
            recalibrate = recalibrate.mixture(mixture);
        }
        Ok(recalibrate)
    }

    /// How fine a sketch is, in bits or by what it shall answer, and what else makes it.
    pub(crate) fn sketch(&self) -> Result<SketchOptions, Failure> {
        let options = SketchOptions::new()
            .clip(self.read("clip")?)
            .largest_logit(self.read("largest_logit")?)
            .n_bins(&self.read::<Vec<usize>>("n_bins")?)
            .weight_bits(self.read("weight_bits")?);
        let profile: Profile = self.read("profile")?;
        let options = options.profile(profile);
        let resolution: Option<u32> = self.given("resolution")?;
        let (tolerance, smallest_sigma): (Option<f64>, _) = (self.given("tolerance")?, self.given("smallest_sigma")?);
        match (resolution, tolerance, smallest_sigma) {
            (None, None, None) => Ok(options),
            (Some(resolution), None, None) => Ok(options.resolution(resolution)),
            (None, Some(tolerance), Some(sigma)) if profile == Profile::Exact => Ok(options.serving(tolerance, sigma)),
            (None, Some(_), Some(_)) => {
                let rule = "\"exact\" with tolerance and smallest_sigma, since the other has a bound of its own";
                Err(out_of_range("profile", rule, &format!("{:?}", profile.name())))
            }
            _ => {
                let is_given = [resolution.is_some(), tolerance.is_some(), smallest_sigma.is_some()];
                let names = ["resolution", "tolerance", "smallest_sigma"].into_iter().zip(is_given);
                let given: Vec<&str> = names.filter_map(|(name, is_given)| is_given.then_some(name)).collect();
                let rule = "given alone, or tolerance and smallest_sigma together";
                Err(out_of_range("resolution", rule, &given.join(" and ")))
            }
        }
    }
}

/// A number, or a text such as "auto".
fn number_or_text(name: &'static str, value: &Bound<'_, PyAny>) -> Result<Setting, Failure> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Setting::Text(text.to_str()?.to_owned()));
    }
    let number: Result<f64, _> = value.extract();
    Ok(number.map_err(|_| Failure::option_type(name, "a number or \"auto\"", value))?.into())
}

/// True, False or a text such as "auto", as text.
fn truth_or_text(name: &'static str, value: &Bound<'_, PyAny>) -> Result<String, Failure> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.to_owned());
    }
    let wrong = |_| Failure::option_type(name, "True, False or \"auto\"", value);
    Ok(value.extract::<bool>().map_err(wrong)?.to_string())
}

/// An integer or a text, as text: so that the core's own rule rejects -1.
fn count_or_text(name: &'static str, value: &Bound<'_, PyAny>) -> Result<String, Failure> {
    let text = match value.cast::<PyString>() {
        Ok(text) => text.clone(),
        Err(_) => integer(name, value)?.str()?,
    };
    Ok(text.to_str()?.to_owned())
}

/// Anything that is an integer to Python, those of numpy included; 2.0 and True are none.
fn integer<'py>(name: &str, value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyInt>, Failure> {
    let wrong = || Failure::option_type(name, "an integer", value);
    if value.is_instance_of::<PyBool>() {
        return Err(wrong());
    }
    value.call_method0("__index__").ok().and_then(|index| index.cast_into().ok()).ok_or_else(wrong)
}

/// An integer in the range of its type, which the rule describes.
fn counted<'py, T>(name: &'static str, rule: &str, value: &Bound<'py, PyAny>) -> Result<T, Failure>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let value = integer(name, value)?;
    value.extract().map_err(|_| out_of_range(name, rule, &value))
}

fn out_of_range(name: &'static str, rule: &str, value: &impl Display) -> Failure {
    Error::InvalidSetting { name, rule: rule.to_owned(), value: value.to_string() }.into()
}
