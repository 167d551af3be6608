//! Each class against the rest, beside a mean over all classes.

use calipers::{BinaryView, BinnedEce, Error, Predictions, Rows, Sample, link};
use rayon::prelude::*;

use super::answers::{self, Analysis, Answer, Known};

/// What is known of one class.
#[derive(Debug)]
pub(crate) struct OfClass {
    pub(crate) class: usize,
    /// Rows with this label.
    pub(crate) n_labels: u64,
    pub(crate) mean_probability: f64,
    /// The share of rows with this label, by weight.
    pub(crate) outcome_rate: f64,
    /// In the order of the measures; p-values are adjusted for the number of classes.
    pub(crate) values: Vec<Answer>,
}

impl OfClass {
    /// In which direction the probabilities of the class are off, by the first measure that tells.
    pub(crate) fn direction(&self) -> Option<String> {
        self.values.iter().filter_map(Answer::known).find_map(Known::direction)
    }

    /// The smallest adjusted p-value, and the largest value: classes with more to see come first.
    pub(crate) fn rank(&self) -> (f64, f64) {
        let p = self.values.iter().filter_map(|answer| answer.p_adjusted).fold(1.0, f64::min);
        let value = self.values.first().and_then(Answer::known).map_or(0.0, |known| known.estimate.value);
        (p, -value)
    }
}

impl Analysis<'_> {
    /// The results of each class, with p-values adjusted for their number.
    pub(super) fn classes(&self, predictions: &Predictions<'_>) -> Result<Vec<OfClass>, Error> {
        let n_classes = predictions.n_classes();
        let how = self.how.for_groups(n_classes, self.adjust);
        let (selected, adjust) = (self.selected.clone(), self.adjust);
        let analysis = Analysis { selected, all_needed: false, each_class: false, adjust, how };
        let views = predictions.each_class()?.enumerate().collect::<Vec<_>>().into_par_iter();
        let mut classes: Vec<OfClass> =
            views.map(|(class, view)| analysis.one_class(class, &view)).collect::<Result<_, _>>()?;
        for place in 0..self.selected.len() {
            answers::adjust(
                adjust,
                classes.iter_mut().map(|class| {
                    let answer = &mut class.values[place];
                    (answer.known().and_then(Known::p_value), &mut answer.p_adjusted)
                }),
            );
        }
        Ok(classes)
    }

    fn one_class(&self, class: usize, view: &BinaryView<'_>) -> Result<OfClass, Error> {
        let answer = |selected: &super::selected::Selected| Answer {
            name: selected.name(),
            definition: selected.definition.clone(),
            outcome: self.known(selected, Sample::from(view)),
            p_adjusted: None,
        };
        // All measures have the link of the command.
        let link = link::by_name(self.selected.first().map_or(link::NAMES[0], |first| first.measure.link().name()))?;
        let mut rows = Rows::default();
        view.read_probabilities(0..view.len(), &*link, &mut rows);
        let whole = BinnedEce::new().n_bins(1).link(link).bins(view)?;
        let whole = whole.first().ok_or(Error::NoRows)?;
        Ok(OfClass {
            class,
            n_labels: rows.outcomes.iter().filter(|outcome| **outcome).count() as u64,
            mean_probability: whole.mean_probability,
            outcome_rate: whole.outcome_rate,
            values: self.selected.iter().map(answer).collect(),
        })
    }
}
