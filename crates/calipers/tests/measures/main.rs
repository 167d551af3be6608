//! The measures, each against a slow and obviously right version on up to 200 rows with ties and
//! weights, and against each other.

#[path = "../oracle/mod.rs"]
#[macro_use]
mod oracle;

mod binned;
mod classes;
mod clinical;
mod corp;
mod cox;
mod cumulative;
mod data;
mod debiased;
mod interval;
mod kde;
mod kernel;
mod lower;
mod properties;
mod properties_of_smoothed;
mod quadrature;
mod registry;
mod relations;
mod scores;
mod simplex;
mod smooth;
mod smooth_ece;
mod spline;
mod sweep;
mod tcal;
