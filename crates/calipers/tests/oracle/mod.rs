//! The slow, obviously right LS-ECE: direct sums over points, quadrature between roots, or the
//! closed form piece by piece. It shares no code with the product: densities, links, sorting and
//! rules are its own.

#![allow(unreachable_pub)] // shared by several test files
#![allow(dead_code)] // each test file uses its own part

use std::f64::consts::{PI, SQRT_2};

/// Prints a line that is seen although the test passes: what is measured here is worth reading.
#[allow(unused_macros)] // by the test files that measure nothing
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

/// A weighted point on the logit axis.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub h: f64,
    pub y: bool,
    pub w: f64,
}

pub fn points(h: &[f64], y: &[bool]) -> Vec<Point> {
    h.iter().zip(y).map(|(&h, &y)| Point { h, y, w: 1.0 }).collect()
}

/// ln(p / (1 - p)) after clipping.
pub fn logit(p: f64, clip: f64) -> f64 {
    let p = p.max(clip).min(1.0 - clip);
    p.ln() - (-p).ln_1p()
}

pub fn logistic(u: f64) -> f64 {
    if u >= 0.0 { 1.0 / (1.0 + (-u).exp()) } else { u.exp() / (1.0 + u.exp()) }
}

pub fn probit(u: f64) -> f64 {
    0.5 * libm::erfc(-u / SQRT_2)
}

pub fn cloglog(u: f64) -> f64 {
    -(-u.exp()).exp_m1()
}

/// A density at scale 1, where it is not smooth, and where it is as good as 0.
#[derive(Clone, Copy)]
pub struct Noise {
    pub density: fn(f64) -> f64,
    pub kinks: &'static [f64],
    pub reach: f64,
}

pub const GAUSSIAN: Noise = Noise { density: |x| (-x * x / 2.0).exp() / (2.0 * PI).sqrt(), kinks: &[], reach: 8.5 };
pub const UNIFORM: Noise = Noise { density: |x| f64::from(u8::from(x.abs() <= 0.5)), kinks: &[-0.5, 0.5], reach: 0.5 };
pub const LAPLACE: Noise = Noise { density: |x| (-x.abs()).exp() / 2.0, kinks: &[0.0], reach: 37.0 };
pub const LOGISTIC: Noise = Noise { density: |x| 1.0 / (2.0 + x.exp() + (-x).exp()), kinks: &[], reach: 37.0 };
pub const EPANECHNIKOV: Noise =
    Noise { density: |x| if x.abs() < 1.0 { 0.75 * (1.0 - x * x) } else { 0.0 }, kinks: &[-1.0, 1.0], reach: 1.0 };

pub fn noise(name: &str) -> Noise {
    match name {
        "gaussian" => GAUSSIAN,
        "uniform" => UNIFORM,
        "laplace" => LAPLACE,
        "logistic" => LOGISTIC,
        "epanechnikov" => EPANECHNIKOV,
        other => panic!("no oracle for {other}"),
    }
}

pub fn link(name: &str) -> fn(f64) -> f64 {
    match name {
        "logistic" => logistic,
        "probit" => probit,
        "cloglog" => cloglog,
        other => panic!("no oracle for {other}"),
    }
}

/// Gauss's rule of 5 points on [-1, 1].
const NODES: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.906_179_845_938_664, 0.236_926_885_056_189_08),
];

/// LS-ECE by quadrature, with panels of sigma/8 that are split at kinks and at roots.
pub fn ls_ece(points: &[Point], noise: Noise, rho: fn(f64) -> f64, sigma: f64) -> f64 {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.h.total_cmp(&b.h));
    let total: f64 = points.iter().map(|point| point.w).sum();
    let h: Vec<f64> = points.iter().map(|point| point.h).collect();

    let residual = |u: f64| {
        let first = h.partition_point(|&h| h < u - noise.reach * sigma);
        let last = h.partition_point(|&h| h <= u + noise.reach * sigma);
        let r = rho(u);
        let gap = |y: bool| if y { 1.0 - r } else { -r };
        let sum: f64 = points[first..last].iter().map(|p| p.w * gap(p.y) * (noise.density)((u - p.h) / sigma)).sum();
        sum / sigma / total
    };

    integral_of_abs(&h, noise, sigma, &residual)
}

/// The residual form by the same quadrature: residuals y - rho(h) are smoothed, and no rho(u) comes
/// in.
pub fn residual_ls_ece(points: &[Point], noise: Noise, rho: fn(f64) -> f64, sigma: f64) -> f64 {
    smoothed(points, noise, sigma, |point, _| if point.y { 1.0 - rho(point.h) } else { -rho(point.h) })
}

/// The integral of |Σ s (rho(h) - rho(u)) K(u - h)|, in which outcomes have no part.
pub fn smoothing_bias(points: &[Point], noise: Noise, rho: fn(f64) -> f64, sigma: f64) -> f64 {
    smoothed(points, noise, sigma, |point, u| rho(point.h) - rho(u))
}

/// The integral of |Σ s f(point, u) K(u - h)|, as a direct sum over all points for each u.
fn smoothed(points: &[Point], noise: Noise, sigma: f64, f: impl Fn(&Point, f64) -> f64) -> f64 {
    let mut h: Vec<f64> = points.iter().map(|point| point.h).collect();
    h.sort_by(f64::total_cmp);
    let total: f64 = points.iter().map(|point| point.w).sum();
    let sum = |u: f64| {
        let term = |point: &Point| point.w * f(point, u) * (noise.density)((u - point.h) / sigma);
        points.iter().filter(|point| (u - point.h).abs() <= noise.reach * sigma).map(term).sum::<f64>() / sigma / total
    };
    integral_of_abs(&h, noise, sigma, &sum)
}

/// The integrals of max(R, 0) and max(-R, 0), R as in the residual form, by the midpoint rule with
/// `n` steps.
pub fn residual_parts(points: &[Point], noise: Noise, rho: fn(f64) -> f64, sigma: f64, n: u32) -> (f64, f64) {
    let reach = noise.reach * sigma;
    let from = points.iter().fold(f64::INFINITY, |least, point| least.min(point.h)) - reach;
    let to = points.iter().fold(f64::NEG_INFINITY, |most, point| most.max(point.h)) + reach;
    let total: f64 = points.iter().map(|point| point.w).sum();
    let step = (to - from) / f64::from(n);
    let (mut low, mut high) = (0.0, 0.0);
    for k in 0..n {
        let u = from + (f64::from(k) + 0.5) * step;
        let term = |point: &Point| {
            let gap = f64::from(u8::from(point.y)) - rho(point.h);
            point.w / total * gap * (noise.density)((u - point.h) / sigma) / sigma
        };
        let sum: f64 = points.iter().map(term).sum();
        low += sum.max(0.0) * step;
        high += (-sum).max(0.0) * step;
    }
    (low, high)
}

/// The u with rho(u) = p, by halving.
pub fn inverse(rho: fn(f64) -> f64, p: f64) -> f64 {
    let (mut a, mut b) = (-60.0, 60.0);
    for _ in 0..200 {
        let middle = 0.5 * (a + b);
        if rho(middle) < p { a = middle } else { b = middle }
    }
    0.5 * (a + b)
}

/// The integral of |f|, for sums f of kernels at these sorted points.
fn integral_of_abs(sorted: &[f64], noise: Noise, sigma: f64, f: &impl Fn(f64) -> f64) -> f64 {
    let mut integral = 0.0;
    for window in windows(sorted, noise.reach * sigma) {
        for pair in breakpoints(sorted, noise, sigma, window).windows(2) {
            integral += smooth_piece(f, pair[0], pair[1], sigma);
        }
    }
    integral
}

/// Intervals that hold all points and their reach, without the empty space between far clusters.
fn windows(sorted: &[f64], reach: f64) -> Vec<(f64, f64)> {
    let mut windows: Vec<(f64, f64)> = Vec::new();
    for &h in sorted {
        match windows.last_mut() {
            Some(last) if h - reach <= last.1 => last.1 = h + reach,
            _ => windows.push((h - reach, h + reach)),
        }
    }
    windows
}

fn breakpoints(sorted: &[f64], noise: Noise, sigma: f64, window: (f64, f64)) -> Vec<f64> {
    let mut breaks = vec![window.0, window.1];
    let kinks = noise.kinks.iter().flat_map(|kink| sorted.iter().map(move |h| h + kink * sigma));
    breaks.extend(kinks.filter(|b| window.0 < *b && *b < window.1));
    breaks.sort_by(f64::total_cmp);
    breaks.dedup();
    breaks
}

/// The integral of |f| over an interval in which f is smooth at the scale of sigma, and of the
/// link.
fn smooth_piece(f: &impl Fn(f64) -> f64, a: f64, b: f64, sigma: f64) -> f64 {
    let n_panels = ((b - a) / (sigma.min(1.0) / 8.0)).ceil().max(1.0);
    let width = (b - a) / n_panels;
    (0..n_panels as u64).map(|k| panel(f, a + k as f64 * width, a + (k + 1) as f64 * width)).sum()
}

fn panel(f: &impl Fn(f64) -> f64, a: f64, b: f64) -> f64 {
    let at = |x: f64| a + (b - a) * (x + 1.0) / 2.0;
    // Just inside the ends, so that a jump at a breakpoint is seen from the right side.
    let samples: Vec<f64> =
        [-1.0 + 1e-9].into_iter().chain(NODES.map(|node| node.0)).chain([1.0 - 1e-9]).map(at).collect();
    let values: Vec<f64> = samples.iter().map(|&x| f(x)).collect();
    let mut cuts = vec![a];
    for (x, v) in samples.windows(2).zip(values.windows(2)) {
        if v[0] * v[1] < 0.0 {
            cuts.push(root(f, x[0], x[1]));
        }
    }
    cuts.push(b);
    if cuts.len() == 2 {
        let signed: f64 = NODES.iter().zip(&values[1..6]).map(|(node, value)| node.1 * value).sum();
        return (signed * (b - a) / 2.0).abs();
    }
    cuts.windows(2).map(|cut| gauss(f, cut[0], cut[1]).abs()).sum()
}

fn gauss(f: &impl Fn(f64) -> f64, a: f64, b: f64) -> f64 {
    let at = |x: f64| a + (b - a) * (x + 1.0) / 2.0;
    NODES.iter().map(|node| node.1 * f(at(node.0))).sum::<f64>() * (b - a) / 2.0
}

fn root(f: &impl Fn(f64) -> f64, mut a: f64, mut b: f64) -> f64 {
    let positive = f(a) > 0.0;
    for _ in 0..50 {
        let middle = 0.5 * (a + b);
        if (f(middle) > 0.0) == positive { a = middle } else { b = middle }
    }
    0.5 * (a + b)
}

/// LS-ECE for uniform noise of full width `sigma` and the logistic link, in closed form on each
/// piece, with weights counted by binary search in cumulated sums.
pub fn ls_ece_uniform(points: &[Point], sigma: f64) -> f64 {
    let half = sigma / 2.0;
    let cumulated = |y: bool| {
        let mut own: Vec<(f64, f64)> = points.iter().filter(|p| p.y == y).map(|p| (p.h, p.w)).collect();
        own.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        let sums: Vec<f64> = std::iter::once(0.0)
            .chain(own.iter().map(|p| {
                sum += p.1;
                sum
            }))
            .collect();
        (own.into_iter().map(|p| p.0).collect::<Vec<f64>>(), sums)
    };
    let (negatives, positives) = (cumulated(false), cumulated(true));
    let weight = |side: &(Vec<f64>, Vec<f64>), u: f64| {
        let (from, to) = (side.0.partition_point(|&h| h < u - half), side.0.partition_point(|&h| h <= u + half));
        side.1[to] - side.1[from]
    };
    let total: f64 = points.iter().map(|p| p.w).sum();
    let mut breaks: Vec<f64> = points.iter().flat_map(|p| [p.h - half, p.h + half]).collect();
    breaks.sort_by(f64::total_cmp);
    breaks.dedup();

    let mut integral = 0.0;
    for pair in breaks.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let middle = 0.5 * (a + b);
        let (c0, c1) = (weight(&negatives, middle), weight(&positives, middle));
        let signed = |a: f64, b: f64| c1 * (b - a) - (c0 + c1) * integral_of_logistic(a, b);
        let root = (c1 / c0).ln();
        integral +=
            if a < root && root < b { signed(a, root).abs() + signed(root, b).abs() } else { signed(a, b).abs() };
    }
    integral / sigma / total
}

/// By Gauss's rule, so that short pieces keep their digits.
fn integral_of_logistic(a: f64, b: f64) -> f64 {
    let n = ((b - a) * 8.0).ceil().max(1.0);
    let width = (b - a) / n;
    (0..n as u64).map(|k| gauss(&logistic, a + k as f64 * width, a + (k + 1) as f64 * width)).sum()
}
