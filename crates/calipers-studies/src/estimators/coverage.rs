//! How often intervals hold what they are said to.

use calipers::simulate::{CoverageResult, Population, Simulation};
use calipers::{Assess, Error, LsEce, Sigma};
use calipers_report::{Axis, Chart, Series};

use super::methods::SIGMAS;
use super::{Known, LISTS, both, named, share};
use crate::replicates::seed;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

/// Coverage of the population's LS-ECE shall be in here.
const TARGET: (f64, f64) = (0.92, 0.98);

/// The truth is above so many floors where coverage has a target.
const FLOORS: f64 = 2.0;

/// One family, sigma and number of rows.
struct Cell<'a> {
    known: &'a Known<'a>,
    n: usize,
    sigma: Sigma,
    result: CoverageResult,
}

impl Cell<'_> {
    fn sigma(&self) -> String {
        match self.sigma {
            Sigma::Value(sigma) => sigma.to_string(),
            _ => format!("auto, {}", fixed(self.result.sigma.unwrap_or_default(), 3)),
        }
    }

    fn truth(&self) -> f64 {
        self.result.of_ls_ece.map_or(0.0, |accuracy| accuracy.truth)
    }

    /// The truth over the mean floor.
    fn floors(&self) -> f64 {
        self.truth() / self.result.floor.map_or(f64::INFINITY, |floor| floor.value)
    }

    fn covered(&self) -> f64 {
        self.result.covers_ls_ece.map_or(0.0, |covered| covered.value)
    }

    /// (LS-ECE - ECE) over half of an interval.
    fn offset(&self) -> f64 {
        (self.truth() - self.known.truth.ece()) / (0.5 * self.result.width.value)
    }

    fn place(&self) -> String {
        format!("{}, n = {}, sigma {}: {}", self.known.family.name(), self.n, self.sigma(), share(self.covered()))
    }
}

/// The section.
pub(super) fn section(page: &mut Page, all: &[Known<'_>], setting: &Setting) -> Result<(), Error> {
    let rows: &[usize] = setting.pick(&[1_000, 5_000], &[1_000]);
    let (n_runs, n_resamples) = setting.pick((2000, 40), (8, 20));
    let pilot = setting.pick(20, 4);
    let sigmas: Vec<Sigma> = match setting.quick {
        true => vec![Sigma::Value(0.5), Sigma::Auto],
        false => SIGMAS.into_iter().map(Sigma::Value).chain([Sigma::Auto]).collect(),
    };
    let (mut cells, mut n_left_out) = (Vec::new(), 0);
    for known in all {
        for (&n, &sigma) in rows.iter().flat_map(|n| sigmas.iter().map(move |sigma| (n, sigma))) {
            let own_seed = seed(setting.seed, 22, n as u64);
            let assessed = |n_runs: u64, n_resamples: u64| {
                let measure = LsEce::new().sigma(sigma);
                let assess = Assess::new(&measure).n_resamples(n_resamples);
                let result = Simulation::new(&known.truth, n).runs(n_runs).seed(own_seed).coverage(&assess)?;
                Ok::<_, Error>(Cell { known, n, sigma, result })
            };
            // A few runs say whether the truth is above twice the floor; all others would be of no use.
            if assessed(pilot, 40)?.floors() > FLOORS {
                cells.push(assessed(n_runs, n_resamples)?);
            } else {
                n_left_out += 1;
            }
        }
    }
    page.heading("Coverage of the 95 % interval");
    page.text(&format!(
        "Share of samples whose interval holds the population's LS-ECE at the sigma used (with auto: at the sigma of those rows), {n_runs} runs each, for all families, \
         sigmas and n where the true LS-ECE is above twice the mean noise floor; {n_left_out} others are left out, where there are mostly upper limits. \
         Intervals are the default of `calipers assess`, by {n_resamples} draws of each kind in place of 1000: that adds 1/{n_resamples} to the variance of an \
         interval's centre, which costs some thousandths of coverage (three with 40 draws). The standard error of a coverage of .95 is {}. Target: {} to {}.",
        fixed((0.95 * 0.05 / n_runs as f64).sqrt(), 3),
        share(TARGET.0),
        share(TARGET.1),
    ));
    page.text(
        "Beside it, without a target, how often the same interval holds the true ECE. It is not made for that: LS-ECE at a given sigma is another number, and where \
         the difference is as large as half of an interval (column *offset*: LS-ECE - ECE in halves of the mean width), ECE is outside. Above: the interval is \
         wholly above ECE, as with a large sigma, whose noise miscalibrates by itself; below: gaps of both signs cancel within sigma.",
    );
    table(page, &cells);
    findings(page, &cells);
    figure(page, &cells, rows[rows.len() - 1]);
    page.csv("coverage", &csv(&cells));
    Ok(())
}

fn table(page: &mut Page, cells: &[Cell<'_>]) {
    let mut table = Table::new([
        "family",
        "list",
        "n",
        "sigma",
        "LS-ECE",
        "in floors",
        "covers LS-ECE",
        "covers ECE",
        "above",
        "below",
        "offset",
        "mean width",
        "upper limits",
    ]);
    for cell in cells {
        let result = &cell.result;
        let inside = (TARGET.0..=TARGET.1).contains(&cell.covered());
        table.row([
            cell.known.family.name().to_owned(),
            LISTS[cell.known.list].to_owned(),
            cell.n.to_string(),
            cell.sigma(),
            fixed(cell.truth(), 4),
            fixed(cell.floors(), 1),
            if inside { share(cell.covered()) } else { format!("**{}**", share(cell.covered())) },
            share(result.covers_ece.value),
            share(result.above_ece.value),
            share(result.below_ece.value),
            fixed(cell.offset(), 2),
            fixed(result.width.value, 4),
            share(result.upper_limits.value),
        ]);
    }
    page.table(&table);
}

fn findings(page: &mut Page, cells: &[Cell<'_>]) {
    let outside: Vec<String> =
        cells.iter().filter(|cell| !(TARGET.0..=TARGET.1).contains(&cell.covered())).map(Cell::place).collect();
    let (least, most) = crate::summary::extent(cells.iter().map(Cell::covered));
    page.finding(
        Agreement::seen_if(outside.is_empty()),
        &format!(
            "Coverage of the population's LS-ECE by the 95 % interval in {} combinations of family, sigma and n with the truth above twice the floor: {} to {}. Outside \
             {} to {}: {}.",
            cells.len(),
            share(least),
            share(most),
            share(TARGET.0),
            share(TARGET.1),
            named(&outside)
        ),
    );
    let (near, far): (Vec<&Cell<'_>>, Vec<&Cell<'_>>) = cells.iter().partition(|cell| cell.offset().abs() < 0.25);
    let words = |cells: &[&Cell<'_>]| match crate::summary::extent(cells.iter().map(|c| c.result.covers_ece.value)) {
        (least, most) if least <= most => format!("{} to {}", share(least), share(most)),
        _ => "none".to_owned(),
    };
    page.finding(
        Agreement::Noted,
        &format!(
            "Coverage of the true ECE by the same intervals: {} where LS-ECE is within a quarter of half an interval of ECE ({} combinations), {} elsewhere \
             ({}): an interval is for LS-ECE at its sigma, and holds ECE only where the two are alike.",
            words(&near),
            near.len(),
            words(&far),
            far.len()
        ),
    );
}

/// Coverage of ECE by sigma.
fn figure(page: &mut Page, cells: &[Cell<'_>], n: usize) {
    let mut chart = Chart::new(format!("Share of intervals that hold the true ECE, n = {n}"))
        .x(Axis::log("sigma"))
        .y(Axis::linear("coverage of ECE").range(0.0, 1.0))
        .size(640.0, 480.0)
        .horizontal_rule(0.95, "0.95");
    let mut names: Vec<&str> = cells.iter().map(|cell| cell.known.family.name()).collect();
    names.dedup();
    let line = |name: &str| {
        let own = cells.iter().filter(|cell| cell.known.family.name() == name && cell.n == n);
        let mut points: Vec<(f64, f64)> = own
            .filter_map(|cell| match cell.sigma {
                Sigma::Value(sigma) => Some((sigma, cell.result.covers_ece.value)),
                _ => None,
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    // Lines, not single points; and no more of them than colours tell apart.
    let least = if cells.iter().all(|cell| line(cell.known.family.name()).len() < 3) { 1 } else { 3 };
    for name in names.into_iter().filter(|name| line(name).len() >= least).take(8) {
        chart = chart.add(Series::line(name, line(name)).markers());
    }
    let caption = format!(
        "How often 95 % intervals of LS-ECE hold the true ECE, by sigma, n = {n}, where LS-ECE is above twice the floor."
    );
    page.figure("coverage", &chart, &caption);
}

fn csv(cells: &[Cell<'_>]) -> Table {
    let mut table = Table::new([
        "family",
        "list",
        "n",
        "sigma_rule",
        "sigma",
        "runs",
        "failed",
        "ece",
        "ls_ece",
        "floor",
        "covers_ls_ece",
        "covers_ls_ece_standard_error",
        "covers_ece",
        "covers_ece_standard_error",
        "above_ece",
        "below_ece",
        "width",
        "width_standard_error",
        "upper_limits",
    ]);
    for cell in cells {
        let result = &cell.result;
        let rule = if matches!(cell.sigma, Sigma::Value(_)) { "given" } else { "auto" };
        let first = [
            cell.known.family.name().to_owned(),
            LISTS[cell.known.list].to_owned(),
            cell.n.to_string(),
            rule.to_owned(),
            result.sigma.map_or_else(String::new, full),
            result.n_runs.to_string(),
            result.n_failed.to_string(),
            full(cell.known.truth.ece()),
            full(cell.truth()),
            result.floor.map_or_else(String::new, |floor| full(floor.value)),
        ];
        let covers = result.covers_ls_ece.map(both).unwrap_or_default();
        let rest = [result.above_ece.value, result.below_ece.value].map(full);
        let last = [full(result.upper_limits.value)];
        let figures = covers.into_iter().chain(both(result.covers_ece)).chain(rest);
        table.row(first.into_iter().chain(figures).chain(both(result.width)).chain(last));
    }
    table
}
