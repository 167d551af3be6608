//! Sketches: filling by size and kind of rows, merging, bytes, and answers.

mod data;

use std::hint::black_box;

use calipers::{Filling, Input, LsEce, Predictions, Sketch};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::{SIZES, Sample};

/// Rows of a batch of a stream.
const BATCH: usize = 1 << 16;

fn sketch_of(predictions: &Predictions<'_>) -> Sketch {
    let mut sketch = Sketch::new();
    sketch.update(&predictions.binary().unwrap()).unwrap();
    sketch
}

fn filling(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sketch_update");
    for n in SIZES {
        let sample = Sample::new(n);
        let logits: Vec<f64> = sample.p.iter().map(|p| (p / (1.0 - p)).ln()).collect();
        let weights: Vec<f64> = sample.p.iter().map(|p| 1.0 + p).collect();
        let plain = Input::probabilities(&sample.p, &sample.y).check().unwrap();
        let weighted = Input::probabilities(&sample.p, &sample.y).weights(&weights).check().unwrap();
        let raw = Input::logits(&logits, &sample.y).check().unwrap();
        group.throughput(Throughput::Elements(n as u64));
        for (name, predictions) in [("plain", &plain), ("weighted", &weighted), ("logits", &raw)] {
            group.bench_function(BenchmarkId::new(name, n), |bencher| {
                bencher.iter(|| sketch_of(black_box(predictions)));
            });
        }
        let batches: Vec<Predictions<'_>> = sample
            .p
            .chunks(BATCH)
            .zip(sample.y.chunks(BATCH))
            .map(|(p, y)| Input::probabilities(p, y).check().unwrap())
            .collect();
        group.bench_function(BenchmarkId::new("stream", n), |bencher| {
            bencher.iter(|| {
                let mut filling = Filling::new(Sketch::new());
                black_box(&batches).iter().for_each(|batch| filling.update(&batch.binary().unwrap()).unwrap());
                filling.finish()
            });
        });
    }
}

fn made(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sketch");
    for n in [10_000, 1_000_000] {
        let sample = Sample::new(n);
        let sketch = sketch_of(&Input::probabilities(&sample.p, &sample.y).check().unwrap());
        let bytes = sketch.to_bytes();
        group.bench_function(BenchmarkId::new("to_bytes", n), |bencher| bencher.iter(|| black_box(&sketch).to_bytes()));
        group.bench_function(BenchmarkId::new("from_bytes", n), |bencher| {
            bencher.iter(|| Sketch::from_bytes(black_box(&bytes)).unwrap());
        });
        group.bench_function(BenchmarkId::new("merge", n), |bencher| {
            bencher.iter_batched(
                || sketch.clone(),
                |mut merged| merged.merge(black_box(&sketch)).map(|()| merged),
                criterion::BatchSize::LargeInput,
            );
        });
        group.bench_function(BenchmarkId::new("ls_ece", n), |bencher| {
            bencher.iter(|| black_box(&sketch).estimate(&LsEce::new().sigma(0.05)).unwrap().value);
        });
    }
}

/// Sketches of segments, each read and merged into one.
fn read_and_merged(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sketch_read_and_merged");
    let part = |sample: Sample| sketch_of(&Input::probabilities(&sample.p, &sample.y).check().unwrap());
    for n in [100, 10_000] {
        // Different rows, which fill different cells.
        let parts: Vec<Sketch> = (0..100).map(|k| part(Sample::new(n + k))).collect();
        for version in [3, 4] {
            let bytes: Vec<Vec<u8>> = parts.iter().map(|part| part.to_bytes_for(version).unwrap()).collect();
            group.bench_function(BenchmarkId::new(format!("version {version}, 100 of rows"), n), |bencher| {
                bencher.iter(|| {
                    let mut all = Sketch::new();
                    for bytes in black_box(&bytes) {
                        all.merge(&Sketch::from_bytes(bytes).unwrap()).unwrap();
                    }
                    all
                });
            });
        }
    }
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = filling, made, read_and_merged }
criterion_main!(benches);
