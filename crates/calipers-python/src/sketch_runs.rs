//! Sketches of many groups in one call for a batch, in which the rows of each group stand together.
//!
//! A call for each group would cost more than its rows, where groups have few.

use calipers::Invalid;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use rayon::prelude::*;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::options::{Options, Question};
use crate::pool::Threads;
use crate::sketch::Sketch;

/// Fewer rows do not tell a fault of all of them, as percentages, from one of some: a part of a
/// table may be a single bad row.
const ENOUGH_TO_TELL: i64 = 1000;

/// Adds to each sketch its run of rows: those from its start up to the next one's. Returns the
/// memory that has taken.
#[pyfunction]
pub(crate) fn update_runs<'py>(
    py: Python<'py>,
    sketches: Vec<PyRef<'py, Sketch>>,
    starts: PyReadonlyArray1<'py, i64>,
    columns: Columns<'py>,
    options: Options<'py>,
) -> Result<usize, Failure> {
    let (input, question) = (columns.input(&options)?, Question::read(&options)?);
    let counts = options.read::<Invalid>("invalid")? == Invalid::Count;
    let starts = starts.as_slice().map_err(PyErr::from)?;
    if starts.len() != sketches.len() + 1 {
        return Err(PyValueError::new_err("a run for each sketch").into());
    }
    let sketches: Vec<&Sketch> = sketches.iter().map(|sketch| &**sketch).collect();
    let threads = Threads::shared()?;
    py.detach(|| {
        threads.install(|| {
            if counts && starts.last().is_some_and(|n_rows| *n_rows >= ENOUGH_TO_TELL) {
                input.clone().check_batch(&mut Default::default())?;
            }
            let mut n_bytes = 0;
            for (run, sketch) in sketches.iter().enumerate() {
                let mut state = sketch.state()?;
                let before = state.sketch.memory();
                let rows = input.rows(starts[run] as usize..starts[run + 1] as usize)?;
                state.update(rows, question).map_err(|error| Failure::OfRun(run, error))?;
                n_bytes += state.sketch.memory().saturating_sub(before);
            }
            Ok(n_bytes)
        })
    })
}

/// A sketch for each run of bytes, of which it is the merge.
#[pyfunction]
pub(crate) fn merge_runs(
    py: Python<'_>,
    parts: Vec<PyBackedBytes>,
    starts: PyReadonlyArray1<'_, i64>,
) -> Result<Vec<Sketch>, Failure> {
    let starts = starts.as_slice().map_err(PyErr::from)?;
    let threads = Threads::shared()?;
    py.detach(|| {
        threads.install(|| {
            let run = |run: &[i64]| merged(parts.get(run[0] as usize..run[1] as usize).unwrap_or_default());
            starts.par_windows(2).map(run).collect()
        })
    })
}

/// In halves, so that large ones are read on all threads; sums of integers are the same in any
/// order.
fn merged(parts: &[PyBackedBytes]) -> Result<Sketch, Failure> {
    let read = |part: &PyBackedBytes| Ok(calipers::Sketch::from_bytes(part)?);
    let both = |mut sketch: calipers::Sketch, other: calipers::Sketch| {
        sketch.merge(&other)?;
        Ok(sketch)
    };
    let sketch = parts.par_iter().map(read).try_reduce_with(both);
    sketch.ok_or_else(|| PyValueError::new_err("a run without sketches"))?.map(Sketch::new)
}

type Packed<'py> = (Bound<'py, PyList>, Vec<u64>, Vec<u64>, Vec<bool>);

/// The bytes of each sketch, its rows, how many were left out, and whether outcome 1 occurs.
#[pyfunction]
pub(crate) fn pack<'py>(py: Python<'py>, sketches: Vec<PyRef<'py, Sketch>>) -> Result<Packed<'py>, Failure> {
    let packed = PyList::empty(py);
    let (mut rows, mut left_out, mut positive) = (Vec::new(), Vec::new(), Vec::new());
    for sketch in &sketches {
        let sketch: &Sketch = sketch;
        let (bytes, facts) = py.detach(|| {
            let sketch = &sketch.state()?.sketch;
            let facts = (sketch.n(), sketch.report().n_left_out(), sketch.has_positive());
            Ok::<_, Failure>((sketch.to_bytes(), facts))
        })?;
        packed.append(PyBytes::new(py, &bytes))?;
        rows.push(facts.0);
        left_out.push(facts.1);
        positive.push(facts.2);
    }
    Ok((packed, rows, left_out, positive))
}
