//! Monitors over 500 windows: false alarms, delays and onsets, beside tests that are repeated.
//!
//! ```text
//! false_alarms   calibrated streams: how many have an alarm within 500 looks
//! delays         windows from a change to the alarm, the plausible onsets and the shift since then
//! references     the same for monitors that compare with a reference
//! stream         streams with a known truth, a monitor on them, and tests that are repeated
//! ```

mod delays;
mod false_alarms;
mod references;
mod stream;

use calipers::Error;

use crate::table::fixed;
use crate::{Page, Setting};

/// The stated false-alarm rate.
const ALPHA: f64 = 0.05;

/// The study.
pub fn run(setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new("monitoring", "Looking every hour: false alarms and delays", setting);
    page.text(
        "A monitor looks at a window of predictions every hour and raises an alarm once its e-value reaches 1 / alpha. \
         Three other procedures see the same windows, each at a level of 5 %: a test of each window, the same test with \
         alpha divided by 500, the number of windows (Bonferroni), and a test of all rows so far, repeated every hour. \
         The test is that of the sum of y - p, two-sided. Bonferroni is the test of a fixed window that promises the \
         same as the monitor: at most 5 % of calibrated streams have any alarm within 500 looks. Outcomes are drawn from \
         known probabilities.",
    );
    false_alarms::section(&mut page, setting)?;
    delays::section(&mut page, setting)?;
    references::section(&mut page, setting)?;
    page.begin_with_findings();
    Ok(page)
}

/// A share with its standard error, as 0.050 ± 0.007.
fn share_with_error(count: usize, n: usize) -> String {
    let share = count as f64 / n as f64;
    format!("{} ± {}", fixed(share, 3), fixed(standard_error(share, n), 3))
}

/// Of a share of n independent streams.
fn standard_error(share: f64, n: usize) -> f64 {
    (share * (1.0 - share) / n as f64).sqrt()
}

/// Windows from a change to the alarm, over streams without an alarm before the change.
struct Delays {
    /// Streams with an alarm before the change.
    n_early: usize,
    /// In ascending order; `None`, which is last, where the stream ends first.
    sorted: Vec<Option<u64>>,
}

impl Delays {
    /// `alarms` are the windows of the alarms, from 1, and the change comes after `onset` of them.
    fn of(alarms: &[Option<u64>], onset: u64) -> Self {
        let late = alarms.iter().filter(|alarm| alarm.is_none_or(|at| at > onset));
        let mut sorted: Vec<Option<u64>> = late.map(|alarm| alarm.map(|at| at - onset)).collect();
        sorted.sort_unstable_by_key(|delay| delay.unwrap_or(u64::MAX));
        Delays { n_early: alarms.len() - sorted.len(), sorted }
    }

    /// `None` if half of the streams end first, or none is left.
    fn quantile(&self, level: f64) -> Option<u64> {
        let last = self.sorted.len().checked_sub(1)?;
        self.sorted[(level * last as f64).round() as usize]
    }

    /// The median in words, for streams that end so many windows after the change.
    fn median_in_words(&self, n_after: u64) -> String {
        self.quantile(0.5).map_or_else(|| format!("none in {n_after}"), |median| median.to_string())
    }

    /// The share that has an alarm within so many windows.
    fn share_within(&self, n_windows: u64) -> f64 {
        let n = self.sorted.iter().filter(|delay| delay.is_some_and(|delay| delay <= n_windows)).count();
        n as f64 / self.sorted.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Delays;

    #[test]
    fn early_alarms_do_not_count_as_short_delays() {
        let delays = Delays::of(&[Some(3), Some(12), None, Some(11), Some(10)], 10);
        assert_eq!((delays.n_early, &delays.sorted[..]), (2, &[Some(1), Some(2), None][..]));
        assert_eq!((delays.quantile(0.5), delays.quantile(1.0)), (Some(2), None));
        assert_eq!(delays.share_within(1), 1.0 / 3.0);
        assert_eq!(Delays::of(&[Some(1)], 5).median_in_words(9), "none in 9");
    }
}
