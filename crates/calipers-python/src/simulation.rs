//! Samples of known families: bias, error, coverage and rejections, as Python's `Simulation` has
//! them.

use calipers::population::Family;
use calipers::simulate::{
    Accuracy, CoverageResult, EstimatorResult, MonteCarlo, RejectionResult, SeededTest, Simulation,
};
use calipers::{Assess, Error, Measure};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::Failure;
use crate::options::Options;
use crate::pool::{self, Length};

/// A figure and its standard error, in the order of Python's `MonteCarlo`.
#[derive(IntoPyObject)]
struct Figure(f64, f64);

impl From<MonteCarlo> for Figure {
    fn from(figure: MonteCarlo) -> Self {
        Figure(figure.value, figure.standard_error)
    }
}

/// As Python's `Accuracy` has it.
#[derive(IntoPyObject)]
struct Against {
    truth: f64,
    bias: Figure,
    rmse: Figure,
}

impl From<Accuracy> for Against {
    fn from(accuracy: Accuracy) -> Self {
        Against { truth: accuracy.truth, bias: accuracy.bias.into(), rmse: accuracy.rmse.into() }
    }
}

/// As Python's `EstimatorResult` has it.
#[derive(IntoPyObject)]
pub(crate) struct Estimated {
    name: String,
    n_runs: u64,
    n_failed: u64,
    mean: Figure,
    of_ece: Against,
    of_ls_ece: Option<Against>,
}

impl From<EstimatorResult> for Estimated {
    fn from(result: EstimatorResult) -> Self {
        Estimated {
            name: result.name,
            n_runs: result.n_runs,
            n_failed: result.n_failed,
            mean: result.mean.into(),
            of_ece: result.of_ece.into(),
            of_ls_ece: result.of_ls_ece.map(Against::from),
        }
    }
}

/// As Python's `CoverageResult` has it.
#[derive(IntoPyObject)]
pub(crate) struct Covered {
    n_runs: u64,
    n_failed: u64,
    sigma: Option<f64>,
    of_ls_ece: Option<Against>,
    covers_ls_ece: Option<Figure>,
    covers_ece: Figure,
    above_ece: Figure,
    below_ece: Figure,
    width: Figure,
    oracle_width: f64,
    upper_limits: Figure,
    floor: Option<Figure>,
    debiased: Against,
    residual: Option<OfResidual>,
}

/// The same of the measure that decides.
struct OfResidual(Box<Covered>);

impl<'py> IntoPyObject<'py> for OfResidual {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        (*self.0).into_pyobject(py)
    }
}

impl From<CoverageResult> for Covered {
    fn from(result: CoverageResult) -> Self {
        Covered {
            n_runs: result.n_runs,
            n_failed: result.n_failed,
            sigma: result.sigma,
            of_ls_ece: result.of_ls_ece.map(Against::from),
            covers_ls_ece: result.covers_ls_ece.map(Figure::from),
            covers_ece: result.covers_ece.into(),
            above_ece: result.above_ece.into(),
            below_ece: result.below_ece.into(),
            width: result.width.into(),
            oracle_width: result.oracle_width,
            upper_limits: result.upper_limits.into(),
            floor: result.floor.map(Figure::from),
            debiased: result.debiased.into(),
            residual: result.residual.map(|residual| OfResidual(Box::new(Covered::from(*residual)))),
        }
    }
}

/// As Python's `RejectionResult` has it.
#[derive(IntoPyObject)]
pub(crate) struct Rejected {
    name: &'static str,
    alpha: f64,
    n_runs: u64,
    n_failed: u64,
    rejected: Figure,
}

impl From<RejectionResult> for Rejected {
    fn from(result: RejectionResult) -> Self {
        let RejectionResult { name, alpha, n_runs, n_failed, rejected } = result;
        Rejected { name, alpha, n_runs, n_failed, rejected: rejected.into() }
    }
}

/// What is drawn.
struct Drawn {
    family: Family,
    n: usize,
    n_runs: u64,
    random_state: u64,
}

impl Drawn {
    fn new(family: &str, options: &Options<'_>) -> Result<Self, Failure> {
        let family = Family::named(family)?;
        Ok(Drawn {
            family,
            n: options.size("n")?,
            n_runs: options.count("runs")?,
            random_state: options.count("random_state")?,
        })
    }

    fn simulation(&self) -> Simulation<'_> {
        Simulation::new(&self.family, self.n).runs(self.n_runs).random_state(self.random_state)
    }
}

/// Every family by name, with its true ECE and whether it is calibrated.
#[pyfunction]
pub(crate) fn families() -> Vec<(&'static str, f64, bool)> {
    Family::known().into_iter().map(|family| (family.name(), family.ece().value, family.is_calibrated())).collect()
}

/// Bias and error of measures, each by its own name with options of its own.
#[pyfunction]
pub(crate) fn simulate_measures<'py>(
    py: Python<'py>,
    family: &str,
    measures: Vec<(String, String, Bound<'py, PyDict>)>,
    options: Bound<'py, PyDict>,
) -> Result<Vec<Estimated>, Failure> {
    let options = Options::new(options);
    let drawn = Drawn::new(family, &options)?;
    let mut made: Vec<(&str, Box<dyn Measure>)> = Vec::new();
    for (title, measure, of_measure) in &measures {
        made.push((title, Options::new(of_measure.clone()).measure(measure)?));
    }
    let results = pool::run(py, Length::of(&options, 0)?, || {
        let estimators: Vec<(&str, &dyn Measure)> = made.iter().map(|(title, each)| (*title, &**each as _)).collect();
        drawn.simulation().estimators(&estimators)
    })?;
    Ok(results.into_iter().map(Estimated::from).collect())
}

/// How often intervals of a measure hold the truth.
#[pyfunction]
pub(crate) fn simulate_coverage<'py>(
    py: Python<'py>,
    family: &str,
    measure: &str,
    of_measure: Bound<'py, PyDict>,
    options: Bound<'py, PyDict>,
) -> Result<Covered, Failure> {
    let options = Options::new(options);
    let drawn = Drawn::new(family, &options)?;
    let estimator = Options::new(of_measure).measure(measure)?;
    let assess = Assess::new(&*estimator).level(options.number("level")?).n_resamples(options.count("n_resamples")?);
    Ok(pool::run(py, Length::of(&options, 0)?, || drawn.simulation().coverage(&assess))?.into())
}

/// How often tests reject.
#[pyfunction]
pub(crate) fn simulate_rejections<'py>(
    py: Python<'py>,
    family: &str,
    tests: Vec<String>,
    options: Bound<'py, PyDict>,
) -> Result<Vec<Rejected>, Failure> {
    let options = Options::new(options);
    let drawn = Drawn::new(family, &options)?;
    let n_resamples = options.size("n_resamples")?;
    let tests: Vec<SeededTest> =
        tests.iter().map(|name| Ok(test_named(name)?.n_resamples(n_resamples))).collect::<Result<_, Error>>()?;
    let alpha = options.number("alpha")?;
    let results = pool::run(py, Length::of(&options, 0)?, || drawn.simulation().rejections(&tests, alpha))?;
    Ok(results.into_iter().map(Rejected::from).collect())
}

fn test_named(name: &str) -> Result<SeededTest, Error> {
    let all = SeededTest::all();
    all.into_iter().find(|test| test.name == name).ok_or_else(|| Error::InvalidSetting {
        name: "tests",
        rule: format!("some of {}", all.map(|test| test.name).join(", ")),
        value: format!("{name:?}"),
    })
}
