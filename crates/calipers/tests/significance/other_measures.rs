//! Intervals of other measures: binned ECE, with clusters too, the mean over classes, and measures
//! that rows alone resample.

use calipers::population::{Family, Finite};
use calipers::{Assess, BinnedEce, Input, LsEce, Sample, Settings, Ties, registry};

use crate::data::{Failures, Random, logistic, normal_mean, runs, share, shown};

/// Σ_b |E (Y - p) 1{p in bin b}| of a family, for bins of equal width: by the midpoint rule over
/// logits.
fn binned_ece(family: &Family, n_bins: usize) -> f64 {
    let mut gaps = vec![0.0; n_bins];
    let step = 2e-4;
    for k in -150_000..150_000 {
        let h = (f64::from(k) + 0.5) * step;
        let p = logistic(h);
        let bin = ((p * n_bins as f64).ceil() as usize).clamp(1, n_bins) - 1;
        gaps[bin] += (family.truth().probability(h) - p) * family.logits().density(h) * step;
    }
    gaps.iter().map(|gap: &f64| gap.abs()).sum()
}

#[test]
fn intervals_of_binned_ece_cover() {
    let (measure, mut failures) = (BinnedEce::new(), Failures::default());
    for name in ["overconfident", "underconfident", "shifted", "sinusoidal", "piecewise", "calibrated"] {
        let family = Family::named(name).unwrap();
        let truth = binned_ece(&family, 15);
        for (n, n_runs) in [(300, 300), (1_000, 200)] {
            let widths = runs(n_runs, |run| {
                let sample = family.sample(n, 80_000 + run);
                let predictions = sample.input().check().unwrap();
                let found = Assess::new(&measure)
                    .n_resamples(60)
                    .random_state(run)
                    .run(&predictions.binary().unwrap())
                    .unwrap();
                (found.interval, found.estimate.value)
            });
            let covered = share(widths.iter().map(|(interval, _)| (interval.lower..=interval.upper).contains(&truth)));
            let width = widths.iter().map(|(interval, _)| interval.upper - interval.lower).sum::<f64>() / n_runs as f64;
            let mean = widths.iter().map(|(_, value)| value).sum::<f64>() / n_runs as f64;
            let variance = widths.iter().map(|(_, value)| (value - mean).powi(2)).sum::<f64>() / (n_runs - 1) as f64;
            println!(
                "ECE of {name}, n = {n}: truth {truth:.4}, coverage {}, width {:.2} oracles",
                shown(covered),
                width / (3.92 * variance.sqrt())
            );
            failures.expect_within(covered, 0.92..=1.0, &format!("{name}, n = {n}"));
        }
    }
}

/// Clusters whose rows share one random number, by which all their outcomes are made.
fn clustered(n_clusters: u32, size: u32, slope: f64, seed: u64) -> (Vec<f64>, Vec<bool>, Vec<u32>) {
    let mut random = Random::new(seed);
    let (mut probabilities, mut outcomes, mut clusters) = (Vec::new(), Vec::new(), Vec::new());
    for cluster in 0..n_clusters {
        let common = random.uniform();
        for _ in 0..size {
            let h = 1.2 * random.normal();
            probabilities.push(logistic(slope * h));
            outcomes.push(common < logistic(h));
            clusters.push(cluster);
        }
    }
    (probabilities, outcomes, clusters)
}

#[test]
fn binned_ece_of_clusters_has_an_upper_limit_where_calibrated_and_covers() {
    let (measure, mut failures) = (BinnedEce::new(), Failures::default());
    for slope in [1.0, 1.6] {
        let mut gaps = [0.0; 15];
        for (bin, gap) in gaps.iter_mut().enumerate() {
            let inside = |p: f64| ((p * 15.0).ceil() as usize).clamp(1, 15) - 1 == bin;
            let of = |z: f64| {
                let p = logistic(slope * 1.2 * z);
                if inside(p) { logistic(1.2 * z) - p } else { 0.0 }
            };
            *gap = normal_mean(of);
        }
        let truth: f64 = if slope == 1.0 { 0.0 } else { gaps.iter().map(|gap: &f64| gap.abs()).sum() };
        let found = runs(200, |run| {
            let (p, y, clusters) = clustered(100, 10, slope, 4000 + run);
            let predictions = Input::probabilities(&p, &y).check().unwrap();
            let view = predictions.binary().unwrap();
            Assess::new(&measure)
                .n_resamples(99)
                .random_state(run)
                .run(Sample::from(&view).clusters(&clusters))
                .unwrap()
                .interval
        });
        let limits = share(found.iter().map(|interval| interval.is_upper_limit));
        let covered = share(found.iter().map(|interval| (interval.lower..=interval.upper).contains(&truth)));
        println!(
            "clusters, slope {slope}: truth {truth:.4}, coverage {}, upper limits {}",
            shown(covered),
            shown(limits)
        );
        failures.expect_within(covered, 0.92..=1.0, &format!("slope {slope}"));
        if slope == 1.0 {
            failures.expect_within(limits, 0.93..=1.0, "upper limits of calibrated clusters");
        }
    }
}

/// A finite population of rows with three classes, whose labels have the probabilities ∝
/// p^(1/heat).
struct Classes {
    said: Vec<[f64; 3]>,
    truth: Vec<[f64; 3]>,
}

impl Classes {
    fn new(n_points: usize, heat: f64) -> Self {
        let mut random = Random::new(3);
        let normalised = |row: [f64; 3]| row.map(|value| value / row.iter().sum::<f64>());
        let mut point = || normalised([(); 3].map(|()| (3.0 * (random.uniform() - 0.5)).exp()));
        let said: Vec<[f64; 3]> = (0..n_points).map(|_| point()).collect();
        let truth = said.iter().map(|row| normalised(row.map(|p| p.powf(1.0 / heat)))).collect();
        Classes { said, truth }
    }

    /// The mean over classes of what `of` says of the population of each.
    fn mean(&self, of: impl Fn(&Finite) -> f64) -> f64 {
        let masses = vec![1.0; self.said.len()];
        let of_class = |class: usize| {
            let [truth, said] =
                [&self.truth, &self.said].map(|rows| rows.iter().map(|row| row[class]).collect::<Vec<f64>>());
            of(&Finite::new(&masses, &truth, &said).unwrap())
        };
        (0..3).map(of_class).sum::<f64>() / 3.0
    }

    fn sample(&self, n: usize, seed: u64) -> (Vec<f64>, Vec<u32>) {
        let mut random = Random::new(seed);
        let (mut probabilities, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let point = (random.uniform() * self.said.len() as f64) as usize;
            let (uniform, truth) = (random.uniform(), self.truth[point]);
            labels.push(u32::from(uniform >= truth[0]) + u32::from(uniform >= truth[0] + truth[1]));
            probabilities.extend(self.said[point]);
        }
        (probabilities, labels)
    }
}

#[test]
fn intervals_of_the_mean_over_classes_cover() {
    let (measure, mut failures) = (LsEce::new().sigma(0.3).tolerance(1e-4), Failures::default());
    for heat in [1.3, 2.0] {
        let population = Classes::new(200, heat);
        let paper = population.mean(|class| class.ls_ece(&measure).unwrap().value);
        let residual = population.mean(|class| class.residual_ls_ece(&measure).unwrap().value);
        let found = runs(120, |run| {
            let (probabilities, labels) = population.sample(600, 6000 + run);
            let predictions = Input::probabilities(&probabilities, &labels).classes(3).check().unwrap();
            let assess = Assess::new(&measure).n_resamples(20).random_state(run);
            let found = assess.run(Sample::classes(&predictions, Ties::First)).unwrap();
            [(found.interval, paper), (found.deciding().interval, residual)]
                .map(|(interval, truth)| (interval.lower..=interval.upper).contains(&truth))
        });
        for (form, name) in ["LS-ECE", "residual form"].into_iter().enumerate() {
            let covered = share(found.iter().map(|found| found[form]));
            println!("classes, heat {heat}, {name}: coverage {}", shown(covered));
            failures.expect_within(covered, 0.92..=1.0, &format!("heat {heat}, {name}"));
        }
    }
}

/// Beta kernels on resampled rows, which have ties, are biased up by more than the floor: a centre
/// below 0 made an upper limit of 0.
#[test]
fn the_upper_limit_of_the_beta_kernel_estimate_is_not_below_its_debiased_value() {
    let measure = registry::make("beta_kde_ece", &Settings::default()).unwrap();
    for (family, n) in [("calibrated", 300), ("calibrated", 1000), ("slightly-overconfident", 300), ("shifted", 300)] {
        let family = Family::named(family).unwrap();
        runs(6, |run| {
            let sample = family.sample(n, 900 + run);
            let predictions = sample.input().check().unwrap();
            let found =
                Assess::new(&*measure).n_resamples(40).random_state(run).run(&predictions.binary().unwrap()).unwrap();
            let what = format!("{}, n = {n}: {}", family.name(), found.sentence());
            assert!(found.interval.upper >= found.debiased, "{what} debiased {}", found.debiased);
            assert!(found.interval.upper > 0.2 * found.estimate.value, "{what}");
        });
    }
}
