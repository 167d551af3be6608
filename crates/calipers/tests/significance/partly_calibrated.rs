//! Intervals of models that are calibrated in part: the bias that is left shrinks more slowly than
//! the standard error.

use calipers::population::{Atom, Family, Logits, Truth};
use calipers::simulate::{CoverageResult, Remembered, Simulation};
use calipers::{Assess, LsEce};

use crate::data::{Failures, shown};

/// 30 % of rows at .99 whose truth is .93, the rest calibrated.
fn sure_and_wrong() -> Family {
    let logit = |p: f64| (p / (1.0 - p)).ln();
    let atoms = vec![Atom { logit: logit(0.99), mass: 0.3 }];
    let edges = [-1e-3, 1e-3].map(|by| logit(0.99) + by).to_vec();
    let shifts = vec![0.0, logit(0.93) - logit(0.99), 0.0];
    let logits = Logits::WithAtoms { mean: 0.0, deviation: 1.5, atoms };
    Family::new("sure-and-wrong", logits, Truth::Piecewise { edges, shifts }).unwrap()
}

/// Wrong in the top 2 % of scores only.
fn top() -> Family {
    let truth = Truth::Piecewise { edges: vec![1.5 * 2.053_749], shifts: vec![0.0, -1.0] };
    Family::new("top", Logits::Normal { mean: 0.0, deviation: 1.5 }, truth).unwrap()
}

fn families() -> [Family; 4] {
    [sure_and_wrong(), top(), Family::named("piecewise").unwrap(), Family::named("breaks-when-sure").unwrap()]
}

/// The goal for the width is 1.6 times that of an oracle which knows the bias.
fn check(name: &str, n: usize, form: &str, found: &CoverageResult, failures: &mut Failures) {
    let covered = found.covers_ls_ece.unwrap();
    let ratio = found.width.value / found.oracle_width;
    println!(
        "{name}, n = {n}, {form}: truth {:.4}, coverage {}, width {:.4} = {ratio:.2} oracles, upper limits {:.2}",
        found.of_ls_ece.unwrap().truth,
        shown(covered),
        found.width.value,
        found.upper_limits.value
    );
    let what = format!("{name}, n = {n}, {form}");
    // Upper limits of what is all but calibrated hold nearly always.
    let most = if found.upper_limits.value > 0.2 { 1.0 } else { 0.99 };
    failures.expect_within(covered, 0.92..=most, &what);
    // The oracle's width is that of so many runs: known to 9 % with 60 of them.
    failures.expect(ratio <= 2.4, format!("{what}: width {ratio:.2}"));
}

fn intervals_cover(sizes: &[(usize, u64)]) {
    let mut failures = Failures::default();
    for family in families() {
        let population = Remembered::new(&family);
        for &(n, n_runs) in sizes {
            let measure = LsEce::new();
            let assess = Assess::new(&measure).n_resamples(40);
            let found = Simulation::new(&population, n).runs(n_runs).random_state(21).coverage(&assess).unwrap();
            check(family.name(), n, "LS-ECE", &found, &mut failures);
            check(family.name(), n, "residual form", found.residual.as_ref().unwrap(), &mut failures);
        }
    }
}

#[test]
fn intervals_of_partly_calibrated_models_cover() {
    intervals_cover(&[(1_000, 300), (5_000, 200), (50_000, 60)]);
}

/// As above with more runs, and with more rows.
#[cfg(feature = "slow-tests")]
#[test]
fn intervals_of_partly_calibrated_models_cover_for_many_rows() {
    intervals_cover(&[(1_000, 2_000), (5_000, 1_000), (50_000, 400), (200_000, 200)]);
}
