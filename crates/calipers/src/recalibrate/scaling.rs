//! The objective of maps of classes that are linear in their parameters: bias-corrected
//! temperature, vector and matrix scaling.
//!
//! ```text
//! J = Σ_i ω_i [ log Σ_j e^u_ij - u_i,label ] + Σ_p λ_p (θ_p - c_p)²        u_i = map of g_i
//! ```
//! Coordinates are those of all classes: a scale for each (or one for all, or a matrix row after
//! row), then a bias for each. Those of a class without rows are tied to the means of the others.

use super::class_rows::{lane_sum, largest, log_softmax};
use super::panel::Panel;
use crate::numerics::cholesky::Symmetric;
use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::parallel;
use crate::numerics::products::{PANEL, add_products};
use crate::numerics::sum::Sum;

/// Rows that are added up as they are, before their sums are added with compensation.
const BLOCK: usize = 64;

/// What the scores are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One number.
    Shared,
    /// One number for each class.
    Diagonal,
    /// A matrix.
    Full,
}

/// Rows that are fitted, with the options of the fit.
pub(crate) struct Scaling {
    pub(crate) shape: Shape,
    pub(crate) k: usize,
    /// g, row after row.
    features: Vec<f64>,
    labels: Vec<u32>,
    /// ω: weights with a sum of 1.
    shares: Vec<f64>,
    /// Squares of ω, for variances.
    squares: Vec<f64>,
    /// Coordinates that are free, ascending.
    pub(crate) free: Vec<usize>,
    /// Coordinates that are combinations of free ones.
    ties: Vec<Tie>,
    /// λ of each free coordinate.
    pub(crate) ridge: Vec<f64>,
    /// Sums of coordinates that softmax does not see, and coefficients in the unit of their
    /// curvature.
    gauges: Vec<(Vec<usize>, f64)>,
    /// Whether coefficient · (sum)² makes these sums 0, since there is no ridge to do so.
    pub(crate) has_gauges: bool,
    pub(crate) effective_n: f64,
}

struct Tie {
    at: usize,
    to: Vec<(usize, f64)>,
}

/// What a fit starts from.
pub(crate) struct Rows<'a> {
    pub(crate) panel: &'a Panel,
    /// Places in the panel.
    pub(crate) chosen: &'a [u32],
    /// The slope and the mixture of g.
    pub(crate) slope: f64,
    pub(crate) mixture_before: f64,
    pub(crate) effective_n: f64,
    /// Where weights count rows: what they were divided by.
    pub(crate) count_unit: Option<f64>,
}

/// The loss, its gradient and the probabilities of all rows at some coordinates.
pub(crate) struct At {
    pub(crate) loss: f64,
    pub(crate) gradient: Vec<f64>,
    pub(crate) p: Vec<f64>,
}

impl Scaling {
    /// `ridge` is the coefficient of the method: k by default.
    pub(crate) fn new(shape: Shape, ridge: f64, rows: &Rows<'_>) -> Self {
        let k = rows.panel.n_classes;
        let chunks = parallel::map_chunks(rows.chosen.len(), (parallel::CHUNK / k).max(1), |range| {
            let mut features: Vec<f64> = Vec::with_capacity(range.len() * k);
            for at in &rows.chosen[range] {
                features.extend_from_slice(rows.panel.row(*at as usize));
            }
            features.chunks_exact_mut(k).for_each(|row| log_softmax(row, rows.slope, rows.mixture_before));
            features
        });
        let features = chunks.concat();
        let weights: Vec<f64> = rows.chosen.iter().map(|at| rows.panel.weights[*at as usize]).collect();
        let total = weights.iter().copied().collect::<Sum>().value();
        let labels: Vec<u32> = rows.chosen.iter().map(|at| rows.panel.labels[*at as usize]).collect();
        let mut is_present = vec![false; k];
        labels.iter().for_each(|label| is_present[*label as usize] = true);
        let square = |weight: &f64| match rows.count_unit {
            Some(unit) => weight / unit / (total * total),
            None => weight * weight / (total * total),
        };
        let mut scaling = Scaling {
            shape,
            k,
            shares: weights.iter().map(|weight| weight / total).collect(),
            squares: weights.iter().map(square).collect(),
            features,
            labels,
            free: Vec::new(),
            ties: Vec::new(),
            ridge: Vec::new(),
            gauges: Vec::new(),
            has_gauges: ridge == 0.0,
            effective_n: rows.effective_n,
        };
        scaling.choose_coordinates(&is_present, ridge / rows.effective_n);
        scaling
    }

    fn choose_coordinates(&mut self, is_present: &[bool], penalty: f64) {
        let k = self.k;
        let present: Vec<usize> = (0..k).filter(|class| is_present[*class]).collect();
        let absent: Vec<usize> = (0..k).filter(|class| !is_present[*class]).collect();
        let m = present.len() as f64;
        let n_scales = self.n_scales();
        let mean = |of: &dyn Fn(usize) -> usize| present.iter().map(|class| (of(*class), 1.0 / m)).collect();
        match self.shape {
            Shape::Shared => self.free.push(0),
            Shape::Diagonal => {
                self.free.extend(&present);
                self.ties.extend(absent.iter().map(|&class| Tie { at: class, to: mean(&|other| other) }));
            }
            Shape::Full => {
                self.free.extend(present.iter().flat_map(|row| row * k..(row + 1) * k));
                for &row in &absent {
                    self.ties.extend(
                        (0..k).map(|column| Tie { at: row * k + column, to: tied_entry(row, column, &present, k) }),
                    );
                }
            }
        }
        self.free.extend(present.iter().map(|class| n_scales + class));
        self.ties.extend(absent.iter().map(|&class| Tie { at: n_scales + class, to: mean(&|other| n_scales + other) }));
        let (shape, is_off) = (self.shape, |at: usize| at < k * k && at / k != at % k);
        let coefficient = |at: &usize| match shape {
            Shape::Shared if *at == 0 => 0.0,
            Shape::Full if is_off(*at) => penalty * (k - 1) as f64,
            _ => penalty,
        };
        self.ridge = self.free.iter().map(coefficient).collect();
        let columns = if shape == Shape::Full { k } else { 0 };
        for column in 0..columns {
            let size = self.mean_square(column) / m;
            self.gauges.push((present.iter().map(|row| row * k + column).collect(), size));
        }
        self.gauges.push((present.iter().map(|class| n_scales + class).collect(), 1.0 / m));
    }

    /// The gauges, by places among the free coordinates.
    pub(crate) fn gauges(&self) -> Vec<(Vec<usize>, f64)> {
        let place = |at: &usize| self.free.binary_search(at).ok();
        let of_free = |(coordinates, coefficient): &(Vec<usize>, f64)| {
            (coordinates.iter().filter_map(place).collect(), *coefficient)
        };
        self.gauges.iter().map(of_free).collect()
    }

    /// The mean square of a feature.
    fn mean_square(&self, class: usize) -> f64 {
        let rows = self.features.chunks_exact(self.k).zip(&self.shares);
        rows.map(|(row, share)| share * row[class] * row[class]).sum::<f64>().max(f64::MIN_POSITIVE)
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn n_scales(&self) -> usize {
        match self.shape {
            Shape::Shared => 1,
            Shape::Diagonal => self.k,
            Shape::Full => self.k * self.k,
        }
    }

    pub(crate) fn n_coordinates(&self) -> usize {
        self.n_scales() + self.k
    }

    pub(crate) fn has_ties(&self) -> bool {
        !self.ties.is_empty()
    }

    /// The coordinates of softmax(slope g).
    pub(crate) fn of_slope(&self, slope: f64) -> Vec<f64> {
        let mut all = vec![0.0; self.n_coordinates()];
        match self.shape {
            Shape::Shared => all[0] = slope,
            Shape::Diagonal => all[..self.k].fill(slope),
            Shape::Full => (0..self.k).for_each(|class| all[class * (self.k + 1)] = slope),
        }
        all
    }

    /// All coordinates from the free ones.
    pub(crate) fn expand(&self, free: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; self.n_coordinates()];
        self.free.iter().zip(free).for_each(|(at, value)| all[*at] = *value);
        for tie in &self.ties {
            all[tie.at] = tie.to.iter().map(|(from, factor)| factor * all[*from]).sum();
        }
        all
    }

    /// What a gradient in all coordinates is in the free ones: the transpose of
    /// [`expand`](Self::expand).
    pub(crate) fn gather(&self, all: &[f64]) -> Vec<f64> {
        if self.ties.is_empty() {
            return self.free.iter().map(|at| all[*at]).collect();
        }
        let mut sums = all.to_vec();
        for tie in &self.ties {
            tie.to.iter().for_each(|(to, factor)| sums[*to] += factor * all[tie.at]);
        }
        self.free.iter().map(|at| sums[*at]).collect()
    }

    /// The same for numbers that are not negative, of which sizes are added.
    pub(crate) fn gather_sizes(&self, all: &[f64]) -> Vec<f64> {
        let mut sums = all.to_vec();
        for tie in &self.ties {
            tie.to.iter().for_each(|(to, factor)| sums[*to] += factor.abs() * all[tie.at]);
        }
        self.free.iter().map(|at| sums[*at]).collect()
    }

    /// A symmetric matrix of all coordinates in the free ones.
    fn gather_matrix(&self, all: Vec<f64>) -> Symmetric {
        let n = self.n_coordinates();
        let rows: Vec<Vec<f64>> = all.chunks_exact(n).map(|row| self.gather(row)).collect();
        let d = self.free.len();
        let mut symmetric = Symmetric::zero(d);
        for column in 0..d {
            let of_column: Vec<f64> = rows.iter().map(|row| row[column]).collect();
            self.gather(&of_column).iter().enumerate().take(column + 1).for_each(|(row, value)| {
                symmetric.add(column, row, *value);
            });
        }
        symmetric
    }

    /// Rows of a chunk: the same whatever the number of threads.
    fn chunk(&self) -> usize {
        self.n_rows().div_ceil(16).next_multiple_of(BLOCK).max(4 * BLOCK)
    }

    fn weights<'t>(&self, all: &'t [f64]) -> Weights<'t> {
        let (scales, bias) = all.split_at(self.n_scales());
        let scales = match self.shape {
            Shape::Shared => vec![scales[0]; self.k],
            Shape::Diagonal => scales.to_vec(),
            Shape::Full => transposed(scales, self.k),
        };
        Weights { scales, bias, is_full: self.shape == Shape::Full }
    }

    /// The loss and its gradient, in all coordinates.
    pub(crate) fn at(&self, all: &[f64]) -> At {
        let k = self.k;
        let weights = self.weights(all);
        let n_sums = if self.shape == Shape::Full { k * k } else { k };
        let chunks = parallel::map_chunks(self.n_rows(), self.chunk(), |range| {
            let mut p = vec![0.0; range.len() * k];
            let mut loss = Sum::default();
            let mut sums = vec![Sum::default(); n_sums + k];
            for (at, p) in range.step_by(BLOCK).zip(p.chunks_mut(BLOCK * k)) {
                let rows = at..at + p.len() / k;
                let mut block = vec![0.0; n_sums + k];
                let features = &self.features[rows.start * k..rows.end * k];
                let (labels, shares) = (&self.labels[rows.clone()], &self.shares[rows]);
                let (gradient, of_bias) = block.split_at_mut(n_sums);
                loss.add(add_rows(&weights, features, labels, shares, p, gradient, of_bias));
                sums.iter_mut().zip(&block).for_each(|(sum, part)| sum.add(*part));
            }
            (loss, sums, p)
        });
        let mut loss = Sum::default();
        let mut sums = vec![Sum::default(); n_sums + k];
        for (part, of_chunk, _) in &chunks {
            loss.merge(*part);
            sums.iter_mut().zip(of_chunk).for_each(|(sum, part)| sum.merge(*part));
        }
        let mut p = Vec::with_capacity(self.n_rows() * k);
        chunks.iter().for_each(|chunk| p.extend_from_slice(&chunk.2));
        let mut gradient: Vec<f64> = sums.into_iter().map(Sum::value).collect();
        if self.shape == Shape::Shared {
            let total = gradient[..k].iter().copied().collect::<Sum>().value();
            gradient.splice(..k, [total]);
        }
        At { loss: loss.value(), gradient, p }
    }

    /// Bounds on the rounding errors of the gradient, in all coordinates. A term ω x (p - y) is off
    /// by the rounding of p, of which u has its share, and of the sums.
    pub(crate) fn gradient_error(&self, all: &[f64], at: &At) -> Vec<f64> {
        let k = self.k;
        let weights = self.weights(all);
        let sizes = Weights {
            scales: weights.scales.iter().map(|scale| scale.abs()).collect(),
            bias: &weights.bias.iter().map(|bias| bias.abs()).collect::<Vec<f64>>(),
            is_full: weights.is_full,
        };
        let of_terms = (BLOCK + 20 + k) as f64;
        let of_u = if weights.is_full { 2.0 * (k as f64 + 4.0) } else { 8.0 };
        let chunks = parallel::map_chunks(self.n_rows(), self.chunk(), |range| {
            let mut sums = vec![0.0; self.n_coordinates()];
            let (mut u, mut g) = (vec![0.0; k], vec![0.0; k]);
            for row in range {
                let p = &at.p[row * k..(row + 1) * k];
                g.iter_mut().zip(&self.features[row * k..]).for_each(|(size, g)| *size = g.abs());
                sizes.predictors(&g, &mut u);
                let mean: f64 = u.iter().zip(p).map(|(u, p)| u * p).sum();
                for class in 0..k {
                    let residual = p[class] - f64::from(u8::from(self.labels[row] as usize == class));
                    let size = of_terms * (residual.abs() + p[class]) + of_u * p[class] * (u[class] + mean);
                    let size = self.shares[row] * size;
                    sums[self.n_scales() + class] += size;
                    match self.shape {
                        Shape::Shared => sums[0] += size * g[class],
                        Shape::Diagonal => sums[class] += size * g[class],
                        Shape::Full => {
                            sums[class * k..(class + 1) * k].iter_mut().zip(&g).for_each(|(sum, g)| *sum += size * g);
                        }
                    }
                }
            }
            sums
        });
        let mut all = vec![0.0; self.n_coordinates()];
        chunks.iter().for_each(|part| all.iter_mut().zip(part).for_each(|(sum, part)| *sum += part));
        all.iter_mut().for_each(|sum| *sum *= 0.5 * f64::EPSILON);
        all
    }

    /// max_i √(1 + |g_i|²), with all features of a row for a matrix and with each one else.
    pub(crate) fn largest_features(&self) -> f64 {
        let size = |row: &[f64]| match self.shape {
            Shape::Full => row.iter().map(|g| g * g).sum::<f64>(),
            _ => row.iter().map(|g| g * g).fold(0.0, f64::max),
        };
        (1.0 + self.features.chunks_exact(self.k).map(size).fold(0.0, f64::max)).sqrt()
    }

    /// The Hessian of the loss in the free coordinates.
    pub(crate) fn hessian(&self, at: &At) -> Symmetric {
        let dense = match self.shape {
            Shape::Shared => self.shared_hessian(&at.p),
            Shape::Diagonal => self.diagonal_hessian(&at.p),
            Shape::Full => {
                let (p, shares) = (&at.p, &self.shares);
                self.full_products(|row, i, j| {
                    let p = &p[row * self.k..];
                    // proof: p is at most 1, but for rounding
                    shares[row] * p[i] * if i == j { (1.0 - p[i]).max(0.0) } else { -p[j] }
                })
            }
        };
        self.gather_matrix(dense)
    }

    /// Σ_i (ω_i r_i)(ω_i r_i)' with the gradients r of rows: what the gradient varies by.
    pub(crate) fn scatter(&self, at: &At) -> Symmetric {
        let k = self.k;
        let residual =
            |row: usize, class: usize| at.p[row * k + class] - f64::from(u8::from(self.labels[row] as usize == class));
        if self.shape == Shape::Full {
            let dense = self.full_products(|row, i, j| self.squares[row] * residual(row, i) * residual(row, j));
            return self.gather_matrix(dense);
        }
        let n = self.n_coordinates();
        let dense = self.gram(n, |row, out| {
            let root = self.squares[row].sqrt();
            for class in 0..k {
                let residual = root * residual(row, class);
                out[n - k + class] = residual;
                let of_scale = residual * self.features[row * k + class];
                if self.shape == Shape::Shared { out[0] += of_scale } else { out[class] = of_scale }
            }
        });
        self.gather_matrix(dense)
    }

    pub(crate) fn features_of(&self, row: usize) -> &[f64] {
        &self.features[row * self.k..(row + 1) * self.k]
    }

    /// Adds ω x of a row at the coordinates of a label, times a factor.
    pub(crate) fn add_label(&self, row: usize, label: usize, factor: f64, gradient: &mut [f64]) {
        let (k, share, g) = (self.k, factor * self.shares[row], self.features_of(row));
        gradient[self.n_scales() + label] += share;
        match self.shape {
            Shape::Shared => gradient[0] += share * g[label],
            Shape::Diagonal => gradient[label] += share * g[label],
            Shape::Full => {
                gradient[label * k..(label + 1) * k].iter_mut().zip(g).for_each(|(sum, g)| *sum += share * g);
            }
        }
    }

    pub(crate) fn p_of_label(&self, at: &At, row: usize) -> f64 {
        at.p[row * self.k + self.labels[row] as usize]
    }

    pub(crate) fn share(&self, row: usize) -> f64 {
        self.shares[row]
    }

    /// Σ_i v_i v_i' of a vector of each row, which `fill` writes over zeros: a full square matrix.
    fn gram(&self, n: usize, fill: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let chunks = parallel::map_chunks(self.n_rows(), self.chunk(), |range| {
            let mut out = vec![0.0; n * n];
            let mut panel = vec![0.0; n * PANEL];
            let mut vector = vec![0.0; n];
            for start in range.clone().step_by(PANEL) {
                panel.fill(0.0);
                for row in start..range.end.min(start + PANEL) {
                    vector.fill(0.0);
                    fill(row, &mut vector);
                    (0..n).for_each(|column| panel[column * PANEL + row - start] = vector[column]);
                }
                add_products(&panel, &panel, &mut out, true);
            }
            out
        });
        let mut all = added(chunks, n * n);
        for row in 0..n {
            (row + 1..n).for_each(|column| all[row * n + column] = all[column * n + row]);
        }
        all
    }

    fn diagonal_hessian(&self, p: &[f64]) -> Vec<f64> {
        let k = self.k;
        let mut all = self.gram(2 * k, |row, out| {
            let root = self.shares[row].sqrt();
            let (of_scale, of_bias) = out.split_at_mut(k);
            let (p, g) = (&p[row * k..(row + 1) * k], &self.features[row * k..(row + 1) * k]);
            for class in 0..k {
                of_bias[class] = root * p[class];
                of_scale[class] = root * p[class] * g[class];
            }
        });
        all.iter_mut().for_each(|entry| *entry = -*entry);
        // p - p² of a class with itself, without the cancellation.
        let own = self.summed(3 * k, |row, out| {
            for class in 0..k {
                let (p, g) = (p[row * k + class], self.features[row * k + class]);
                let curvature = self.shares[row] * p * (1.0 - p).max(0.0);
                out[class] += curvature * g * g;
                out[k + class] += curvature * g;
                out[2 * k + class] += curvature;
            }
        });
        for class in 0..k {
            all[class * 2 * k + class] = own[class];
            all[class * 2 * k + k + class] = own[k + class];
            all[(k + class) * 2 * k + class] = own[k + class];
            all[(k + class) * 2 * k + k + class] = own[2 * k + class];
        }
        all
    }

    fn shared_hessian(&self, p: &[f64]) -> Vec<f64> {
        let (k, n) = (self.k, self.k + 1);
        let gram = self.gram(k, |row, out| {
            let root = self.shares[row].sqrt();
            out.iter_mut().zip(&p[row * k..]).for_each(|(out, p)| *out = root * p);
        });
        let own = self.summed(2 * k + 1, |row, out| {
            let (p, g) = (&p[row * k..(row + 1) * k], &self.features[row * k..(row + 1) * k]);
            let mean: f64 = p.iter().zip(g).map(|(p, g)| p * g).sum();
            for class in 0..k {
                let part = self.shares[row] * p[class];
                out[0] += part * (g[class] - mean) * (g[class] - mean);
                out[1 + class] += part * (g[class] - mean);
                out[1 + k + class] += part * (1.0 - p[class]).max(0.0);
            }
        });
        let mut all = vec![0.0; n * n];
        all[0] = own[0];
        for class in 0..k {
            all[1 + class] = own[1 + class];
            all[(1 + class) * n] = own[1 + class];
            (0..k).for_each(|other| all[(1 + class) * n + 1 + other] = -gram[class * k + other]);
            all[(1 + class) * (n + 1)] = own[1 + k + class];
        }
        all
    }

    /// Σ_i c_i(a, b) x_i x_i' for all pairs of classes, with x = (g, 1).
    fn full_products(&self, coefficient: impl Fn(usize, usize, usize) -> f64 + Sync) -> Vec<f64> {
        let k = self.k;
        let (n_pairs, n_features) = (k * (k + 1) / 2, (k + 1) * (k + 2) / 2);
        let chunks = parallel::map_chunks(self.n_rows(), self.chunk(), |range| {
            let mut out = vec![0.0; n_pairs * n_features];
            let (mut left, mut right) = (vec![0.0; n_pairs * PANEL], vec![0.0; n_features * PANEL]);
            let mut x = vec![1.0; k + 1];
            for start in range.clone().step_by(PANEL) {
                left.fill(0.0);
                right.fill(0.0);
                for row in start..range.end.min(start + PANEL) {
                    x[..k].copy_from_slice(&self.features[row * k..(row + 1) * k]);
                    let lane = row - start;
                    for (at, (i, j)) in pairs(k).enumerate() {
                        left[at * PANEL + lane] = coefficient(row, i, j);
                    }
                    for (at, (i, j)) in pairs(k + 1).enumerate() {
                        right[at * PANEL + lane] = x[i] * x[j];
                    }
                }
                add_products(&left, &right, &mut out, false);
            }
            out
        });
        let products = added(chunks, n_pairs * n_features);
        let n = k * k + k;
        let mut all = vec![0.0; n * n];
        // Feature k is the 1 of the bias.
        let place = |class: usize, feature: usize| if feature < k { class * k + feature } else { k * k + class };
        let entry = |a: usize, b: usize| a.max(b) * (a.max(b) + 1) / 2 + a.min(b);
        for i in 0..k {
            for j in 0..k {
                let line = &products[entry(i, j) * n_features..];
                for a in 0..=k {
                    (0..=k).for_each(|b| all[place(i, a) * n + place(j, b)] = line[entry(a, b)]);
                }
            }
        }
        all
    }

    /// Sums over rows of what `add` adds.
    fn summed(&self, n: usize, add: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let chunks = parallel::map_chunks(self.n_rows(), self.chunk(), |range| {
            let mut sums = vec![0.0; n];
            range.for_each(|row| add(row, &mut sums));
            sums
        });
        added(chunks, n)
    }

    /// The diagonal of the Hessian of the loss, in all coordinates.
    pub(crate) fn hessian_diagonal(&self, at: &At) -> Vec<f64> {
        let k = self.k;
        self.summed(self.n_coordinates(), |row, out| {
            let (p, g) = (&at.p[row * k..(row + 1) * k], self.features_of(row));
            for class in 0..k {
                let curvature = self.shares[row] * p[class] * (1.0 - p[class]).max(0.0);
                out[self.n_scales() + class] += curvature;
                match self.shape {
                    // An upper bound.
                    Shape::Shared => out[0] += curvature * g[class] * g[class] * k as f64,
                    Shape::Diagonal => out[class] += curvature * g[class] * g[class],
                    Shape::Full => {
                        out[class * k..(class + 1) * k]
                            .iter_mut()
                            .zip(g)
                            .for_each(|(sum, g)| *sum += curvature * g * g);
                    }
                }
            }
        })
    }

    /// The Hessian of the loss times a vector, both in all coordinates.
    pub(crate) fn hessian_times(&self, at: &At, vector: &[f64]) -> Vec<f64> {
        let k = self.k;
        let weights = self.weights(vector);
        let n_sums = if self.shape == Shape::Full { k * k } else { k };
        let chunks = parallel::map_chunks(self.n_rows(), self.chunk(), |range| {
            let mut sums = vec![0.0; n_sums + k];
            let (p, g) = (&at.p[range.start * k..range.end * k], &self.features[range.start * k..range.end * k]);
            let (gradient, of_bias) = sums.split_at_mut(n_sums);
            add_curvature(&weights, g, p, &self.shares[range], gradient, of_bias);
            sums
        });
        let mut all = added(chunks, n_sums + k);
        if self.shape == Shape::Shared {
            let total: f64 = all[..k].iter().sum();
            all.splice(..k, [total]);
        }
        all
    }
}

/// What an entry of the matrix of a class without rows is tied to. Off the diagonal it is the mean
/// of its column's entries off the diagonal; on it, the same plus what other classes have more on
/// the diagonal than off it, on average. So a constant that is added to a column, which softmax
/// does not see, is added there, too.
fn tied_entry(row: usize, column: usize, present: &[usize], k: usize) -> Vec<(usize, f64)> {
    let off = |column: usize, factor: f64| {
        let others: Vec<usize> = present.iter().copied().filter(|other| *other != column).collect();
        let share = factor / others.len() as f64;
        others.into_iter().map(move |other| (other * k + column, share))
    };
    let mut to: Vec<(usize, f64)> = off(column, 1.0).collect();
    if row == column {
        let share = 1.0 / present.len() as f64;
        for &class in present {
            to.push((class * (k + 1), share));
            to.extend(off(class, -share));
        }
    }
    to
}

/// Pairs (i, j) with j <= i, in the order of the lower half of a matrix.
fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(|i| (0..=i).map(move |j| (i, j)))
}

fn added(chunks: Vec<Vec<f64>>, n: usize) -> Vec<f64> {
    let mut chunks = chunks.into_iter();
    let mut all = chunks.next().unwrap_or_else(|| vec![0.0; n]);
    chunks.for_each(|part| all.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part));
    all
}

fn transposed(matrix: &[f64], k: usize) -> Vec<f64> {
    (0..k * k).map(|at| matrix[at % k * k + at / k]).collect()
}

/// What scores are multiplied by: one number for each class or, column after column, a matrix.
struct Weights<'a> {
    scales: Vec<f64>,
    bias: &'a [f64],
    is_full: bool,
}

impl Weights<'_> {
    /// u of a row.
    #[inline(always)]
    fn predictors(&self, g: &[f64], u: &mut [f64]) {
        let k = g.len();
        if self.is_full {
            u.copy_from_slice(self.bias);
            for (g, column) in g.iter().zip(self.scales.chunks_exact(k)) {
                u.iter_mut().zip(column).for_each(|(u, weight)| *u += weight * g);
            }
        } else {
            for class in 0..k {
                u[class] = self.scales[class] * g[class] + self.bias[class];
            }
        }
    }
}

dispatched! {
    /// Adds the gradients of some rows and writes their probabilities; returns the sum of losses.
    fn add_rows / add_rows_portable(
        weights: &Weights<'_>,
        features: &[f64],
        labels: &[u32],
        shares: &[f64],
        p: &mut [f64],
        gradient: &mut [f64],
        of_bias: &mut [f64],
    ) -> f64 {
        let k = of_bias.len();
        let mut loss = 0.0;
        for (row, (label, share)) in labels.iter().zip(shares).enumerate() {
            let label = *label as usize;
            let g = &features[row * k..(row + 1) * k];
            let p = &mut p[row * k..(row + 1) * k];
            weights.predictors(g, p);
            let top = largest(p);
            let of_label = p[label];
            p.iter_mut().for_each(|p| *p = exp_of_nonpositive(*p - top));
            let total = lane_sum(p);
            p.iter_mut().for_each(|p| *p /= total);
            loss += share * (total.ln() + (top - of_label));
            add_outer(p, g, *share, weights.is_full, gradient, of_bias);
            of_bias[label] -= share;
            if weights.is_full {
                gradient[label * k..(label + 1) * k].iter_mut().zip(g).for_each(|(sum, g)| *sum -= share * g);
            } else {
                gradient[label] -= share * g[label];
            }
        }
        loss
    }
}

dispatched! {
    /// Adds the products of the Hessians of some rows with a vector.
    fn add_curvature / add_curvature_portable(
        vector: &Weights<'_>,
        features: &[f64],
        p: &[f64],
        shares: &[f64],
        gradient: &mut [f64],
        of_bias: &mut [f64],
    ) {
        let k = of_bias.len();
        let mut along = vec![0.0; k];
        for (row, share) in shares.iter().enumerate() {
            let (g, p) = (&features[row * k..(row + 1) * k], &p[row * k..(row + 1) * k]);
            vector.predictors(g, &mut along);
            let mean: f64 = along.iter().zip(p).map(|(along, p)| along * p).sum();
            along.iter_mut().zip(p).for_each(|(along, p)| *along = p * (*along - mean));
            add_outer(&along, g, *share, vector.is_full, gradient, of_bias);
        }
    }
}

/// Adds share · r (g, 1): all products of entries for a matrix, and those of a class with itself
/// else.
#[inline(always)]
fn add_outer(r: &[f64], g: &[f64], share: f64, is_full: bool, gradient: &mut [f64], of_bias: &mut [f64]) {
    let k = g.len();
    if is_full {
        for (r, line) in r.iter().zip(gradient.chunks_exact_mut(k)) {
            let factor = share * r;
            line.iter_mut().zip(g).for_each(|(sum, g)| *sum += factor * g);
        }
    } else {
        for class in 0..k {
            gradient[class] += share * r[class] * g[class];
        }
    }
    of_bias.iter_mut().zip(r).for_each(|(sum, r)| *sum += share * r);
}
