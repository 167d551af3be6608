//! What is left of the miscalibration: LS-ECE before, and out of fold after.

use crate::Error;
use crate::data::{BinaryView, Sample};
use crate::inference::{Assessment, Compare, Pair, digits, p_value};
use crate::measures::LsEce;

/// LS-ECE of the predictions as they are and of the recalibrated ones, on the same rows.
///
/// # Definition
/// Every row is recalibrated by a fit to the other folds. Both models are assessed by
/// [`LsEce`] at one sigma, chosen automatically from both, and paired by
/// [`Compare`]. For rows of classes the confidence in the top class is
/// assessed.
///
/// # Assumptions
/// Those of [`Compare`]. Out-of-fold predictions of two rows depend on each
/// other a little, since each is fitted to the other: with few rows they look slightly worse
/// calibrated than a new sample would.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Left {
    /// Of the predictions as they are.
    pub before: Assessment,
    /// Of the out-of-fold predictions.
    pub after: Assessment,
    /// After less before, of the residual form of LS-ECE: below 0 where less is left than there
    /// was.
    pub change: Pair,
}

/// What [`Left`] is made from.
pub(crate) struct Remainder<'a> {
    pub(crate) level: f64,
    pub(crate) n_resamples: u64,
    pub(crate) random_state: u64,
    pub(crate) clusters: Option<&'a [u32]>,
}

impl Remainder<'_> {
    /// For rows as they are and for the scores and outcomes of the same rows after; scores on the
    /// scale of the rows.
    pub(crate) fn left(&self, view: &BinaryView<'_>, scores: Vec<f64>, outcomes: Vec<bool>) -> Result<Left, Error> {
        let weights = view.is_weighted().then(|| view.rows().weights);
        let recalibrated = view.with_rows(scores, outcomes, weights.as_deref());
        let confidences = view.has_confidences();
        let sample = |view| Sample::from(view).confidences(confidences);
        let measure = LsEce::new();
        let mut compare =
            Compare::new(&measure).level(self.level).n_resamples(self.n_resamples).random_state(self.random_state);
        if let Some(clusters) = self.clusters {
            compare = compare.clusters(clusters);
        }
        let found = compare.run(&[("after", sample(&recalibrated)), ("before", sample(view))])?;
        let mut models = found.models.into_iter().map(|(_, assessment)| assessment);
        match (models.next(), models.next(), found.pairs.first()) {
            (Some(after), Some(before), Some(change)) => Ok(Left { before, after, change: *change }),
            // Never: two models were compared.
            _ => Err(Error::NoRows),
        }
    }
}

impl Left {
    /// What is left, in one sentence.
    pub fn sentence(&self) -> String {
        let half = 0.5 * (self.after.interval.upper - self.after.interval.lower);
        let digits = digits(half);
        let show = |value: f64| format!("{value:.digits$}");
        let values = format!(
            "LS-ECE is {} before and {} after, out of fold",
            show(self.before.estimate.value),
            show(self.after.estimate.value)
        );
        let Some(floor) = &self.after.floor else { return format!("{values}.") };
        let calibrated = format!("a calibrated model would score {}", show(floor.mean));
        let p = p_value(floor.p_value);
        match self.after.significant {
            Some(true) => format!("{values}: miscalibration is left ({p}; {calibrated})."),
            _ => format!("{values}: there is no evidence that miscalibration is left ({p}; {calibrated})."),
        }
    }
}
