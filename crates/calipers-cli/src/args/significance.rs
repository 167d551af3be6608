//! The options of `calipers assess`, `compare` and `check` that say how chance is reckoned with.

use calipers::{Assess, Debias, Error, IntervalMethod, LsEce, Measure};
use clap::Args;

/// How much is drawn, and what rows are independent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chance")]
pub(crate) struct DrawArgs {
    /// Level of intervals; tests are at 1 - X
    #[arg(long, value_name = "X", default_value = "0.95", allow_negative_numbers = true)]
    pub(crate) level: f64,

    /// Draws of each kind: of outcomes from the predictions, and of rows
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) resamples: u64,

    #[command(flatten)]
    pub(crate) random_state: SeedArgs,

    /// Column or array whose values tell clusters of rows apart that depend on each other, such as
    /// a person's. Rows are kept in memory
    #[arg(long, value_name = "COL")]
    pub(crate) cluster: Option<String>,
}

impl DrawArgs {
    /// Refuses what no rows could change, before any are read.
    pub(crate) fn check(&self) -> Result<(), Error> {
        Assess::new(&LsEce::new()).level(self.level).n_resamples(self.resamples).check()
    }
}

/// Where random numbers come from.
#[derive(Debug, Args)]
pub(crate) struct SeedArgs {
    /// What the random numbers are made from: the same seed gives the same figures, on any number
    /// of threads [default: 0]
    #[arg(long, value_name = "N")]
    random_state: Option<u64>,
}

impl SeedArgs {
    pub(crate) fn is_given(&self) -> bool {
        self.random_state.is_some()
    }

    pub(crate) fn value(&self) -> u64 {
        self.random_state.unwrap_or(0)
    }
}

/// How intervals are made.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chance")]
pub(crate) struct IntervalArgs {
    /// How intervals are made: bias-aware, influence, normal, percentile or bca [default:
    /// bias-aware for LS-ECE and ECE, normal for others]
    #[arg(long, value_name = "METHOD")]
    interval: Option<String>,
}

/// The options, read.
#[derive(Debug, Clone)]
pub(crate) struct Significance {
    pub(crate) level: f64,
    pub(crate) n_resamples: u64,
    pub(crate) random_state: u64,
    pub(crate) method: Option<IntervalMethod>,
    pub(crate) debias: Debias,
    /// Draws at most, for p-values that are as small as `n_resamples` can show.
    most_resamples: u64,
}

/// So many draws for one of many groups, and no more.
const MOST_RESAMPLES: u64 = 100_000;

impl Significance {
    /// For so many groups, whose p-values are adjusted for their number.
    pub(crate) fn for_groups(&self, n_groups: usize) -> Self {
        let needed = (n_groups as f64 / (1.0 - self.level)).ceil() as u64;
        Significance { most_resamples: needed.min(MOST_RESAMPLES), ..self.clone() }
    }

    pub(crate) fn new(draws: &DrawArgs, interval: &IntervalArgs, debias: Debias) -> Result<Self, Error> {
        let significance = Significance {
            level: draws.level,
            n_resamples: draws.resamples,
            random_state: draws.random_state.value(),
            method: interval.interval.as_deref().map(str::parse).transpose()?,
            debias,
            most_resamples: 0,
        };
        draws.check()?;
        Ok(significance)
    }

    pub(crate) fn assess<'a>(&self, measure: &'a dyn Measure) -> Assess<'a> {
        let assess =
            Assess::new(measure).level(self.level).n_resamples(self.n_resamples).random_state(self.random_state);
        let assess = assess.debias(self.debias).most_resamples(self.most_resamples);
        self.method.map_or(assess, |method| assess.method(method))
    }
}
