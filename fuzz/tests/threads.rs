//! Work on several threads at once, for ThreadSanitizer and `make test`.

use std::sync::Arc;
use std::thread;

use calipers::{Assess, BinnedEce, Filling, Input, LsEce, Measure, Sketch, Watch};

const N: usize = 70_000;

fn rows() -> (Vec<f64>, Vec<bool>) {
    let p: Vec<f64> = (0..N).map(|row| ((row * 7919 % N) as f64 + 0.5) / N as f64).collect();
    let y = p.iter().enumerate().map(|(row, p)| ((row * 104_729 % N) as f64) < p * N as f64).collect();
    (p, y)
}

/// Batches of so many rows go through dense tables, one for each thread.
#[test]
fn sketches_of_many_threads_are_those_of_one() {
    let (p, y) = rows();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let of_one = calipers::on_this_thread(|| {
        let mut filling = Filling::new(Sketch::new());
        filling.update(&view).unwrap();
        filling.finish().to_bytes()
    });
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut sketch = Sketch::new();
                sketch.update(&view).unwrap();
                assert_eq!(sketch.to_bytes(), of_one);
            });
        }
    });
}

#[test]
fn measures_on_many_threads_have_the_bits_of_one() {
    let (p, y) = rows();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let (ls_ece, ece) = (LsEce::new(), BinnedEce::new());
    let measures: [&dyn Measure; 2] = [&ls_ece, &ece];
    for measure in measures {
        let of_one = calipers::on_this_thread(|| measure.estimate(&view)).unwrap().value;
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert_eq!(measure.estimate(&view).unwrap().value.to_bits(), of_one.to_bits()));
            }
        });
    }
}

#[test]
fn a_call_that_another_thread_stops_ends() {
    let (p, y) = rows();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let watch = Arc::new(Watch::new());
    let joining = watch.clone();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).start_handler(move |_| joining.clone().join());
    let pool = pool.build().unwrap();
    let measure = LsEce::new();
    let stopping = watch.clone();
    let stop = thread::spawn(move || {
        thread::sleep(std::time::Duration::from_millis(50));
        stopping.stop();
    });
    let assess = || pool.install(|| watch.guard(|| Assess::new(&measure).n_resamples(1_000_000).run(&view)));
    assert!(assess().is_err());
    stop.join().unwrap();
}
