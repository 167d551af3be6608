//! Fits from sketches: of binary outcomes from cells, and of temperature for any number of classes.

pub(crate) mod from_cells;
mod temperature;

pub use temperature::TemperatureSketch;
