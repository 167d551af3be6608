//! Monitors that compare with a reference, of models that were never calibrated.

use calipers::{Error, Monitor, Sketch};

use super::stream::{self, Change, Rows, Stream, Watched, seed};
use super::{ALPHA, Delays, share_with_error, standard_error};
use crate::replicates::replicates;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let (n_streams, n_windows) = (setting.pick(1000, 10), setting.pick(500, 40));
    let (n_changed, n_before) = (setting.pick(200, 10), setting.pick(250, 20));
    page.heading("Monitors with a reference");
    page.text(&format!(
        "The model is miscalibrated all the time: log-odds of outcomes are 0.4 + 0.7 h, or h - 0.5 sin(2 h). The monitor \
         compares with a reference of so many rows from before the stream. False alarms are counted over {n_streams} \
         streams of {n_windows} windows of 100 rows in which nothing changes, each with a reference of its own. The delay \
         is the median over {n_changed} streams in which 0.5 is added to the log-odds after {n_before} windows. \
         \"Uncertainty\" is the mean half-width of the reference's band in log-odds.",
    ));
    let mut table = Table::new(["truth", "rows of the reference", "uncertainty", "false alarms", "delay after 0.5"]);
    let mut csv = Table::new([
        "truth",
        "reference_rows",
        "uncertainty",
        "streams",
        "looks",
        "alarms",
        "share",
        "standard_error",
        "changed_streams",
        "early_alarms",
        "median_delay",
    ]);
    let mut largest = 0;
    let truths = [("0.4 + 0.7 h", stream::LINE), ("h - 0.5 sin(2 h)", stream::WAVE)];
    for (number, (name, truth)) in truths.into_iter().enumerate() {
        for n_reference in [2_000, 20_000, 200_000] {
            let stream = Stream::HUNDRED.with_truth(truth);
            let run = |n_streams: u64, change: Option<Change>, kind: u64| {
                replicates(n_streams, |index| {
                    let rows = Rows::draw(&stream, n_reference, (0.0, 1.0), seed(setting, kind + 50, index));
                    let mut sketch = Sketch::new();
                    sketch.update(&rows.check()?.binary()?)?;
                    let monitor = Monitor::new().alpha(ALPHA).reference(&sketch)?;
                    let watched = Watched::run(&stream, &monitor, n_windows, change, seed(setting, kind, index))?;
                    Ok((watched.alarms[0], monitor.reference_uncertainty().unwrap_or(f64::NAN)))
                })
            };
            let kind = 200 + 10 * number as u64 + n_reference as u64;
            let same = run(n_streams, None, kind)?;
            let change = Change { n_before, shift: 0.5, slope: 1.0 };
            let changed: Vec<Option<u64>> =
                run(n_changed, Some(change), kind + 1)?.into_iter().map(|(alarm, _)| alarm).collect();
            let delays = Delays::of(&changed, n_before);
            let n_alarms = same.iter().filter(|(alarm, _)| alarm.is_some()).count();
            largest = largest.max(n_alarms);
            let uncertainty = same.iter().map(|(_, uncertainty)| uncertainty).sum::<f64>() / n_streams as f64;
            table.row([
                name.to_owned(),
                n_reference.to_string(),
                fixed(uncertainty, 3),
                share_with_error(n_alarms, n_streams as usize),
                delays.median_in_words(n_windows - n_before),
            ]);
            let share = n_alarms as f64 / n_streams as f64;
            csv.row([
                name.to_owned(),
                n_reference.to_string(),
                full(uncertainty),
                n_streams.to_string(),
                n_windows.to_string(),
                n_alarms.to_string(),
                full(share),
                full(standard_error(share, n_streams as usize)),
                n_changed.to_string(),
                delays.n_early.to_string(),
                delays.quantile(0.5).map_or(String::new(), |delay| delay.to_string()),
            ]);
        }
    }
    page.table(&table);
    page.csv("references", &csv);
    page.finding(
        Agreement::Noted,
        &format!(
            "A model that stays as in the reference raises an alarm in at most {} of {n_streams} streams of {n_windows} \
             looks, with every reference that was tried; stated is at most 0.05.",
            fixed(largest as f64 / n_streams as f64, 3)
        ),
    );
    page.text(
        "The uncertainty of the reference counts as expected, so that a small reference costs time until the alarm, and \
         no false alarms. A larger one makes the monitor nearly as fast as one that knows the truth.",
    );
    Ok(())
}
