//! How results are shown: numbers, tables, the notes under them, and JSON.

pub(crate) mod grid;
pub(crate) mod json;
pub(crate) mod legend;
pub(crate) mod number;
pub(crate) mod screen;
