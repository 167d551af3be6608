//! Measures by name, made from the options of a call.

use calipers::measure::{FromSketch, OptionDefault, OptionKind, OptionSpec};
use calipers::{
    CalibrationIndex, CanonicalKdeEce, Corp, CoxCalibration, CumulativeCalibrationError, LsEceSampled, Measure,
    Setting, Settings, Sigma, Spec, SplineCalibrationError, registry,
};

use pyo3::prelude::*;

use crate::failure::Failure;
use crate::options::Options;

/// A measure as Python's `Measure` has it.
#[derive(IntoPyObject)]
pub(crate) struct Listed {
    name: &'static str,
    title: &'static str,
    definition: &'static str,
    reference: &'static str,
    /// What a sketch answers: "nothing", "approximation", "value" or "assessment".
    from_sketch: &'static str,
    options: Vec<(&'static str, Default)>,
}

/// The value of an option that is left out.
#[derive(IntoPyObject)]
pub(crate) enum Default {
    Nothing(Option<u8>),
    Number(f64),
    Count(u64),
    Text(&'static str),
}

impl From<&'static Spec> for Listed {
    fn from(spec: &'static Spec) -> Self {
        let default = |option: &OptionSpec| match option.default {
            OptionDefault::Auto => Default::Text("auto"),
            OptionDefault::Number(value) => Default::Number(value),
            OptionDefault::Count(value) => Default::Count(value),
            OptionDefault::Text(value) => Default::Text(value),
            _ => Default::Nothing(None),
        };
        Listed {
            name: spec.name,
            title: spec.title,
            definition: spec.definition,
            reference: spec.reference,
            from_sketch: match spec.from_sketch {
                FromSketch::Assessment => "assessment",
                FromSketch::Value => "value",
                FromSketch::Approximation => "approximation",
                _ => "nothing",
            },
            options: spec.options.iter().map(|option| (option.name, default(option))).collect(),
        }
    }
}

impl Options<'_> {
    /// The measure of that name. Options that were left out have the core's defaults.
    pub(crate) fn measure(&self, name: &str) -> Result<Box<dyn Measure>, Failure> {
        let spec = registry::spec(name)?;
        let mut settings = Settings::default();
        for option in spec.options {
            let takes_none = option.default == OptionDefault::None;
            if self.has(option.name)? && (!takes_none || self.is_given(option.name)?) {
                settings = settings.with(option.name, self.setting(option)?);
            }
        }
        Ok(registry::make(name, &settings)?)
    }

    /// The value of an option, of the type that the option has.
    fn setting(&self, option: &OptionSpec) -> Result<Setting, Failure> {
        let name = option.name;
        Ok(match option.kind {
            OptionKind::Number => self.number(name)?.into(),
            OptionKind::Count => self.count(name)?.into(),
            OptionKind::NumberOrAuto if self.is_text(name)? => Setting::Text(self.text(name)?),
            OptionKind::NumberOrAuto => {
                let value = self.get(name)?;
                let number: Result<f64, _> = value.extract();
                number.map_err(|_| Failure::option_type(name, "a number or \"auto\"", &value))?.into()
            }
            // By its text, so that -1 is refused by the core's own rule.
            OptionKind::CountOrAuto => Setting::Text(self.text_of_count(name)?),
            _ if option.default == OptionDefault::None => {
                Setting::Text(self.optional_text(name, "text or None")?.unwrap_or_default())
            }
            _ => Setting::Text(self.text(name)?),
        })
    }

    pub(crate) fn ls_ece_sampled(&self) -> Result<LsEceSampled, Failure> {
        Ok(LsEceSampled::new(self.number_or_auto::<Sigma>("sigma")?)
            .noise(self.noise()?)
            .link(self.link()?)
            .n_samples(self.count("n_samples")?)
            .random_state(self.count("random_state")?)
            .clip(self.number("clip")?))
    }

    pub(crate) fn corp(&self) -> Result<Corp, Failure> {
        Ok(Corp::new().score(self.named("score")?).link(self.link()?))
    }

    pub(crate) fn calibration_index(&self) -> Result<CalibrationIndex, Failure> {
        Ok(CalibrationIndex::new().smoother(self.ls_ece()?))
    }

    pub(crate) fn cox(&self) -> Result<CoxCalibration, Failure> {
        Ok(CoxCalibration::new().clip(self.number("clip")?))
    }

    pub(crate) fn cumulative(&self) -> Result<CumulativeCalibrationError, Failure> {
        Ok(CumulativeCalibrationError::new().link(self.link()?))
    }

    pub(crate) fn spline(&self) -> Result<SplineCalibrationError, Failure> {
        Ok(SplineCalibrationError::new()
            .n_knots(self.size("n_knots")?)
            .run_out(self.named("run_out")?)
            .link(self.link()?))
    }

    pub(crate) fn canonical_kde_ece(&self) -> Result<CanonicalKdeEce, Failure> {
        Ok(CanonicalKdeEce::new(self.number("bandwidth")?)
            .norm(self.named("norm")?)
            .clip(self.number("clip")?)
            .limit(self.count("limit")?.into()))
    }
}
