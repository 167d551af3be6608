//! What few rows, equal outcomes and measures without a bias must not be taken for.

use calipers::population::Family;
use calipers::{Assess, BinnedEce, Compare, Input, LsEce, Measure, Norm, Sample, Settings, registry};

#[test]
fn one_row_is_on_no_side_of_a_threshold() {
    let (p, y) = ([0.3], [true]);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    for threshold in [0.01, 0.5, 0.9] {
        let against = Assess::new(&LsEce::new()).n_resamples(50).run(&view).unwrap().against(threshold).unwrap();
        assert!(against.p_value > 0.5, "{against:?}");
    }
    let other = Input::probabilities(&[0.4], &y).check().unwrap();
    let compared =
        Compare::new(&BinnedEce::new()).n_resamples(50).run(&[("a", &view), ("b", &other.binary().unwrap())]);
    assert_eq!(compared.unwrap().pairs[0].p_value, 1.0);
}

/// 300 rows without an event say that it happens to fewer than about 3 in 300 (or, from both sides,
/// 3.7).
#[test]
fn equal_outcomes_have_the_interval_of_their_number() {
    let (p, y) = (vec![0.02; 300], vec![false; 300]);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let found = Assess::new(&BinnedEce::new()).n_resamples(200).run(&predictions.binary().unwrap()).unwrap();
    let half = 40f64.ln() / 300.0;
    assert!((found.interval.lower - (0.02 - half)).abs() < 1e-9 && (found.interval.upper - (0.02 + half)).abs() < 1e-9);
}

/// A model with many distinct predictions has the larger floor, and is not worse for that.
#[test]
fn the_better_model_is_the_one_that_the_interval_says() {
    let sample = Family::named("calibrated").unwrap().sample(1500, 5);
    let rho = |h: &f64| 1.0 / (1.0 + (-h).exp());
    let fine: Vec<f64> = sample.scores.iter().map(rho).collect();
    let rate = sample.outcomes.iter().filter(|y| **y).count() as f64 / 1500.0;
    let constant = vec![rate - 0.04; 1500];
    let fine = Input::probabilities(&fine, &sample.outcomes).check().unwrap();
    let constant = Input::probabilities(&constant, &sample.outcomes).check().unwrap();
    let measure = BinnedEce::new().n_bins(800);
    let models = [("constant", &constant.binary().unwrap()), ("fine", &fine.binary().unwrap())];
    let found = Compare::new(&measure).n_resamples(200).run(&models).unwrap();
    let pair = &found.pairs[0];
    assert!((pair.interval.lower..=pair.interval.upper).contains(&pair.difference), "{pair:?}");
    let better = if pair.difference < 0.0 { "constant is better" } else { "fine is better" };
    assert!(
        found.sentence().contains(better)
            || found.sentence().contains("There is no evidence that constant and fine differ"),
        "{}",
        found.sentence()
    );
}

#[test]
fn a_score_keeps_its_value_and_an_unbiased_measure_its_centre() {
    let sample = Family::named("shifted").unwrap().sample(1000, 3);
    let predictions = sample.input().check().unwrap();
    let view = predictions.binary().unwrap();
    for name in ["brier_score", "log_loss", "tcal_squared_error", "debiased_ece"] {
        let measure = registry::make(name, &Settings::default()).unwrap();
        let found = Assess::new(&*measure).n_resamples(60).run(&view).unwrap();
        assert!((found.debiased - found.estimate.value.max(0.0)).abs() < 1e-12, "{name}: {found:?}");
        if !found.interval.is_upper_limit {
            let centre = 0.5 * (found.interval.lower + found.interval.upper);
            assert!((centre - found.estimate.value).abs() < 1e-3, "{name}: {:?}", found.interval);
        }
    }
}

#[test]
fn norms_have_their_names_and_no_interval_leaves_the_range() {
    let (p, y) = (vec![0.05; 40], [vec![true; 38], vec![false; 2]].concat());
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    for (norm, title) in [(Norm::L1, "ECE is 0."), (Norm::L2, "RMSCE is 0."), (Norm::Max, "MCE is 0.")] {
        let found = Assess::new(&BinnedEce::new().norm(norm)).n_resamples(60).run(&view).unwrap();
        assert!(found.sentence().starts_with(title), "{}", found.sentence());
        assert!(found.interval.upper <= 1.0, "{:?}", found.interval);
    }
}

/// Twenty clusters of independent rows know as much as the rows do, and not only what twenty rows
/// could tell.
#[test]
fn few_clusters_of_many_rows_are_not_few_rows() {
    let sample = Family::named("overconfident").unwrap().sample(2000, 8);
    let predictions = sample.input().check().unwrap();
    let view = predictions.binary().unwrap();
    let clusters: Vec<u32> = (0..2000).map(|row| row % 20).collect();
    let measures: [&dyn Measure; 2] = [&LsEce::new().sigma(0.5), &BinnedEce::new()];
    for measure in measures {
        let assess = Assess::new(measure).n_resamples(100);
        let [rows, by_cluster] = [Sample::from(&view), Sample::from(&view).clusters(&clusters)]
            .map(|sample| assess.run(sample).unwrap().interval);
        let width = |interval: calipers::Interval| interval.upper - interval.lower;
        assert!(width(by_cluster) < 2.0 * width(rows), "{rows:?} {by_cluster:?}");
    }
}
