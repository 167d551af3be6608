//! What a calibrated model would show, beside every figure of `calipers measure`.

use calipers::measure::{Cost, FromSketch};
use calipers::{Assess, Error, Estimate, Measure, NoiseFloor, Sample};

use crate::render::grid::{Cell, Grid};
use crate::render::number;
use crate::render::screen::Tone;

/// Draws of a floor: its mean is known to a fourteenth of its deviation, and p-values from 0.005
/// on.
pub(crate) const N_DRAWS: u64 = 200;

const SEED: u64 = 0;

/// A p-value of at most so much is shown as one that says something, where no level was given.
const P_SEEN: f64 = 0.05;

/// Measures that are asked again for each draw have a floor up to so many rows, unless it is asked
/// for.
const MOST_ROWS: u64 = 100_000;

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
    pub(crate) unavailable: Option<String>,
}

impl Floored {
    /// The share of draws that are at least the figure, where that says something.
    pub(crate) fn p_value(&self) -> Option<f64> {
        self.floor.as_ref().filter(|_| self.estimate.spec.larger_is_worse()).map(|floor| floor.p_value)
    }

    /// Whether a floor was asked for.
    pub(crate) fn has_place_for_floor(&self) -> bool {
        self.floor.is_some() || self.unavailable.is_some()
    }

    /// Floor and p-value as a table has them.
    pub(crate) fn cells(&self) -> [Cell; 2] {
        [floor_cell(self.floor.as_ref()), p_cell(self.p_value(), P_SEEN)]
    }
}

/// Floors and p-values beside a column of figures.
pub(crate) fn add_floors(table: &mut Grid, cells: impl Iterator<Item = [Cell; 2]>) {
    let (floors, p_values): (Vec<Cell>, Vec<Cell>) = cells.map(|[floor, p]| (floor, p)).unzip();
    table.beside("floor", floors);
    table.beside("p", p_values);
}

/// A floor as a table has it.
pub(crate) fn floor_cell(floor: Option<&NoiseFloor>) -> Cell {
    floor.map_or_else(Cell::dash, |floor| Cell::toned(number::plus_minus(floor.mean, floor.deviation), Tone::Quiet))
}

/// A p-value as a table has it: one that is at most so much stands out.
pub(crate) fn p_cell(p: Option<f64>, seen: f64) -> Cell {
    match p {
        None => Cell::dash(),
        Some(p) if p <= seen + 1e-12 => Cell::toned(number::p_value(p), Tone::Warning),
        Some(p) => number::p_value(p).into(),
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
    pub(crate) fn figure(self, measure: &dyn Measure, sample: Sample<'_>) -> Result<Floored, Error> {
        let estimate = sample.estimate(measure)?;
        let (floor, unavailable) = match self {
            Floors::Never => (None, None),
            Floors::TooManyGroups(_) => (None, Some(format!("more than {MOST_GROUPS} groups: --floor always has it"))),
            Floors::Auto | Floors::Always => match self.draw(measure, sample) {
                Ok(floor) => (Some(floor), None),
                Err(reason) => (None, Some(reason)),
            },
        };
        Ok(Floored { estimate, floor, unavailable })
    }

    fn draw(self, measure: &dyn Measure, sample: Sample<'_>) -> Result<NoiseFloor, String> {
        if self == Floors::Auto
            && let Some(reason) = takes_long(measure, sample)
        {
            return Err(format!("{reason}: --floor always has it"));
        }
        if sample.is_sketch() && measure.spec().from_sketch < FromSketch::Assessment {
            return Err(NOT_OF_SKETCHES.to_owned());
        }
        if sample.is_classwise() {
            let assessed = Assess::new(measure).n_resamples(N_DRAWS).random_state(SEED).run(sample);
            let assessed = assessed.map_err(|error| error.to_string())?;
            return assessed.floor.ok_or_else(|| assessed.unavailable.unwrap_or_default().to_owned());
        }
        sample.noise_floor(measure, N_DRAWS, SEED).map_err(|error| error.to_string())
    }
}

/// Why there is no floor unless it is asked for.
fn takes_long(measure: &dyn Measure, sample: Sample<'_>) -> Option<String> {
    if sample.is_classwise() {
        return Some("a mean over classes, which are drawn together".to_owned());
    }
    let view = sample.view()?;
    let too_many = || (view.len() as u64 > MOST_ROWS).then(|| format!("more than {} rows", number::count(MOST_ROWS)));
    match measure.spec().cost {
        Cost::Quick => too_many(),
        // On a grid, but not with every noise: then there are no influence values either.
        Cost::AnyNumberOfRows => too_many()
            .filter(|_| measure.resampler(view, None).is_ok_and(|resampler| resampler.influence_deviation().is_none())),
        _ => Some("takes long".to_owned()),
    }
}

const NOT_OF_SKETCHES: &str = "a sketch has one for LS-ECE and for ECE with bins of equal width";
