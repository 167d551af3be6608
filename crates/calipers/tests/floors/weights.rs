//! p-values of rows with unequal weights: a heavy row whose rare outcome has come is no evidence by
//! itself.

use calipers::{Assess, BinnedEce, Input, LsEce, Measure};

/// The p-value of n rows of one prediction, of which the first has a weight of its own, with so
/// many outcomes 1 from the first row on.
fn p_value(measure: &dyn Measure, n: usize, p: f64, heavy: f64, n_positive: usize) -> f64 {
    let probabilities = vec![p; n];
    let outcomes: Vec<bool> = (0..n).map(|row| row < n_positive).collect();
    let weights: Vec<f64> = (0..n).map(|row| if row == 0 { heavy } else { 1.0 }).collect();
    let predictions = Input::probabilities(&probabilities, &outcomes).weights(&weights[..]).check().unwrap();
    let found = Assess::new(measure).run(&predictions.binary().unwrap()).unwrap();
    let deciding = found.residual.as_deref().unwrap_or(&found);
    deciding.floor.as_ref().unwrap().p_value
}

#[test]
fn an_outcome_of_a_heavy_row_is_as_likely_as_predicted() {
    let (ls_ece, ece) = (LsEce::new(), BinnedEce::new());
    // Few rows, rows in cells, and rows of which only the heavy one is drawn by itself.
    let cases: [(&dyn Measure, usize, f64, f64); 6] = [
        (&ls_ece, 8, 0.1, 3.0),
        (&ls_ece, 1000, 0.05, 100.0),
        (&ls_ece, 6000, 0.05, 600.0),
        (&ls_ece, 20_000, 0.05, 2000.0),
        (&ece, 6000, 0.05, 600.0),
        (&ece, 20_000, 0.05, 2000.0),
    ];
    for (measure, n, p, heavy) in cases {
        // As many outcomes as predicted, and the heavy one among them: that happens with
        // probability p. 1,000 draws find it within four standard errors.
        let n_positive = ((n as f64 * p) as usize).max(1);
        let found = p_value(measure, n, p, heavy, n_positive);
        assert!(found > p - 4.0 * (p / 1000.0).sqrt(), "{} of {n} rows: {found}", measure.spec().name);
    }
}
