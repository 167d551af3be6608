//! Two or more models on the same rows.

use calipers::inference::holm;
use calipers::population::{Family, Logits, Truth};
use calipers::simulate::LsEceTable;
use calipers::{
    BinaryView, BinnedEce, Compare, Comparison, Input, IntervalMethod, LsEce, Measure, Pair, Predictions, Sigma,
};

use crate::data::{Failures, logistic, runs, share, shown};

/// Scores with a normal distribution about 0 of deviation 1.5, and outcomes with the probabilities
/// that they say.
struct Shared {
    logits: Vec<f64>,
    outcomes: Vec<bool>,
}

impl Shared {
    fn new(n: usize, seed: u64) -> Self {
        let logits = Logits::Normal { mean: 0.0, deviation: 1.5 };
        let family = Family::new("shared", logits, Truth::CALIBRATED).unwrap();
        let sample = family.sample(n, seed);
        Shared { logits: sample.scores, outcomes: sample.outcomes }
    }

    /// What a model says that takes h for slope · h + intercept.
    fn model(&self, intercept: f64, slope: f64) -> Vec<f64> {
        self.logits.iter().map(|h| logistic(intercept + slope * h)).collect()
    }

    fn check<'a>(&'a self, probabilities: &'a [f64]) -> Predictions<'a> {
        Input::probabilities(probabilities, &self.outcomes).check().unwrap()
    }
}

/// The population of such a model.
fn population(intercept: f64, slope: f64) -> Family {
    let logits = Logits::Normal { mean: intercept, deviation: 1.5 * slope };
    let truth = Truth::Affine { intercept: -intercept / slope, slope: 1.0 / slope };
    Family::new("model", logits, truth).unwrap()
}

fn compare(measure: &dyn Measure, shared: &Shared, models: [(f64, f64); 2], seed: u64) -> Comparison {
    let [a, b] = models.map(|(intercept, slope)| shared.model(intercept, slope));
    let (a, b) = (shared.check(&a), shared.check(&b));
    let models = [("a", &a.binary().unwrap()), ("b", &b.binary().unwrap())];
    Compare::new(measure).n_resamples(100).random_state(seed).run(&models).unwrap()
}

/// Pairs are compared by the residual form, at the given sigma or that of the rule, whichever is
/// smaller.
#[test]
fn the_paired_interval_covers_the_difference_of_the_populations() {
    let mut failures = Failures::default();
    for (models, sigma) in [([(0.5, 1.0), (0.0, 1.6)], Sigma::Value(0.1)), ([(0.0, 1.8), (0.0, 1.5)], Sigma::Auto)] {
        let populations = models.map(|(intercept, slope)| population(intercept, slope));
        let tables = populations.each_ref().map(|population| LsEceTable::of_residual(population, 0.08, 0.4).unwrap());
        let measure = LsEce::new().sigma(sigma);
        let n_runs = 300;
        let found = runs(n_runs, |run| compare(&measure, &Shared::new(2000, 300_000 + run), models, run));
        let truth = |found: &Comparison| {
            let [a, b] = [0, 1].map(|model: usize| {
                assert_eq!(found.compared[model].measure(), "residual_ls_ece");
                tables[model].at(found.compared[model].settings.number("sigma").unwrap())
            });
            a - b
        };
        let pairs: Vec<Pair> = found.iter().map(|found| found.pairs[0]).collect();
        assert!(pairs.iter().all(|pair| pair.interval.method == IntervalMethod::BiasAware));
        let mean = |of: &dyn Fn(&Comparison) -> f64| found.iter().map(of).sum::<f64>() / n_runs as f64;
        let covered = share(found.iter().map(|found| {
            let interval = found.pairs[0].interval;
            (interval.lower..=interval.upper).contains(&truth(found))
        }));
        let error = mean(&|found| found.pairs[0].standard_error);
        let bias = mean(&|found| found.pairs[0].difference - truth(found));
        let spread = mean(&|found| (found.pairs[0].difference - truth(found) - bias).powi(2)).sqrt();
        println!(
            "{models:?}: truth {:.4}, bias {bias:.4}, spread {spread:.4}, standard error {error:.4}, coverage {}",
            mean(&truth),
            shown(covered)
        );
        failures.expect_within(covered, 0.92..=1.0, &format!("{models:?}"));
        // That of the upper estimates, which have the noise of all places: never less than the
        // difference has.
        failures.expect(error > 0.9 * spread, format!("{models:?}: {error} {spread}"));
        failures.expect(bias.abs() < 0.5 * spread, format!("{models:?}: {bias} {spread}"));
    }
}

/// A model that is too high by as much as the other is too low has the same LS-ECE, by symmetry.
#[test]
fn p_values_of_equal_models_reject_no_more_often_than_they_say() {
    let measure = LsEce::new().sigma(0.3);
    let n_runs = 600;
    let p_values = runs(n_runs, |run| {
        let shared = Shared::new(1000, 500_000 + run);
        compare(&measure, &shared, [(0.5, 1.0), (-0.5, 1.0)], run).pairs[0].p_value
    });
    let share = |level: f64| p_values.iter().filter(|p| **p <= level).count() as f64 / n_runs as f64;
    println!("size at 5 %: {:.3}, at 20 %: {:.3}, at 50 %: {:.3}", share(0.05), share(0.2), share(0.5));
    // Where one model is too low and the other too high, what is left of the bias may be either's:
    // the test keeps its level and rejects less than it could.
    assert!((0.005..=0.07).contains(&share(0.05)), "{}", share(0.05));
    assert!(share(0.2) < 0.25 && share(0.5) < 0.56);
}

#[test]
fn other_measures_are_compared_on_the_same_drawn_rows() {
    let shared = Shared::new(1500, 4);
    let found = compare(&BinnedEce::new(), &shared, [(0.6, 1.0), (0.7, 1.0)], 1);
    let pair = &found.pairs[0];
    assert_eq!(pair.interval.method, IntervalMethod::BiasAware);
    let [a, b] = [0, 1].map(|model: usize| found.models[model].1.standard_error);
    // Models that are nearly the same err together.
    assert!(pair.standard_error < 0.5 * a.hypot(b), "{} {a} {b}", pair.standard_error);
    assert!(pair.difference < 0.0 && pair.p_value < 0.05, "{pair:?}");
}

#[test]
fn equal_models_have_no_difference() {
    let shared = Shared::new(800, 2);
    let measures: [&dyn Measure; 3] = [&LsEce::new().sigma(0.2), &LsEce::new(), &BinnedEce::new()];
    for measure in measures {
        let found = compare(measure, &shared, [(0.3, 1.2), (0.3, 1.2)], 3);
        let pair = &found.pairs[0];
        assert_eq!((pair.difference, pair.p_value, pair.p_adjusted), (0.0, 1.0, 1.0));
        // 800 rows on which two models agree do not show that they agree on all.
        let half = 40f64.ln() / 800.0;
        assert!((pair.interval.lower + half).abs() < 1e-12 && (pair.interval.upper - half).abs() < 1e-12, "{pair:?}");
        let sentence = found.sentence();
        assert!(sentence.starts_with("There is no evidence that a and b differ in calibration: "), "{sentence}");
        assert!(
            sentence.contains(" (a minus b) is 0.000 (95 % interval -0.") && sentence.ends_with("p = 1.00)."),
            "{sentence}"
        );
    }
}

#[test]
fn all_pairs_are_there_with_one_sigma_and_adjusted_p_values() {
    let shared = Shared::new(3000, 9);
    let models = [(0.0, 1.0), (0.0, 1.6), (0.5, 1.0)].map(|(intercept, slope)| shared.model(intercept, slope));
    let checked: Vec<Predictions<'_>> = models.iter().map(|model| shared.check(model)).collect();
    let views: Vec<BinaryView<'_>> = checked.iter().map(|model| model.binary().unwrap()).collect();
    let named: Vec<(&str, &BinaryView<'_>)> = ["fitted", "hot", "moved"].into_iter().zip(&views).collect();
    let measure = LsEce::new();
    let found = Compare::new(&measure).n_resamples(200).run(&named).unwrap();
    let places: Vec<(usize, usize)> = found.pairs.iter().map(|pair| (pair.first, pair.second)).collect();
    assert_eq!(places, [(0, 1), (0, 2), (1, 2)]);
    let p_values: Vec<f64> = found.pairs.iter().map(|pair| pair.p_value).collect();
    assert_eq!(holm(&p_values), found.pairs.iter().map(|pair| pair.p_adjusted).collect::<Vec<_>>());
    let by_rule = |view: &BinaryView<'_>| measure.estimate(view).unwrap().settings.number("sigma").unwrap().ln();
    let sigma = (views.iter().map(by_rule).sum::<f64>() / 3.0).exp();
    for (name, assessment) in &found.models {
        let settings = &assessment.estimate.settings;
        assert!((settings.number("sigma").unwrap() / sigma - 1.0).abs() < 1e-12, "{name}");
        assert_eq!(settings.text("sigma_rule"), Some("auto, geometric mean over models"));
    }
    let lines: Vec<String> = found.sentence().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 3);
    let start = "fitted is better calibrated than hot: its residual LS-ECE is smaller by 0.";
    assert!(lines[0].starts_with(start), "{}", lines[0]);
    assert!(lines[0].ends_with(", p < 0.001 after adjusting for 3 pairs)."), "{}", lines[0]);
    let differences: Vec<f64> = found.pairs.iter().map(|pair| pair.difference).collect();
    assert!((differences[0] + differences[2] - differences[1]).abs() < 1e-12);
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    let shared = Shared::new(40_000, 9);
    let measures: [&dyn Measure; 2] = [&LsEce::new(), &BinnedEce::new()];
    for measure in measures {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| compare(measure, &shared, [(0.0, 1.3), (0.2, 1.0)], 1))
        };
        assert_eq!(on(1), on(2));
    }
}

#[test]
fn holm_by_hand() {
    let close = |found: Vec<f64>, expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
    };
    // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
    close(holm(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]);
    close(holm(&[0.4, 0.5, 0.9]), &[1.0, 1.0, 1.0]);
    close(holm(&[0.2, 0.2]), &[0.4, 0.4]);
    close(holm(&[0.04]), &[0.04]);
    close(holm(&[]), &[]);
}

#[test]
fn rows_that_cannot_be_paired_are_refused() {
    let y = [0, 1, 1, 0];
    let p = [0.2, 0.7, 0.6, 0.4];
    let measure = LsEce::new().sigma(0.3);
    let refusal = |models: &[(&str, &BinaryView<'_>)]| Compare::new(&measure).run(models).unwrap_err().to_string();
    let model = Input::probabilities(&p, &y).check().unwrap();
    let shorter = Input::probabilities(&p[..3], &y[..3]).check().unwrap();
    let other = Input::probabilities(&p, &[0, 1, 0, 0]).check().unwrap();
    let weighted = Input::probabilities(&p, &y).weights(&[1.0, 1.0, 1.0, 2.5]).check().unwrap();
    let [model, shorter, other, weighted] = [&model, &shorter, &other, &weighted].map(|model| model.binary().unwrap());
    assert_eq!(refusal(&[("a", &model)]), "models must be at least two, got 1");
    assert_eq!(refusal(&[("a", &model), ("a", &model)]), "models must be of different names, got \"a\" twice");
    assert_eq!(
        refusal(&[("a", &model), ("b", &shorter)]),
        "rows must be the same for all models, got 4 of \"a\" and 3 of \"b\""
    );
    assert_eq!(
        refusal(&[("a", &model), ("b", &other)]),
        "outcomes must be the same for all models, got 1 of \"a\" and 0 of \"b\" in row 2"
    );
    assert_eq!(
        refusal(&[("a", &model), ("b", &weighted)]),
        "weights must be the same for all models, got 1 of \"a\" and 2.5 of \"b\" in row 3"
    );
}
