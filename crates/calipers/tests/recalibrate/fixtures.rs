//! The fixtures that the golden values belong to: integer formulas, so that every language makes
//! the same doubles.

use calipers::{Input, Predictions};

pub(crate) struct Binary {
    pub(crate) logits: Vec<f64>,
    pub(crate) probabilities: Vec<f64>,
    pub(crate) labels: Vec<u8>,
    pub(crate) weights: Vec<f64>,
}

/// 400 rows of 101 different logits.
pub(crate) fn binary() -> Binary {
    let k = |i: i64| (37 * i).rem_euclid(101) - 50;
    let label = |i: i64| {
        let m = (61 * i + 17).rem_euclid(97);
        let c = 128 + if k(i) < 0 { k(i) } else { 2 * k(i) };
        u8::from(256 * m < 97 * c)
    };
    let logits: Vec<f64> = (0..400).map(|i| k(i) as f64 / 16.0).collect();
    let fixture = Binary {
        probabilities: logits.iter().map(|h| 1.0 / (1.0 + (-h).exp())).collect(),
        logits,
        labels: (0..400).map(label).collect(),
        weights: (0..400).map(|i| f64::from(1 + i % 3)).collect(),
    };
    assert_eq!(fixture.labels.iter().map(|y| u32::from(*y)).sum::<u32>(), 219);
    assert_eq!(fixture.labels[..20], [1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1]);
    fixture
}

impl Binary {
    pub(crate) fn plain(&self) -> Predictions<'_> {
        Input::logits(&self.logits, &self.labels).check().unwrap()
    }

    pub(crate) fn weighted(&self) -> Predictions<'_> {
        Input::logits(&self.logits, &self.labels).weights(&self.weights).check().unwrap()
    }
}

/// 300 rows of three classes: raw scores, row after row, and labels.
pub(crate) fn classes() -> (Vec<f64>, Vec<i64>) {
    let mut scores = Vec::new();
    let mut labels = Vec::new();
    for i in 0..300i64 {
        let z = [(29 * i) % 83 - 41, (47 * i + 11) % 89 - 44, (53 * i + 5) % 79 - 39];
        let noise = [(71 * i + 13) % 127 - 63, (59 * i + 29) % 131 - 65, (67 * i + 41) % 113 - 56];
        let sums = [z[0] + noise[0], z[1] + noise[1] + z[0].div_euclid(4) + 6, z[2] + noise[2] - 10];
        let top = (0..3).rev().max_by_key(|&class| sums[class]).unwrap();
        scores.extend(z.map(|z| z as f64 / 16.0));
        labels.push(top as i64);
    }
    assert_eq!([0, 1, 2].map(|class| labels.iter().filter(|label| **label == class).count()), [102, 116, 82]);
    assert_eq!(labels[..20], [2, 2, 2, 1, 2, 0, 1, 1, 1, 1, 1, 2, 0, 1, 0, 1, 2, 0, 1, 0]);
    (scores, labels)
}

/// A plain generator of uniform numbers in (0, 1).
pub(crate) struct Uniforms(pub(crate) u64);

impl Uniforms {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 * 2f64.powi(-53) + 2f64.powi(-54)
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.next().ln()).sqrt() * (std::f64::consts::TAU * self.next()).cos()
    }
}
