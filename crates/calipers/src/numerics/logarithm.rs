//! Logarithms of many numbers at once.

use super::dispatch::dispatched;

// The polynomial and the two parts of ln 2 of fdlibm's `log` (Sun Microsystems, 1993).
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
const EVEN: [f64; 4] =
    [6.666_666_666_666_735e-1, 2.857_142_874_366_239e-1, 1.818_357_216_161_805e-1, 1.479_819_860_511_658_6e-1];
const ODD: [f64; 3] = [3.999_999_999_940_942e-1, 2.222_219_843_214_978_4e-1, 1.531_383_769_920_937_3e-1];

/// The bits of about the root of 1/2: the mantissa is taken from there to twice of it.
const ROOT_HALF: u64 = 0x3fe6_a09e << 32;
const ONE: u64 = 0x3ff0_0000 << 32;
const MANTISSA: u64 = (1 << 52) - 1;

/// ln x of a normal positive number, without a branch, so that the compiler does several at once.
///
/// # Accuracy
/// Below one unit in the last place: with x = 2^k (1 + f), f in [√½ - 1, √2 - 1] and s = f / (2 +
/// f), ln(1 + f) is f - f²/2 + s (f²/2 + R(s²)) with a polynomial R whose own error is below 2^-58;
/// k ln 2 is added in two parts, of which the first is exact (fdlibm, `e_log.c`). Against `f64::ln`
/// a test finds two units at most.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    let shifted = x.to_bits() + (ONE - ROOT_HALF);
    // The exponent as a double, by way of the last bits of 2^52: 64-bit integers have no conversion
    // in vectors.
    let k = f64::from_bits((shifted >> 52) | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let f = f64::from_bits((shifted & MANTISSA) + ROOT_HALF) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let odd = w * (ODD[0] + w * (ODD[1] + w * ODD[2]));
    let even = z * (EVEN[0] + w * (EVEN[1] + w * (EVEN[2] + w * EVEN[3])));
    let half_square = 0.5 * f * f;
    k * LN_2_HIGH - ((half_square - (s * (half_square + (odd + even)) + k * LN_2_LOW)) - f)
}

dispatched! {
    /// ln(p / (1 - p)) in place of each p inside (0, 1).
    ///
    /// # Accuracy
    /// 1 - p and the ratio are rounded by 2^-53 of themselves each, which moves the logarithm by
    /// 2^-52; and that by a unit in its last place: 2^-52 (1 + |result|) in all.
    pub(crate) fn log_odds / log_odds_portable(probabilities: &mut [f64]) {
        for p in probabilities {
            *p = ln(*p / (1.0 - *p));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units_apart(ours: f64, theirs: f64) -> f64 {
        (ours - theirs).abs() / (theirs.abs().next_up() - theirs.abs())
    }

    #[test]
    fn logarithms_are_within_two_units_of_those_of_the_library() {
        let mut x = 1e-300;
        while x < 1e300 {
            assert!(units_apart(ln(x), x.ln()) <= 2.0, "{x:e}");
            x *= 1.000_733;
        }
        // Where the result is near 0, and at the ends of the mantissa's range.
        for centre in [1.0, 2f64.sqrt(), 0.5f64.sqrt(), f64::from_bits(ROOT_HALF), 2.0, 0.5] {
            for step in -100_000..100_000 {
                let near = centre * (1.0 + f64::from(step) * 1e-9);
                assert!(units_apart(ln(near), near.ln()) <= 2.0, "{near:e}");
            }
        }
        for step in 1..1_000_000 {
            let x = f64::from(step) * 2.2e-6;
            assert!(units_apart(ln(x), x.ln()) <= 2.0, "{x:e}");
        }
    }

    #[test]
    fn log_odds_keep_their_bound() {
        let p: Vec<f64> = (1..200_000).map(|k| f64::from(k) / 200_000.0).chain([1e-15, 1.0 - 1e-15, 0.5]).collect();
        let mut ours = p.clone();
        log_odds(&mut ours);
        for (p, ours) in p.iter().zip(&ours) {
            // ln p - ln(1 - p), each from its nearest double; for p near 1/2 by the series about
            // it.
            let x = 2.0 * p - 1.0;
            let exact = if x.abs() < 0.01 {
                2.0 * (x + x.powi(3) / 3.0 + x.powi(5) / 5.0 + x.powi(7) / 7.0)
            } else {
                p.ln() - (-p).ln_1p()
            };
            let own_error = 4.0 * f64::EPSILON * (1.0 + p.ln().abs().max((-p).ln_1p().abs()));
            assert!((ours - exact).abs() <= f64::EPSILON * (1.0 + exact.abs()) + own_error, "{p}: {ours} {exact}");
        }
        let mut portable = p.clone();
        log_odds_portable(&mut portable);
        assert!(ours.iter().zip(&portable).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
