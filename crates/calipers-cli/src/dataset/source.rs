//! Where figures come from: rows in memory, their classes, or a sketch.

use calipers::{Assess, Assessment, BinaryView, Error, Estimate, Estimator, Multiclass, Predictions, Sketch, Ties};

/// Predictions that are measured.
pub(crate) enum Source<'a> {
    /// One outcome a row, and the number of each row's cluster, where rows were said to depend on each other.
    Rows { view: &'a BinaryView<'a>, clusters: Option<Vec<u32>> },
    /// Rows of several classes, which are measured one by one and averaged.
    Classes { predictions: &'a Predictions<'a>, ties: Ties, clusters: Option<Vec<u32>> },
    /// `confidences` says whether predictions are confidences in a predicted class, where that is known.
    Sketch { sketch: &'a Sketch, confidences: Option<bool> },
}

impl Source<'_> {
    pub(crate) fn estimate(&self, measure: &dyn Estimator) -> Result<Estimate, Error> {
        match self {
            Source::Rows { view, .. } => measure.estimate(view),
            Source::Classes { predictions, ties, .. } => predictions.estimate(Multiclass::Classwise, *ties, measure),
            Source::Sketch { sketch, .. } => sketch.estimate(measure),
        }
    }

    pub(crate) fn assess<'s>(&'s self, assess: Assess<'s>) -> Result<Assessment, Error> {
        match self {
            Source::Rows { view, clusters } => in_clusters(assess, clusters).run(view),
            Source::Classes { predictions, ties, clusters } => {
                in_clusters(assess, clusters).run_predictions(predictions, Multiclass::Classwise, *ties)
            }
            Source::Sketch { sketch, confidences } => {
                confidences.map_or(assess, |confidences| assess.confidences(confidences)).run_sketch(sketch)
            }
        }
    }
}

fn in_clusters<'a>(assess: Assess<'a>, clusters: &'a Option<Vec<u32>>) -> Assess<'a> {
    clusters.as_ref().map_or(assess, |clusters| assess.clusters(clusters))
}
