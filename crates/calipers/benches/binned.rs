//! Binned ECE, door to estimate: by size, by precision and by strategy.

mod data;

use std::hint::black_box;

use calipers::{BinnedEce, Input, Measure, Strategy};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::{SIZES, Sample};

fn measure(input: Input<'_>, ece: &BinnedEce) -> f64 {
    let predictions = input.check().unwrap();
    ece.estimate(&predictions.binary().unwrap()).unwrap().value
}

fn sizes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("binned_ece");
    let uniform = BinnedEce::new();
    let quantile = BinnedEce::new().strategy(Strategy::Quantile);
    for n in SIZES {
        let sample = Sample::new(n);
        let singles = sample.singles();
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(BenchmarkId::new("uniform_f64", n), |bencher| {
            bencher.iter(|| measure(Input::probabilities(black_box(&sample.p), &sample.y), &uniform));
        });
        group.bench_function(BenchmarkId::new("uniform_f32", n), |bencher| {
            bencher.iter(|| measure(Input::probabilities(black_box(&singles), &sample.y), &uniform));
        });
        // Sorts: the largest size would take most of the run.
        if n <= 1_000_000 {
            group.bench_function(BenchmarkId::new("quantile_f64", n), |bencher| {
                bencher.iter(|| measure(Input::probabilities(black_box(&sample.p), &sample.y), &quantile));
            });
        }
    }
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = sizes }
criterion_main!(benches);
