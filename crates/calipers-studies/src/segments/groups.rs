//! 300 groups, three of them off: what is found after adjusting for their number.

use calipers::Error;
use calipers::inference::Adjust;

use super::{ALPHA, DRAWS, Group, N_GROUPS, response, seed};
use crate::replicates::{replicates, seed_of};
use crate::summary::Mean;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

/// By so much outcomes of the three groups are more frequent than predicted, in log-odds, and their
/// rows.
const SHIFT: f64 = 1.0;
const ROWS_OFF: usize = 500;

/// Levels at which the p-values of calibrated groups are counted.
const LEVELS: [f64; 5] = [0.05, 0.01, 1e-3, 0.05 / N_GROUPS as f64, 1e-4];

/// What one simulation shows.
struct Found {
    /// P-values of the calibrated groups.
    calibrated: Vec<f64>,
    /// Of the three groups that are off, and of three calibrated ones in their place.
    off: [f64; 3],
    in_their_place: [f64; 3],
    /// All draws over those that were requested.
    draws: f64,
}

impl Found {
    /// By a method: how many of the groups that are off are found, and how many others.
    fn by(&self, adjust: Adjust, n_off: usize) -> (usize, usize) {
        let three = if n_off == 0 { &self.in_their_place } else { &self.off };
        let p_values: Vec<f64> = three.iter().chain(&self.calibrated).copied().collect();
        let adjusted = adjust.adjusted(&p_values);
        let is_found = |place: &usize| adjusted[*place] <= ALPHA + 1e-12;
        let n_right = (0..n_off).filter(is_found).count();
        (n_right, (n_off..adjusted.len()).filter(is_found).count())
    }
}

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_runs = setting.pick(200, 1);
    page.heading("300 groups, three of them off");
    page.text(&format!(
        "Each of {n_runs} simulations has {N_GROUPS} groups of 100 to 900 rows. Log-odds of predictions are uniform in an \
         interval of length 3, whose centre differs from group to group and is between -2 and 1. In three groups of \
         {ROWS_OFF} rows the log-odds of outcomes are higher by {SHIFT} than predicted. This effect was chosen before the \
         simulation: on average, the sum of y - p of such a group is {} or more of its standard deviations above 0, \
         wherever its centre is, and a test of that sum needs 3.8 for an adjusted p-value of 0.05. For \
         comparison, three calibrated groups take the place of the three. Each group is assessed by residual LS-ECE with \
         sigma 0.4 and {DRAWS} draws, as one of {N_GROUPS}.",
        fixed(least_evidence(), 1)
    ));
    let mut table = Table::new([
        "groups off",
        "method",
        "runs with any false finding",
        "false discovery rate",
        "found of those off",
        "runs in which all three are found",
    ]);
    let mut csv = Table::new([
        "groups_off",
        "method",
        "runs",
        "runs_with_false",
        "false_discovery_rate",
        "standard_error",
        "found",
        "off",
        "all_found",
    ]);
    let mut words = Vec::new();
    let found = replicates(n_runs, |run| one(seed(setting, 0, run)))?;
    for n_off in [0, 3] {
        for adjust in Adjust::ALL {
            let of = || found.iter().map(|found| found.by(adjust, n_off));
            let n_false = of().filter(|(_, others)| *others > 0).count();
            let rates: Vec<f64> =
                of().map(|(right, others)| others as f64 / ((right + others).max(1)) as f64).collect();
            let rate = Mean::of(&rates);
            let n_found: usize = of().map(|(right, _)| right).sum();
            let n_all = of().filter(|(right, _)| n_off > 0 && *right == n_off).count();
            let share = n_false as f64 / n_runs as f64;
            let error = (share * (1.0 - share) / n_runs as f64).sqrt();
            let of_off = |text: String| if n_off == 0 { "-".to_owned() } else { text };
            table.row([
                n_off.to_string(),
                adjust.title().to_owned(),
                format!("{} ± {}", fixed(share, 3), fixed(error, 3)),
                format!("{} ± {}", fixed(rate.value, 3), fixed(rate.standard_error, 3)),
                of_off(format!("{n_found} of {}", n_off as u64 * n_runs)),
                of_off(format!("{n_all} of {n_runs}")),
            ]);
            csv.row([
                n_off.to_string(),
                adjust.title().to_owned(),
                n_runs.to_string(),
                n_false.to_string(),
                full(rate.value),
                full(rate.standard_error),
                n_found.to_string(),
                (n_off as u64 * n_runs).to_string(),
                n_all.to_string(),
            ]);
            if n_off > 0 && adjust == Adjust::Holm {
                words.push(format!(
                    "Of {N_GROUPS} groups with three off, all three are found in {n_all} of {n_runs} simulations by \
                     Holm's method, which has a false finding in {} ± {} of them (stated is at most 0.05).",
                    fixed(share, 3),
                    fixed(error, 3)
                ));
            }
            if n_off > 0 && adjust == Adjust::Bh {
                words.push(format!(
                    "The false discovery rate of BH with three groups off is {} ± {} (stated is at most 0.05).",
                    fixed(rate.value, 3),
                    fixed(rate.standard_error, 3)
                ));
            }
        }
    }
    let draws: Vec<f64> = found.iter().map(|found| found.draws).collect();
    words.push(format!(
        "To resolve p-values of 0.05 / {N_GROUPS}, {} times as many draws are made as were requested, over all groups of \
         a simulation.",
        fixed(Mean::of(&draws).value, 2)
    ));
    let p_values: Vec<f64> =
        found.iter().flat_map(|found| found.calibrated.iter().chain(&found.in_their_place).copied()).collect();
    page.table(&table);
    page.csv("groups", &csv);
    words.iter().for_each(|words| page.finding(Agreement::Noted, words));
    levels(page, &p_values);
    Ok(())
}

/// The mean of Σ(y - p) in its standard deviations under calibration, in a group that is off: the
/// least over all centres.
fn least_evidence() -> f64 {
    let at = |centre: f64| {
        let logits = (0..300).map(|k| centre - 1.5 + 0.01 * (f64::from(k) + 0.5));
        let (gap, variance) = logits.fold((0.0, 0.0), |(gap, variance), h| {
            let p = response(h);
            (gap + response(h + SHIFT) - p, variance + p * (1.0 - p))
        });
        gap / 300.0 * ROWS_OFF as f64 / (variance / 300.0 * ROWS_OFF as f64).sqrt()
    };
    (0..=30).map(|k| at(-2.0 + 0.1 * f64::from(k))).fold(f64::INFINITY, f64::min)
}

/// Whether small p-values of calibrated groups are as rare as they should be.
fn levels(page: &mut Page, p_values: &[f64]) {
    page.text(&format!(
        "The adjustments hold if the p-values of calibrated groups are at most a level in at most that share of groups. \
         Of {} calibrated groups in all simulations above:",
        p_values.len()
    ));
    let mut table = Table::new(["level", "share of p-values", "standard error of the level"]);
    let mut csv = Table::new(["level", "groups", "below"]);
    let mut above = Vec::new();
    for level in LEVELS {
        let n_below = p_values.iter().filter(|p| **p <= level).count();
        let share = n_below as f64 / p_values.len() as f64;
        let error = (level * (1.0 - level) / p_values.len() as f64).sqrt();
        let digits = |value: f64| if level < 0.01 { format!("{value:.2e}") } else { fixed(value, 4) };
        table.row([digits(level), digits(share), digits(error)]);
        csv.row([full(level), p_values.len().to_string(), n_below.to_string()]);
        if share > level + 2.0 * error {
            above.push(digits(level));
        }
    }
    page.table(&table);
    page.csv("levels", &csv);
    let words = match above.is_empty() {
        true => {
            "At no level are there more small p-values of calibrated groups than there should be, by more than two \
                 standard errors."
                .to_owned()
        }
        false => format!(
            "There are more small p-values of calibrated groups than there should be, by more than two standard errors, \
             at {}.",
            above.join(", ")
        ),
    };
    page.finding(Agreement::Noted, &words);
}

fn one(seed: u64) -> Result<Found, Error> {
    let floor = |place: u64, n: Option<usize>, shift: f64| Group::draw(n, shift, seed_of(seed, 1, place)).floor(seed);
    let (mut calibrated, mut n_draws) = (Vec::new(), 0);
    for place in 0..N_GROUPS as u64 - 3 {
        let floor = floor(place, None, 0.0)?;
        calibrated.push(floor.p_value);
        n_draws += floor.n_draws;
    }
    let (mut off, mut in_their_place) = ([1.0; 3], [1.0; 3]);
    for place in 0..3 {
        let found = floor(1000 + place as u64, Some(ROWS_OFF), SHIFT)?;
        (off[place], n_draws) = (found.p_value, n_draws + found.n_draws);
        in_their_place[place] = floor(2000 + place as u64, None, 0.0)?.p_value;
    }
    Ok(Found { calibrated, off, in_their_place, draws: n_draws as f64 / (N_GROUPS as u64 * DRAWS) as f64 })
}
