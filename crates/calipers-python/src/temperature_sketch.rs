//! A sketch of rows of classes that Python holds, from which temperature scaling is fitted.

use std::sync::{Mutex, MutexGuard};

use calipers::{Error, Tally};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::columns::Columns;
use crate::failure::Failure;
use crate::fork;
use crate::options::Options;
use crate::pool::Threads;
use crate::recalibration::{Recalibration, Remarks};
use crate::results::{Answer, dict};

/// Behind a lock, which is only waited for and held without the GIL.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct TemperatureSketch(Mutex<State>);

#[derive(Clone)]
struct State {
    sketch: calipers::recalibrate::TemperatureSketch,
    tally: Tally,
    /// Rows that came by `update`, by which errors count.
    n_updated: u64,
}

impl TemperatureSketch {
    fn of(sketch: calipers::recalibrate::TemperatureSketch) -> Self {
        TemperatureSketch(Mutex::new(State { sketch, tally: Tally::default(), n_updated: 0 }))
    }

    /// To be called without the GIL.
    fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        self.0.lock().map_err(|_| PyRuntimeError::new_err("the sketch was left in the middle of a change").into())
    }

    fn copied(&self, py: Python<'_>) -> Result<State, Failure> {
        fork::detached(py, || Ok(self.state()?.clone()))
    }
}

#[pymethods]
impl TemperatureSketch {
    #[new]
    fn with(n_classes: usize) -> Self {
        TemperatureSketch::of(calipers::recalibrate::TemperatureSketch::new(n_classes))
    }

    #[staticmethod]
    fn from_bytes(data: &[u8]) -> Result<Self, Failure> {
        Ok(TemperatureSketch::of(calipers::recalibrate::TemperatureSketch::from_bytes(data)?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        Ok(PyBytes::new(py, &self.copied(py)?.sketch.to_bytes()))
    }

    fn copy(&self, py: Python<'_>) -> Result<Self, Failure> {
        Ok(TemperatureSketch(Mutex::new(self.copied(py)?)))
    }

    fn update<'py>(&self, py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Result<(), Failure> {
        let input = columns.input(&options)?;
        let threads = Threads::shared()?;
        fork::detached(py, || {
            let mut state = self.state()?;
            // Copies, since an invalid batch changes nothing.
            let mut next = state.clone();
            threads.install(|| {
                let batch = input.first_row(next.n_updated).check_batch(&mut next.tally)?;
                next.sketch.update(&batch)?;
                next.n_updated += batch.report().n_rows;
                Ok::<_, Error>(())
            })?;
            *state = next;
            Ok(())
        })
    }

    fn merge(&self, py: Python<'_>, other: &TemperatureSketch) -> Result<(), Failure> {
        // A copy, so that no thread holds two locks, and a sketch can be merged with itself.
        let other = other.copied(py)?;
        fork::detached(py, || {
            let mut state = self.state()?;
            state.sketch.merge(&other.sketch)?;
            state.tally.absorb(&other.tally);
            Ok(())
        })
    }

    /// The map of all rows so far, and what is not kept in its file.
    fn fit<'py>(&self, py: Python<'py>) -> Result<(Recalibration, Bound<'py, PyDict>), Failure> {
        let state = self.copied(py)?;
        // The tally is of rows that were read here; those of bytes were read elsewhere.
        if state.sketch.n() == 0 {
            state.tally.finish()?;
        }
        let fit = py.detach(|| state.sketch.fit())?;
        Ok((Recalibration::of_fit(&fit, None), Remarks::of(&fit).into_dict(py)?))
    }

    fn facts<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let sketch = self.copied(py)?.sketch;
        Ok(dict!(py;
            n: sketch.n(),
            n_classes: sketch.n_classes(),
            left_out: sketch.report().left_out.clone(),
        ))
    }
}
