//! Every measure by its name. A new one adds a line to the list `ENTRIES`; all else about it is in
//! its own file.

use super::{Measure, Options, Settings, Spec};
use crate::Error;
use crate::measures::{
    binned, clinical, corp, cox, cumulative, distance, kde, kernel, ls_ece, scores, smooth_ece, spline, tcal,
};
use crate::names::hint;

/// A measure that can be made by name.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// What it is.
    pub spec: &'static Spec,
    /// Makes it from options.
    pub(crate) make: fn(&Options<'_>) -> Result<Box<dyn Measure>, Error>,
}

/// All measures of one outcome, in the order of a table.
const ENTRIES: &[Entry] = &[
    ls_ece::LS_ECE,
    ls_ece::RESIDUAL,
    binned::ECE,
    binned::ADAPTIVE,
    binned::ROOT_MEAN_SQUARED,
    binned::MAXIMUM,
    binned::DEBIASED,
    binned::SWEEP,
    smooth_ece::ENTRY,
    kde::KDE,
    kde::BETA_KDE,
    cumulative::RANGE,
    cumulative::MAXIMUM_ABSOLUTE,
    spline::ENTRY,
    distance::SMOOTH,
    distance::LOWER,
    distance::SURROGATE_INTERVAL,
    kernel::LAPLACE,
    kernel::MMCE,
    tcal::ENTRY,
    corp::ENTRY,
    scores::BRIER,
    scores::LOG_LOSS,
    clinical::OBSERVED_EXPECTED,
    clinical::ICI,
    clinical::E50,
    clinical::E90,
    clinical::EMAX,
    cox::IN_THE_LARGE,
    cox::SLOPE,
    cox::INTERCEPT,
];

/// All measures of one outcome, in the order of a table.
pub fn all() -> &'static [Entry] {
    ENTRIES
}

/// The description of the measure of that name, or of what people write for it: `ls-ece`, `LS_ECE`,
/// or its title, `ECE`.
pub fn spec(name: &str) -> Result<&'static Spec, Error> {
    entry(name).map(|entry| entry.spec)
}

/// The measure of that name with these options, and the defaults of its [`Spec`] for the others.
///
/// # Example
/// ```
/// use calipers::{Settings, registry};
///
/// let measure = registry::make("smooth_ece", &Settings::default().with("sigma", 0.1))?;
/// assert_eq!(measure.spec().title, "smECE");
/// # Ok::<(), calipers::Error>(())
/// ```
pub fn make(name: &str, options: &Settings) -> Result<Box<dyn Measure>, Error> {
    let entry = entry(name)?;
    (entry.make)(&Options::new(entry.spec, options)?)
}

fn entry(name: &str) -> Result<&'static Entry, Error> {
    let by_name = |name: &str| ENTRIES.iter().find(|entry| entry.spec.name == name);
    let written = words(name);
    let by_title = || ENTRIES.iter().find(|entry| words(entry.spec.title) == written);
    by_name(name).or_else(|| by_name(&written)).or_else(by_title).ok_or_else(|| {
        let hint = hint(name, ENTRIES.iter().map(|entry| entry.spec.name));
        Error::setting(
            "measure",
            "a name from the list of measures (calipers list, cal.measures())",
            format!("{name:?}{hint}"),
        )
    })
}

/// In lower case, with `_` between the words.
fn words(written: &str) -> String {
    written.to_lowercase().replace(['-', ' '], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_known_by_what_people_write_for_it() {
        for written in ["ls_ece", "ls-ece", "LS-ECE"] {
            assert_eq!(spec(written).unwrap().name, "ls_ece", "{written}");
        }
        for (written, name) in [("ECE", "expected_calibration_error"), ("residual LS-ECE", "residual_ls_ece")] {
            assert_eq!(spec(written).unwrap().name, name, "{written}");
        }
        for entry in ENTRIES {
            assert_eq!(spec(entry.spec.name).unwrap().name, entry.spec.name);
        }
    }

    #[test]
    fn an_unknown_name_gets_the_closest_one() {
        let text = |name: &str| spec(name).unwrap_err().to_string();
        let rule = "measure must be a name from the list of measures (calipers list, cal.measures()), got";
        assert_eq!(text("smooth_eec"), format!("{rule} \"smooth_eec\"; did you mean \"smooth_ece\"?"));
        assert_eq!(text("brier"), format!("{rule} \"brier\"; did you mean \"brier_score\"?"));
        assert_eq!(text("sharpness"), format!("{rule} \"sharpness\""));
    }
}
