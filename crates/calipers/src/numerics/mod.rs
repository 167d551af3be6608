//! Private tools of the measures; nothing here is specific to calibration.

pub(crate) mod bernstein;
pub(crate) mod binomial;
pub(crate) mod brownian;
pub(crate) mod chi_square;
pub(crate) mod cholesky;
pub(crate) mod convolution;
pub(crate) mod counts;
pub(crate) mod cubic_spline;
pub(crate) mod dispatch;
pub(crate) mod exp;
pub(crate) mod lagrange;
pub(crate) mod logarithm;
pub(crate) mod order_free;
pub(crate) mod parallel;
pub(crate) mod products;
pub(crate) mod quadrature;
pub(crate) mod random;
pub(crate) mod sum;
