//! Samples of known families: bias, error, coverage and rejections, as Python's `Simulation` has
//! them.

use calipers::population::Family;
use calipers::simulate::{SeededTest, Simulation};
use calipers::{Assess, Error, Measure};
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::options::{Options, Samples};
use crate::pool::{self, Length};
use crate::results::{Answer, IntoPython};

fn simulation<'a>(family: &'a Family, samples: &Samples) -> Simulation<'a> {
    Simulation::new(family, samples.n).runs(samples.runs).random_state(samples.random_state)
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
    measures: Vec<(String, String, Options<'py>)>,
    options: Options<'py>,
) -> Result<Vec<Bound<'py, PyAny>>, Failure> {
    let (family, samples) = (Family::named(family)?, Samples::read(&options)?);
    let mut made: Vec<(&str, Box<dyn Measure>)> = Vec::new();
    for (title, measure, of_measure) in &measures {
        made.push((title, of_measure.measure(measure)?));
    }
    let found = pool::run(py, Length::of(&options, 0)?, || {
        let estimators: Vec<(&str, &dyn Measure)> = made.iter().map(|(title, each)| (*title, &**each as _)).collect();
        simulation(&family, &samples).estimators(&estimators)
    })?;
    Ok(found.into_iter().map(|each| each.into_python(py)).collect::<PyResult<_>>()?)
}

/// How often intervals of a measure hold the truth.
#[pyfunction]
pub(crate) fn simulate_coverage<'py>(
    py: Python<'py>,
    family: &str,
    measure: &str,
    of_measure: Options<'py>,
    options: Options<'py>,
) -> Answer<'py, PyAny> {
    let (family, samples) = (Family::named(family)?, Samples::read(&options)?);
    let measure = of_measure.measure(measure)?;
    let assess = Assess::new(&*measure).level(options.read("level")?).n_resamples(options.read("n_resamples")?);
    let found = pool::run(py, Length::of(&options, 0)?, || simulation(&family, &samples).coverage(&assess))?;
    Ok(found.into_python(py)?)
}

/// How often tests reject.
#[pyfunction]
pub(crate) fn simulate_rejections<'py>(
    py: Python<'py>,
    family: &str,
    tests: Vec<String>,
    options: Options<'py>,
) -> Result<Vec<Bound<'py, PyAny>>, Failure> {
    let (family, samples) = (Family::named(family)?, Samples::read(&options)?);
    let (alpha, n_resamples) = (options.read("alpha")?, options.read("n_resamples")?);
    let tests: Vec<SeededTest> =
        tests.iter().map(|name| Ok(test_named(name)?.n_resamples(n_resamples))).collect::<Result<_, Error>>()?;
    let found = pool::run(py, Length::of(&options, 0)?, || simulation(&family, &samples).rejections(&tests, alpha))?;
    Ok(found.into_iter().map(|each| each.into_python(py)).collect::<PyResult<_>>()?)
}

fn test_named(name: &str) -> Result<SeededTest, Error> {
    let all = SeededTest::all();
    all.into_iter().find(|test| test.name == name).ok_or_else(|| Error::InvalidSetting {
        name: "tests",
        rule: format!("some of {}", all.map(|test| test.name).join(", ")),
        value: format!("{name:?}"),
    })
}
