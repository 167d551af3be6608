//! Recalibration: maps that repair probabilities, and whether they do.
//!
//! ```text
//! Recalibrate -> fit          -> Fit<BinaryMap>   map, parameters with standard errors, bound, notes
//!             -> fit_classes  -> Fit<ClassMap>    temperature of any number of classes
//! CrossFit    -> run          -> Improvement      gain on new rows with an interval, and a verdict
//!             -> run_classes                      the same for a temperature of classes
//! HeldOut     -> run          -> HeldOutGain      what a map gains on rows of another file
//! Choose      -> run          -> Choice           the method that these rows support, or none
//! Map, MapFile                                    a map as JSON, with its fit and its gain
//! ```
//!
//! A map is a small value: a [`Method`] with its parameters, or a [`Table`]. Probabilities and raw
//! scores give the same map. The order of rows and the number of threads change no bit of any
//! result.
//!
//! # The certificate of a fit
//! Every formula is the minimum of a convex function J, the mean log-loss plus a ridge.
//! [`FitBound`] says how far from the minimum the returned parameters are at most. Let g be the
//! gradient of J there, H its Hessian, φ_i the features of row i (for several classes, differences
//! between those of two classes), |v| = √(v' H v), δ = √(g' H⁻¹ g) and ρ = max_i √(φ_i' H⁻¹ φ_i).
//!
//! 1. The logistic loss f has |f'''| <= f'', since f''' = f'' (1 - 2σ). The loss of several classes
//!    has the same with the range of φ' v over classes in place of |φ' v|: a third central moment
//!    is at most the range times the variance.
//! 2. So along any v the function F(s) = J(θ + s v) has |F'''(s)| <= τ F''(s), where
//!    τ = max_i |φ_i' v| <= ρ |v| by Cauchy's inequality in the norm of H. The ridge adds nothing
//!    to F''' and something to F''.
//! 3. Hence F''(s) >= F''(0) e^(-τ s), and after two integrations
//!    J(θ + v) >= J(θ) + g' v + q(τ) |v|² with q(τ) = (e^-τ + τ - 1) / τ², which falls with τ.
//! 4. With g' v >= -δ |v|: on the sphere |v| = 1 / ρ, where q >= q(1) = 1/e, the bound is above
//!    J(θ) if ρ δ < 1/e. J is convex, so its minimum is inside of that sphere.
//! 5. Inside, J(θ + v) >= J(θ) - δ |v| + |v|² / e. At the minimum this is at most J(θ): so the
//!    minimum is at a distance |v| <= e δ, and J(θ) is above it by at most e δ² / 4.
//! 6. √n |v| is a distance in standard errors, since n H is the information of n rows.
//!
//! δ includes a bound on the rounding error of g. Where ρ δ >= 1/e, a ridge with coefficients λ_j
//! still proves J(θ) - min J <= Σ g_j² / (4 λ_j), since J is strongly convex. If that is at most
//! 1e-12 it is reported. If not, there is an error, and never the identity in place of a fit.

mod choose;
mod classes;
mod cross_fit;
mod cross_fit_classes;
mod drawn;
mod fit;
mod folds;
mod formula;
mod gain;
mod held_out;
mod improvement;
mod json;
mod left;
mod linear;
mod map;
mod method;
mod newton;
mod options;
mod rows;
mod slope;
mod table;

pub use choose::{Candidate, Choice, Choose};
pub use classes::ClassMap;
pub use cross_fit::CrossFit;
pub use drawn::GainFloor;
pub use fit::{Band, Fit, Note, Parameter};
pub use held_out::{HeldOut, HeldOutGain};
pub use improvement::{GainInterval, Improvement, Verdict};
pub use json::{FitRecord, GainRecord, Label, Map, MapFile};
pub use left::Left;
pub use map::BinaryMap;
pub use method::Method;
pub use newton::FitBound;
pub use options::Recalibrate;
pub use table::{Between, Table};
