//! Where figures come from: rows in memory, their classes, or a sketch.

use calipers::{Assess, Assessment, BinaryView, Error, Estimate, Estimator, Multiclass, Predictions, Sketch, Ties};

/// Predictions that measures are asked of.
pub(crate) enum Source<'a> {
    /// One outcome a row, and the number of each row's cluster, where rows were said to depend on each other.
    Rows {
        view: BinaryView<'a>,
        clusters: Option<Vec<u32>>,
    },
    /// Rows of several classes, which are measured one by one and averaged.
    Classes(&'a Predictions<'a>, Ties),
    Sketch(&'a Sketch),
}

impl Source<'_> {
    pub(crate) fn estimate(&self, measure: &dyn Estimator) -> Result<Estimate, Error> {
        match self {
            Source::Rows { view, .. } => measure.estimate(view),
            Source::Classes(predictions, ties) => predictions.estimate(Multiclass::Classwise, *ties, measure),
            Source::Sketch(sketch) => sketch.estimate(measure),
        }
    }

    pub(crate) fn assess(&self, assess: Assess<'_>) -> Result<Assessment, Error> {
        match self {
            Source::Rows { view, clusters: Some(clusters) } => assess.clusters(clusters).run(view),
            Source::Rows { view, clusters: None } => assess.run(view),
            Source::Classes(..) => {
                let rule = "\"top_class\" or a class: classes of one row depend on each other".to_owned();
                Err(Error::InvalidSetting { name: "multiclass", rule, value: "\"classwise\"".to_owned() })
            }
            Source::Sketch(sketch) => assess.run_sketch(sketch),
        }
    }
}
