//! Bias and root mean squared error of estimates of ECE.

use calipers::simulate::{EstimatorResult, MonteCarlo, Simulation};
use calipers::{Debias, Error, LsEce, Measure};
use calipers_report::{Axis, Chart, Series, Stroke};

use super::methods::{AUTO, RIVALS, debiased, estimators};
use super::{Known, LISTS, both, thousandths};
use crate::replicates::seed_of;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

/// By how much the mean error with sigma auto may exceed the best of the rivals, by n.
const TARGETS: [(usize, f64); 4] = [(300, 1.05), (1_000, 1.0), (5_000, 1.0), (50_000, 1.0)];

/// Lines of the charts, with colour and stroke.
const DRAWN: [(&str, usize, Stroke); 8] = [
    (AUTO, 0, Stroke::Solid),
    ("LS-ECE, sigma 0.2", 0, Stroke::Dotted),
    ("ECE, 15 of equal width", 1, Stroke::Solid),
    ("ECE, 15 of equal mass", 1, Stroke::Dashed),
    ("debiased ECE, 15 bins", 1, Stroke::Dotted),
    ("ECE-sweep", 4, Stroke::Solid),
    ("smECE", 2, Stroke::Solid),
    ("KDE-ECE, triweight", 3, Stroke::Solid),
];

/// One family and number of rows.
struct Cell<'a> {
    known: &'a Known<'a>,
    n: usize,
    results: Vec<EstimatorResult>,
}

impl Cell<'_> {
    fn of(&self, name: &str) -> Option<&EstimatorResult> {
        self.results.iter().find(|result| result.name == name)
    }
}

/// Draws and resamples, by n.
struct Plan {
    n: usize,
    n_runs: u64,
    n_resamples: u64,
}

fn plans(setting: &Setting) -> Vec<Plan> {
    let plan = |(n, n_runs, n_resamples)| Plan { n, n_runs, n_resamples };
    let full = [(300, 120, 40), (1_000, 100, 40), (5_000, 60, 40), (50_000, 20, 40)];
    let quick = [(100, 8, 20), (300, 8, 20)];
    setting.pick(full.to_vec(), quick.to_vec()).into_iter().map(plan).collect()
}

/// The section.
pub(super) fn section(page: &mut Page, all: &[Known<'_>], setting: &Setting) -> Result<(), Error> {
    let plans = plans(setting);
    let mut cells = Vec::new();
    for known in all {
        for plan in &plans {
            cells.push(measure(known, plan, seed_of(setting.random_state, 21, plan.n as u64))?);
        }
    }
    page.heading("Estimates of ECE: mean error over the families");
    let runs: Vec<String> = plans.iter().map(|plan| format!("{} at n = {}", plan.n_runs, plan.n)).collect();
    page.text(&format!(
        "Root mean squared error against the true ECE, times 1000, as a mean over the families of a list. Runs for each family: {}; noise floor and \
         bootstrap by {} draws each. All methods have the same rows. Every measure of the catalogue that estimates E|E[Y | p] - p| is here; beta kernels, \
         which take n² steps, and ICI, which evaluates the curve of LS-ECE at every row, up to 1,000 rows. The others estimate something else: squares, the largest gap, cumulated residuals, distances, scores. ± is \
         the standard error by the number of runs.",
        runs.join(", "),
        plans[0].n_resamples,
    ));
    for list in 0..LISTS.len() {
        means(page, &cells, &plans, list);
    }
    page.heading("Against the best of five");
    for list in 0..LISTS.len() {
        verdict(page, &cells, &plans, list);
    }
    by_family(page, all, &cells, &plans);
    page.csv("accuracy", &csv(&cells));
    Ok(())
}

fn measure<'a>(known: &'a Known<'a>, plan: &Plan, own_seed: u64) -> Result<Cell<'a>, Error> {
    let simulation = Simulation::new(&known.truth, plan.n).runs(plan.n_runs).random_state(own_seed);
    let own = estimators(plan.n);
    let named: Vec<(&str, &dyn Measure)> = own.iter().map(|(name, estimator)| (name.as_str(), &**estimator)).collect();
    // The same seed: the same rows.
    let mut results = simulation.debiased(AUTO, &LsEce::new(), &Debias::ALL, plan.n_resamples)?;
    results.extend(simulation.estimators(&named)?);
    Ok(Cell { known, n: plan.n, results })
}

/// Mean error over a list, where every family of it has the method.
fn mean_error(cells: &[Cell<'_>], list: usize, n: usize, name: &str) -> Option<MonteCarlo> {
    let own = cells.iter().filter(|cell| cell.known.list == list && cell.n == n);
    let errors = own.map(|cell| Some(cell.of(name)?.of_ece.rmse)).collect::<Option<Vec<MonteCarlo>>>()?;
    let k = errors.len() as f64;
    let value = errors.iter().map(|error| error.value).sum::<f64>() / k;
    let standard_error = errors.iter().map(|error| error.standard_error.powi(2)).sum::<f64>().sqrt() / k;
    (k > 0.0).then_some(MonteCarlo { value, standard_error })
}

/// Table and chart of one list.
fn means(page: &mut Page, cells: &[Cell<'_>], plans: &[Plan], list: usize) {
    let columns = plans.iter().map(|plan| format!("n = {}", plan.n));
    let mut table = Table::new([format!("families: {}", LISTS[list])].into_iter().chain(columns));
    for result in &cells[0].results {
        let figures = plans.iter().map(|plan| match mean_error(cells, list, plan.n, &result.name) {
            Some(error) => format!("{} ± {}", thousandths(error.value), thousandths(error.standard_error)),
            None => "-".to_owned(),
        });
        table.row([result.name.clone()].into_iter().chain(figures));
    }
    page.table(&table);
    let mut chart = Chart::new(format!("Mean error over the families, {}", LISTS[list]))
        .x(Axis::log("rows"))
        .y(Axis::log("mean of the root mean squared errors"))
        .size(640.0, 480.0);
    let line = |name: &str| {
        let point = |plan: &Plan| Some((plan.n as f64, mean_error(cells, list, plan.n, name)?.value));
        plans.iter().filter_map(point).collect::<Vec<_>>()
    };
    for (name, colour, stroke) in DRAWN {
        chart = chart.add(Series::line(name, line(name)).colour(colour).stroke(stroke));
    }
    let best = debiased(Debias::default());
    chart = chart.add(Series::line(best.as_str(), line(&best)).colour(0).stroke(Stroke::Dashed));
    let name = ["error-all", "error-kept-aside", "error-unseen", "error-new"][list];
    page.figure(name, &chart, &format!("Root mean squared error by rows, mean over the families: {}.", LISTS[list]));
}

/// What sigma auto makes of the targets, for one list.
fn verdict(page: &mut Page, cells: &[Cell<'_>], plans: &[Plan], list: usize) {
    let estimates: Vec<String> = [AUTO.to_owned()].into_iter().chain(Debias::ALL.map(debiased)).collect();
    let columns = ["n", "best of the five", "its error", "may be"].map(str::to_owned);
    let columns = [format!("families: {}", LISTS[list])].into_iter().chain(columns);
    let mut table = Table::new(columns.chain(estimates.iter().map(|name| format!("{name}: ratio"))));
    let (mut met, mut missed) = (Vec::new(), Vec::new());
    for plan in plans {
        let error = |name: &str| mean_error(cells, list, plan.n, name);
        let rivals = RIVALS.into_iter().filter_map(|name| Some((name, error(name)?.value)));
        let Some((best, least)) = rivals.min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let target = TARGETS.iter().find(|(n, _)| *n == plan.n).map(|(_, target)| *target);
        let ratio = |name: &str| error(name).map(|error| error.value / least);
        let product = ratio(&debiased(Debias::default()));
        if let (Some(target), Some(ratio)) = (target, product) {
            let text = format!("{} at n = {} (may be {})", fixed(ratio, 3), plan.n, fixed(target, 2));
            if ratio <= target { met.push(text) } else { missed.push(text) }
        }
        let cells = [
            String::new(),
            plan.n.to_string(),
            best.to_owned(),
            thousandths(least),
            target.map_or_else(|| "-".to_owned(), |target| fixed(target, 2)),
        ];
        let ratios = estimates.iter().map(|name| ratio(name).map_or_else(|| "-".to_owned(), |ratio| fixed(ratio, 3)));
        table.row(cells.into_iter().chain(ratios));
    }
    page.table(&table);
    let words = |texts: &[String]| if texts.is_empty() { "none".to_owned() } else { texts.join(", ") };
    page.finding(
        Agreement::seen_if(missed.is_empty()),
        &format!(
            "Families {}: mean error of the residual form with sigma auto, debiased by {} (the best estimate of ECE that calipers reports), over that of the best of \
             15 bins of equal width or mass, debiased, sweep and smECE. Met: {}. Missed: {}.",
            LISTS[list],
            Debias::default().name(),
            words(&met),
            words(&missed)
        ),
    );
    spread(page, cells, plans, list);
}

/// What means over families hide: the ratio family by family.
fn spread(page: &mut Page, cells: &[Cell<'_>], plans: &[Plan], list: usize) {
    let product = debiased(Debias::default());
    for plan in plans.iter().filter(|plan| TARGETS.iter().any(|(n, _)| *n == plan.n)) {
        let ratio = |cell: &Cell<'_>| {
            let error = |name: &str| cell.of(name).map(|result| result.of_ece.rmse.value);
            let least = RIVALS.iter().filter_map(|name| error(name)).fold(f64::INFINITY, f64::min);
            Some((error(&product)? / least, cell.known.family.name()))
        };
        let own = cells.iter().filter(|cell| cell.known.list == list && cell.n == plan.n);
        let mut ratios: Vec<(f64, &str)> = own.filter_map(ratio).collect();
        ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
        let Some((median, _)) = ratios.get(ratios.len() / 2) else { continue };
        let worst: Vec<String> =
            ratios.iter().take(3).map(|(ratio, name)| format!("{name} {}", fixed(*ratio, 2))).collect();
        page.finding(
            Agreement::Noted,
            &format!(
                "Families {}, n = {}, family by family and against whichever of the five is best for that family: median ratio {}, worst {}.",
                LISTS[list],
                plan.n,
                fixed(*median, 2),
                worst.join(", ")
            ),
        );
    }
}

/// Bias and error, family by family.
fn by_family(page: &mut Page, all: &[Known<'_>], cells: &[Cell<'_>], plans: &[Plan]) {
    page.heading("Bias and error of each estimate, by family");
    page.text(
        "Bias / root mean squared error against the true ECE, times 1000. The table for programs has standard errors, and for LS-ECE at a given \
         sigma also bias and error against the true LS-ECE at that sigma.",
    );
    for known in all {
        let truth = cells.iter().find(|cell| std::ptr::eq(cell.known, known)).map(|cell| cell.results[0].of_ece.truth);
        let title = format!(
            "{} ({}), 1000 ECE = {}",
            known.family.name(),
            LISTS[known.list],
            thousandths(truth.unwrap_or_default())
        );
        let mut table = Table::new([title].into_iter().chain(plans.iter().map(|plan| format!("n = {}", plan.n))));
        for result in &cells[0].results {
            let figure = |plan: &Plan| {
                let cell = cells.iter().find(|cell| std::ptr::eq(cell.known, known) && cell.n == plan.n);
                cell.and_then(|cell| cell.of(&result.name)).map_or_else(
                    || "-".to_owned(),
                    |own| format!("{} / {}", thousandths(own.of_ece.bias.value), thousandths(own.of_ece.rmse.value)),
                )
            };
            table.row([result.name.clone()].into_iter().chain(plans.iter().map(figure)));
        }
        page.table(&table);
    }
}

fn csv(cells: &[Cell<'_>]) -> Table {
    let mut table = Table::new([
        "family",
        "list",
        "n",
        "estimate",
        "runs",
        "failed",
        "ece",
        "mean",
        "mean_standard_error",
        "bias",
        "bias_standard_error",
        "rmse",
        "rmse_standard_error",
        LsEce::NAME,
        "bias_of_ls_ece",
        "bias_of_ls_ece_standard_error",
        "rmse_of_ls_ece",
        "rmse_of_ls_ece_standard_error",
    ]);
    for cell in cells {
        for result in &cell.results {
            let first = [
                cell.known.family.name().to_owned(),
                LISTS[cell.known.list].to_owned(),
                cell.n.to_string(),
                result.name.clone(),
                result.n_runs.to_string(),
                result.n_failed.to_string(),
                full(result.of_ece.truth),
            ];
            let figures = [result.mean, result.of_ece.bias, result.of_ece.rmse].map(both).concat();
            let smoothed = result.of_ls_ece.map(|accuracy| {
                [vec![full(accuracy.truth)], both(accuracy.bias).to_vec(), both(accuracy.rmse).to_vec()].concat()
            });
            table.row(first.into_iter().chain(figures).chain(smoothed.unwrap_or_default()));
        }
    }
    table
}
