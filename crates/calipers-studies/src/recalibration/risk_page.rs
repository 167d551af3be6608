//! The page on the risk of every method and of the choice between them.

use calipers::Error;
use calipers::recalibrate::{Choose, Method};

use super::risk::{self, Trial};
use crate::summary::Mean;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

/// The excess risk of the choice shall be at most so many times that of the best single method.
const RATIO: f64 = 1.1;

/// The lists of populations, in the words of the page.
const LISTS: [&str; 3] = [
    "families on which the rule of the choice was chosen",
    "families on which nothing was chosen",
    "populations of the section on coverage (ties, rare events, very sure predictions, clusters), on which nothing was chosen",
];

/// Trials of one population.
struct OfFamily {
    name: &'static str,
    /// Place in [`LISTS`].
    list: usize,
    n: usize,
    trials: Vec<Trial>,
}

impl OfFamily {
    fn mean(&self, of: impl Fn(&Trial) -> f64) -> f64 {
        self.trials.iter().map(of).sum::<f64>() / self.trials.len().max(1) as f64
    }

    /// The square of the standard error of that mean.
    fn variance(&self, of: impl Fn(&Trial) -> f64) -> f64 {
        let values: Vec<f64> = self.trials.iter().map(of).collect();
        Mean::of(&values).standard_error.powi(2)
    }

    fn is_calibrated(&self) -> bool {
        self.name.contains("calibrated") || self.name == "sure-and-right" || self.name == "clustered-scores"
    }
}

/// The section on the risk of methods, and on what is chosen.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let runs: &[(usize, u64)] = setting.pick(&[(200, 24), (600, 24), (2_000, 14), (5_000, 8)], &[(200, 2)]);
    let rows: Vec<usize> = runs.iter().map(|(n, _)| *n).collect();
    let rows = rows.as_slice();
    let mut all: Vec<OfFamily> = Vec::new();
    let choose = Choose::new().n_resamples(0);
    for &(n, n_runs) in runs {
        risk::all_trials(&choose, &[n], n_runs, setting.random_state, |name, list, n, trials| {
            if !trials.is_empty() {
                all.push(OfFamily { name, list: list / 2, n, trials: trials.to_vec() });
            }
        })?;
    }
    let counts: Vec<String> = runs.iter().map(|(n, n_runs)| format!("{n_runs} at n = {n}")).collect();
    let counts = counts.join(", ");
    let methods: Vec<Method> = risk::methods().collect();
    page.heading("Excess risk of each method");
    page.text(&format!(
        "Mean excess log-loss over populations, in 1/1000 nats; samples of each population: {counts}. *auto* is the choice that `Choose` makes. \
         The question is whether the choice costs more than it is worth; the answer is no if its mean excess risk is at most {RATIO} times that of the single method that turns out best for that number of rows, \
         on families that its rule was not chosen on."
    ));
    for (list, words) in LISTS.iter().enumerate() {
        let of = |n: usize| all.iter().filter(move |family| family.list == list && family.n == n);
        let n_families = of(rows[0]).count();
        page.text(&format!("{n_families} {words}:"));
        let columns = rows.iter().map(|n| format!("n = {n}"));
        let mut table = Table::new(["method".to_owned()].into_iter().chain(columns));
        let mean = |n: usize, excess: &dyn Fn(&Trial) -> f64| {
            1000.0 * of(n).map(|family| family.mean(excess)).sum::<f64>() / of(n).count().max(1) as f64
        };
        let single = |n: usize, method: Method| mean(n, &|trial: &Trial| trial.excess(method));
        for &method in &methods {
            let cells = rows.iter().map(|n| fixed(single(*n, method), 2));
            table.row([method.name().to_owned()].into_iter().chain(cells));
        }
        let auto: Vec<f64> = rows.iter().map(|n| mean(*n, &|trial: &Trial| trial.excess(trial.chosen))).collect();
        let best: Vec<f64> =
            rows.iter().map(|n| methods.iter().map(|m| single(*n, *m)).fold(f64::INFINITY, f64::min)).collect();
        table.row(
            ["**auto**".to_owned()].into_iter().chain(auto.iter().map(|excess| format!("**{}**", fixed(*excess, 2)))),
        );
        let ratios: Vec<f64> = auto.iter().zip(&best).map(|(auto, best)| auto / best).collect();
        let error = |(&n, ratio): (&usize, &f64)| {
            let single = |m: &&Method| single(n, **m);
            let best = methods.iter().min_by(|a, b| single(a).total_cmp(&single(b))).copied().unwrap_or_default();
            let away = |trial: &Trial| trial.excess(trial.chosen) - ratio * trial.excess(best);
            let variance: f64 = of(n).map(|family| family.variance(away)).sum();
            1000.0 * variance.sqrt() / of(n).count().max(1) as f64 / mean(n, &|trial: &Trial| trial.excess(best))
        };
        let errors: Vec<f64> = rows.iter().zip(&ratios).map(error).collect();
        let shown: Vec<String> = ratios
            .iter()
            .zip(&errors)
            .map(|(ratio, error)| format!("{} ± {}", fixed(*ratio, 2), fixed(*error, 2)))
            .collect();
        table.row(["auto / best".to_owned()].into_iter().chain(shown.clone()));
        page.table(&table);
        let named: Vec<String> = rows.iter().zip(&shown).map(|(n, shown)| format!("{shown} at n = {n}")).collect();
        page.finding(
            Agreement::seen_if(ratios.iter().all(|ratio| *ratio <= RATIO)),
            &format!("On {n_families} {words}, the mean excess risk of auto is this many times that of the single method that is best for that n: {} (target: at most {RATIO}).", named.join(", ")),
        );
    }
    harm(page, &all, rows);
    choices(page, &all, rows, &methods);
    page.csv("risk", &risk_csv(&all, &methods));
    Ok(())
}

/// Whether the choice is worse than the identity anywhere.
fn harm(page: &mut Page, all: &[OfFamily], rows: &[usize]) {
    let mut worst: Vec<String> = Vec::new();
    for &n in rows {
        let gains: Vec<f64> = all
            .iter()
            .filter(|family| family.n == n)
            .map(|family| family.mean(|trial| trial.excess(Method::Identity) - trial.excess(trial.chosen)))
            .collect();
        let mean = Mean::of(&gains);
        if mean.value < -mean.standard_error {
            worst.push(format!("n = {n}: {} ± {}", full(mean.value), full(mean.standard_error)));
        }
    }
    let least = all
        .iter()
        .map(|family| (family.mean(|trial| trial.excess(Method::Identity) - trial.excess(trial.chosen)), family))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let named = least.map_or(String::new(), |(gain, family)| {
        format!(
            " The family on which it does worst is {} at n = {}: {} of 1/1000 nats.",
            family.name,
            family.n,
            fixed(1000.0 * gain, 2)
        )
    });
    page.finding(
        Agreement::seen_if(worst.is_empty()),
        &format!("{}{named}", match worst.is_empty() {
            true => "For no n is the choice worse than the identity by more than the standard error of the mean over populations.".to_owned(),
            false => format!("The choice is worse than the identity: {}.", worst.join(", ")),
        }),
    );
}

/// What is chosen how often.
fn choices(page: &mut Page, all: &[OfFamily], rows: &[usize], methods: &[Method]) {
    page.heading("What auto chooses");
    page.text("Share of samples by method. On calibrated families the identity is right. Then the share of its 95 % intervals that hold the gain of the chosen map: of all samples, and of those whose choice is not the identity, whose gain is 0 for certain. Last, the mean gain out of fold less the true gain, which nesting should keep near 0.");
    let names = methods.iter().map(|method| method.name().to_owned());
    let last = ["covered", "covered where changed", "nested gain less gain, 1/1000"].map(str::to_owned);
    let mut table = Table::new(["families", "n"].map(str::to_owned).into_iter().chain(names).chain(last));
    for (words, is_calibrated) in [("calibrated", true), ("others", false)] {
        for &n in rows {
            let of = |family: &&OfFamily| family.n == n && family.is_calibrated() == is_calibrated;
            let trials: Vec<&Trial> = all.iter().filter(of).flat_map(|family| &family.trials).collect();
            let total = trials.len().max(1) as f64;
            let share = |method: Method| trials.iter().filter(|trial| trial.chosen == method).count() as f64 / total;
            let changed: Vec<&&Trial> = trials.iter().filter(|trial| trial.chosen != Method::Identity).collect();
            let holds = |trial: &&&&Trial| trial.interval.0 <= trial.gain && trial.gain <= trial.interval.1;
            let n_holds = changed.iter().filter(holds).count();
            let of_all = fixed((n_holds + trials.len() - changed.len()) as f64 / total, 3);
            let covered = match changed.len() {
                0 => String::new(),
                n_changed => fixed(n_holds as f64 / n_changed as f64, 3),
            };
            let optimism = trials.iter().map(|trial| trial.nested_gain - trial.gain).sum::<f64>() / total;
            let first = [words.to_owned(), n.to_string()];
            let shares = methods.iter().map(|method| fixed(share(*method), 3));
            table.row(first.into_iter().chain(shares).chain([of_all, covered, fixed(1000.0 * optimism, 2)]));
        }
    }
    page.table(&table);
}

fn risk_csv(all: &[OfFamily], methods: &[Method]) -> Table {
    let names = methods.iter().map(|method| format!("excess_{}", method.name()));
    let first = ["family", "list", "n", "runs"].map(str::to_owned);
    let mut table = Table::new(first.into_iter().chain(names).chain(["excess_auto".to_owned()]));
    for family in all {
        let list = ["chosen_on", "not_chosen_on", "of_coverage"][family.list];
        let first = [family.name.to_owned(), list.to_owned(), family.n.to_string(), family.trials.len().to_string()];
        let excess = methods.iter().map(|method| full(family.mean(|trial| trial.excess(*method))));
        let auto = full(family.mean(|trial| trial.excess(trial.chosen)));
        table.row(first.into_iter().chain(excess).chain([auto]));
    }
    table
}
