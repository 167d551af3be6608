//! What a fit returns, and how it is found: the solvers, and the certificate of what they found.

pub(crate) mod newton;
pub(crate) mod reported;
mod result;
pub(crate) mod slope;

pub use newton::FitBound;
pub use result::{Band, Fit, Note, Parameter};
