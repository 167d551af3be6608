//! Rows that depend on each other, by cluster.

use std::collections::HashMap;

use super::resampler::drawn;
use crate::Error;
use crate::predictions::{BinaryView, Rows};

/// So many clusters at least: with fewer, neither a variance nor a distribution over signs of clusters says anything.
const FEWEST: usize = 10;

/// Which rows depend on each other: those of one cluster, such as the answers of one person, do; rows of two clusters do not.
#[derive(Debug, Clone)]
pub struct Clusters {
    /// Cluster after cluster, in the order of their first rows; without the clusters that have no weight.
    rows: Vec<usize>,
    /// Where the rows of each cluster end.
    ends: Vec<usize>,
}

impl Clusters {
    /// One number for each row of the view; rows with the same number are a cluster. Clusters without weight do not count.
    pub fn new(numbers: &[u32], view: &BinaryView<'_>) -> Result<Self, Error> {
        if numbers.len() != view.len() {
            return Err(Error::LengthMismatch { what: "clusters", got: numbers.len(), expected: view.len() });
        }
        let mut rows = Rows::default();
        view.read(0..view.len(), &mut rows);
        let mut places: HashMap<u32, usize> = HashMap::new();
        for (key, _) in numbers.iter().zip(&rows.weights).filter(|(_, weight)| **weight > 0.0) {
            let next = places.len();
            places.entry(*key).or_insert(next);
        }
        if places.len() < FEWEST {
            let rule = format!(
                "at least {FEWEST} different ones, for what differs between them is all that is known of chance"
            );
            return Err(Error::setting("clusters", rule, places.len()));
        }
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

    /// The rows of a cluster, in order.
    pub fn rows_of(&self, cluster: usize) -> &[usize] {
        let start = cluster.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.rows[start..self.ends[cluster]]
    }

    /// The rows of as many clusters as there are, drawn with replacement. They depend on the draw alone, as [`drawn`] has it.
    pub(super) fn drawn_rows(&self, draw: u64) -> Vec<usize> {
        drawn(self.len(), draw).into_iter().flat_map(|cluster| self.rows_of(cluster)).copied().collect()
    }

    /// The standard error of a sum of values by row that has the mean 0: √(C / (C - 1) Σ_c (Σ over rows of c)²).
    pub(super) fn deviation(&self, values: &[f64]) -> f64 {
        let sum = |cluster: usize| self.rows_of(cluster).iter().map(|row| values[*row]).sum();
        deviation_of_sums(&(0..self.len()).map(sum).collect::<Vec<f64>>())
    }
}

/// The standard error of a sum over clusters that has the mean 0. The factor C / (C - 1) makes up for a mean that was taken from the same clusters.
pub(crate) fn deviation_of_sums(sums: &[f64]) -> f64 {
    let n = sums.len() as f64;
    (n / (n - 1.0) * sums.iter().map(|sum| sum * sum).sum::<f64>()).sqrt()
}
