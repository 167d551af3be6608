//! A monitor as text, so that a job that runs every hour needs nothing but the last state.
//!
//! JSON with a version. Numbers are in the shortest form that reads back the same, so that a
//! monitor that was stored goes on with the same bits.

use serde_json::{Map, Value, json};

use super::directions::{N_DIRECTIONS, Units};
use super::expected::{Curve, Expected};
use super::look::{Look, Sums, WindowValue};
use super::process::Process;
use super::remembered::Remembered;
use super::{MOST_LOOKS, Monitor};
use crate::Error;

/// What `what` is in every state.
const WHAT: &str = "monitor";

/// The version of the format.
const FORMAT: u64 = 1;

impl Monitor {
    /// The whole state as JSON, for [`from_json`](Self::from_json).
    pub fn to_json(&self) -> String {
        let reference = match &self.expected {
            Expected::Calibrated => Value::Null,
            Expected::Reference(curve) => json!({
                "n": curve.n,
                "knots": curve.knots,
                "theta": curve.theta,
                "spread": curve.spread,
                "uncertainty": curve.uncertainty,
            }),
        };
        let state = json!({
            "what": WHAT,
            "format": FORMAT,
            "alpha": self.alpha,
            "margin": self.margin,
            "reference": reference,
            "units": self.units.map(|units| json!({ "centre": units.centre, "deviation": units.deviation })),
            "n_windows": self.process.n_windows,
            "log_peak": self.process.log_peak,
            // ln 0 before the first window has no number in JSON.
            "log_sums": if self.process.n_windows == 0 { json!([]) } else { json!(self.process.log_sums) },
            "alarm": self.alarm.as_ref().map(look_to_json),
            "looks": self.looks.iter().map(look_to_json).collect::<Vec<Value>>(),
        });
        state.to_string()
    }

    /// The monitor that [`to_json`](Self::to_json) has written.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let value: Value = serde_json::from_str(text).map_err(|error| invalid(format!("it is no JSON: {error}")))?;
        let state = Fields::of(&value, "it")?;
        if state.get("what")?.as_str() != Some(WHAT) {
            return Err(invalid(format!("\"what\" must be {WHAT:?}, got {}", state.get("what")?)));
        }
        match state.count("format")? {
            FORMAT => {}
            other => {
                return Err(invalid(format!("\"format\" is {other} and this version reads {FORMAT}; update calipers")));
            }
        }
        let expected = match state.maybe("reference")? {
            Some(reference) => Expected::Reference(curve(&reference)?),
            None => Expected::Calibrated,
        };
        let units = match state.maybe("units")? {
            Some(units) => Some(Units { centre: units.number("centre")?, deviation: units.positive("deviation")? }),
            None => None,
        };
        let n_windows = state.count("n_windows")?;
        let log_sums = state.numbers("log_sums")?;
        let n_sums = if n_windows == 0 { 0 } else { N_DIRECTIONS };
        if log_sums.len() != n_sums {
            return Err(invalid(format!("\"log_sums\" must have {n_sums} numbers, got {}", log_sums.len())));
        }
        let empty = Process::default();
        let log_sums = if n_windows == 0 { empty.log_sums } else { log_sums };
        let process = Process { n_windows, log_sums, log_peak: state.number("log_peak")? };
        let looks = state.get("looks")?.as_array().ok_or_else(|| invalid("\"looks\" must be a list"))?;
        if looks.len() > MOST_LOOKS || looks.len() as u64 > n_windows {
            return Err(invalid(format!("\"looks\" must not be more than the windows, got {}", looks.len())));
        }
        let looks = looks.iter().map(|value| look(&Fields::of(value, "a look")?)).collect::<Result<_, _>>()?;
        let alarm = match state.maybe("alarm")? {
            Some(alarm) => Some(look(&alarm)?),
            None => None,
        };
        let (alpha, margin) = (state.number("alpha")?, state.number("margin")?);
        let monitor =
            Monitor { alpha, margin, expected, units, process, remembered: Remembered::default(), looks, alarm };
        monitor.check().map_err(|error| invalid(error.to_string()))?;
        Ok(monitor)
    }
}

fn invalid(reason: impl Into<String>) -> Error {
    Error::InvalidMonitor { reason: reason.into() }
}

fn curve(fields: &Fields<'_>) -> Result<Curve, Error> {
    let (knots, theta, spread) = (fields.numbers("knots")?, fields.numbers("theta")?, fields.numbers("spread")?);
    let ascending = knots.windows(2).all(|pair| pair[0] < pair[1]);
    if !ascending || knots.len() > super::expected::MOST_KNOTS {
        return Err(invalid("\"reference.knots\" must be ascending, and at most 7"));
    }
    let n = knots.len().max(1);
    if theta.len() != n || spread.len() != n * (n + 1) / 2 {
        return Err(invalid("\"reference.theta\" and \"reference.spread\" must have the sizes of the knots"));
    }
    let mut curve = Curve::new(knots, theta, spread);
    (curve.n, curve.uncertainty) = (fields.count("n")?, fields.number("uncertainty")?);
    Ok(curve)
}

/// A number that is not finite is null.
fn look_to_json(look: &Look) -> Value {
    json!({
        "number": look.number,
        "window": look.window,
        "n": look.n,
        "mean_probability": look.mean_probability,
        "expected_rate": look.expected_rate,
        "outcome_rate": look.outcome_rate,
        "shift": look.shift,
        "shift_standard_error": look.shift_standard_error,
        "log_e_value": look.log_e_value,
        "is_above_limit": look.is_above_limit,
        "value": look.value.as_ref().map(|value| json!({
            "measure": value.measure,
            "value": value.value,
            "floor": value.floor,
            "lower": value.lower,
            "upper": value.upper,
        })),
        "score": look.sums.score,
        "information": look.sums.information,
        "allowed": look.sums.allowed,
    })
}

fn look(fields: &Fields<'_>) -> Result<Look, Error> {
    let value = match fields.maybe("value")? {
        Some(value) => Some(WindowValue {
            measure: value.text("measure")?,
            value: value.measured("value")?,
            floor: value.measured("floor")?,
            lower: value.measured("lower")?,
            upper: value.measured("upper")?,
        }),
        None => None,
    };
    let sizes = || invalid("\"score\" must have 2 numbers and \"information\" 3");
    Ok(Look {
        number: fields.count("number")?,
        window: fields.text("window")?,
        n: fields.count("n")?,
        mean_probability: fields.measured("mean_probability")?,
        expected_rate: fields.measured("expected_rate")?,
        outcome_rate: fields.measured("outcome_rate")?,
        shift: fields.measured("shift")?,
        shift_standard_error: fields.measured("shift_standard_error")?,
        log_e_value: fields.number("log_e_value")?,
        is_above_limit: fields.get("is_above_limit")?.as_bool().unwrap_or(false),
        value,
        sums: Sums {
            score: fields.numbers("score")?.try_into().map_err(|_| sizes())?,
            information: fields.numbers("information")?.try_into().map_err(|_| sizes())?,
            allowed: fields.number("allowed")?,
        },
    })
}

/// An object of JSON whose values have their types.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn of(value: &'a Value, what: &str) -> Result<Self, Error> {
        value.as_object().map(Fields).ok_or_else(|| invalid(format!("{what} must be an object")))
    }

    fn get(&self, key: &str) -> Result<&'a Value, Error> {
        self.0.get(key).ok_or_else(|| invalid(format!("{key:?} is missing")))
    }

    /// `None` where it is null.
    fn maybe(&self, key: &str) -> Result<Option<Fields<'a>>, Error> {
        match self.get(key)? {
            Value::Null => Ok(None),
            value => Fields::of(value, &format!("{key:?}")).map(Some),
        }
    }

    fn count(&self, key: &str) -> Result<u64, Error> {
        self.get(key)?.as_u64().ok_or_else(|| invalid(format!("{key:?} must be a count")))
    }

    fn text(&self, key: &str) -> Result<String, Error> {
        let text = self.get(key)?.as_str().map(str::to_owned);
        text.ok_or_else(|| invalid(format!("{key:?} must be text")))
    }

    fn number(&self, key: &str) -> Result<f64, Error> {
        self.get(key)?.as_f64().ok_or_else(|| invalid(format!("{key:?} must be a number")))
    }

    fn positive(&self, key: &str) -> Result<f64, Error> {
        let number = self.number(key)?;
        if number > 0.0 { Ok(number) } else { Err(invalid(format!("{key:?} must be positive, got {number}"))) }
    }

    /// NaN where it is null.
    fn measured(&self, key: &str) -> Result<f64, Error> {
        if self.get(key)?.is_null() { Ok(f64::NAN) } else { self.number(key) }
    }

    fn numbers(&self, key: &str) -> Result<Vec<f64>, Error> {
        let list = || invalid(format!("{key:?} must be a list of numbers"));
        self.get(key)?.as_array().ok_or_else(list)?.iter().map(|value| value.as_f64().ok_or_else(list)).collect()
    }
}
