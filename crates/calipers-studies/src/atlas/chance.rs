//! What chance alone does to ECE: the same predictions with outcomes that are drawn from them.

use serde::{Deserialize, Serialize};

use super::binnings::{Binnings, Sorted};
use super::rules::{LEVEL, N_DRAWS, N_SIMULATED, N_TESTS};
use crate::replicates::{Stream, seed_of};

/// A model beside draws of calibrated ones with the same predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Chance {
    /// Of the three distances of question a.
    pub(super) p_values: [f64; 3],
    /// Their means over the draws.
    pub(super) by_chance: [f64; 3],
    /// The mean of ECE over the draws.
    pub(super) floor: f64,
    /// Its standard deviation.
    pub(super) floor_deviation: f64,
    /// Of ECE.
    pub(super) p_value: f64,
    /// Draws that were judged like a model.
    pub(super) n_simulated: u64,
    /// How many of them are called brittle.
    pub(super) n_simulated_brittle: u64,
    /// How many of them have an ECE above the floor.
    pub(super) n_simulated_above: u64,
}

/// The three distances of question a, and ECE.
type Draw = ([f64; 3], f64);

/// Sums in another order differ by rounding, and a draw that reaches the value up to that counts.
const ROUNDING: f64 = 1e-12;

/// The observed distances and ECE, and what chance does to them.
pub(super) fn judge(rows: &Sorted, binnings: &Binnings, seed: u64) -> Chance {
    let observed = binnings.eces(&rows.cumulated(|row, _| rows.outcomes[row]));
    let draws: Vec<Draw> = (0..(N_DRAWS + N_SIMULATED) as u64)
        .map(|draw| {
            let mut stream = Stream::new(seed_of(seed, 30, draw));
            let eces = binnings.eces(&rows.cumulated(|_, p| stream.uniform() < p));
            (eces.distances(), eces.usual)
        })
        .collect();
    let (reference, simulated) = draws.split_at(N_DRAWS);
    let p_values = |distances: [f64; 3]| {
        [0, 1, 2].map(|kind| p_value(reference.iter().map(|(drawn, _)| drawn[kind]), distances[kind]))
    };
    let p_value_of_ece = |ece: f64| p_value(reference.iter().map(|(_, drawn)| *drawn), ece);
    let count = |is: &dyn Fn(&Draw) -> bool| simulated.iter().filter(|draw| is(draw)).count() as u64;
    let n = reference.len() as f64;
    let mean = |of: &dyn Fn(&Draw) -> f64| reference.iter().map(of).sum::<f64>() / n;
    let floor = mean(&|(_, ece)| *ece);
    Chance {
        p_values: p_values(observed.distances()),
        by_chance: [0, 1, 2].map(|kind| mean(&|(drawn, _)| drawn[kind])),
        floor,
        floor_deviation: mean(&|(_, ece)| (ece - floor).powi(2)).sqrt(),
        p_value: p_value_of_ece(observed.usual),
        n_simulated: simulated.len() as u64,
        n_simulated_brittle: count(&|(distances, _)| is_brittle(p_values(*distances))),
        n_simulated_above: count(&|(_, ece)| p_value_of_ece(*ece) <= LEVEL),
    }
}

/// The share of draws that reach the value, with the value as one of them: at a level that is a
/// multiple of 1 / (1 + draws), a calibrated model is rejected in at most that share of samples.
fn p_value(draws: impl Iterator<Item = f64>, value: f64) -> f64 {
    let (n, n_reached) =
        draws.fold((0u64, 0u64), |(n, reached), draw| (n + 1, reached + u64::from(draw >= value - ROUNDING)));
    (1 + n_reached) as f64 / (1 + n) as f64
}

/// Whether chance fails to explain one of the three distances, by Holm's rule.
pub(super) fn is_brittle(p_values: [f64; 3]) -> bool {
    p_values.iter().any(|p| *p <= LEVEL / N_TESTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_p_value_counts_the_value_itself() {
        assert_eq!(p_value([0.1, 0.2, 0.3].into_iter(), 0.2), 0.75);
        assert_eq!(p_value([0.1].into_iter(), 0.2), 0.5);
    }

    #[test]
    fn two_points_beside_an_edge_are_brittle_and_15_bins_hide_them() {
        let p: Vec<f64> = (0..1_000).map(|row| if row % 2 == 0 { 0.4999 } else { 0.5001 }).collect();
        let y: Vec<bool> = (0..1_000).map(|row| row % 2 == 1).collect();
        let rows = Sorted::new(&p, &y);
        let chance = judge(&rows, &Binnings::new(&rows).unwrap(), 0);
        assert!(is_brittle(chance.p_values), "{chance:?}");
        // An odd number of bins has both in one, where they cancel.
        assert!(chance.p_value > LEVEL);
    }

    #[test]
    fn calibrated_models_of_any_kind_are_rarely_called_brittle() {
        let mut stream = Stream::new(11);
        let mut judged = [0u64; 3];
        for model in 0..60u64 {
            // Few and many rows, ties, rare events, very sure predictions.
            let n = [30, 200, 1_000][model as usize % 3];
            let draw = |u: f64| match model % 4 {
                0 => u,
                1 => (u * 10.0).round() / 10.0,
                2 => 0.02 * u,
                _ => 1.0 - 1e-3 * u * u,
            };
            let p: Vec<f64> = (0..n).map(|_| draw(stream.uniform())).collect();
            let y: Vec<bool> = p.iter().map(|p| stream.uniform() < *p).collect();
            let rows = Sorted::new(&p, &y);
            let chance = judge(&rows, &Binnings::new(&rows).unwrap(), model);
            judged[0] += chance.n_simulated;
            judged[1] += chance.n_simulated_brittle;
            judged[2] += chance.n_simulated_above;
        }
        // 1,200 draws; the standard error of 0.05 is 0.0063.
        let share = |count: u64| count as f64 / judged[0] as f64;
        assert!(share(judged[1]) <= 0.05 + 0.019 && share(judged[2]) <= 0.05 + 0.019, "{judged:?}");
    }
}
