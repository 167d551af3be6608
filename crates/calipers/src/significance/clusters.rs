//! Rows that depend on each other, by cluster.

use std::collections::HashMap;

use crate::Error;
use crate::predictions::{BinaryView, Rows};

/// So many clusters at least: with fewer, neither a variance nor a distribution over signs of clusters says anything.
const FEWEST: usize = 10;

/// Which rows depend on each other: those of one cluster, such as the answers of one person, do; rows of two clusters do not.
#[derive(Debug, Clone)]
pub struct Clusters {
    /// The cluster of each row, from 0 on in the order of their first rows; clusters without weight have the number of clusters.
    numbers: Vec<u32>,
    n_clusters: usize,
}

impl Clusters {
    /// One number for each row of the view; rows with the same number are a cluster. Clusters without weight do not count.
    pub fn new(numbers: &[u32], view: &BinaryView<'_>) -> Result<Self, Error> {
        if numbers.len() != view.len() {
            return Err(Error::LengthMismatch { what: "clusters", got: numbers.len(), expected: view.len() });
        }
        let mut rows = Rows::default();
        view.read(0..view.len(), &mut rows);
        let mut places: HashMap<u32, u32> = HashMap::new();
        for (key, _) in numbers.iter().zip(&rows.weights).filter(|(_, weight)| **weight > 0.0) {
            let next = places.len() as u32;
            places.entry(*key).or_insert(next);
        }
        let with_weight = places.len();
        let number = |key: &u32| places.get(key).copied().unwrap_or(with_weight as u32);
        let dense = numbers.iter().map(number).collect();
        if with_weight < FEWEST {
            let rule = format!(
                "at least {FEWEST} different ones, for what differs between them is all that is known of chance"
            );
            return Err(Error::setting("clusters", rule, with_weight));
        }
        Ok(Clusters { numbers: dense, n_clusters: with_weight })
    }

    /// How many clusters have weight.
    pub fn len(&self) -> usize {
        self.n_clusters
    }

    /// Never: there are ten at least.
    pub fn is_empty(&self) -> bool {
        self.n_clusters == 0
    }

    /// The rows of each cluster, but for clusters without weight.
    pub(crate) fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.n_clusters];
        for (row, cluster) in self.numbers.iter().enumerate() {
            if let Some(members) = members.get_mut(*cluster as usize) {
                members.push(row);
            }
        }
        members
    }

    /// The standard error of a sum of values by row that has the mean 0: √(C / (C - 1) Σ_c (Σ over rows of c)²).
    pub(crate) fn deviation(&self, values: &[f64]) -> f64 {
        let mut sums = vec![0.0; self.n_clusters];
        for (value, cluster) in values.iter().zip(&self.numbers) {
            if let Some(sum) = sums.get_mut(*cluster as usize) {
                *sum += value;
            }
        }
        deviation_of_sums(&sums)
    }
}

/// The standard error of a sum over clusters that has the mean 0. The factor C / (C - 1) makes up for a mean that was taken from the same clusters.
pub(crate) fn deviation_of_sums(sums: &[f64]) -> f64 {
    let n = sums.len() as f64;
    (n / (n - 1.0) * sums.iter().map(|sum| sum * sum).sum::<f64>()).sqrt()
}
