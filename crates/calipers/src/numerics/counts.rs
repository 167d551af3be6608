//! Random counts whose parameters are known beforehand, so that many draws of one are cheap.

use super::random::Normals;

/// Means up to which counts are drawn exactly, by going through their probabilities from 0 on. Beyond, a normal number takes
/// their place: at this mean its skewness is off by 0.22, and measures that sum over many counts see far less of it.
const EXACT: f64 = 20.0;

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

    pub(crate) fn draw(&self, random: &mut Normals) -> f64 {
        match *self {
            Count::Constant(count) => count,
            Count::Poisson { mean, none } => {
                let (mut left, mut probability, mut count) = (random.uniform() - none, none, 0.0);
                // Ended where rounding would let it run on: at a mean of 20 the probability of 1000 is nothing.
                while left > 0.0 && count < 1000.0 {
                    count += 1.0;
                    probability *= mean / count;
                    left -= probability;
                }
                count
            }
            Count::Binomial { n, odds, none, mirrored } => {
                let (mut left, mut probability, mut count) = (random.uniform() - none, none, 0.0);
                while left > 0.0 && count < n {
                    probability *= (n - count) / (count + 1.0) * odds;
                    count += 1.0;
                    left -= probability;
                }
                if mirrored { n - count } else { count }
            }
            // A count is not negative; below by chance once in 250,000 draws.
            Count::Normal { mean, deviation } => (mean + deviation * random.next()).max(0.0),
        }
    }
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
    fn small_counts_have_the_probabilities_of_their_law() {
        let mut random = Normals::new(5);
        let law = Count::binomial(3.0, 0.7, 0.3);
        let mut seen = [0u32; 4];
        (0..100_000).for_each(|_| seen[law.draw(&mut random) as usize] += 1);
        for (count, expected) in [0.027, 0.189, 0.441, 0.343].into_iter().enumerate() {
            assert!((f64::from(seen[count]) / 1e5 - expected).abs() < 0.006, "{count}");
        }
    }
}
