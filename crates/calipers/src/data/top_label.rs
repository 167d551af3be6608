//! Top-label calibration: the confidence in the predicted class, for each predicted class on its
//! own.

use super::Predictions;
use super::multiclass::Ties;
use crate::Error;
use crate::measure::{Estimate, Measure, Settings};
use crate::numerics::sum::Sum;

impl Predictions<'_> {
    /// Top-label calibration error: the value of a measure on the rows that are predicted as a
    /// class, averaged over the classes by their shares.
    ///
    /// # Definition
    /// ```text
    /// Σ_c share_c · M(confidence and correctness of the rows whose top class is c)
    /// ```
    /// with M the measure, mostly [`BinnedEce`](crate::BinnedEce) with equal-mass bins, share_c the
    /// share of the weight and the first of several top classes. Classes that are never predicted
    /// have no share. Confidence calibration ([`Multiclass::TopClass`](crate::Multiclass)) asks
    /// less: there a class that is too sure makes up for one that is not.
    ///
    /// `per_class` has one estimate for each class that is predicted, with `class` and `share`
    /// among its settings.
    ///
    /// # Assumptions
    /// Those of the measure.
    ///
    /// # Cost
    /// One pass over all scores, and the measure on parts that are all rows together.
    ///
    /// # Accuracy
    /// Numerical: the mean of the bounds. Statistical: that of the measure on n / (predicted
    /// classes) rows: binned ECE is biased up by more than on all rows.
    ///
    /// # Reference
    /// Gupta, Ramdas, "Top-label calibration and multiclass-to-binary reductions", ICLR 2022.
    ///
    /// # Example
    /// Two rows are predicted as class 0 with 0.8, one of them rightly (gap 0.3); one as class 1
    /// with 0.6, rightly (0.4).
    /// ```
    /// use calipers::{BinnedEce, Input};
    ///
    /// let scores = [0.8, 0.2, 0.8, 0.2, 0.4, 0.6];
    /// let predictions = Input::probabilities(&scores, &[0, 1, 1]).classes(2).check()?;
    /// let error = predictions.estimate_top_label(&BinnedEce::new())?;
    /// assert!((error.value - (2.0 * 0.3 + 0.4) / 3.0).abs() < 1e-15);
    /// assert_eq!(error.per_class.len(), 2);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn estimate_top_label(&self, measure: &dyn Measure) -> Result<Estimate, Error> {
        let k = self.n_classes();
        self.check_classes("\"top_label\"")?;
        self.check_no_positive()?;
        let tops = self.tops(Ties::First).into_iter().flatten();
        let mut parts: Vec<Part> = (0..k).map(|_| Part::default()).collect();
        let mut weight = Sum::default();
        for (index, (top, right)) in tops.enumerate() {
            let row = self.row(index);
            let part = &mut parts[top.class];
            let of_row = self.input.weights.map_or(1.0, |weights| weights.get(row));
            part.weight.add(of_row);
            weight.add(of_row);
            part.rows.push(row);
            part.scores.push(top.score);
            part.outcomes.push(right);
        }
        let mut per_class = Vec::new();
        for (class, part) in parts.iter_mut().enumerate().filter(|(_, part)| part.weight.value() > 0.0) {
            let (scores, outcomes) = (std::mem::take(&mut part.scores), std::mem::take(&mut part.outcomes));
            let view = self.computed_view(Some(&part.rows), scores, outcomes);
            let mut estimate = measure.estimate(&view)?;
            let share = part.weight.value() / weight.value();
            estimate.settings = estimate.settings.with("class", class as u64).with("share", share);
            per_class.push((share, estimate));
        }
        let first = match per_class.first() {
            Some((_, first)) => first.clone(),
            None if self.is_empty() => return Err(Error::NoRows),
            None => return Err(Error::ZeroWeights { n_rows: self.len() as u64 }),
        };
        let mean = |of: fn(&Estimate) -> f64| {
            per_class.iter().map(|(share, estimate)| share * of(estimate)).collect::<Sum>().value()
        };
        let same = |name: &str| per_class.iter().all(|(_, other)| other.settings.get(name) == first.settings.get(name));
        let common = first.settings.iter().filter(|(name, _)| !["class", "share"].contains(name) && same(name));
        let settings = common.fold(Settings::default(), |settings, (name, value)| settings.with(name, value.clone()));
        Ok(Estimate {
            spec: first.spec,
            value: mean(|estimate| estimate.value),
            numerical_bound: mean(|estimate| estimate.numerical_bound) + 4.0 * f64::EPSILON,
            // No less than that of the mean, however the classes depend on each other (Minkowski).
            standard_error: first.standard_error.map(|_| mean(|estimate| estimate.standard_error.unwrap_or(0.0))),
            n: self.len() as u64,
            n_clipped: per_class.iter().map(|(_, estimate)| estimate.n_clipped).sum(),
            input: self.report.clone(),
            settings: settings.with("multiclass", "top_label"),
            per_class: per_class.into_iter().map(|(_, estimate)| estimate).collect(),
        })
    }
}

/// The rows that are predicted as one class.
#[derive(Default)]
struct Part {
    rows: Vec<usize>,
    scores: Vec<f64>,
    outcomes: Vec<bool>,
    weight: Sum,
}
