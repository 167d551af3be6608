//! All values of one model.

use std::sync::Arc;

use calipers::{
    BinaryView, DebiasedEce, Epanechnikov, Error, Laplace, Logistic, LogisticNoise, LsEce, Measure, Noise, Norm, Rows,
    SmoothEce, Strategy, Sweep, Uniform, registry,
};
use serde::{Deserialize, Serialize};

use super::binnings::{Binnings, Sorted};
use super::chance::{self, Chance};
use super::rules::{BINS, CONFIDENCE_ENDS, PAPER_BINS, SIGMA_FACTORS, USUAL_BINS};
use super::{Entry, Model};

/// The values of one model; what could not be computed is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) entry: Entry,
    /// Models of a set with the same number have the same rows.
    pub(super) same_rows: usize,
    pub(super) n: u64,
    pub(super) n_classes: u64,
    pub(super) n_clusters: Option<u64>,
    pub(super) n_distinct: u64,
    pub(super) n_tied: u64,
    pub(super) tied_jump: f64,
    /// ECE over [`BINS`], with bins of equal width and of equal mass.
    pub(super) width: Vec<f64>,
    pub(super) mass: Vec<f64>,
    /// Range over bins of equal width, over bins of equal mass, and the largest difference.
    pub(super) distances: [f64; 3],
    /// ECE with [`USUAL_BINS`] of equal width, and its standard error.
    pub(super) ece: f64,
    pub(super) standard_error: f64,
    /// The same without what chance adds to it on average.
    pub(super) debiased: f64,
    pub(super) smooth_ece: f64,
    /// LS-ECE at sigma = 1 / [`USUAL_BINS`], and at the automatic sigma.
    pub(super) matched: f64,
    pub(super) automatic: f64,
    pub(super) sigma: f64,
    /// LS-ECE at sigma = 1 / bins over [`PAPER_BINS`], with Gaussian and with uniform noise.
    pub(super) gaussian: Vec<f64>,
    pub(super) uniform: Vec<f64>,
    /// LS-ECE at [`SIGMA_FACTORS`] times the automatic sigma.
    pub(super) factors: Vec<f64>,
    /// LS-ECE with each of [`shapes`], at the standard deviation of the automatic sigma.
    pub(super) shapes: Vec<f64>,
    /// `None` where rows depend on each other.
    pub(super) chance: Option<Chance>,
    pub(super) overconfidence: f64,
    pub(super) overconfidence_error: f64,
    pub(super) ranges: Vec<ConfidenceRange>,
    /// Of every measure of the catalogue, in its order.
    pub(super) catalogue: Vec<Option<f64>>,
    /// What `calipers sweep` calls it.
    pub(super) sweep: String,
}

/// Rows whose confidence is in a range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct ConfidenceRange {
    pub(super) n: u64,
    /// Mean confidence less the share of right predictions; 0 without rows.
    pub(super) gap: f64,
}

/// Noises other than the Gaussian, with the standard deviation of each at scale 1.
pub(super) fn shapes() -> [(&'static str, f64, Arc<dyn Noise>); 4] {
    [
        ("uniform", 1.0 / 12f64.sqrt(), Arc::new(Uniform)),
        ("Laplace", 2f64.sqrt(), Arc::new(Laplace)),
        ("logistic", std::f64::consts::PI / 3f64.sqrt(), Arc::new(LogisticNoise)),
        ("Epanechnikov", 1.0 / 5f64.sqrt(), Arc::new(Epanechnikov)),
    ]
}

/// Measures the model; `seed` is its own.
pub(super) fn measure(model: &Model<'_>, seed: u64) -> Result<Measured, Error> {
    let view = &model.view;
    let mut rows = Rows::default();
    view.read_probabilities(0..view.len(), &Logistic, &mut rows);
    let sorted = Sorted::new(&rows.scores, &rows.outcomes);
    let binnings = Binnings::new(&sorted)?;
    let sums = sorted.cumulated(|row, _| sorted.outcomes[row]);
    let eces = binnings.eces(&sums);
    let ls_ece = |sigma: f64, noise: &Arc<dyn Noise>| {
        Ok::<f64, Error>(LsEce::new().sigma(sigma).noise(noise.clone()).estimate(view)?.value)
    };
    let gaussian: Arc<dyn Noise> = Arc::new(calipers::Gaussian);
    let uniform: Arc<dyn Noise> = Arc::new(Uniform);
    let automatic = LsEce::new().estimate(view)?;
    let sigma = automatic.settings.number("sigma").unwrap_or(f64::NAN);
    let over_bins = |noise: &Arc<dyn Noise>| {
        PAPER_BINS.iter().map(|n_bins| ls_ece(1.0 / *n_bins as f64, noise)).collect::<Result<Vec<f64>, Error>>()
    };
    let is_independent = model.clusters.is_none() && !model.entry.is_dependent();
    let sweep = Sweep::new().random_state(seed).run(view)?;
    let ties = sweep.ties;
    let confidences = Confidences::new(&rows, model.is_top_class());
    let clusters = model.clusters.as_deref();
    let (overconfidence, overconfidence_error) = confidences.mean(clusters);
    // Clusters are known in the order of the rows as read, not in that of `sorted`.
    let standard_error = match clusters {
        None => {
            let signs = binnings.signs(&sums);
            let outcome = |row: usize| f64::from(u8::from(sorted.outcomes[row]));
            let effects: Vec<f64> =
                (0..signs.len()).map(|row| signs[row] * (outcome(row) - sorted.probabilities[row])).collect();
            standard_error(&effects, None)
        }
        Some(clusters) => {
            let effects = effects_by_row(&rows, &sorted, &binnings.signs(&sums));
            standard_error(&effects, Some(clusters))
        }
    };
    // With the bins and the norm of the ECE beside it.
    let debiased = DebiasedEce::new().n_bins(USUAL_BINS).strategy(Strategy::Uniform).norm(Norm::L1);
    Ok(Measured {
        entry: model.entry.clone(),
        same_rows: model.same_rows,
        n: view.len() as u64,
        n_classes: model.n_classes as u64,
        n_clusters: clusters.map(|clusters| clusters.iter().collect::<std::collections::BTreeSet<_>>().len() as u64),
        n_distinct: sorted.n_distinct(),
        n_tied: ties.map_or(0, |ties| ties.n_tied),
        tied_jump: ties.map_or(0.0, |ties| ties.jump),
        distances: eces.distances(),
        ece: eces.usual,
        width: eces.width,
        mass: eces.mass,
        standard_error,
        debiased: debiased.estimate(view)?.value,
        smooth_ece: SmoothEce::new().estimate(view)?.value,
        matched: ls_ece(1.0 / USUAL_BINS as f64, &gaussian)?,
        automatic: automatic.value,
        sigma,
        gaussian: over_bins(&gaussian)?,
        uniform: over_bins(&uniform)?,
        factors: SIGMA_FACTORS.iter().map(|factor| ls_ece(factor * sigma, &gaussian)).collect::<Result<_, _>>()?,
        shapes: shapes()
            .iter()
            .map(|(_, deviation, noise)| ls_ece(sigma / deviation, noise))
            .collect::<Result<_, _>>()?,
        chance: is_independent.then(|| chance::judge(&sorted, &binnings, seed)),
        overconfidence,
        overconfidence_error,
        ranges: confidences.ranges(),
        catalogue: catalogue(view),
        sweep: sweep.verdict.name().to_owned(),
    })
}

/// Every measure of the catalogue; one that has no value for these rows has none.
fn catalogue(view: &BinaryView<'_>) -> Vec<Option<f64>> {
    let value = |entry: &registry::Entry| {
        let measure = registry::make(entry.spec.name, &Default::default()).ok()?;
        measure.estimate(view).ok().map(|estimate| estimate.value).filter(|value| value.is_finite())
    };
    registry::all().iter().map(value).collect()
}

/// The effect of each row on ECE, in the order of `rows`: the rows of `sorted` that are equal to it
/// share a bin, so any of them has the same sign.
fn effects_by_row(rows: &Rows, sorted: &Sorted, signs: &[f64]) -> Vec<f64> {
    let effect = |(p, y): (&f64, &bool)| {
        let place = sorted.probabilities.partition_point(|other| other < p);
        signs[place] * (f64::from(u8::from(*y)) - p)
    };
    rows.scores.iter().zip(&rows.outcomes).map(effect).collect()
}

/// The standard error of the mean of these values, or of values whose clusters depend on each
/// other.
fn standard_error(values: &[f64], clusters: Option<&[u32]>) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let sums: Vec<f64> = match clusters {
        None => values.iter().map(|value| value - mean).collect(),
        Some(clusters) => {
            let mut sums = std::collections::BTreeMap::new();
            for (value, cluster) in values.iter().zip(clusters) {
                *sums.entry(*cluster).or_insert(0.0) += value - mean;
            }
            sums.into_values().collect()
        }
    };
    let m = sums.len() as f64;
    (sums.iter().map(|sum| sum * sum).sum::<f64>() * m / (m - 1.0).max(1.0)).sqrt() / n
}

/// The confidence in the predicted class, and whether that is right.
struct Confidences {
    /// Confidence less 1 if the prediction is right, with the confidence.
    rows: Vec<(f64, f64)>,
}

impl Confidences {
    fn new(rows: &Rows, is_top_class: bool) -> Self {
        let row = |(&p, &y): (&f64, &bool)| {
            let (confidence, is_right) = match is_top_class || p >= 0.5 {
                true => (p, y),
                false => (1.0 - p, !y),
            };
            (confidence, confidence - f64::from(u8::from(is_right)))
        };
        Confidences { rows: rows.scores.iter().zip(&rows.outcomes).map(row).collect() }
    }

    /// Overconfidence with its standard error.
    fn mean(&self, clusters: Option<&[u32]>) -> (f64, f64) {
        let gaps: Vec<f64> = self.rows.iter().map(|(_, gap)| *gap).collect();
        (gaps.iter().sum::<f64>() / gaps.len() as f64, standard_error(&gaps, clusters))
    }

    fn ranges(&self) -> Vec<ConfidenceRange> {
        let mut ranges = [(0u64, 0.0); CONFIDENCE_ENDS.len()];
        for (confidence, gap) in &self.rows {
            let place = CONFIDENCE_ENDS.iter().position(|end| confidence <= end).unwrap_or(CONFIDENCE_ENDS.len() - 1);
            ranges[place].0 += 1;
            ranges[place].1 += gap;
        }
        ranges.map(|(n, gap)| ConfidenceRange { n, gap: if n == 0 { 0.0 } else { gap / n as f64 } }).to_vec()
    }
}

impl Measured {
    /// Whether the dependence of rows is known, so that there are standard errors.
    pub(super) fn has_errors(&self) -> bool {
        self.chance.is_some() || self.n_clusters.is_some()
    }

    /// ECE with bins of equal width over [`PAPER_BINS`].
    pub(super) fn paper_eces(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        let is_of_paper = |n_bins: &usize| PAPER_BINS.contains(n_bins);
        BINS.iter().zip(&self.width).filter(move |(n_bins, _)| is_of_paper(n_bins)).map(|(_, ece)| *ece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_of_equal_values_have_the_error_of_as_many_rows() {
        let values = [0.1, 0.4, -0.2, 0.3];
        let alone = standard_error(&values, None);
        let mean: f64 = values.iter().sum::<f64>() / 4.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 3.0;
        assert!((alone - (variance / 4.0).sqrt()).abs() < 1e-15);
        let doubled: Vec<f64> = values.iter().flat_map(|value| [*value, *value]).collect();
        let clusters: Vec<u32> = (0..4).flat_map(|cluster| [cluster, cluster]).collect();
        assert!((standard_error(&doubled, Some(&clusters)) - alone).abs() < 1e-15);
    }

    #[test]
    fn the_likelier_class_of_two_is_the_predicted_one() {
        let rows = Rows { scores: vec![0.2, 0.8, 0.6], outcomes: vec![false, true, false], weights: vec![1.0; 3] };
        let (mean, _) = Confidences::new(&rows, false).mean(None);
        assert!((mean - ((0.8 - 1.0) + (0.8 - 1.0) + 0.6) / 3.0).abs() < 1e-15);
        let ranges = Confidences::new(&rows, false).ranges();
        assert_eq!(ranges.iter().map(|range| range.n).collect::<Vec<_>>(), [0, 1, 2, 0, 0]);
    }
}
