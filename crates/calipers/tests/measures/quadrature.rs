//! Integrals over [0, 1] by brute force, and kernels that are reflected at both ends.

/// ∫_0^1 |f| by Gauss's rule of 3 points on many panels, cut in two where the sign changes.
pub(crate) fn integral_of_abs(f: &dyn Fn(f64) -> f64, n_panels: usize) -> f64 {
    let gauss = |a: f64, b: f64| {
        let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
        let outer = half * 0.6f64.sqrt();
        half * (5.0 * (f(middle - outer) + f(middle + outer)) + 8.0 * f(middle)) / 9.0
    };
    let mut sum = 0.0;
    for panel in 0..n_panels {
        let (a, b) = (panel as f64 / n_panels as f64, (panel + 1) as f64 / n_panels as f64);
        if (f(a) < 0.0) == (f(b) < 0.0) {
            sum += gauss(a, b).abs();
        } else {
            let (mut low, mut high) = (a, b);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                *(if (f(middle) < 0.0) == (f(a) < 0.0) { &mut low } else { &mut high }) = middle;
            }
            sum += gauss(a, low).abs() + gauss(low, b).abs();
        }
    }
    sum
}

pub(crate) fn gaussian(x: f64) -> f64 {
    (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

pub(crate) fn triweight(x: f64) -> f64 {
    35.0 / 96.0 * (1.0 - x * x / 9.0).max(0.0).powi(3)
}

/// The kernel with its images at both ends.
pub(crate) fn reflected(kernel: fn(f64) -> f64, t: f64, p: f64, sigma: f64) -> f64 {
    let images = (6.0 * sigma).ceil() as i32 + 1;
    (-images..=images)
        .map(|k| 2.0 * f64::from(k))
        .map(|shift| kernel((t - p + shift) / sigma) + kernel((t + p + shift) / sigma))
        .sum::<f64>()
        / sigma
}
