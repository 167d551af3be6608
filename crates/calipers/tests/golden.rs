//! Values that others have computed: the golden fixture of 200 rows with ties, edge hits, 0 and 1.

mod oracle;

use calipers::{BinnedEce, Compat, Input, LsEce, Measure, Strategy, Uniform};

fn fixture() -> (Vec<f64>, Vec<bool>) {
    let fraction = |k: u32, step: f64| (f64::from(k) * step).rem_euclid(1.0);
    let mut p: Vec<f64> = (1..=200).map(|k| (fraction(k, 0.618_033_988_749_894_9) * 100.0).round() / 100.0).collect();
    let outcome = |k: u32| {
        let p = p[k as usize - 1];
        fraction(k, 0.754_877_666_246_692_7) < p + 0.2 * (std::f64::consts::TAU * p).sin()
    };
    let outcomes = (1..=200).map(outcome).collect();
    let place =
        |better: fn(&f64, &f64) -> bool| (0..200).reduce(|a, b| if better(&p[b], &p[a]) { b } else { a }).unwrap();
    let (largest, smallest) = (place(f64::gt), place(f64::lt));
    p[largest] = 1.0;
    p[smallest] = 0.0;
    (p, outcomes)
}

#[track_caller]
fn assert_value(estimator: &impl Measure, expected: f64, digits: f64) {
    let (p, outcomes) = fixture();
    let predictions = Input::probabilities(&p, &outcomes).check().unwrap();
    let estimate = estimator.estimate(&predictions.binary().unwrap()).unwrap();
    assert!((estimate.value - expected).abs() <= digits, "{} against {expected}", estimate.value);
}

#[test]
fn the_fixture_is_the_one_of_the_table() {
    let (p, outcomes) = fixture();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome).count(), 98);
    assert!((p.iter().sum::<f64>() - 100.47).abs() < 1e-9);
}

#[test]
fn ls_ece_gaussian() {
    assert_value(&LsEce::new().sigma(1.0), 0.145447262, 2e-7);
    assert_value(&LsEce::new().sigma(0.5), 0.122118358, 2e-7);
    assert_value(&LsEce::new().sigma(0.1), 0.122594736, 2e-7);
}

/// The table's value is a trapezoid sum of a function with 400 jumps, good to a few millionths; the
/// closed form has no such error.
#[test]
fn ls_ece_uniform() {
    assert_value(&LsEce::new().sigma(0.5).noise(Uniform), 0.122680651, 5e-6);
    let (p, outcomes) = fixture();
    let logits: Vec<f64> = p.iter().map(|p| oracle::logit(*p, 1e-6)).collect();
    let closed_form = oracle::ls_ece_uniform(&oracle::points(&logits, &outcomes), 0.5);
    assert_value(&LsEce::new().sigma(0.5).noise(Uniform), closed_form, 1e-12);
}

#[test]
fn binned_ece_and_its_presets() {
    let ece = || BinnedEce::new().n_bins(10);
    assert_value(&ece(), 0.11155, 1e-12);
    assert_value(&ece().compat(Compat::Sklearn), 0.11155, 1e-12);
    assert_value(&ece().compat(Compat::Netcal), 0.11765, 1e-9);
    assert_value(&ece().compat(Compat::Torchmetrics), 0.11765, 1e-7);
    assert_value(&BinnedEce::new().n_bins(15), 0.11865, 1e-12);
}

#[test]
fn a_probability_of_one_has_a_bin_of_its_own_only_in_torchmetrics() {
    let ece = |compat: Option<Compat>| {
        let predictions = Input::probabilities(&[0.95, 1.0], &[1, 0]).check().unwrap();
        BinnedEce::new().n_bins(10).compat(compat).estimate(&predictions.binary().unwrap()).unwrap().value
    };
    assert!((ece(None) - 0.475).abs() < 1e-15);
    assert!((ece(Some(Compat::Sklearn)) - 0.475).abs() < 1e-15);
    assert!((ece(Some(Compat::Netcal)) - 0.475).abs() < 1e-15);
    assert!((ece(Some(Compat::Torchmetrics)) - 0.525).abs() < 1e-7);
}

#[test]
fn edges_of_the_presets_differ_where_their_types_do() {
    let place = |p: f64, compat: Option<Compat>| {
        let p = [p];
        let predictions = Input::probabilities(&p, &[1]).check().unwrap();
        let bins = BinnedEce::new().n_bins(10).compat(compat).bins(&predictions.binary().unwrap()).unwrap();
        bins.iter().position(|bin| bin.n == 1).unwrap()
    };
    // 3 * 0.1 is above 0.3, and 3 / 10 is 0.3: the same bin (0.2, 0.3] here, but [0.2, 0.3) there.
    assert_eq!(place(0.3, None), 2);
    assert_eq!(place(0.3, Some(Compat::Sklearn)), 2);
    assert_eq!(place(0.3, Some(Compat::Netcal)), 2);
    assert_eq!(place(0.3, Some(Compat::Torchmetrics)), 3);
    assert_eq!(place(0.5, None), 4);
    assert_eq!(place(0.5, Some(Compat::Netcal)), 5);
}

#[test]
fn equal_mass_bins_pool_ties_and_do_not_depend_on_row_order() {
    let p = [0.1, 0.5, 0.5, 0.5, 0.5, 0.9];
    let y = [0, 1, 0, 1, 1, 1];
    let table = |p: &[f64], y: &[i32]| {
        let predictions = Input::probabilities(p, y).check().unwrap();
        BinnedEce::new().n_bins(3).strategy(Strategy::Quantile).bins(&predictions.binary().unwrap()).unwrap()
    };
    let counts: Vec<u64> = table(&p, &y).iter().map(|bin| bin.n).collect();
    assert_eq!(counts, [5, 0, 1]);
    let (reversed_p, reversed_y): (Vec<f64>, Vec<i32>) = p.into_iter().zip(y).rev().unzip();
    assert_eq!(table(&reversed_p, &reversed_y)[0].outcome_rate, 0.6);
}
