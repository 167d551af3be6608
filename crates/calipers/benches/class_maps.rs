//! Fits of maps of classes: rows x classes in the ids.

mod data;

use std::hint::black_box;

use calipers::Input;
use calipers::recalibrate::{Method, Recalibrate};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::raw_scores;

fn fits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("class_maps");
    let shapes = [
        (Method::Temperature, 10_000, 100),
        (Method::Temperature, 50_000, 1_000),
        (Method::BiasCorrectedTemperature, 10_000, 100),
        (Method::Vector, 10_000, 10),
        (Method::Vector, 10_000, 100),
        (Method::Matrix, 10_000, 10),
        (Method::EnsembleTemperature, 10_000, 100),
    ];
    for (method, n_rows, n_classes) in shapes {
        let (scores, labels) = raw_scores(n_rows, n_classes);
        let predictions = Input::logits(&scores, &labels).classes(n_classes).check().unwrap();
        let fit = Recalibrate::new(method);
        group.throughput(Throughput::Elements(scores.len() as u64));
        let id = BenchmarkId::new(method.name(), format!("{n_rows}x{n_classes}"));
        group.bench_function(id, |bencher| bencher.iter(|| fit.fit_classes(black_box(&predictions)).unwrap()));
    }
    let (scores, labels) = raw_scores(10_000, 100);
    let predictions = Input::logits(&scores, &labels).classes(100).check().unwrap();
    let map = Recalibrate::new(Method::Vector).fit_classes(&predictions).unwrap().map;
    group.throughput(Throughput::Elements(scores.len() as u64));
    group.bench_function(BenchmarkId::new("apply_vector", "10000x100"), |bencher| {
        bencher.iter(|| map.apply_all(black_box(&predictions)));
    });
}

criterion_group! { name = benches; config = Criterion::default().sample_size(10); targets = fits }
criterion_main!(benches);
