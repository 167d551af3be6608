//! Whether recalibration helps.

use calipers::recalibrate::{CrossFit, Improvement, Map};
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::options::{Options, Resampling};
use crate::recalibration::{Of, Recalibration, Remarks, of_predictions};
use crate::results::{Answer, dict};

/// The gain of recalibration on new rows, and the verdict.
#[pyfunction]
pub(crate) fn improvement<'py>(py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Answer<'py> {
    let Resampling { level, n_resamples, random_state } = Resampling::read(&options)?;
    let cross_fit = CrossFit::new(options.recalibrate()?).level(level);
    let mut cross_fit = cross_fit.n_resamples(n_resamples).random_state(random_state);
    if let Some(n_folds) = options.given("n_folds")? {
        cross_fit = cross_fit.n_folds(n_folds);
    }
    let found = of_predictions(
        py,
        &columns,
        &options,
        |sample| Ok(Of::Binary(cross_fit.run(sample)?)),
        |predictions| Ok(Of::Classes(cross_fit.run_classes(predictions)?)),
    )?;
    match found {
        Of::Binary(found) => improved(py, &found, &options),
        Of::Classes(found) => improved(py, &found, &options),
    }
}

/// What Python's `Improvement` has, with the map of all rows.
fn improved<'py, M: Clone + Into<Map>>(
    py: Python<'py>,
    found: &Improvement<M>,
    options: &Options<'py>,
) -> Result<Bound<'py, pyo3::types::PyDict>, Failure> {
    let held = Recalibration::of_fit(&found.fit, options)?.with(found);
    Ok(dict!(py;
        sentence: found.sentence(),
        verdict: found.verdict.name(),
        method: found.fit.method.name(),
        gain: found.gain,
        interval: found.interval,
        floor: found.floor,
        log_loss_before: found.log_loss_before,
        log_loss_after: found.log_loss_after,
        n_scores: found.n_scores.map(|[before, after]| vec![before as usize, after as usize]),
        top_class_changed: found.top_class_changed,
        n: found.fit.n,
        n_folds: found.n_folds,
        n_clusters: found.n_clusters,
        left_out: found.fit.input.left_out.clone(),
        recalibration: Bound::new(py, held)?.into_any(),
        remarks: Remarks::of(&found.fit).into_dict(py)?,
    ))
}
