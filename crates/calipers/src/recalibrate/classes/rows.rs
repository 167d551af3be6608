//! What is done with one row of classes, in vector code: the same steps where maps are fitted and
//! where they are applied.

use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::logarithm;

const LANES: usize = 8;

/// A sum in a fixed number of lanes.
#[inline(always)]
pub(crate) fn lane_sum(values: &[f64]) -> f64 {
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for block in blocks {
        (0..LANES).for_each(|lane| lanes[lane] += block[lane]);
    }
    lanes.iter_mut().zip(rest).for_each(|(lane, value)| *lane += value);
    ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]))
}

#[inline(always)]
pub(crate) fn largest(values: &[f64]) -> f64 {
    // Not `f64::max`, which asks for NaN first: this is one instruction.
    let larger = |top: f64, value: f64| if value > top { value } else { top };
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f64::NEG_INFINITY; LANES];
    for block in blocks {
        (0..LANES).for_each(|lane| lanes[lane] = larger(lanes[lane], block[lane]));
    }
    lanes.iter().chain(rest).fold(f64::NEG_INFINITY, |top, value| larger(top, *value))
}

/// e^(slope (z - max z)) in place of scores; returns their sum.
#[inline(always)]
fn exponentials(values: &mut [f64], slope: f64) -> f64 {
    let top = largest(values);
    values.iter_mut().for_each(|value| *value = exp_of_nonpositive(slope * (*value - top)));
    lane_sum(values)
}

dispatched! {
    /// softmax(slope z) in place of scores z.
    pub(crate) fn softmax / softmax_portable(values: &mut [f64], slope: f64) {
        let total = exponentials(values, slope);
        values.iter_mut().for_each(|value| *value /= total);
    }
}

dispatched! {
    /// log((1 - mixture) softmax(slope z) + mixture / k) in place of scores z.
    pub(crate) fn log_softmax / log_softmax_portable(values: &mut [f64], slope: f64, mixture: f64) {
        if mixture > 0.0 {
            let equal = mixture / values.len() as f64;
            let share = (1.0 - mixture) / exponentials(values, slope);
            values.iter_mut().for_each(|value| *value = logarithm::ln(share * *value + equal));
            return;
        }
        let top = largest(values);
        values.iter_mut().for_each(|value| *value = slope * (*value - top));
        // In lanes as above, of which no copy is kept.
        let (blocks, rest) = values.as_chunks::<LANES>();
        let mut lanes = [0.0; LANES];
        for block in blocks {
            (0..LANES).for_each(|lane| lanes[lane] += exp_of_nonpositive(block[lane]));
        }
        lanes.iter_mut().zip(rest).for_each(|(lane, value)| *lane += exp_of_nonpositive(*value));
        let log = lane_sum(&lanes).ln();
        values.iter_mut().for_each(|value| *value -= log);
    }
}

/// -log softmax(slope z) of a class: not negative, and exact where the probability rounds to 0.
pub(crate) fn softmax_loss(values: &[f64], slope: f64, class: usize) -> f64 {
    let top = largest(values);
    let total: f64 = values.iter().map(|value| exp_of_nonpositive(slope * (value - top))).sum();
    total.ln() + slope * (top - values[class])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_the_definition_says_on_every_processor() {
        for k in [2, 3, 8, 17, 1000] {
            let scores: Vec<f64> = (0..k).map(|class| 5.0 * (class as f64 * 1.3).sin()).collect();
            let weights: Vec<f64> = scores.iter().map(|z| (0.7 * z).exp()).collect();
            let total: f64 = weights.iter().sum();
            let (mut p, mut portable) = (scores.clone(), scores.clone());
            softmax(&mut p, 0.7);
            softmax_portable(&mut portable, 0.7);
            assert_eq!(p, portable);
            for mixture in [0.0, 0.01] {
                let (mut logs, mut portable) = (scores.clone(), scores.clone());
                log_softmax(&mut logs, 0.7, mixture);
                log_softmax_portable(&mut portable, 0.7, mixture);
                assert_eq!(logs, portable);
                for class in 0..k {
                    assert!((p[class] - weights[class] / total).abs() < 1e-15);
                    let slow = ((1.0 - mixture) * weights[class] / total + mixture / k as f64).ln();
                    assert!((logs[class] - slow).abs() < 1e-13, "{k}: {} {slow}", logs[class]);
                }
            }
            assert!((softmax_loss(&scores, 0.7, 1) + (weights[1] / total).ln()).abs() < 1e-13);
        }
        assert_eq!(softmax_loss(&[0.0, 1e6], 1.0, 0), 1e6);
    }
}
