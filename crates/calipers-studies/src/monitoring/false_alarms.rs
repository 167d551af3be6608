//! How many calibrated streams have an alarm within all looks.

use calipers::{Error, Monitor};
use calipers_report::{Axis, Chart, Series};

use super::stream::{PROCEDURES, Stream, Watched};
use super::{ALPHA, share_with_error, standard_error};
use crate::replicates::replicates;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let (n_streams, n_windows) = (setting.pick(1000, 20), setting.pick(500, 40));
    page.heading("False alarms of calibrated streams");
    page.text(&format!(
        "Each kind of stream has {n_streams} streams of {n_windows} looks. The table has the share of streams with an \
         alarm at any of the looks. A share above 0.05 is more false alarms than stated; the standard error of a share of \
         0.05 is {}.",
        fixed(standard_error(ALPHA, n_streams as usize), 3)
    ));
    let mut table = Table::new(["stream", "rows a window"].into_iter().chain(PROCEDURES));
    let mut csv = Table::new(["stream", "rows", "procedure", "streams", "looks", "alarms", "share", "standard_error"]);
    let (mut largest, mut least_each, mut most_others) = (("", 0), n_streams as usize, [0; 4]);
    for (number, stream) in Stream::ALL.iter().enumerate() {
        let found = replicates(n_streams, |index| {
            let monitor = Monitor::new().alpha(ALPHA);
            Watched::run(stream, &monitor, n_windows, None, super::stream::seed(setting, number as u64, index))
        })?;
        let counts = [0, 1, 2, 3].map(|which| found.iter().filter(|watched| watched.alarms[which].is_some()).count());
        if number == 0 {
            figure(page, &found, n_windows);
        }
        if counts[0] >= largest.1 {
            largest = (stream.name, counts[0]);
        }
        least_each = least_each.min(counts[1]);
        most_others.iter_mut().zip(counts).for_each(|(most, count)| *most = count.max(*most));
        let cells = [stream.name.to_owned(), stream.sizes_in_words()];
        table.row(cells.iter().cloned().chain(counts.map(|count| share_with_error(count, n_streams as usize))));
        for (procedure, count) in PROCEDURES.into_iter().zip(counts) {
            let share = count as f64 / n_streams as f64;
            let sizes = [n_streams, n_windows, count as u64].map(|number| number.to_string());
            let shares = [full(share), full(standard_error(share, n_streams as usize))];
            let cells = cells.iter().cloned().chain([procedure.to_owned()]).chain(sizes).chain(shares);
            csv.row(cells);
        }
    }
    page.table(&table);
    page.csv("false-alarms", &csv);
    let share = |count: usize| fixed(count as f64 / n_streams as f64, 3);
    page.finding(
        Agreement::Noted,
        &format!(
            "Over {n_windows} looks, the monitor raises a false alarm in at most {} of {n_streams} calibrated streams of \
             any kind ({}); stated is at most 0.05. A test of each window raises one in at least {}, Bonferroni in up to \
             {}, and a test of all rows so far in up to {}.",
            share(largest.1),
            largest.0,
            share(least_each),
            share(most_others[2]),
            share(most_others[3])
        ),
    );
    page.text(
        "The monitor is on the safe side of its rate, since Ville's inequality holds for streams without an end. \
         Bonferroni exceeds 0.05 where windows have few events: a sum of rare outcomes is not normal, and its far tail \
         is heavier than that of the normal distribution.",
    );
    Ok(())
}

/// The share of streams with an alarm so far.
fn figure(page: &mut Page, found: &[Watched], n_windows: u64) {
    let mut chart = Chart::new("Calibrated streams with an alarm so far")
        .x(Axis::linear("looks"))
        .y(Axis::linear("share of streams").range(0.0, 1.0))
        .size(640.0, 420.0)
        .horizontal_rule(ALPHA, "0.05");
    for (which, name) in PROCEDURES.into_iter().enumerate() {
        let share = |looks: u64| {
            let n = found.iter().filter(|watched| watched.alarms[which].is_some_and(|at| at <= looks)).count();
            (looks as f64, n as f64 / found.len() as f64)
        };
        let line = (0..=100).map(|part| share(part * n_windows / 100)).collect();
        chart = chart.add(Series::line(name, line).colour(which));
    }
    let caption = "Share of calibrated streams of 20 to 2,000 rows a window that have had a false alarm.";
    page.figure("false-alarms", &chart, caption);
}
