//! What every value must be, wherever it comes from.

use calipers::{Estimate, Sketch};

/// A value is in the range of its measure, and its bound is a number that is not negative.
#[track_caller]
pub(super) fn check_estimate(estimate: &Estimate) {
    let (least, most) = estimate.spec.range;
    let (name, value, bound) = (estimate.spec.name, estimate.value, estimate.numerical_bound);
    assert!(value >= least && value <= most, "{name} is {value}, which is not in [{least}, {most}]");
    assert!(bound >= 0.0, "the bound of {name} is {bound}");
    assert!(estimate.standard_error.is_none_or(|error| error >= 0.0));
    estimate.per_class.iter().for_each(check_estimate);
}

/// More cells would make a single input slow, and are covered by those that have fewer.
pub(super) fn has_few_cells(sketch: &Sketch) -> bool {
    sketch.n_cells() <= 64
}
