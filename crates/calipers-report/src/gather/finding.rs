//! What was found about a model: whether it is miscalibrated, in which direction, and where most of
//! all.

use calipers::inference::{Direction, Region, holm, most_of_all};
use calipers::{Assessment, Error, Sample};

use super::{ModelValues, Options};

/// The finding about one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Whether there is evidence of miscalibration, after adjustment for the number of models;
    /// unknown without a noise floor.
    pub significant: Option<bool>,
    /// The p-value.
    pub p_value: Option<f64>,
    /// The p-value after adjustment, if there are several models (Holm).
    pub p_adjusted: Option<f64>,
    /// The direction of the errors, if the data show one.
    pub direction: Option<Direction>,
    /// The opposite direction, if the data show errors of that kind, too.
    pub opposite: Option<Direction>,
    /// The predictions that are most of all off in that direction, if the data show which.
    pub region: Option<Region>,
    /// Whether probabilities are confidences in a predicted class.
    pub confidences: bool,
}

impl Finding {
    /// The finding about one model alone.
    pub(super) fn new(assessment: Option<&Assessment>, sample: Sample<'_>, options: &Options) -> Result<Self, Error> {
        let parts = assessment.and_then(|found| found.parts.as_ref());
        let direction = parts.and_then(|parts| parts.direction());
        let opposite = parts.and_then(|parts| parts.opposite_direction());
        let confidences = sample.view().is_some_and(|view| view.has_confidences());
        let too_high = match direction {
            Some(Direction::TooHigh) => Some(true),
            Some(Direction::TooLow) => Some(false),
            // For confidences, the only direction is up or down.
            Some(Direction::Overconfident) if confidences => Some(true),
            Some(Direction::Underconfident) if confidences => Some(false),
            _ => None,
        };
        let region = match too_high {
            Some(too_high) => most_of_all(sample, &*options.link, too_high, options.level)?,
            None => None,
        };
        let p_value = assessment.and_then(|found| found.floor.as_ref()).map(|floor| floor.p_value);
        let significant = assessment.and_then(|found| found.significant);
        Ok(Finding { significant, p_value, p_adjusted: None, direction, opposite, region, confidences })
    }

    /// The p-value that decides.
    pub fn deciding_p(&self) -> Option<f64> {
        self.p_adjusted.or(self.p_value)
    }
}

/// Adjusts the findings about several models for their number, so that the verdict on one of many
/// models is not due to chance.
pub(super) fn adjust(models: &mut [ModelValues], level: f64) {
    if models.len() < 2 {
        return;
    }
    let p_values: Vec<f64> = models.iter().filter_map(|model| model.finding.p_value).collect();
    let mut adjusted = holm(&p_values).into_iter();
    for finding in models.iter_mut().map(|model| &mut model.finding).filter(|finding| finding.p_value.is_some()) {
        finding.p_adjusted = adjusted.next();
        finding.significant = finding.p_adjusted.map(|p| p <= 1.0 - level + 1e-12);
    }
}
