//! Sketches of many groups in one call for a batch, in which the rows of each group stand together.
//!
//! A call for each group would cost more than its rows, where groups have few.

use calipers::{Input, Predictions, Tally};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use rayon::prelude::*;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::fork;
use crate::options::{Options, Question};
use crate::pool::Threads;
use crate::sketch::Sketch;

/// Fewer rows do not tell a fault of all of them, as percentages, from one of some: a part of a
/// table may be a single bad row.
const ENOUGH_TO_TELL: usize = 1000;

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
    let starts: Vec<usize> = starts.as_slice().map_err(PyErr::from)?.iter().map(|start| *start as usize).collect();
    if starts.len() != sketches.len() + 1 || starts[0] != 0 || !starts.is_sorted() {
        return Err(PyValueError::new_err("a run for each sketch").into());
    }
    let sketches: Vec<&Sketch> = sketches.iter().map(|sketch| &**sketch).collect();
    let threads = Threads::shared()?;
    fork::detached(py, || {
        threads.install(|| {
            let runs = Runs { sketches: &sketches, starts: &starts };
            let n_rows = starts[sketches.len()];
            let all = if n_rows < ENOUGH_TO_TELL { input.rows(0..n_rows)? } else { input.clone() };
            match all.check_batch(&mut Tally::default()) {
                Ok(rows) => runs.update(&rows, question),
                // The error of the first run that has one, counted as its sketch counts rows.
                Err(error) => Err(runs.first_error(&input)?.unwrap_or(error.into())),
            }
        })
    })
}

/// Sketches, and where the rows of each start among those of a batch.
struct Runs<'a> {
    sketches: &'a [&'a Sketch],
    starts: &'a [usize],
}

impl Runs<'_> {
    /// Adds checked rows. Returns the memory that has taken.
    fn update(&self, rows: &Predictions<'_>, question: Question) -> Result<usize, Failure> {
        let run = |(run, number): (&[usize], u32)| std::iter::repeat_n(number, run[1] - run[0]);
        let numbers: Vec<u32> = self.starts.windows(2).zip(0..).flat_map(run).collect();
        let grouped = rows.by_group(&numbers, self.sketches.len(), question.multiclass, question.ties)?;
        let mut n_bytes = 0;
        for (run, sketch) in self.sketches.iter().enumerate() {
            let mut state = sketch.state()?;
            let before = state.sketch.memory();
            state.update_group(&grouped.view(run)).map_err(|error| Failure::OfRun(run, error))?;
            n_bytes += state.sketch.memory().saturating_sub(before);
        }
        Ok(n_bytes)
    }

    fn first_error(&self, input: &Input<'_>) -> Result<Option<Failure>, Failure> {
        for (run, sketch) in self.sketches.iter().enumerate() {
            let rows = input.rows(self.starts[run]..self.starts[run + 1])?;
            if let Err(error) = sketch.state()?.check(rows) {
                return Ok(Some(Failure::OfRun(run, error)));
            }
        }
        Ok(None)
    }
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
        let (bytes, facts) = fork::detached(py, || {
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
