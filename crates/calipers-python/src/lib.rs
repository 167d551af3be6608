//! The compiled half of the Python package: arrays in, core, dictionaries and arrays out.
//!
//! ```text
//! python/calipers -> columns, options -> calipers, without the GIL -> results -> python/calipers
//! ```
//!
//! `python/calipers/_core.pyi` has the signatures.

mod arrow;
mod arrow_capsules;
mod borrowed;
mod calibration_tests;
mod columns;
mod dlpack;
mod failure;
mod inference;
mod measures;
mod options;
mod pool;
mod report;
mod results;
mod simulation;
mod sketch;
mod sketch_runs;
mod views;

use pyo3::prelude::*;

/// What python/calipers calls. Nothing here is part of the public interface.
#[pymodule]
mod _core {
    use calipers::inference::bands::BandKind;
    use calipers::{BinnedEce, Error, LsEce, registry};
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[pymodule_export]
    use crate::arrow::arrow;
    #[pymodule_export]
    use crate::borrowed::Borrowed;
    #[pymodule_export]
    use crate::calibration_tests::{calibration_test, cox_test};
    use crate::columns::Columns;
    #[pymodule_export]
    use crate::dlpack::dlpack;
    use crate::failure::Failure;
    #[pymodule_export]
    use crate::failure::{CalipersError, no_cluster, refusal};
    use crate::inference::{self, Assessed, Compared};
    use crate::measures::Listed;
    use crate::options::Options;
    #[pymodule_export]
    use crate::pool::{set_threads, set_threads_here};
    #[pymodule_export]
    use crate::report::{report, report_of_sketches};
    use crate::results::{BinRow, Corp, Cox, Cumulative, Curve, Indices, Isotonic, Measured, Spline, Swept};
    #[pymodule_export]
    use crate::simulation::{families, simulate_coverage, simulate_measures, simulate_rejections};
    #[pymodule_export]
    use crate::sketch::Sketch;
    #[pymodule_export]
    use crate::sketch_runs::{merge_runs, pack, update_runs};
    use crate::views::{self, estimate_classes, one_view};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // Every instance has its own; this one is for those who look at the class.
        module.py().get_type::<CalipersError>().setattr("code", "")
    }

    /// Every measure that can be requested by name.
    #[pyfunction]
    fn measures() -> Vec<Listed> {
        registry::all().iter().map(|entry| Listed::from(entry.spec)).collect()
    }

    #[pyfunction]
    fn estimate<'py>(
        py: Python<'py>,
        measure: &str,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Measured<'py>, Failure> {
        let options = Options::new(options);
        views::estimate(py, &columns, &*options.measure(measure)?, options)
    }

    #[pyfunction]
    fn assess<'py>(
        py: Python<'py>,
        measure: &str,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Assessed<Measured<'py>>, Failure> {
        inference::assess(py, measure, &columns, Options::new(options))
    }

    #[pyfunction]
    fn compare<'py>(
        py: Python<'py>,
        measure: &str,
        models: Vec<(String, Columns<'py>)>,
        options: Bound<'py, PyDict>,
    ) -> Result<Compared<'py>, Failure> {
        inference::compare(py, measure, &models, Options::new(options))
    }

    #[pyfunction]
    fn ls_ece_sampled<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Measured<'py>, Failure> {
        let options = Options::new(options);
        views::estimate(py, &columns, &options.ls_ece_sampled()?, options)
    }

    #[pyfunction]
    fn canonical_kde_ece<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Measured<'py>, Failure> {
        let options = Options::new(options);
        let estimator = options.canonical_kde_ece()?;
        estimate_classes(py, &columns, |predictions| estimator.estimate(predictions), options)
    }

    #[pyfunction]
    fn top_label_calibration_error<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Measured<'py>, Failure> {
        let options = Options::new(options);
        let measure: BinnedEce = options.binned_ece()?;
        estimate_classes(py, &columns, |predictions| predictions.estimate_top_label(&measure), options)
    }

    #[pyfunction]
    fn corp<'py>(py: Python<'py>, columns: Columns<'py>, options: Bound<'py, PyDict>) -> Result<Corp, Failure> {
        let options = Options::new(options);
        let estimator = options.corp()?;
        one_view(py, &columns, &options, |view| {
            Ok(Corp::new(estimator.decompose(view)?, view.len() as u64, view.report().clone()))
        })
    }

    #[pyfunction]
    fn calibration_indices<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Indices, Failure> {
        let options = Options::new(options);
        let estimator = options.calibration_index()?;
        Ok(one_view(py, &columns, &options, |view| estimator.indices(view))?.into())
    }

    #[pyfunction]
    fn cox_calibration<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Cox, Failure> {
        let options = Options::new(options);
        let estimator = options.cox()?;
        Ok(one_view(py, &columns, &options, |view| estimator.fit(view))?.into())
    }

    #[pyfunction]
    fn cumulative_curve<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Cumulative<'py>, Failure> {
        let options = Options::new(options);
        let estimator = options.cumulative()?;
        let curve = one_view(py, &columns, &options, |view| estimator.curve(view))?;
        Ok(Cumulative::new(py, curve))
    }

    #[pyfunction]
    fn corp_curve<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Isotonic<'py>, Failure> {
        let options = Options::new(options);
        let estimator = calipers::Corp::new().link(options.link()?);
        let (kind, how) = options.band()?;
        let (curve, band) = one_view(py, &columns, &options, |view| {
            let band = kind.map(|kind| match kind {
                BandKind::Consistency => estimator.consistency_band(view, &how),
                BandKind::Confidence => estimator.confidence_band(view, &how),
            });
            Ok((estimator.curve(view)?, band.transpose()?))
        })?;
        Ok(Isotonic::new(py, curve, band))
    }

    #[pyfunction]
    fn spline_curve<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Bound<'py, PyDict>,
    ) -> Result<Spline<'py>, Failure> {
        let options = Options::new(options);
        let estimator = options.spline()?;
        let curve = one_view(py, &columns, &options, |view| estimator.curve(view))?;
        Ok(Spline::new(py, curve))
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
    fn sweep<'py>(py: Python<'py>, columns: Columns<'py>, options: Bound<'py, PyDict>) -> Result<Swept<'py>, Failure> {
        let options = Options::new(options);
        let sweep = options.sweep()?;
        let result = one_view(py, &columns, &options, |view| sweep.run(view))?;
        let multiclass = Some(options.multiclass()?.resolved(columns.n_classes()));
        // proof: rows have both.
        let (Some(estimate), Some(ties)) = (result.smooth_ece.clone(), &result.ties) else {
            return Err(Error::NoRows.into());
        };
        let smooth_ece = Measured { estimate, multiclass, weighted: columns.is_weighted(), options };
        Ok(Swept::new(py, &result, smooth_ece, ties)?)
    }

    fn no_confidence_band() -> Error {
        let (rule, value) = ("\"consistency\" for a smoothed curve", "\"confidence\"");
        Error::InvalidSetting { name: "band", rule: rule.to_owned(), value: value.to_owned() }
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
        let (kind, how) = options.band()?;
        let (curve, band) = one_view(py, &columns, &options, |view| {
            let band = kind.map(|kind| match kind {
                BandKind::Consistency => estimator.consistency_band(view, &at, &how),
                BandKind::Confidence => Err(no_confidence_band()),
            });
            Ok((estimator.curve(view, &at)?, band.transpose()?))
        })?;
        Ok(Curve::new(py, curve, band))
    }
}
