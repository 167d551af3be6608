//! What a calibrated model would show, beside every figure of `calipers measure`.

use calipers::{Error, Estimate, Estimator, NoiseFloor};

use crate::number;
use crate::source::Source;

/// Draws of a floor: its mean is known to a fourteenth of its deviation, and p-values from 0.005 on.
pub(crate) const N_DRAWS: u64 = 200;

const SEED: u64 = 0;

/// Measures that are asked again for each draw have a floor up to so many rows, unless it is asked for.
const MOST_ROWS: u64 = 20_000;

/// Measures of which larger is not worse: a share of draws above the figure says nothing.
const NOT_ORDERED: [&str; 4] =
    ["observed_expected", "calibration_in_the_large", "calibration_slope", "calibration_intercept"];

/// More groups have floors only if they are asked for.
const MOST_GROUPS: usize = 100;

/// When there is a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floors {
    /// Where it takes seconds at most.
    Auto,
    Always,
    Never,
    /// Would be automatic, but for so many groups.
    TooManyGroups(usize),
}

/// A figure with its floor.
#[derive(Debug)]
pub(crate) struct Floored {
    pub(crate) estimate: Estimate,
    pub(crate) floor: Option<NoiseFloor>,
    /// Why there is none, where one was to be.
    pub(crate) withheld: Option<String>,
}

impl Floored {
    /// The share of draws that are at least the figure, where that says something.
    pub(crate) fn p_value(&self) -> Option<f64> {
        let is_ordered = !NOT_ORDERED.contains(&self.estimate.measure);
        self.floor.as_ref().filter(|_| is_ordered).map(|floor| floor.p_value)
    }

    /// Whether a floor was asked for.
    pub(crate) fn has_place_for_floor(&self) -> bool {
        self.floor.is_some() || self.withheld.is_some()
    }

    /// Floor and p-value as a table has them.
    pub(crate) fn cells(&self) -> [String; 2] {
        let none = || "-".to_owned();
        [
            self.floor.as_ref().map_or_else(none, |floor| number::plus_minus(floor.mean, floor.deviation)),
            self.p_value().map_or_else(none, number::p_value),
        ]
    }
}

impl std::str::FromStr for Floors {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Floors::Auto),
            "always" => Ok(Floors::Always),
            "never" => Ok(Floors::Never),
            _ => {
                let rule = "one of auto, always, never".to_owned();
                Err(Error::InvalidSetting { name: "floor", rule, value: format!("{text:?}") })
            }
        }
    }
}

impl Floors {
    /// The rule for so many groups of the same rows.
    pub(crate) fn for_groups(self, n_groups: usize) -> Self {
        if self == Floors::Auto && n_groups > MOST_GROUPS { Floors::TooManyGroups(n_groups) } else { self }
    }

    /// A figure of predictions, with its floor.
    pub(crate) fn figure(self, measure: &dyn Estimator, source: &Source<'_>) -> Result<Floored, Error> {
        let estimate = source.estimate(measure)?;
        let (floor, withheld) = match (self, source) {
            (Floors::Never, _) => (None, None),
            (Floors::TooManyGroups(_), _) => {
                (None, Some(format!("more than {MOST_GROUPS} groups: --floor always has it")))
            }
            (Floors::Auto | Floors::Always, source) => match self.draw(measure, source, &estimate) {
                Ok(floor) => (Some(floor), None),
                Err(reason) => (None, Some(reason)),
            },
        };
        Ok(Floored { estimate, floor, withheld })
    }

    fn draw(self, measure: &dyn Estimator, source: &Source<'_>, estimate: &Estimate) -> Result<NoiseFloor, String> {
        let said = |error: Error| error.to_string();
        match source {
            Source::Classes(..) => Err("a mean over classes, which depend on each other".to_owned()),
            Source::Sketch(sketch) => {
                let resampler = measure.sketch_resampler(sketch).map_err(|_| "only LS-ECE has one from a sketch")?;
                NoiseFloor::new(&*resampler, N_DRAWS, SEED).map_err(said)
            }
            Source::Rows { view, .. } => {
                let too_many = self == Floors::Auto && estimate.n > MOST_ROWS;
                let refusal = || Err(format!("more than {} rows: --floor always has it", number::count(MOST_ROWS)));
                // Only LS-ECE has draws that take less time than the figure itself.
                if too_many && estimate.measure != "ls_ece" {
                    return refusal();
                }
                let resampler = measure.resampler(view).map_err(said)?;
                // And not with every noise: then there are no influence values either.
                if too_many && resampler.influence_deviation().is_none() {
                    return refusal();
                }
                NoiseFloor::new(&*resampler, N_DRAWS, SEED).map_err(said)
            }
        }
    }
}
