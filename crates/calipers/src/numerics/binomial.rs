//! Binomial random numbers, exactly distributed, at a cost that does not grow with the number of trials.

use super::random::Uniforms;

/// Where fewer successes (or failures) than this are expected, they are counted up from 0.
const FEW: f64 = 10.0;

/// How many of `n` independent trials succeed, each with probability p in [0, 1].
pub(crate) fn draw(uniforms: &mut Uniforms, n: u64, p: f64) -> u64 {
    debug_assert!((0.0..=1.0).contains(&p));
    if n == 0 || p == 0.0 {
        return 0;
    }
    if p == 1.0 {
        return n;
    }
    if n == 1 {
        return u64::from(uniforms.next() < p);
    }
    let rarer = p.min(1.0 - p);
    let count = if n as f64 * rarer < FEW { by_gaps(uniforms, n, rarer) } else { by_rejection(uniforms, n, rarer) };
    if p <= 0.5 { count } else { n - count }
}

/// Success by success: the trials between two of them are geometric.
fn by_gaps(uniforms: &mut Uniforms, n: u64, p: f64) -> u64 {
    let rate = (-p).ln_1p();
    let (mut count, mut left) = (0, n as f64);
    loop {
        left -= (uniforms.next().ln() / rate).floor() + 1.0;
        if left < 0.0 {
            return count;
        }
        count += 1;
    }
}

/// Transformed rejection (Hörmann's BTRS, J. Statist. Comput. Simul. 46, 1993) for n p >= 10 and p <= 1/2.
fn by_rejection(uniforms: &mut Uniforms, n: u64, p: f64) -> u64 {
    let trials = n as f64;
    let deviation = (trials * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let centre = trials * p + 0.5;
    let quick = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * deviation;
    let log_odds = (p / (1.0 - p)).ln();
    let mode = ((trials + 1.0) * p).floor();
    loop {
        let (u, v) = (uniforms.next() - 0.5, uniforms.next());
        let edge = 0.5 - u.abs();
        let k = ((2.0 * a / edge + b) * u + centre).floor();
        // In this part the hat is below the density for sure.
        if edge >= 0.07 && v <= quick {
            return k as u64;
        }
        if !(0.0 <= k && k <= trials) {
            continue;
        }
        let hat = (v * alpha / (a / (edge * edge) + b)).ln();
        let density = log_factorial(mode) + log_factorial(trials - mode) - log_factorial(k) - log_factorial(trials - k)
            + (k - mode) * log_odds;
        if hat <= density {
            return k as u64;
        }
    }
}

fn log_factorial(k: f64) -> f64 {
    libm::lgamma(k + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frequencies against probabilities, by Pearson's statistic over all counts that are expected at least 20 times.
    #[test]
    fn counts_have_their_frequencies() {
        let n_draws = 200_000;
        for (n, p) in [(1u64, 0.3), (2, 0.5), (7, 0.9), (40, 0.1), (100, 0.4), (30, 0.5), (1000, 0.97), (100_000, 5e-5)]
        {
            let mut uniforms = Uniforms::new(n);
            let mut counts = vec![0u32; n as usize + 1];
            (0..n_draws).for_each(|_| counts[draw(&mut uniforms, n, p) as usize] += 1);
            let log_p = |k: u64| {
                let (n, k) = (n as f64, k as f64);
                log_factorial(n) - log_factorial(k) - log_factorial(n - k) + k * p.ln() + (n - k) * (-p).ln_1p()
            };
            let (mut pearson, mut n_cells, mut rest) = (0.0, 0.0f64, (0.0, 0.0));
            for (k, &count) in counts.iter().enumerate() {
                let (count, expected) = (f64::from(count), f64::from(n_draws) * log_p(k as u64).exp());
                if expected >= 20.0 {
                    pearson += (count - expected).powi(2) / expected;
                    n_cells += 1.0;
                } else {
                    rest = (rest.0 + count, rest.1 + expected);
                }
            }
            let limit = n_cells + 4.0 * (2.0 * n_cells).sqrt();
            assert!(pearson < limit, "{n} {p}: {pearson} above {limit}");
            assert!((rest.0 - rest.1).abs() <= 5.0 * rest.1.sqrt() + 1.0, "{n} {p}: {rest:?}");
        }
    }

    #[test]
    fn means_and_variances_hold_for_many_trials() {
        for (n, p) in [(10_000_000u64, 0.3), (1 << 40, 0.5), (1 << 40, 1e-12), (3_000_000_000, 0.999_999)] {
            let mut uniforms = Uniforms::new(3);
            let (mean, variance) = (n as f64 * p, n as f64 * p * (1.0 - p));
            let scaled: Vec<f64> =
                (0..40_000).map(|_| (draw(&mut uniforms, n, p) as f64 - mean) / variance.sqrt()).collect();
            let first = scaled.iter().sum::<f64>() / 4e4;
            let second = scaled.iter().map(|x| x * x).sum::<f64>() / 4e4;
            assert!(first.abs() < 0.02 && (second - 1.0).abs() < 0.04, "{n} {p}: {first} {second}");
        }
    }

    #[test]
    fn what_is_certain_is_certain() {
        let mut uniforms = Uniforms::new(0);
        assert_eq!([draw(&mut uniforms, 5, 0.0), draw(&mut uniforms, 5, 1.0), draw(&mut uniforms, 0, 0.5)], [0, 5, 0]);
        assert!((0..1000).all(|_| draw(&mut uniforms, 9, 0.999) <= 9));
    }
}
