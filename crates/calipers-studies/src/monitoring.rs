//! Monitors over 500 windows: false alarms, delays and onsets, beside tests that are repeated.

mod stream;

use calipers::{Error, Monitor, Sketch};

use crate::replicates::replicates;
use crate::table::fixed;
use crate::{Agreement, Page, Setting, Table};
use stream::{Rows, Stream, Watched};

/// The stated false-alarm rate.
const ALPHA: f64 = 0.05;

/// The study.
pub fn run(setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new("monitoring", "Looking every hour: false alarms and delays", setting);
    page.text(
        "A monitor looks at a window of predictions every hour and raises an alarm once its e-value reaches 1 / alpha. \
         Beside it stand three habits with the same level of 5 %: a test of each window, the same with alpha divided by \
         the number of windows (Bonferroni), and a test of all rows so far, repeated every hour. The test is that of the \
         sum of y - p, two-sided. Outcomes are drawn from known probabilities.",
    );
    false_alarms(&mut page, setting)?;
    delays(&mut page, setting)?;
    references(&mut page, setting)?;
    Ok(page)
}

/// The share of streams in which each raises an alarm.
fn false_alarms(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let (n_streams, n_windows) = (setting.pick(1000, 20), setting.pick(500, 40));
    page.heading("False alarms of calibrated streams");
    page.text(&format!(
        "{n_streams} streams of {n_windows} looks for each kind of stream. Shares above 0.05 are more false alarms than \
         stated; with {n_streams} streams the standard error of 0.05 is {}.",
        fixed((0.05 * 0.95 / n_streams as f64).sqrt(), 3)
    ));
    let mut table = Table::new(["stream", "rows a window", "monitor", "each window", "Bonferroni", "all rows so far"]);
    let mut largest: f64 = 0.0;
    for (number, stream) in Stream::ALL.iter().enumerate() {
        let found = replicates(n_streams, |index| {
            Watched::run(stream, &Monitor::new().alpha(ALPHA), n_windows, None, setting, number as u64, index)
        })?;
        let share = |of: fn(&Watched) -> Option<u64>| {
            found.iter().filter(|watched| of(watched).is_some()).count() as f64 / n_streams as f64
        };
        let monitor = share(|watched| watched.monitor);
        largest = largest.max(monitor);
        let others =
            [share(|watched| watched.each), share(|watched| watched.bonferroni), share(|watched| watched.total)];
        let cells = [stream.name.to_owned(), stream.sizes_in_words(), fixed(monitor, 3)];
        table.row(cells.into_iter().chain(others.map(|share| fixed(share, 3))));
    }
    page.table(&table);
    page.finding(
        Agreement::Noted,
        &format!(
            "The monitor raises a false alarm in at most {} of the streams of any kind; stated are 0.05.",
            fixed(largest, 3)
        ),
    );
    Ok(())
}

/// Windows from a change to the alarm.
fn delays(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_streams = setting.pick(200, 10);
    let (n_windows, onset) = setting.pick((500, 250), (40, 20));
    page.heading("Delay after a change");
    page.text(&format!(
        "{n_streams} streams of {n_windows} windows of 100 rows. The change comes with window {onset}: the log-odds of \
         outcomes become a + b h, with h those of the predictions. The delay is the number of windows until the alarm, \
         with those in which it comes, in the median over streams without an earlier alarm; in brackets is the share of \
         all streams with a false alarm before the change. A test of each window has no delay to speak of, since it had \
         raised its false alarm long before. \"Onset\" is the share of alarms whose plausible set has the true window.",
    ));
    let mut table =
        Table::new(["a", "b", "monitor", "Bonferroni", "all rows so far", "onset in the set", "shift found"]);
    let mut covered = (0, 0);
    for (number, (shift, slope)) in
        [(0.2, 1.0), (0.5, 1.0), (1.0, 1.0), (-0.5, 1.0), (0.0, 0.6)].into_iter().enumerate()
    {
        let change = Some((onset, shift, slope));
        let found = replicates(n_streams, |index| {
            let monitor = Monitor::new().alpha(ALPHA);
            Watched::run(&Stream::HUNDRED, &monitor, n_windows, change, setting, 100 + number as u64, index)
        })?;
        let delay = |of: fn(&Watched) -> Option<u64>| {
            let early = found.iter().filter(|watched| of(watched).is_some_and(|at| at <= onset)).count();
            let mut late: Vec<u64> = found
                .iter()
                .filter(|watched| of(watched).is_none_or(|at| at > onset))
                .map(|watched| of(watched).map_or(u64::MAX, |at| at - onset))
                .collect();
            late.sort_unstable();
            let early = fixed(early as f64 / n_streams as f64, 2);
            match late.get(late.len() / 2) {
                Some(&u64::MAX) => format!("none in {} ({early})", n_windows - onset),
                Some(median) => format!("{median} ({early})"),
                None => format!("- ({early})"),
            }
        };
        let late: Vec<&Watched> = found.iter().filter(|watched| watched.monitor.is_some_and(|at| at > onset)).collect();
        let held =
            late.iter().filter(|watched| watched.onset_set.is_some_and(|(a, b)| a <= onset + 1 && onset < b)).count();
        covered = (covered.0 + held, covered.1 + late.len());
        let shifts = late.iter().filter_map(|watched| watched.shift).sum::<f64>() / late.len() as f64;
        table.row([
            shift.to_string(),
            slope.to_string(),
            delay(|watched| watched.monitor),
            delay(|watched| watched.bonferroni),
            delay(|watched| watched.total),
            fixed(held as f64 / late.len() as f64, 2),
            fixed(shifts, 2),
        ]);
    }
    page.table(&table);
    page.finding(
        Agreement::Noted,
        &format!(
            "Of {} alarms after a change, the plausible set of onsets has the true window in a share of {}; stated are \
             0.95.",
            covered.1,
            fixed(covered.0 as f64 / covered.1 as f64, 3)
        ),
    );
    Ok(())
}

/// Monitors that compare with a reference, of models that were never calibrated.
fn references(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_streams = setting.pick(200, 10);
    let (n_windows, onset) = setting.pick((200, 100), (40, 20));
    page.heading("As in the reference");
    page.text(&format!(
        "The model is miscalibrated all the time: log-odds of outcomes are 0.4 + 0.7 h, or h - 0.5 sin(2 h). {n_streams} \
         streams of {n_windows} windows of 100 rows, after a reference. From window {onset} on 0 or 0.5 is added to the \
         log-odds. \"Uncertainty\" is the mean half-width of the reference's band in log-odds.",
    ));
    let mut table = Table::new(["truth", "reference", "uncertainty", "false alarms", "median delay after 0.5"]);
    let mut largest: f64 = 0.0;
    for (number, truth) in [stream::LINE, stream::WAVE].into_iter().enumerate() {
        for n_reference in [2_000, 20_000, 200_000] {
            let stream = Stream::HUNDRED.with_truth(truth);
            let run = |change: f64, seed: u64| {
                replicates(n_streams, |index| {
                    let rows = Rows::draw(&stream, n_reference, (0.0, 1.0), stream::seed(setting, seed + 50, index));
                    let mut sketch = Sketch::new();
                    sketch.update(&rows.check()?.binary()?)?;
                    let monitor = Monitor::new().alpha(ALPHA).reference(&sketch)?;
                    let change = Some((onset, change, 1.0));
                    let watched = Watched::run(&stream, &monitor, n_windows, change, setting, seed, index)?;
                    Ok((watched, monitor.reference_uncertainty().unwrap_or(f64::NAN)))
                })
            };
            let seed = 200 + 10 * number as u64 + n_reference as u64;
            let (same, other) = (run(0.0, seed)?, run(0.5, seed + 1)?);
            let alarms = same.iter().filter(|(watched, _)| watched.monitor.is_some()).count() as f64 / n_streams as f64;
            largest = largest.max(alarms);
            let mut delays: Vec<u64> = other
                .iter()
                .map(|(watched, _)| watched.monitor.map_or(u64::MAX, |at| at.saturating_sub(onset)))
                .collect();
            delays.sort_unstable();
            let median = delays[delays.len() / 2];
            let median = if median == u64::MAX { format!("none in {}", n_windows - onset) } else { median.to_string() };
            let uncertainty = same.iter().map(|(_, uncertainty)| uncertainty).sum::<f64>() / n_streams as f64;
            let name = if number == 0 { "0.4 + 0.7 h" } else { "h - 0.5 sin(2 h)" };
            table.row([name.to_owned(), n_reference.to_string(), fixed(uncertainty, 3), fixed(alarms, 3), median]);
        }
    }
    page.table(&table);
    page.finding(
        Agreement::Noted,
        &format!(
            "A model that stays as in the reference raises an alarm in at most {} of the streams.",
            fixed(largest, 3)
        ),
    );
    Ok(())
}
