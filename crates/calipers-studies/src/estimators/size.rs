//! How often tests reject what is calibrated.

use calipers::Error;
use calipers::population::Finite;
use calipers::simulate::{Population, RejectionResult, SeededTest, Simulation};

use super::{Known, both, named, share};
use crate::replicates::seed;
use crate::table::fixed;
use crate::{Agreement, Page, Setting, Table};

/// The level of the tests.
pub(super) const ALPHA: f64 = 0.05;

/// The size at 5 % shall be in here.
const TARGET: (f64, f64) = (0.03, 0.07);

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
    let rows: &[usize] = setting.pick(&[500, 2_000, 5_000], &[500]);
    let (n_runs, n_resamples) = setting.pick((2000, 59), (8, 39));
    let tests = SeededTest::all().map(|test| test.n_resamples(n_resamples));
    let mut cells = Vec::new();
    for known in all.iter().filter(|known| known.family.is_calibrated()) {
        for (shape, n_steps) in SHAPES {
            let rounded: Option<Finite> = n_steps.map(|n_steps| known.family.rounded(n_steps)).transpose()?;
            let population: &dyn Population = rounded.as_ref().map_or(known.family, |rounded| rounded);
            for &n in rows {
                let simulation = Simulation::new(population, n).runs(n_runs).seed(seed(setting.seed, 23, n as u64));
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
            let size = result.rejected.value;
            let inside = (TARGET.0..=TARGET.1).contains(&size);
            if inside { share(size) } else { format!("**{}**", share(size)) }
        };
        table.row(first.iter().cloned().chain(cell.results.iter().map(figure)));
        for result in &cell.results {
            let counts = [result.name.to_owned(), result.n_runs.to_string(), result.n_failed.to_string()];
            csv.row(first.iter().cloned().chain(counts).chain(both(result.rejected)));
            let size = result.rejected.value;
            if !(TARGET.0..=TARGET.1).contains(&size) {
                let place = format!("{}, {}, n = {}", cell.family, cell.shape, cell.n);
                outside.push(format!("{} {} ({place})", result.name, share(size)));
            }
        }
    }
    page.table(&table);
    let sizes = cells.iter().flat_map(|cell| cell.results.iter().map(|result| result.rejected.value));
    let (least, most) = crate::summary::extent(sizes);
    page.finding(
        Agreement::seen_if(outside.is_empty()),
        &format!(
            "Size of every test at 5 % on calibrated rows, ties and steps of 1/256 included: {} to {}. Outside {} to {}: {}.",
            share(least),
            share(most),
            share(TARGET.0),
            share(TARGET.1),
            named(&outside)
        ),
    );
    page.csv("size", &csv);
    Ok(())
}
