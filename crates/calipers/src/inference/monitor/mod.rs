//! Looking at calibration window after window, with a false-alarm rate for the whole life of the
//! monitor.
//!
//! # Null hypothesis
//! Rows come one after the other, in windows. With h the log-odds of a prediction, the probability
//! of outcome 1, given the prediction and all rows before, has log-odds in [l(h), u(h)]:
//! ```text
//! calibrated            l = h - margin             u = h + margin
//! as in the reference   l = f - t - margin         u = f + t + margin
//! ```
//! f(h) is a curve that is fitted to the reference, and t(h) the half-width of its simultaneous
//! band (`expected.rs`). With a margin of 0 "calibrated" is the usual null hypothesis.
//!
//! # The e-value
//! 1. For one row, take any number d that is known before the outcome. With b = u if d > 0, and
//!    b = l if d < 0, the ratio of the probabilities of the outcome at log-odds b + d and b,
//!    `r(y) = P(y; b + d) / P(y; b)`, has an expectation of at most 1. For d > 0, r(1) > r(0), so
//!    that E r(y) grows with the probability of outcome 1, which is at most that at u, where
//!    E r(y) = Σ_y P(y; u + d) = 1. For d < 0 the same holds with both outcomes exchanged.
//! 2. So the product of r over all rows from some row on is a supermartingale that starts at 1,
//!    for d = d_k(h) with any function d_k. The product does not depend on the order of the rows of
//!    a window, which a sketch does not know.
//! 3. A sketch knows the cell of a score and not the score. Take l and u as the least and the
//!    greatest values in the cell, and d_k at its centre, which are known before the outcome: step
//!    1 holds as it is. So cells cost power, by a shift of half their width, and never validity.
//!    Predictions that were clipped may have been anything beyond; there l (or u) is infinite, and
//!    r is 1 for d towards that side.
//! 4. Let M_ks(T) be the product for d_k over the windows s to T, w_s weights of start windows and
//!    π_k weights of directions, each with a sum of 1. Then
//!    ```text
//!    E_T = Σ_k π_k Σ_{s <= T} w_s M_ks(T) + Σ_{s > T} w_s
//!    ```
//!    is a mean of supermartingales that start at 1 (those that start later are 1), and so is one.
//!    With w_s = s^(-1/4) - (s + 1)^(-1/4) the last sum is (T + 1)^(-1/4), and the inner sum is
//!    S_k(T) = (S_k(T - 1) + w_T) · the product over window T: a number for each direction is all
//!    that is kept.
//! 5. By Ville's inequality P(E_T >= 1/α for any T) <= α: however often one looks, and whenever one
//!    stops. With a reference, the band fails with a probability of α/5, and the limit is
//!    1 / (4α/5).
//!
//! Rounding: a logarithm of a product over n rows is computed to within (n + 16) · 2^-44 and
//! reduced by that (`directions.rs`), so that it is never overstated.
//!
//! # Directions
//! d_k(h) = r (cos φ + sin φ · z(h)), 12 angles and 8 radii, where z is the score in standard
//! deviations from its mean, cut at ±3: a shift and a slope of the log-odds (`directions.rs`).
//! Departures of less than about 0.008 in log-odds have no direction, and are never found.
//!
//! # Onset
//! See `onset.rs`. It is an estimate, without a part in the false-alarm rate.

mod directions;
mod expected;
mod look;
mod onset;
mod process;
mod remembered;
mod sentence;
mod state;
mod window;

pub use look::{Look, WindowValue};
pub use onset::Onset;
pub use sentence::e_value_text;

use directions::Units;
use expected::Expected;
use process::Process;
use remembered::Remembered;
use window::Window;

use super::Assess;
use crate::data::Sample;
use crate::{Error, error};

/// Looks that are kept: older ones do not change what is decided later.
const MOST_LOOKS: usize = 4096;

/// Watches the calibration of a model over windows of rows or sketches, and raises an alarm with a
/// stated false-alarm rate however often one looks.
///
/// # Definition
/// An alarm is raised once the e-value reaches 1 / alpha. If outcomes are as expected, that happens
/// with a probability of at most alpha over the whole life of the monitor: see the source of this
/// module for the proof. What is expected is one of
/// - calibrated: outcomes have their predicted probabilities,
/// - with [`reference`](Self::reference): outcomes at equal predictions are as in the reference,
///
/// and with a [`margin`](Self::margin) log-odds may differ from it by that much, in any way.
///
/// # Assumptions
/// The probability of an outcome, given all rows before, is as expected. Rows may depend on earlier
/// ones through their predictions, but outcomes that depend on each other, such as those of one
/// person, break that. Labels that come late are no problem if the time at which they come does not
/// depend on the outcome. Rows count equally: weights are an error.
///
/// # Cost
/// For each window 96 logarithms for each cell or different score; for 256 scores that come again
/// in windows of fewer than 256 they are remembered, which takes 200 kB. The state has 96 numbers
/// and a line for each of the last 4096 windows.
///
/// # Reference
/// Ville, "Étude critique de la notion de collectif", 1939; Shiryaev, "On optimum methods in
/// quickest detection problems", 1963; Shin, Ramdas, Rinaldo, "E-detectors", 2022.
///
/// # Example
/// Of forecasts of 0.8 first 80 % come true, and then 60 %.
/// ```
/// use calipers::{Input, Monitor};
///
/// let mut monitor = Monitor::new().alpha(0.05);
/// let p = [0.8; 100];
/// for hour in 0..12 {
///     let share = if hour < 6 { 80 } else { 60 };
///     let outcomes: Vec<i64> = (0..100).map(|row| i64::from(row < share)).collect();
///     let predictions = Input::probabilities(&p, &outcomes[..]).check()?;
///     monitor.update(&format!("hour {hour:02}"), &predictions.binary()?)?;
/// }
/// assert_eq!(monitor.alarm().map(|look| &look.window[..]), Some("hour 06"));
/// assert_eq!(monitor.onset().map(|onset| onset.window), Some("hour 06".to_owned()));
///
/// // An hourly job stores the monitor, and goes on where it was.
/// let same = Monitor::from_json(&monitor.to_json())?;
/// assert_eq!(same.e_value(), monitor.e_value());
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Monitor {
    alpha: f64,
    margin: f64,
    expected: Expected,
    /// Those of the slope; the reference or the first window with rows sets them.
    units: Option<Units>,
    process: Process,
    remembered: Remembered,
    looks: Vec<Look>,
    /// The look at which the limit was first reached.
    alarm: Option<Look>,
}

impl Default for Monitor {
    fn default() -> Self {
        Monitor {
            alpha: 0.05,
            margin: 0.0,
            expected: Expected::Calibrated,
            units: None,
            process: Process::default(),
            remembered: Remembered::default(),
            looks: Vec::new(),
            alarm: None,
        }
    }
}

impl Monitor {
    /// Whether outcomes have their predicted probabilities; alpha 0.05, margin 0.
    pub fn new() -> Self {
        Self::default()
    }

    crate::setters::setters! {
        /// The probability of a false alarm over the whole life of the monitor. Several monitors,
        /// as one for each group, share it: alpha divided by their number.
        alpha: f64;

        /// By so much log-odds may differ from what is expected: no alarm is raised for less. A
        /// difference of 0.1 in log-odds is at most 2.5 percentage points.
        margin: f64;
    }

    /// Whether outcomes at equal predictions are as in a reference period, of rows or a sketch,
    /// which is before all windows and shares no rows with them.
    ///
    /// The reference is a smooth curve of the log-odds with a simultaneous band at level
    /// 1 - alpha/5, so that its uncertainty counts: set alpha first. More rows give a narrower
    /// band, and earlier alarms.
    pub fn reference<'s>(mut self, sample: impl Into<Sample<'s>>) -> Result<Self, Error> {
        self.check()?;
        let window = Window::new(&sample.into())?;
        let curve = expected::Curve::fit(&window, self.alpha)?;
        self.expected = Expected::Reference(curve);
        self.units = Units::of(&window, &self.expected);
        self.remembered = Remembered::default();
        Ok(self)
    }

    /// An error if an option is out of its range.
    pub fn check(&self) -> Result<(), Error> {
        let (alpha, margin) = (self.alpha, self.margin);
        Error::require((1e-12..=0.5).contains(&alpha), "alpha", "in [1e-12, 0.5]", error::number(alpha))?;
        Error::require((0.0..=5.0).contains(&margin), "margin", "in [0, 5] log-odds", error::number(margin))
    }

    /// Looks at the next window: a view of rows or a sketch. A sketch without rows is a window,
    /// too. Nothing changes where an error is returned.
    pub fn update<'s>(&mut self, window: &str, sample: impl Into<Sample<'s>>) -> Result<&Look, Error> {
        self.look(window, &sample.into(), None)
    }

    /// The same, and the value of a measure in this window, for a chart over time. It has no part
    /// in the decision, and is left out where the window has too few rows for it. Pass a measure
    /// whose settings do not depend on the data, so that windows can be compared.
    pub fn update_with<'s>(
        &mut self,
        window: &str,
        sample: impl Into<Sample<'s>>,
        assess: &Assess<'_>,
    ) -> Result<&Look, Error> {
        self.look(window, &sample.into(), Some(assess))
    }

    fn look(&mut self, name: &str, sample: &Sample<'_>, assess: Option<&Assess<'_>>) -> Result<&Look, Error> {
        self.check()?;
        let window = Window::new(sample)?;
        assess.map_or(Ok(()), Assess::check)?;
        // A window may have too few rows for a value, but never for a look.
        let assessed = assess.filter(|_| window.n > 0).and_then(|assess| assess.run(*sample).ok());
        let value = assessed.as_ref().map(WindowValue::of);
        // Units are set by predictions of the past: a first window is looked at for shifts alone.
        let (ranges, log_ratios) =
            self.remembered.log_ratios(&window, &self.expected, self.margin, self.units.as_ref());
        self.process.advance(&log_ratios);
        let units = self.units.take().or_else(|| Units::of(&window, &self.expected));
        let log_e_value = self.process.log_e_value();
        let mut look = Look::new(name, self.process.n_windows, &window, &ranges, units.as_ref());
        (look.log_e_value, look.value) = (log_e_value, value);
        look.is_above_limit = log_e_value >= self.log_limit();
        self.units = units;
        if self.alarm.is_none() && look.is_above_limit {
            self.alarm = Some(look.clone());
        }
        if self.looks.len() == MOST_LOOKS {
            self.looks.remove(0);
        }
        self.looks.push(look);
        Ok(&self.looks[self.looks.len() - 1])
    }

    /// The false-alarm rate.
    pub fn alpha_value(&self) -> f64 {
        self.alpha
    }

    /// The margin in log-odds.
    pub fn margin_value(&self) -> f64 {
        self.margin
    }

    /// The rows of the reference, if there is one.
    pub fn n_reference(&self) -> Option<u64> {
        self.expected.n_reference()
    }

    /// The mean half-width of the band of the reference in log-odds, over the rows of the
    /// reference: what its uncertainty adds to the margin.
    pub fn reference_uncertainty(&self) -> Option<f64> {
        self.expected.uncertainty()
    }

    /// ln of the e-value from which on there is an alarm.
    pub fn log_limit(&self) -> f64 {
        -(self.alpha * self.expected.share_of_alpha()).ln()
    }

    /// The e-value from which on there is an alarm: 1 / alpha, or 1.25 / alpha with a reference.
    pub fn limit(&self) -> f64 {
        self.log_limit().exp()
    }

    /// The present e-value: evidence against the null hypothesis. Infinite beyond 1e308.
    pub fn e_value(&self) -> f64 {
        self.log_e_value().exp()
    }

    /// Its logarithm.
    pub fn log_e_value(&self) -> f64 {
        self.process.log_e_value()
    }

    /// A p-value that holds at any time, over all looks so far.
    pub fn p_value(&self) -> f64 {
        (-self.process.log_peak).exp().min(1.0)
    }

    /// Windows that were looked at.
    pub fn n_windows(&self) -> u64 {
        self.process.n_windows
    }

    /// The last looks, 4096 at most.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// The look at which the alarm was raised. It stays, also if later windows are as expected: a
    /// new monitor begins anew.
    pub fn alarm(&self) -> Option<&Look> {
        self.alarm.as_ref()
    }

    /// Since when outcomes are not as expected, once there is an alarm.
    pub fn onset(&self) -> Option<Onset> {
        self.alarm.as_ref().and_then(|_| Onset::of(&self.looks))
    }
}
