//! Rows of classes, with clusters of rows that depend on each other.

use super::panel::row_hashes;
use crate::Error;
use crate::data::{ClassScores, Predictions};
use crate::inference::Clusters;
use crate::recalibrate::fit::Fit;
use crate::recalibrate::verdict::cross_fit_classes::{folds_of_rows, sum_in_any_order};
use crate::recalibrate::verdict::folds::{deal_copies, mixed};

/// Rows of classes that are asked whether recalibration helps. Predictions are such rows by
/// themselves, all of them independent.
///
/// # Example
/// Two answers of each of 60 users:
/// ```
/// use calipers::Input;
/// use calipers::recalibrate::{ClassSample, CrossFit, Method, Recalibrate};
///
/// let p: Vec<f64> = (0..120).flat_map(|row| if row % 2 == 0 { [0.7, 0.2, 0.1] } else { [0.1, 0.1, 0.8] }).collect();
/// let labels: Vec<u8> = (0..120).map(|row| if row % 2 == 0 { u8::from(row % 8 == 0) } else { 2 - u8::from(row % 5 == 0) }).collect();
/// let users: Vec<u32> = (0..120).map(|row| row / 2).collect();
/// let predictions = Input::probabilities(&p, &labels).classes(3).check()?;
/// let rows = ClassSample::new(&predictions).clusters(&users);
/// let improvement = CrossFit::new(Recalibrate::new(Method::Temperature)).run_classes(rows)?;
/// assert_eq!(improvement.n_clusters, Some(60));
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ClassSample<'a> {
    pub(crate) predictions: &'a Predictions<'a>,
    pub(crate) numbers: Option<&'a [u32]>,
}

impl<'a> From<&'a Predictions<'a>> for ClassSample<'a> {
    fn from(predictions: &'a Predictions<'a>) -> Self {
        ClassSample::new(predictions)
    }
}

impl<'a> ClassSample<'a> {
    /// How many classes the rows have.
    pub fn n_classes(&self) -> usize {
        self.predictions.n_classes()
    }

    /// Independent rows.
    pub fn new(predictions: &'a Predictions<'a>) -> Self {
        ClassSample { predictions, numbers: None }
    }

    /// With a number for each row; rows of the same number are a cluster. Whole clusters are held
    /// out, and standard errors are those of clusters; those of parameters are not known then.
    pub fn clusters(self, numbers: &'a [u32]) -> Self {
        ClassSample { numbers: Some(numbers), ..self }
    }

    pub(crate) fn resolved_clusters(&self) -> Result<Option<Clusters>, Error> {
        self.numbers.map(|numbers| Clusters::of_weights(numbers, &self.predictions.row_weights())).transpose()
    }
}

/// Clusters of rows of classes, if there are any: what is held out, and what varies.
#[derive(Clone, Copy)]
pub(crate) struct Units<'a> {
    pub(crate) clusters: Option<&'a Clusters>,
}

impl Units<'_> {
    /// How many there are, for so many rows.
    pub(crate) fn len(&self, n_rows: usize) -> usize {
        self.clusters.map_or(n_rows, Clusters::len)
    }

    /// The fold of each row, by a hash of what the rows of a unit are.
    pub(crate) fn folds(&self, scores: &ClassScores<'_>, n_folds: usize) -> Vec<u32> {
        let Some(clusters) = self.clusters else { return folds_of_rows(scores, n_folds) };
        let hashes = row_hashes(scores);
        // A sum does not depend on the order of the rows of a cluster.
        let hash = |cluster: usize| {
            mixed(clusters.rows_of(cluster).iter().fold(0, |sum: u64, row| sum.wrapping_add(hashes[*row])))
        };
        let of_clusters = deal_copies(&(0..clusters.len()).map(hash).collect::<Vec<u64>>(), n_folds);
        let mut folds = vec![0; scores.len()];
        for (cluster, fold) in of_clusters.into_iter().enumerate() {
            clusters.rows_of(cluster).iter().for_each(|row| folds[*row] = fold);
        }
        folds
    }

    /// The standard error of a mean change: by clusters or, with the squares of weights, by rows.
    pub(crate) fn deviation(&self, changes: &[f64], weights: &[f64], mean: f64, squares: &[f64]) -> f64 {
        let total = sum_in_any_order(weights.iter().copied());
        let away = changes.iter().map(|change| change - mean);
        match self.clusters {
            Some(clusters) => {
                let parts = away.zip(weights).map(|(away, weight)| weight / total * away);
                clusters.deviation(&parts.collect::<Vec<_>>())
            }
            None => sum_in_any_order(away.zip(squares).map(|(away, square)| square * away * away)).sqrt() / total,
        }
    }

    /// How many times the variance of independent rows that of clusters is.
    pub(crate) fn effect(&self, deviation: f64, of_rows: f64) -> f64 {
        if of_rows > 0.0 { (deviation / of_rows).powi(2) } else { 1.0 }
    }

    /// A fit without what takes its rows as independent.
    pub(crate) fn known<M>(&self, mut fit: Fit<M>) -> Fit<M> {
        if self.clusters.is_some() {
            fit.parameters.iter_mut().for_each(|parameter| parameter.standard_error = None);
            fit.covariance.clear();
        }
        fit
    }
}
