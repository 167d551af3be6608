//! Rows that depend on each other.

use calipers::inference::{Clusters, NoiseFloor, Resampler};
use calipers::population::{Family, Logits, Truth};
use calipers::{Assess, BinnedEce, Compare, Gaussian, Input, IntervalMethod, LsEce, Measure, Sample};

use crate::data::{Data, Shape, logistic, sequence};

/// Clusters whose rows share one random number, by which all their outcomes are made: as dependent
/// as outcomes with given probabilities can be.
struct Dependent {
    probabilities: Vec<f64>,
    outcomes: Vec<bool>,
    clusters: Vec<u32>,
}

impl Dependent {
    /// `slope` is that of what models say against the truth: 1 is calibrated.
    fn new(n_clusters: u32, size: u32, slope: f64, seed: u64) -> Self {
        let mut next = sequence(seed);
        (0..30).for_each(|_| _ = next());
        let (mut probabilities, mut outcomes, mut clusters) = (Vec::new(), Vec::new(), Vec::new());
        for cluster in 0..n_clusters {
            let common = next();
            for _ in 0..size {
                let h = 1.2 * ((-2.0 * (1.0 - next()).ln()).sqrt() * (std::f64::consts::TAU * next()).cos());
                probabilities.push(logistic(slope * h));
                outcomes.push(common < logistic(h));
                // Any numbers, in any order.
                clusters.push((cluster * 7919) % 10_007);
            }
        }
        Dependent { probabilities, outcomes, clusters }
    }
}

#[test]
fn the_floor_of_clusters_has_its_size_where_that_of_rows_has_not() {
    let measure = LsEce::new().sigma(0.3);
    for (n_clusters, size) in [(60, 20), (150, 8)] {
        let n_runs = 500;
        let (mut of_clusters, mut of_rows) = (0.0, 0.0);
        for run in 0..n_runs {
            let rows = Dependent::new(n_clusters, size, 1.0, 1000 + run);
            let predictions = Input::probabilities(&rows.probabilities, &rows.outcomes).check().unwrap();
            let view = predictions.binary().unwrap();
            let clusters = Clusters::new(&rows.clusters, &view).unwrap();
            assert_eq!(clusters.len(), n_clusters as usize);
            let rejects = |resampler: &dyn Resampler| {
                let floor = NoiseFloor::new(resampler, 99, run).unwrap();
                f64::from(u8::from(floor.p_value <= 0.05)) / n_runs as f64
            };
            of_clusters += rejects(&*measure.resampler(&view, Some(&clusters)).unwrap());
            of_rows += rejects(&*measure.resampler(&view, None).unwrap());
        }
        println!("{n_clusters} clusters of {size}: size {of_clusters:.3}, by rows {of_rows:.3}");
        assert!((0.03..=0.07).contains(&of_clusters), "{n_clusters}: {of_clusters}");
        assert!(of_rows > 0.3, "{n_clusters}: {of_rows}");
    }
}

#[test]
fn the_interval_of_clusters_covers_where_that_of_rows_does_not() {
    let (sigma, slope) = (0.3, 2.0);
    let logits = Logits::Normal { mean: 0.0, deviation: 1.2 * slope };
    let family = Family::new("hot", logits, Truth::Affine { intercept: 0.0, slope: 1.0 / slope }).unwrap();
    let truth = family.ls_ece(&Gaussian, sigma).unwrap().value;
    let measure = LsEce::new().sigma(sigma);
    let n_runs = 300;
    let (mut of_clusters, mut of_rows) = (0.0, 0.0);
    for run in 0..n_runs {
        let rows = Dependent::new(120, 10, slope, 9000 + run);
        let predictions = Input::probabilities(&rows.probabilities, &rows.outcomes).check().unwrap();
        let view = predictions.binary().unwrap();
        let assess = Assess::new(&measure).n_resamples(100).random_state(run);
        let covers = |found: calipers::Assessment| {
            f64::from(u8::from((found.interval.lower..=found.interval.upper).contains(&truth))) / n_runs as f64
        };
        of_clusters += covers(assess.run(Sample::from(&view).clusters(&rows.clusters)).unwrap());
        of_rows += covers(assess.run(&view).unwrap());
    }
    println!("truth {truth:.4}: coverage {of_clusters:.3} by clusters, {of_rows:.3} by rows");
    assert!((0.92..=0.99).contains(&of_clusters), "{of_clusters}");
    assert!(of_rows < 0.88, "{of_rows}");
}

/// Differences of two intervals' ends over several samples, in standard errors: next to nothing in
/// most. Which blocks show a gap may differ by one between two ways to estimate noise, and then the
/// ends of that sample jump.
struct Distances(Vec<f64>);

impl Distances {
    fn check(&self, what: &str) {
        let mut sizes: Vec<f64> = self.0.iter().map(|distance| distance.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let (middle, most) = (sizes[sizes.len() / 2], sizes[sizes.len() - 1]);
        let n_jumps = sizes.iter().filter(|size| **size > 0.6).count();
        println!("{what}: median {middle:.3}, most {most:.3} standard errors, {n_jumps} jumps");
        assert!(middle < 0.15 && n_jumps <= 3, "{what}: median {middle:.3}, {n_jumps} of {} jump", sizes.len());
    }
}

#[test]
fn a_cluster_for_each_row_is_as_good_as_none() {
    let clusters: Vec<u32> = (0..2000).collect();
    let measures: [(&str, &dyn Measure); 3] = [
        ("LS-ECE", &LsEce::new().sigma(0.2)),
        ("residual form", &LsEce::new().sigma(0.2).residual()),
        ("ECE", &BinnedEce::new()),
    ];
    for shape in [Shape::Plain, Shape::Weighted] {
        for (name, measure) in measures {
            let (mut lower, mut upper) = (Distances(Vec::new()), Distances(Vec::new()));
            for seed in 0..12 {
                Data::new("overconfident", shape, 2000, seed).with(|view| {
                    let assess = Assess::new(measure).n_resamples(100);
                    let (rows, by_cluster) =
                        (assess.run(view).unwrap(), assess.run(Sample::from(view).clusters(&clusters)).unwrap());
                    assert_eq!(
                        [rows.interval, by_cluster.interval].map(|interval| interval.method),
                        [IntervalMethod::BiasAware; 2]
                    );
                    lower.0.push((by_cluster.interval.lower - rows.interval.lower) / rows.standard_error);
                    upper.0.push((by_cluster.interval.upper - rows.interval.upper) / rows.standard_error);
                    let near = |a: f64, b: f64| (a - b).abs() < 0.1 * rows.standard_error;
                    assert!(near(rows.standard_error, by_cluster.standard_error));
                    assert!(near(rows.bias, by_cluster.bias), "{} {}", rows.bias, by_cluster.bias);
                });
            }
            lower.check(&format!("{shape:?} {name}, lower ends"));
            upper.check(&format!("{shape:?} {name}, upper ends"));
        }
    }
}

/// Each row five times, as a cluster.
fn five_times(once: &Data) -> (Data, Vec<u32>) {
    let five = Data {
        probabilities: once.probabilities.iter().flat_map(|p| [*p; 5]).collect(),
        outcomes: once.outcomes.iter().flat_map(|outcome| [*outcome; 5]).collect(),
        weights: None,
    };
    let n = five.outcomes.len() as u32;
    (five, (0..n).map(|row| row / 5).collect())
}

#[test]
fn rows_that_stand_five_times_say_no_more_than_once() {
    let measure = LsEce::new().sigma(0.3);
    let assess = Assess::new(&measure).n_resamples(2000);
    for family in ["overconfident", "calibrated"] {
        let once = Data::new(family, Shape::Plain, 400, 5);
        let (five, clusters) = five_times(&once);
        let rows = once.with(|view| assess.run(view).unwrap());
        let by_cluster = five.with(|view| assess.run(Sample::from(view).clusters(&clusters)).unwrap());
        let naive = five.with(|view| assess.run(view).unwrap());
        let near = |a: f64, b: f64| (a - b).abs() < 0.1 * rows.standard_error;
        assert!((rows.estimate.value - by_cluster.estimate.value).abs() < 1e-5);
        assert!(near(rows.standard_error, by_cluster.standard_error), "{family}");
        assert!(near(rows.interval.lower, by_cluster.interval.lower), "{family}");
        assert!(near(rows.interval.upper, by_cluster.interval.upper), "{family}");
        assert!(naive.standard_error < 0.6 * rows.standard_error, "{family}");
        let floors = [&rows, &by_cluster].map(|found| found.floor.as_ref().unwrap().mean);
        println!("{family}: floors {floors:?}");
        // Signs turn what outcomes there are: where these are not the predictions', the floor is
        // raised.
        let allowed = if family == "calibrated" { 0.1 } else { 0.3 };
        assert!((floors[1] / floors[0] - 1.0).abs() < allowed, "{family}: {floors:?}");
    }
}

#[test]
fn pairs_of_rows_that_stand_five_times_say_no_more_than_once() {
    let measures: [(&str, &dyn Measure); 2] = [("LS-ECE", &LsEce::new().sigma(0.1)), ("ECE", &BinnedEce::new())];
    for (name, measure) in measures {
        let compare = Compare::new(measure).n_resamples(20);
        // The second model is the first, moved up.
        let pair = |data: &Data, compare: Compare<'_>| {
            let moved = Data {
                probabilities: data.probabilities.iter().map(|p| p.powf(0.8)).collect(),
                outcomes: data.outcomes.clone(),
                weights: None,
            };
            let found = data.with(|a| moved.with(|b| compare.run(&[("as it is", a), ("moved", b)]).unwrap()));
            (found.pairs[0], found.models[0].1.n_clusters)
        };
        let [mut lower, mut upper, mut centre] = [(); 3].map(|()| Distances(Vec::new()));
        let mut naive_errors = Vec::new();
        for seed in 0..12 {
            let once = Data::new("overconfident", Shape::Plain, 400, seed);
            let (five, clusters) = five_times(&once);
            let (rows, _) = pair(&once, compare);
            let (by_cluster, n_clusters) = pair(&five, compare.clusters(&clusters));
            let (naive, _) = pair(&five, compare);
            assert_eq!(n_clusters, Some(400));
            centre.0.push((by_cluster.difference - rows.difference) / rows.standard_error);
            lower.0.push((by_cluster.interval.lower - rows.interval.lower) / rows.standard_error);
            upper.0.push((by_cluster.interval.upper - rows.interval.upper) / rows.standard_error);
            naive_errors.push(naive.standard_error / rows.standard_error);
        }
        centre.check(&format!("{name}, differences"));
        lower.check(&format!("{name}, lower ends"));
        upper.check(&format!("{name}, upper ends"));
        // Five times as many rows: 0.45 where both samples show a gap at the same places.
        naive_errors.sort_by(f64::total_cmp);
        assert!(naive_errors[6] < 0.7, "{name}: {naive_errors:?}");
    }
}

#[test]
fn other_measures_have_a_floor_by_clusters() {
    for (slope, significant) in [(1.0, false), (3.0, true)] {
        let rows = Dependent::new(60, 40, slope, 3);
        let predictions = Input::probabilities(&rows.probabilities, &rows.outcomes).check().unwrap();
        let view = predictions.binary().unwrap();
        let measures: [&dyn Measure; 2] = [&BinnedEce::new(), &BinnedEce::new().norm(calipers::Norm::L2)];
        for measure in measures {
            let assess = Assess::new(measure).n_resamples(200);
            let found = assess.run(Sample::from(&view).clusters(&rows.clusters)).unwrap();
            let of_rows = assess.run(&view).unwrap();
            assert_eq!((found.significant, found.n_clusters), (Some(significant), Some(60)), "{}", found.sentence());
            assert_eq!(found.interval.is_upper_limit, !significant);
            // Outcomes that go together vary more, as far as rows of a cluster share a bin.
            let [by_cluster, by_row] = [&found, &of_rows].map(|found| found.floor.as_ref().unwrap().mean);
            assert!(by_cluster > 1.15 * by_row, "{by_cluster} {by_row}");
        }
    }
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    let rows = Dependent::new(400, 100, 1.5, 3);
    let predictions = Input::probabilities(&rows.probabilities, &rows.outcomes).check().unwrap();
    let view = predictions.binary().unwrap();
    let measures: [&dyn Measure; 2] = [&LsEce::new(), &BinnedEce::new()];
    for measure in measures {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                Assess::new(measure).n_resamples(60).run(Sample::from(&view).clusters(&rows.clusters)).unwrap()
            })
        };
        assert_eq!(on(1), on(2));
    }
}

#[test]
fn clusters_that_say_nothing_are_refused() {
    let predictions = Input::probabilities(&[0.3; 30], &[0; 30]).check().unwrap();
    let view = predictions.binary().unwrap();
    let measure = LsEce::new().sigma(0.3);
    let refusal =
        |clusters: &[u32]| Assess::new(&measure).run(Sample::from(&view).clusters(clusters)).unwrap_err().to_string();
    let nine: Vec<u32> = (0..30).map(|row| row % 9).collect();
    assert_eq!(
        refusal(&nine),
        "clusters must be at least 10 different ones, since all uncertainty is estimated from their differences, got 9"
    );
    assert_eq!(refusal(&nine[..20]), "clusters must have one value for each row, got 20 values for 30 rows");
    // Clusters without weight do not count.
    let weights: Vec<f64> = (0..30).map(|row| if row % 10 == 9 { 0.0 } else { 1.0 }).collect();
    let weighted = Input::probabilities(&[0.3; 30], &[0; 30]).weights(&weights).check().unwrap();
    let ten: Vec<u32> = (0..30).map(|row| row % 10).collect();
    let refused = Assess::new(&measure).run(Sample::from(&weighted.binary().unwrap()).clusters(&ten)).unwrap_err();
    assert!(refused.to_string().ends_with("got 9"), "{refused}");
}
