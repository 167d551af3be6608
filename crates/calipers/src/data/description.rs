//! What a sample looks like, beside how well it is calibrated.

use super::Sample;
use crate::Error;
use crate::link::Link;
use crate::numerics::sum::Sum;

/// Descriptive values of a sample of one outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// Rows.
    pub n: u64,
    /// Mean probability of outcome 1, by weight.
    pub mean_probability: f64,
    /// Share of outcome 1, by weight.
    pub outcome_rate: f64,
    /// The area under the ROC curve: the share of pairs of a row with outcome 1 and one with
    /// outcome 0, by weight, in which the first has the larger probability; equal ones count half.
    /// `None` where all rows have the same outcome.
    pub auc: Option<f64>,
}

impl Sample<'_> {
    /// Descriptive values: mean probability, outcome rate and AUC. Those of a sketch take the rows
    /// of a cell as tied.
    ///
    /// # Example
    /// Three of the four pairs are in order.
    /// ```
    /// use calipers::{Input, Logistic, Sample};
    ///
    /// let predictions = Input::probabilities(&[0.1, 0.4, 0.35, 0.8], &[0, 0, 1, 1]).check()?;
    /// let description = Sample::from(&predictions.binary()?).describe(&Logistic)?;
    /// assert_eq!((description.outcome_rate, description.auc), (0.5, Some(0.75)));
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn describe(&self, link: &dyn Link) -> Result<Description, Error> {
        let groups = self.groups(link)?;
        let sum = |of: &dyn Fn(usize) -> f64| (0..groups.len()).map(of).collect::<Sum>().value();
        let [negative, positive] = [sum(&|k| groups[k].negative), sum(&|k| groups[k].positive)];
        let probability = sum(&|k| groups[k].weight() * groups[k].p);
        let mut below = Sum::default();
        let mut ordered = Sum::default();
        for group in &groups {
            ordered.add(group.positive * (below.value() + 0.5 * group.negative));
            below.add(group.negative);
        }
        let pairs = negative * positive;
        Ok(Description {
            n: self.n(),
            mean_probability: probability / (negative + positive),
            outcome_rate: positive / (negative + positive),
            auc: (pairs > 0.0).then(|| (ordered.value() / pairs).clamp(0.0, 1.0)),
        })
    }
}
