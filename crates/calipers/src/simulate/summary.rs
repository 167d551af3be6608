//! Summaries of many runs.

use crate::numerics::sum::Sum;

/// A mean over runs, with its Monte Carlo standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MonteCarlo {
    /// The mean.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl MonteCarlo {
    /// Mean of values that were drawn independently. Not a number where there are none.
    pub fn mean(values: impl Iterator<Item = f64> + Clone) -> Self {
        let n = values.clone().count() as f64;
        let value = values.clone().collect::<Sum>().value() / n;
        let squares = values.map(|v| (v - value).powi(2)).collect::<Sum>().value();
        MonteCarlo { value, standard_error: (squares / (n - 1.0).max(1.0) / n).sqrt() }
    }

    /// Share of runs in which something held. Its standard error is never 0: with none or all of n
    /// runs it is that of one in n, since such a run may yet come.
    pub fn share(held: impl Iterator<Item = bool>) -> Self {
        let (n_held, n) = held.fold((0u64, 0u64), |(n_held, n), held| (n_held + u64::from(held), n + 1));
        let (n_held, n) = (n_held as f64, n as f64);
        let share = (n_held / n).clamp(1.0 / n, (1.0 - 1.0 / n).max(1.0 / n));
        MonteCarlo { value: n_held / n, standard_error: (share * (1.0 - share) / n).sqrt() }
    }
}

/// How far estimates are from what they estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Accuracy {
    /// Mean of the truth over the runs: the same in all, unless the estimate chooses its sigma.
    pub truth: f64,
    /// Mean of estimate - truth.
    pub bias: MonteCarlo,
    /// Root of the mean of (estimate - truth)²; its standard error is that of the mean square over
    /// twice the root.
    pub rmse: MonteCarlo,
}

impl Accuracy {
    /// Of pairs of estimate and truth, one for each run.
    pub fn new(runs: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let errors = runs.clone().map(|(estimate, truth)| estimate - truth);
        let square = MonteCarlo::mean(errors.clone().map(|error| error * error));
        let root = square.value.sqrt();
        // Without any error there is none to be in doubt about.
        let standard_error = if root > 0.0 { square.standard_error / (2.0 * root) } else { 0.0 };
        Accuracy {
            truth: MonteCarlo::mean(runs.map(|(_, truth)| truth)).value,
            bias: MonteCarlo::mean(errors),
            rmse: MonteCarlo { value: root, standard_error },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_shares_and_errors_are_those_by_hand() {
        let mean = MonteCarlo::mean([1.0, 3.0].into_iter());
        assert_eq!(mean, MonteCarlo { value: 2.0, standard_error: 1.0 });
        let share = MonteCarlo::share([true, false, false, false].into_iter());
        assert_eq!(share, MonteCarlo { value: 0.25, standard_error: (0.25f64 * 0.75 / 4.0).sqrt() });
        let none = MonteCarlo::share([false; 10].into_iter());
        assert_eq!(none.value, 0.0);
        assert!((none.standard_error - (0.09f64 / 10.0).sqrt()).abs() < 1e-15);
        // Errors 1 and -3: mean -1, mean square 5 with squares 1 and 9, whose mean has the standard
        // error 4.
        let accuracy = Accuracy::new([(2.0, 1.0), (0.0, 3.0)].into_iter());
        assert_eq!((accuracy.truth, accuracy.bias.value, accuracy.bias.standard_error), (2.0, -1.0, 2.0));
        assert_eq!((accuracy.rmse.value, accuracy.rmse.standard_error), (5f64.sqrt(), 4.0 / (2.0 * 5f64.sqrt())));
    }
}
