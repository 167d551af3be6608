//! The slope of a power law, read off on logarithmic axes.

/// Least-squares slope of ln y against ln x over points whose coordinates are positive; `None` for fewer than two
/// different x.
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

#[cfg(test)]
mod tests {
    use super::log_log_slope;

    #[test]
    fn a_power_law_has_its_exponent_as_slope() {
        let points: Vec<(f64, f64)> = (1..20).map(|k| (k as f64, 3.0 * (k as f64).powf(-0.5))).collect();
        assert!((log_log_slope(&points).unwrap() + 0.5).abs() < 1e-12);
        assert_eq!(log_log_slope(&points[..1]), None);
        assert_eq!(log_log_slope(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }
}
