//! The imports that the file of nearly every measure needs.

pub(crate) use crate::Error;
pub(crate) use crate::data::BinaryView;
pub(crate) use crate::error;
pub(crate) use crate::inference::Cells;
pub(crate) use crate::link::{Link, Logistic};
pub(crate) use crate::measure::registry::Entry;
pub(crate) use crate::measure::{
    Cost, Estimate, Family, FromSketch, LINK, Measure, OptionSpec, Options, Spec, check_range, described, entry,
    measure, or_auto,
};
pub(crate) use crate::measures::probabilities::{Group, Merge, Pooled, Probabilities, running_sums};
pub(crate) use crate::names::names;
pub(crate) use crate::numerics::sum::Sum;
