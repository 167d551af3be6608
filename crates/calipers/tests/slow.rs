//! Minutes, not seconds: `make test-slow`.
#![cfg(feature = "slow-tests")]

#[macro_use]
mod oracle;

use calipers::{BinnedEce, Input, LsEce, Measure, Uniform};
use oracle::Point;

/// 10^8 rows of eight distinct probabilities: the exact sums are those of eight weighted points.
#[test]
fn a_hundred_million_rows_keep_the_bound() {
    const N: usize = 100_000_000;
    let values = [0.02, 0.11, 0.3, 0.3000001, 0.5, 0.77, 0.98, 0.999];
    let (mut p, mut y) = (Vec::with_capacity(N), Vec::with_capacity(N));
    let mut counts = [[0u64; 2]; 8];
    let mut state = 12345u64;
    for _ in 0..N {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let which = (state >> 61) as usize;
        let outcome = ((state >> 20) & 0xffff) as f64 / 65536.0 < values[which] * 0.9 + 0.02;
        p.push(values[which]);
        y.push(outcome);
        counts[which][usize::from(outcome)] += 1;
    }
    let mut points = Vec::new();
    for (value, count) in values.iter().zip(counts) {
        for outcome in [false, true] {
            points.push(Point { h: oracle::logit(*value, 1e-6), y: outcome, w: count[usize::from(outcome)] as f64 });
        }
    }
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    for sigma in [1.0, 0.05, 0.001] {
        let gaussian = LsEce::new().sigma(sigma).estimate(&view).unwrap();
        let truth = oracle::ls_ece(&points, oracle::GAUSSIAN, oracle::logistic, sigma);
        let error = (gaussian.value - truth).abs();
        say!("gaussian, sigma {sigma}: error {error:e}, bound {:e}", gaussian.numerical_bound);
        assert!(error <= gaussian.numerical_bound + 1e-10 && gaussian.numerical_bound <= 1e-6);

        let uniform = LsEce::new().sigma(sigma).noise(Uniform).estimate(&view).unwrap();
        let error = (uniform.value - oracle::ls_ece_uniform(&points, sigma)).abs();
        say!("uniform, sigma {sigma}: error {error:e}, bound {:e}", uniform.numerical_bound);
        assert!(error <= uniform.numerical_bound + 1e-12 && uniform.numerical_bound <= 1e-6);
    }

    let exact: f64 = {
        let bin = |value: f64| (value * 15.0).ceil().max(1.0) as usize - 1;
        let mut gaps = [0.0; 15];
        for (value, count) in values.iter().zip(counts) {
            gaps[bin(*value)] += count[1] as f64 - value * (count[0] + count[1]) as f64;
        }
        gaps.iter().map(|gap| gap.abs()).sum::<f64>() / N as f64
    };
    let ece = BinnedEce::new().estimate(&view).unwrap();
    assert!((ece.value - exact).abs() < 1e-13, "{} against {exact}", ece.value);
}
