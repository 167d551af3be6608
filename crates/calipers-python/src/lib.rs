//! The compiled half of the Python package: arrays in, core, dictionaries and arrays out.
//!
//! ```text
//! python/calipers -> columns, options -> calipers, without the GIL -> results -> python/calipers
//! ```
//!
//! `python/calipers/_core.pyi` has the signatures.

mod columns;
mod failure;
mod options;
mod results;
mod sketch;
mod views;

use pyo3::prelude::*;

/// What python/calipers calls. Nothing here is part of the public interface.
#[pymodule]
mod _core {
    use calipers::{BinnedEce, BrierScore, LogLoss, LsEce, LsEceSampled};
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    use crate::columns::Columns;
    use crate::failure::Failure;
    #[pymodule_export]
    use crate::failure::{CalipersError, refusal};
    use crate::options::Options;
    use crate::results::{BinRow, Curve, Measured};
    #[pymodule_export]
    use crate::sketch::Sketch;
    use crate::views::{estimate, one_view};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // Every instance has its own; this one is for those who look at the class.
        module.py().get_type::<CalipersError>().setattr("code", "")
    }

    #[pyfunction]
    fn ls_ece<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Measured<'py>, Failure> {
        let options = Options::new(options);
        estimate(py, &columns, options.ls_ece()?, options)
    }

    #[pyfunction]
    fn ls_ece_sampled<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Measured<'py>, Failure> {
        let options = Options::new(options);
        let estimator = LsEceSampled::new(options.sigma()?)
            .shared_noise(options.noise()?)
            .shared_link(options.link()?)
            .n_samples(options.count("n_samples")?)
            .seed(options.count("random_state")?)
            .clip(options.number("clip")?);
        estimate(py, &columns, estimator, options)
    }

    #[pyfunction]
    fn expected_calibration_error<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Measured<'py>, Failure> {
        let options = Options::new(options);
        estimate(py, &columns, options.binned_ece()?, options)
    }

    #[pyfunction]
    fn brier_score<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Measured<'py>, Failure> {
        let options = Options::new(options);
        estimate(py, &columns, BrierScore::new().shared_link(options.link()?), options)
    }

    #[pyfunction]
    fn log_loss<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Measured<'py>, Failure> {
        let options = Options::new(options);
        let estimator = LogLoss::new().shared_link(options.link()?).clip(options.number("clip")?);
        estimate(py, &columns, estimator, options)
    }

    #[pyfunction]
    fn calibration_bins<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Vec<BinRow>, Failure> {
        let options = Options::new(options);
        let estimator: BinnedEce = options.binned_ece()?;
        let bins = one_view(py, &columns, &options, |view| estimator.bins(view))?;
        Ok(bins.into_iter().map(BinRow::from).collect())
    }

    #[pyfunction]
    fn ls_curve<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Curve<'py>, Failure> {
        let options = Options::new(options);
        let estimator: LsEce = options.ls_ece()?;
        let at = options.probabilities("at")?;
        let curve = one_view(py, &columns, &options, |view| estimator.curve(view, &at))?;
        Ok(Curve::new(py, curve))
    }
}
