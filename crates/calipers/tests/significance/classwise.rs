//! The mean over classes.

use calipers::inference::{Adjust, Direction, holm};
use calipers::{Assess, BinnedEce, Debias, Input, LsEce, Measure, Multiclass, Sample, Ties};

use crate::data::sequence;

/// Rows of three classes with labels drawn from probabilities ∝ p^(1/heat): calibrated for a heat
/// of 1, overconfident above.
pub(crate) fn rows(n: usize, heat: f64, seed: u64) -> (Vec<f64>, Vec<u32>) {
    let mut next = sequence(seed);
    (0..30).for_each(|_| _ = next());
    let (mut probabilities, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let normalised = |row: [f64; 3]| row.map(|value| value / row.iter().sum::<f64>());
        let row = normalised([next(), next(), next()].map(|value| (3.0 * (value - 0.5)).exp()));
        let truth = normalised(row.map(|p| p.powf(1.0 / heat)));
        let uniform = next();
        labels.push(u32::from(uniform >= truth[0]) + u32::from(uniform >= truth[0] + truth[1]));
        probabilities.extend(row);
    }
    (probabilities, labels)
}

#[test]
fn the_mean_over_classes_is_assessed_with_joint_draws() {
    let measures: [&dyn Measure; 2] = [&LsEce::new().sigma(0.3).tolerance(1e-4), &BinnedEce::new()];
    for measure in measures {
        for (heat, miscalibrated) in [(1.0, false), (3.0, true)] {
            let (probabilities, labels) = rows(600, heat, 5);
            let predictions = Input::probabilities(&probabilities, &labels).classes(3).check().unwrap();
            let assess = Assess::new(measure).n_resamples(100);
            let found = assess.run(Sample::classes(&predictions, Ties::First)).unwrap();
            let estimate = predictions.estimate(Multiclass::Classwise, Ties::First, measure).unwrap();
            assert_eq!(found.estimate, estimate);
            println!("heat {heat}: {}", found.sentence());
            assert_eq!(found.significant, Some(miscalibrated), "{}", found.sentence());
            // Any class alone has a floor of about the same mean; the mean over three varies less
            // than one of them.
            let one = assess.run(&predictions.view(Multiclass::Class(1), Ties::First).unwrap()).unwrap();
            let [joint, single] = [&found, &one].map(|found| found.floor.clone().unwrap());
            assert!((joint.mean / single.mean - 1.0).abs() < 0.3 && joint.deviation < single.deviation);
        }
    }
}

#[test]
fn the_test_of_the_mean_over_classes_has_its_size() {
    let measure = BinnedEce::new();
    let n_runs = 400;
    let rejected = (0..n_runs).filter(|run| {
        let (probabilities, labels) = rows(500, 1.0, 7000 + run);
        let predictions = Input::probabilities(&probabilities, &labels).classes(3).check().unwrap();
        let assess = Assess::new(&measure).n_resamples(99).random_state(*run);
        let found = assess.run(Sample::classes(&predictions, Ties::First)).unwrap();
        found.significant == Some(true)
    });
    let size = rejected.count() as f64 / n_runs as f64;
    println!("size {size:.3}");
    assert!((0.03..=0.07).contains(&size), "{size}");
}

#[test]
fn each_class_is_assessed_as_it_is_alone_and_adjusted_for_all() {
    let (probabilities, labels) = rows(600, 3.0, 5);
    let predictions = Input::probabilities(&probabilities, &labels).classes(3).check().unwrap();
    let measure = LsEce::new().sigma(0.3).tolerance(1e-4);
    let assess = Assess::new(&measure).n_resamples(100);
    let classes = assess.run_each_class(&predictions, None, Adjust::Holm).unwrap();
    let p_values: Vec<f64> = classes.iter().map(|class| class.assessment.floor.as_ref().unwrap().p_value).collect();
    let adjusted: Vec<f64> = classes.iter().map(|class| class.p_adjusted.unwrap()).collect();
    assert_eq!(adjusted, holm(&p_values));
    for (number, class) in classes.iter().enumerate() {
        let alone = assess.run(&predictions.one_class(number).unwrap()).unwrap();
        assert_eq!((class.class, &class.assessment.estimate), (number, &alone.estimate));
        assert_eq!((class.assessment.interval, class.assessment.debiased), (alone.interval, alone.debiased));
        let n = labels.iter().filter(|label| **label as usize == number).count();
        assert_eq!((class.n, class.outcome_rate), (n as u64, n as f64 / 600.0));
        let mean = probabilities.iter().skip(number).step_by(3).sum::<f64>() / 600.0;
        assert!((class.mean_probability - mean).abs() < 1e-12);
        // Overconfident: too high where the class is likely, and too low where it is not.
        assert_eq!(class.direction(), Some(Direction::Overconfident));
    }
}

#[test]
fn few_calibrated_models_have_a_class_with_a_direction() {
    let measure = LsEce::new().sigma(0.5).tolerance(1e-4);
    let n_runs = 200;
    let found = (0..n_runs).filter(|run| {
        let (probabilities, labels) = rows(300, 1.0, 9000 + run);
        let predictions = Input::probabilities(&probabilities, &labels).classes(3).check().unwrap();
        let classes =
            Assess::new(&measure).n_resamples(99).random_state(*run).run_each_class(&predictions, None, Adjust::Holm);
        classes.unwrap().iter().any(|class| class.direction().is_some())
    });
    let rate = found.count() as f64 / n_runs as f64;
    println!("rate {rate:.3}");
    assert!(rate <= 0.08, "{rate}");
}

#[test]
fn clusters_of_rows_withhold_the_floor() {
    let (probabilities, labels) = rows(300, 2.0, 5);
    let predictions = Input::probabilities(&probabilities, &labels).classes(3).check().unwrap();
    let clusters: Vec<u32> = (0..300).map(|row| row / 10).collect();
    let measure = BinnedEce::new();
    let assess = Assess::new(&measure).n_resamples(50);
    let found = assess.run(Sample::classes(&predictions, Ties::First).clusters(&clusters)).unwrap();
    assert_eq!((found.n_clusters, found.debias, found.significant), (Some(30), Debias::Local, None));
    assert!(found.floor.is_none() && found.unavailable.is_some());
}
