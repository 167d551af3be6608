//! Known distributions: their true ECE and LS-ECE can be computed, and estimates compared with
//! them.
//!
//! ```text
//! Finite            masses, truth and predictions on finitely many points: exact ECE, its discontinuities, LS-ECE
//!   two_point       the paper's example of a jump
//! Counterexample    the paper's example without level sets of positive mass, and its perturbation
//! Family            a distribution of logits and a truth: true ECE and LS-ECE; the list that studies use
//! Sample            rows drawn from any of them
//! ```

mod counterexample;
mod exact;
mod family;
mod finite;
mod logits;
mod sample;
mod truth;
mod two_point;

pub use counterexample::Counterexample;
pub use exact::{Exact, SmoothedMass};
pub use family::Family;
pub use finite::{Finite, LevelSet};
pub use logits::{Atom, Logits};
pub use sample::Sample;
pub use truth::Truth;
pub use two_point::two_point;
