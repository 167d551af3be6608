//! Streams of windows with a known truth, a monitor on them, and tests that are repeated.

use calipers::{Error, Input, Monitor, Predictions};

use crate::Setting;
use crate::replicates::{seed_of, uniform};

/// Log-odds of the outcome, as a function of those of the prediction.
pub(super) type Truth = fn(f64) -> f64;

pub(super) const CALIBRATED: Truth = |h| h;
pub(super) const LINE: Truth = |h| 0.4 + 0.7 * h;
pub(super) const WAVE: Truth = |h| h - 0.5 * (2.0 * h).sin();

/// One kind of stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub(super) name: &'static str,
    /// Mean and spread of the log-odds of predictions.
    mean: f64,
    spread: f64,
    /// Log-odds are rounded to multiples of this.
    step: f64,
    /// The fewest and the most rows of a window; sizes are uniform on a logarithmic scale.
    sizes: (f64, f64),
    truth: Truth,
}

impl Stream {
    /// A hundred rows every hour.
    pub(super) const HUNDRED: Stream =
        Stream { name: "calibrated", mean: 0.0, spread: 1.5, step: 0.2, sizes: (100.0, 100.0), truth: CALIBRATED };

    /// Those whose false alarms are counted.
    pub(super) const ALL: [Stream; 6] = [
        Stream { sizes: (20.0, 2000.0), ..Stream::HUNDRED },
        Stream { name: "few rows", step: 0.05, sizes: (20.0, 20.0), ..Stream::HUNDRED },
        Stream { name: "rare events", mean: -5.0, spread: 1.0, sizes: (20.0, 2000.0), ..Stream::HUNDRED },
        Stream { name: "ties", step: 2.0, sizes: (20.0, 2000.0), ..Stream::HUNDRED },
        Stream { name: "very sure", spread: 6.0, step: 0.8, sizes: (20.0, 2000.0), ..Stream::HUNDRED },
        Stream { name: "one score", spread: 0.0, sizes: (20.0, 200.0), mean: 1.0, ..Stream::HUNDRED },
    ];

    /// The same with another truth.
    pub(super) fn with_truth(self, truth: Truth) -> Self {
        Stream { truth, ..self }
    }

    pub(super) fn sizes_in_words(&self) -> String {
        let (least, most) = self.sizes;
        if least == most { least.to_string() } else { format!("{least} to {most}") }
    }
}

/// The seed of a stream.
pub(super) fn seed(setting: &Setting, kind: u64, index: u64) -> u64 {
    seed_of(setting.random_state, 7000 + kind, index)
}

/// Rows of one window.
pub(super) struct Rows {
    scores: Vec<f64>,
    outcomes: Vec<bool>,
}

impl Rows {
    /// Log-odds of outcomes are shift + slope times those of the stream's truth.
    pub(super) fn draw(stream: &Stream, n: usize, (shift, slope): (f64, f64), seed: u64) -> Self {
        let (mut scores, mut outcomes) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for row in 0..n as u64 {
            let draw = |place: u64| uniform(seed, 4 * row + place);
            // A sum of three uniform numbers is nearly normal, with a standard deviation of 1/2.
            let h = stream.mean + 2.0 * stream.spread * (draw(0) + draw(1) + draw(2) - 1.5);
            let h = (h / stream.step).round() * stream.step;
            scores.push(h);
            outcomes.push(draw(3) < response(shift + slope * (stream.truth)(h)));
        }
        Rows { scores, outcomes }
    }

    pub(super) fn check(&self) -> Result<Predictions<'_>, Error> {
        Input::logits(&self.scores, &self.outcomes).check()
    }

    /// Σ(y - p) and Σp(1 - p).
    fn sums(&self) -> (f64, f64) {
        let rows = self.scores.iter().map(|h| response(*h)).zip(&self.outcomes);
        rows.fold((0.0, 0.0), |(sum, variance), (p, y)| (sum + f64::from(u8::from(*y)) - p, variance + p * (1.0 - p)))
    }
}

fn response(h: f64) -> f64 {
    1.0 / (1.0 + (-h).exp())
}

/// What watches a stream, in the order of [`Watched::alarms`].
pub(super) const PROCEDURES: [&str; 4] = ["monitor", "each window", "Bonferroni", "all rows so far"];

/// After so many windows the log-odds of outcomes become shift + slope times those of the truth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) n_before: u64,
    pub(super) shift: f64,
    pub(super) slope: f64,
}

/// What was seen of one stream.
pub(super) struct Watched {
    /// The number of the window of the first alarm, from 1, for each procedure.
    pub(super) alarms: [Option<u64>; 4],
    /// The onset as reported at the alarm of the monitor.
    pub(super) at_alarm: Option<Reported>,
    /// The onset as reported after the last window.
    pub(super) at_end: Option<Reported>,
}

/// An onset, as the monitor reports it.
pub(super) struct Reported {
    /// The plausible onsets, from the first to the last.
    plausible: (u64, u64),
    /// The shift since the onset.
    pub(super) shift: f64,
    interval: (f64, f64),
}

impl Reported {
    fn of(monitor: &Monitor) -> Option<Self> {
        monitor.onset().map(|onset| Reported {
            plausible: (onset.earliest_number, onset.latest_number),
            shift: onset.shift,
            interval: (onset.shift_interval.lower, onset.shift_interval.upper),
        })
    }

    /// Whether this window is among the plausible onsets.
    pub(super) fn holds(&self, window: u64) -> bool {
        (self.plausible.0..=self.plausible.1).contains(&window)
    }

    /// Whether the interval has this shift.
    pub(super) fn holds_shift(&self, shift: f64) -> bool {
        (self.interval.0..=self.interval.1).contains(&shift)
    }
}

/// Two-sided limits of a normal number: at 5 %, and at 5 % / 500.
const LIMIT: f64 = 1.959_964;
const BONFERRONI: f64 = 3.890_592;

impl Watched {
    /// Looks at all windows of one stream.
    pub(super) fn run(
        stream: &Stream,
        monitor: &Monitor,
        n_windows: u64,
        change: Option<Change>,
        seed: u64,
    ) -> Result<Self, Error> {
        let mut monitor = monitor.clone();
        let mut watched = Watched { alarms: [None; 4], at_alarm: None, at_end: None };
        let (mut sum, mut variance) = (0.0, 0.0);
        for window in 1..=n_windows {
            let (least, most) = stream.sizes;
            let n = (least * (most / least).powf(uniform(seed, window))).round() as usize;
            let change = change.filter(|change| window > change.n_before);
            let truth = change.map_or((0.0, 1.0), |change| (change.shift, change.slope));
            let rows = Rows::draw(stream, n, truth, seed_of(seed, 1, window));
            monitor.update("w", &rows.check()?.binary()?)?;
            let (more, spread) = rows.sums();
            (sum, variance) = (sum + more, variance + spread);
            let z = more.abs() / spread.sqrt();
            let is_alarm = [monitor.alarm().is_some(), z > LIMIT, z > BONFERRONI, sum.abs() / variance.sqrt() > LIMIT];
            for (alarm, is_alarm) in watched.alarms.iter_mut().zip(is_alarm) {
                *alarm = alarm.or(is_alarm.then_some(window));
            }
            if watched.alarms[0] == Some(window) {
                watched.at_alarm = Reported::of(&monitor);
            }
        }
        watched.at_end = Reported::of(&monitor);
        Ok(watched)
    }
}
