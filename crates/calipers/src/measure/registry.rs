//! Every measure by its name. A new one adds a line to the list `ENTRIES`; all else about it is in
//! its own file.

use strsim::levenshtein;

use super::{Measure, Options, Settings, Spec};
use crate::Error;
use crate::measures::{
    binned, clinical, corp, cox, cumulative, distance, kde, kernel, ls_ece, scores, smooth_ece, spline, tcal,
};

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

/// The description of the measure of that name.
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
    ENTRIES.iter().find(|entry| entry.spec.name == name).ok_or_else(|| {
        let is_close =
            |known: &&str| levenshtein(name, known) <= known.len() / 3 || (!name.is_empty() && known.starts_with(name));
        let close = ENTRIES.iter().map(|entry| entry.spec.name).filter(is_close);
        let closest = close.min_by_key(|known| levenshtein(name, known));
        let hint = closest.map_or(String::new(), |closest| format!("; did you mean {closest:?}?"));
        Error::setting("measure", "a name from the list of measures", format!("{name:?}{hint}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_gets_the_closest_one() {
        let text = |name: &str| spec(name).unwrap_err().to_string();
        let rule = "measure must be a name from the list of measures, got";
        assert_eq!(text("smooth_eec"), format!("{rule} \"smooth_eec\"; did you mean \"smooth_ece\"?"));
        assert_eq!(text("brier"), format!("{rule} \"brier\"; did you mean \"brier_score\"?"));
        assert_eq!(text("sharpness"), format!("{rule} \"sharpness\""));
    }
}
