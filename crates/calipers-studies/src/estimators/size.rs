//! How often tests reject what is calibrated.

use calipers::population::{Family, Finite};
use calipers::simulate::{MonteCarlo, Population, RejectionResult, SeededTest, Simulation};
use calipers::{Error, LsEce, Sigma};

use super::{Known, both, named, share};
use crate::replicates::seed_of;
use crate::table::fixed;
use crate::{Agreement, Page, Setting, Table};

/// The level of the tests.
pub(super) const ALPHA: f64 = 0.05;

/// The size at 5 % shall be in here.
const TARGET: (f64, f64) = (0.03, 0.07);

/// Whether a size is outside the target by more than two standard errors of so many runs.
fn is_outside(size: &MonteCarlo) -> bool {
    let error = 2.0 * size.standard_error;
    size.value + error < TARGET.0 || size.value - error > TARGET.1
}

/// How scores look: the steps that they are rounded to, if any.
const SHAPES: [(&str, Option<u32>); 3] =
    [("continuous", None), ("tied, steps of 0.05", Some(20)), ("1/256", Some(256))];

/// One family, shape and number of rows.
struct Cell {
    family: &'static str,
    shape: &'static str,
    n: usize,
    results: Vec<RejectionResult>,
}

/// The section.
pub(super) fn section(page: &mut Page, all: &[Known<'_>], setting: &Setting) -> Result<(), Error> {
    let rows: &[usize] = setting.pick(&[500, 2_000], &[500]);
    let (n_runs, n_resamples) = setting.pick((250, 59), (8, 39));
    let tests = SeededTest::all().map(|test| test.n_resamples(n_resamples));
    let mut cells = Vec::new();
    for known in all.iter().filter(|known| known.family.is_calibrated()) {
        for (shape, n_steps) in SHAPES {
            let rounded: Option<Finite> = n_steps.map(|n_steps| known.family.rounded(n_steps)).transpose()?;
            let population: &dyn Population = rounded.as_ref().map_or(known.family, |rounded| rounded);
            for &n in rows {
                let simulation = Simulation::new(population, n).runs(n_runs).random_state(seed_of(
                    setting.random_state,
                    23,
                    n as u64,
                ));
                let results = simulation.rejections(&tests, ALPHA)?;
                cells.push(Cell { family: known.family.name(), shape, n, results });
            }
        }
    }
    page.heading("Size of tests at 5 %");
    page.text(&format!(
        "Share of rejections on calibrated families of both lists, {n_runs} runs each: scores as they are, rounded to steps of 0.05, and to 1/256. Outcomes are drawn from \
         the rounded probability, so that predictions stay calibrated exactly. Tests that draw outcomes do so {n_resamples} times: with so many, a level of 5 % is \
         met exactly, but for ties of the statistic, which lower it; more draws change only the power. The standard error of a size of .05 is {}. Target: {} to {}.",
        fixed((0.05 * 0.95 / n_runs as f64).sqrt(), 3),
        share(TARGET.0),
        share(TARGET.1)
    ));
    let names = tests.iter().map(|test| test.name);
    let mut table = Table::new(["family", "scores", "n"].into_iter().chain(names));
    let mut csv = Table::new(["family", "scores", "n", "test", "runs", "failed", "rejected", "standard_error"]);
    let mut outside = Vec::new();
    for cell in &cells {
        let first = [cell.family.to_owned(), cell.shape.to_owned(), cell.n.to_string()];
        let figure = |result: &RejectionResult| {
            let size = share(result.rejected.value);
            if is_outside(&result.rejected) { format!("**{size}**") } else { size }
        };
        table.row(first.iter().cloned().chain(cell.results.iter().map(figure)));
        for result in &cell.results {
            let counts = [result.name.to_owned(), result.n_runs.to_string(), result.n_failed.to_string()];
            csv.row(first.iter().cloned().chain(counts).chain(both(result.rejected)));
            if is_outside(&result.rejected) {
                let place = format!("{}, {}, n = {}", cell.family, cell.shape, cell.n);
                outside.push(format!("{} {} ({place})", result.name, share(result.rejected.value)));
            }
        }
    }
    page.table(&table);
    let sizes = cells.iter().flat_map(|cell| cell.results.iter().map(|result| result.rejected.value));
    let (least, most) = crate::summary::extent(sizes);
    page.finding(
        Agreement::seen_if(outside.is_empty()),
        &format!(
            "Size of every test at 5 % on calibrated rows, ties and steps of 1/256 included: {} to {}. Outside {} to {} by more than two standard errors: {}.",
            share(least),
            share(most),
            share(TARGET.0),
            share(TARGET.1),
            named(&outside)
        ),
    );
    page.csv("size", &csv);
    floor_test(page, setting)
}

/// The floor test of LS-ECE, at many sigmas.
fn floor_test(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    const SIGMAS: [f64; 4] = [0.05, 0.2, 0.5, 1.0];
    let rows: &[usize] = setting.pick(&[300, 1_000, 10_000], &[300]);
    let (n_runs, n_resamples) = setting.pick((500, 59), (8, 39));
    let sigmas: Vec<Sigma> = [Sigma::Auto].into_iter().chain(SIGMAS.map(Sigma::Value)).collect();
    page.text(&format!(
        "This is the test that decides verdicts on LS-ECE: its residual form against the noise floor, at several sigmas, {n_runs} runs and {n_resamples} draws each. The standard error of a size of .05 is \
         {}. A model whose probabilities are all near 0 or 1 is rejected less often, since most samples have no unexpected outcome.",
        fixed((0.05 * 0.95 / n_runs as f64).sqrt(), 3)
    ));
    let columns = sigmas.iter().map(|sigma| match sigma {
        Sigma::Value(sigma) => format!("sigma {sigma}"),
        _ => "sigma auto".to_owned(),
    });
    let mut table = Table::new(["family", "scores", "n"].map(str::to_owned).into_iter().chain(columns));
    let (mut outside, mut sizes) = (Vec::new(), Vec::new());
    let families = ["calibrated", "calibrated-rare-events", "calibrated-very-rare-events", "clustered-scores"];
    for family in &families[..setting.pick(families.len(), 1)] {
        let family = Family::named(family)?;
        for (shape, n_steps) in SHAPES {
            // Rounded to steps of 0.05, rare events are all 0.
            if n_steps.is_some() && family.name() != "calibrated" {
                continue;
            }
            let rounded: Option<Finite> = n_steps.map(|n_steps| family.rounded(n_steps)).transpose()?;
            let population: &dyn Population = rounded.as_ref().map_or(&family, |rounded| rounded);
            let own = if family.name() == "calibrated-very-rare-events" { &[2_000][..] } else { rows };
            for &n in own {
                let mut row = vec![family.name().to_owned(), shape.to_owned(), n.to_string()];
                for sigma in &sigmas {
                    let measure = LsEce::new().sigma(*sigma).residual();
                    let simulation = Simulation::new(population, n).runs(n_runs).random_state(seed_of(
                        setting.random_state,
                        26,
                        n as u64,
                    ));
                    let found = simulation.floor_rejections(&measure, n_resamples, ALPHA)?;
                    sizes.push(found.value);
                    let outside_target = is_outside(&found);
                    if outside_target {
                        let sigma = if let Sigma::Value(sigma) = sigma { sigma.to_string() } else { "auto".to_owned() };
                        outside.push(format!(
                            "{}, {shape}, n = {n}, sigma {sigma}: {}",
                            family.name(),
                            share(found.value)
                        ));
                    }
                    row.push(if outside_target { format!("**{}**", share(found.value)) } else { share(found.value) });
                }
                table.row(row);
            }
        }
    }
    page.table(&table);
    super::size_finding(page, &sizes, &outside, |least, most, named| {
        format!(
            "Size of the floor test at 5 %, for sigma auto to 1 and n from 300 to 10,000: {least} to {most}. Outside {} to {} \
             by more than two standard errors: {named}.",
            share(TARGET.0),
            share(TARGET.1)
        )
    });
    Ok(())
}
