//! Clusters of rows of classes: whole clusters are held out, and uncertainty is theirs.

use calipers::recalibrate::{Choose, ClassSample, CrossFit, Decompose, HeldOut, Method, Recalibrate};
use calipers::{Input, Predictions};

use crate::fixtures;

const METHODS: [Method; 3] = [Method::Temperature, Method::Vector, Method::EnsembleTemperature];

fn rows() -> (Vec<f64>, Vec<i64>) {
    fixtures::classes()
}

fn check<'a>(scores: &'a [f64], labels: &'a [i64]) -> Predictions<'a> {
    Input::logits(scores, labels).classes(3).check().unwrap()
}

/// Every row as often as that, one after the other.
fn repeated(times: usize) -> (Vec<f64>, Vec<i64>, Vec<u32>) {
    let (scores, labels) = rows();
    let mut all = (Vec::new(), Vec::new(), Vec::new());
    for (row, label) in labels.iter().enumerate() {
        for _ in 0..times {
            all.0.extend_from_slice(&scores[3 * row..3 * row + 3]);
            all.1.push(*label);
            all.2.push(row as u32);
        }
    }
    all
}

#[test]
fn repeated_rows_of_a_cluster_are_no_news_on_held_out_rows() {
    let (scores, labels) = rows();
    let n = labels.len() as f64;
    let plain = check(&scores, &labels);
    for method in METHODS {
        let map = Recalibrate::new(method).fit_classes(&plain).unwrap().map;
        let alone = HeldOut::new(&map).run_classes(&plain).unwrap();
        let (scores, labels, clusters) = repeated(4);
        let four = check(&scores, &labels);
        let found = HeldOut::new(&map).run_classes(ClassSample::new(&four).clusters(&clusters)).unwrap();
        assert_eq!(found.n_clusters, Some(300));
        assert!((found.gain - alone.gain).abs() < 1e-12);
        // C / (C - 1) is for a mean that was taken from the same clusters.
        let expected = alone.standard_error * (n / (n - 1.0)).sqrt();
        assert!((found.standard_error - expected).abs() < 1e-12, "{method:?}");
        let naive = HeldOut::new(&map).run_classes(&four).unwrap();
        assert!(naive.standard_error < 0.51 * found.standard_error);
    }
}

#[test]
fn copies_of_a_row_are_never_on_both_sides_of_a_fold() {
    // With copies in the training folds, a matrix of many parameters would seem to gain.
    let (scores, labels, clusters) = repeated(6);
    let predictions = check(&scores, &labels);
    for method in METHODS {
        let cross_fit = CrossFit::new(Recalibrate::new(method)).n_resamples(0);
        let of_rows = cross_fit.run_classes(&predictions).unwrap();
        let found = cross_fit.run_classes(ClassSample::new(&predictions).clusters(&clusters)).unwrap();
        assert_eq!((found.n_clusters, found.n_folds), (Some(300), 10));
        assert!(found.gain < of_rows.gain, "{method:?}: {} {}", found.gain, of_rows.gain);
        let width = |interval: calipers::recalibrate::GainInterval| interval.upper - interval.lower;
        assert!(width(found.interval) > 1.8 * width(of_rows.interval), "{method:?}");
        assert!(found.floor.is_none());
        assert_eq!(found.fit.map, of_rows.fit.map);
        assert!(found.fit.parameters.iter().all(|parameter| parameter.standard_error.is_none()));
    }
}

#[test]
fn choices_and_decompositions_take_clusters() {
    let (scores, labels, clusters) = repeated(3);
    let predictions = check(&scores, &labels);
    let rows = ClassSample::new(&predictions).clusters(&clusters);
    let choice = Choose::new().n_resamples(99).run_classes(rows).unwrap();
    assert_eq!(choice.improvement.n_clusters, Some(300));
    assert!(choice.improvement.floor.is_none());
    let one = choice.table.iter().find(|candidate| candidate.standard_error.is_some_and(|error| error > 0.0)).unwrap();
    let of_rows = Choose::new().n_resamples(0).run_classes(&predictions).unwrap();
    let same = of_rows.table.iter().find(|candidate| candidate.name == one.name).unwrap();
    assert!(one.standard_error.unwrap() > 1.3 * same.standard_error.unwrap());
    let parts = Decompose::new().method(Recalibrate::new(Method::Temperature)).run_classes(rows).unwrap();
    assert_eq!(parts.n_clusters, Some(300));
}

#[test]
fn the_order_of_rows_and_the_numbers_of_clusters_change_nothing() {
    let (scores, labels, clusters) = repeated(2);
    let predictions = check(&scores, &labels);
    let cross_fit = CrossFit::new(Recalibrate::new(Method::Temperature));
    let found = cross_fit.run_classes(ClassSample::new(&predictions).clusters(&clusters)).unwrap();
    let n = labels.len();
    let order: Vec<usize> = (0..n).map(|row| (row * 7 + 3) % n).collect();
    let scores: Vec<f64> = order.iter().flat_map(|row| scores[3 * row..3 * row + 3].to_vec()).collect();
    let labels: Vec<i64> = order.iter().map(|row| labels[*row]).collect();
    let clusters: Vec<u32> = order.iter().map(|row| 1000 - clusters[*row]).collect();
    let predictions = check(&scores, &labels);
    let other = cross_fit.run_classes(ClassSample::new(&predictions).clusters(&clusters)).unwrap();
    assert_eq!(found.gain, other.gain);
    assert!((found.interval.lower - other.interval.lower).abs() < 1e-12);
    let few: Vec<u32> = (0..n as u32).map(|row| row % 5).collect();
    let error = cross_fit.run_classes(ClassSample::new(&predictions).clusters(&few)).unwrap_err();
    assert!(error.to_string().starts_with("clusters must be at least 10 different ones"), "{error}");
}
