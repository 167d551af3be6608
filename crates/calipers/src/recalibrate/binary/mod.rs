//! Maps of a binary outcome.
//!
//! ```text
//! rows, logits                        rows in an order of their own, and as they come
//! map                                 BinaryMap: any of the following as a value
//! linear -> formula                   temperature, Platt, beta: objective and fit
//! spline -> smoothing                 natural splines: basis, and how smooth they are
//! table, bins, venn_abers             isotonic, equal-mass bins and Venn-Abers
//! unsorted/                           shorter ways to the same bits for many rows
//! ```

pub(crate) mod bins;
pub(crate) mod formula;
pub(crate) mod linear;
pub(crate) mod logits;
pub(crate) mod map;
pub(crate) mod rows;
pub(crate) mod smoothing;
pub(crate) mod spline;
pub(crate) mod table;
pub(crate) mod unsorted;
pub(crate) mod venn_abers;

pub use map::BinaryMap;
pub use spline::Spline;
pub use table::{Between, Table};
pub use venn_abers::VennAbers;
