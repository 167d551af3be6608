//! Recalibration: golden values, a slow solver of its own, hard inputs and the verdict.

mod classes;
mod fixtures;
mod golden;
mod hard_inputs;
mod json;
mod oracle;
mod properties;
mod verdict;
