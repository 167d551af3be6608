//! Windows from a change to the alarm, the plausible onsets, and the shift since the onset.

use calipers::{Error, Monitor};
use calipers_report::{Axis, Chart, Series};

use super::stream::{Change, PROCEDURES, Stream, Watched, seed};
use super::{ALPHA, Delays};
use crate::replicates::replicates;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

/// Shifts and slopes of the log-odds after the change.
const CHANGES: [(f64, f64); 7] = [(0.2, 1.0), (-0.2, 1.0), (0.5, 1.0), (-0.5, 1.0), (1.0, 1.0), (0.0, 0.6), (0.0, 1.5)];

/// The procedures that have a delay; a test of each window has raised its false alarm before.
const COMPARED: [usize; 3] = [0, 2, 3];

/// How often estimates hold the truth.
#[derive(Default)]
struct Held {
    n: usize,
    n_held: usize,
}

impl Held {
    fn count(of: impl Iterator<Item = bool>) -> Self {
        of.fold(Held::default(), |held, is_held| Held { n: held.n + 1, n_held: held.n_held + usize::from(is_held) })
    }

    fn add(&mut self, other: &Held) {
        (self.n, self.n_held) = (self.n + other.n, self.n_held + other.n_held);
    }

    fn share(&self) -> f64 {
        self.n_held as f64 / self.n as f64
    }

    fn in_words(&self) -> String {
        if self.n == 0 { "-".to_owned() } else { fixed(self.share(), 3) }
    }
}

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_streams = setting.pick(500, 10);
    let (n_windows, n_before) = setting.pick((500, 250), (40, 20));
    let n_after = n_windows - n_before;
    page.heading("Delay after a change");
    page.text(&format!(
        "Each line has {n_streams} streams of {n_windows} windows of 100 rows. After {n_before} windows the log-odds of \
         outcomes become a + b h, with h those of the predictions. The delay is the number of windows from the change to \
         the alarm, with the one that raises it. The table has its median over streams without an alarm before the \
         change. A test of each window at 5 % has no delay, since it has raised its false alarm long before.",
    ));
    let mut table = Table::new(["a", "b"].into_iter().chain(COMPARED.map(|which| PROCEDURES[which])));
    let mut held = Table::new([
        "a",
        "b",
        "onset in the set, at the alarm",
        "onset in the set, at the end",
        "mean shift found",
        "shift in its interval, at the alarm",
        "shift in its interval, at the end",
    ]);
    let mut csv = Table::new([
        "a",
        "b",
        "procedure",
        "streams",
        "early_alarms",
        "median_delay",
        "lower_quartile",
        "upper_quartile",
        "found",
    ]);
    let (mut early, mut onsets, mut shifts) =
        ([0; 3], [Held::default(), Held::default()], [Held::default(), Held::default()]);
    for (number, (shift, slope)) in CHANGES.into_iter().enumerate() {
        let change = Change { n_before, shift, slope };
        let found = replicates(n_streams, |index| {
            let monitor = Monitor::new().alpha(ALPHA);
            Watched::run(&Stream::HUNDRED, &monitor, n_windows, Some(change), seed(setting, 100 + number as u64, index))
        })?;
        let delays = COMPARED.map(|which| {
            let alarms: Vec<Option<u64>> = found.iter().map(|watched| watched.alarms[which]).collect();
            Delays::of(&alarms, n_before)
        });
        early.iter_mut().zip(&delays).for_each(|(early, delays)| *early += delays.n_early);
        let names = [shift.to_string(), slope.to_string()];
        table.row(names.iter().cloned().chain(delays.each_ref().map(|delays| delays.median_in_words(n_after))));
        if shift == 0.5 {
            figure(page, &delays, n_after);
        }
        for (which, delays) in COMPARED.into_iter().zip(&delays) {
            let of_delay = |level: f64| delays.quantile(level).map_or(String::new(), |delay| delay.to_string());
            let counts = [n_streams.to_string(), delays.n_early.to_string()];
            let quantiles = [0.5, 0.25, 0.75].map(of_delay);
            let cells = names.iter().cloned().chain([PROCEDURES[which].to_owned()]).chain(counts).chain(quantiles);
            csv.row(cells.chain([full(delays.share_within(n_after))]));
        }
        // At the alarm, and at the end of the stream.
        let late = || found.iter().filter(|watched| watched.alarms[0].is_some_and(|at| at > n_before));
        let first = n_before + 1;
        let of_onset = [
            Held::count(late().filter_map(|watched| watched.at_alarm.as_ref().map(|onset| onset.holds(first)))),
            Held::count(late().filter_map(|watched| watched.at_end.as_ref().map(|onset| onset.holds(first)))),
        ];
        let of_shift = match slope == 1.0 {
            false => [Held::default(), Held::default()],
            true => [
                Held::count(
                    late().filter_map(|watched| watched.at_alarm.as_ref().map(|onset| onset.holds_shift(shift))),
                ),
                Held::count(late().filter_map(|watched| watched.at_end.as_ref().map(|onset| onset.holds_shift(shift)))),
            ],
        };
        let found_shifts: Vec<f64> = late().filter_map(|watched| Some(watched.at_alarm.as_ref()?.shift)).collect();
        let mean = found_shifts.iter().sum::<f64>() / found_shifts.len().max(1) as f64;
        let mean = if found_shifts.is_empty() { "-".to_owned() } else { fixed(mean, 2) };
        held.row(names.into_iter().chain([
            of_onset[0].in_words(),
            of_onset[1].in_words(),
            mean,
            of_shift[0].in_words(),
            of_shift[1].in_words(),
        ]));
        onsets.iter_mut().zip(&of_onset).for_each(|(all, more)| all.add(more));
        shifts.iter_mut().zip(&of_shift).for_each(|(all, more)| all.add(more));
    }
    page.table(&table);
    page.csv("delays", &csv);
    let n_all = (n_streams as usize * CHANGES.len()) as f64;
    let [monitor, bonferroni, total] = early.map(|count| fixed(count as f64 / n_all, 3));
    page.finding(
        Agreement::Noted,
        &format!(
            "Before the change, the monitor has raised a false alarm in {monitor} of the streams, Bonferroni in \
             {bonferroni}, and the test of all rows so far in {total}. After it, the monitor finds shifts that no single \
             window shows, and changes of the slope, which the sum of y - p hardly shows; a shift that is so large that \
             one window shows it is found by Bonferroni at about the same time.",
        ),
    );
    page.heading("Onset and shift");
    page.text(
        "Once there is an alarm, the monitor reports since when outcomes are not as expected, which onsets are plausible \
         at 95 %, and the mean shift of the log-odds since the onset with a 95 % interval. The table has how often each \
         holds the truth, for alarms after the change: as reported at the alarm, and as reported after the last window.",
    );
    page.table(&held);
    page.finding(
        Agreement::Noted,
        &format!(
            "The plausible onsets hold the true window in {} of {} alarms when the alarm is raised, and in {} after the \
             last window; stated is 0.95.",
            onsets[0].in_words(),
            onsets[0].n,
            onsets[1].in_words()
        ),
    );
    page.finding(
        Agreement::Noted,
        &format!(
            "The interval of the shift since the onset holds the true shift in {} of {} alarms when the alarm is raised, \
             and in {} after the last window. It is computed as if the onset had been known, at 95 %: an alarm is raised \
             when the shift looks large, and the onset is where it looks largest, so that the shift is overstated at \
             first.",
            shifts[0].in_words(),
            shifts[0].n,
            shifts[1].in_words()
        ),
    );
    Ok(())
}

/// The share of streams with an alarm by windows after the change.
fn figure(page: &mut Page, delays: &[Delays; 3], n_after: u64) {
    let most = n_after.min(100);
    let mut chart = Chart::new("Alarms after a shift of 0.5 in log-odds")
        .x(Axis::linear("windows after the change"))
        .y(Axis::linear("share of streams").range(0.0, 1.0))
        .size(640.0, 420.0);
    for (which, delays) in COMPARED.into_iter().zip(delays) {
        let line = (0..=most).map(|windows| (windows as f64, delays.share_within(windows))).collect();
        chart = chart.add(Series::line(PROCEDURES[which], line).colour(which));
    }
    let caption = "Share of streams with an alarm, among those without one before the change. Windows have 100 rows.";
    page.figure("delays", &chart, caption);
}
