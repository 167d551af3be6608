//! Binomial counts that are exactly distributed, whatever their parameters.

use super::counts::{Walk, binomial_ratio};
use super::logarithm::ln;
use super::random::Uniforms;

/// Where fewer successes (or failures) than this are expected, a count goes from one to the next.
const FEW: f64 = 10.0;

/// How many of `n` independent trials succeed, each with probability p in [0, 1]: exactly
/// distributed, at a cost that does not grow with n.
pub(crate) fn binomial(uniforms: &mut Uniforms, n: u64, p: f64) -> u64 {
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
    let is_few = (n as f64) * rarer < FEW;
    let count = if is_few { by_gaps(uniforms, n, rarer) } else { Rejection::new(n, rarer).draw(uniforms) };
    if p <= 0.5 { count } else { n - count }
}

/// The same law, prepared for many draws: few successes take one uniform number together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binomial {
    n: u64,
    p: f64,
    law: Law,
}

/// How a count is drawn; other than a single trial it is one of the rarer outcome.
#[derive(Debug, Clone, Copy)]
enum Law {
    Sure(u64),
    Single,
    Few { odds: f64, walk: Walk },
    Many(Rejection),
}

impl Binomial {
    /// Of `n` trials, each with probability p in [0, 1].
    pub(crate) fn new(n: u64, p: f64) -> Self {
        let (trials, rarer) = (n as f64, p.min(1.0 - p));
        let law = match () {
            _ if n == 0 || p == 0.0 => Law::Sure(0),
            _ if p == 1.0 => Law::Sure(n),
            _ if n == 1 => Law::Single,
            _ if trials * rarer < FEW => {
                let (odds, none) = (rarer / (1.0 - rarer), (trials * (-rarer).ln_1p()).exp());
                Law::Few { odds, walk: Walk::new(trials * rarer, none, |count| binomial_ratio(trials, odds, count)) }
            }
            _ => Law::Many(Rejection::new(n, rarer)),
        };
        Binomial { n, p, law }
    }

    #[inline]
    pub(crate) fn draw(&self, uniforms: &mut Uniforms) -> u64 {
        let rarer = match &self.law {
            Law::Sure(count) => return *count,
            Law::Single => return u64::from(uniforms.next() < self.p),
            Law::Few { odds, walk } => {
                let trials = self.n as f64;
                walk.count(uniforms.next(), trials, |count| binomial_ratio(trials, *odds, count)) as u64
            }
            Law::Many(rejection) => rejection.draw(uniforms),
        };
        if self.p <= 0.5 { rarer } else { self.n - rarer }
    }
}

/// Success by success: the trials between two of them are geometric.
fn by_gaps(uniforms: &mut Uniforms, n: u64, p: f64) -> u64 {
    let rate = (-p).ln_1p();
    let (mut count, mut left) = (0, n as f64);
    loop {
        left -= (ln(uniforms.next()) / rate).floor() + 1.0;
        if left < 0.0 {
            return count;
        }
        count += 1;
    }
}

/// Transformed rejection (Hörmann's BTRS, J. Statist. Comput. Simul. 46, 1993) for n p >= 10 and p
/// <= 1/2.
#[derive(Debug, Clone, Copy)]
struct Rejection {
    trials: f64,
    a: f64,
    b: f64,
    centre: f64,
    quick: f64,
    alpha: f64,
    log_odds: f64,
    mode: f64,
    /// ln of mode! (n - mode)!.
    at_mode: f64,
}

impl Rejection {
    fn new(n: u64, p: f64) -> Self {
        let trials = n as f64;
        let deviation = (trials * p * (1.0 - p)).sqrt();
        let b = 1.15 + 2.53 * deviation;
        let mode = ((trials + 1.0) * p).floor();
        Rejection {
            trials,
            a: -0.0873 + 0.0248 * b + 0.01 * p,
            b,
            centre: trials * p + 0.5,
            quick: 0.92 - 4.2 / b,
            alpha: (2.83 + 5.1 / b) * deviation,
            log_odds: (p / (1.0 - p)).ln(),
            mode,
            at_mode: log_factorial(mode) + log_factorial(trials - mode),
        }
    }

    fn draw(&self, uniforms: &mut Uniforms) -> u64 {
        let Rejection { trials, a, b, centre, quick, alpha, log_odds, mode, at_mode } = *self;
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
            let hat = ln(v * alpha / (a / (edge * edge) + b));
            let density = at_mode - log_factorial(k) - log_factorial(trials - k) + (k - mode) * log_odds;
            if hat <= density {
                return k as u64;
            }
        }
    }
}

/// ln k! of a whole number: by Stirling's series from 16 on, whose next term is below 2e-16 there.
fn log_factorial(k: f64) -> f64 {
    if k < 16.0 {
        return libm::lgamma(k + 1.0);
    }
    let inverse = 1.0 / k;
    let square = inverse * inverse;
    let series =
        1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)));
    (k + 0.5) * ln(k) - k + HALF_LOG_TAU + inverse * series
}

/// ln √(2π).
const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Frequencies against probabilities, by Pearson's statistic over all counts that are expected
    /// at least 20 times.
    #[test]
    fn exact_counts_have_their_frequencies() {
        let n_draws = 200_000;
        let laws = [(1u64, 0.3), (2, 0.5), (7, 0.9), (40, 0.1), (100, 0.4), (30, 0.5), (1000, 0.97), (100_000, 5e-5)];
        for ((n, p), is_prepared) in laws.into_iter().flat_map(|law| [(law, false), (law, true)]) {
            let (mut uniforms, law) = (Uniforms::new(n), Binomial::new(n, p));
            let draw =
                |uniforms: &mut Uniforms| if is_prepared { law.draw(uniforms) } else { binomial(uniforms, n, p) };
            let mut counts = vec![0u32; n as usize + 1];
            (0..n_draws).for_each(|_| counts[draw(&mut uniforms) as usize] += 1);
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
    fn exact_counts_of_many_trials_have_their_mean_and_variance() {
        for (n, p) in [(10_000_000u64, 0.3), (1 << 40, 0.5), (1 << 40, 1e-12), (3_000_000_000, 0.999_999)] {
            let mut uniforms = Uniforms::new(3);
            let (mean, variance) = (n as f64 * p, n as f64 * p * (1.0 - p));
            let law = Binomial::new(n, p);
            let (mut first, mut second) = ([0.0; 2], [0.0; 2]);
            for _ in 0..40_000 {
                for (way, count) in [binomial(&mut uniforms, n, p), law.draw(&mut uniforms)].into_iter().enumerate() {
                    let scaled = (count as f64 - mean) / variance.sqrt();
                    first[way] += scaled / 4e4;
                    second[way] += scaled * scaled / 4e4;
                }
            }
            for (first, second) in first.iter().zip(second) {
                assert!(first.abs() < 0.02 && (second - 1.0).abs() < 0.04, "{n} {p}: {first} {second}");
            }
        }
    }

    #[test]
    fn what_is_certain_is_certain() {
        let mut uniforms = Uniforms::new(0);
        assert_eq!(
            [binomial(&mut uniforms, 5, 0.0), binomial(&mut uniforms, 5, 1.0), binomial(&mut uniforms, 0, 0.5)],
            [0, 5, 0]
        );
        assert_eq!([(5, 0.0), (5, 1.0), (0, 0.5)].map(|(n, p)| Binomial::new(n, p).draw(&mut uniforms)), [0, 5, 0]);
        assert!((0..1000).all(|_| binomial(&mut uniforms, 9, 0.999) <= 9));
        assert!((0..1000).all(|_| Binomial::new(9, 0.999).draw(&mut uniforms) <= 9));
    }

    #[test]
    fn log_factorials_are_those_of_the_gamma_function() {
        for k in (0..400).chain((400..1 << 20).step_by(997)) {
            let (ours, theirs) = (log_factorial(f64::from(k)), libm::lgamma(f64::from(k) + 1.0));
            // (k + 1/2) ln k, a fifth larger, is off by two units of rounding; so are both sums.
            assert!((ours - theirs).abs() <= 1e-15 * (1.0 + theirs), "{k}: {ours} {theirs}");
        }
    }
}
