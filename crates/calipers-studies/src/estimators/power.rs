//! How often tests reject as miscalibration grows.

use calipers::Error;
use calipers::population::{Family, Logits, Truth};
use calipers::simulate::{RejectionResult, SeededTest, Simulation};
use calipers_report::{Axis, Chart, Series};

use super::size::ALPHA;
use super::{both, share};
use crate::replicates::seed_of;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

/// A way to be miscalibrated, more and more.
struct Curve {
    /// In the names of files.
    name: &'static str,
    title: &'static str,
    /// What grows.
    strength: &'static str,
    logits: Logits,
    truth: fn(f64) -> Truth,
    strengths: [f64; 7],
}

fn curves() -> [Curve; 2] {
    [
        Curve {
            name: "slope",
            title: "overconfidence",
            strength: "1 - slope",
            logits: Logits::Normal { mean: 1.0, deviation: 1.5 },
            truth: |strength| Truth::Affine { intercept: 0.0, slope: 1.0 - strength },
            strengths: [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3],
        },
        Curve {
            name: "wave",
            title: "gaps that change sign",
            strength: "amplitude of sin(3 h)",
            logits: Logits::Normal { mean: 0.0, deviation: 1.5 },
            truth: |strength| Truth::Sinusoidal { amplitude: strength, frequency: 3.0 },
            strengths: [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        },
    ]
}

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n = setting.pick(2_000, 300);
    let (n_runs, n_resamples) = setting.pick((200, 99), (8, 39));
    let tests = SeededTest::all().map(|test| test.n_resamples(n_resamples));
    page.heading("Power of tests at 5 %");
    page.text(&format!(
        "Share of rejections at n = {n} as miscalibration grows, {n_runs} runs for each point, {n_resamples} draws where outcomes are drawn. The truth is \
         rho(slope h), and rho(h + amplitude sin(3 h)), whose gaps cancel over wide bins.",
    ));
    let mut csv = Table::new(["truth", "strength", "ece", "n", "test", "runs", "rejected", "standard_error"]);
    for curve in curves() {
        let mut points: Vec<(f64, f64, Vec<RejectionResult>)> = Vec::new();
        for &strength in setting.pick(&curve.strengths[..], &curve.strengths[5..]) {
            let family = Family::new(curve.name, curve.logits.clone(), (curve.truth)(strength))?;
            let simulation =
                Simulation::new(&family, n).runs(n_runs).random_state(seed_of(setting.random_state, 24, n as u64));
            points.push((strength, family.ece().value, simulation.rejections(&tests, ALPHA)?));
        }
        let mut chart = Chart::new(format!("Power of tests against {}, n = {n}", curve.title))
            .x(Axis::linear(curve.strength))
            .y(Axis::linear("share of rejections").range(0.0, 1.0))
            .size(640.0, 480.0)
            .horizontal_rule(ALPHA, "0.05");
        let names = tests.iter().map(|test| test.name);
        let mut table = Table::new([curve.strength, "true ECE"].into_iter().chain(names));
        for (column, test) in tests.iter().enumerate() {
            let line = points.iter().map(|(strength, _, results)| (*strength, results[column].rejected.value));
            chart = chart.add(Series::line(test.name, line.collect()).colour(column));
        }
        for (strength, ece, results) in &points {
            let shares = results.iter().map(|result| share(result.rejected.value));
            table.row([strength.to_string(), fixed(*ece, 4)].into_iter().chain(shares));
            for result in results {
                let first = [curve.name.to_owned(), full(*strength), full(*ece), n.to_string()];
                let rest = [result.name.to_owned(), result.n_runs.to_string()];
                csv.row(first.into_iter().chain(rest).chain(both(result.rejected)));
            }
        }
        page.figure(&format!("power-{}", curve.name), &chart, &format!("Power against {}, n = {n}.", curve.title));
        page.table(&table);
        finding(page, &curve, &points);
    }
    page.csv("power", &csv);
    Ok(())
}

/// Who sees most, and who least.
fn finding(page: &mut Page, curve: &Curve, points: &[(f64, f64, Vec<RejectionResult>)]) {
    // Where tests differ most.
    let spread = |results: &[RejectionResult]| {
        let (least, most) = crate::summary::extent(results.iter().map(|result| result.rejected.value));
        most - least
    };
    let Some((strength, _, results)) = points.iter().max_by(|a, b| spread(&a.2).total_cmp(&spread(&b.2))) else {
        return;
    };
    let mut order: Vec<&RejectionResult> = results.iter().collect();
    order.sort_by(|a, b| b.rejected.value.total_cmp(&a.rejected.value));
    let text: Vec<String> =
        order.iter().map(|result| format!("{} {}", result.name, share(result.rejected.value))).collect();
    page.finding(
        Agreement::Noted,
        &format!(
            "Power against {} where the tests differ most, {} = {strength}: {}.",
            curve.title,
            curve.strength,
            text.join(", ")
        ),
    );
}
