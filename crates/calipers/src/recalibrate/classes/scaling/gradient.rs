//! Sums over rows that take as long as a pass: loss, gradient, and products with the Hessian.

use super::hessian::added;
use super::{At, BLOCK, Scaling, Shape};
use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::recalibrate::classes::rows::{lane_sum, largest};

impl Scaling {
    fn weights<'t>(&self, all: &'t [f64]) -> Weights<'t> {
        let (scales, bias) = all.split_at(self.n_scales());
        let scales = match self.shape {
            Shape::Shared => vec![scales[0]; self.k],
            Shape::Diagonal => scales.to_vec(),
            Shape::Full => transposed(scales, self.k),
        };
        Weights { scales, bias, is_full: self.shape == Shape::Full }
    }

    /// The loss and its gradient, in all coordinates, with probabilities in the given memory.
    pub(crate) fn at(&self, all: &[f64], mut p: Vec<f64>) -> At {
        let k = self.k;
        let weights = self.weights(all);
        let n_sums = if self.shape == Shape::Full { k * k } else { k };
        p.resize(self.n_rows() * k, 0.0);
        let chunks = parallel::map_parts(&mut p, self.chunk() * k, |part, p| {
            let mut loss = Sum::default();
            let mut sums = vec![Sum::default(); n_sums + k];
            let mut block = vec![0.0; n_sums + k];
            for (at, p) in (part * self.chunk()..).step_by(BLOCK).zip(p.chunks_mut(BLOCK * k)) {
                let rows = at..at + p.len() / k;
                let features = &self.features[rows.start * k..rows.end * k];
                let (labels, shares) = (&self.labels[rows.clone()], &self.shares[rows]);
                block.fill(0.0);
                let (gradient, of_bias) = block.split_at_mut(n_sums);
                loss.add(add_rows(&weights, features, labels, shares, p, gradient, of_bias));
                sums.iter_mut().zip(&block).for_each(|(sum, part)| sum.add(*part));
            }
            (loss, sums)
        });
        let mut loss = Sum::default();
        let mut sums = vec![Sum::default(); n_sums + k];
        for (part, of_chunk) in &chunks {
            loss.merge(*part);
            sums.iter_mut().zip(of_chunk).for_each(|(sum, part)| sum.merge(*part));
        }
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
        let (of_terms, n_scales) = ((BLOCK + 20 + k) as f64, self.n_scales());
        let of_u = if weights.is_full { 2.0 * (k as f64 + 4.0) } else { 8.0 };
        let chunks = parallel::map_chunks(self.n_rows(), self.chunk(), |range| {
            let mut sums = vec![0.0; self.n_coordinates()];
            let (mut u, mut g) = (vec![0.0; k], vec![0.0; k]);
            for row in range {
                let p = &at.p[row * k..(row + 1) * k];
                g.iter_mut().zip(&self.features[row * k..]).for_each(|(size, g)| *size = g.abs());
                sizes.predictors(&g, &mut u);
                let mean: f64 = u.iter().zip(p).map(|(u, p)| u * p).sum();
                let share = self.shares[row];
                // The sizes of the terms of classes, in place of u.
                for (u, p) in u.iter_mut().zip(p) {
                    *u = share * (2.0 * of_terms * p + of_u * p * (*u + mean));
                }
                let label = self.labels[row] as usize;
                // A label has the residual 1 - p in place of p.
                u[label] += share * of_terms * (1.0 - 2.0 * p[label]);
                let (of_scales, of_bias) = sums.split_at_mut(n_scales);
                of_bias.iter_mut().zip(&u).for_each(|(sum, size)| *sum += size);
                match self.shape {
                    Shape::Shared => of_scales[0] += u.iter().zip(&g).map(|(size, g)| size * g).sum::<f64>(),
                    Shape::Diagonal => {
                        of_scales.iter_mut().zip(&u).zip(&g).for_each(|((sum, size), g)| *sum += size * g);
                    }
                    Shape::Full => {
                        for (size, line) in u.iter().zip(of_scales.chunks_exact_mut(k)) {
                            line.iter_mut().zip(&g).for_each(|(sum, g)| *sum += size * g);
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

    /// The diagonal of the Hessian of the loss, in all coordinates.
    pub(crate) fn hessian_diagonal(&self, at: &At) -> Vec<f64> {
        let k = self.k;
        self.summed(self.n_coordinates(), self.n_rows(), |row, out| {
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
            let of_class = self.scales.iter().zip(self.bias).zip(g);
            u.iter_mut().zip(of_class).for_each(|(u, ((scale, bias), g))| *u = scale * g + bias);
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
            // Two roundings in place of the one of a division, which would take longer.
            let inverse = 1.0 / total;
            p.iter_mut().for_each(|p| *p *= inverse);
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
        gradient.iter_mut().zip(r).zip(g).for_each(|((sum, r), g)| *sum += share * r * g);
    }
    of_bias.iter_mut().zip(r).for_each(|(sum, r)| *sum += share * r);
}
