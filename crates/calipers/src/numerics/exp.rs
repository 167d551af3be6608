//! The exponential of numbers that are not positive, without a branch, so that a loop of it becomes vector code.

/// 2^f for f in [-1/2, 1/2] is 1 + c₁f + c₂f² + …: the polynomial of this degree whose largest relative error is
/// least, among those that are 1 at 0. That error is below 2.1 · 2^-53.
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

/// Doubles from here on are the integers: adding it rounds to one, and leaves that in the lowest bits.
const ROUNDER: f64 = 1.5 * (1_u64 << 52) as f64;

/// exp(x) for x <= 0; 1 at 0, and 2^-1000 rather than less where x is below -693.1, -∞ included.
///
/// # Accuracy
/// The error is at most (5 + 2 |x|) u exp(x) with u = 2^-53, or 2^-1000 if that is more. With t = x / ln 2 and n the
/// integer that is nearest to it:
/// - t is rounded twice, with its constant by u/2 and as a product by u, so that exp(x) is off by 3/2 |x| u;
/// - f = t - n is exact, being a multiple of t's last place and no larger than t; |f| <= 1/2;
/// - the polynomial is off by 2.1 u, and evaluated as 1 + f q with q in [0.58, 0.83]. Of q = c₁ + f (…) the second
///   part is at most 0.22 q, so that q is off by 3/2 u; then |f q| (3/2 + 1) u and the last addition, u of the
///   result, make 2.1 u together, since |f q| is at most 0.42 of the result;
/// - the factor 2^n is exact: n >= -1000 leaves no subnormal number.
///
/// No larger |x| leaves first-order bounds: |x| u is below 2^-43 where the result is not 2^-1000.
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

/// (2^f - 1) / f, by its polynomial of degree 9 in pairs: fewer steps that wait for each other than one by one.
#[inline(always)]
fn slope(f: f64) -> f64 {
    let [c1, c2, c3, c4, c5, c6, c7, c8, c9, c10] = COEFFICIENTS;
    let square = f * f;
    let fourth = square * square;
    let low = (c1 + c2 * f) + (c3 + c4 * f) * square;
    let high = (c5 + c6 * f) + (c7 + c8 * f) * square;
    low + (high + (c9 + c10 * f) * fourth) * fourth
}
