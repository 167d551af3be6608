//! The slope of a power law, read off on logarithmic axes.

/// Least-squares slope of ln y against ln x over points whose coordinates are positive; `None` for
/// fewer than two different x.
pub(crate) fn log_log_slope(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / n;
    let (x_mean, y_mean) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = logs.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    (logs.len() >= 2 && spread > 0.0)
        .then(|| logs.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum::<f64>() / spread)
}

/// Least-squares exponents (α, β) of z = c x^α y^β; `None` unless x and y both vary, and not
/// together.
pub(crate) fn exponents(points: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
    let logs: Vec<[f64; 3]> = points
        .iter()
        .filter(|(x, y, z)| *x > 0.0 && *y > 0.0 && *z > 0.0)
        .map(|(x, y, z)| [x.ln(), y.ln(), z.ln()])
        .collect();
    let mean: [f64; 3] = std::array::from_fn(|k| logs.iter().map(|p| p[k]).sum::<f64>() / logs.len() as f64);
    let moment = |i: usize, k: usize| logs.iter().map(|p| (p[i] - mean[i]) * (p[k] - mean[k])).sum::<f64>();
    let (xx, xy, yy, xz, yz) = (moment(0, 0), moment(0, 1), moment(1, 1), moment(0, 2), moment(1, 2));
    let determinant = xx * yy - xy * xy;
    (logs.len() >= 3 && determinant > 1e-9 * xx * yy)
        .then(|| ((xz * yy - yz * xy) / determinant, (yz * xx - xz * xy) / determinant))
}

#[cfg(test)]
mod tests {
    use super::{exponents, log_log_slope};

    #[test]
    fn two_exponents_are_told_apart() {
        let at = |x: f64, y: f64| (x, y, 2.0 * x.powf(-0.5) * y.powf(0.25));
        let (alpha, beta) = exponents(&[at(1.0, 1.0), at(8.0, 1.0), at(8.0, 3.0), at(2.0, 5.0)]).unwrap();
        assert!((alpha + 0.5).abs() < 1e-12 && (beta - 0.25).abs() < 1e-12);
        assert_eq!(exponents(&[at(1.0, 1.0), at(2.0, 2.0), at(3.0, 3.0)]), None);
        assert_eq!(exponents(&[]), None);
    }

    #[test]
    fn a_power_law_has_its_exponent_as_slope() {
        let points: Vec<(f64, f64)> = (1..20).map(|k| (k as f64, 3.0 * (k as f64).powf(-0.5))).collect();
        assert!((log_log_slope(&points).unwrap() + 0.5).abs() < 1e-12);
        assert_eq!(log_log_slope(&points[..1]), None);
        assert_eq!(log_log_slope(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }
}
