//! Scores of all classes together: floor, interval, clusters and comparison.

use calipers::{Assess, BrierScore, Compare, Input, LogLoss, Measure, Multiclass, Predictions, Sample, Ties};

use crate::classwise::rows;

fn checked<'a>(probabilities: &'a [f64], labels: &'a [u32]) -> Predictions<'a> {
    Input::probabilities(probabilities, labels).classes(3).check().unwrap()
}

/// The loss of each row, by its definition.
fn losses(probabilities: &[f64], labels: &[u32], of_row: &dyn Fn(&[f64], usize) -> f64) -> Vec<f64> {
    probabilities.chunks(3).zip(labels).map(|(row, label)| of_row(row, *label as usize)).collect()
}

fn brier(row: &[f64], label: usize) -> f64 {
    row.iter().enumerate().map(|(class, p)| (f64::from(class == label) - p).powi(2)).sum()
}

fn log_loss(row: &[f64], label: usize) -> f64 {
    -row[label].ln()
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n / n).sqrt())
}

#[test]
fn value_interval_and_floor_are_those_of_mean_losses() {
    let (probabilities, labels) = rows(2000, 1.0, 5);
    let predictions = checked(&probabilities, &labels);
    let asked = predictions.asked(Multiclass::Auto, Ties::First).unwrap();
    type Loss<'a> = &'a dyn Fn(&[f64], usize) -> f64;
    let cases: [(&dyn Measure, Loss<'_>); 2] = [(&BrierScore::new(), &brier), (&LogLoss::new(), &log_loss)];
    for (measure, of_row) in cases {
        let found = Assess::new(measure).n_resamples(400).run(asked.sample()).unwrap();
        let (mean, error) = mean_and_error(&losses(&probabilities, &labels, of_row));
        assert!((found.estimate.value - mean).abs() < 1e-12);
        assert!((found.standard_error / error - 1.0).abs() < 0.15, "{} {error}", found.standard_error);
        assert!((found.interval.lower - (mean - 1.96 * error)).abs() < 0.3 * error, "{:?}", found.interval);
        // A row's expected loss under its own predictions, and the deviation of the mean.
        let expected: Vec<f64> = probabilities
            .chunks(3)
            .map(|row| row.iter().enumerate().map(|(class, p)| p * of_row(row, class)).sum())
            .collect();
        let floor = found.floor.clone().unwrap();
        let (calibrated, _) = mean_and_error(&expected);
        assert!((floor.mean - calibrated).abs() < 4.0 * floor.deviation / 400f64.sqrt(), "{} {calibrated}", floor.mean);
        assert_eq!(found.significant, Some(false), "{}", found.sentence());
    }
    // Overconfident: a score is then larger than a calibrated model's.
    let (probabilities, labels) = rows(2000, 3.0, 5);
    let predictions = checked(&probabilities, &labels);
    let found = Assess::new(&LogLoss::new()).n_resamples(100).run(Sample::all_classes(&predictions)).unwrap();
    assert_eq!(found.significant, Some(true), "{}", found.sentence());
}

#[test]
fn clusters_widen_the_interval_and_have_no_floor() {
    let (probabilities, labels) = rows(300, 1.0, 8);
    // Each row ten times, in one cluster.
    let many: Vec<f64> = probabilities.chunks(3).flat_map(|row| row.repeat(10)).collect();
    let same: Vec<u32> = labels.iter().flat_map(|label| [*label; 10]).collect();
    let clusters: Vec<u32> = (0..300).flat_map(|cluster| [cluster; 10]).collect();
    let (once, often) = (checked(&probabilities, &labels), checked(&many, &same));
    let measure = LogLoss::new();
    let assess = Assess::new(&measure).n_resamples(400);
    let alone = assess.run(Sample::all_classes(&once)).unwrap();
    let clustered = assess.run(Sample::all_classes(&often).clusters(&clusters)).unwrap();
    assert!((alone.standard_error / clustered.standard_error - 1.0).abs() < 0.15);
    assert!(clustered.floor.is_none() && clustered.unavailable.is_some());
    assert_eq!(clustered.n_clusters, Some(300));
}

#[test]
fn models_are_compared_row_by_row() {
    let (probabilities, labels) = rows(1500, 2.0, 11);
    let cooled: Vec<f64> = probabilities
        .chunks(3)
        .flat_map(|row| {
            let powers: Vec<f64> = row.iter().map(|p| p.sqrt()).collect();
            let total: f64 = powers.iter().sum();
            powers.into_iter().map(move |power| power / total)
        })
        .collect();
    let (raw, cooled) = (checked(&probabilities, &labels), checked(&cooled, &labels));
    let [ours, theirs] = [&raw, &cooled].map(|rows| rows.asked(Multiclass::Auto, Ties::First).unwrap());
    let measure = LogLoss::new();
    let models = [("raw", ours.sample()), ("cooled", theirs.sample())];
    let found = Compare::new(&measure).n_resamples(400).run(&models).unwrap();
    let [first, second]: [Vec<f64>; 2] = [&raw, &cooled].map(|predictions| {
        let rows = predictions.distributions().unwrap();
        (0..1500).map(|row| rows.row(row).surprisal(labels[row] as usize)).collect()
    });
    let differences: Vec<f64> = first.iter().zip(&second).map(|(a, b)| a - b).collect();
    let (mean, error) = mean_and_error(&differences);
    let pair = &found.pairs[0];
    assert!((pair.difference - mean).abs() < 1e-12 && (pair.standard_error / error - 1.0).abs() < 0.15);
    assert!(pair.p_value < 0.05 && pair.interval.lower > 0.0, "{pair:?}");
    assert!(found.sentence().starts_with("cooled has a smaller log loss than raw"), "{}", found.sentence());
    // Other labels are no pairs.
    let mut others = labels.clone();
    others[7] = (labels[7] + 1) % 3;
    let other = checked(&probabilities, &others);
    let models = [("raw", Sample::all_classes(&raw)), ("other", Sample::all_classes(&other))];
    let text = Compare::new(&measure).run(&models).unwrap_err().to_string();
    let expected = format!("{} of \"raw\" and {} of \"other\" in row 7", labels[7], others[7]);
    assert_eq!(text, format!("outcomes must be the same for all models, got {expected}"));
}
