//! Resamples of LS-ECE beside the one pass that measures: what the noise floor and the interval cost.

mod data;

use calipers::significance::{Bootstrap, NoiseFloor};
use calipers::{Estimator, Input, LsEce};
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
                let resampler = measure.resampler(&view).unwrap();
                let floor = NoiseFloor::new(&*resampler, 1000, 0).unwrap();
                (floor, Bootstrap::new(&*resampler, 1000, 0).unwrap())
            })
        });
    }
    group.finish();
}

criterion_group!(benches, resamples);
criterion_main!(benches);
