//! Maps by group, partially pooled.
//!
//! ```text
//! Groups -> Recalibrate::fit_groups -> GroupedFit            GroupMaps, and each group's share
//!        -> CrossFit::run_groups    -> GroupedImprovement    gain, against one map and one a group
//! ```
//! `joint.rs` has the minimum of J for given spreads, `pooling.rs` the spreads. Both see a group as
//! pooled rows in an order of their own, so that names and numbers of groups change no bit.
//!
//! # The certificate
//! J of [`Recalibrate::fit_groups`](super::Recalibrate::fit_groups) is a log-loss with a ridge in
//! all parameters (θ, β) at once, so that the proof of [`recalibrate`](super) applies to it. For a
//! θ, let β be at its best: then the gradient of J is that of its minimum over β, which is
//! precision times Σ_g (θ - β_g), and 0 in β. Its δ therefore is that of Newton's method for θ
//! alone, whose Hessian is the Schur complement of that of J. ρ is over the rows of all groups, by
//! the blocks of the inverse of the whole Hessian. What is missing to the best β is bounded by the
//! certificates of the groups' own fits, and is part of the error of the gradient.

mod fit;
mod gain;
mod joint;
mod maps;
mod pooling;

pub use fit::{GroupFit, GroupedFit};
pub use gain::{GroupedImprovement, Pooling, PoolingLoss};
pub use maps::{GroupMaps, Groups};
