//! The residual form of LS-ECE: its value and bound against plain quadrature, and what
//! docs/theory.md proves of it.

#[macro_use]
#[path = "../oracle/mod.rs"]
mod oracle;

#[allow(dead_code)] // the tests of sketches use the rest
#[path = "../sketch/data.rs"]
mod sketches;

mod cells;
mod data;
mod rows;
mod theory;
