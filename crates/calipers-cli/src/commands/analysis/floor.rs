//! What a calibrated model would show, beside every figure of `calipers measure`.

use calipers::{Assess, Error, Estimate, Estimator, NoiseFloor};

use crate::dataset::source::Source;
use crate::render::grid::{Cell, Grid};
use crate::render::number;
use crate::render::screen::Tone;

/// Draws of a floor: its mean is known to a fourteenth of its deviation, and p-values from 0.005 on.
pub(crate) const N_DRAWS: u64 = 200;

const SEED: u64 = 0;

/// A p-value of at most so much is shown as one that says something, where no level was given.
const P_SEEN: f64 = 0.05;

/// Measures that are asked again for each draw have a floor up to so many rows, unless it is asked for.
const MOST_ROWS: u64 = 100_000;

/// Measures that take microseconds for a thousand rows, so that draws by the hundred are no wait.
const QUICK: [&str; 13] = [
    "expected_calibration_error",
    "adaptive_calibration_error",
    "root_mean_squared_calibration_error",
    "maximum_calibration_error",
    "debiased_ece",
    "sweep_ece",
    "ecce_r",
    "ecce_mad",
    "tcal_squared_error",
    "corp_miscalibration",
    "brier_score",
    "log_loss",
    "observed_expected",
];

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
        self.floor.as_ref().filter(|_| self.estimate.larger_is_worse()).map(|floor| floor.p_value)
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

    /// A figure of predictions, with its floor. The name is that of the catalogue.
    pub(crate) fn figure(self, name: &str, measure: &dyn Estimator, source: &Source<'_>) -> Result<Floored, Error> {
        let estimate = source.estimate(measure)?;
        let (floor, unavailable) = match (self, source) {
            (Floors::Never, _) => (None, None),
            (Floors::TooManyGroups(_), _) => {
                (None, Some(format!("more than {MOST_GROUPS} groups: --floor always has it")))
            }
            (Floors::Auto | Floors::Always, source) => match self.draw(name, measure, source, estimate.n) {
                Ok(floor) => (Some(floor), None),
                Err(reason) => (None, Some(reason)),
            },
        };
        Ok(Floored { estimate, floor, unavailable })
    }

    fn draw(self, name: &str, measure: &dyn Estimator, source: &Source<'_>, n: u64) -> Result<NoiseFloor, String> {
        let said = |error: Error| error.to_string();
        let too_long = |reason: &str| Err(format!("{reason}: --floor always has it"));
        match source {
            Source::Classes { .. } if self == Floors::Auto => too_long("a mean over classes, which are drawn together"),
            Source::Classes { .. } => {
                let assessed = source.assess(Assess::new(measure).n_resamples(N_DRAWS).seed(SEED)).map_err(said)?;
                assessed.floor.ok_or_else(|| assessed.withheld.unwrap_or_default().to_owned())
            }
            Source::Sketch { sketch, .. } => decided(measure, |measure| {
                let resampler = measure.sketch_resampler(sketch).map_err(|_| NOT_OF_SKETCHES)?;
                NoiseFloor::new(&*resampler, N_DRAWS, SEED).map_err(said)
            }),
            Source::Rows { view, .. } => {
                let is_auto = self == Floors::Auto;
                let too_many = || format!("more than {} rows", number::count(MOST_ROWS));
                let on_grid = ["ls_ece", "residual_ls_ece"].contains(&name);
                if is_auto && !on_grid && !QUICK.contains(&name) {
                    return too_long("takes long");
                }
                if is_auto && !on_grid && n > MOST_ROWS {
                    return too_long(&too_many());
                }
                decided(measure, |measure| {
                    let resampler = measure.resampler(view).map_err(said)?;
                    // LS-ECE is drawn on a grid, but not with every noise: then there are no influence values either.
                    if is_auto && n > MOST_ROWS && resampler.influence_deviation().is_none() {
                        return too_long(&too_many());
                    }
                    NoiseFloor::new(&*resampler, N_DRAWS, SEED).map_err(said)
                })
            }
        }
    }
}

/// The floor of a measure with the p-value of the one that decides for it: of LS-ECE its residual form.
fn decided(
    measure: &dyn Estimator,
    floor_of: impl Fn(&dyn Estimator) -> Result<NoiseFloor, String>,
) -> Result<NoiseFloor, String> {
    let floor = floor_of(measure)?;
    match measure.decided_by() {
        Some(deciding) => Ok(NoiseFloor { p_value: floor_of(&*deciding)?.p_value, ..floor }),
        None => Ok(floor),
    }
}

const NOT_OF_SKETCHES: &str = "a sketch has one for LS-ECE and for ECE with bins of equal width";
