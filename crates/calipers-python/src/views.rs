//! What Python asks of rows: each function checks them and asks the core, without the GIL.

use std::sync::Arc;

use calipers::inference::bands::BandKind;
use calipers::{
    BinaryView, CalibrationIndex, CanonicalKdeEce, Corp, CoxCalibration, CumulativeCalibrationError, Error, Estimate,
    Link, Loess, LsEceSampled, Measure, Noise, Predictions, Sigma, SplineCalibrationError,
};
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::options::{Options, Question};
use crate::pool::{self, Length};
use crate::results::{self, Answer, IntoPython, input_settings};

/// The value of the measure of that name; class by class where that is requested.
#[pyfunction]
pub(crate) fn estimate<'py>(
    py: Python<'py>,
    measure: &str,
    columns: Columns<'py>,
    options: Options<'py>,
) -> Answer<'py> {
    measured(py, &columns, &*options.measure(measure)?, &options)
}

#[pyfunction]
pub(crate) fn ls_ece_sampled<'py>(py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Answer<'py> {
    let measure = LsEceSampled::new(options.read::<Sigma>("sigma")?)
        .noise(options.read::<Arc<dyn Noise>>("noise")?)
        .link(options.read::<Arc<dyn Link>>("link")?)
        .n_samples(options.read("n_samples")?)
        .random_state(options.read("random_state")?)
        .clip(options.read("clip")?);
    measured(py, &columns, &measure, &options)
}

fn measured<'py>(
    py: Python<'py>,
    columns: &Columns<'py>,
    measure: &dyn Measure,
    options: &Options<'py>,
) -> Answer<'py> {
    let input = columns.input(options)?;
    let Question { multiclass, ties } = Question::read(options)?;
    let length = Length::of(options, input.n_scores())?;
    let estimate = pool::run(py, length, || input.estimate(multiclass, ties, measure))?;
    let multiclass = measure.spec().multiclass(multiclass, columns.n_classes());
    Ok(results::estimate(py, &estimate, &input_settings(py, options, columns, Some(multiclass))?)?)
}

/// Applies `work` to the one binary view of the rows.
pub(crate) fn one_view<T: Send>(
    py: Python<'_>,
    columns: &Columns<'_>,
    options: &Options<'_>,
    work: impl Fn(&BinaryView<'_>) -> Result<T, Error> + Sync,
) -> Result<T, Failure> {
    let input = columns.input(options)?;
    let Question { multiclass, ties } = Question::read(options)?;
    let length = Length::of(options, input.n_scores())?;
    pool::run(py, length, || work(&input.check()?.view(multiclass, ties)?))
}

/// Functions of all classes together: an estimator made of the options, and what it is asked.
macro_rules! of_classes {
    ($($name:ident($options:ident) { $make:expr; |$estimator:ident, $rows:ident| $answer:expr })+) => {$(
        #[pyfunction]
        pub(crate) fn $name<'py>(
            py: Python<'py>,
            columns: Columns<'py>,
            options: Options<'py>,
        ) -> Answer<'py> {
            let ($options, input) = (&options, columns.input(&options)?);
            let $estimator = $make;
            let work = |$rows: &Predictions<'_>| -> Result<Estimate, Error> { $answer };
            let estimate = pool::run(py, Length::of(&options, input.n_scores())?, || work(&input.check()?))?;
            Ok(results::estimate(py, &estimate, &input_settings(py, &options, &columns, None)?)?)
        }
    )+};
}
of_classes! {
    canonical_kde_ece(options) {
        CanonicalKdeEce::new(options.read("bandwidth")?)
            .norm(options.read("norm")?)
            .clip(options.read("clip")?)
            .limit(options.read::<u64>("limit")?.into());
        |measure, rows| measure.estimate(rows)
    }
    top_label_calibration_error(options) {
        options.binned_ece()?;
        |measure, rows| rows.estimate_top_label(&measure)
    }
}

/// Functions of one binary view of the rows: an estimator made of the options, and what it is
/// asked.
macro_rules! of_one_view {
    ($($name:ident($options:ident) { $make:expr; |$estimator:ident, $view:ident| $answer:expr })+) => {$(
        #[pyfunction]
        pub(crate) fn $name<'py>(py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Answer<'py, PyAny> {
            let $options = &options;
            let $estimator = $make;
            let found = one_view(py, &columns, &options, |$view| $answer)?;
            Ok(found.into_python(py)?)
        }
    )+};
}
of_one_view! {
    calibration_bins(options) {
        options.binned_ece()?;
        |measure, view| measure.bins(view)
    }
    calibration_indices(options) {
        {
            let loess = Loess::new().span(options.read("span")?).degree(options.read("degree")?);
            let index = CalibrationIndex::new().smoother(options.ls_ece()?);
            index.smoother_named(&options.read::<String>("smoother")?, loess)?
        };
        |index, view| index.indices(view)
    }
    cox_calibration(options) {
        CoxCalibration::new().clip(options.read("clip")?);
        |cox, view| cox.fit(view)
    }
    cumulative_curve(options) {
        CumulativeCalibrationError::new().link(options.read::<Arc<dyn Link>>("link")?);
        |cumulative, view| cumulative.curve(view)
    }
    corp_curve(options) {
        (Corp::new().link(options.read::<Arc<dyn Link>>("link")?), options.band()?);
        |asked, view| {
            let (corp, (kind, how)) = &asked;
            let band = kind.map(|kind| match kind {
                BandKind::Consistency => corp.consistency_band(view, how),
                BandKind::Confidence => corp.confidence_band(view, how),
            });
            Ok((corp.curve(view)?, band.transpose()?))
        }
    }
    ls_curve(options) {
        (options.ls_ece()?, options.read::<Vec<f64>>("at")?, options.band()?);
        |asked, view| {
            let (measure, at, (kind, how)) = &asked;
            let band = kind.map(|kind| match kind {
                BandKind::Consistency => measure.consistency_band(view, at, how),
                BandKind::Confidence => {
                    let rule = "\"consistency\" for a smoothed curve".to_owned();
                    Err(Error::InvalidSetting { name: "band", rule, value: "\"confidence\"".to_owned() })
                }
            });
            Ok((measure.curve(view, at)?, band.transpose()?))
        }
    }
    spline_curve(options) {
        SplineCalibrationError::new()
            .n_knots(options.read("n_knots")?)
            .run_out(options.read("run_out")?)
            .link(options.read::<Arc<dyn Link>>("link")?);
        |spline, view| spline.curve(view)
    }
}

/// A proper score and its parts, with the rows that were read.
#[pyfunction]
pub(crate) fn corp<'py>(py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Answer<'py, PyAny> {
    let corp = Corp::new().score(options.read("score")?).link(options.read::<Arc<dyn Link>>("link")?);
    let (parts, n, left_out) = one_view(py, &columns, &options, |view| {
        Ok((corp.decompose(view)?, view.len(), view.report().left_out.clone()))
    })?;
    let found = parts.into_python(py)?;
    found.set_item("n", n)?;
    found.set_item("left_out", left_out)?;
    Ok(found)
}

/// ECE over numbers of bins beside LS-ECE over sigma, and the chart of both.
#[pyfunction]
pub(crate) fn sweep<'py>(py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Answer<'py> {
    let sweep = options.sweep()?;
    let result = one_view(py, &columns, &options, |view| sweep.run(view))?;
    // proof: rows have both.
    let (Some(smooth_ece), Some(ties)) = (&result.smooth_ece, &result.ties) else {
        return Err(Error::NoRows.into());
    };
    let input = input_settings(py, &options, &columns, Some(options.read("multiclass")?))?;
    let found = results::sweep(py, &result, false)?;
    found.set_item(smooth_ece.measure(), results::estimate(py, smooth_ece, &input)?)?;
    found.set_item("jump", ties.jump)?;
    found.set_item("tied_ece", ties.tied_ece)?;
    found.set_item("n_tied", ties.n_tied)?;
    found.set_item("n_clipped", result.points.first().map_or(0, |point| point.ls_ece.n_clipped))?;
    found.set_item("svg", calipers_report::sweep_chart(&[("", &result)]).to_svg())?;
    Ok(found)
}
