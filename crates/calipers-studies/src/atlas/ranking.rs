//! Question c: models of the same rows, ranked by every measure.

use calipers::measure::{Family, Role, Spec};
use calipers::{Error, Input, Logistic, Measure, ObservedExpected, Rows, SmoothEce, SplineCalibrationError, registry};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Model;
use super::rules::N_RESAMPLES;
use crate::Setting;
use crate::replicates::{Stream, seed_of};

/// Two models of the same rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pair {
    /// Their places in the set.
    pub(super) first: usize,
    pub(super) second: usize,
    /// For each of [`resampled`], the difference of the two over its standard error: positive
    /// where the first is worse. `None` where one has no value, or both are the same.
    pub(super) z: Vec<Option<f64>>,
}

/// The places in the catalogue of the measures whose differences have a standard error.
pub(super) fn resampled() -> Vec<usize> {
    // Paired differences draw every row: other measures take too long for hundreds of models.
    let is_resampled = |spec: &Spec| match spec.family {
        Family::LogitSmoothing | Family::Binned | Family::Score => true,
        Family::Cumulative => spec.name != SplineCalibrationError::new().spec().name,
        _ => [SmoothEce::NAME, ObservedExpected::new().spec().name].contains(&spec.name),
    };
    (0..registry::all().len()).filter(|place| is_resampled(registry::all()[*place].spec)).collect()
}

/// By which models are ranked: the smaller, the better.
pub(super) fn badness(spec: &Spec, value: f64) -> f64 {
    if spec.role == Role::Coefficient { (value - spec.ideal).abs() } else { value }
}

/// All pairs of models that have the same rows.
pub(super) fn pairs(models: &[Model<'_>], setting: &Setting, seed: u64) -> Result<Vec<Pair>, Error> {
    let mut pairs = Vec::new();
    for (first, one) in models.iter().enumerate() {
        let others = models.iter().enumerate().skip(first + 1).filter(|(_, other)| other.same_rows == one.same_rows);
        pairs.extend(others.map(|(second, _)| Pair { first, second, z: Vec::new() }));
    }
    let is_paired = |place: usize| pairs.iter().any(|pair| pair.first == place || pair.second == place);
    let rows: Vec<Option<Rows>> = models
        .iter()
        .enumerate()
        .map(|(place, model)| {
            is_paired(place).then(|| {
                let mut rows = Rows::default();
                model.view.read_probabilities(0..model.view.len(), &Logistic, &mut rows);
                rows
            })
        })
        .collect();
    let measures: Vec<Box<dyn Measure>> = resampled()
        .into_iter()
        .map(|place| registry::make(registry::all()[place].spec.name, &Default::default()))
        .collect::<Result<_, _>>()?;
    // Without counts first, then with those of each resample.
    let n_resamples = setting.pick(N_RESAMPLES, N_RESAMPLES / 10);
    let values: Vec<Vec<Vec<Option<f64>>>> = (0..=n_resamples)
        .into_par_iter()
        .map(|draw| {
            let of_model = |(model, rows): (&Model<'_>, &Option<Rows>)| {
                let Some(rows) = rows else { return Vec::new() };
                let seed = seed_of(seed, 31, draw as u64);
                let counts = (draw > 0).then(|| counts(rows.scores.len(), model.clusters.as_deref(), seed));
                measures.iter().map(|measure| badness_of(&**measure, rows, counts.as_deref())).collect()
            };
            models.iter().zip(&rows).map(of_model).collect()
        })
        .collect();
    for pair in &mut pairs {
        pair.z = (0..measures.len())
            .map(|measure| {
                let difference = |draw: &Vec<Vec<Option<f64>>>| {
                    Some(draw[pair.first].get(measure).copied()?? - draw[pair.second].get(measure).copied()??)
                };
                let found = difference(&values[0])?;
                let drawn: Vec<f64> = values[1..].iter().map(difference).collect::<Option<_>>()?;
                let deviation = crate::summary::Mean::of(&drawn).deviation;
                (deviation > 0.0).then(|| found / deviation)
            })
            .collect();
    }
    Ok(pairs)
}

/// How often a resample has each row; the same for all models of the same number of rows or of the
/// same clusters.
fn counts(n: usize, clusters: Option<&[u32]>, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed);
    let Some(clusters) = clusters else {
        let mut counts = vec![0.0; n];
        (0..n).for_each(|_| counts[stream.place(n)] += 1.0);
        return counts;
    };
    let m = clusters.iter().max().map_or(0, |most| *most as usize + 1);
    let mut of_clusters = vec![0.0; m];
    (0..m).for_each(|_| of_clusters[stream.place(m)] += 1.0);
    clusters.iter().map(|cluster| of_clusters[*cluster as usize]).collect()
}

fn badness_of(measure: &dyn Measure, rows: &Rows, counts: Option<&[f64]>) -> Option<f64> {
    let input = Input::probabilities(&rows.scores, &rows.outcomes);
    let input = counts.into_iter().fold(input, |input, counts| input.weights(counts));
    let predictions = input.check().ok()?;
    let value = measure.estimate(&predictions.binary().ok()?).ok()?.value;
    value.is_finite().then(|| badness(measure.spec(), value))
}

/// Kendall's tau-b: agreement of two rankings, from -1 to 1, with ties; `None` if one of them is
/// all ties.
pub(super) fn kendall(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mut agree, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for i in 0..a.len() {
        for j in 0..i {
            let sign = |values: &[f64]| match values[i].total_cmp(&values[j]) {
                _ if values[i] == values[j] => 0.0,
                std::cmp::Ordering::Less => -1.0,
                _ => 1.0,
            };
            let (in_a, in_b): (f64, f64) = (sign(a), sign(b));
            agree += in_a * in_b;
            of_a += in_a * in_a;
            of_b += in_b * in_b;
        }
    }
    let scale: f64 = of_a * of_b;
    (scale > 0.0).then(|| agree / scale.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kendalls_tau_of_small_rankings() {
        assert_eq!(kendall(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(1.0));
        assert_eq!(kendall(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(kendall(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]), Some(1.0 / 3.0));
        assert_eq!(kendall(&[1.0, 1.0], &[1.0, 2.0]), None);
        // By hand: pairs (1,2) tied in a; two others agree: 2 / sqrt(2 * 3).
        let tau = kendall(&[1.0, 1.0, 2.0], &[1.0, 2.0, 3.0]).unwrap();
        assert!((tau - 2.0 / 6f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn counts_add_up_and_clusters_stay_together() {
        assert_eq!(counts(50, None, 3).iter().sum::<f64>(), 50.0);
        let of_clusters = counts(6, Some(&[0, 0, 1, 1, 2, 2]), 3);
        assert!(of_clusters.chunks(2).all(|pair| pair[0] == pair[1]));
    }
}
