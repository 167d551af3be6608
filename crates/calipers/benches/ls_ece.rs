//! LS-ECE, door to estimate: by size, by precision, by sigma and by noise.

mod data;

use std::hint::black_box;

use calipers::{BinnedEce, Input, LsEce, Measure, Multiclass, Ties, noise, on_this_thread};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::{SIZES, Sample};

/// What a user's call does: checks, then the measure.
fn measure(input: Input<'_>, ls_ece: &LsEce) -> f64 {
    let predictions = input.check().unwrap();
    ls_ece.estimate(&predictions.binary().unwrap()).unwrap().value
}

fn sizes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ls_ece");
    let ls_ece = LsEce::new().sigma(0.05);
    for n in SIZES {
        let sample = Sample::new(n);
        let singles = sample.singles();
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(BenchmarkId::new("f64", n), |bencher| {
            bencher.iter(|| measure(Input::probabilities(black_box(&sample.p), &sample.y), &ls_ece));
        });
        group.bench_function(BenchmarkId::new("f32", n), |bencher| {
            bencher.iter(|| measure(Input::probabilities(black_box(&singles), &sample.y), &ls_ece));
        });
    }
}

fn sigmas(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ls_ece_sigma");
    for n in [10_000, 1_000_000] {
        let sample = Sample::new(n);
        for sigma in [1.0, 0.1, 0.01] {
            let ls_ece = LsEce::new().sigma(sigma);
            group.bench_function(BenchmarkId::new(sigma.to_string(), n), |bencher| {
                bencher.iter(|| measure(Input::probabilities(black_box(&sample.p), &sample.y), &ls_ece));
            });
        }
    }
}

fn noises(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ls_ece_noise");
    for n in [10_000, 1_000_000] {
        let sample = Sample::new(n);
        for name in ["gaussian", "logistic", "laplace", "epanechnikov", "uniform"] {
            let ls_ece = LsEce::new().sigma(0.1).noise(noise::by_name(name).unwrap());
            group.bench_function(BenchmarkId::new(name, n), |bencher| {
                bencher.iter(|| measure(Input::probabilities(black_box(&sample.p), &sample.y), &ls_ece));
            });
        }
    }
}

/// Few rows with all defaults, on the calling thread, as Python measures them: a profile of these
/// is in bench/NOTES.md.
fn small_calls(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("small_calls");
    for n in [100, 1_000, 10_000] {
        let sample = Sample::new(n);
        let measures: [(&str, &dyn Measure); 2] = [("ls_ece", &LsEce::new()), ("ece", &BinnedEce::new())];
        for (name, measure) in measures {
            let input = || Input::probabilities(black_box(&sample.p), &sample.y);
            group.bench_function(BenchmarkId::new(name, n), |bencher| {
                bencher.iter(|| on_this_thread(|| input().estimate(Multiclass::Auto, Ties::First, measure).unwrap()));
            });
        }
    }
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = small_calls, sizes, sigmas, noises }
criterion_main!(benches);
