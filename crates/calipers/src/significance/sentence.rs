//! What an assessment says, in words.

use super::Assessment;
use crate::estimate::Estimate;

impl Assessment {
    /// The sentence that a person wants: value, interval, floor and verdict; or, where nothing is seen, how large it can be.
    pub fn sentence(&self) -> String {
        let name = self.estimate.title();
        let digits = self.digits();
        let show = |value: f64| format!("{value:.digits$}");
        let (value, lower, upper) = (self.estimate.value, self.interval.lower, self.interval.upper);
        let interval = format!("[{}, {}]", show(lower), show(upper));
        let Some(floor) = &self.floor else {
            let reason = self.withheld.unwrap_or("not asked for");
            return format!("{name} {} {interval}; no noise floor: {reason}", show(value));
        };
        let p = p_value(floor.p_value);
        let (mean, spread) = (show(floor.mean), show(floor.deviation));
        if self.significant == Some(true) {
            let calibrated = format!("a calibrated model would show {mean} ± {spread} here");
            return format!("{name} {} {interval}; {calibrated}: miscalibrated ({p})", show(value));
        }
        // 100 · 0.95 is not 95 in doubles.
        let level = (1e6 * self.interval.level).round() / 1e4;
        let limit = format!("the true {name} is below {} with {level} % confidence", show(upper));
        format!("no miscalibration seen ({p}): {name} {}, a calibrated model {mean} ± {spread}; {limit}", show(value))
    }

    /// As many decimals as show one digit of the spread of the floor and of half the interval, and three at least.
    fn digits(&self) -> usize {
        let half = 0.5 * (self.interval.upper - self.interval.lower);
        let spread = self.floor.as_ref().map_or(0.0, |floor| floor.deviation);
        digits([half, spread].into_iter().filter(|width| *width > 0.0).fold(1.0, f64::min))
    }
}

impl Estimate {
    /// What people call the measure: `LS-ECE`, `ECE`, `ICI`; its own name where they have no other.
    pub fn title(&self) -> &'static str {
        match self.measure {
            "ls_ece" => "LS-ECE",
            "ls_ece_sampled" => "LS-ECE (sampled)",
            "expected_calibration_error" => match self.settings.text("norm") {
                Some("l2") => "RMSCE",
                Some("max") => "MCE",
                _ => "ECE",
            },
            "smooth_ece" => "smECE",
            "calibration_index" => match self.settings.text("statistic") {
                Some("e50") => "E50",
                Some("e90") => "E90",
                Some("emax") => "Emax",
                _ => "ICI",
            },
            other => other,
        }
    }
}

/// As many decimals as show one digit of a width, and three at least.
pub(super) fn digits(width: f64) -> usize {
    let width = if width > 0.0 { width } else { 1.0 };
    (-width.log10()).ceil().clamp(3.0, 9.0) as usize
}

/// A number with so many decimals; one that rounds to 0 has no sign.
pub(super) fn signed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.trim_start_matches('-').chars().all(|digit| digit == '0' || digit == '.') {
        true => text.trim_start_matches('-').to_owned(),
        false => text,
    }
}

pub(super) fn p_value(p: f64) -> String {
    match p {
        _ if p < 0.001 => "p < 0.001".to_owned(),
        _ if p < 0.01 => format!("p = {p:.3}"),
        _ => format!("p = {p:.2}"),
    }
}
