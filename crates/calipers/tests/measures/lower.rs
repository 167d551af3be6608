use calipers::LowerDistance;
use proptest::prelude::*;

use crate::data::{Row, config, measure, pooled, rows};
use crate::simplex;

/// The dual program on a grid (200 rows are too many for this simplex method: python/tests asks
/// HiGHS about them)
///  that has all probabilities, in which the constraint holds at nodes alone: never below the
/// distance, and above by at most half the squared spacing. Variables are f + 2 >= 0.
fn by_simplex(rows: &[Row], n_even: usize) -> (f64, f64) {
    let groups = pooled(rows);
    let even = (0..=n_even).map(|k| k as f64 / n_even as f64);
    let mut nodes: Vec<f64> = groups.iter().map(|group| group.0).chain(even).collect();
    nodes.sort_by(f64::total_cmp);
    nodes.dedup();
    let n = nodes.len();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for (k, u) in nodes.iter().enumerate() {
        let mut row = vec![0.0; 2 * n];
        (row[k], row[n + k]) = (1.0 - u, *u);
        a.push(row);
        b.push(2.0);
        for chain in [0, n] {
            for (from, to) in [(k, k + 1), (k + 1, k)] {
                if k + 1 < n {
                    let mut row = vec![0.0; 2 * n];
                    (row[chain + from], row[chain + to]) = (1.0, -1.0);
                    a.push(row);
                    b.push(nodes[k + 1] - u);
                }
            }
        }
    }
    let mut c = vec![0.0; 2 * n];
    for (p, zero, one) in &groups {
        let k = nodes.iter().position(|node| node == p).unwrap();
        (c[k], c[n + k]) = (*zero, *one);
    }
    let optimum = simplex::maximise(&a, &b, &c) - 2.0;
    (optimum - 0.5 / (n_even * n_even) as f64, optimum)
}

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn it_is_the_optimum_of_the_linear_program(rows in rows(10)) {
        let (lower, upper) = by_simplex(&rows, 12);
        let estimate = measure(&LowerDistance::new().n_nodes(2048), &rows);
        let bound = estimate.numerical_bound;
        prop_assert!(lower - 1e-10 <= estimate.value + bound && estimate.value - bound <= upper + 1e-10,
            "{} ± {bound:e} against {lower} to {upper}", estimate.value);
        prop_assert!(bound < 1e-6, "{bound:e}");
    }

    #[test]
    fn fewer_nodes_have_bounds_that_hold(rows in rows(200)) {
        let fine = measure(&LowerDistance::new(), &rows);
        prop_assert!(fine.numerical_bound < 1e-7, "{:e}", fine.numerical_bound);
        for n_nodes in [16, 50, 300] {
            let coarse = measure(&LowerDistance::new().n_nodes(n_nodes), &rows);
            prop_assert!((coarse.value - fine.value).abs() <= coarse.numerical_bound + fine.numerical_bound);
            prop_assert!(coarse.numerical_bound < 8.0 / n_nodes as f64);
        }
    }
}

#[track_caller]
fn assert_is(rows: &[Row], expected: f64) {
    let estimate = measure(&LowerDistance::new(), rows);
    assert!((estimate.value - expected).abs() <= estimate.numerical_bound, "{} {expected}", estimate.value);
    assert!(estimate.numerical_bound < 1e-7, "{:e}", estimate.numerical_bound);
}

#[test]
fn one_probability_has_its_mean_residual() {
    assert_is(&[(0.3, true, 3.0), (0.3, false, 1.0)], 0.45);
}

#[test]
fn outcomes_of_one_kind_have_their_mean_residual() {
    assert_is(&[(0.3, true, 1.0), (0.8, true, 1.0)], 0.45);
    assert_is(&[(0.3, false, 1.0), (0.8, false, 1.0)], 0.55);
}

#[test]
fn calibrated_rows_are_at_no_distance() {
    assert_is(&[(0.0, false, 1.0), (0.5, true, 1.0), (0.5, false, 1.0), (0.25, true, 1.0), (0.25, false, 3.0)], 0.0);
}

/// The example of the papers: 1/2 - e with outcome 1 and 1/2 + e with outcome 0 is e away from
/// saying 1/2.
#[test]
fn two_points_next_to_one_half() {
    for e in [0.001, 0.01, 0.1] {
        assert_is(&[(0.5 - e, true, 1.0), (0.5 + e, false, 1.0)], e);
    }
}
