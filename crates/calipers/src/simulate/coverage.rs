//! Coverage of intervals.

use super::estimators::Measured;
use super::{Accuracy, LsEceTable, MonteCarlo, Simulation};
use crate::Error;
use crate::inference::{Assess, Assessment};

/// Assessments of many samples, compared with the truth.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CoverageResult {
    /// Runs.
    pub n_runs: u64,
    /// Runs whose rows could not be assessed; the other values leave them out.
    pub n_failed: u64,
    /// Mean of sigma, for LS-ECE with Gaussian noise and the logistic link.
    pub sigma: Option<f64>,
    /// The value against the true LS-ECE at the run's own sigma, for such a measure.
    pub of_ls_ece: Option<Accuracy>,
    /// Share of intervals that hold the true LS-ECE at the run's own sigma, for such a measure.
    pub covers_ls_ece: Option<MonteCarlo>,
    /// Share of intervals that hold the true ECE.
    pub covers_ece: MonteCarlo,
    /// Share of intervals that are wholly above the true ECE.
    pub above_ece: MonteCarlo,
    /// Share of intervals that are wholly below the true ECE.
    pub below_ece: MonteCarlo,
    /// Mean of upper - lower.
    pub width: MonteCarlo,
    /// The same width for an interval that knows the bias: 2 · 1.96 standard deviations of the
    /// values over the runs.
    pub oracle_width: f64,
    /// The same for the measure that decides, where it is another one: the residual form of LS-ECE.
    pub residual: Option<Box<CoverageResult>>,
    /// Share of upper limits.
    pub upper_limits: MonteCarlo,
    /// Mean of the noise floors' means, where there are floors.
    pub floor: Option<MonteCarlo>,
    /// The debiased values against the true ECE.
    pub debiased: Accuracy,
}

impl Simulation<'_> {
    /// Assesses each sample, with a seed of its own in place of that of `assess`.
    pub fn coverage(&self, assess: &Assess<'_>) -> Result<CoverageResult, Error> {
        let runs = self.each(|view, random_state| Ok((*assess).random_state(random_state).run(view)))?;
        let assessed: Vec<&Assessment> = runs.iter().filter_map(|run| run.as_ref().ok()).collect();
        if assessed.is_empty() {
            return Err(runs.into_iter().find_map(Result::err).unwrap_or(Error::NoRows));
        }
        let deciding: Option<Vec<&Assessment>> = assessed.iter().map(|run| run.residual.as_deref()).collect();
        let residual = deciding.map(|runs| self.coverage_of(&runs)).transpose()?;
        Ok(CoverageResult { residual: residual.map(Box::new), ..self.coverage_of(&assessed)? })
    }

    fn coverage_of(&self, assessed: &[&Assessment]) -> Result<CoverageResult, Error> {
        let ece = self.population.ece();
        let holds = |truth: f64| move |run: &&Assessment| run.interval.lower <= truth && truth <= run.interval.upper;
        let share = |of: &dyn Fn(&&Assessment) -> bool| MonteCarlo::share(assessed.iter().map(of));
        let floors: Vec<f64> = assessed.iter().filter_map(|run| run.floor.as_ref().map(|floor| floor.mean)).collect();
        let truths = self.ls_ece_of(assessed)?;
        Ok(CoverageResult {
            n_runs: self.n_runs,
            n_failed: self.n_runs - assessed.len() as u64,
            sigma: truths.as_ref().map(|truths| MonteCarlo::mean(truths.iter().map(|(sigma, _)| *sigma)).value),
            of_ls_ece: truths.as_ref().map(|truths| {
                Accuracy::new(assessed.iter().zip(truths).map(|(run, (_, truth))| (run.estimate.value, *truth)))
            }),
            covers_ls_ece: truths.as_ref().map(|truths| {
                MonteCarlo::share(assessed.iter().zip(truths).map(|(run, (_, truth))| holds(*truth)(run)))
            }),
            covers_ece: share(&holds(ece)),
            above_ece: share(&|run| run.interval.lower > ece),
            below_ece: share(&|run| run.interval.upper < ece),
            width: MonteCarlo::mean(assessed.iter().map(|run| run.interval.upper - run.interval.lower)),
            oracle_width: 2.0 * 1.96 * {
                let values = MonteCarlo::mean(assessed.iter().map(|run| run.estimate.value));
                values.standard_error * (assessed.len() as f64).sqrt()
            },
            residual: None,
            upper_limits: share(&|run| run.interval.is_upper_limit),
            floor: (!floors.is_empty()).then(|| MonteCarlo::mean(floors.iter().copied())),
            debiased: Accuracy::new(assessed.iter().map(|run| (run.debiased, ece))),
        })
    }

    /// Sigma and true LS-ECE of each run, where the measure has them. An automatically chosen sigma
    /// differs between runs, so the truth is interpolated.
    fn ls_ece_of(&self, runs: &[&Assessment]) -> Result<Option<Vec<(f64, f64)>>, Error> {
        let sigmas = runs.iter().map(|run| Measured::new(&run.estimate, run.estimate.value).sigma);
        let Some(sigmas) = sigmas.collect::<Option<Vec<f64>>>() else { return Ok(None) };
        let least = sigmas.iter().copied().fold(f64::INFINITY, f64::min);
        let most = sigmas.iter().copied().fold(0.0, f64::max);
        let is_residual = runs.iter().any(|run| Measured::new(&run.estimate, 0.0).is_residual);
        let table = if is_residual { LsEceTable::of_residual } else { LsEceTable::new }(self.population, least, most)?;
        Ok(Some(sigmas.into_iter().map(|sigma| (sigma, table.at(sigma))).collect()))
    }
}
