//! Where the population's ECE is, bin by bin: the noise of a bin is that of its own rows, and bins
//! are independent.

use std::collections::HashMap;

use super::edges::Bins;
use super::{BinnedEce, Norm};
use crate::Error;
use crate::data::BinaryView;
use crate::inference::{Clusters, Enclosure, End, Likeness, Places, RowBracket, RowEnd};
use crate::measures::Probabilities;

/// Bins of a block. Chosen as blocks of LS-ECE are, which are like three independent places.
const BLOCK: usize = 3;

/// Encloses Σ_b |gap_b| from the residual sums of bins, as shares of all weight, and their
/// deviations.
pub(super) fn enclose(residuals: &[f64], deviations: &[f64], null_deviations: &[f64]) -> Enclosure {
    let likeness = Likeness::INDEPENDENT;
    Places { values: residuals, deviations, null_deviations, length: 1.0, block: BLOCK, likeness }.enclose()
}

/// A row in its bin.
struct Placed {
    bin: usize,
    /// Its share of the weight.
    share: f64,
    /// The share times y - p, and the variance of that were p the truth.
    residual: f64,
    null_variance: f64,
}

impl BinnedEce {
    /// For the mean gap; the other norms have no such bracket.
    pub(super) fn bracket_of_rows(
        &self,
        view: &BinaryView<'_>,
        clusters: Option<&Clusters>,
    ) -> Result<Option<RowBracket>, Error> {
        if self.norm != Norm::L1 {
            return Ok(None);
        }
        let rows = Probabilities::new(view, &*self.link)?;
        let bins = Bins::new(self.n_bins, self.strategy, self.compat, view, &rows)?;
        let rows = rows.rows(0..view.len());
        let total: f64 = rows.weights.iter().sum();
        let place = |row: usize| {
            let (bin, p) = bins.place(rows.scores[row]);
            let share = rows.weights[row] / total;
            let residual = share * (f64::from(u8::from(rows.outcomes[row])) - p);
            Placed { bin, share, residual, null_variance: share * share * p * (1.0 - p) }
        };
        let placed: Vec<Placed> = (0..view.len()).map(place).collect();
        let sums = |of: &dyn Fn(&Placed) -> f64| {
            let mut sums = vec![0.0; bins.len()];
            placed.iter().for_each(|row| sums[row.bin] += of(row));
            sums
        };
        let root = |variances: Vec<f64>| variances.into_iter().map(f64::sqrt).collect::<Vec<f64>>();
        let residuals = sums(&|row| row.residual);
        let of_rows = root(sums(&|row| row.residual * row.residual));
        let mut null = root(sums(&|row| row.null_variance));
        let deviations = match clusters {
            None => of_rows,
            Some(clusters) => {
                let of_clusters = root(variances_by_cluster(clusters, &placed, bins.len()));
                // Calibrated predictions have more noise than independent rows by as much as the
                // clusters show.
                let inflation = of_clusters.iter().zip(&of_rows).map(|(of_clusters, of_rows)| of_clusters / of_rows);
                null.iter_mut().zip(inflation).filter(|(_, by)| by.is_finite()).for_each(|(null, by)| *null *= by);
                of_clusters
            }
        };
        let found = enclose(&residuals, &deviations, &null);
        let end = |end: &End| {
            let influence = |row: &Placed| row.residual * end.weights[row.bin];
            let mean: f64 = placed.iter().map(influence).sum();
            let lacking = end.quiet.as_ref().map_or(0.0, |quiet| lacking(quiet, &placed, clusters));
            RowEnd {
                value: end.value,
                influences: placed.iter().map(|row| influence(row) - row.share * mean).collect(),
                lacking,
            }
        };
        let value = residuals.iter().map(|residual| residual.abs()).sum();
        let (lower, upper) = (end(&found.lower), end(&found.upper));
        Ok(Some(RowBracket { value, lower, upper, corrected: found.corrected, debiased: found.debiased }))
    }
}

/// What the variance of the sum of these weights of bins times residuals lacks beside calibrated
/// predictions. For clusters it is larger than for independent rows by as much as the variance is.
fn lacking(weights: &[f64], placed: &[Placed], clusters: Option<&Clusters>) -> f64 {
    let influences: Vec<f64> = placed.iter().map(|row| weights[row.bin] * row.residual).collect();
    let of_rows: f64 = influences.iter().map(|influence| influence * influence).sum();
    let null: f64 = placed.iter().map(|row| weights[row.bin].powi(2) * row.null_variance).sum();
    let lacking = (null - of_rows).max(0.0);
    match clusters {
        Some(clusters) if of_rows > 0.0 => lacking * (clusters.deviation(&influences).powi(2) / of_rows),
        _ => lacking,
    }
}

/// Σ over clusters of the squared residual sums that they have in each bin.
fn variances_by_cluster(clusters: &Clusters, placed: &[Placed], n_bins: usize) -> Vec<f64> {
    let mut variances = vec![0.0; n_bins];
    for cluster in 0..clusters.len() {
        let mut sums: HashMap<usize, f64> = HashMap::new();
        let rows = clusters.rows_of(cluster).iter().map(|row| &placed[*row]);
        rows.for_each(|row| *sums.entry(row.bin).or_default() += row.residual);
        sums.iter().for_each(|(bin, sum)| variances[*bin] += sum * sum);
    }
    variances
}
