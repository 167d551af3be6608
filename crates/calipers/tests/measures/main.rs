//! The measures in one dimension, each against a slow and obviously right version, and against each other.

mod corp;
mod cumulative;
mod data;
mod interval;
mod kernel;
mod lower;
mod properties;
mod relations;
mod simplex;
mod smooth;
mod spline;
mod tcal;
