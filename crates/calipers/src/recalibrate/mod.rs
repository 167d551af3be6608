//! Recalibration: maps that repair probabilities, and whether they do.
//!
//! ```text
//! Recalibrate -> fit          -> Fit<BinaryMap>   map, parameters with standard errors, bound, notes
//!             -> fit_classes  -> Fit<ClassMap>    the same for rows of classes
//!             -> fit_groups   -> GroupedFit       a map for each group, partially pooled
//! TemperatureSketch -> update, merge, fit         temperature in one pass over rows in many places
//! CrossFit    -> run          -> Improvement      gain on new rows with an interval, and a verdict
//!             -> run_classes                      the same for rows of classes
//!             -> run_sketches -> SketchImprovement    the same for sketches, one for each fold
//!             -> run_groups   -> GroupedImprovement   maps by group against one map for all
//! HeldOut     -> run          -> HeldOutGain      what a map gains on rows of another file
//! Choose      -> run          -> Choice           the method that these rows support, or none
//! Decompose   -> run          -> Decomposition    what of a proper score is miscalibration
//! Map, MapFile                                    a map as JSON, with its fit and its gain
//! ```
//!
//! `binary/` and `classes/` have the maps, `fit/` the solvers, and `verdict/` decides whether a map
//! helps. A map is a small value: a [`Method`] with its parameters, a [`Spline`], a [`Table`] or
//! [`VennAbers`]. Formulas and tables can be fitted to a [`Sketch`](crate::Sketch), too.
//! Probabilities and raw scores give the same map. The order of rows and the number of threads
//! change no bit of any result.
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
//!
//! # Fits from a sketch
//! The fit of a formula to the cells of a [`Sketch`](crate::Sketch) has a bound on its distance
//! from the fit to the rows, clipped as the sketch has clipped them. A spline is compared with that
//! of the same knots and smoothing, and slopes that are held at 0 are held for the rows, too. Let
//! θ, g, H, δ and ρ be as above for the points that stand for the rows: two for each cell and
//! outcome, whose weight, mean and variance are those of the rows.
//!
//! 1. Let f be a function of q = min(p, 1 - p), v the variance of q in a cell, r the distance of
//!    its mean from the farther end, and s what the cut of offsets leaves open. The mean of f over
//!    the rows of the cell is within v (r + √v) / 6 sup |f'''| + s sup |f'| of that over its
//!    points. `cells/atoms.rs` has the proof; derivatives with respect to q are those with respect
//!    to the logit by the chain rule.
//! 2. With f = (σ(u) - y) φ_j this bounds the error η_j of the gradient at θ. Bounds on derivatives
//!    of products and of σ(u) follow from those of φ and u, by Leibniz and Faà di Bruno. So δ of
//!    the rows is at most δ + Σ η_j √(H⁻¹)_jj.
//! 3. With f = σ'(u) φ_j φ_k it bounds the error E_jk of the Hessian. Since |x_j| <= |x| √(H⁻¹)_jj,
//!    the Hessian of the rows is at least (1 - ε) H with ε = Σ E_jk √(H⁻¹)_jj √(H⁻¹)_kk.
//! 4. A row is at a known distance from its points, so that its √(φ' H⁻¹ φ) is at most ρ and
//!    something more.
//! 5. Steps 3 to 5 of the certificate hold with (1 - ε) |v|² in place of |v|²: where ρ δ is below
//!    (1 - ε) / e, the optimum of the rows is at a distance of at most e δ / (1 - ε), and a
//!    parameter is off by at most that times √(H⁻¹)_jj.
//!
//! Weights that were rounded to the units of the sketch, and their squares, which the ridge depends
//! on, add to η and ε. Tables are the fits of rows whose scores are rounded to the mean of their
//! cell. [`Note::FromCells`] has the bound and the width of the cells.

mod binary;
mod classes;
mod fit;
mod groups;
mod json;
mod method;
mod options;
mod sketches;
mod sql;
mod verdict;

pub(crate) use binary::spline::SplineBasis;
pub use binary::{Between, BinaryMap, Spline, Table, VennAbers};
pub use classes::{ClassFormula, ClassMap, ClassSample};
pub use fit::{Band, Fit, FitBound, Note, Parameter};
pub use groups::{GroupFit, GroupMaps, GroupedFit, GroupedImprovement, Groups, Pooling, PoolingLoss};
pub use json::{FitRecord, GainRecord, GroupRecord, Label, Map, MapFile};
pub use method::Method;
pub use options::Recalibrate;
pub use sketches::TemperatureSketch;
pub use sql::{Dialect, SqlInput};
pub use verdict::{
    Candidate, Choice, Choose, CrossFit, Decompose, Decomposition, GainFloor, GainInterval, HeldOut, HeldOutGain,
    Improvement, Left, SketchImprovement, Verdict, fold_of,
};
