//! Tests of calibration: against values of others, against slow and obviously right versions,
//! against all outcomes of few rows, and by how often they reject what is calibrated and what is
//! not.

#[path = "../measures/data.rs"]
#[allow(dead_code)]
mod data;

mod edges;
mod enumerated;
mod golden;
mod naive;
mod rates;
mod rows;
