//! Whether recalibration helps, and whether the verdict on it can be trusted.
//!
//! ```text
//! known families     risk       excess risk of every method and of the choice "auto", by n
//!                    coverage   how often intervals of the gain hold it, and the size of the test
//!                    classes    how often intervals hold it for maps of classes
//! files in two parts files      what maps of the validation part do to the test part
//! ```

pub mod classes;
pub mod coverage;
mod files;
mod population;
pub mod risk;

use calipers::recalibrate::{Choose, Method};
use calipers::{Error, Predictions};

use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};
use coverage::{Cell, Plan, SizeCell};
use risk::Trial;

/// The name of the study.
pub const NAME: &str = "recalibration";

/// What the study shows, in one line.
pub const ABOUT: &str = "how much each recalibration method gains, and how far the automatic choice and the verdict can be trusted; also on your own files";

/// A model with predictions for a validation and for a test part.
#[derive(Debug)]
pub struct Pair<'a> {
    /// Its name.
    pub name: String,
    /// Maps are fitted to these rows.
    pub validation: Predictions<'a>,
    /// And tried on these.
    pub test: Predictions<'a>,
}

/// The methods for a binary outcome that the simulations are about.
const METHODS: [Method; 9] = [
    Method::Shift,
    Method::Temperature,
    Method::Platt,
    Method::Beta,
    Method::Spline,
    Method::CentredIsotonic,
    Method::Isotonic,
    Method::VennAbers,
    Method::Bins,
];

/// Coverage of 95 % intervals shall be in here.
const COVERED: (f64, f64) = (0.92, 0.98);

/// The size of the test at 5 % shall be in here.
const SIZE: (f64, f64) = (0.03, 0.07);

/// The excess risk of the choice shall be at most so many times that of the best single method.
const RATIO: f64 = 1.1;

/// The lists of families, in the words of the page.
const LISTS: [&str; 2] = ["on which the rule of the choice was chosen", "on which nothing was chosen"];

/// A part of the study, which does not depend on the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The excess risk of every method, and what is chosen.
    Risk,
    /// Coverage of intervals for a binary outcome.
    Coverage,
    /// Coverage of intervals for classes.
    Classes,
    /// The size of the test.
    Size,
}

impl Section {
    /// All of them, in the order of the page.
    pub const ALL: [Section; 4] = [Section::Risk, Section::Coverage, Section::Classes, Section::Size];
}

/// The study, with the section on files where there are any.
pub fn run(pairs: &[Pair<'_>], setting: &Setting) -> Result<Page, Error> {
    let mut page = some_sections(&Section::ALL, setting)?;
    if !pairs.is_empty() {
        files::section(&mut page, pairs)?;
    }
    Ok(page)
}

/// The page with some sections: each is what the whole page has, so that they can be computed at
/// the same time.
pub fn some_sections(sections: &[Section], setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new(NAME, "Whether recalibration helps, and whether the verdict can be trusted", setting);
    page.text(
        "What counts as a success is stated with each question. \
         Excess risk is the expected log-loss of a fitted map less that of the truth, by integration over a population that is known; so it has no test noise. \
         Populations are those of `calipers::population::Family`.",
    );
    for section in sections {
        match section {
            Section::Risk => risk_section(&mut page, setting)?,
            Section::Coverage => coverage_section(&mut page, setting)?,
            Section::Classes => class_section(&mut page, setting)?,
            Section::Size => size_section(&mut page, setting)?,
        }
    }
    Ok(page)
}

/// Trials of one family.
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
}

fn risk_section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let runs: &[(usize, u64)] = setting.pick(&[(200, 20), (1_000, 10), (5_000, 4)], &[(200, 2)]);
    let rows: Vec<usize> = runs.iter().map(|(n, _)| *n).collect();
    let rows = rows.as_slice();
    let mut all: Vec<OfFamily> = Vec::new();
    let choose = Choose::new().n_resamples(0);
    for &(n, n_runs) in runs {
        risk::all_trials(&choose, &[n], n_runs, setting.random_state, |name, list, n, trials| {
            // Quick: a few families of each list.
            if !trials.is_empty() {
                all.push(OfFamily { name, list: list / 2, n, trials: trials.to_vec() });
            }
        })?;
    }
    let counts: Vec<String> = runs.iter().map(|(n, n_runs)| format!("{n_runs} at n = {n}")).collect();
    let counts = counts.join(", ");
    let methods: Vec<Method> = [Method::Identity].into_iter().chain(METHODS.into_iter().take(6)).collect();
    page.heading("Excess risk of each method");
    page.text(&format!(
        "Mean excess log-loss over families, in 1/1000 nats; samples of each family: {counts}. *auto* is the choice that `Choose` makes among these methods. \
         The question is whether the choice costs more than it is worth; the answer is no if its mean excess risk is at most {RATIO} times that of the single method that turns out best for that number of rows, \
         on families that its rule was not chosen on."
    ));
    for (list, words) in LISTS.iter().enumerate() {
        let of = |n: usize| all.iter().filter(move |family| family.list == list && family.n == n);
        let n_families = of(rows[0]).count();
        page.text(&format!("{n_families} families {words}:"));
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
        table.row(["auto / best".to_owned()].into_iter().chain(ratios.iter().map(|ratio| fixed(*ratio, 2))));
        page.table(&table);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        page.finding(
            Agreement::seen_if(most <= RATIO),
            &format!("On {n_families} families {words}, the excess risk of the choice is at most {} times that of the best single method (target: {RATIO}).", fixed(most, 2)),
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
        let mean = crate::summary::Mean::of(&gains);
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
        &format!("The choice is nowhere worse than the identity by more than the standard error of the mean over families.{named}"),
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
            let of = |family: &&OfFamily| family.n == n && family.name.contains("calibrated") == is_calibrated;
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
        let list = ["chosen_on", "not_chosen_on"][family.list];
        let first = [family.name.to_owned(), list.to_owned(), family.n.to_string(), family.trials.len().to_string()];
        let excess = methods.iter().map(|method| full(family.mean(|trial| trial.excess(*method))));
        let auto = full(family.mean(|trial| trial.excess(trial.chosen)));
        table.row(first.into_iter().chain(excess).chain([auto]));
    }
    table
}

/// The parametric families and isotonic regression, which the target of coverage is for.
const PROMISED: [Method; 5] = [Method::Shift, Method::Temperature, Method::Platt, Method::Beta, Method::Isotonic];

/// The methods for classes.
const OF_CLASSES: [Method; 3] = [Method::Temperature, Method::BiasCorrectedTemperature, Method::Vector];

fn plan(setting: &Setting, n: usize, methods: &[Method], n_runs: u64) -> Plan {
    let (laws, truths, random_state) = (Vec::new(), Vec::new(), setting.random_state);
    Plan { methods: methods.to_vec(), rows: vec![n], n_runs, laws, truths, random_state }
}

/// What the target is for on all populations with 200 rows, and on some with more, which take
/// longer; then the other methods.
fn plans(setting: &Setting) -> Vec<Plan> {
    if setting.quick {
        return vec![plan(setting, 200, &METHODS[..3], 4)];
    }
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let truths = names(&["calibrated", "slope 0.6"]);
    let others: Vec<Method> = METHODS.into_iter().filter(|method| !PROMISED.contains(method)).collect();
    vec![
        plan(setting, 200, &PROMISED, 1_000),
        Plan { truths: truths.clone(), ..plan(setting, 1_000, &PROMISED, 1_000) },
        Plan {
            laws: names(&["skewed", "ties"]),
            truths: names(&["calibrated"]),
            ..plan(setting, 5_000, &PROMISED, 1_000)
        },
        Plan { truths, ..plan(setting, 200, &others, 200) },
    ]
}

/// Whether a share is outside a target by more than two standard errors of its runs.
fn is_outside(share: f64, n_runs: u64, target: (f64, f64)) -> bool {
    let error = 2.0 * (share * (1.0 - share) / n_runs.max(1) as f64).sqrt();
    share + error < target.0 || share - error > target.1
}

fn coverage_section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let mut cells: Vec<Cell> = Vec::new();
    page.heading("Coverage of the interval of the gain");
    page.text(&format!(
        "Share of samples whose 95 % interval holds the gain of the fitted map on new rows, on six laws of logits: normal; skewed; eight levels that most rows share; \
         rare events (2 %); very sure predictions; clusters of five rows. The one constant of the rule for tables was chosen on normal logits; the rule for formulas has none. \
         The truths go from calibrated to a slope of 0.6, and a sine that no formula contains. The target is {} to {} for {}; the others are shown beside them. \
         Bold: outside by more than two standard errors. Runs without a fit are left out.",
        COVERED.0, COVERED.1, PROMISED.map(Method::name).join(", ")
    ));
    for plan in plans(setting) {
        let from = cells.len();
        coverage::coverage(&plan, |cell| cells.push(cell))?;
        page.text(&format!("n = {}, {} runs each:", plan.rows[0], plan.n_runs));
        page.table(&coverage_table(&plan.methods, &cells[from..]));
    }
    let (promised, others): (Vec<&Cell>, Vec<&Cell>) = cells.iter().partition(|cell| PROMISED.contains(&cell.method));
    page.finding(
        Agreement::seen_if(n_outside(&promised) == 0),
        &format!("Of {}: {}.", PROMISED.map(Method::name).join(", "), outcome(&promised)),
    );
    if !others.is_empty() {
        page.finding(Agreement::Noted, &format!("Of other methods: {}.", outcome(&others)));
    }
    let wrong = cells.iter().map(|cell| cell.wrongly_helps.max(cell.wrongly_hurts)).fold(0.0, f64::max);
    page.finding(
        Agreement::Noted,
        &format!("Verdicts \"helps\" on maps that do not, and \"hurts\" on maps that do not, are at most {} of all verdicts in every combination.", fixed(wrong, 3)),
    );
    page.csv("coverage", &coverage_csv(&cells));
    Ok(())
}

/// The same for maps of classes.
fn class_section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let mut cells: Vec<Cell> = Vec::new();
    page.heading("Coverage for classes");
    page.text(
        "The same for 3, 6 and 10 classes: logits that are independent and normal, and those of a model that is sure of one class. \
         Labels have the softmax of the logits (calibrated), of 0.85 and of 0.6 times the logits, or of the logits plus biases of 0.4 that alternate.",
    );
    let numbers = setting.pick(vec![3, 6, 10], vec![3]);
    for (n, n_runs) in setting.pick(vec![(200, 100), (1_000, 20)], vec![(100, 2)]) {
        let plan = plan(setting, n, &OF_CLASSES, n_runs);
        let from = cells.len();
        classes::coverage(&plan, &numbers, |cell| cells.push(cell))?;
        page.text(&format!("n = {n}, {n_runs} runs each:"));
        page.table(&coverage_table(&plan.methods, &cells[from..]));
    }
    page.finding(Agreement::Noted, &format!("Of classes: {}.", outcome(&cells.iter().collect::<Vec<_>>())));
    page.csv("classes", &coverage_csv(&cells));
    Ok(())
}

fn coverage_table(methods: &[Method], cells: &[Cell]) -> Table {
    let names = methods.iter().map(|method| method.name().to_owned());
    let mut table = Table::new(["logits", "truth"].map(str::to_owned).into_iter().chain(names));
    for same in cells.chunk_by(|a, b| (a.law, a.truth, a.n) == (b.law, b.truth, b.n)) {
        let first = [same[0].law.to_owned(), same[0].truth.to_owned()];
        let shown = same.iter().map(|cell| match is_outside(cell.covered, cell.n_runs, COVERED) {
            true => format!("**{}**", fixed(cell.covered, 3)),
            false => fixed(cell.covered, 3),
        });
        table.row(first.into_iter().chain(shown));
    }
    table
}

fn n_outside(cells: &[&Cell]) -> usize {
    cells.iter().filter(|cell| is_outside(cell.covered, cell.n_runs, COVERED)).count()
}

/// The coverage of some cells in words.
fn outcome(cells: &[&Cell]) -> String {
    let (least, most) = crate::summary::extent(cells.iter().map(|cell| cell.covered));
    let outside = cells.iter().filter(|cell| is_outside(cell.covered, cell.n_runs, COVERED));
    let below = outside.filter(|cell| cell.covered < COVERED.0).count();
    let above = n_outside(cells) - below;
    format!(
        "coverage of 95 % intervals of the gain is {} to {} in {} combinations; {below} are below {} and {above} above {} by more than two standard errors",
        fixed(least, 3),
        fixed(most, 3),
        cells.len(),
        COVERED.0,
        COVERED.1
    )
}

fn coverage_csv(cells: &[Cell]) -> Table {
    let mut csv = Table::new([
        "method",
        "logits",
        "truth",
        "n",
        "runs",
        "covered",
        "interval_below",
        "interval_above",
        "helps",
        "wrongly_helps",
        "hurts",
        "wrongly_hurts",
        "n_times_width",
        "n_times_gain",
    ]);
    for c in cells {
        let first =
            [c.method.name().to_owned(), c.law.to_owned(), c.truth.to_owned(), c.n.to_string(), c.n_runs.to_string()];
        let shares = [c.covered, c.below, c.above, c.helps, c.wrongly_helps, c.hurts, c.wrongly_hurts, c.width, c.gain];
        csv.row(first.into_iter().chain(shares.map(full)));
    }
    csv
}

fn size_section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_resamples = setting.pick(59, 19);
    let mut cells: Vec<SizeCell> = Vec::new();
    let methods: &[Method] = setting.pick(&PROMISED, &METHODS[..3]);
    let plan = plan(setting, 200, methods, setting.pick(1_000, 4));
    coverage::sizes(&plan, n_resamples, |cell| cells.push(cell))?;
    page.heading("Size of the test of whether there is anything to fix");
    page.text(&format!(
        "Share of calibrated samples whose p-value is at most 5 %, {} runs with {n_resamples} draws each. The target is {} to {}. A sample without a fit, such as one of a single outcome, is left out. Bold: outside by more than two standard errors.",
        plan.n_runs, SIZE.0, SIZE.1
    ));
    let names = plan.methods.iter().map(|method| method.name().to_owned());
    let mut table = Table::new(["logits", "n"].map(str::to_owned).into_iter().chain(names));
    for same in cells.chunk_by(|a, b| (a.law, a.n) == (b.law, b.n)) {
        let shown = same.iter().map(|cell| match is_outside(cell.rejected, cell.n_runs, SIZE) {
            true => format!("**{}**", fixed(cell.rejected, 3)),
            false => fixed(cell.rejected, 3),
        });
        table.row([same[0].law.to_owned(), same[0].n.to_string()].into_iter().chain(shown));
    }
    page.table(&table);
    let n_outside = cells.iter().filter(|cell| is_outside(cell.rejected, cell.n_runs, SIZE)).count();
    let (least, most) = crate::summary::extent(cells.iter().map(|cell| cell.rejected));
    page.finding(
        Agreement::seen_if(n_outside == 0),
        &format!(
            "Size of the test at 5 % in {} combinations: {} to {}. Outside {} to {} by more than two standard errors: {n_outside}.",
            cells.len(), fixed(least, 3), fixed(most, 3), SIZE.0, SIZE.1
        ),
    );
    Ok(())
}
