//! Which binary question is asked of the rows, and the core's answer.

use calipers::{BinaryView, Error, Estimate, Measure, Predictions};
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::options::Options;
use crate::pool::{self, Length};
use crate::results::Measured;

/// Checks and measures without the GIL; class by class where that is asked.
pub(crate) fn estimate<'py>(
    py: Python<'py>,
    columns: &Columns<'py>,
    estimator: &dyn Measure,
    options: Options<'py>,
) -> Result<Measured<'py>, Failure> {
    let input = columns.input(&options)?;
    let (multiclass, ties) = (options.multiclass()?, options.named("ties")?);
    let length = Length::of(&options, input.n_scores())?;
    let estimate = pool::run(py, length, || input.estimate(multiclass, ties, estimator))?;
    let multiclass = Some(multiclass.resolved(columns.n_classes()));
    Ok(Measured { estimate, multiclass, weighted: columns.is_weighted(), options })
}

/// Checks the rows and measures all their classes together, without the GIL.
pub(crate) fn estimate_classes<'py>(
    py: Python<'py>,
    columns: &Columns<'py>,
    work: impl Fn(&Predictions<'_>) -> Result<Estimate, Error> + Sync,
    options: Options<'py>,
) -> Result<Measured<'py>, Failure> {
    let input = columns.input(&options)?;
    let length = Length::of(&options, input.n_scores())?;
    let estimate = pool::run(py, length, || work(&input.check()?))?;
    Ok(Measured { estimate, multiclass: None, weighted: columns.is_weighted(), options })
}

/// Checks the rows and applies `work` to the one view of them, without the GIL.
pub(crate) fn one_view<T: Send>(
    py: Python<'_>,
    columns: &Columns<'_>,
    options: &Options<'_>,
    work: impl Fn(&BinaryView<'_>) -> Result<T, Error> + Sync,
) -> Result<T, Failure> {
    let input = columns.input(options)?;
    let (multiclass, ties) = (options.multiclass()?, options.named("ties")?);
    let length = Length::of(options, input.n_scores())?;
    pool::run(py, length, || work(&input.check()?.view(multiclass, ties)?))
}
