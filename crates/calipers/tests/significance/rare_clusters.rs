//! The floor test of clusters where events are rare: a rate of 0.4 % among 2,000 rows.

use calipers::inference::{Clusters, NoiseFloor};
use calipers::{BinnedEce, Input, Link, LsEce, Measure, Probit};

use crate::data::{Failures, Random, logistic, runs, share, shown};

/// Calibrated rows; the outcomes of one cluster share an effect:
/// y = 1 where √λ a + √(1 - λ) b < Φ⁻¹(p).
fn rare(n: usize, size: usize, lambda: f64, seed: u64) -> (Vec<f64>, Vec<bool>, Vec<u32>) {
    let mut random = Random::new(seed);
    let (mut probabilities, mut outcomes) = (Vec::new(), Vec::new());
    let mut common = 0.0;
    for row in 0..n {
        if row % size == 0 {
            common = random.normal();
        }
        let p = logistic(-6.0 + random.normal());
        outcomes.push(lambda.sqrt() * common + (1.0 - lambda).sqrt() * random.normal() < Probit.inverse(p, 1.0 - p));
        probabilities.push(p);
    }
    (probabilities, outcomes, (0..n).map(|row| (row / size) as u32).collect())
}

#[test]
fn the_floor_test_of_clusters_has_its_size_where_events_are_rare() {
    let mut failures = Failures::default();
    let (auto, half, ece) = (LsEce::new().residual(), LsEce::new().sigma(0.5).residual(), BinnedEce::new());
    let all: [(&str, &dyn Measure); 3] = [("residual form, auto", &auto), ("residual form, 0.5", &half), ("ECE", &ece)];
    for (size, lambda, measures) in [(1, 0.0, &all[..1]), (5, 0.3, &all)] {
        for (name, measure) in measures {
            let p_values = runs(300, |run| {
                let (p, y, clusters) = rare(2000, size, lambda, 90_000 + run);
                let predictions = Input::probabilities(&p, &y).check().unwrap();
                let view = predictions.binary().unwrap();
                let clusters = Clusters::new(&clusters, &view).unwrap();
                NoiseFloor::new(&*measure.resampler(&view, Some(&clusters)).unwrap(), 99, run).unwrap().p_value
            });
            let found = share(p_values.iter().map(|p| *p <= 0.05));
            println!("clusters of {size}, correlation {lambda}, {name}: size {}", shown(found));
            // The larger of two p-values counts, so that the test may reject less often than its
            // level where rows depend on each other.
            let least = if size == 1 { 0.03 } else { 0.0 };
            failures.expect_within(found, least..=0.07, &format!("clusters of {size}, correlation {lambda}, {name}"));
        }
    }
}
