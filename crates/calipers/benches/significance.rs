//! Resamples of LS-ECE beside the one pass that measures: what the noise floor and the interval
//! cost.

mod data;

use std::time::{Duration, Instant};

use calipers::inference::{Bootstrap, NoiseFloor};
use calipers::{Assess, Input, LsEce, Measure, Sketch};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use data::Sample;

fn resamples(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("significance");
    group.sample_size(10);
    for n in [10_000, 1_000_000, 10_000_000] {
        let sample = Sample::new(n);
        let predictions = Input::probabilities(&sample.p, &sample.y).check().unwrap();
        let view = predictions.binary().unwrap();
        let measure = LsEce::new().sigma(0.05);
        group.bench_function(BenchmarkId::new("measure", n), |bencher| {
            bencher.iter(|| measure.estimate(&view).unwrap())
        });
        group.bench_function(BenchmarkId::new("floor and bootstrap, 1000 draws each", n), |bencher| {
            bencher.iter(|| {
                let resampler = measure.resampler(&view, None).unwrap();
                let floor = NoiseFloor::new(&*resampler, 1000, 0).unwrap();
                (floor, Bootstrap::new(&*resampler, 1000, 0).unwrap())
            })
        });
    }
    group.finish();
}

/// How long something takes at best.
fn best_of(runs: usize, mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..runs).map(time).min().unwrap_or_default()
}

/// The line that is asked for: at most 50.
fn against_the_pass(_: &mut Criterion) {
    let n = 10_000_000;
    let sample = Sample::new(n);
    let predictions = Input::probabilities(&sample.p, &sample.y).check().unwrap();
    let view = predictions.binary().unwrap();
    let mut sketch = Sketch::new();
    let pass = best_of(5, || {
        sketch = Sketch::new();
        sketch.update(&view).unwrap();
    });
    for sigma in [0.5, 0.05] {
        let measure = LsEce::new().sigma(sigma).tolerance(1e-4);
        let assess = Assess::new(&measure);
        let of_sketch = best_of(3, || drop(assess.run(&sketch).unwrap()));
        let of_rows = best_of(3, || drop(assess.run(&view).unwrap()));
        let [ratio, with_rows] = [of_sketch, of_rows].map(|time| time.as_secs_f64() / pass.as_secs_f64());
        println!(
            "1,000 resamples of floor and interval against the one pass that makes the sketch, n = 10^7, sigma {sigma}: \
             {ratio:.1} times (from rows {with_rows:.1} times); the pass takes {:.0} ms",
            1e3 * pass.as_secs_f64()
        );
    }
}

criterion_group!(benches, resamples, against_the_pass);
criterion_main!(benches);
