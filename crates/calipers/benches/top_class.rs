//! Rows of raw scores to log-odds and outcome of the top class: rows x classes in the ids.

mod data;

use std::hint::black_box;

use calipers::{Input, Ties};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::raw_scores;

fn shapes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("top_class");
    for (n_rows, n_classes) in [(10_000, 10), (10_000, 100), (10_000, 1_000), (50_000, 1_000)] {
        let (scores, labels) = raw_scores(n_rows, n_classes);
        let shape = format!("{n_rows}x{n_classes}");
        group.throughput(Throughput::Elements(scores.len() as u64));
        // The door looks at every score too: timed apart, so that the two can be told from each
        // other.
        group.bench_function(BenchmarkId::new("check", &shape), |bencher| {
            bencher.iter(|| Input::logits(black_box(&scores), &labels).classes(n_classes).check().unwrap().len());
        });
        let predictions = Input::logits(&scores, &labels).classes(n_classes).check().unwrap();
        group.bench_function(BenchmarkId::new("view", &shape), |bencher| {
            bencher.iter(|| black_box(&predictions).top_class(Ties::First).unwrap().len());
        });
    }
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = shapes }
criterion_main!(benches);
