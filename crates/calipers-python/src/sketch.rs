//! A sketch that Python holds: batches in, values and bytes out.

use std::sync::{RwLock, RwLockWriteGuard};

use calipers::{BinaryView, Error, Input, Multiclass, Profile, Scale, Tally, Ties, on_this_thread};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::columns::Columns;
use crate::failure::Failure;
use crate::fork;
use crate::inference::{Choices, assessed};
use crate::options::{OptionValue, Options, Question};
use crate::pool::{self, Length, Threads};
use crate::quick::{MOST_ROWS_WITH_GIL, Quick};
use crate::recalibration::{Recalibration, Remarks};
use crate::results::{self, Answer, IntoPython, dict};

/// Behind a lock, which is only waited for and held without the GIL: threads may share a sketch,
/// and wait for each other.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct Sketch(RwLock<State>);

type Words<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, f64);

#[derive(Clone)]
pub(crate) struct State {
    pub(crate) sketch: calipers::Sketch,
    /// Of all rows, merged ones included: what can be said of the whole is asked with the first
    /// value.
    tally: Tally,
    /// Rows that came by `update`, by which errors count.
    n_updated: u64,
}

impl State {
    pub(crate) fn update(&mut self, input: Input<'_>, question: Question) -> Result<(), Error> {
        // A copy, since an invalid batch changes nothing.
        let mut tally = self.tally.clone();
        let batch = input.first_row(self.n_updated).check_batch(&mut tally)?;
        self.sketch.update(&batch.view(question.multiclass, question.ties)?)?;
        self.n_updated += batch.report().n_rows;
        self.tally = tally;
        Ok(())
    }

    /// Checks rows as [`update`](Self::update) would, which then are not added.
    pub(crate) fn check(&self, input: Input<'_>) -> Result<(), Error> {
        input.first_row(self.n_updated).check_batch(&mut Tally::default()).map(drop)
    }

    /// Adds the rows of a group, which were checked with those of others.
    pub(crate) fn update_group(&mut self, rows: &BinaryView<'_>) -> Result<(), Error> {
        self.sketch.update(rows)?;
        self.n_updated += rows.report().n_rows;
        self.tally = self.sketch.tally();
        Ok(())
    }
}

impl State {
    fn merge(&mut self, other: &State) -> Result<(), Error> {
        self.sketch.merge(&other.sketch)?;
        self.tally.absorb(&other.tally);
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
        fork::detached(py, || {
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
        fork::detached(py, || {
            let mut state = self.0.write().map_err(broken)?;
            let state: &mut State = &mut state;
            Ok(threads.install(|| work(state))?)
        })
    }

    pub(crate) fn get<T: Send>(
        &self,
        py: Python<'_>,
        of: impl FnOnce(&calipers::Sketch) -> T + Send,
    ) -> Result<T, Failure> {
        fork::detached(py, || Ok(of(&self.0.read().map_err(broken)?.sketch)))
    }

    /// What a long call finds in all rows so far.
    fn long<T: Send>(
        &self,
        py: Python<'_>,
        length: Length,
        work: impl FnOnce(&calipers::Sketch) -> Result<T, Error> + Send,
    ) -> Result<T, Failure> {
        // A copy, so that neither other threads nor a fork wait for the lock.
        let sketch = self.finished(py)?;
        pool::run(py, length, || work(&sketch))
    }

    /// What a sketch knows of how its rows were read, as the settings of its results have it.
    pub(crate) fn input_settings<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let (scale, weighted, resolution) =
            self.get(py, |sketch| (sketch.scale(), sketch.is_weighted(), sketch.options().resolution_bits()))?;
        Ok(dict!(py;
            from_logits: scale != Some(Scale::Probability),
            weighted: weighted,
            resolution: resolution as usize,
        ))
    }

    /// A copy of all rows so far, of which everything may be asked.
    pub(crate) fn finished(&self, py: Python<'_>) -> Result<calipers::Sketch, Failure> {
        self.answer(py, |sketch| Ok(sketch.clone()))
    }

    /// What a sketch whose rows were all checked has for a short question.
    fn answer<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&calipers::Sketch) -> Result<T, Error> + Send,
    ) -> Result<T, Failure> {
        self.read(py, |State { sketch, tally, .. }| tally.finish().and_then(|()| work(sketch)))
    }
}

#[pymethods]
impl Sketch {
    #[new]
    fn with(options: Options<'_>) -> Result<Self, Failure> {
        Ok(Sketch::new(calipers::Sketch::with(&options.sketch()?)?))
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

    /// The bytes for readers that know the format up to some version, or for all of today's.
    #[pyo3(signature = (version = None))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        version: Option<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyBytes>, Failure> {
        let bytes = match version {
            None => self.get(py, calipers::Sketch::to_bytes)?,
            Some(version) => {
                // Larger numbers than versions can have are no version either.
                let version = u32::read("version", &version)?.min(u8::MAX.into()) as u8;
                self.get(py, |sketch| sketch.to_bytes_for(version))??
            }
        };
        Ok(PyBytes::new(py, &bytes))
    }

    /// Adds a batch that can be read quickly, unless another thread has the sketch; whether it was.
    fn update_quickly<'py>(
        &self,
        labels: &Bound<'py, PyAny>,
        scores: &Bound<'py, PyAny>,
        options: &Bound<'py, PyDict>,
    ) -> Result<bool, Failure> {
        let Some(quick) = Quick::read(labels, scores, options) else { return Ok(false) };
        let Some(input) = quick.input(MOST_ROWS_WITH_GIL) else { return Ok(false) };
        // With the GIL, and so without waiting for the lock.
        let Ok(mut state) = self.0.try_write() else { return Ok(false) };
        state.update(input, Question { multiclass: Multiclass::Auto, ties: Ties::First })?;
        Ok(true)
    }

    fn update<'py>(&self, py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Result<(), Failure> {
        let (input, question) = (columns.input(&options)?, Question::read(&options)?);
        self.write(py, |state| state.update(input, question))
    }

    fn merge(&self, py: Python<'_>, other: &Sketch) -> Result<(), Failure> {
        if std::ptr::eq(self, other) {
            let other = self.read(py, |state| Ok(state.clone()))?;
            return self.write(py, |state| state.merge(&other));
        }
        fork::detached(py, || {
            // Both locks, always in the same order, so that no two threads wait for each other.
            let (mut ours, theirs);
            if std::ptr::from_ref(self) < std::ptr::from_ref(other) {
                ours = self.0.write().map_err(broken)?;
                theirs = other.0.read().map_err(broken)?;
            } else {
                theirs = other.0.read().map_err(broken)?;
                ours = self.0.write().map_err(broken)?;
            }
            Ok(ours.merge(&theirs)?)
        })
    }

    /// The sketch of the rows that are not those of another.
    fn subtract(&self, py: Python<'_>, part: &Sketch) -> Result<Self, Failure> {
        let part = part.get(py, calipers::Sketch::clone)?;
        Ok(Sketch::new(self.read(py, |state| state.sketch.subtract(&part))?))
    }

    /// To a profile, to a resolution, or to both.
    fn coarsen(&self, py: Python<'_>, options: Options<'_>) -> Result<(), Failure> {
        let (profile, resolution) = (options.read::<Option<Profile>>("profile")?, options.given::<u32>("resolution")?);
        self.write(py, |state| {
            let mut sketch = state.sketch.clone();
            profile.map_or(Ok(()), |profile| sketch.coarsen_to(profile))?;
            resolution.map_or(Ok(()), |resolution| sketch.coarsen(resolution))?;
            state.sketch = sketch;
            Ok(())
        })
    }

    fn n_cells(&self, py: Python<'_>) -> Result<usize, Failure> {
        self.get(py, calipers::Sketch::n_cells)
    }

    /// How many words [`to_dense`](Self::to_dense) has places for.
    fn dense_len(&self, py: Python<'_>, of_probabilities: bool) -> Result<usize, Failure> {
        self.get(py, |sketch| sketch.dense_len(of_probabilities))
    }

    /// Places and words that are not zero, and the error of scores.
    fn to_dense<'py>(&self, py: Python<'py>, of_probabilities: bool) -> Result<Words<'py>, Failure> {
        // On this thread, since a batch of a torch metric is done before another one is awake.
        let dense = self.get(py, |sketch| on_this_thread(|| sketch.to_dense(of_probabilities)))??;
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
    fn estimate<'py>(&self, py: Python<'py>, measure: &str, options: Options<'py>) -> Answer<'py> {
        let measure = options.measure(measure)?;
        let estimate = self.answer(py, |sketch| sketch.estimate(&*measure))?;
        Ok(results::estimate(py, &estimate, &self.input_settings(py)?)?)
    }

    fn assess<'py>(&self, py: Python<'py>, measure: &str, options: Options<'py>) -> Answer<'py> {
        let (choices, measure) = (Choices::read(&options)?, options.measure(measure)?);
        let assessment = self.long(py, Length::of(&options, 0)?, |sketch| choices.assess(&*measure).run(sketch))?;
        Ok(assessed(py, &assessment, choices.resampling, &self.input_settings(py)?)?)
    }

    fn sweep<'py>(&self, py: Python<'py>, options: Options<'py>) -> Answer<'py> {
        let sweep = options.sweep()?;
        let found = self.long(py, Length::Long(None), |sketch| sweep.run(sketch))?;
        Ok(results::sweep(py, &found, true)?)
    }

    fn ls_curve<'py>(&self, py: Python<'py>, options: Options<'py>) -> Answer<'py, PyAny> {
        let (measure, at) = (options.ls_ece()?, options.read::<Vec<f64>>("at")?);
        let curve = self.long(py, Length::of(&options, 0)?, |sketch| measure.curve(sketch, &at))?;
        Ok(curve.into_python(py)?)
    }

    /// A recalibration map of the rows, and what is not kept in its file.
    fn recalibrate<'py>(
        &self,
        py: Python<'py>,
        options: Options<'py>,
    ) -> Result<(Recalibration, Bound<'py, PyDict>), Failure> {
        let recalibrate = options.recalibrate()?;
        let fit = self.long(py, Length::Long(None), |sketch| recalibrate.fit(sketch))?;
        Ok((Recalibration::of_fit(&fit, None), Remarks::of(&fit).into_dict(py)?))
    }

    /// What is known of the rows: counts, options, and what scores are (`None` without rows).
    fn facts<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let (counts, weight, left_out, options, scale) = self.get(py, |sketch| {
            let counts = (sketch.n(), sketch.n_clipped());
            let weight = (sketch.total_weight(), sketch.is_weighted());
            (counts, weight, sketch.report().left_out.clone(), sketch.options().clone(), sketch.scale())
        })?;
        Ok(dict!(py;
            n: counts.0,
            n_clipped: counts.1,
            total_weight: weight.0,
            is_weighted: weight.1,
            left_out: left_out,
            profile: options.profile_value().name(),
            resolution: options.resolution_bits() as usize,
            clip: options.clip_value(),
            n_bins: options.declared_bins().into_bound_py_any(py)?,
            scores: scale.map(|scale| match scale {
                Scale::Probability => "probabilities",
                Scale::LogOdds => "log-odds",
                Scale::Link => "raw scores",
            }),
        ))
    }
}

/// A panic of the core, which is a bug, may have left the sums half changed.
fn broken<T>(_: T) -> Failure {
    PyRuntimeError::new_err(
        "an earlier call on this sketch failed half-way, so its rows cannot be trusted; make a new one",
    )
    .into()
}
