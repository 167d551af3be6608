//! Bits do not depend on threads.

use calipers::{Assess, Assessment, BinnedEce, LsEce, Measure, Uniform};

use crate::data::{Data, Shape};

#[test]
fn one_thread_and_two_give_the_same_bits() {
    let on = |threads: usize, data: &Data, measure: &dyn Measure| -> Assessment {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| data.with(|view| Assess::new(measure).n_resamples(60).random_state(5).run(view).unwrap()))
    };
    let measures: [&dyn Measure; 4] =
        [&LsEce::new(), &LsEce::new().sigma(0.1), &LsEce::new().noise(Uniform).sigma(0.3), &BinnedEce::new()];
    for shape in [Shape::Plain, Shape::Weighted] {
        let data = Data::new("overconfident", shape, 40_000, 1);
        for measure in measures {
            assert_eq!(on(1, &data, measure), on(2, &data, measure));
        }
    }
}

#[test]
fn another_seed_gives_other_draws_and_the_same_seed_the_same() {
    let data = Data::new("calibrated", Shape::Plain, 1000, 1);
    let measure = LsEce::new().sigma(0.2);
    let with_seed =
        |seed: u64| data.with(|view| Assess::new(&measure).n_resamples(50).random_state(seed).run(view).unwrap());
    assert_eq!(with_seed(1), with_seed(1));
    assert_ne!(with_seed(1).floor, with_seed(2).floor);
    assert_eq!(with_seed(1).estimate, with_seed(2).estimate);
}
