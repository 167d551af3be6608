//! How often `Drift` finds a change that is not there, how often it finds one that is, and how
//! often its intervals hold the truth, on distributions whose truth is known.
//!
//! ```text
//! size     no change: size of both tests, and coverage of both intervals
//! power    a shift, a slope and a local change of the log-odds that grow
//! people   rows that depend on each other
//! cases    pairs of distributions
//! ```

mod cases;
mod people;
mod power;
mod size;

use calipers::{Change, Error, Interval};

use crate::table::fixed;
use crate::{Page, Setting};

/// Draws of each run: with so many, a level of 5 % is met exactly.
const DRAWS: u64 = 39;

/// The study.
pub fn run(setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new("drift", "Has it changed? Size, power and coverage of drift", setting);
    page.text(&format!(
        "`calipers drift` compares two samples that share no rows. The *test of outcomes* asks whether outcomes at equal \
         predictions have changed, and comes with an interval of the odds ratio. The *test of the value* asks whether \
         LS-ECE has changed, and comes with an interval of the difference. Here both samples come from distributions \
         whose truth is known, so that errors can be counted. Each run has {DRAWS} draws, with which a test at 5 % is \
         exact; more draws make it a little more powerful. Shares come with their standard errors.",
    ));
    size::section(&mut page, setting)?;
    power::section(&mut page, setting)?;
    people::section(&mut page, setting)?;
    page.begin_with_findings();
    Ok(page)
}

/// What one run shows.
struct Run {
    /// Whether the tests at 5 % find a change: of outcomes at equal predictions, and of the value.
    finds: [bool; 2],
    /// Whether the intervals hold the truth: of the odds ratio, and of the difference.
    covers: [Option<bool>; 2],
}

impl Run {
    fn new(found: &Change, difference: Option<f64>, log_odds: Option<f64>) -> Self {
        let holds = |interval: &Interval, truth: f64| (interval.lower..=interval.upper).contains(&truth);
        Run {
            finds: [found.curve.p_value, found.p_value].map(|p| p <= 0.05 + 1e-12),
            covers: [
                log_odds.map(|truth| holds(&found.curve.interval, truth)),
                difference.map(|truth| holds(&found.interval, truth)),
            ],
        }
    }
}

/// A share of runs.
#[derive(Debug, Clone, Copy)]
struct Share {
    value: f64,
    n: usize,
}

impl Share {
    /// `None` where a run has no answer.
    fn of(runs: &[Run], is: impl Fn(&Run) -> Option<bool>) -> Option<Self> {
        let known: Vec<bool> = runs.iter().map(is).collect::<Option<_>>()?;
        let n_true = known.iter().filter(|is| **is).count();
        Some(Share { value: n_true as f64 / known.len() as f64, n: known.len() })
    }

    /// The share of runs in which a test finds a change.
    fn found(runs: &[Run], test: usize) -> Self {
        let n_found = runs.iter().filter(|run| run.finds[test]).count();
        Share { value: n_found as f64 / runs.len() as f64, n: runs.len() }
    }

    fn standard_error(&self) -> f64 {
        (self.value * (1.0 - self.value) / self.n as f64).sqrt()
    }

    /// Whether it is outside by more than two standard errors of the end that it is beyond.
    fn is_outside(&self, (least, most): (f64, f64)) -> bool {
        let error = |target: f64| 2.0 * (target * (1.0 - target) / self.n as f64).sqrt();
        self.value < least - error(least) || self.value > most + error(most)
    }

    fn in_words(&self) -> String {
        format!("{} ± {}", fixed(self.value, 3), fixed(self.standard_error(), 3))
    }

    /// In bold where it is outside its target.
    fn judged(&self, target: (f64, f64)) -> String {
        if self.is_outside(target) { format!("**{}**", self.in_words()) } else { self.in_words() }
    }
}

/// A number of rows for people, as 2,000.
fn rows_in_words([before, after]: [usize; 2]) -> String {
    let thousands = |n: usize| {
        if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) }
    };
    if before == after { thousands(before) } else { format!("{} and {}", thousands(before), thousands(after)) }
}
