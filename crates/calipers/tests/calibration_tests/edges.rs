//! Where a formula divides by nothing, what is refused, and what must change nothing.

use calipers::Input;
use calipers::inference::calibration_tests::{
    AdaptiveTCal, CalibrationTest, CoxTest, CumulativeTest, HosmerLemeshow, NullDistribution, Spiegelhalter,
};

use crate::data::{Row, fixture};
use crate::rows::{Resampled, all, attempt, maximum, run};

fn rows(p: &[f64], y: &[u8]) -> Vec<Row> {
    p.iter().zip(y).map(|(p, y)| (*p, *y == 1, 1.0)).collect()
}

fn tests_with_a_variance() -> Vec<Box<dyn CalibrationTest>> {
    vec![
        Box::new(Spiegelhalter::new()),
        Box::new(HosmerLemeshow::new()),
        Box::new(CumulativeTest::new()),
        Box::new(maximum()),
    ]
}

#[test]
fn certain_predictions_that_come_true_say_nothing() {
    for test in tests_with_a_variance() {
        let result = run(&*test, &rows(&[0.0, 1.0, 1.0], &[0, 1, 1]));
        assert_eq!((result.statistic, result.p_value), (0.0, 1.0), "{}", result.test);
    }
    assert_eq!(run(&AdaptiveTCal::new(), &rows(&[0.0, 1.0, 1.0], &[0, 1, 1])).p_value, 1.0);
}

#[test]
fn an_outcome_that_was_said_to_be_impossible_refutes() {
    for (p, y) in [([0.0, 1.0, 1.0], [1, 1, 1]), ([0.0, 1.0, 1.0], [0, 1, 0])] {
        for test in tests_with_a_variance() {
            let result = run(&*test, &rows(&p, &y));
            assert_eq!((result.statistic, result.p_value), (f64::INFINITY, 0.0), "{}", result.test);
        }
    }
}

#[test]
fn a_group_of_certain_predictions_counts_only_if_one_is_wrong() {
    let p: Vec<f64> = (0..40).map(|k| if k < 20 { 0.0 } else { 0.5 }).collect();
    let y: Vec<u8> = (0..40).map(|k| if k < 20 { 0 } else { k % 2 }).collect();
    let test = HosmerLemeshow::new().n_groups(2);
    let result = run(&test, &rows(&p, &y));
    assert_eq!((result.degrees_of_freedom, result.p_value), (Some(1.0), 1.0));
    let mut wrong = rows(&p, &y);
    wrong[3].1 = true;
    assert_eq!(run(&test, &wrong).p_value, 0.0);
}

#[test]
fn predictions_next_to_certain_are_not_refuted_by_their_rounding() {
    for near in [1.0f64.next_down(), 1e-300, f64::MIN_POSITIVE / 4.0] {
        let y = u8::from(near > 0.5);
        for test in tests_with_a_variance() {
            let result = run(&*test, &rows(&[near, near, near, 0.3, 0.7], &[y, y, y, 0, 1]));
            assert!(result.statistic < 10.0 && result.p_value > 0.1, "{near:e} {result:?}");
        }
    }
}

#[test]
fn spiegelhalter_sees_nothing_at_one_half() {
    let result = run(&Spiegelhalter::new(), &rows(&[0.5; 20], &[1; 20]));
    assert_eq!((result.statistic, result.p_value), (0.0, 1.0));
    // Others do.
    assert!(run(&CumulativeTest::new(), &rows(&[0.5; 20], &[1; 20])).p_value < 0.01);
}

#[test]
fn what_is_out_of_range_is_refused() {
    let rows = fixture();
    let refusals: Vec<(Box<dyn CalibrationTest>, &str)> = vec![
        (Box::new(HosmerLemeshow::new().n_groups(1)), "n_groups must be from 2 to 10000, got 1"),
        (Box::new(HosmerLemeshow::new().n_groups(10_001)), "n_groups must be from 2 to 10000, got 10001"),
        (
            Box::new(HosmerLemeshow::new().n_groups(2).fitted(true)),
            "n_groups must be enough for at least 3 groups with predictions between 0 and 1, where these were fitted, got 2 with 2 such groups",
        ),
        (
            Box::new(HosmerLemeshow::new().fitted(true).null_distribution(Resampled)),
            "null_distribution must be \"auto\" or \"asymptotic\" for fitted predictions, since resampling would have to repeat the fit, got \"resampled\"",
        ),
        (Box::new(Spiegelhalter::new().n_resamples(0)), "n_resamples must be from 1 to 10000000, got 0"),
        (Box::new(CumulativeTest::new().n_resamples(0)), "n_resamples must be from 1 to 10000000, got 0"),
        (Box::new(AdaptiveTCal::new().n_resamples(0)), "n_resamples must be from 1 to 10000000, got 0"),
        (Box::new(AdaptiveTCal::new().most_bins(1)), "most_bins must be from 2 to 1048576, got 1"),
        (Box::new(CoxTest::new().level(1.0)), "level must be between 0 and 1, got 1"),
        (Box::new(CoxTest::new().level(f64::NAN)), "level must be between 0 and 1, got NaN"),
    ];
    for (test, text) in refusals {
        assert_eq!(attempt(&*test, &rows).unwrap_err().to_string(), text);
    }
    assert_eq!("drawn".parse::<NullDistribution>().unwrap_err().code(), "invalid_setting");
    assert_eq!("resampled".parse::<NullDistribution>(), Ok(Resampled));
}

#[test]
fn the_order_of_rows_and_the_scale_of_weights_change_nothing() {
    let weighted: Vec<Row> =
        fixture().into_iter().enumerate().map(|(k, row)| (row.0, row.1, 1.0 + (k % 4) as f64)).collect();
    for test in all(99, 5) {
        let expected = run(&*test, &weighted);
        let reversed: Vec<Row> = weighted.iter().rev().copied().collect();
        let scaled: Vec<Row> = weighted.iter().map(|row| (row.0, row.1, 1024.0 * row.2)).collect();
        for rows in [reversed, scaled] {
            let result = run(&*test, &rows);
            assert!(
                (result.statistic - expected.statistic).abs() < 1e-9 * expected.statistic,
                "{result:?} {expected:?}"
            );
            assert!((result.p_value - expected.p_value).abs() <= 1e-9, "{result:?} {expected:?}");
        }
        let plain = run(&*test, &fixture());
        let equal: Vec<Row> = fixture().into_iter().map(|row| (row.0, row.1, 3.0)).collect();
        let result = run(&*test, &equal);
        assert!((result.statistic - plain.statistic).abs() < 1e-9 * plain.statistic, "{result:?} {plain:?}");
        assert!((result.p_value - plain.p_value).abs() <= 1e-9, "{result:?} {plain:?}");
    }
}

#[test]
fn cox_intervals_do_not_depend_on_the_scale_of_weights() {
    let rows = fixture();
    let (p, y): (Vec<f64>, Vec<bool>) = rows.iter().map(|row| (row.0, row.1)).unzip();
    let slope = |weights: &[f64]| {
        let predictions = Input::probabilities(&p, &y).weights(weights).check().unwrap();
        CoxTest::new().inference(&predictions.binary().unwrap()).unwrap().slope
    };
    let (ones, threes) = (slope(&[1.0; 200]), slope(&[3.0; 200]));
    assert!((ones.upper - threes.upper).abs() < 1e-9);
    // Nearly equal weights take the sandwich, which is nearly the information here.
    let nearly: Vec<f64> = (0..200).map(|k| 1.0 + 1e-9 * f64::from(k)).collect();
    let nearly = slope(&nearly);
    assert!((nearly.standard_error / ones.standard_error - 1.0).abs() < 0.15, "{nearly:?} {ones:?}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    // Enough distinct probabilities for cells.
    let many: Vec<Row> = (0..20_000u32)
        .map(|k| {
            let p = (f64::from(k) * 0.618_033_988_749_895).fract();
            (p, (f64::from(k) * 0.754_877_666_246_693).fract() < p, 1.0)
        })
        .collect();
    let with_threads = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| all(99, 1).iter().map(|test| run(&**test, &many)).collect::<Vec<_>>())
    };
    assert_eq!(with_threads(1), with_threads(3));
    let drawn =
        |seed: u64| run(&CumulativeTest::new().null_distribution(Resampled).n_resamples(99).random_state(seed), &many);
    assert_eq!(drawn(1), drawn(1));
}

#[test]
fn drawing_from_cells_agrees_with_the_limit() {
    let family = calipers::population::Family::named("calibrated").unwrap();
    let sample = family.sample(50_000, 4);
    let predictions = sample.input().check().unwrap();
    let view = predictions.binary().unwrap();
    let both = |test: &dyn Fn(NullDistribution) -> Box<dyn CalibrationTest>| {
        [NullDistribution::Asymptotic, Resampled].map(|null| test(null).test(&view).unwrap().p_value)
    };
    let p_values = [
        both(&|null| Box::new(Spiegelhalter::new().null_distribution(null))),
        both(&|null| Box::new(HosmerLemeshow::new().null_distribution(null))),
        both(&|null| Box::new(CumulativeTest::new().null_distribution(null))),
        both(&|null| Box::new(maximum().null_distribution(null))),
    ];
    assert!(p_values.iter().all(|[limit, drawn]| (limit - drawn).abs() < 0.07), "{p_values:?}");
}
