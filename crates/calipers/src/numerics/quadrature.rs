//! Adaptive integration of functions that are smooth between known breaks, and of their absolute
//! value.

/// Abscissae of Kronrod's rule of 15 points on [-1, 1], the positive ones from the outside in,
/// and 0. Every second one, from the second on, belongs to Gauss's rule of 7 points.
const POINTS: [f64; 8] = [
    0.991_455_371_120_812_6,
    0.949_107_912_342_758_5,
    0.864_864_423_359_769_1,
    0.741_531_185_599_394_4,
    0.586_087_235_467_691_1,
    0.405_845_151_377_397_2,
    0.207_784_955_007_898_47,
    0.0,
];
const KRONROD: [f64; 8] = [
    0.022_935_322_010_529_224,
    0.063_092_092_629_978_56,
    0.104_790_010_322_250_18,
    0.140_653_259_715_525_92,
    0.169_004_726_639_267_9,
    0.190_350_578_064_785_4,
    0.204_432_940_075_298_89,
    0.209_482_141_084_727_82,
];
const GAUSS: [f64; 4] =
    [0.129_484_966_168_869_7, 0.279_705_391_489_276_64, 0.381_830_050_505_118_9, 0.417_959_183_673_469_4];

/// How often a piece is halved at most: beyond, a piece is as short as rounding.
const DEEPEST: u32 = 48;

/// An integral, and what two rules differ by: an estimate of its error, not a proof.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Quadrature {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

impl std::ops::Add for Quadrature {
    type Output = Quadrature;

    fn add(self, other: Quadrature) -> Quadrature {
        Quadrature { value: self.value + other.value, error: self.error + other.error }
    }
}

impl std::iter::Sum for Quadrature {
    fn sum<I: Iterator<Item = Quadrature>>(parts: I) -> Self {
        parts.fold(Quadrature::default(), std::ops::Add::add)
    }
}

/// The 15 points of [a, b], in order.
fn points(a: f64, b: f64) -> [f64; 15] {
    let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
    std::array::from_fn(|k| if k < 8 { middle - half * POINTS[k] } else { middle + half * POINTS[14 - k] })
}

/// Both rules on the values at [`points`].
fn rules(values: &[f64; 15], length: f64) -> Quadrature {
    let weight = |k: usize| KRONROD[k.min(14 - k)];
    let kronrod: f64 = values.iter().enumerate().map(|(k, value)| weight(k) * value).sum();
    let gauss: f64 = (0..7).map(|j| GAUSS[j.min(6 - j)] * values[2 * j + 1]).sum();
    Quadrature { value: 0.5 * length * kronrod, error: 0.5 * length * (kronrod - gauss).abs() }
}

/// Kronrod's rule alone on [a, b]: for a function that is known to be smooth there.
#[inline]
pub(crate) fn kronrod(a: f64, b: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
    let pairs: f64 = (0..7).map(|k| KRONROD[k] * (f(middle - half * POINTS[k]) + f(middle + half * POINTS[k]))).sum();
    half * (pairs + KRONROD[7] * f(middle))
}

/// The integral of |f| over [a, b], to about `tolerance`: pieces are cut where f changes sign, and
/// halved where the two rules differ.
pub(crate) fn absolute(f: &impl Fn(f64) -> f64, a: f64, b: f64, tolerance: f64) -> Quadrature {
    piece(f, a, b, tolerance, DEEPEST)
}

fn piece(f: &impl Fn(f64) -> f64, a: f64, b: f64, tolerance: f64, deeper: u32) -> Quadrature {
    if b <= a {
        return Quadrature::default();
    }
    let at = points(a, b);
    let values = at.map(f);
    let found = rules(&values, b - a);
    // What is no larger than the tolerance, or than rounding, is not worth a cut.
    let size = values.iter().fold(0.0, |size: f64, value| size.max(value.abs())) * (b - a);
    if let (Some((left, right)), true) = (sign_change(&values), deeper > 0 && size > 0.25 * tolerance) {
        let root = root(f, at[left], at[right]);
        if a < root && root < b {
            return piece(f, a, root, 0.5 * tolerance, deeper - 1) + piece(f, root, b, 0.5 * tolerance, deeper - 1);
        }
    }
    // The difference is the error of Gauss's rule; that of Kronrod's is far smaller.
    if found.error <= tolerance.max(4.0 * f64::EPSILON * size) || deeper == 0 {
        return Quadrature { value: found.value.abs(), ..found };
    }
    let middle = 0.5 * (a + b);
    piece(f, a, middle, 0.5 * tolerance, deeper - 1) + piece(f, middle, b, 0.5 * tolerance, deeper - 1)
}

/// Two places between which the sign changes; a root may lie at a point, where the value is 0.
fn sign_change(values: &[f64; 15]) -> Option<(usize, usize)> {
    let signed: Vec<usize> = (0..15).filter(|&k| values[k] != 0.0).collect();
    signed.windows(2).find(|pair| (values[pair[0]] > 0.0) != (values[pair[1]] > 0.0)).map(|pair| (pair[0], pair[1]))
}

/// Where f changes sign between a and b, by halving.
fn root(f: &impl Fn(f64) -> f64, mut a: f64, mut b: f64) -> f64 {
    let positive = f(a) > 0.0;
    for _ in 0..60 {
        let middle = 0.5 * (a + b);
        if middle <= a || middle >= b {
            break;
        }
        if (f(middle) > 0.0) == positive { a = middle } else { b = middle }
    }
    0.5 * (a + b)
}

#[cfg(test)]
mod tests {
    use super::{absolute, kronrod};

    #[test]
    fn polynomials_of_degree_22_are_exact() {
        let integral = kronrod(-1.0, 1.0, |x| x.powi(22));
        assert!((integral - 2.0 / 23.0).abs() < 1e-15, "{integral}");
    }

    #[test]
    fn absolute_values_are_cut_at_roots() {
        let integral = absolute(&|x: f64| x.sin(), 0.0, 20.0, 1e-13);
        // Six half waves of area 2 up to 6 pi, then 1 - cos(20 - 6 pi).
        assert!((integral.value - (12.0 + 1.0 - (20.0 - 6.0 * std::f64::consts::PI).cos())).abs() < 1e-12);
        assert!(integral.error < 1e-12);
    }

    #[test]
    fn a_root_at_the_middle_of_an_odd_function_is_seen() {
        let integral = absolute(&|x: f64| x * x * x, -1.0, 1.0, 1e-13);
        assert!((integral.value - 0.5).abs() < 1e-12, "{integral:?}");
    }

    #[test]
    fn a_jump_and_a_kink_that_nobody_announced_are_found() {
        let integral = absolute(&|x: f64| if x < 1.0 / 3.0 { 1.0 } else { (x - 0.7).abs() }, 0.0, 1.0, 1e-10);
        let kink = 0.5 * ((0.7f64 - 1.0 / 3.0).powi(2) + 0.09);
        assert!((integral.value - (1.0 / 3.0 + kink)).abs() < 1e-9, "{integral:?}");
    }
}
