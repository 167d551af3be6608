//! Random counts: a binomial one that is exact whatever its parameters, and laws that are prepared
//! for many draws, where a normal number takes the place of large counts.

use super::random::{Normals, Uniforms};

/// Where fewer successes (or failures) than this are expected, an exact binomial count goes from
/// one to the next.
const FEW: f64 = 10.0;

/// Means up to which a [`Count`] is drawn exactly, by going through its probabilities from 0 on.
/// Beyond, a normal number takes its place: at this mean its skewness is off by 0.22, and measures
/// that sum over many counts see far less of it.
const EXACT: f64 = 20.0;

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

/// Transformed rejection (Hörmann's BTRS, J. Statist. Comput. Simul. 46, 1993) for n p >= 10 and p
/// <= 1/2.
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

/// The law of a count, or of the normal number that takes its place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    Constant(f64),
    /// `none` is the probability of 0.
    Poisson {
        mean: f64,
        none: f64,
    },
    /// Of `n` tries with `odds` p / (1 - p), p at most 1/2; `mirrored` counts the failures.
    Binomial {
        n: f64,
        odds: f64,
        none: f64,
        mirrored: bool,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
}

impl Count {
    pub(crate) fn poisson(mean: f64) -> Self {
        match mean {
            0.0 => Count::Constant(0.0),
            _ if mean <= EXACT => Count::Poisson { mean, none: (-mean).exp() },
            _ => Count::Normal { mean, deviation: mean.sqrt() },
        }
    }

    /// `complement` is 1 - p without cancellation; `n` is a whole number.
    pub(crate) fn binomial(n: f64, p: f64, complement: f64) -> Self {
        let (small, mirrored) = (p.min(complement), p > complement);
        if small <= 0.0 {
            Count::Constant(if mirrored { n } else { 0.0 })
        } else if n * small <= EXACT {
            let none = (n * (-small).ln_1p()).exp();
            Count::Binomial { n, odds: small / (1.0 - small), none, mirrored }
        } else {
            Count::Normal { mean: n * p, deviation: (n * p * complement).sqrt() }
        }
    }

    /// The count that is drawn if a rare outcome does not come, and the probability of that; 0
    /// where no count stands out.
    pub(crate) fn usual(&self) -> (f64, f64) {
        match *self {
            Count::Constant(count) => (count, 1.0),
            Count::Poisson { none, .. } => (0.0, none),
            Count::Binomial { n, none, mirrored, .. } => (if mirrored { n } else { 0.0 }, none),
            Count::Normal { .. } => (0.0, 0.0),
        }
    }

    pub(crate) fn mean(&self) -> f64 {
        match *self {
            Count::Constant(mean) | Count::Poisson { mean, .. } | Count::Normal { mean, .. } => mean,
            Count::Binomial { n, odds, mirrored, .. } => n * if mirrored { 1.0 } else { odds } / (1.0 + odds),
        }
    }

    /// The law with every probability times exp(slope · count), divided by their sum; and the
    /// logarithm of that sum.
    pub(crate) fn tilted(&self, slope: f64) -> (Self, f64) {
        match *self {
            Count::Constant(count) => (*self, slope * count),
            Count::Poisson { mean, .. } => {
                let tilted = mean * slope.exp();
                (Count::Poisson { mean: tilted, none: (-tilted).exp() }, tilted - mean)
            }
            Count::Binomial { n, odds, mirrored, .. } => {
                let tilted = odds * if mirrored { -slope } else { slope }.exp();
                let grown = n * tilted.ln_1p();
                let all = if mirrored { slope * n } else { 0.0 };
                let law = Count::Binomial { n, odds: tilted, none: (-grown).exp(), mirrored };
                (law, all + grown - n * odds.ln_1p())
            }
            Count::Normal { mean, deviation } => {
                let variance = deviation * deviation;
                let law = Count::Normal { mean: mean + slope * variance, deviation };
                (law, slope * (mean + 0.5 * slope * variance))
            }
        }
    }

    /// The count that a uniform number stands for; of a law without such counts, its mean.
    pub(crate) fn of_uniform(&self, uniform: f64) -> f64 {
        match *self {
            // Ended where rounding would let it run on: at a mean of 20 the probability of 1000 is
            // nothing.
            Count::Poisson { mean, none } => invert(uniform, none, 1000.0, |count| mean / (count + 1.0)),
            Count::Binomial { n, odds, none, mirrored } => {
                let count = invert(uniform, none, n, |count| (n - count) / (count + 1.0) * odds);
                if mirrored { n - count } else { count }
            }
            Count::Constant(mean) | Count::Normal { mean, .. } => mean,
        }
    }

    pub(crate) fn draw(&self, random: &mut Normals) -> f64 {
        match *self {
            Count::Constant(count) => count,
            Count::Poisson { .. } | Count::Binomial { .. } => self.of_uniform(random.uniform()),
            // A count is not negative; below by chance once in 250,000 draws.
            Count::Normal { mean, deviation } => (mean + deviation * random.next()).max(0.0),
        }
    }
}

/// The share of outcomes 1 among weighted rows, each of which has outcome 1 with probability p.
///
/// It is a binomial number over the number of its tries. Weighted rows have the noise of e = (Σw)²
/// / Σw² tries, which is not whole. So the number of tries m is drawn, too: the whole number below
/// or above e, such that the mean of 1/m is 1/e. Then the variance is p (1 - p) / e, and the share
/// is 1 where all outcomes are, whatever m is: as it is for the rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// The number of tries with its law.
    fewer: (f64, Count),
    /// One more try, with the probability of that.
    more: Option<(f64, f64, Count)>,
}

/// So many rows that one more or less makes no difference.
const MANY_ROWS: f64 = 1000.0;

impl Share {
    /// `complement` is 1 - p without cancellation; `effective` is at least 1 but for rounding.
    pub(crate) fn new(effective: f64, p: f64, complement: f64) -> Self {
        let law = |tries: f64| (tries, Count::binomial(tries, p, complement));
        let (near, below) = (effective.round().max(1.0), effective.floor().max(1.0));
        if effective > MANY_ROWS || (effective - near).abs() < 1e-9 {
            return Share { fewer: law(near), more: None };
        }
        let above = law(below + 1.0);
        let probability = (above.0 * (effective - below) / effective).clamp(0.0, 1.0);
        Share { fewer: law(below), more: Some((probability, above.0, above.1)) }
    }

    /// The number of tries with its law; `None` if that number is drawn, too.
    pub(crate) fn of_one_number(&self) -> Option<(f64, Count)> {
        if self.more.is_some() { None } else { Some(self.fewer) }
    }

    /// The share that is drawn if a rare outcome does not come, and the probability of another.
    pub(crate) fn usual(&self) -> (f64, f64) {
        let (tries, law) = &self.fewer;
        let (count, probability) = law.usual();
        let other = self.more.as_ref().map_or(0.0, |(_, _, law)| 1.0 - law.usual().1);
        (count / tries, other.max(1.0 - probability))
    }

    pub(crate) fn draw(&self, random: &mut Normals) -> f64 {
        let (tries, law) = match self.more {
            Some((probability, tries, law)) if random.uniform() < probability => (tries, law),
            _ => self.fewer,
        };
        law.draw(random) / tries
    }
}

/// The count, `most` at most, at which the cumulated probability reaches `uniform`: `none` is the
/// probability of 0, and `ratio` that of the next count over that of a count.
fn invert(uniform: f64, none: f64, most: f64, ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut left, mut probability, mut count) = (uniform - none, none, 0.0);
    while left > 0.0 && count < most {
        probability *= ratio(count);
        count += 1.0;
        left -= probability;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_the_mean_and_the_variance_of_their_law() {
        let mut random = Normals::new(3);
        let binomial = |n: f64, p: f64| (Count::binomial(n, p, 1.0 - p), n * p, n * p * (1.0 - p));
        let poisson = |mean: f64| (Count::poisson(mean), mean, mean);
        let laws = [
            binomial(1.0, 0.3),
            binomial(7.0, 0.9),
            binomial(39.0, 0.5),
            binomial(1e6, 1e-5),
            binomial(500.0, 0.4),
            binomial(5.0, 0.0),
            binomial(5.0, 1.0),
            poisson(0.0),
            poisson(0.2),
            poisson(1.0),
            poisson(20.0),
            poisson(300.0),
        ];
        for (law, mean, variance) in laws {
            let n = 100_000;
            let draws: Vec<f64> = (0..n).map(|_| law.draw(&mut random)).collect();
            let found = draws.iter().sum::<f64>() / f64::from(n);
            let spread = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((found - mean).abs() <= 5.0 * (variance / f64::from(n)).sqrt(), "{law:?}: {found}");
            assert!((spread - variance).abs() <= 0.03 * variance, "{law:?}: {spread} for {variance}");
        }
    }

    #[test]
    fn tilted_laws_give_the_moments_of_the_law_back_by_their_weights() {
        let laws = [
            Count::binomial(1.0, 0.3, 0.7),
            Count::binomial(40.0, 0.9, 0.1),
            Count::binomial(1e5, 1e-4, 1.0 - 1e-4),
            Count::binomial(1e4, 0.4, 0.6),
            Count::poisson(3.0),
        ];
        let mut random = Normals::new(11);
        for (law, slope) in laws.into_iter().flat_map(|law| [(law, 0.4), (law, -0.3)]) {
            // A wide law is tilted by less.
            let slope = if law.mean() > 1000.0 { slope / 50.0 } else { slope };
            let (tilted, log_sum) = law.tilted(slope);
            let n = 100_000;
            let (mut total, mut sum, mut plain) = (0.0, 0.0, 0.0);
            for _ in 0..n {
                let count = tilted.draw(&mut random);
                let weight = (log_sum - slope * count).exp();
                (total, sum, plain) = (total + weight, sum + weight * count, plain + count);
            }
            let (n, size) = (f64::from(n), law.mean().max(1.0));
            assert!((total / n - 1.0).abs() < 0.03, "{law:?} by {slope}: {}", total / n);
            assert!((sum / n - law.mean()).abs() < 0.03 * size, "{law:?} by {slope}: {}", sum / n);
            assert!((plain / n - tilted.mean()).abs() < 0.03 * size.max(tilted.mean()), "{law:?} by {slope}");
        }
    }

    #[test]
    fn small_counts_have_the_probabilities_of_their_law() {
        let mut random = Normals::new(5);
        let law = Count::binomial(3.0, 0.7, 0.3);
        let mut seen = [0u32; 4];
        (0..100_000).for_each(|_| seen[law.draw(&mut random) as usize] += 1);
        for (count, expected) in [0.027, 0.189, 0.441, 0.343].into_iter().enumerate() {
            assert!((f64::from(seen[count]) / 1e5 - expected).abs() < 0.006, "{count}");
        }
    }

    /// Frequencies against probabilities, by Pearson's statistic over all counts that are expected
    /// at least 20 times.
    #[test]
    fn exact_counts_have_their_frequencies() {
        let n_draws = 200_000;
        for (n, p) in [(1u64, 0.3), (2, 0.5), (7, 0.9), (40, 0.1), (100, 0.4), (30, 0.5), (1000, 0.97), (100_000, 5e-5)]
        {
            let mut uniforms = Uniforms::new(n);
            let mut counts = vec![0u32; n as usize + 1];
            (0..n_draws).for_each(|_| counts[binomial(&mut uniforms, n, p) as usize] += 1);
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
            let scaled: Vec<f64> =
                (0..40_000).map(|_| (binomial(&mut uniforms, n, p) as f64 - mean) / variance.sqrt()).collect();
            let first = scaled.iter().sum::<f64>() / 4e4;
            let second = scaled.iter().map(|x| x * x).sum::<f64>() / 4e4;
            assert!(first.abs() < 0.02 && (second - 1.0).abs() < 0.04, "{n} {p}: {first} {second}");
        }
    }

    #[test]
    fn what_is_certain_is_certain() {
        let mut uniforms = Uniforms::new(0);
        assert_eq!(
            [binomial(&mut uniforms, 5, 0.0), binomial(&mut uniforms, 5, 1.0), binomial(&mut uniforms, 0, 0.5)],
            [0, 5, 0]
        );
        assert!((0..1000).all(|_| binomial(&mut uniforms, 9, 0.999) <= 9));
    }

    #[test]
    fn shares_have_the_mean_and_the_variance_of_the_effective_number_of_rows() {
        for (effective, p) in [(1.55, 0.3), (2.0, 0.5), (2.9, 0.9), (7.2, 0.02), (31.4, 0.4)] {
            let (law, mut random) = (Share::new(effective, p, 1.0 - p), Normals::new(3));
            let draws: Vec<f64> = (0..200_000).map(|_| law.draw(&mut random)).collect();
            let mean = draws.iter().sum::<f64>() / 2e5;
            let variance = draws.iter().map(|share| (share - p).powi(2)).sum::<f64>() / 2e5;
            let expected = p * (1.0 - p) / effective;
            assert!((mean - p).abs() < 5.0 * (expected / 2e5).sqrt(), "{effective} {p}: mean {mean}");
            assert!((variance / expected - 1.0).abs() < 0.03, "{effective} {p}: variance {variance} {expected}");
        }
    }
}
