//! What has changed against a sample of earlier, with the curves of both in one diagram.

use calipers::{BinaryView, Change, Drift, Error, Sample};

use super::reliability::{Smoothed, places, smoothed};
use super::{Model, Options, sketch_of};

/// A model against an earlier sample of its predictions.
#[derive(Debug, Clone)]
pub struct Drifted {
    /// The names of the sample before and of the model.
    pub names: [String; 2],
    /// What has changed, or why that is not known.
    pub outcome: Result<Changed, Error>,
}

/// The change with its curves.
#[derive(Debug, Clone)]
pub struct Changed {
    /// What has changed.
    pub change: Change,
    /// The smoothed curves before and after with the sigma of the values. Bands are where a curve
    /// would be if outcomes at equal predictions had not changed.
    pub curves: [Smoothed; 2],
}

impl Drifted {
    /// The views are those of rows.
    pub(super) fn new(
        models: [&Model<'_>; 2],
        views: [Option<&BinaryView<'_>>; 2],
        options: &Options,
    ) -> Result<Self, Error> {
        let samples = [models[0].source.sample(views[0])?, models[1].source.sample(views[1])?];
        let names = models.map(|model| model.name.clone());
        Ok(Drifted { names, outcome: changed(samples, options) })
    }
}

fn changed(samples: [Sample<'_>; 2], options: &Options) -> Result<Changed, Error> {
    let Options { ls_ece, level, n_resamples, random_state, .. } = options;
    let drift = Drift::new(ls_ece).level(*level).n_resamples(*n_resamples).random_state(*random_state);
    let change = drift.run(samples[0], samples[1])?;
    let sigma = change.before.estimate.settings.number("sigma").unwrap_or(1.0);
    let curve = |sample: Sample<'_>| {
        let sketch = sketch_of(sample, options);
        let drawn = sketch.as_ref().map_or(sample, Sample::from);
        let at = places(80);
        let found = smoothed(drawn, sigma, &at, options)?;
        let measure = ls_ece.clone().sigma(sigma);
        let band = measure.band_around(drawn, &|p| change.common.at(p), &at, &options.band())?;
        Ok(Smoothed { band, ..found })
    };
    let curves = [curve(samples[0])?, curve(samples[1])?];
    Ok(Changed { change, curves })
}
