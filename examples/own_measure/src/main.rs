//! A measure of one's own: what calipers adds to thirty lines.
//!
//! `cargo run -p own-measure` prints an assessment, a comparison, an assessment of each group, and
//! JSON.

use calipers::population::Family;
use calipers::{Assess, BinaryView, Compare, Error, Estimate, Input, Logistic, Measure, Rows, Sample, Spec};

/// By how many outcomes in a hundred the predictions are off in total: 100 |Σ y - Σ p| / n.
struct OutcomesPerHundred;

const SPEC: Spec =
    Spec::error("outcomes_per_hundred", "100 |Σ y - Σ p| / n").title("outcomes per hundred").range(0.0, 100.0);

impl Measure for OutcomesPerHundred {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let mut rows = Rows::default();
        view.read_probabilities(0..view.len(), &Logistic, &mut rows);
        let residuals = rows.scores.iter().zip(&rows.outcomes).map(|(p, y)| f64::from(*y) - p);
        let value = 100.0 * residuals.sum::<f64>().abs() / view.len() as f64;
        Ok(Estimate::new(&SPEC, value, 1e-12).of(view))
    }
}

fn main() -> Result<(), Error> {
    let sample = Family::named("overconfident")?.sample(2000, 1);
    let predictions = sample.input().check()?;
    let view = predictions.binary()?;
    let assess = Assess::new(&OutcomesPerHundred).n_resamples(200);

    let mut rows = Rows::default();
    view.read_probabilities(0..view.len(), &Logistic, &mut rows);
    // A model that says too much everywhere.
    let raised: Vec<f64> = rows.scores.iter().map(|p| 0.7 * p + 0.3).collect();
    let raised = Input::probabilities(&raised, &rows.outcomes).check()?;
    let raised = raised.binary()?;

    // Floor, p-value and interval, of rows and of rows in clusters.
    let found = assess.run(&raised)?;
    println!("{}", found.sentence());
    let clusters: Vec<u32> = (0..2000).map(|row| row / 5).collect();
    println!("In clusters: {}", assess.run(Sample::from(&raised).clusters(&clusters))?.sentence());

    // Two models on the same rows.
    let comparison =
        Compare::new(&OutcomesPerHundred).n_resamples(200).run(&[("as is", &view), ("raised", &raised)])?;
    println!("{}", comparison.sentence());

    // Groups of rows.
    let (low, high): (Vec<usize>, Vec<usize>) = (0..rows.scores.len()).partition(|row| rows.scores[*row] < 0.5);
    for (name, group) in [("below 1/2", low), ("from 1/2 on", high)] {
        let scores: Vec<f64> = group.iter().map(|row| rows.scores[*row]).collect();
        let outcomes: Vec<bool> = group.iter().map(|row| rows.outcomes[*row]).collect();
        let checked = Input::probabilities(&scores, &outcomes).check()?;
        println!("Predictions {name}: {}", assess.run(&checked.binary()?)?.sentence());
    }

    let json = serde_json::to_value(&found).expect("an assessment is plain data");
    assert_eq!(json["estimate"]["measure"], "outcomes_per_hundred");
    // The interval is not cut at 1, which is the end of the range of most measures of calipers.
    assert!(found.interval.upper > 1.0 && found.significant == Some(true), "{}", found.sentence());
    println!("{json:#}");
    Ok(())
}
