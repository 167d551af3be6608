//! Each class against the rest, assessed among all classes.

use super::{Adjust, Assess, Assessment, Direction};
use crate::Error;
use crate::data::{Predictions, Sample};
use crate::measures::BinnedEce;

/// One class against the rest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClassAssessment {
    /// The class, from 0.
    pub class: usize,
    /// Rows whose label is the class.
    pub n: u64,
    /// Mean probability of the class.
    pub mean_probability: f64,
    /// Share of the rows, or of their weight, whose label is the class.
    pub outcome_rate: f64,
    /// The value with its floor and interval.
    pub assessment: Assessment,
    /// The p-value adjusted for the number of classes; `None` without a floor.
    pub p_adjusted: Option<f64>,
}

impl ClassAssessment {
    /// The direction of miscalibration, where there is evidence of it after adjustment and the
    /// measure has signed parts.
    pub fn direction(&self) -> Option<Direction> {
        let level = self.assessment.interval.level;
        self.p_adjusted.filter(|p| *p <= 1.0 - level + 1e-12)?;
        self.assessment.parts.as_ref()?.direction()
    }
}

impl Assess<'_> {
    /// Assesses each class against the rest, with p-values that are adjusted for the number of
    /// classes.
    ///
    /// `clusters` are those of [`Sample::clusters`]. Small p-values get more resamples, so that one
    /// of many classes can be significant ([`Assess::n_tests`]).
    ///
    /// # Example
    /// Class 2 comes half as often as predicted, and class 0 more often.
    /// ```
    /// use calipers::inference::{Adjust, Direction};
    /// use calipers::{Assess, Input, LsEce};
    ///
    /// let scores: Vec<f64> = (0..900).flat_map(|_| [0.2, 0.4, 0.4]).collect();
    /// let labels: Vec<i64> = (0..900).map(|row| [0, 1, 2, 1, 0][row % 5]).collect();
    /// let predictions = Input::probabilities(&scores, &labels).classes(3).check()?;
    /// let measure = LsEce::new().sigma(0.2);
    /// let classes = Assess::new(&measure).n_resamples(200).run_each_class(&predictions, None, Adjust::Holm)?;
    /// let directions: Vec<_> = classes.iter().map(|class| class.direction()).collect();
    /// assert_eq!(directions, [Some(Direction::TooLow), None, Some(Direction::TooHigh)]);
    /// assert_eq!(classes[2].n, 180);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn run_each_class(
        &self,
        predictions: &Predictions<'_>,
        clusters: Option<&[u32]>,
        adjust: Adjust,
    ) -> Result<Vec<ClassAssessment>, Error> {
        let n_classes = predictions.n_classes();
        let assess = self.n_tests(adjust.n_tests(n_classes));
        let mut found = Vec::with_capacity(n_classes);
        for (class, view) in predictions.each_class()?.enumerate() {
            let sample = clusters.map_or(Sample::from(&view), |clusters| Sample::from(&view).clusters(clusters));
            let (bins, outcomes) = (BinnedEce::new().n_bins(1).bins(&view)?, view.rows().outcomes);
            let whole = bins.first().ok_or(Error::NoRows)?;
            found.push(ClassAssessment {
                class,
                n: outcomes.iter().filter(|outcome| **outcome).count() as u64,
                mean_probability: whole.mean_probability,
                outcome_rate: whole.outcome_rate,
                assessment: assess.run(sample)?,
                p_adjusted: None,
            });
        }
        let p_value = |class: &ClassAssessment| class.assessment.floor.as_ref().map(|floor| floor.p_value);
        let adjusted = adjust.adjusted_known(&found.iter().map(p_value).collect::<Vec<_>>());
        found.iter_mut().zip(adjusted).for_each(|(class, p)| class.p_adjusted = p);
        Ok(found)
    }
}
