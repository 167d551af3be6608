//! A monitor that Python holds: windows in, looks and text out.

use std::sync::{PoisonError, RwLock};

use calipers::{Assess, Look, LsEce, Measure, Onset};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::drift::{Given, Side};
use crate::failure::Failure;
use crate::fork;
use crate::options::{Options, Resampling};
use crate::pool::{self, Length};
use crate::results::{Answer, dict};

/// Behind a lock: threads may share a monitor, and wait for each other.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct Monitor(RwLock<calipers::Monitor>);

impl Monitor {
    fn holding(monitor: calipers::Monitor) -> Self {
        Monitor(RwLock::new(monitor))
    }

    /// Waits for other threads without the GIL. A monitor is never left half changed, so that one
    /// whose thread has failed is still valid.
    fn get<T: Send>(&self, py: Python<'_>, of: impl FnOnce(&calipers::Monitor) -> T + Send) -> T {
        fork::detached(py, || of(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl Monitor {
    #[new]
    fn new<'py>(py: Python<'py>, alpha: f64, margin: f64, reference: Option<Side<'py>>) -> Result<Self, Failure> {
        let monitor = calipers::Monitor::new().alpha(alpha).margin(margin);
        monitor.check()?;
        let Some(reference) = reference else { return Ok(Monitor::holding(monitor)) };
        let given = reference.given(py)?;
        let fitted = pool::run(py, Length::Long(None), || {
            given.with(&LsEce::new(), None, |sample| Ok(monitor.reference(sample)?))
        })?;
        Ok(Monitor::holding(fitted))
    }

    #[staticmethod]
    fn from_json(text: &str) -> Result<Self, Failure> {
        Ok(Monitor::holding(calipers::Monitor::from_json(text)?))
    }

    fn to_json(&self, py: Python<'_>) -> String {
        self.get(py, calipers::Monitor::to_json)
    }

    /// Looks at a window; with a measure, also at its value.
    fn update<'py>(
        &self,
        py: Python<'py>,
        window: &str,
        sample: Side<'py>,
        measure: Option<&str>,
        options: Options<'py>,
    ) -> Answer<'py> {
        let drawn = match measure {
            Some(name) => Some((options.measure(name)?, Resampling::read(&options)?)),
            None => None,
        };
        // A window may have no rows.
        let given = match &sample {
            Side::Sketch(sketch) => Given::Sketch(sketch.get(py, Clone::clone)?),
            Side::Rows(..) => sample.given(py)?,
        };
        let top_class = LsEce::new();
        let _active = fork::Active::begin(py);
        let look = pool::run(py, Length::Long(None), || {
            let read_for: &dyn Measure = drawn.as_ref().map_or(&top_class, |(measure, _)| &**measure);
            given.with(read_for, None, |sample| {
                let mut monitor = self.0.write().unwrap_or_else(PoisonError::into_inner);
                let look = match &drawn {
                    None => monitor.update(window, sample)?,
                    Some((measure, Resampling { level, n_resamples, random_state })) => {
                        let assess = Assess::new(&**measure).level(*level).n_resamples(*n_resamples);
                        monitor.update_with(window, sample, &assess.random_state(*random_state))?
                    }
                };
                Ok::<_, Failure>(look.clone())
            })
        })?;
        of_look(py, &look)
    }

    fn looks<'py>(&self, py: Python<'py>) -> Result<Vec<Bound<'py, PyDict>>, Failure> {
        let looks = self.get(py, |monitor| monitor.looks().to_vec());
        looks.iter().map(|look| of_look(py, look)).collect()
    }

    fn facts<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let monitor = self.get(py, Clone::clone);
        let alarm = match monitor.alarm() {
            Some(look) => Some(of_look(py, look)?),
            None => None,
        };
        let onset = match monitor.onset() {
            Some(onset) => Some(of_onset(py, onset)?),
            None => None,
        };
        Ok(dict!(py;
            alpha: monitor.alpha_value(),
            margin: monitor.margin_value(),
            question: monitor.question(),
            n_reference: monitor.n_reference(),
            reference_uncertainty: monitor.reference_uncertainty(),
            n_windows: monitor.n_windows(),
            e_value: monitor.e_value(),
            log_e_value: monitor.log_e_value(),
            limit: monitor.limit(),
            p_value: monitor.p_value(),
            alarm: alarm,
            onset: onset,
            sentence: monitor.sentence(),
        ))
    }
}

fn of_look<'py>(py: Python<'py>, look: &Look) -> Answer<'py> {
    let value = match &look.value {
        Some(value) => Some(dict!(py;
            measure: value.measure.clone(),
            value: value.value,
            floor: value.floor,
            lower: value.lower,
            upper: value.upper,
        )),
        None => None,
    };
    Ok(dict!(py;
        window: look.window.clone(),
        number: look.number,
        n: look.n,
        mean_probability: look.mean_probability,
        expected_rate: look.expected_rate,
        outcome_rate: look.outcome_rate,
        shift: look.shift,
        shift_standard_error: look.shift_standard_error,
        e_value: look.e_value(),
        log_e_value: look.log_e_value,
        is_above_limit: look.is_above_limit,
        value: value,
    ))
}

fn of_onset(py: Python<'_>, onset: Onset) -> Answer<'_> {
    Ok(dict!(py;
        window: onset.window,
        number: onset.number,
        earliest: onset.earliest,
        latest: onset.latest,
        shift: onset.shift,
        interval: onset.shift_interval,
    ))
}

/// The page of monitors, by the names of their groups.
#[pyfunction]
pub(crate) fn monitor_page(py: Python<'_>, title: &str, monitors: Vec<(String, PyRef<'_, Monitor>)>) -> String {
    let monitors: Vec<(String, calipers::Monitor)> =
        monitors.iter().map(|(name, monitor)| (name.clone(), monitor.get(py, Clone::clone))).collect();
    let named: Vec<(String, &calipers::Monitor)> =
        monitors.iter().map(|(name, monitor)| (name.clone(), monitor)).collect();
    calipers_report::monitor_page(title, &named, None)
}
