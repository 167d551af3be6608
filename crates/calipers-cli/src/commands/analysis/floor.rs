//! The noise floor beside every value of `calipers measure`.

use calipers::inference::Parts;
use calipers::measure::{Cost, FromSketch};
use calipers::{Assess, Error, Measure, NoiseFloor, Sample};
use clap::ValueEnum;

use super::answers::Known;
use crate::render::number;

/// Resamples of a floor: its mean is known to a fourteenth of its standard deviation, and p-values
/// from 0.005 on.
const N_RESAMPLES: u64 = 200;

const RANDOM_STATE: u64 = 0;

/// A p-value of at most so much stands out, since `measure` has no level.
pub(crate) const SIGNIFICANT: f64 = 0.05;

/// Measures whose resamples draw each row have a floor up to so many rows, unless it is requested.
const MOST_ROWS: u64 = 100_000;

/// More groups have floors only if they are requested.
const MOST_GROUPS: usize = 100;

/// When there is a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Floors {
    /// If it takes seconds at most: for nearly all measures with any number of rows, for those that
    /// draw each row up to 100,000 rows, and for at most 100 groups
    Auto,
    /// Even if it takes long
    Always,
    /// Only values
    Never,
    #[value(skip)]
    TooManyGroups,
}

impl Floors {
    /// The rule for so many groups of the same rows.
    pub(super) fn for_groups(self, n_groups: usize) -> Self {
        if self == Floors::Auto && n_groups > MOST_GROUPS { Floors::TooManyGroups } else { self }
    }

    /// A value with its floor, for one of so many tests.
    pub(super) fn known(self, measure: &dyn Measure, sample: Sample<'_>, n_tests: u64) -> Result<Known, Error> {
        let estimate = sample.estimate(measure)?;
        let floor = match self {
            Floors::Never => None,
            Floors::TooManyGroups => {
                Some(Err(on_request(&format!("there are more than {MOST_GROUPS} groups or classes"))))
            }
            Floors::Auto | Floors::Always => Some(self.floor(measure, sample, n_tests)),
        };
        let (floor, parts, unavailable) = match floor {
            None => (None, None, None),
            Some(Ok((floor, parts))) => (Some(floor), parts, None),
            Some(Err(reason)) => (None, None, Some(reason)),
        };
        Ok(Known { estimate, floor, unavailable, assessment: None, parts })
    }

    /// The floor, and the direction where another measure decides: it costs no further resamples.
    fn floor(
        self,
        measure: &dyn Measure,
        sample: Sample<'_>,
        n_tests: u64,
    ) -> Result<(NoiseFloor, Option<Parts>), String> {
        if self == Floors::Auto
            && let Some(reason) = takes_long(measure, sample)
        {
            return Err(on_request(&reason));
        }
        if sample.is_sketch() && measure.spec().from_sketch < FromSketch::Assessment {
            return Err("a sketch only has the floors of LS-ECE and of ECE with bins of equal width".to_owned());
        }
        if sample.is_classwise() || measure.decided_by().is_some() {
            let assess = Assess::new(measure).n_resamples(N_RESAMPLES).random_state(RANDOM_STATE);
            let assessed = assess.n_tests(n_tests).run(sample).map_err(|error| error.to_string())?;
            let unavailable = || assessed.unavailable.unwrap_or_default().to_owned();
            return assessed.floor.map(|floor| (floor, assessed.parts)).ok_or_else(unavailable);
        }
        let resolution = if n_tests > 1 { SIGNIFICANT / n_tests as f64 } else { 1.0 };
        let floor = sample.resolving_noise_floor(measure, N_RESAMPLES, resolution, RANDOM_STATE);
        floor.map(|floor| (floor, None)).map_err(|error| error.to_string())
    }
}

fn on_request(reason: &str) -> String {
    format!("{reason}; --floor always computes it")
}

/// Why there is no floor unless it is requested.
fn takes_long(measure: &dyn Measure, sample: Sample<'_>) -> Option<String> {
    if sample.is_classwise() {
        return Some("the value is a mean over classes, which are resampled together".to_owned());
    }
    if sample.is_sketch() {
        return None;
    }
    let too_many =
        || (sample.n() > MOST_ROWS).then(|| format!("there are more than {} rows", number::count(MOST_ROWS)));
    match (measure.spec().cost, sample.view()) {
        (Cost::Quick | Cost::AnyNumberOfRows, Some(view)) => too_many().filter(|_| {
            sample.has_clusters() || measure.resampler(view, None).is_ok_and(|resampler| resampler.draws_rows())
        }),
        (Cost::Quick, None) => too_many(),
        _ => Some("it takes long".to_owned()),
    }
}
