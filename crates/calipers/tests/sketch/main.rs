//! A sketch says what the rows say, within its bounds, and does not care how they came.

mod answers;
mod by_group;
mod curves;
mod data;
mod dense;
mod far_scores;
mod limits;
mod merging;
mod oracle;
mod profiles;
mod resolution;
mod sizes;
mod small_batches;
mod subtracting;
