//! The options of `calipers assess`, `compare` and `check` that concern chance.

use calipers::{Adjust, Assess, Debias, Error, IntervalMethod, LsEce, Measure};
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

/// How p-values are adjusted for their number.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chance")]
pub(crate) struct AdjustArgs {
    /// How p-values of groups and classes are adjusted for their number: holm (chance alone makes
    /// any finding in at most 5 % of all runs), bh (Benjamini-Hochberg: at most 5 % of the findings
    /// are false on average), or by (Benjamini-Yekutieli: the same for tests that depend on each
    /// other in any way)
    #[arg(long, value_name = "NAME", default_value = "holm", value_parser = one_of::<Adjust>(Adjust::NAMES))]
    pub(crate) adjust: Adjust,
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
    /// How many p-values are adjusted together.
    n_tests: u64,
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
            n_tests: 1,
        })
    }

    /// For one of so many tests, whose p-values are adjusted together.
    pub(crate) fn for_tests(&self, n_tests: u64) -> Self {
        Significance { n_tests, ..self.clone() }
    }

    pub(crate) fn assess<'a>(&self, measure: &'a dyn Measure) -> Assess<'a> {
        let assess =
            Assess::new(measure).level(self.level).n_resamples(self.n_resamples).random_state(self.random_state);
        let assess = assess.debias(self.debias).n_tests(self.n_tests);
        self.method.map_or(assess, |method| assess.method(method))
    }
}
