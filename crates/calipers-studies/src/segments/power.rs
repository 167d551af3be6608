//! One group of 300: how often it is found, by its rows and how far it is off.

use calipers::Error;

use super::{ALPHA, Group, N_GROUPS, seed};
use crate::replicates::replicates;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

const SHIFTS: [f64; 6] = [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0];

const ROWS: [usize; 3] = [100, 500, 2_000];

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_runs = setting.pick(200, 2);
    page.heading("Power for one group of 300");
    page.text(&format!(
        "How often a group is found whose log-odds of outcomes differ from those predicted by a shift: the share of \
         {n_runs} groups, of predictions as above, whose p-value is at most 0.05 / {N_GROUPS}. That is enough for Holm's \
         method, whatever the other groups are. A negative shift means that outcomes are rarer than predicted, which is \
         harder to see where few are predicted: a rate cannot fall far below a small one.",
    ));
    let mut table =
        Table::new(["shift of the log-odds".to_owned()].into_iter().chain(ROWS.map(|n| format!("{n} rows"))));
    let mut csv = Table::new(["shift", "rows", "runs", "found", "standard_error"]);
    let mut at_claim = f64::NAN;
    for (row, shift) in SHIFTS.into_iter().enumerate() {
        let mut cells = vec![shift.to_string()];
        for (column, n) in ROWS.into_iter().enumerate() {
            let kind = 10 + (10 * row + column) as u64;
            let found = replicates(n_runs, |run| {
                let seed = seed(setting, kind, run);
                let group = Group::draw(Some(n), shift, seed);
                Ok(group.floor(seed)?.p_value <= ALPHA / N_GROUPS as f64)
            })?;
            let share = found.iter().filter(|found| **found).count() as f64 / n_runs as f64;
            let error = (share * (1.0 - share) / n_runs as f64).sqrt();
            if (shift, n) == (1.0, 500) {
                at_claim = share;
            }
            cells.push(format!("{} ± {}", fixed(share, 3), fixed(error, 3)));
            csv.row([full(shift), n.to_string(), n_runs.to_string(), full(share), full(error)]);
        }
        table.row(cells);
    }
    page.table(&table);
    page.csv("power", &csv);
    page.finding(
        Agreement::Noted,
        &format!(
            "A group of 500 rows whose outcomes are more frequent than predicted by 1 in log-odds is found among \
             {N_GROUPS} in {} of cases.",
            fixed(at_claim, 3)
        ),
    );
    Ok(())
}
