//! Few rows as most loops have them, read without the conversions that any array may need.
//!
//! Rows are quick if their columns are numpy arrays of numbers in one dimension, or lists of Python
//! numbers, and nothing else is asked. All other input takes the long way, by
//! python/calipers/_predictions.py, which gives the same rows.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use calipers::measure::Family;
use calipers::{Estimate, Floats, Input, Labels, Measure, Multiclass, Settings, Ties, on_this_thread};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArray};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::options::Options;
use crate::results::{self, IntoPython};

/// More rows are worth other threads.
const MOST_ROWS: usize = 1 << 14;

/// More rows are too many to keep the GIL for.
pub(crate) const MOST_ROWS_WITH_GIL: usize = 1 << 12;

/// Numbers in double or single precision.
enum QuickFloats<'py> {
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
    List(Vec<f64>),
}

/// Labels of the types that loops have.
enum QuickLabels<'py> {
    I64(PyReadonlyArray1<'py, i64>),
    I32(PyReadonlyArray1<'py, i32>),
    U8(PyReadonlyArray1<'py, u8>),
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
    List(Vec<i64>),
}

/// The columns of rows that are quick.
pub(crate) struct Quick<'py> {
    labels: QuickLabels<'py>,
    scores: QuickFloats<'py>,
    weights: Option<QuickFloats<'py>>,
    from_logits: bool,
}

impl<'py> Quick<'py> {
    /// `None` for rows that are not quick.
    pub(crate) fn read(
        labels: &Bound<'py, PyAny>,
        scores: &Bound<'py, PyAny>,
        options: &Bound<'py, PyDict>,
    ) -> Option<Self> {
        let (mut from_logits, mut weights) = (false, None);
        for (name, value) in options {
            match name.extract::<&str>() {
                Ok("from_logits") if value.is_exact_instance_of::<PyBool>() => from_logits = value.is_truthy().ok()?,
                Ok("sample_weight") if value.is_none() => {}
                Ok("sample_weight") => weights = Some(QuickFloats::read(&value)?),
                _ => return None,
            }
        }
        Some(Quick { labels: QuickLabels::read(labels)?, scores: QuickFloats::read(scores)?, weights, from_logits })
    }

    /// Whether others need not wait for rows as few as these.
    fn is_short(&self) -> bool {
        self.labels.labels().is_some_and(|labels| labels.len() <= MOST_ROWS_WITH_GIL)
    }

    /// What the core checks; `None` if there are more rows than these, or none.
    pub(crate) fn input(&self, most_rows: usize) -> Option<Input<'_>> {
        let (labels, scores) = (self.labels.labels()?, self.scores.floats()?);
        if !(1..=most_rows).contains(&labels.len()) {
            return None;
        }
        let input = if self.from_logits { Input::logits(scores, labels) } else { Input::probabilities(scores, labels) };
        match &self.weights {
            Some(weights) => Some(input.weights(weights.floats()?)),
            None => Some(input),
        }
    }
}

/// The value of a measure for rows that are quick, on this thread: such a call is done before
/// another thread is awake.
///
/// `given` has the arguments of Python's function by name, with those options of rows that are not
/// the defaults under `rows`. Returns the value and the attributes of Python's `Estimate`, in their
/// order; `None` for every call that has to take the long way, those that end with an error
/// included.
#[pyfunction]
pub(crate) fn estimate_quickly<'py>(
    py: Python<'py>,
    measure: &str,
    given: Options<'py>,
    defaults: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let Some((estimate, made, quick)) = quick_estimate(py, measure, &given) else { return Ok(None) };
    let found = (
        estimate.value,
        intern_once(py, &made.title, estimate.measure()),
        estimate.numerical_bound,
        estimate.standard_error,
        estimate.n,
        estimate.n_clipped,
        estimate.input.n_ties,
        estimate.input.n_rounded,
        estimate.input.n_inexact_sums,
        results::left_out(py, &estimate)?,
        made.settings(py, estimate.settings, &quick, defaults)?,
        py.None(),
    );
    found.into_pyobject(py).map(Some)
}

fn quick_estimate<'py>(
    py: Python<'py>,
    measure: &str,
    given: &Options<'py>,
) -> Option<(Estimate, Arc<Made>, Quick<'py>)> {
    let rows = given.item(intern!(py, "rows"))?.cast_into::<PyDict>().ok()?;
    let quick = Quick::read(&given.item(intern!(py, "y_true"))?, &given.item(intern!(py, "y_prob"))?, &rows)?;
    let made = last_made(py, measure, given)?;
    if !matches!(made.measure.spec().family, Family::LogitSmoothing | Family::Binned | Family::Score) {
        return None;
    }
    let input = quick.input(MOST_ROWS)?;
    let estimate = || on_this_thread(|| input.estimate(Multiclass::Auto, Ties::First, &*made.measure));
    // How long LS-ECE takes depends on sigma and the tolerance, too.
    let is_short = quick.is_short() && made.measure.spec().family != Family::LogitSmoothing;
    let found = if is_short { estimate() } else { py.detach(estimate) };
    // Measures of classes have estimates of each, which the long way makes.
    found.ok().filter(|found| found.per_class.is_empty()).map(|found| (found, made, quick))
}

/// A measure with the objects that its options were made from.
struct Made {
    name: String,
    options: Vec<(Py<PyString>, Py<PyAny>)>,
    measure: Arc<dyn Measure>,
    title: OnceLock<Py<PyString>>,
    last: Mutex<Option<Arc<Told>>>,
}

/// The settings of a result, as Python has them.
struct Told {
    settings: Settings,
    from_logits: bool,
    weighted: bool,
    defaults: Py<PyDict>,
    dict: Py<PyDict>,
}

/// The last measure of each name. Loops call with the same options again and again, mostly with the
/// defaults, which are the same objects in each call.
static LAST: Mutex<Vec<Arc<Made>>> = Mutex::new(Vec::new());

/// Nothing of Python's runs while it is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The measure of that name, made anew only where an option is another object than in the last
/// call. Objects that are kept here stay alive, so that no other can take their place.
fn last_made<'py>(py: Python<'py>, name: &str, given: &Options<'py>) -> Option<Arc<Made>> {
    let is_same = |(option, value): &(Py<PyString>, Py<PyAny>)| {
        given.item(option.bind(py)).is_some_and(|now| now.is(value.bind(py)))
    };
    let last = lock(&LAST).iter().find(|made| made.name == name).map(Arc::clone);
    if let Some(made) = last
        && made.options.iter().all(is_same)
    {
        return Some(made);
    }
    let measure: Arc<dyn Measure> = Arc::from(given.measure(name).ok()?);
    let mut options = Vec::new();
    let mut can_change = false;
    for option in measure.spec().options {
        let option = PyString::intern(py, option.name);
        if let Some(value) = given.item(&option) {
            // An object that can change may be another option the next time.
            can_change |= !(value.is_none()
                || value.is_exact_instance_of::<PyString>()
                || value.is_exact_instance_of::<PyFloat>()
                || value.is_exact_instance_of::<PyInt>()
                || value.is_exact_instance_of::<PyBool>());
            options.push((option.unbind(), value.unbind()));
        }
    }
    let made =
        Arc::new(Made { name: name.to_owned(), options, measure, title: OnceLock::new(), last: Mutex::default() });
    if can_change {
        return Some(made);
    }
    // Dropped after the lock is released: Python may run code when objects go.
    let former = {
        let mut last = lock(&LAST);
        let former = last.iter().position(|made| made.name == name).map(|place| last.swap_remove(place));
        last.push(Arc::clone(&made));
        former
    };
    drop(former);
    Some(made)
}

impl Made {
    /// The settings of a result and of how its rows were read: those of the last call but for what
    /// differs, which is an automatic choice at most.
    fn settings<'py>(
        &self,
        py: Python<'py>,
        settings: Settings,
        quick: &Quick<'py>,
        defaults: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (from_logits, weighted) = (quick.from_logits, quick.weights.is_some());
        let last = lock(&self.last).as_ref().map(Arc::clone);
        if let Some(last) = last
            && (last.from_logits, last.weighted) == (from_logits, weighted)
            && last.defaults.bind(py).is(defaults)
            && last.settings.iter().map(|(name, _)| name).eq(settings.iter().map(|(name, _)| name))
        {
            let dict = last.dict.bind(py).copy()?;
            for ((name, value), (_, before)) in settings.iter().zip(last.settings.iter()) {
                if value != before {
                    dict.set_item(name, value.clone().into_python(py)?)?;
                }
            }
            return Ok(dict);
        }
        // In the order of those of the long way.
        let input = PyDict::new(py);
        for name in [
            intern!(py, "multiclass"),
            intern!(py, "ties"),
            intern!(py, "from_logits"),
            intern!(py, "pos_label"),
            intern!(py, "classes"),
            intern!(py, "sum_tolerance"),
            intern!(py, "invalid"),
        ] {
            input.set_item(name, defaults.get_item(name)?)?;
        }
        input.set_item(intern!(py, "from_logits"), from_logits)?;
        input.set_item(intern!(py, "weighted"), weighted)?;
        let dict = results::with_input(py, &settings, &input)?.cast_into::<PyDict>()?;
        let kept = dict.copy()?.unbind();
        let told = Told { settings, from_logits, weighted, defaults: defaults.clone().unbind(), dict: kept };
        let former = lock(&self.last).replace(Arc::new(told));
        drop(former);
        Ok(dict)
    }
}

/// A text that is made once.
fn intern_once<'a>(py: Python<'_>, once: &'a OnceLock<Py<PyString>>, text: &str) -> &'a Py<PyString> {
    once.get_or_init(|| PyString::intern(py, text).unbind())
}

/// A numpy array itself: subclasses may have marks of missing values.
fn is_array(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyUntypedArray>()
}

fn array<'py, T: Element>(object: &Bound<'py, PyAny>) -> Option<PyReadonlyArray1<'py, T>> {
    object.cast::<PyArray1<T>>().ok()?.try_readonly().ok()
}

/// The elements, if they are contiguous, aligned and not too many.
fn elements<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>) -> Option<&'a [T]> {
    few(array.as_slice().ok()?)
}

fn few<T>(elements: &[T]) -> Option<&[T]> {
    (1..=MOST_ROWS).contains(&elements.len()).then_some(elements)
}

impl<'py> QuickFloats<'py> {
    fn read(object: &Bound<'py, PyAny>) -> Option<Self> {
        if is_array(object) {
            return array(object).map(QuickFloats::F64).or_else(|| array(object).map(QuickFloats::F32));
        }
        let list = object.cast_exact::<PyList>().ok().filter(|list| list.len() <= MOST_ROWS)?;
        let number = |item: Bound<'py, PyAny>| item.cast_exact::<PyFloat>().ok().map(|number| number.value());
        list.iter().map(number).collect::<Option<_>>().map(QuickFloats::List)
    }

    fn floats(&self) -> Option<Floats<'_>> {
        Some(match self {
            QuickFloats::F32(array) => Floats::F32(elements(array)?),
            QuickFloats::F64(array) => Floats::F64(elements(array)?),
            QuickFloats::List(numbers) => Floats::F64(few(numbers)?),
        })
    }
}

impl<'py> QuickLabels<'py> {
    fn read(object: &Bound<'py, PyAny>) -> Option<Self> {
        if is_array(object) {
            return array(object)
                .map(QuickLabels::I64)
                .or_else(|| array(object).map(QuickLabels::F64))
                .or_else(|| array(object).map(QuickLabels::U8))
                .or_else(|| array(object).map(QuickLabels::I32))
                .or_else(|| array(object).map(QuickLabels::F32));
        }
        let list = object.cast_exact::<PyList>().ok().filter(|list| list.len() <= MOST_ROWS)?;
        let number = |item: Bound<'py, PyAny>| item.cast_exact::<PyInt>().ok()?.extract().ok();
        list.iter().map(number).collect::<Option<_>>().map(QuickLabels::List)
    }

    fn labels(&self) -> Option<Labels<'_>> {
        Some(match self {
            QuickLabels::I64(array) => Labels::I64(elements(array)?),
            QuickLabels::I32(array) => Labels::I32(elements(array)?),
            QuickLabels::U8(array) => Labels::U8(elements(array)?),
            QuickLabels::F64(array) => Labels::F64(elements(array)?),
            QuickLabels::F32(array) => Labels::F32(elements(array)?),
            QuickLabels::List(numbers) => Labels::I64(few(numbers)?),
        })
    }
}
