//! What must hold whatever the data: weights, order, threads, symmetry, precision.

use calipers::{BinnedEce, Form, Input, Invalid, LsEce, Measure, Multiclass, Ties, link, noise};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

type Rows = Vec<(f64, bool, u8)>;

/// Probabilities with ties and ends, outcomes, and small whole weights.
fn rows() -> impl Strategy<Value = Rows> {
    let p = prop_oneof![0.0..1.0, Just(0.0), Just(1.0), Just(0.25), (0u8..=20).prop_map(|k| f64::from(k) / 20.0)];
    prop::collection::vec((p, any::<bool>(), 1u8..4), 1..60)
}

fn measures() -> Vec<Box<dyn Measure>> {
    let mut measures: Vec<Box<dyn Measure>> = Vec::new();
    for name in ["gaussian", "uniform", "logistic"] {
        measures.push(Box::new(LsEce::new().sigma(0.3).tolerance(1e-9).noise(noise::by_name(name).unwrap())));
    }
    measures.push(Box::new(LsEce::new().sigma(0.3).link(calipers::Probit)));
    measures.push(Box::new(BinnedEce::new()));
    measures.push(Box::new(BinnedEce::new().strategy(calipers::Strategy::Quantile).n_bins(4)));
    measures
}

fn value(measure: &dyn Measure, rows: &[(f64, bool)], weights: Option<&[f64]>) -> f64 {
    let (p, y): (Vec<f64>, Vec<bool>) = rows.iter().copied().unzip();
    let mut input = Input::probabilities(&p, &y);
    if let Some(weights) = weights {
        input = input.weights(weights);
    }
    measure.estimate(&input.check().unwrap().binary().unwrap()).unwrap().value
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, rng_seed: RngSeed::Fixed(20_261_115), ..ProptestConfig::default() })]

    #[test]
    fn a_weight_is_a_repeated_row(rows in rows()) {
        let plain: Vec<(f64, bool)> = rows.iter().map(|row| (row.0, row.1)).collect();
        let weights: Vec<f64> = rows.iter().map(|row| f64::from(row.2)).collect();
        let repeated: Vec<(f64, bool)> =
            rows.iter().flat_map(|row| std::iter::repeat_n((row.0, row.1), usize::from(row.2))).collect();
        for measure in measures() {
            let weighted = value(&*measure, &plain, Some(&weights));
            prop_assert!((weighted - value(&*measure, &repeated, None)).abs() <= 1e-12);
        }
    }

    #[test]
    fn the_scale_of_weights_does_not_matter(rows in rows(), exponent in -150i32..150) {
        let plain: Vec<(f64, bool)> = rows.iter().map(|row| (row.0, row.1)).collect();
        let weights: Vec<f64> = rows.iter().map(|row| f64::from(row.2)).collect();
        let scaled: Vec<f64> = weights.iter().map(|weight| weight * 10f64.powi(exponent)).collect();
        for measure in measures() {
            let (a, b) = (value(&*measure, &plain, Some(&weights)), value(&*measure, &plain, Some(&scaled)));
            prop_assert!((a - b).abs() <= 1e-12);
        }
    }

    #[test]
    fn row_order_changes_nothing(rows in rows(), seed in any::<u64>()) {
        let plain: Vec<(f64, bool)> = rows.iter().map(|row| (row.0, row.1)).collect();
        let mut shuffled = plain.clone();
        let mut state = seed | 1;
        for i in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.swap(i, (state >> 33) as usize % (i + 1));
        }
        for measure in measures() {
            prop_assert!((value(&*measure, &plain, None) - value(&*measure, &shuffled, None)).abs() <= 1e-12);
        }
    }

    #[test]
    fn the_other_class_has_the_same_ls_ece(rows in rows()) {
        let plain: Vec<(f64, bool)> = rows.iter().map(|row| (row.0, row.1)).collect();
        let other: Vec<(f64, bool)> = plain.iter().map(|row| (1.0 - row.0, !row.1)).collect();
        for noise_name in ["gaussian", "uniform", "logistic", "laplace", "epanechnikov"] {
            for link_name in ["logistic", "probit"] {
                let tolerance = if matches!(noise_name, "laplace" | "epanechnikov") { 1e-4 } else { 1e-9 };
                let measure = LsEce::new()
                    .sigma(0.4)
                    .tolerance(tolerance)
                    .noise(noise::by_name(noise_name).unwrap())
                    .link(link::by_name(link_name).unwrap());
                // Both are within the tolerance of the same number; 1 - p itself is rounded, too.
                let difference = (value(&measure, &plain, None) - value(&measure, &other, None)).abs();
                prop_assert!(difference <= 2.0 * tolerance, "{noise_name}, {link_name}: {difference:e}");
            }
        }
    }

    #[test]
    fn rows_left_out_are_as_if_never_there(rows in rows(), bad in prop::collection::vec((0usize..60, 0u8..3), 1..5)) {
        let good: Vec<(f64, bool)> = rows.iter().map(|row| (row.0, row.1)).collect();
        let (mut p, mut y): (Vec<f64>, Vec<f64>) = good.iter().map(|row| (row.0, f64::from(u8::from(row.1)))).unzip();
        for &(place, kind) in &bad {
            let place = place.min(p.len());
            p.insert(place, if kind == 0 { f64::NAN } else { 0.5 });
            y.insert(place, if kind == 0 { 1.0 } else { 7.0 });
        }
        for measure in measures() {
            let predictions = Input::probabilities(&p, &y).invalid(Invalid::Count).check().unwrap();
            let estimate = measure.estimate(&predictions.binary().unwrap()).unwrap();
            prop_assert_eq!(estimate.input.n_left_out(), bad.len() as u64);
            prop_assert_eq!(estimate.n, good.len() as u64);
            prop_assert!((estimate.value - value(&*measure, &good, None)).abs() <= 1e-12);
        }
    }
}

/// Deterministic rows without a random number generator.
fn many(n: usize) -> Vec<(f64, bool)> {
    let fraction = |k: usize, step: f64| (k as f64 * step).fract();
    (1..=n).map(|k| (fraction(k, 0.618_033_988_749_894_9), fraction(k, 0.754_877_666_246_692_7) < 0.6)).collect()
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let rows = many(200_000);
    let weights: Vec<f64> = (0..rows.len()).map(|k| 1.0 + (k % 7) as f64 / 3.0).collect();
    let with_threads = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        let all = || {
            let mut values: Vec<u64> = Vec::new();
            for measure in measures() {
                values.push(value(&*measure, &rows, None).to_bits());
                values.push(value(&*measure, &rows, Some(&weights)).to_bits());
            }
            values
        };
        pool.install(all)
    };
    let one = with_threads(1);
    assert_eq!(one, with_threads(2));
    assert_eq!(one, with_threads(7));
}

#[test]
fn cells_and_rows_agree_within_their_bounds() {
    // A weight of 1 for each row changes nothing but the way: weighted rows are taken one by one.
    let rows = many(300_000);
    let weights = vec![1.0; rows.len()];
    let (p, y): (Vec<f64>, Vec<bool>) = rows.into_iter().unzip();
    let plain = Input::probabilities(&p, &y).check().unwrap();
    let weighted = Input::probabilities(&p, &y).weights(&weights).check().unwrap();
    for link_name in link::NAMES {
        for noise_name in ["gaussian", "logistic"] {
            for sigma in [calipers::Sigma::Auto, 0.5.into(), 0.02.into()] {
                let measure = LsEce::new()
                    .sigma(sigma)
                    .noise(noise::by_name(noise_name).unwrap())
                    .link(link::by_name(link_name).unwrap());
                let by_cells = measure.estimate(&plain.binary().unwrap()).unwrap();
                let by_rows = measure.estimate(&weighted.binary().unwrap()).unwrap();
                let (a, b) = (by_cells.settings.number("sigma").unwrap(), by_rows.settings.number("sigma").unwrap());
                assert!((a / b - 1.0).abs() < 1e-8, "{link_name}, {noise_name}: sigma {a} against {b}");
                let allowed = by_cells.numerical_bound + by_rows.numerical_bound;
                let difference = (by_cells.value - by_rows.value).abs();
                assert!(difference <= allowed, "{link_name}, {noise_name}, {sigma:?}: {difference:e}");
            }
        }
    }
}

#[test]
fn weights_of_any_size_are_relative() {
    let (p, y) = ([0.2, 0.2, 0.9, 0.7], [0, 1, 1, 0]);
    for weight in [1.0, 9e307, 5e-324, 1e-320] {
        let weights = [weight; 4];
        let predictions = Input::probabilities(&p, &y).weights(&weights).check().unwrap();
        for strategy in [calipers::Strategy::Uniform, calipers::Strategy::Quantile] {
            let ece = BinnedEce::new().strategy(strategy).estimate(&predictions.binary().unwrap()).unwrap();
            assert!((ece.value - 0.35).abs() < 1e-14, "{weight:e}: {}", ece.value);
        }
        let plain = Input::probabilities(&p, &y).check().unwrap();
        let of = |predictions: &calipers::Predictions<'_>| {
            LsEce::new().sigma(0.3).estimate(&predictions.binary().unwrap()).unwrap().value
        };
        assert!((of(&predictions) - of(&plain)).abs() < 1e-12);
    }
}

#[test]
fn rows_of_no_weight_have_no_say() {
    let h = [0.0, 1e12, 0.4];
    let predictions = Input::logits(&h, &[1, 0, 0]).weights(&[1.0, 0.0, 1.0]).check().unwrap();
    let without = Input::logits(&[0.0, 0.4], &[1, 0]).check().unwrap();
    let of = |predictions: &calipers::Predictions<'_>| {
        LsEce::new().sigma(0.01).estimate(&predictions.binary().unwrap()).unwrap().value
    };
    assert!((of(&predictions) - of(&without)).abs() < 1e-12);
}

#[test]
fn logits_that_differ_by_rounding_only_have_no_spread() {
    for p in [
        vec![0.3, 0.300_000_000_000_000_04, 0.3, 0.1 + 0.2],
        [vec![0.8; 6], vec![0.800_000_000_000_000_2; 6], vec![0.1, 0.99]].concat(),
    ] {
        let y = vec![true; p.len()];
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let estimate = LsEce::new().estimate(&predictions.binary().unwrap()).unwrap();
        // As if they were equal.
        let rounded: Vec<f64> = p.iter().map(|p: &f64| (p * 1e9).round() / 1e9).collect();
        let equal = Input::probabilities(&rounded, &y).check().unwrap();
        let equal = LsEce::new().estimate(&equal.binary().unwrap()).unwrap();
        let [found, equal] = [&estimate, &equal].map(|estimate| estimate.settings.number("sigma").unwrap());
        assert!((found / equal - 1.0).abs() < 1e-9 && found > 0.03, "{found} {equal}");
    }
}

#[test]
fn masked_classes_can_be_measured_class_by_class() {
    let z = [1.0, 0.5, -1e9, 746.0, 0.0, -1e9, -0.3, 0.2, f64::from(f32::MIN)];
    let predictions = Input::logits(&z, &[0, 0, 1]).classes(3).check().unwrap();
    for link_name in link::NAMES {
        let measure = LsEce::new().sigma(0.3).link(link::by_name(link_name).unwrap());
        let estimate = predictions.estimate(Multiclass::Classwise, Ties::First, &measure).unwrap();
        assert!(estimate.value.is_finite() && estimate.numerical_bound <= 1e-6, "{link_name}");
        // Nobody ever expects the masked class, and it never comes.
        assert!(estimate.per_class[2].value <= estimate.per_class[2].numerical_bound + 1e-12);
    }
}

#[test]
fn what_is_wrong_with_all_rows_is_refused_even_where_bad_rows_are_counted() {
    let code = |input: Input<'_>| input.invalid(Invalid::Count).check().unwrap_err().code();
    assert_eq!(code(Input::probabilities(&[87.5, 40.0, 0.5], &[1, 0, 0])), "percentages");
    assert_eq!(code(Input::probabilities(&[1.0, 0.0, 0.0], &[0.9, 0.4, 0.2])), "swapped");
    let p = [0.2, 0.3, 0.5, 0.5, 0.25, 0.25, 0.2, 0.3, 0.5];
    assert_eq!(code(Input::probabilities(&p, &[1, 2, 3]).classes(3)), "labels_from_one");
    // One slip among good rows is a slip.
    let counted = Input::probabilities(&[87.5, 0.4, 0.5], &[1, 0, 0]).invalid(Invalid::Count).check().unwrap();
    assert_eq!(counted.report().n_left_out(), 1);
}

#[test]
fn a_label_that_is_nan_is_missing() {
    let refusal = Input::probabilities(&[0.5, 0.5], &[1.0, f64::NAN]).check().unwrap_err();
    assert_eq!(refusal.to_string(), "label in row 1 is missing");
    let refusal = Input::probabilities(&[0.5, 0.5], &[1.0, f64::NAN]).positive("1").check().unwrap_err();
    assert_eq!(refusal.to_string(), "label in row 1 is missing");
}

#[test]
fn marks_of_missing_values_must_fit_the_rows() {
    let refusal = Input::probabilities(&[0.2, 0.3], &[0, 1]).missing(Some(&[false]), None, None).check().unwrap_err();
    assert_eq!(refusal.code(), "length_mismatch");
    let nothing: [f64; 0] = [];
    assert!(Input::probabilities(&nothing, &[0, 1]).classes(1 << 63).check().is_err());
}

#[test]
fn single_precision_is_read_as_the_doubles_that_it_holds() {
    let rows = many(3000);
    let single: Vec<f32> = rows.iter().map(|row| row.0 as f32).collect();
    let as_double: Vec<(f64, bool)> = single.iter().zip(&rows).map(|(p, row)| (f64::from(*p), row.1)).collect();
    let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
    for measure in measures() {
        let predictions = Input::probabilities(single.as_slice(), &y).check().unwrap();
        let estimate = measure.estimate(&predictions.binary().unwrap()).unwrap();
        assert_eq!(estimate.value.to_bits(), value(&*measure, &as_double, None).to_bits());
    }
}

#[test]
fn labels_of_every_type_are_the_same_outcomes() {
    let p = [0.9, 0.2, 0.6];
    let measure = BinnedEce::new();
    let of = |input: Input<'_>| measure.estimate(&input.check().unwrap().binary().unwrap()).unwrap().value;
    let expected = of(Input::probabilities(&p, &[true, false, true]));
    macro_rules! same {
        ($($type:ty),*) => {$( assert_eq!(of(Input::probabilities(&p, &[1 as $type, 0 as $type, 1 as $type])), expected); )*};
    }
    same!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
    let text = ["yes", "no", "yes"].map(String::from);
    assert_eq!(of(Input::probabilities(&p, &text).positive("yes")), expected);
    let shared = ["yes", "no", "yes"].map(std::sync::Arc::<str>::from);
    assert_eq!(of(Input::probabilities(&p, &shared).positive("yes")), expected);
    assert_eq!(of(Input::probabilities(&p, &[1, -1, 1]).positive("1")), expected);
    assert_eq!(of(Input::probabilities(&p, &[true, false, true]).positive("true")), expected);
}

#[test]
fn two_columns_are_read_as_the_second() {
    let rows = many(500);
    let two: Vec<f64> = rows.iter().flat_map(|row| [1.0 - row.0, row.0]).collect();
    let y: Vec<u8> = rows.iter().map(|row| u8::from(row.1)).collect();
    let predictions = Input::probabilities(&two, &y).classes(2).check().unwrap();
    let measure = LsEce::new().sigma(0.2);
    let estimate = measure.estimate(&predictions.binary().unwrap()).unwrap();
    assert_eq!(estimate.value, value(&measure, &rows, None));
}

#[test]
fn raw_scores_give_the_logits_that_probabilities_would_lose() {
    // Softmax rounds the first row's top class to 1; its log-odds are 50 - ln 2.
    let z = [50.0, 0.0, 0.0, 1.0, 0.0, -1.0];
    let predictions = Input::logits(&z, &[0, 2]).classes(3).check().unwrap();
    let view = predictions.top_class(Ties::First).unwrap();
    let mut rows = calipers::Rows::default();
    view.read(0..2, &mut rows);
    assert!((rows.scores[0] - (50.0 - 2f64.ln())).abs() < 1e-14);
    assert!((rows.scores[1] - (1.0 - (1.0 + (-1f64).exp()).ln())).abs() < 1e-14);
    assert_eq!(rows.outcomes, [true, false]);
    assert_eq!(LsEce::new().sigma(0.1).estimate(&view).unwrap().n_clipped, 0);
}

#[test]
fn other_links_take_their_logit_from_both_tails() {
    // At log-odds 40 the probability rounds to 1, but Phi^-1 of 1 - e^-40 is 8.6...: not clipped,
    // not infinite.
    let predictions = Input::logits(&[0.0, 40.0], &[1]).classes(2).check().unwrap();
    let view = predictions.binary().unwrap();
    let curve = LsEce::new().sigma(0.1).link(calipers::Probit).curve(&view, &[0.5]).unwrap();
    assert!(curve.densities[0] < 1e-100, "the mass is far from 1/2");
    let estimate = LsEce::new().sigma(0.1).link(calipers::Probit).estimate(&view).unwrap();
    assert!(estimate.value < 1e-15 + estimate.numerical_bound);
}

#[test]
fn ties_for_the_top_class_follow_the_rule_and_are_counted() {
    let p = [0.4, 0.4, 0.2, 0.1, 0.1, 0.8];
    let predictions = Input::probabilities(&p, &[1, 2]).classes(3).check().unwrap();
    let outcomes = |ties| {
        let view = predictions.top_class(ties).unwrap();
        let mut rows = calipers::Rows::default();
        view.read(0..2, &mut rows);
        (rows.outcomes, view.report().n_ties)
    };
    assert_eq!(outcomes(Ties::First), (vec![false, true], 1));
    assert_eq!(outcomes(Ties::Any), (vec![true, true], 1));
}

#[test]
fn every_class_has_its_view() {
    let p = [0.5, 0.3, 0.2, 0.1, 0.2, 0.7];
    let predictions = Input::probabilities(&p, &[0, 2]).classes(3).check().unwrap();
    let read = |view: calipers::BinaryView<'_>| {
        let mut rows = calipers::Rows::default();
        view.read(0..2, &mut rows);
        (rows.scores, rows.outcomes)
    };
    let views: Vec<_> = (0..3).map(|class| read(predictions.one_class(class).unwrap())).collect();
    assert_eq!(views[0], (vec![0.5, 0.1], vec![true, false]));
    assert_eq!(views[1], (vec![0.3, 0.2], vec![false, false]));
    assert_eq!(views[2], (vec![0.2, 0.7], vec![false, true]));
}

#[test]
fn class_by_class_is_the_mean_over_classes() {
    let p = [0.5, 0.3, 0.2, 0.1, 0.2, 0.7];
    let predictions = Input::probabilities(&p, &[0, 2]).classes(3).check().unwrap();
    let mean = predictions.estimate(Multiclass::Classwise, Ties::First, &BinnedEce::new()).unwrap();
    let single = |class| predictions.estimate(Multiclass::Class(class), Ties::First, &BinnedEce::new()).unwrap();
    assert_eq!(mean.per_class, [single(0), single(1), single(2)]);
    assert!((mean.value - (single(0).value + single(1).value + single(2).value) / 3.0).abs() < 1e-15);
    let sigmas = predictions.estimate(Multiclass::Classwise, Ties::First, &LsEce::new()).unwrap().settings;
    assert_eq!(sigmas.text("sigma"), Some("by class"));
}

#[test]
fn rounding_beyond_the_ends_is_clipped_and_counted() {
    let predictions = Input::probabilities(&[1.0000001, -0.0000001, 0.5], &[1, 0, 1]).check().unwrap();
    assert_eq!(predictions.report().n_rounded, 2);
    let estimate = BinnedEce::new().estimate(&predictions.binary().unwrap()).unwrap();
    assert!((estimate.value - 0.5 / 3.0).abs() < 1e-15);
    let estimate = LsEce::new().estimate(&predictions.binary().unwrap()).unwrap();
    assert_eq!(estimate.n_clipped, 2);
}

/// A softmax in single precision, whose sum loses what is too small beside it: the hardest rows.
fn single_softmax(exponentials: &[f32]) -> Vec<f32> {
    let sum: f32 = exponentials.iter().fold(0.0, |sum, value| sum + value);
    exponentials.iter().map(|value| value / sum).collect()
}

#[test]
fn what_single_precision_rounds_is_accepted_for_any_number_of_classes() {
    for k in [2_usize, 10, 1000, 10_000] {
        let lost = f32::EPSILON / 4.0;
        let rows = [
            single_softmax(&[&[1.0][..], &vec![lost; k - 1]].concat()),
            single_softmax(&[&vec![lost; k - 1][..], &[1.0]].concat()),
            single_softmax(&vec![0.1; k]),
        ];
        for row in rows {
            let wide: Vec<f64> = row.iter().map(|p| f64::from(*p)).collect();
            // No tolerance but that of rounding, whatever the type is.
            Input::probabilities(&row, &[0]).classes(k).sum_tolerance(0.0).check().unwrap();
            Input::probabilities(&wide, &[0]).classes(k).sum_tolerance(0.0).check().unwrap();
        }
        // A probability above 1 by k roundings is 1.
        let mut row = vec![0.0; k];
        row[0] = 1.0 + k as f64 * 2f64.powi(-24);
        let predictions = Input::probabilities(&row, &[0]).classes(k).check().unwrap();
        assert_eq!(predictions.report().n_rounded, 1);
        assert_eq!(BinnedEce::new().estimate(&predictions.top_class(Ties::First).unwrap()).unwrap().value, 0.0);
        row[0] = 1.0015;
        assert_eq!(Input::probabilities(&row, &[0]).classes(k).check().unwrap_err().code(), "invalid_probability");
    }
    // Programs add 1e-5 to probabilities before they take logarithms.
    let predictions = Input::probabilities(&[1.00001_f32, 0.00001], &[0]).classes(2).check().unwrap();
    assert_eq!(predictions.report().n_rounded, 1);
    assert!(Input::probabilities(&[1.0001], &[1]).check().is_err());
    assert!(Input::probabilities(&[-0.0001], &[1]).check().is_err());
}

#[test]
fn text_that_is_true_or_false_is_an_outcome_in_any_case() {
    let texts: Vec<String> = ["True", "false", "TRUE", "False"].map(str::to_owned).to_vec();
    let p = [0.9, 0.2, 0.6, 0.4];
    for measure in [&LsEce::new().sigma(0.5) as &dyn Measure, &BinnedEce::new()] {
        let value = |input: Input<'_>| input.estimate(Multiclass::Auto, Ties::First, measure).unwrap();
        assert_eq!(value(Input::probabilities(&p, &texts)), value(Input::probabilities(&p, &[1, 0, 1, 0])));
    }
    let mixed: Vec<String> = ["True", "no"].map(str::to_owned).to_vec();
    let refusal = Input::probabilities(&[0.5, 0.5], &mixed).check().unwrap_err();
    assert_eq!(refusal.to_string(), "label in row 1 must be 0 or 1, got \"no\"; the labels are \"True\", \"no\"");
}

#[test]
fn an_error_can_name_another_place_than_its_row() {
    let refusal = Input::probabilities(&[0.5, 1.5], &[1, 0]).check().unwrap_err();
    assert_eq!(refusal.row(), Some(1));
    assert_eq!(refusal.text_at("line 3"), "probability in line 3 must be in [0, 1], got 1.5");
    assert_eq!(calipers::Error::Swapped.text_at("line 3"), calipers::Error::Swapped.to_string());
}

#[test]
fn batches_of_a_stream_name_rows_of_the_whole() {
    let mut tally = calipers::Tally::default();
    Input::probabilities(&[0.5, 0.5], &[1, 0]).check_batch(&mut tally).unwrap();
    let refusal = Input::probabilities(&[0.5, 1.5], &[1, 0]).first_row(2).check_batch(&mut tally).unwrap_err();
    assert_eq!(refusal.to_string(), "probability in row 3 must be in [0, 1], got 1.5");
    tally.finish().unwrap();
    assert_eq!(
        calipers::Tally::default().finish().unwrap_err().to_string(),
        "no rows: at least one prediction is needed"
    );
}

#[test]
fn rows_without_weights_count_beside_rows_of_weight_0() {
    let mut tally = calipers::Tally::default();
    Input::probabilities(&[0.5], &[1]).weights(&[0.0]).check_batch(&mut tally).unwrap();
    assert!(tally.finish().is_err());
    Input::probabilities(&[0.5], &[1]).check_batch(&mut tally).unwrap();
    tally.finish().unwrap();
}

#[test]
fn sigma_auto_is_the_documented_rule() {
    let sigma = |p: &[f64]| {
        let y = vec![true; p.len()];
        let predictions = Input::probabilities(p, &y).check().unwrap();
        let estimate = LsEce::new().estimate(&predictions.binary().unwrap()).unwrap();
        estimate.settings.number("sigma").unwrap()
    };
    // One point, and many equal ones: no spread at all but the 0.1 that is not resolved.
    assert!((sigma(&[0.7]) - 0.125).abs() < 1e-12);
    assert!((sigma(&[0.7; 8]) - 0.0625).abs() < 1e-12);
    // Seven logits of 0 that count 1/4 each, and one of ln 9 that counts 0.09.
    let mut p = vec![0.5; 7];
    p.push(0.9);
    let variance = 9f64.ln().powi(2) * (1.75 * 0.09) / 1.84f64.powi(2);
    assert!((sigma(&p) - 1.25 * 0.5 * (variance + 0.01).sqrt()).abs() < 1e-12);
    // Logits -2, -1, 1, 2, of which the outer ones count ρ(2) ρ(-2) and the inner ones ρ(1) ρ(-1).
    let rho = |h: f64| 1.0 / (1.0 + (-h).exp());
    let p: Vec<f64> = [-2.0, -1.0, 1.0, 2.0].map(rho).to_vec();
    let [inner, outer] = [1.0, 2.0].map(|h| rho(h) * rho(-h));
    let variance = (inner + 4.0 * outer) / (inner + outer);
    assert!((sigma(&p) - 1.25 * (variance + 0.01).sqrt() * 4f64.powf(-1.0 / 3.0)).abs() < 1e-9);
    // Rows that are sure hardly count: those of 1 - 1e-6, to which others are clipped, add 4 %
    // here.
    let far = [vec![0.4; 1000], vec![1.0 - 1e-12; 1000]].concat();
    assert!((sigma(&far) / (0.125 * 2000f64.powf(-1.0 / 3.0)) - 1.0).abs() < 0.05, "{}", sigma(&far));
}

#[test]
fn mirrored_predictions_have_the_same_sigma() {
    for n in [4, 7, 200] {
        let rows = many(n);
        let sigma = |mirrored: bool| {
            let p: Vec<f64> = rows.iter().map(|row| if mirrored { 1.0 - row.0 } else { row.0 }).collect();
            let y = vec![true; n];
            let predictions = Input::probabilities(&p, &y).check().unwrap();
            LsEce::new().estimate(&predictions.binary().unwrap()).unwrap().settings.number("sigma").unwrap()
        };
        assert!((sigma(false) - sigma(true)).abs() < 1e-12, "n = {n}");
    }
}

#[test]
fn silly_options_are_refused_and_neither_hang_nor_exhaust_memory() {
    let predictions = Input::logits(&[-1e300, 1e300, 0.5], &[1, 0, 1]).check().unwrap();
    let view = predictions.binary().unwrap();
    assert_eq!(Input::logits(&[1e308], &[1]).check().unwrap_err().code(), "invalid_logit");
    for noise_name in noise::NAMES {
        for link_name in link::NAMES {
            let measure =
                LsEce::new().noise(noise::by_name(noise_name).unwrap()).link(link::by_name(link_name).unwrap());
            // By rule, logits of that size count nothing for sigma.
            if let Ok(estimate) = measure.estimate(&view) {
                assert!(estimate.settings.number("sigma").unwrap() < 1.0, "{noise_name} {link_name}");
                assert!(estimate.value.is_finite() && estimate.numerical_bound <= 1e-6);
            }
            assert!(measure.clone().sigma(1e6).tolerance(1e-14).estimate(&view).is_err());
            // Scores of that size are told apart from nothing: an error, or a value that is right.
            if let Ok(estimate) = measure.sigma(0.1).estimate(&view) {
                assert!(estimate.value.is_finite() && estimate.numerical_bound <= 1e-6);
            }
        }
    }
}

#[test]
fn the_curve_integrates_to_ls_ece() {
    let rows = many(400);
    let (p, y): (Vec<f64>, Vec<bool>) = rows.iter().copied().unzip();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    for noise_name in noise::NAMES {
        let measure = LsEce::new().sigma(0.5).tolerance(1e-5).noise(noise::by_name(noise_name).unwrap());
        // By t = rho(u) with equally spaced u, dt = rho' du: the trapezoid rule on the whole line.
        let n = 8000;
        let at: Vec<f64> = (0..n).map(|k| 1.0 / (1.0 + (-(f64::from(k) / f64::from(n) * 40.0 - 20.0)).exp())).collect();
        let curve = measure.curve(&view, &at).unwrap();
        let gap = |i: usize| {
            let rate = curve.outcome_rates[i];
            if rate.is_nan() { 0.0 } else { (rate - at[i]).abs() * curve.densities[i] * at[i] * (1.0 - at[i]) }
        };
        let integral: f64 = (0..at.len()).map(gap).sum::<f64>() * 40.0 / f64::from(n);
        let value = measure.estimate(&view).unwrap().value;
        assert!((integral - value).abs() < 2e-4, "{noise_name}: {integral} against {value}");
        // Near 0 and 1 the density on t is that on u divided by a slope of almost nothing, and its
        // bound with it.
        let middle = || (0..at.len()).filter(|&i| at[i] > 0.01 && at[i] < 0.99);
        assert!(middle().all(|i| curve.density_bounds[i] <= 1e-10 && curve.outcome_rate_bounds[i] <= 1e-8));
    }
}

#[test]
fn forms_are_never_guessed() {
    assert_ne!(Form::Probabilities, Form::Logits);
    let scores = [0.2, 0.7];
    let of =
        |input: Input<'_>| LsEce::new().sigma(0.1).estimate(&input.check().unwrap().binary().unwrap()).unwrap().value;
    assert!((of(Input::probabilities(&scores, &[0, 1])) - of(Input::logits(&scores, &[0, 1]))).abs() > 0.05);
}
