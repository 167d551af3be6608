//! A sketch that Python holds: batches in, figures and bytes out.

use std::collections::BTreeMap;
use std::sync::{RwLock, RwLockWriteGuard};

use calipers::{Error, Input, Multiclass, Scale, Tally, Ties};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::columns::Columns;
use crate::failure::Failure;
use crate::inference::{Assessed, Choices};
use crate::options::Options;
use crate::pool::{self, Length, Threads};
use crate::results::{Curve, FromSketch, SweptSketch};

/// Behind a lock, which is only waited for and held without the GIL: threads may share a sketch,
/// and wait for each other.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct Sketch(RwLock<State>);

type Words<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, f64);

#[derive(Clone)]
pub(crate) struct State {
    pub(crate) sketch: calipers::Sketch,
    /// Of all rows, merged ones included: what can be said of the whole is asked with the first
    /// figure.
    tally: Tally,
    /// Rows that came by `update`, by which errors count.
    n_updated: u64,
}

impl State {
    pub(crate) fn update(&mut self, input: Input<'_>, multiclass: Multiclass, ties: Ties) -> Result<(), Error> {
        // A copy, since a batch that is refused changes nothing.
        let mut tally = self.tally.clone();
        let batch = input.first_row(self.n_updated).check_batch(&mut tally)?;
        self.sketch.update(&batch.view(multiclass, ties)?)?;
        self.n_updated += batch.report().n_rows;
        self.tally = tally;
        Ok(())
    }
}

impl Sketch {
    pub(crate) fn new(sketch: calipers::Sketch) -> Self {
        let tally = sketch.tally();
        Sketch(RwLock::new(State { sketch, tally, n_updated: 0 }))
    }

    /// To be called without the GIL.
    pub(crate) fn state(&self) -> Result<RwLockWriteGuard<'_, State>, Failure> {
        self.0.write().map_err(broken)
    }

    fn read<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&State) -> Result<T, Error> + Send,
    ) -> Result<T, Failure> {
        let threads = Threads::shared()?;
        py.detach(|| {
            // Before a thread of the pool has the work: while that waits for its parts it takes
            // others' work, which may want the lock.
            let state = self.0.read().map_err(broken)?;
            let state: &State = &state;
            Ok(threads.install(|| work(state))?)
        })
    }

    fn write<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> Result<T, Error> + Send,
    ) -> Result<T, Failure> {
        let threads = Threads::shared()?;
        py.detach(|| {
            let mut state = self.0.write().map_err(broken)?;
            let state: &mut State = &mut state;
            Ok(threads.install(|| work(state))?)
        })
    }

    fn get<T: Send>(&self, py: Python<'_>, of: impl FnOnce(&calipers::Sketch) -> T + Send) -> Result<T, Failure> {
        py.detach(|| Ok(of(&self.0.read().map_err(broken)?.sketch)))
    }

    /// A copy of all rows so far, of which everything may be asked.
    pub(crate) fn finished(&self, py: Python<'_>) -> Result<calipers::Sketch, Failure> {
        self.read(py, |State { sketch, tally, .. }| {
            tally.finish()?;
            Ok(sketch.clone())
        })
    }
}

#[pymethods]
impl Sketch {
    #[new]
    fn with(options: Bound<'_, PyDict>) -> Result<Self, Failure> {
        let options = Options::new(options).sketch()?;
        Ok(Sketch::new(calipers::Sketch::with(&options)?))
    }

    /// An empty one of the same options, which both share.
    fn empty_like(&self, py: Python<'_>) -> Result<Self, Failure> {
        Ok(Sketch::new(self.get(py, calipers::Sketch::empty_like)?))
    }

    /// Bytes of memory, an upper estimate.
    fn memory(&self, py: Python<'_>) -> Result<usize, Failure> {
        self.get(py, |sketch| sketch.memory() + size_of::<State>())
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> Result<Self, Failure> {
        Ok(Sketch::new(py.detach(|| calipers::Sketch::from_bytes(data))?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        let bytes = self.get(py, calipers::Sketch::to_bytes)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn update<'py>(&self, py: Python<'py>, columns: Columns<'py>, options: Bound<'py, PyDict>) -> Result<(), Failure> {
        let options = Options::new(options);
        let input = columns.input(&options)?;
        let (multiclass, ties) = (options.multiclass()?, options.named("ties")?);
        self.write(py, |state| state.update(input, multiclass, ties))
    }

    fn merge(&self, py: Python<'_>, other: &Sketch) -> Result<(), Failure> {
        // A copy, so that no thread holds two locks, and a sketch can be merged with itself.
        let other = other.read(py, |state| Ok(state.clone()))?;
        self.write(py, |state| {
            state.sketch.merge(&other.sketch)?;
            state.tally.absorb(&other.tally);
            Ok(())
        })
    }

    fn coarsen(&self, py: Python<'_>, options: Bound<'_, PyDict>) -> Result<(), Failure> {
        let resolution = Options::new(options).small_count("resolution")?;
        self.write(py, |state| state.sketch.coarsen(resolution))
    }

    /// How many words [`to_dense`](Self::to_dense) has places for.
    fn dense_len(&self, py: Python<'_>, of_probabilities: bool) -> Result<usize, Failure> {
        self.get(py, |sketch| sketch.dense_len(of_probabilities))
    }

    /// Places and words that are not zero, and the error of scores.
    fn to_dense<'py>(&self, py: Python<'py>, of_probabilities: bool) -> Result<Words<'py>, Failure> {
        let dense = self.read(py, |state| state.sketch.to_dense(of_probabilities))?;
        Ok((dense.places.into_pyarray(py), dense.words.into_pyarray(py), dense.score_error))
    }

    /// A sketch of the same options with the rows whose words these are.
    fn of_dense(
        &self,
        py: Python<'_>,
        words: PyReadonlyArray1<'_, i64>,
        score_error: f64,
        of_probabilities: bool,
    ) -> Result<Self, Failure> {
        let words = words.as_slice().map_err(PyErr::from)?;
        self.read(py, |state| Ok(Sketch::new(state.sketch.of_dense(words, score_error, of_probabilities)?)))
    }

    fn copy(&self, py: Python<'_>) -> Result<Self, Failure> {
        Ok(Sketch(RwLock::new(self.read(py, |state| Ok(state.clone()))?)))
    }

    /// The value of a measure.
    fn estimate(&self, py: Python<'_>, measure: &str, options: Bound<'_, PyDict>) -> Result<FromSketch, Failure> {
        let measure = Options::new(options).measure(measure)?;
        self.read(py, |State { sketch, tally, .. }| {
            tally.finish()?;
            Ok(FromSketch::new(sketch.estimate(&*measure)?, sketch))
        })
    }

    fn assess(
        &self,
        py: Python<'_>,
        measure: &str,
        options: Bound<'_, PyDict>,
    ) -> Result<Assessed<FromSketch>, Failure> {
        let options = Options::new(options);
        let (choices, estimator) = (Choices::new(&options)?, options.measure(measure)?);
        pool::run(py, Length::of(&options, 0)?, || {
            let state = self.0.read().map_err(broken)?;
            let State { sketch, tally, .. } = &*state;
            tally.finish()?;
            let assessment = choices.assess(&*estimator).run(sketch)?;
            let measured = FromSketch::new(assessment.estimate.clone(), sketch);
            Ok::<_, Failure>(Assessed { measured, assessment, resampling: choices.resampling })
        })
    }

    fn sweep<'py>(&self, py: Python<'py>, options: Bound<'py, PyDict>) -> Result<SweptSketch<'py>, Failure> {
        let options = Options::new(options);
        let sweep = options.sweep()?;
        let found = pool::run(py, Length::Long(None), || {
            let state = self.0.read().map_err(broken)?;
            state.tally.finish()?;
            Ok::<_, Failure>(sweep.run(&state.sketch)?)
        })?;
        Ok(SweptSketch::new(py, &found)?)
    }

    fn ls_curve<'py>(&self, py: Python<'py>, options: Bound<'py, PyDict>) -> Result<Curve<'py>, Failure> {
        let options = Options::new(options);
        let (estimator, at) = (options.ls_ece()?, options.probabilities("at")?);
        let curve = self.read(py, |state| {
            state.tally.finish()?;
            estimator.curve(&state.sketch, &at)
        })?;
        Ok(Curve::new(py, curve, None))
    }

    #[getter]
    fn n(&self, py: Python<'_>) -> Result<u64, Failure> {
        self.get(py, |sketch| sketch.n())
    }

    #[getter]
    fn total_weight(&self, py: Python<'_>) -> Result<f64, Failure> {
        self.get(py, |sketch| sketch.total_weight())
    }

    #[getter]
    fn is_weighted(&self, py: Python<'_>) -> Result<bool, Failure> {
        self.get(py, |sketch| sketch.is_weighted())
    }

    #[getter]
    fn n_cells(&self, py: Python<'_>) -> Result<usize, Failure> {
        self.get(py, |sketch| sketch.n_cells())
    }

    #[getter]
    fn n_clipped(&self, py: Python<'_>) -> Result<u64, Failure> {
        self.get(py, |sketch| sketch.n_clipped())
    }

    /// Rows that were left out, by kind.
    #[getter]
    fn left_out(&self, py: Python<'_>) -> Result<BTreeMap<&'static str, u64>, Failure> {
        self.get(py, |sketch| sketch.report().left_out.clone())
    }

    #[getter]
    fn resolution(&self, py: Python<'_>) -> Result<u32, Failure> {
        self.get(py, |sketch| sketch.options().resolution_bits())
    }

    #[getter]
    fn clip(&self, py: Python<'_>) -> Result<f64, Failure> {
        self.get(py, |sketch| sketch.options().clip_value())
    }

    #[getter]
    fn n_bins(&self, py: Python<'_>) -> Result<Vec<usize>, Failure> {
        self.get(py, |sketch| sketch.options().declared_bins().to_vec())
    }

    /// What scores are, `None` while there are none.
    #[getter]
    fn scores(&self, py: Python<'_>) -> Result<Option<&'static str>, Failure> {
        let scale = self.get(py, |sketch| sketch.scale())?;
        Ok(scale.map(|scale| match scale {
            Scale::Probability => "probabilities",
            Scale::LogOdds => "log-odds",
            Scale::Link => "raw scores",
        }))
    }
}

/// A panic of the core, which is a bug, may have left the sums half changed.
fn broken<T>(_: T) -> Failure {
    PyRuntimeError::new_err("an earlier call on this sketch broke off, so what it holds cannot be trusted").into()
}
