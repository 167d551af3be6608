//! The objective of maps of classes that are linear in their parameters: bias-corrected
//! temperature, vector and matrix scaling.
//!
//! ```text
//! J = Σ_i ω_i [ log Σ_j e^u_ij - u_i,label ] + Σ_p λ_p (θ_p - c_p)²        u_i = map of g_i
//! ```
//! Coordinates are those of all classes: a scale for each (or one for all, or a matrix row after
//! row), then a bias for each. Those of a class without rows are tied to the means of the others.

mod coordinates;
mod gradient;
mod hessian;
pub(crate) mod map;
mod memory;
pub(crate) mod solve;

use coordinates::Tie;

use super::panel::Panel;
use super::rows::log_softmax;
use crate::numerics::parallel;
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

    /// Rows of a chunk: the same whatever the number of threads.
    pub(super) fn chunk(&self) -> usize {
        self.n_rows().div_ceil(16).next_multiple_of(BLOCK).max(4 * BLOCK)
    }

    /// max_i √(1 + |g_i|²), with all features of a row for a matrix and with each one else.
    pub(crate) fn largest_features(&self) -> f64 {
        let size = |row: &[f64]| match self.shape {
            Shape::Full => row.iter().map(|g| g * g).sum::<f64>(),
            _ => row.iter().map(|g| g * g).fold(0.0, f64::max),
        };
        (1.0 + self.features.chunks_exact(self.k).map(size).fold(0.0, f64::max)).sqrt()
    }

    /// Whether all rows weigh the same.
    pub(crate) fn is_unweighted(&self) -> bool {
        let is_one = |values: &[f64]| values.iter().all(|value| *value == values[0]);
        is_one(&self.shares) && is_one(&self.squares)
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
}
