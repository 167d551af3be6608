//! Many rows as a sketch of them, for what is drawn.

use calipers::{Corp, Measure, Sample, Sketch};

use super::Options;

/// Rows above which charts, and the resamples of ECE, are those of a sketch of them.
const MANY: usize = 20_000;

/// A sketch of many rows; `None` where they are few, or where a sketch does not take them.
pub(super) fn summed(sample: Sample<'_>, options: &Options) -> Option<Sketch> {
    let view = sample.view().filter(|view| view.len() > MANY)?;
    let n_bins = options.ece.estimate(view).ok()?.settings.number("n_bins")?;
    let mut sketch = Sketch::with(&options.sketch(n_bins as usize)).ok()?;
    sketch.update(view).ok()?;
    // A link that a sketch of raw scores does not know would be refused by every chart.
    Corp::new().link(options.link.clone()).curve(&sketch).ok()?;
    Some(sketch)
}
