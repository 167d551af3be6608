//! Bias and error of estimates.

use super::{Accuracy, MonteCarlo, Population, Simulation};
use crate::Error;
use crate::inference::{Bootstrap, Debias, NoiseFloor};
use crate::measure::{Estimate, Measure};
use crate::measures::LsEce;

/// How good an estimate of ECE is, and of LS-ECE where it is one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EstimatorResult {
    /// As it was called.
    pub name: String,
    /// Runs.
    pub n_runs: u64,
    /// Runs whose rows could not be measured; the other values leave them out.
    pub n_failed: u64,
    /// Mean of the estimates.
    pub mean: MonteCarlo,
    /// Against the true ECE.
    pub of_ece: Accuracy,
    /// Against the true LS-ECE at its own sigma, for LS-ECE with Gaussian noise, the logistic link
    /// and a sigma that was given; for the residual form, against that of the population.
    pub of_ls_ece: Option<Accuracy>,
}

/// What one run gave.
pub(super) struct Measured {
    pub(super) value: f64,
    /// The sigma, of LS-ECE or its residual form whose truth is known.
    pub(super) sigma: Option<f64>,
    pub(super) is_residual: bool,
}

impl Measured {
    pub(super) fn new(estimate: &Estimate, value: f64) -> Self {
        let is = |name: &str, text: &str| estimate.settings.text(name) == Some(text);
        let is_residual = estimate.spec == LsEce::new().residual().spec();
        let known =
            (estimate.spec == LsEce::new().spec() || is_residual) && is("noise", "gaussian") && is("link", "logistic");
        Measured { value, sigma: estimate.settings.number("sigma").filter(|_| known), is_residual }
    }
}

impl Simulation<'_> {
    /// Bias and root mean squared error of estimates, each with the name that its result shall
    /// have; all on the same rows.
    ///
    /// Runs whose rows are invalid for a measure, such as too few rows, are counted. If all are,
    /// the first error is returned.
    pub fn estimators(&self, estimators: &[(&str, &dyn Measure)]) -> Result<Vec<EstimatorResult>, Error> {
        let runs = self.each(|view, _| {
            let measure = |(_, estimator): &(&str, &dyn Measure)| {
                estimator.estimate(view).map(|estimate| Measured::new(&estimate, estimate.value))
            };
            Ok(estimators.iter().map(measure).collect::<Vec<_>>())
        })?;
        let names = estimators.iter().map(|(name, _)| (*name).to_owned());
        self.results(names, runs)
    }

    /// Bias and root mean squared error of a measure and, on the same draws, of what each rule
    /// makes of it: the measure first, as `name`, then `name, debiased by rule`. For LS-ECE it is
    /// the residual form, which decides.
    pub fn debiased(
        &self,
        name: &str,
        measure: &dyn Measure,
        rules: &[Debias],
        n_resamples: u64,
    ) -> Result<Vec<EstimatorResult>, Error> {
        let runs = self.each(|view, random_state| {
            let all = || {
                // Noise is taken out of the measure that decides.
                let deciding = measure.decided_by();
                let measure = deciding.as_deref().unwrap_or(measure);
                let estimate = measure.estimate(view)?;
                let resampler = measure.resampler(view, None)?;
                let floor = NoiseFloor::new(&*resampler, n_resamples, random_state)?;
                let bootstrap = Bootstrap::new(&*resampler, n_resamples, random_state)?;
                let debiased = rules.iter().map(|rule| rule.apply(estimate.value, &floor, &bootstrap));
                let values: Vec<f64> = [estimate.value].into_iter().chain(debiased).collect();
                Ok((estimate, values))
            };
            Ok(match all() {
                Ok((estimate, values)) => values.into_iter().map(|value| Ok(Measured::new(&estimate, value))).collect(),
                Err(error) => (0..=rules.len()).map(|_| Err(Error::clone(&error))).collect(),
            })
        })?;
        let debiased = rules.iter().map(|rule| format!("{name}, debiased by {}", rule.name()));
        self.results([name.to_owned()].into_iter().chain(debiased), runs)
    }

    /// By column of what the runs gave.
    fn results(
        &self,
        names: impl Iterator<Item = String>,
        runs: Vec<Vec<Result<Measured, Error>>>,
    ) -> Result<Vec<EstimatorResult>, Error> {
        let ece = self.population.ece();
        let result = |(column, name): (usize, String)| {
            let measured: Vec<&Measured> = runs.iter().filter_map(|run| run[column].as_ref().ok()).collect();
            if measured.is_empty() {
                let mut errors = runs.iter().filter_map(|run| run[column].as_ref().err());
                return Err(errors.next().cloned().unwrap_or(Error::NoRows));
            }
            let values = measured.iter().map(|run| run.value);
            Ok(EstimatorResult {
                name,
                n_runs: self.n_runs,
                n_failed: self.n_runs - measured.len() as u64,
                mean: MonteCarlo::mean(values.clone()),
                of_ece: Accuracy::new(values.clone().map(|value| (value, ece))),
                of_ls_ece: of_ls_ece(self.population, &measured)?,
            })
        };
        names.enumerate().map(result).collect()
    }
}

/// Where all runs have the same sigma.
fn of_ls_ece(population: &dyn Population, runs: &[&Measured]) -> Result<Option<Accuracy>, Error> {
    let first = runs.first().and_then(|run| run.sigma);
    let Some(sigma) = first.filter(|_| runs.iter().all(|run| run.sigma == first)) else { return Ok(None) };
    let truth = match runs.iter().any(|run| run.is_residual) {
        true => population.residual_ls_ece(sigma)?,
        false => population.ls_ece(sigma)?,
    };
    Ok(Some(Accuracy::new(runs.iter().map(|run| (run.value, truth)))))
}
