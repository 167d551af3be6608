//! A monitor in plain sentences.

use super::{Monitor, Onset};
use crate::inference::sentence::percent;

impl Monitor {
    /// What is expected, in words: `calibrated`, or `as in the reference`.
    pub fn question(&self) -> &'static str {
        if self.n_reference().is_some() { "as in the reference" } else { "calibrated" }
    }

    /// The state in plain sentences: whether there is an alarm, since when and how much.
    pub fn sentence(&self) -> String {
        let margin = match self.margin_value() {
            0.0 => String::new(),
            margin => format!(" within {margin} in log-odds"),
        };
        let expected = match self.n_reference() {
            Some(_) => format!("as frequent as in the reference{margin}"),
            None => format!("as frequent as predicted{margin}"),
        };
        let limit = format!("limit {}", e_value_text(self.log_limit()));
        let windows = |n: u64| if n == 1 { "1 window".to_owned() } else { format!("{n} windows") };
        let (Some(alarm), Some(onset)) = (self.alarm(), self.onset()) else {
            return format!(
                "No alarm after {}: there is no evidence that outcomes are not {expected} (e-value {}, {limit}; \
                 false-alarm rate {} over the life of the monitor).",
                windows(self.n_windows()),
                e_value_text(self.log_e_value()),
                percent(self.alpha_value())
            );
        };
        format!(
            "Alarm at window {}: outcomes are not {expected} (e-value {}, {limit}; false-alarm rate {} over the life of \
             the monitor). {}",
            alarm.window,
            e_value_text(alarm.log_e_value),
            percent(self.alpha_value()),
            onset.sentence()
        )
    }
}

impl Onset {
    /// Since when, and by how much.
    pub fn sentence(&self) -> String {
        let plausible = match self.earliest == self.latest {
            true => String::new(),
            false => format!(" (plausible: {} to {})", self.earliest, self.latest),
        };
        let odds = |shift: f64| format!("{:.2}", shift.exp());
        format!(
            "It began about window {}{plausible}; since then, the odds of the outcome are {} times those expected on \
             average (95 % interval {} to {}).",
            self.window,
            odds(self.shift),
            odds(self.shift_interval.lower),
            odds(self.shift_interval.upper)
        )
    }
}

/// An e-value for people, from its logarithm.
pub fn e_value_text(log_e_value: f64) -> String {
    let tens = log_e_value / std::f64::consts::LN_10;
    if tens.abs() < 5.0 {
        let value = log_e_value.exp();
        let digits = if value < 10.0 { 2 } else { 0 };
        return format!("{value:.digits$}");
    }
    let exponent = tens.floor();
    format!("{:.0}e{exponent}", 10f64.powf(tens - exponent).floor())
}
