//! Matrices that are summed over rows: the Hessian of the loss, and the scatter of gradients.

use super::{At, Scaling, Shape};
use crate::numerics::cholesky::Symmetric;
use crate::numerics::parallel;
use crate::numerics::products::{ROWS, add_products};

impl Scaling {
    /// The Hessian of the loss in all coordinates, over the first rows.
    pub(crate) fn hessian(&self, at: &At, n_rows: usize) -> Vec<f64> {
        let mut dense = match self.shape {
            Shape::Shared => self.shared_hessian(&at.p, n_rows),
            Shape::Diagonal => self.diagonal_hessian(&at.p, n_rows),
            Shape::Full => {
                let (p, shares) = (&at.p, &self.shares);
                self.full_products(n_rows, |row, i, j| {
                    let p = &p[row * self.k..];
                    // proof: p is at most 1, but for rounding
                    shares[row] * p[i] * if i == j { (1.0 - p[i]).max(0.0) } else { -p[j] }
                })
            }
        };
        if n_rows < self.n_rows() {
            let share: f64 = self.shares[..n_rows].iter().sum();
            dense.iter_mut().for_each(|entry| *entry /= share);
        }
        dense
    }

    /// How many of the rows have about the Hessian of all: some where they are many. They are in
    /// the order of a hash, so that the first are as good as drawn.
    pub(crate) fn n_sample(&self) -> usize {
        const MANY: usize = 1 << 16;
        let some = self.n_rows() / 4;
        let is_enough = self.n_rows() * self.k >= MANY && some >= 8 * self.free.len();
        if is_enough { some } else { self.n_rows() }
    }

    /// Σ_i (ω_i r_i)(ω_i r_i)' with the gradients r of rows: what the gradient varies by.
    pub(crate) fn scatter(&self, at: &At) -> Symmetric {
        let k = self.k;
        let residual =
            |row: usize, class: usize| at.p[row * k + class] - f64::from(u8::from(self.labels[row] as usize == class));
        if self.shape == Shape::Full {
            let product = |row: usize, i: usize, j: usize| self.squares[row] * residual(row, i) * residual(row, j);
            return self.gather_matrix(&self.full_products(self.n_rows(), product));
        }
        let n = self.n_coordinates();
        let dense = self.gram(n, self.n_rows(), |row, out| {
            let root = self.squares[row].sqrt();
            for class in 0..k {
                let residual = root * residual(row, class);
                out[n - k + class] = residual;
                let of_scale = residual * self.features[row * k + class];
                if self.shape == Shape::Shared { out[0] += of_scale } else { out[class] = of_scale }
            }
        });
        self.gather_matrix(&dense)
    }

    /// The same from the Hessian of the same place, in all coordinates: for a scale and a bias of
    /// each class and rows that weigh the same.
    ///
    /// With x = (g, 1), r = p - y and two classes i and j, the products x_i r_i x_j r_j are those
    /// of p_i p_j, which the Hessian has the sums of, less those of p_i y_j and y_i p_j, which only
    /// the rows of one label have.
    pub(crate) fn scatter_of_hessian(&self, at: &At, hessian: &[f64]) -> Symmetric {
        let (k, n, square) = (self.k, 2 * self.k, self.squares[0]);
        let chunks = parallel::map_chunks(self.n_rows(), self.chunk(), |range| {
            // Of a label's x with all x p, and of each class with itself.
            let (mut crossed, mut own) = (vec![0.0; n * n], vec![0.0; 3 * k]);
            for row in range {
                let (p, g) = (&at.p[row * k..(row + 1) * k], self.features_of(row));
                let label = self.labels[row] as usize;
                for (line, x) in [(label, g[label]), (k + label, 1.0)] {
                    let (of_scale, of_bias) = crossed[line * n..(line + 1) * n].split_at_mut(k);
                    for (((of_scale, of_bias), p), g) in of_scale.iter_mut().zip(of_bias).zip(p).zip(g) {
                        *of_scale += x * (p * g);
                        *of_bias += x * p;
                    }
                }
                let mut add = |class: usize, squared: f64| {
                    own[class] += squared * g[class] * g[class];
                    own[k + class] += squared * g[class];
                    own[2 * k + class] += squared;
                };
                (0..k).for_each(|class| add(class, p[class] * p[class]));
                // (p - 1)² in place of p², since p of the label is its residual plus 1.
                add(label, 1.0 - 2.0 * p[label]);
            }
            crossed.append(&mut own);
            crossed
        });
        let sums = added(chunks, n * n + 3 * k);
        let (crossed, own) = sums.split_at(n * n);
        // Both are per unit of weight.
        let factor = square / self.shares[0];
        let mut dense = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let at = if i % k == j % k {
                    square * own[(i / k + j / k) * k + i % k]
                } else {
                    -factor * hessian[i * n + j] - square * (crossed[i * n + j] + crossed[j * n + i])
                };
                dense[i * n + j] = at;
            }
        }
        self.gather_matrix(&dense)
    }

    /// Σ_i v_i v_i' of a vector of each of the first rows, which `fill` writes over zeros: a full
    /// square matrix.
    fn gram(&self, n: usize, n_rows: usize, fill: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let chunks = parallel::map_chunks(n_rows, self.chunk(), |range| {
            let mut out = vec![0.0; n * n];
            let mut rows = vec![0.0; n * ROWS];
            for start in range.clone().step_by(ROWS) {
                rows.fill(0.0);
                (start..range.end).zip(rows.chunks_exact_mut(n)).for_each(|(row, vector)| fill(row, vector));
                add_products(&rows, &rows, &mut out, true);
            }
            out
        });
        let mut all = added(chunks, n * n);
        for row in 0..n {
            (row + 1..n).for_each(|column| all[row * n + column] = all[column * n + row]);
        }
        all
    }

    fn diagonal_hessian(&self, p: &[f64], n_rows: usize) -> Vec<f64> {
        let k = self.k;
        let mut all = self.gram(2 * k, n_rows, |row, out| {
            let root = self.shares[row].sqrt();
            let (of_scale, of_bias) = out.split_at_mut(k);
            let (p, g) = (&p[row * k..(row + 1) * k], self.features_of(row));
            for (((of_scale, of_bias), p), g) in of_scale.iter_mut().zip(of_bias).zip(p).zip(g) {
                *of_bias = root * p;
                *of_scale = root * p * g;
            }
        });
        all.iter_mut().for_each(|entry| *entry = -*entry);
        // p - p² of a class with itself, without the cancellation.
        let own = self.summed(3 * k, n_rows, |row, out| {
            let share = self.shares[row];
            let (twice, rest) = out.split_at_mut(k);
            let (once, never) = rest.split_at_mut(k);
            let sums = twice.iter_mut().zip(once).zip(never);
            for (((twice, once), never), (p, g)) in sums.zip(p[row * k..].iter().zip(self.features_of(row))) {
                let rest = 1.0 - p;
                let curvature = share * p * if rest > 0.0 { rest } else { 0.0 };
                *twice += curvature * g * g;
                *once += curvature * g;
                *never += curvature;
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

    fn shared_hessian(&self, p: &[f64], n_rows: usize) -> Vec<f64> {
        let (k, n) = (self.k, self.k + 1);
        let gram = self.gram(k, n_rows, |row, out| {
            let root = self.shares[row].sqrt();
            out.iter_mut().zip(&p[row * k..]).for_each(|(out, p)| *out = root * p);
        });
        let own = self.summed(2 * k + 1, n_rows, |row, out| {
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
    fn full_products(&self, n_rows: usize, coefficient: impl Fn(usize, usize, usize) -> f64 + Sync) -> Vec<f64> {
        let k = self.k;
        let (n_pairs, n_features) = (k * (k + 1) / 2, (k + 1) * (k + 2) / 2);
        let chunks = parallel::map_chunks(n_rows, self.chunk(), |range| {
            let mut out = vec![0.0; n_pairs * n_features];
            let (mut left, mut right) = (vec![0.0; n_pairs * ROWS], vec![0.0; n_features * ROWS]);
            let mut x = vec![1.0; k + 1];
            for start in range.clone().step_by(ROWS) {
                left.fill(0.0);
                right.fill(0.0);
                let both = left.chunks_exact_mut(n_pairs).zip(right.chunks_exact_mut(n_features));
                for (row, (left, right)) in (start..range.end).zip(both) {
                    x[..k].copy_from_slice(&self.features[row * k..(row + 1) * k]);
                    left.iter_mut().zip(pairs(k)).for_each(|(entry, (i, j))| *entry = coefficient(row, i, j));
                    right.iter_mut().zip(pairs(k + 1)).for_each(|(entry, (i, j))| *entry = x[i] * x[j]);
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

    /// Sums over the first rows of what `add` adds.
    pub(super) fn summed(&self, n: usize, n_rows: usize, add: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let chunks = parallel::map_chunks(n_rows, self.chunk(), |range| {
            let mut sums = vec![0.0; n];
            range.for_each(|row| add(row, &mut sums));
            sums
        });
        added(chunks, n)
    }
}

/// Pairs (i, j) with j <= i, in the order of the lower half of a matrix.
fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(|i| (0..=i).map(move |j| (i, j)))
}

pub(super) fn added(chunks: Vec<Vec<f64>>, n: usize) -> Vec<f64> {
    let mut chunks = chunks.into_iter();
    let mut all = chunks.next().unwrap_or_else(|| vec![0.0; n]);
    chunks.for_each(|part| all.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part));
    all
}
