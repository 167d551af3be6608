//! The options of `calipers assess`, `compare` and `check` that concern chance.

use calipers::{Assess, Debias, Error, IntervalMethod, LsEce, Measure};
use clap::Args;

use super::values::one_of;

/// How many resamples there are, and which rows are independent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chance")]
pub(crate) struct ResampleArgs {
    /// Level of intervals; a p-value of at most 1 - X is significant
    #[arg(long, value_name = "X", default_value = "0.95", allow_negative_numbers = true)]
    pub(crate) level: f64,

    /// Number of resamples of each kind: outcomes drawn from the probabilities, for the noise
    /// floor, and rows drawn with replacement, for the interval
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) n_resamples: u64,

    #[command(flatten)]
    pub(crate) random_state: RandomStateArgs,

    /// Column or array that groups rows which depend on each other, such as those of one person.
    /// All rows are kept in memory
    #[arg(long, value_name = "COL")]
    pub(crate) cluster: Option<String>,
}

impl ResampleArgs {
    /// Rejects what no data could make valid, before any file is read.
    pub(crate) fn check(&self) -> Result<(), Error> {
        Assess::new(&LsEce::new()).level(self.level).n_resamples(self.n_resamples).check()
    }
}

/// The seed of random numbers.
#[derive(Debug, Args)]
pub(crate) struct RandomStateArgs {
    /// Seed of the random numbers. The same seed gives the same values, on any number of threads
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) random_state: u64,
}

/// How intervals are computed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chance")]
pub(crate) struct IntervalArgs {
    /// How intervals are computed [default: bias-aware for LS-ECE and ECE, normal for other
    /// measures]
    #[arg(long, value_name = "NAME", value_parser = one_of::<IntervalMethod>(&IntervalMethod::ALL.map(IntervalMethod::name)))]
    method: Option<IntervalMethod>,
}

/// All settings of an assessment.
#[derive(Debug, Clone)]
pub(crate) struct Significance {
    pub(crate) level: f64,
    pub(crate) n_resamples: u64,
    pub(crate) random_state: u64,
    method: Option<IntervalMethod>,
    debias: Debias,
    /// The most resamples, for p-values that are as small as `n_resamples` can show.
    most_resamples: u64,
}

/// The most resamples for one of many groups.
const MOST_RESAMPLES: u64 = 100_000;

/// So many resamples can show a p-value that is significant after adjusting for all groups.
pub(crate) fn most_resamples(n_groups: usize, level: f64) -> u64 {
    ((n_groups as f64 / (1.0 - level)).ceil() as u64).min(MOST_RESAMPLES)
}

impl Significance {
    pub(crate) fn new(resample: &ResampleArgs, interval: &IntervalArgs, debias: Debias) -> Result<Self, Error> {
        resample.check()?;
        Ok(Significance {
            level: resample.level,
            n_resamples: resample.n_resamples,
            random_state: resample.random_state.random_state,
            method: interval.method,
            debias,
            most_resamples: 0,
        })
    }

    /// For so many groups, whose p-values are adjusted for their number.
    pub(crate) fn for_groups(&self, n_groups: usize) -> Self {
        Significance { most_resamples: most_resamples(n_groups, self.level), ..self.clone() }
    }

    pub(crate) fn assess<'a>(&self, measure: &'a dyn Measure) -> Assess<'a> {
        let assess =
            Assess::new(measure).level(self.level).n_resamples(self.n_resamples).random_state(self.random_state);
        let assess = assess.debias(self.debias).most_resamples(self.most_resamples);
        self.method.map_or(assess, |method| assess.method(method))
    }
}
