//! How often 95 % intervals hold the truth, and how wide they are.

use calipers::simulate::{CoverageResult, Population, Simulation};
use calipers::{Assess, Error, LsEce, Measure, Sigma};
use calipers_report::{Axis, Chart, Series};

use super::{Known, LISTS, both, named, share};
use crate::replicates::seed_of;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

/// Coverage shall be in here.
const TARGET: (f64, f64) = (0.92, 0.99);

/// The mean width shall be at most so many times that of an oracle.
const WIDTH: f64 = 1.6;

/// What one combination is run for.
#[derive(Clone, Copy)]
struct Plan {
    n: usize,
    sigma: Sigma,
    n_runs: u64,
}

fn plans(setting: &Setting) -> Vec<Plan> {
    let plan = |(n, sigma, n_runs)| Plan { n, sigma, n_runs };
    let given = [0.05, 0.5].map(|sigma| (2_000, Sigma::Value(sigma), 200));
    let auto = [(1_000, 200), (5_000, 200), (50_000, 80)].map(|(n, n_runs)| (n, Sigma::Auto, n_runs));
    let quick = [(1_000, Sigma::Value(0.5), 8), (1_000, Sigma::Auto, 8)];
    setting.pick([&auto[..], &given[..]].concat(), quick.to_vec()).into_iter().map(plan).collect()
}

/// One family, sigma and number of rows.
struct Cell<'a> {
    known: &'a Known<'a>,
    plan: Plan,
    /// Of LS-ECE.
    paper: CoverageResult,
    /// Of the residual form, which verdicts are made by.
    residual: CoverageResult,
}

impl Cell<'_> {
    fn sigma(&self) -> String {
        match self.plan.sigma {
            Sigma::Value(sigma) => sigma.to_string(),
            _ => format!("auto, {}", fixed(self.paper.sigma.unwrap_or_default(), 3)),
        }
    }

    fn truth(&self) -> f64 {
        self.residual.of_ls_ece.map_or(0.0, |accuracy| accuracy.truth)
    }

    fn place(&self) -> String {
        format!("{}, n = {}, sigma {}", self.known.family.name(), self.plan.n, self.sigma())
    }
}

fn covered(result: &CoverageResult) -> f64 {
    result.covers_ls_ece.map_or(0.0, |covered| covered.value)
}

/// Mean width in units of the oracle's.
fn width(result: &CoverageResult) -> f64 {
    result.width.value / result.oracle_width
}

/// Whether a coverage is outside the target by more than two standard errors of so many runs.
fn is_outside(result: &CoverageResult) -> bool {
    let error = 2.0 * result.covers_ls_ece.map_or(0.0, |covered| covered.standard_error);
    covered(result) + error < TARGET.0 || covered(result) - error > TARGET.1
}

/// The section.
pub(super) fn section(page: &mut Page, all: &[Known<'_>], setting: &Setting) -> Result<(), Error> {
    let plans = plans(setting);
    let n_resamples = setting.pick(39, 20);
    let mut cells = Vec::new();
    for known in all {
        for plan in &plans {
            let measure = LsEce::new().sigma(plan.sigma);
            let assess = Assess::new(&measure).n_resamples(n_resamples);
            let simulation = Simulation::new(&known.truth, plan.n).runs(plan.n_runs);
            let mut paper =
                simulation.random_state(seed_of(setting.random_state, 22, plan.n as u64)).coverage(&assess)?;
            if let Some(residual) = paper.residual.take() {
                cells.push(Cell { known, plan: *plan, paper, residual: *residual });
            }
        }
    }
    let runs = || plans.iter().map(|plan| plan.n_runs);
    let (most_runs, fewest_runs) = (runs().max().unwrap_or(0), runs().min().unwrap_or(0));
    let error = |n_runs: u64| share((0.95 * 0.05 / n_runs as f64).sqrt());
    page.heading("Coverage of the 95 % interval");
    page.text(&format!(
        "Share of samples whose interval holds the population's value at the sigma used (with auto: at the sigma of those rows), for LS-ECE and for its residual form, which decides verdicts. If there is no evidence of miscalibration, the interval is an upper limit. {} runs, and {} at 50,000 rows: the standard \
         error of a coverage of .95 is {} and {}. The noise floor, which decides between intervals and upper limits, has {n_resamples} draws. *Width* is \
         the mean width over that of an oracle that knows the bias of the plain value and its standard deviation: 2 · 1.96 standard deviations over the runs. Targets: coverage from {} to {}, width at \
         most {WIDTH}. Bold: outside by more than two standard errors; a width above {WIDTH}.",
        most_runs,
        fewest_runs,
        error(most_runs),
        error(fewest_runs),
        share(TARGET.0),
        share(TARGET.1),
    ));
    table(page, &cells);
    findings(page, &cells);
    if !setting.quick {
        figure(page, &cells);
    }
    page.csv("coverage", &csv(&cells));
    Ok(())
}

fn table(page: &mut Page, cells: &[Cell<'_>]) {
    let mut table = Table::new([
        "family",
        "list",
        "n",
        "sigma",
        "residual LS-ECE",
        "covered",
        "width",
        "LS-ECE covered",
        "LS-ECE width",
        "ECE covered",
        "upper limits",
    ]);
    let bold = |text: String, is_bold: bool| if is_bold { format!("**{text}**") } else { text };
    for cell in cells {
        let [coverage, of_paper] =
            [&cell.residual, &cell.paper].map(|result| bold(share(covered(result)), is_outside(result)));
        let [wide, paper_wide] =
            [&cell.residual, &cell.paper].map(|result| bold(fixed(width(result), 2), width(result) > WIDTH));
        table.row([
            cell.known.family.name().to_owned(),
            LISTS[cell.known.list].to_owned(),
            cell.plan.n.to_string(),
            cell.sigma(),
            fixed(cell.truth(), 4),
            coverage,
            wide,
            of_paper,
            paper_wide,
            share(cell.residual.covers_ece.value),
            share(cell.residual.upper_limits.value),
        ]);
    }
    page.table(&table);
}

fn findings(page: &mut Page, cells: &[Cell<'_>]) {
    for (name, of) in [
        ("the residual form", (|cell: &Cell<'_>| cell.residual.clone()) as fn(&Cell<'_>) -> CoverageResult),
        ("LS-ECE", |cell| cell.paper.clone()),
    ] {
        let results: Vec<(String, CoverageResult)> = cells.iter().map(|cell| (cell.place(), of(cell))).collect();
        let outside: Vec<String> = results
            .iter()
            .filter(|(_, result)| is_outside(result))
            .map(|(place, result)| format!("{place}: {}", share(covered(result))))
            .collect();
        let (least, most) = crate::summary::extent(results.iter().map(|(_, result)| covered(result)));
        let mean = results.iter().map(|(_, result)| covered(result)).sum::<f64>() / results.len() as f64;
        page.finding(
            Agreement::seen_if(outside.is_empty()),
            &format!(
                "Coverage of {name} by 95 % intervals in {} combinations of family, sigma and n: {} to {}, mean {}. Outside {} to {} by more than two standard errors: {}.",
                cells.len(),
                share(least),
                share(most),
                share(mean),
                share(TARGET.0),
                share(TARGET.1),
                named(&outside)
            ),
        );
    }
    // Where there are upper limits as well, one width says little.
    let two_sided: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.residual.upper_limits.value < 0.05).collect();
    let mut widths: Vec<f64> = two_sided.iter().map(|cell| width(&cell.residual)).collect();
    widths.sort_by(f64::total_cmp);
    let wide: Vec<String> = two_sided
        .iter()
        .filter(|cell| width(&cell.residual) > WIDTH)
        .map(|cell| format!("{}: {}", cell.place(), fixed(width(&cell.residual), 2)))
        .collect();
    let median = widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN);
    page.finding(
        Agreement::seen_if(wide.is_empty()),
        &format!(
            "Mean width of two-sided intervals of the residual form over that of the oracle, in {} combinations with fewer than 5 % upper limits: median {}, at most {}. \
             Above {WIDTH}: {}.",
            two_sided.len(),
            fixed(median, 2),
            fixed(widths.last().copied().unwrap_or(f64::NAN), 2),
            named(&wide)
        ),
    );
}

/// Coverage by n of models that are calibrated in part.
fn figure(page: &mut Page, cells: &[Cell<'_>]) {
    let mut chart = Chart::new("Coverage of the residual form, models that are calibrated in part")
        .x(Axis::log("rows"))
        .y(Axis::linear("coverage").range(0.8, 1.0))
        .size(640.0, 480.0)
        .horizontal_rule(0.95, "0.95");
    for name in ["one-sure-answer", "top-two-percent", "wrong-below", "piecewise", "breaks-when-sure"] {
        let own = cells.iter().filter(|cell| cell.known.family.name() == name && cell.plan.sigma == Sigma::Auto);
        let points: Vec<(f64, f64)> = own.map(|cell| (cell.plan.n as f64, covered(&cell.residual))).collect();
        chart = chart.add(Series::line(name, points).markers());
    }
    let caption =
        "How often 95 % intervals hold the residual form of models that are calibrated in part, by rows, sigma auto.";
    page.figure("coverage", &chart, caption);
}

fn csv(cells: &[Cell<'_>]) -> Table {
    let mut table = Table::new([
        "family",
        "list",
        "n",
        "sigma_rule",
        "sigma",
        "runs",
        "measure",
        "ece",
        "truth",
        "floor",
        "covers",
        "covers_standard_error",
        "covers_ece",
        "covers_ece_standard_error",
        "width",
        "width_standard_error",
        "oracle_width",
        "upper_limits",
    ]);
    let residual = LsEce::new().residual().spec().name;
    for cell in cells {
        for (measure, result) in [(residual, &cell.residual), (LsEce::NAME, &cell.paper)] {
            let rule = if matches!(cell.plan.sigma, Sigma::Value(_)) { "given" } else { "auto" };
            let first = [
                cell.known.family.name().to_owned(),
                LISTS[cell.known.list].to_owned(),
                cell.plan.n.to_string(),
                rule.to_owned(),
                result.sigma.map_or_else(String::new, full),
                result.n_runs.to_string(),
                measure.to_owned(),
                full(cell.known.truth.ece()),
                result.of_ls_ece.map_or_else(String::new, |accuracy| full(accuracy.truth)),
                result.floor.map_or_else(String::new, |floor| full(floor.value)),
            ];
            let covers = result.covers_ls_ece.map(both).unwrap_or_default();
            let rest = covers.into_iter().chain(both(result.covers_ece)).chain(both(result.width));
            let last = [full(result.oracle_width), full(result.upper_limits.value)];
            table.row(first.into_iter().chain(rest).chain(last));
        }
    }
    table
}
