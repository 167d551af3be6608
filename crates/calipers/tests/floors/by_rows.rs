//! Any measure with resamples that are drawn row by row: the slow, obviously right version.

use calipers::inference::{Clusters, Resampler, RowBracket, RowResampler};
use calipers::{BinaryView, Error, Estimate, Link, Measure, Spec};

pub(crate) struct ByRows<'a>(pub(crate) &'a dyn Measure);

impl Measure for ByRows<'_> {
    fn spec(&self) -> &'static Spec {
        self.0.spec()
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        self.0.estimate(view)
    }

    fn link(&self) -> &dyn Link {
        self.0.link()
    }

    fn resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        Ok(Box::new(RowResampler::new(self, view, clusters)?))
    }

    fn row_bracket(&self, view: &BinaryView<'_>, clusters: Option<&Clusters>) -> Result<Option<RowBracket>, Error> {
        self.0.row_bracket(view, clusters)
    }

    fn effect_of_outcomes(&self) -> Option<f64> {
        self.0.effect_of_outcomes()
    }
}
