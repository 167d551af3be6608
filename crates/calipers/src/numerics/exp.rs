//! The exponential of numbers that are not positive, without a branch, so that a loop of it becomes
//! vector code.

/// 2^f for f in [-1/2, 1/2] is 1 + c₁f + c₂f² + …: the polynomial of this degree whose largest
/// relative error is least, among those that are 1 at 0. That error is below 2.1 · 2^-53.
const COEFFICIENTS: [f64; 10] = [
    0.6931471805599492,
    0.240226506959091,
    0.05550410866448181,
    0.009618129107983106,
    0.0013333558225800855,
    0.0001540352999428165,
    1.5252659427374817e-05,
    1.321565357745193e-06,
    1.020832305530292e-07,
    7.0381825747354674e-09,
];

/// Powers of 2 below this one are taken as this one, which is nothing beside a sum that has a 1.
const SMALLEST_POWER: f64 = -1000.0;

/// Doubles from here on are the integers: adding it rounds to one, and leaves that in the lowest
/// bits.
const ROUNDER: f64 = 1.5 * (1_u64 << 52) as f64;

/// exp(x) for x <= 0; 1 at 0, and about 2^-1000 rather than less where x is below -693, -∞
/// included. For x > 0 it is some number that means nothing.
///
/// # Accuracy
/// The error is at most (6 + 2 |x|) u exp(x) with u = 2^-53, where that is not below 2^-1000. With
/// t = x / ln 2 and n the integer that is nearest to it:
/// - t is rounded twice, with its constant by u/2 and as a product by u, so that exp(x) is off by
///   3/2 |x| u;
/// - f = t - n is exact, being a multiple of t's last place and no larger than t; |f| <= 1/2;
/// - the polynomial is off by 2.1 u, and evaluated as 1 + f q. On its way to q, which is in [0.58,
///   0.83], the leading term is rounded in three additions, c₂f <= 0.13 as a product, and the rest
///   is below 0.02: together 7/2 u. Then
///   |f q| (7/2 + 1) u and the last addition, u of the result, make 2.9 u, since |f q| is at most 0.42 of the result;
/// - the factor 2^n is exact: n >= -1000 leaves no subnormal number.
///
/// The sum of these is 5 + 3/2 |x|; what is left covers their products, since |x| u is below 2^-43.
#[inline(always)]
pub(crate) fn exp_of_nonpositive(x: f64) -> f64 {
    let power = x * std::f64::consts::LOG2_E;
    // Not `f64::max`, which asks for NaN first: this is one instruction.
    let power = if power > SMALLEST_POWER { power } else { SMALLEST_POWER };
    let shifted = power + ROUNDER;
    let fraction = power - (shifted - ROUNDER);
    let two_to_fraction = 1.0 + fraction * slope(fraction);
    // The integer goes into the exponent; what is above its lowest bits is shifted out.
    f64::from_bits(two_to_fraction.to_bits().wrapping_add(shifted.to_bits() << 52))
}

/// (2^f - 1) / f, by its polynomial of degree 9 in pairs: fewer steps that wait for each other than
/// one by one.
#[inline(always)]
fn slope(f: f64) -> f64 {
    let [c1, c2, c3, c4, c5, c6, c7, c8, c9, c10] = COEFFICIENTS;
    let square = f * f;
    let fourth = square * square;
    let low = (c1 + c2 * f) + (c3 + c4 * f) * square;
    let high = (c5 + c6 * f) + (c7 + c8 * f) * square;
    low + (high + (c9 + c10 * f) * fourth) * fourth
}

#[cfg(test)]
mod tests {
    use super::{COEFFICIENTS, exp_of_nonpositive};

    /// A sum of two doubles, good to about 2^-100: more than the errors that are measured with it.
    #[derive(Clone, Copy)]
    struct Double(f64, f64);

    impl Double {
        fn of_sum(a: f64, b: f64) -> Self {
            let sum = a + b;
            let part = sum - a;
            Double(sum, (a - (sum - part)) + (b - part))
        }

        fn plus(self, other: Double) -> Self {
            let Double(head, tail) = Self::of_sum(self.0, other.0);
            Self::of_sum(head, tail + self.1 + other.1)
        }

        fn times(self, other: Double) -> Self {
            let head = self.0 * other.0;
            let tail = self.0.mul_add(other.0, -head) + (self.0 * other.1 + self.1 * other.0);
            Self::of_sum(head, tail)
        }

        fn over(self, divisor: f64) -> Self {
            let head = self.0 / divisor;
            Self::of_sum(head, ((-head).mul_add(divisor, self.0) + self.1) / divisor)
        }

        /// By its series at x / 2^12, squared twelve times: no step in common with the function
        /// under test.
        fn exp(x: f64) -> Self {
            let small = Double(x / 4096.0, 0.0);
            let series = (1..=16)
                .rev()
                .fold(Double(1.0, 0.0), |sum, k| Double(1.0, 0.0).plus(sum.times(small).over(f64::from(k))));
            (0..12).fold(series, |power, _| power.times(power))
        }
    }

    const UNIT: f64 = f64::EPSILON / 2.0;

    fn relative_error(x: f64) -> f64 {
        let exact = Double::exp(x);
        (((exp_of_nonpositive(x) - exact.0) - exact.1) / exact.0).abs()
    }

    #[test]
    fn the_error_is_within_its_bound() {
        let mut largest = 0.0_f64;
        for step in 0..200_000 {
            // Dense where sums have their weight, and all the way down to where it is nothing.
            for x in [-f64::from(step) / 199_999.0, -f64::from(step) * 1e-4 - 1e-9, -f64::from(step) * 0.00346] {
                let share = relative_error(x) / (UNIT * (6.0 + 2.0 * x.abs()));
                assert!(share <= 1.0, "{x}: {share} of the bound");
                largest = largest.max(share);
            }
        }
        assert!(largest > 0.2, "a bound that is far from sharp: {largest}");
    }

    #[test]
    fn the_polynomial_is_as_near_as_the_proof_says() {
        // Between two samples D = p(f) - 2^f is above the larger of them by at most step² / 8 times
        // its largest second derivative, to which the powers of 2^f beyond the tenth add ln² 2 (ln
        // 2 / 2)⁹ / 9! and hardly more.
        let ln_2 = Double(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
        let mut taylor = Double(1.0, 0.0);
        let mut curvature = 1.1e-10;
        for (index, coefficient) in COEFFICIENTS.iter().enumerate() {
            let degree = index as f64 + 1.0;
            taylor = taylor.times(ln_2).over(degree);
            let difference = ((coefficient - taylor.0) - taylor.1).abs();
            curvature += degree * (degree - 1.0) * difference * 0.5_f64.powi(index as i32 - 1);
        }
        const N: i32 = 1 << 12;
        let between = curvature / (8.0 * f64::from(2 * N).powi(2));
        for step in -N..=N {
            let f = f64::from(step) / f64::from(2 * N);
            let one = Double(1.0, 0.0);
            let tail = |sum: Double, c: &f64| sum.times(Double(f, 0.0)).plus(Double(*c, 0.0));
            let polynomial = one.plus(COEFFICIENTS.iter().rev().fold(Double(0.0, 0.0), tail).times(Double(f, 0.0)));
            // exp(f ln 2), with the tail of the product as a factor.
            let Double(head, rest) = ln_2.times(Double(f, 0.0));
            let exact = Double::exp(head).times(Double(1.0, rest));
            let error = ((polynomial.0 - exact.0) + (polynomial.1 - exact.1)).abs() + between;
            assert!(error / exact.0 < 2.1 * UNIT, "{f}: {} units", error / exact.0 / UNIT);
        }
    }

    #[test]
    fn nothing_is_lost_at_the_ends() {
        assert_eq!(exp_of_nonpositive(0.0), 1.0);
        for x in [-693.2, -745.0, -1e9, -2e300, f64::NEG_INFINITY] {
            let tiny = exp_of_nonpositive(x);
            assert!(tiny > 0.0 && tiny < 1e-300, "{x}: {tiny}");
        }
    }
}
