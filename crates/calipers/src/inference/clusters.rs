//! Rows that depend on each other, by cluster.

use std::collections::HashMap;

use super::resampler::drawn;
use crate::Error;
use crate::data::BinaryView;
use crate::link::{Link, Probit};
use crate::numerics::random::Normals;

/// The smallest number of clusters: with fewer, neither a variance nor a distribution over signs of
/// clusters can be estimated.
const FEWEST: usize = 10;

/// Which rows depend on each other: those of one cluster, such as the answers of one person, do;
/// rows of two clusters do not.
#[derive(Debug, Clone)]
pub struct Clusters {
    /// Cluster after cluster, in the order of their first rows; without the clusters that have no
    /// weight.
    rows: Vec<usize>,
    /// Where the rows of each cluster end.
    ends: Vec<usize>,
}

impl Clusters {
    /// One number for each row of the view; rows with the same number are a cluster. Clusters
    /// without weight do not count.
    pub fn new(numbers: &[u32], view: &BinaryView<'_>) -> Result<Self, Error> {
        Self::of_weights(numbers, &view.rows().weights)
    }

    /// The same for rows with these weights.
    pub(crate) fn of_weights(numbers: &[u32], weights: &[f64]) -> Result<Self, Error> {
        if numbers.len() != weights.len() {
            return Err(Error::LengthMismatch { what: "clusters", got: numbers.len(), expected: weights.len() });
        }
        let mut places: HashMap<u32, usize> = HashMap::new();
        for (key, _) in numbers.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
            let next = places.len();
            places.entry(*key).or_insert(next);
        }
        let rule =
            format!("at least {FEWEST} different ones, since all uncertainty is estimated from their differences");
        Error::require(places.len() >= FEWEST, "clusters", rule, places.len())?;
        let cluster = |row: usize| places.get(&numbers[row]).copied();
        let mut ends = vec![0; places.len()];
        (0..numbers.len()).filter_map(cluster).for_each(|cluster| ends[cluster] += 1);
        let mut before = 0;
        for end in &mut ends {
            // For now where a cluster starts; each of its rows moves that on to the end.
            before += std::mem::replace(end, before);
        }
        let mut of_clusters = vec![0; before];
        for row in 0..numbers.len() {
            if let Some(cluster) = cluster(row) {
                of_clusters[ends[cluster]] = row;
                ends[cluster] += 1;
            }
        }
        Ok(Clusters { rows: of_clusters, ends })
    }

    /// How many clusters have weight.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never: there are ten at least.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The rows of all clusters, cluster after cluster.
    pub(crate) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The rows of a cluster, in order.
    pub fn rows_of(&self, cluster: usize) -> &[usize] {
        let start = cluster.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.rows[start..self.ends[cluster]]
    }

    /// The rows of as many clusters as there are, drawn with replacement. They depend on the draw
    /// alone, as [`drawn`] has it.
    pub(super) fn drawn_rows(&self, draw: u64) -> Vec<usize> {
        drawn(self.len(), draw).into_iter().flat_map(|cluster| self.rows_of(cluster)).copied().collect()
    }

    /// The standard error of a sum of values by row that has the mean 0: √(C / (C - 1) Σ_c (Σ over
    /// rows of c)²).
    pub(crate) fn deviation(&self, values: &[f64]) -> f64 {
        let sum = |cluster: usize| self.rows_of(cluster).iter().map(|row| values[*row]).sum();
        deviation_of_sums(&(0..self.len()).map(sum).collect::<Vec<f64>>())
    }
}

/// The standard error of a sum over clusters that has the mean 0. The factor C / (C - 1) makes up
/// for a mean that was taken from the same clusters.
pub(crate) fn deviation_of_sums(sums: &[f64]) -> f64 {
    let n = sums.len() as f64;
    (n / (n - 1.0) * sums.iter().map(|sum| sum * sum).sum::<f64>()).sqrt()
}

/// Outcomes drawn from their predictions, those of one cluster with a common correlation.
///
/// # Definition
/// Row i has outcome 1 where √λ a_c + √(1 - λ) b_i < Φ⁻¹(p_i), with a standard normal number a_c
/// for each cluster and one b_i for each row: so P(y_i = 1) = p_i for any λ in [0, 1). λ is such
/// that the covariances of outcomes within clusters sum to what the residuals show,
/// ```text
/// Σ_c Σ_{i≠j in c} w_i w_j cov(y_i, y_j) = Σ_c [ (Σ_i w_i (y_i - p_i))² - Σ_i (w_i (y_i - p_i))² ]
/// ```
/// with cov = φ(t_i) φ(t_j) (λ + λ² t_i t_j / 2), t = Φ⁻¹(p), the first two terms of its series; 0
/// where that sum is not positive. Where every row is a cluster of its own, λ is 0 and outcomes are
/// independent.
#[derive(Debug, Clone)]
pub struct CorrelatedOutcomes {
    /// Φ⁻¹(p) / √(1 - λ), cluster after cluster.
    thresholds: Vec<f64>,
    ends: Vec<usize>,
    /// √(λ / (1 - λ)).
    loading: f64,
}

impl CorrelatedOutcomes {
    /// For the rows of all clusters, with p and 1 - p of each row of the view.
    pub(crate) fn new(
        clusters: &Clusters,
        probabilities: &[(f64, f64)],
        outcomes: &[bool],
        weight: impl Fn(usize) -> f64,
    ) -> Self {
        let quantile = |row: usize| Probit.inverse(probabilities[row].0, probabilities[row].1);
        let mut thresholds: Vec<f64> = clusters.rows.iter().map(|row| quantile(*row)).collect();
        let (mut shown, mut linear, mut quadratic) = (0.0, 0.0, 0.0);
        for cluster in 0..clusters.len() {
            let [mut residuals, mut densities, mut slopes] = [Pairs::default(); 3];
            for &row in clusters.rows_of(cluster) {
                let (w, t) = (weight(row), quantile(row));
                let (p, complement) = probabilities[row];
                let density = (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt();
                residuals.add(w * if outcomes[row] { complement } else { -p });
                densities.add(w * density);
                slopes.add(if density > 0.0 { w * density * t } else { 0.0 });
            }
            shown += residuals.sum();
            linear += densities.sum();
            quadratic += slopes.sum();
        }
        let lambda = correlation(shown, linear, quadratic);
        thresholds.iter_mut().for_each(|threshold| *threshold /= (1.0 - lambda).sqrt());
        CorrelatedOutcomes { thresholds, ends: clusters.ends.clone(), loading: (lambda / (1.0 - lambda)).sqrt() }
    }

    /// Hands on a draw of all outcomes, cluster after cluster as [`Clusters`] has its rows.
    pub(crate) fn draw(&self, draw: u64, mut each: impl FnMut(bool)) {
        let mut random = Normals::new(draw);
        let mut start = 0;
        for &end in &self.ends {
            let common = if self.loading > 0.0 { self.loading * random.next() } else { 0.0 };
            self.thresholds[start..end].iter().for_each(|threshold| each(common + random.next() < *threshold));
            start = end;
        }
    }
}

/// λ in [0, 0.95] with linear λ + quadratic λ² / 2 = shown, or as near as it gets.
fn correlation(shown: f64, linear: f64, quadratic: f64) -> f64 {
    const MOST: f64 = 0.95;
    if !(shown > 0.0 && linear > 0.0) {
        return 0.0;
    }
    let found = |lambda: f64| linear * lambda + 0.5 * quadratic * lambda * lambda;
    let (mut least, mut most) = (0.0, MOST);
    for _ in 0..50 {
        let middle = 0.5 * (least + most);
        if found(middle) < shown { least = middle } else { most = middle }
    }
    most
}

/// Σ_{i≠j} x_i x_j.
#[derive(Default, Clone, Copy)]
struct Pairs {
    total: f64,
    squares: f64,
}

impl Pairs {
    fn add(&mut self, x: f64) {
        self.total += x;
        self.squares += x * x;
    }

    fn sum(self) -> f64 {
        self.total * self.total - self.squares
    }
}
