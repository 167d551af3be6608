//! Random counts by laws that are prepared for many draws, where a normal number takes the place of
//! large counts. `binomial.rs` has those that are exact whatever they are.

use super::random::Normals;

/// Means up to which a [`Count`] is drawn exactly, by going through its probabilities.
/// Beyond, a normal number takes its place: at this mean its skewness is off by 0.22, and measures
/// that sum over many counts see far less of it.
const EXACT: f64 = 20.0;

/// The law of a count, or of the normal number that takes its place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    Constant(f64),
    Poisson {
        mean: f64,
        walk: Walk,
    },
    /// Of `n` tries with `odds` p / (1 - p), p at most 1/2; `mirrored` counts the failures.
    Binomial {
        n: f64,
        odds: f64,
        walk: Walk,
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
            _ if mean <= EXACT => Count::few(mean, (-mean).exp()),
            _ => Count::Normal { mean, deviation: mean.sqrt() },
        }
    }

    /// `complement` is 1 - p without cancellation; `n` is a whole number.
    pub(crate) fn binomial(n: f64, p: f64, complement: f64) -> Self {
        let (small, mirrored) = (p.min(complement), p > complement);
        if small <= 0.0 {
            Count::Constant(if mirrored { n } else { 0.0 })
        } else if n * small <= EXACT {
            Count::few_tries(n, small / (1.0 - small), (n * (-small).ln_1p()).exp(), mirrored)
        } else {
            Count::Normal { mean: n * p, deviation: (n * p * complement).sqrt() }
        }
    }

    /// Of a Poisson number with this mean and this probability of 0.
    fn few(mean: f64, none: f64) -> Self {
        Count::Poisson { mean, walk: Walk::new(mean, none, |count| poisson_ratio(mean, count)) }
    }

    /// Of a binomial number with this probability of 0.
    fn few_tries(n: f64, odds: f64, none: f64, mirrored: bool) -> Self {
        let mean = n * odds / (1.0 + odds);
        Count::Binomial { n, odds, walk: Walk::new(mean, none, |count| binomial_ratio(n, odds, count)), mirrored }
    }

    /// The count that is drawn if a rare outcome does not come, and the probability of that; 0
    /// where no count stands out.
    pub(crate) fn usual(&self) -> (f64, f64) {
        match *self {
            Count::Constant(count) => (count, 1.0),
            Count::Poisson { walk, .. } => (0.0, walk.none),
            Count::Binomial { n, walk, mirrored, .. } => (if mirrored { n } else { 0.0 }, walk.none),
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
                (Count::few(tilted, (-tilted).exp()), tilted - mean)
            }
            Count::Binomial { n, odds, mirrored, .. } => {
                let tilted = odds * if mirrored { -slope } else { slope }.exp();
                let grown = n * tilted.ln_1p();
                let all = if mirrored { slope * n } else { 0.0 };
                let law = Count::few_tries(n, tilted, (-grown).exp(), mirrored);
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
    #[inline]
    pub(crate) fn of_uniform(&self, uniform: f64) -> f64 {
        match *self {
            // Ended where rounding would let it run on: at a mean of 20 the probability of 1000 is
            // nothing.
            Count::Poisson { mean, walk } => walk.count(uniform, 1000.0, |count| poisson_ratio(mean, count)),
            Count::Binomial { n, odds, walk, mirrored } => {
                let count = walk.count(uniform, n, |count| binomial_ratio(n, odds, count));
                if mirrored { n - count } else { count }
            }
            Count::Constant(mean) | Count::Normal { mean, .. } => mean,
        }
    }

    #[inline]
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
#[derive(Debug, Clone)]
pub(crate) struct Share {
    /// The number of tries with its law.
    fewer: (f64, Count),
    /// One more try, with the probability of that: in a box, since few laws have it and all are
    /// read in every draw.
    more: Option<Box<(f64, f64, Count)>>,
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
        Share { fewer: law(below), more: Some(Box::new((probability, above.0, above.1))) }
    }

    /// The number of tries with its law; `None` if that number is drawn, too.
    pub(crate) fn of_one_number(&self) -> Option<(f64, Count)> {
        if self.more.is_some() { None } else { Some(self.fewer) }
    }

    /// The share that is drawn if a rare outcome does not come, and the probability of another.
    pub(crate) fn usual(&self) -> (f64, f64) {
        let (tries, law) = &self.fewer;
        let (count, probability) = law.usual();
        let other = self.more.as_ref().map_or(0.0, |more| 1.0 - more.2.usual().1);
        (count / tries, other.max(1.0 - probability))
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut Normals) -> f64 {
        let (tries, law) = match self.more.as_deref() {
            Some((probability, tries, law)) if random.uniform() < *probability => (*tries, law),
            _ => (self.fewer.0, &self.fewer.1),
        };
        law.draw(random) / tries
    }
}

/// The probability of one more over that of this count.
#[inline(always)]
fn poisson_ratio(mean: f64, count: f64) -> f64 {
    mean / (count + 1.0)
}

#[inline(always)]
pub(super) fn binomial_ratio(n: f64, odds: f64, count: f64) -> f64 {
    (n - count) * odds / (count + 1.0)
}

/// The probabilities of a law of small counts, and where a walk through them starts: below its
/// mean, so that it takes about a standard deviation of steps rather than the mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Walk {
    /// The probability of 0.
    none: f64,
    start: f64,
    /// The probability of the start, and that of all counts up to it.
    at_start: f64,
    up_to_start: f64,
}

impl Walk {
    /// `ratio` is the probability of the next count over that of a count.
    pub(super) fn new(mean: f64, none: f64, ratio: impl Fn(f64) -> f64) -> Self {
        let mut walk = Walk { none, start: 0.0, at_start: none, up_to_start: none };
        // A tilted law may have a large mean, and its probability of 0 be nothing.
        let start = if (2.0..=2.0 * EXACT).contains(&mean) { mean.floor() } else { 0.0 };
        while walk.start < start {
            walk.at_start *= ratio(walk.start);
            walk.start += 1.0;
            walk.up_to_start += walk.at_start;
        }
        walk
    }

    /// The count, `most` at most, at which the cumulated probability reaches `uniform`.
    #[inline]
    pub(super) fn count(&self, uniform: f64, most: f64, ratio: impl Fn(f64) -> f64) -> f64 {
        if uniform <= self.none {
            return 0.0;
        }
        let (mut count, mut probability) = (self.start, self.at_start);
        let mut left = uniform - self.up_to_start;
        if left > 0.0 {
            while left > 0.0 && count < most {
                probability *= ratio(count);
                count += 1.0;
                left -= probability;
            }
        } else {
            while left <= -probability && count > 0.0 {
                left += probability;
                count -= 1.0;
                probability /= ratio(count);
            }
        }
        count
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
