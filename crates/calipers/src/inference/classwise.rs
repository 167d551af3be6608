//! Resamples of the mean over classes, whose outcomes depend on each other: a row has one label.

use super::resampler::{Resampler, drawn};
use super::rows::{effective_rows, variance};
use super::{Bracket, Clusters, RowBracket};
use crate::Error;
use crate::data::{BinaryView, Predictions, Rows};
use crate::measure::Measure;
use crate::numerics::random::Uniforms;

/// Draws labels or rows, and measures each class again.
pub(crate) struct ClasswiseResampler<'a> {
    classes: Vec<Class<'a>>,
    /// Row after row, one for each class.
    probabilities: Vec<f64>,
    n_rows: usize,
    clusters: Option<&'a Clusters>,
    value: f64,
    range: (f64, f64),
    bracket: Option<Bracket>,
}

/// One class against the rest.
struct Class<'a> {
    view: BinaryView<'a>,
    rows: Rows,
    /// With the settings that are chosen from the rows fixed as the estimate of this class has
    /// them.
    resolved: Option<Box<dyn Measure>>,
    measure: &'a dyn Measure,
}

impl Class<'_> {
    fn resolved(&self) -> &dyn Measure {
        self.resolved.as_deref().unwrap_or(self.measure)
    }

    /// The measure of these rows of the view with other outcomes; all of them in order where no
    /// rows are named.
    fn measure(&self, drawn: Option<&[usize]>, outcomes: Vec<bool>) -> f64 {
        let pick = |values: &[f64]| match drawn {
            None => values.to_vec(),
            Some(drawn) => drawn.iter().map(|row| values[*row]).collect(),
        };
        let weights = self.view.is_weighted().then(|| pick(&self.rows.weights));
        let view = self.view.with_rows(pick(&self.rows.scores), outcomes, weights.as_deref());
        self.resolved().estimate(&view).map_or(f64::NAN, |estimate| estimate.value)
    }
}

impl<'a> ClasswiseResampler<'a> {
    /// `value` is the mean over classes for the data.
    pub(crate) fn new(
        measure: &'a dyn Measure,
        predictions: &'a Predictions<'a>,
        clusters: Option<&'a Clusters>,
        value: f64,
    ) -> Result<Self, Error> {
        let class = |view: BinaryView<'a>| {
            let (rows, resolved) = (view.rows(), measure.resolve(&[&view])?);
            Ok(Class { view, rows, resolved, measure })
        };
        let classes: Vec<Class<'a>> = predictions.each_class()?.map(class).collect::<Result<_, Error>>()?;
        Ok(ClasswiseResampler {
            bracket: bracket(&classes, clusters, value)?,
            classes,
            probabilities: predictions.all_classes()?.probabilities,
            n_rows: predictions.len(),
            clusters,
            value,
            range: measure.spec().range,
        })
    }

    fn mean(&self, of: impl Fn(usize, &Class<'_>) -> f64) -> f64 {
        self.classes.iter().enumerate().map(|(number, class)| of(number, class)).sum::<f64>()
            / self.classes.len() as f64
    }
}

/// Of the mean over classes, where every class has one: a row influences at all classes at once.
fn bracket(classes: &[Class<'_>], clusters: Option<&Clusters>, value: f64) -> Result<Option<Bracket>, Error> {
    let n_classes = classes.len() as f64;
    let mut sum: Option<RowBracket> = None;
    for class in classes {
        let Some(found) = class.resolved().row_bracket(&class.view, clusters)? else { return Ok(None) };
        sum = Some(match sum {
            None => found,
            Some(sum) => sum.plus(&found),
        });
    }
    let of_mean = |sum: &RowBracket| {
        let of_sum = sum.of_sums(&|influences| variance(influences, clusters), value * n_classes);
        Bracket {
            lower: of_sum.lower / n_classes,
            lower_deviation: of_sum.lower_deviation / n_classes,
            upper: of_sum.upper / n_classes,
            upper_deviation: of_sum.upper_deviation / n_classes,
            corrected: of_sum.corrected / n_classes,
            debiased: of_sum.debiased / n_classes,
        }
    };
    Ok(sum.as_ref().map(of_mean))
}

impl Resampler for ClasswiseResampler<'_> {
    fn value(&self) -> f64 {
        self.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let mut uniforms = Uniforms::new(draw);
        let label = |row: &[f64]| {
            // Rows sum to 1 up to their tolerance.
            let mut left = uniforms.next() * row.iter().sum::<f64>();
            let below = |p: &f64| {
                left -= p;
                left < 0.0
            };
            row.iter().position(below).unwrap_or(row.len() - 1)
        };
        let labels: Vec<usize> = self.probabilities.chunks_exact(self.classes.len()).map(label).collect();
        self.mean(|number, class| class.measure(None, labels.iter().map(|label| *label == number).collect()))
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let rows = match self.clusters {
            None => drawn(self.n_rows, draw),
            Some(clusters) => clusters.drawn_rows(draw),
        };
        self.mean(|_, class| class.measure(Some(&rows), rows.iter().map(|row| class.rows.outcomes[*row]).collect()))
    }

    fn bracket(&self) -> Option<Bracket> {
        self.bracket
    }

    fn effective_rows(&self) -> f64 {
        effective_rows(&self.classes[0].rows.weights)
    }

    fn range(&self) -> (f64, f64) {
        self.range
    }

    fn floor_unavailable(&self) -> Option<&'static str> {
        self.clusters.map(|_| "rows of a cluster depend on each other, and so do the classes of a row")
    }
}
