//! How often `compare` names a winner: where there is none, and where there is one.

use calipers::link::{Link, Logistic};
use calipers::population::Family;
use calipers::{Compare, Error, Input, LsEce, Sigma};

use super::share;
use crate::replicates::{replicates, seed_of};
use crate::table::fixed;
use crate::{Agreement, Page, Setting, Table};

/// How a model sees the true logit.
type Model = fn(f64, f64) -> f64;

const OVER: Model = |logit, strength| logit * (1.0 + strength);
const UNDER: Model = |logit, strength| logit / (1.0 + strength);
const HIGHER: Model = |logit, strength| logit + strength;
const LOWER: Model = |logit, strength| logit - strength;
/// Off only where the logit is above 1.
const LOCAL: Model = |logit, strength| if logit > 1.0 { logit + strength } else { logit };

/// True ECE of both models where they are to be equal.
const ECE: f64 = 0.04;

/// Two models on the same rows, with the true ECE of each.
struct Pair {
    name: &'static str,
    models: [(Model, f64); 2],
}

fn pairs() -> Vec<Pair> {
    let pair = |name, a: (Model, f64), b: (Model, f64)| Pair { name, models: [a, b] };
    vec![
        pair("equal: over- and underconfident", (OVER, ECE), (UNDER, ECE)),
        pair("equal: too high and too low", (HIGHER, ECE), (LOWER, ECE)),
        pair("equal: too high and overconfident", (HIGHER, ECE), (OVER, ECE)),
        pair("equal: off in part and everywhere", (LOCAL, ECE), (LOWER, ECE)),
        pair("equal: both calibrated", (OVER, 0.0), (UNDER, 0.0)),
        pair("calibrated and underconfident", (OVER, 0.0), (UNDER, 0.03)),
        pair("calibrated and overconfident", (UNDER, 0.0), (OVER, 0.03)),
        pair("less and more overconfident", (OVER, 0.02), (OVER, 0.05)),
    ]
}

/// ECE of a model of true logits that are normal(0, 1.5), by the midpoint rule.
fn ece(model: Model, strength: f64) -> f64 {
    const N: u32 = 20_000;
    let share = |k: u32| {
        let z = -8.0 + 16.0 * (f64::from(k) + 0.5) / f64::from(N);
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt() * 16.0 / f64::from(N);
        density * (Logistic.response(1.5 * z) - Logistic.response(model(1.5 * z, strength))).abs()
    };
    (0..N).map(share).sum()
}

/// The strength at which a model has that ECE.
fn strength(model: Model, wanted: f64) -> f64 {
    let (mut least, mut most) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = 0.5 * (least + most);
        if ece(model, middle) < wanted { least = middle } else { most = middle }
    }
    if wanted == 0.0 { 0.0 } else { 0.5 * (least + most) }
}

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n = setting.pick(2_000, 300);
    let n_runs = setting.pick(300, 8);
    let sigmas: Vec<Sigma> = match setting.quick {
        true => vec![Sigma::Auto],
        false => [Sigma::Auto].into_iter().chain([0.05, 0.2, 0.5, 1.0].map(Sigma::Value)).collect(),
    };
    let rows = Family::named("shifted")?;
    let calibrated = Family::new("calibrated", rows.logits().clone(), calipers::population::Truth::CALIBRATED)?;
    page.heading("Comparing two models");
    page.text(&format!(
        "Share of {n_runs} samples of {n} rows in which `compare` reports that one of two models is better calibrated, at 5 %. True logits are normal(0, 1.5), and each model distorts them as its name states, with the strength that gives the ECE in the table. Equal models: the size, which may be up to .07; else the power, and beside it the share of verdicts \
         that name the wrong one.",
    ));
    let columns = sigmas.iter().map(|sigma| match sigma {
        Sigma::Value(sigma) => format!("sigma {sigma}"),
        _ => "sigma auto".to_owned(),
    });
    let mut table = Table::new(["models".to_owned(), "true ECE".to_owned()].into_iter().chain(columns));
    let (mut outside, mut sizes, mut wrong, mut verdicts) = (Vec::new(), Vec::new(), 0_u64, 0_u64);
    for pair in pairs() {
        let is_equal = pair.models[0].1 == pair.models[1].1;
        let models = pair.models.map(|(model, ece)| (model, strength(model, ece)));
        let mut row = vec![pair.name.to_owned(), format!("{}, {}", pair.models[0].1, pair.models[1].1)];
        for sigma in &sigmas {
            let measure = LsEce::new().sigma(*sigma);
            let verdict = |run: u64| -> Result<i32, Error> {
                let sample = calibrated.sample(n, seed_of(setting.random_state, 25, run));
                let scores = models.map(|(model, strength)| {
                    sample.scores.iter().map(|logit| model(*logit, strength)).collect::<Vec<f64>>()
                });
                let a = Input::logits(&scores[0], &sample.outcomes).check()?;
                let b = Input::logits(&scores[1], &sample.outcomes).check()?;
                let compare = Compare::new(&measure).n_resamples(20);
                let found = &compare.run(&[("a", &a.binary()?), ("b", &b.binary()?)])?.pairs[0];
                Ok(if found.p_value <= 0.05 { found.difference.signum() as i32 } else { 0 })
            };
            let found = replicates(n_runs, verdict)?;
            let of = |sign: i32| found.iter().filter(|verdict| **verdict == sign).count() as u64;
            let (worse, better) = (of(1), of(-1));
            let rejected = (worse + better) as f64 / n_runs as f64;
            if is_equal {
                sizes.push(rejected);
                row.push(share(rejected));
                if rejected > 0.07 {
                    outside.push(format!("{} ({})", pair.name, share(rejected)));
                }
            } else {
                // The second model is the worse one in all of them.
                (wrong, verdicts) = (wrong + worse, verdicts + worse + better);
                row.push(format!("{} ({} wrong)", share(rejected), share(worse as f64 / n_runs as f64)));
            }
        }
        table.row(row);
    }
    page.table(&table);
    super::size_finding(page, &sizes, &outside, |least, most, above| {
        format!(
            "Size of `compare` at 5 % where two models have the same true ECE: {least} to {most}. Above .07: {above}. It is \
             below .03 where part of the bias is unknown: a difference that the bias can explain is not reported."
        )
    });
    page.finding(
        Agreement::seen_if(wrong as f64 <= 0.025 * verdicts as f64),
        &format!(
            "Verdicts on models that differ: {} of {verdicts} name the wrong one ({} %).",
            wrong,
            fixed(100.0 * wrong as f64 / verdicts.max(1) as f64, 2)
        ),
    );
    Ok(())
}
