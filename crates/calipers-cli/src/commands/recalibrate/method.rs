//! Which map is fitted, and how.

use calipers::Error;
use calipers::recalibrate::{Between, Choose, CrossFit, Method, Recalibrate};
use clap::Args;

use crate::args::significance::ResampleArgs;
use crate::args::values::{Parsed, named, one_of};

/// A method as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requested {
    /// Chosen for the data.
    Auto,
    Named(Method),
}

const AUTO: &str = "auto";

/// The most resamples of a spline, each of which is smoothed anew.
const MOST_SPLINES: u64 = 99;

/// Resamples unless some are asked for, as in the core and in Python: a fit for each takes longer
/// than a value.
pub(super) fn default_of_draws(n_resamples: clap::Arg) -> clap::Arg {
    n_resamples.default_value("499")
}

/// `auto`, or the name of a method.
pub(super) fn requested() -> Parsed<Requested> {
    fn parse(text: &str) -> Result<Requested, Error> {
        match text {
            AUTO => Ok(Requested::Auto),
            name => Ok(Requested::Named(name.parse()?)),
        }
    }
    let names: Vec<&'static str> = [AUTO].iter().chain(Method::NAMES).copied().collect();
    named(&names, parse)
}

/// The options of a fit.
#[derive(Debug, Args)]
#[command(next_help_heading = "Map")]
pub(super) struct MapArgs {
    /// Coefficient of the ridge toward the identity: 0 for the maximum of the likelihood [default:
    /// 2 for platt and beta, 0 for shift and temperature]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    ridge: Option<f64>,

    /// The share of equal probabilities that is mixed in, so that no probability becomes 0 or 1
    /// [default: 1 / (n + 1) for isotonic maps and for more than two classes, 0 for others]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    mixture: Option<f64>,

    /// Clip probabilities to [X, 1 - X], since 0 and 1 have no finite logit
    #[arg(long, value_name = "X", default_value = "1e-12", allow_negative_numbers = true)]
    clip: f64,

    /// What an isotonic map is between two of its knots
    #[arg(long, value_name = "HOW", default_value = "line", value_parser = one_of::<Between>(Between::NAMES))]
    between: Between,

    /// The number of folds for the gain on new rows [default: 10, or 5 for fewer than 200 rows;
    /// for auto 5, or 3 above 200,000 rows]
    #[arg(long, value_name = "N")]
    n_folds: Option<usize>,
}

impl MapArgs {
    pub(super) fn recalibrate(&self, method: Method) -> Recalibrate {
        let fit = Recalibrate::new(method).clip(self.clip).between(self.between);
        let fit = self.ridge.map_or(fit.clone(), |ridge| fit.ridge(ridge));
        self.mixture.map_or(fit.clone(), |mixture| fit.mixture(mixture))
    }

    pub(super) fn cross_fit(&self, method: Method, resample: &ResampleArgs) -> CrossFit {
        let cross_fit = CrossFit::new(self.recalibrate(method)).level(resample.level);
        let n_resamples = match method {
            Method::Spline => resample.n_resamples.min(MOST_SPLINES),
            _ => resample.n_resamples,
        };
        let cross_fit = cross_fit.n_resamples(n_resamples).random_state(resample.random_state.random_state);
        self.n_folds.map_or(cross_fit.clone(), |n_folds| cross_fit.n_folds(n_folds))
    }

    pub(super) fn choose(&self, resample: &ResampleArgs) -> Choose {
        let choose = Choose::new().recalibrate(self.recalibrate(Method::Identity)).level(resample.level);
        let choose = choose.n_resamples(resample.n_resamples).random_state(resample.random_state.random_state);
        self.n_folds.map_or(choose.clone(), |n_folds| choose.n_folds(n_folds))
    }
}
