//! Assessments of sketches against those of the rows.

use calipers::{Assess, BinnedEce, LsEce, LsEceSampled, Measure, Norm, Sample, Sketch, Strategy};

use crate::data::{Data, Shape};

#[test]
fn a_sketch_has_the_floor_and_the_interval_of_its_rows() {
    for (family, shape, n) in [
        ("overconfident", Shape::Plain, 20_000),
        ("calibrated", Shape::Plain, 5_000),
        ("shifted", Shape::Weighted, 5_000),
        ("shifted", Shape::Ties, 5_000),
    ] {
        let data = Data::new(family, shape, n, 8);
        let measure = LsEce::new().sigma(0.2).tolerance(1e-4);
        data.with(|view| {
            let mut sketch = Sketch::new();
            sketch.update(view).unwrap();
            let assess = Assess::new(&measure).n_resamples(2000).random_state(4);
            let (rows, found) = (assess.run(view).unwrap(), assess.run(&sketch).unwrap());
            assert_eq!((rows.significant, found.n_clusters), (found.significant, None));
            let [of_rows, of_sketch] = [&rows, &found].map(|found| found.floor.clone().unwrap());
            println!(
                "{family} {shape:?}: {:?} {:?}, {:?} {:?}",
                of_rows.mean, of_sketch.mean, rows.interval, found.interval
            );
            // Means of 2,000 draws differ by up to four of their errors.
            let allowed = 4.0 * 2f64.sqrt() * of_rows.deviation / 2000f64.sqrt();
            assert!((of_rows.mean - of_sketch.mean).abs() < allowed, "{of_rows:?} {of_sketch:?}");
            assert!((of_sketch.deviation / of_rows.deviation - 1.0).abs() < 0.1);
            assert!((of_rows.p_value - of_sketch.p_value).abs() < 0.06);
            let near = |a: f64, b: f64| (a - b).abs() < 0.15 * rows.standard_error;
            assert!(near(rows.interval.lower, found.interval.lower) && near(rows.interval.upper, found.interval.upper));
            assert!((found.standard_error / rows.standard_error - 1.0).abs() < 0.01);
            assert!((found.estimate.value - rows.estimate.value).abs() < 1e-4);
        });
    }
}

#[test]
fn bins_of_a_sketch_are_resampled_like_rows() {
    for (family, shape, norm) in [
        ("overconfident", Shape::Plain, Norm::L1),
        ("calibrated", Shape::Plain, Norm::L2),
        ("shifted", Shape::Weighted, Norm::L1),
    ] {
        let data = Data::new(family, shape, 4000, 8);
        let measure = BinnedEce::new().norm(norm);
        data.with(|view| {
            let mut sketch = Sketch::new();
            sketch.update(view).unwrap();
            let assess = Assess::new(&measure).n_resamples(1000).random_state(4);
            let (rows, found) = (assess.run(view).unwrap(), assess.run(&sketch).unwrap());
            let [of_rows, of_sketch] = [&rows, &found].map(|found| found.floor.clone().unwrap());
            println!("{family} {shape:?}: {of_rows:?} {of_sketch:?}, {:?} {:?}", rows.interval, found.interval);
            let allowed = 4.0 * 2f64.sqrt() * of_rows.deviation / 1000f64.sqrt();
            assert!((of_rows.mean - of_sketch.mean).abs() < allowed, "{of_rows:?} {of_sketch:?}");
            assert!((of_sketch.deviation / of_rows.deviation - 1.0).abs() < 0.15);
            assert!((found.standard_error / rows.standard_error - 1.0).abs() < 0.15);
            assert!((rows.bias - found.bias).abs() < 0.2 * rows.standard_error, "{} {}", rows.bias, found.bias);
            assert_eq!(rows.significant, found.significant);
        });
    }
}

/// Weights that go with the score: cells do not all have the same.
#[test]
fn weights_of_a_sketch_are_those_of_its_cells() {
    let mut data = Data::new("overconfident", Shape::Plain, 4000, 2);
    data.weights = Some(data.probabilities.iter().map(|p| if *p > 0.5 { 3.0 } else { 1.0 / 1024.0 }).collect());
    let measure = LsEce::new().sigma(0.3).tolerance(1e-4);
    data.with(|view| {
        let mut sketch = Sketch::new();
        sketch.update(view).unwrap();
        let assess = Assess::new(&measure).n_resamples(400);
        let (rows, found) = (assess.run(view).unwrap(), assess.run(&sketch).unwrap());
        assert!((found.standard_error / rows.standard_error - 1.0).abs() < 0.01);
        let [of_rows, of_sketch] = [&rows, &found].map(|found| found.floor.clone().unwrap().mean);
        assert!((of_sketch / of_rows - 1.0).abs() < 0.1, "{of_rows} {of_sketch}");
    });
}

#[test]
fn what_needs_rows_is_refused() {
    let data = Data::new("calibrated", Shape::Plain, 100, 8);
    data.with(|view| {
        let mut sketch = Sketch::new();
        sketch.update(view).unwrap();
        let refusal = |measure: &dyn Measure| Assess::new(measure).run(&sketch).unwrap_err().to_string();
        assert_eq!(
            refusal(&LsEceSampled::new(0.3)),
            "measure must be one that a sketch can answer, got one that needs the rows"
        );
        assert_eq!(
            refusal(&BinnedEce::new().strategy(Strategy::Quantile)),
            "strategy must be \"uniform\" to resample from a sketch, got quantile"
        );
        let measure = LsEce::new().sigma(0.5).tolerance(1e-3);
        let clusters = [1; 100];
        assert_eq!(
            Assess::new(&measure).run(Sample::from(&sketch).clusters(&clusters)).unwrap_err().to_string(),
            "clusters must be left out for a sketch, which has no single rows, got some"
        );
        let empty = Sketch::new();
        assert_eq!(Assess::new(&measure).run(&empty).unwrap_err(), calipers::Error::NoRows);
    });
}
