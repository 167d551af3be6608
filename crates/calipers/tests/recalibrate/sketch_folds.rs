//! The gain from sketches, one for each fold, against that of the rows in the same folds.

use calipers::recalibrate::{CrossFit, HeldOut, Method, Recalibrate, Verdict};
use calipers::{Input, Sketch, SketchOptions};

use crate::fixtures::Uniforms;

const FOLDS: usize = 5;

struct Rows {
    logits: Vec<Vec<f64>>,
    labels: Vec<Vec<u8>>,
}

fn drawn(n: usize, slope: f64, seed: u64) -> Rows {
    let mut uniforms = Uniforms(seed);
    let mut rows = Rows { logits: vec![Vec::new(); FOLDS], labels: vec![Vec::new(); FOLDS] };
    for row in 0..n {
        let h = 2.0 * uniforms.normal();
        rows.logits[row % FOLDS].push(h);
        let p = 1.0 / (1.0 + (-slope * h).exp());
        rows.labels[row % FOLDS].push(u8::from(uniforms.next() < p));
    }
    rows
}

impl Rows {
    fn sketches(&self, resolution: u32) -> Vec<Sketch> {
        let sketch = |(logits, labels): (&Vec<f64>, &Vec<u8>)| {
            let mut sketch = Sketch::with(&SketchOptions::new().resolution(resolution)).unwrap();
            sketch.update(&Input::logits(logits, labels).check().unwrap().binary().unwrap()).unwrap();
            sketch
        };
        self.logits.iter().zip(&self.labels).map(sketch).collect()
    }

    /// The rows of some folds.
    fn of(&self, is_in: impl Fn(usize) -> bool) -> (Vec<f64>, Vec<u8>) {
        let folds: Vec<usize> = (0..FOLDS).filter(|fold| is_in(*fold)).collect();
        (
            folds.iter().flat_map(|fold| self.logits[*fold].clone()).collect(),
            folds.iter().flat_map(|fold| self.labels[*fold].clone()).collect(),
        )
    }

    /// The gain that cross-fitting the rows gives, without sketches.
    fn gain(&self, recalibrate: &Recalibrate) -> f64 {
        let n: usize = self.logits.iter().map(Vec::len).sum();
        let of_fold = |fold: usize| {
            let (logits, labels) = self.of(|other| other != fold);
            let map = recalibrate.fit(&Input::logits(&logits, &labels).check().unwrap().binary().unwrap()).unwrap().map;
            let predictions = Input::logits(&self.logits[fold], &self.labels[fold]).check().unwrap();
            HeldOut::new(&map).run(&predictions.binary().unwrap()).unwrap().gain * self.logits[fold].len() as f64
        };
        (0..FOLDS).map(of_fold).sum::<f64>() / n as f64
    }
}

#[test]
fn the_gain_of_sketches_is_that_of_the_rows_within_its_bound() {
    for resolution in [8, 12] {
        for method in [Method::Shift, Method::Temperature, Method::Platt, Method::Beta, Method::CentredIsotonic] {
            let rows = drawn(4000, 0.7, 5);
            let recalibrate = Recalibrate::new(method);
            let found = CrossFit::new(recalibrate.clone()).run_sketches(&rows.sketches(resolution)).unwrap();
            let exact = rows.gain(&recalibrate);
            let away = (found.improvement.gain - exact).abs();
            match found.bound {
                // The maps of the folds are those of the cells, which matters in second order.
                Some(bound) => {
                    assert!(away <= bound + 1e-9, "{resolution} {method:?}: {away} {bound}");
                    assert!(bound < if resolution == 12 { 1e-5 } else { 1e-2 }, "{resolution} {method:?}: {bound}");
                }
                None => assert!(method.is_table() && away < 1e-3, "{resolution} {method:?}: {away}"),
            }
            assert_eq!(found.improvement.n_folds, FOLDS);
        }
    }
}

#[test]
fn the_interval_of_sketches_is_that_of_the_rows() {
    let rows = drawn(5000, 0.8, 11);
    for method in [Method::Temperature, Method::Platt, Method::Beta] {
        let cross_fit = CrossFit::new(Recalibrate::new(method)).n_resamples(0);
        let found = cross_fit.run_sketches(&rows.sketches(12)).unwrap();
        let (logits, labels) = rows.of(|_| true);
        let predictions = Input::logits(&logits, &labels).check().unwrap();
        let exact = cross_fit.run(&predictions.binary().unwrap()).unwrap();
        let [own, of_rows] = [found.improvement.interval, exact.interval];
        let width = of_rows.upper - of_rows.lower;
        assert!((own.lower - of_rows.lower).abs() < 1e-3 * width + 1e-7, "{own:?} {of_rows:?}");
        assert!((own.upper - of_rows.upper).abs() < 1e-3 * width + 1e-7, "{own:?} {of_rows:?}");
        assert_eq!(found.improvement.verdict, Verdict::Helps);
        assert!(found.sentence().contains("By the cells of the sketches the gain is known to within "));
    }
}

#[test]
fn intervals_from_sketches_hold_the_gain_of_the_map() {
    let (n_runs, slope) = (60, 0.9);
    let mut n_held = 0;
    for run in 0..n_runs {
        let rows = drawn(500, slope, 900 + run);
        let found = CrossFit::new(Recalibrate::new(Method::Platt)).run_sketches(&rows.sketches(10)).unwrap();
        let map = &found.improvement.fit.map;
        let (mut top, mut bottom) = (0.0, 0.0);
        for h in (-50..=50).map(|step| 0.1 * f64::from(step)) {
            let (weight, h) = ((-0.5 * h * h).exp(), 2.0 * h);
            let p = 1.0 / (1.0 + (-slope * h).exp());
            let [negative, positive] = map.losses(h);
            let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
            top += weight * (p * (softplus(-h) - positive) + (1.0 - p) * (softplus(h) - negative));
            bottom += weight;
        }
        let interval = found.improvement.interval;
        n_held += usize::from((interval.lower..=interval.upper).contains(&(top / bottom)));
    }
    let share = f64::from(n_held as u32) / n_runs as f64;
    assert!(share >= 0.88, "{share}");
}

#[test]
fn folds_must_be_several_and_of_one_kind() {
    let rows = drawn(100, 1.0, 1);
    let cross_fit = CrossFit::new(Recalibrate::new(Method::Platt));
    let error = cross_fit.run_sketches(&rows.sketches(12)[..1]).unwrap_err();
    assert_eq!(error.to_string(), "sketches must be at least 2, one for each fold, got 1");
    // An empty fold has nothing to hold out.
    let mut some = rows.sketches(12);
    some.push(Sketch::new());
    assert_eq!(cross_fit.run_sketches(&some).unwrap().improvement.n_folds, FOLDS);
}
