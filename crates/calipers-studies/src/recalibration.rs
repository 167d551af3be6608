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
mod risk_page;

use calipers::recalibrate::Method;
use calipers::{Error, Predictions};

use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};
use coverage::{Cell, Plan, SizeCell};

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

/// The study, with the section on files where there are any; `left_out` names those that could not
/// be used, each with the reason.
pub fn run(pairs: &[Pair<'_>], left_out: &[String], setting: &Setting) -> Result<Page, Error> {
    let mut page = some_sections(&Section::ALL, setting)?;
    if !pairs.is_empty() {
        files::section(&mut page, pairs, left_out)?;
    }
    page.begin_with_findings();
    Ok(page)
}

/// The page with some sections: each is what the whole page has, so that they can be computed at
/// the same time.
pub fn some_sections(sections: &[Section], setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new(NAME, "Whether recalibration helps, and whether the verdict can be trusted", setting);
    page.heading("How to read it");
    page.text(
        "What counts as a success is stated with each question. \
         Excess risk is the expected log-loss of a fitted map less that of the truth, by integration over a population that is known; so it has no test noise. \
         Populations are those of `calipers::population::Family`.",
    );
    for section in sections {
        match section {
            Section::Risk => risk_page::section(&mut page, setting)?,
            Section::Coverage => coverage_section(&mut page, setting)?,
            Section::Classes => class_section(&mut page, setting)?,
            Section::Size => size_section(&mut page, setting)?,
        }
    }
    Ok(page)
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
