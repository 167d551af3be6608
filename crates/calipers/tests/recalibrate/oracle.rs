//! A slow solver that shares no code with the library: projected gradient descent on the definition
//! of the objective.

use calipers::Input;
use calipers::recalibrate::{Method, Recalibrate};

use crate::fixtures::Uniforms;

/// One row: logit, outcome, weight.
pub(crate) type Row = (f64, bool, f64);

fn log_sigma(h: f64) -> f64 {
    if h < 0.0 { h - h.exp().ln_1p() } else { -(-h).exp().ln_1p() }
}

fn features(method: Method, h: f64) -> (f64, Vec<f64>) {
    match method {
        Method::Shift => (h, vec![1.0]),
        Method::Temperature => (0.0, vec![h]),
        Method::Platt => (0.0, vec![h, 1.0]),
        Method::Beta => (0.0, vec![log_sigma(h), -log_sigma(-h), 1.0]),
        _ => unreachable!(),
    }
}

struct Problem {
    rows: Vec<(f64, Vec<f64>, bool, f64)>,
    centre: Vec<f64>,
    penalty: f64,
    n_slopes: usize,
}

impl Problem {
    fn new(method: Method, rows: &[Row], ridge: f64) -> Self {
        let total: f64 = rows.iter().map(|row| row.2).sum();
        let squares: f64 = rows.iter().map(|row| row.2 * row.2).sum();
        let (centre, n_slopes) = match method {
            Method::Shift => (vec![0.0], 0),
            Method::Temperature => (vec![1.0], 1),
            Method::Platt => (vec![1.0, 0.0], 1),
            _ => (vec![1.0, 1.0, 0.0], 2),
        };
        let row = |row: &Row| {
            let (offset, features) = features(method, row.0);
            (offset, features, row.1, row.2 / total)
        };
        Problem { rows: rows.iter().map(row).collect(), centre, penalty: ridge * squares / (total * total), n_slopes }
    }

    fn value(&self, theta: &[f64]) -> f64 {
        let loss = |(offset, features, outcome, share): &(f64, Vec<f64>, bool, f64)| {
            let u = offset + features.iter().zip(theta).map(|(f, t)| f * t).sum::<f64>();
            -share * log_sigma(if *outcome { u } else { -u })
        };
        let away: f64 = theta.iter().zip(&self.centre).map(|(t, c)| (t - c) * (t - c)).sum();
        self.rows.iter().map(loss).sum::<f64>() + self.penalty * away
    }

    fn gradient(&self, theta: &[f64]) -> Vec<f64> {
        let mut gradient: Vec<f64> =
            theta.iter().zip(&self.centre).map(|(t, c)| 2.0 * self.penalty * (t - c)).collect();
        for (offset, features, outcome, share) in &self.rows {
            let u = offset + features.iter().zip(theta).map(|(f, t)| f * t).sum::<f64>();
            let p = 1.0 / (1.0 + (-u).exp());
            let residual = share * (p - if *outcome { 1.0 } else { 0.0 });
            gradient.iter_mut().zip(features).for_each(|(g, f)| *g += residual * f);
        }
        gradient
    }

    /// Accelerated projected gradient descent with restarts, for as long as it takes.
    fn solve(&self) -> Vec<f64> {
        let bound: f64 =
            self.rows.iter().map(|(_, f, _, share)| 0.25 * share * f.iter().map(|f| f * f).sum::<f64>()).sum();
        let step = 1.0 / (bound + 2.0 * self.penalty);
        let project = |theta: &mut Vec<f64>| theta[..self.n_slopes].iter_mut().for_each(|t| *t = t.max(0.0));
        let mut theta = self.centre.clone();
        let (mut ahead, mut momentum) = (theta.clone(), 1.0f64);
        for _ in 0..100_000 {
            let gradient = self.gradient(&ahead);
            let mut next: Vec<f64> = ahead.iter().zip(&gradient).map(|(t, g)| t - step * g).collect();
            project(&mut next);
            let moved: f64 = next.iter().zip(&theta).map(|(a, b)| (a - b).abs()).sum();
            // Against the direction of the last step the momentum starts anew.
            let uphill: f64 =
                ahead.iter().zip(&next).zip(next.iter().zip(&theta)).map(|((a, n), (m, t))| (a - n) * (m - t)).sum();
            let following = if uphill > 0.0 { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt()) };
            let share = if uphill > 0.0 { 0.0 } else { (momentum - 1.0) / following };
            ahead = next.iter().zip(&theta).map(|(n, t)| n + share * (n - t)).collect();
            momentum = following;
            theta = next;
            if moved < 1e-16 {
                break;
            }
        }
        theta
    }
}

/// Rows with ties, weights and outcomes that fit the scores more or less.
fn random_rows(random: &mut Uniforms) -> Vec<Row> {
    let n = 20 + (60.0 * random.next()) as usize;
    let slope = 2.5 * random.next() - 0.5;
    let shift = random.normal();
    let grid = if random.next() < 0.5 { 4.0 } else { 1e6 };
    let weighted = random.next() < 0.6;
    (0..n)
        .map(|_| {
            let h = (1.5 * random.normal() * grid).round() / grid;
            let p = 1.0 / (1.0 + (-(slope * h + shift)).exp());
            let weight = if weighted { (1.0 + 4.0 * random.next()).floor() * 0.25 } else { 1.0 };
            (h, random.next() < p, weight)
        })
        .collect()
}

#[test]
fn two_hundred_problems_agree_with_a_slow_solver() {
    let mut random = Uniforms(20);
    let (mut n_checked, mut n_held) = (0, 0);
    while n_checked < 200 {
        let rows = random_rows(&mut random);
        let method = [Method::Shift, Method::Temperature, Method::Platt, Method::Beta][n_checked % 4];
        let ridge = [0.5, 2.0][n_checked / 4 % 2];
        let logits: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let labels: Vec<bool> = rows.iter().map(|row| row.1).collect();
        let weights: Vec<f64> = rows.iter().map(|row| row.2).collect();
        if labels.iter().all(|label| *label == labels[0]) {
            continue;
        }
        let predictions = Input::logits(&logits, &labels).weights(&weights).check().unwrap();
        let fit = match Recalibrate::new(method).ridge(ridge).fit(&predictions.binary().unwrap()) {
            Ok(fit) => fit,
            // Scores that fall have no temperature; the slow solver finds 0.
            Err(error) => {
                assert_eq!(method, Method::Temperature, "{error}");
                assert_eq!(Problem::new(method, &rows, ridge).solve()[0], 0.0, "{error}");
                n_checked += 1;
                continue;
            }
        };
        let problem = Problem::new(method, &rows, ridge);
        let slow = problem.solve();
        for (parameter, slow) in fit.parameters.iter().zip(&slow) {
            let (name, value) = (parameter.name, parameter.value);
            assert!((value - slow).abs() < 2e-7, "problem {n_checked}, {method:?} {name}: {value} {slow}");
            n_held += usize::from(parameter.standard_error.is_none());
        }
        // The certificate is about the objective, and no point of the slow solver is below it.
        let value = problem.value(&fit.map.parameters);
        assert!(value <= problem.value(&slow) + fit.bound.nats + 1e-14, "problem {n_checked}");
        assert!(fit.bound.standard_errors < 1e-9, "{:?}", fit.bound);
        n_checked += 1;
    }
    assert!(n_held > 10, "constraints were hardly tried: {n_held}");
}
