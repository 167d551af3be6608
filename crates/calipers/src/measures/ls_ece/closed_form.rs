//! The integral for uniform noise: between the points h_i ± a, everything has a closed form.
//!
//! # Definition
//! With noise that is constant on [-a, a], the smoothed masses F_1 and F = F_0 + F_1 are constant
//! between the sorted points h_i - a and h_i + a. On such a piece G = F_1 - F ρ(u) changes sign
//! only at ρ(u) = F_1 / F, and its integral is F_1 (b - a) - F ∫ρ.
//!
//! In the residual form the masses are those of s_i |y_i - p_i|, and R = F_1 - F_0 is constant on
//! each piece: its integral is |F_1 - F_0| (b - a).
//!
//! # Bound
//! The masses are sums of integers, so they are exact. On a piece, products and the integral of the
//! link have relative errors below 2^-43 of F (b - a), and these add up to 1 over all pieces. A
//! root that is off by rounding costs the square of that. The points h_i ± a are off by the error
//! of h_i and one rounding: each unit of it costs at most the total variation of the noise, 1 / a.
//!
//! In the residual form, masses are rounded once, to within 2^-97 and a unit of 2^-53 of
//! themselves, and are off by 2^-47 in all before that (`smooth.rs`, step 6). Their sums and
//! differences are exact. An error in h_i changes p_i as well, by at most the slope of the link for
//! each unit of it.

use super::integrand::Integrand;
use super::points::Points;
use super::{Integral, Kernel};
use crate::Error;
use crate::numerics::sum::Sum;

/// Weights are integers in units of 2^-96 of the total.
const UNITS: f64 = (1u128 << 96) as f64;

/// A logit with the integer mass that it has for each outcome.
struct Atom {
    logit: f64,
    masses: [i128; 2],
}

pub(super) fn integrate(
    points: &Points,
    kernel: &Kernel<'_>,
    integrand: Integrand,
    half_width: f64,
    tolerance: f64,
) -> Result<Integral, Error> {
    let a = half_width * kernel.sigma;
    let atoms = atoms(points, integrand.masses(points, kernel.link).as_deref());
    let total: i128 = match integrand {
        Integrand::Paper => atoms.iter().map(|atom| atom.masses[0] + atom.masses[1]).sum(),
        Integrand::Residual => UNITS as i128,
    };
    let piece = |masses: [i128; 2], unit: f64, from: f64, to: f64| match integrand {
        Integrand::Paper => piece(kernel, masses, unit, from, to),
        Integrand::Residual => constant_piece(masses, unit, from, to),
    };
    // The density that one unit of weight has on its interval.
    let unit = 1.0 / (total as f64 * 2.0 * a);

    let mut integral = Sum::default();
    let mut masses = [0i128; 2];
    let (mut entering, mut leaving) = (atoms.iter().peekable(), atoms.iter().peekable());
    let mut position = f64::NEG_INFINITY;
    while let Some(next_leaving) = leaving.peek() {
        let end = next_leaving.logit + a;
        let next = match entering.peek() {
            Some(atom) if atom.logit - a <= end => {
                let next = atom.logit - a;
                integral.add(piece(masses, unit, position, next));
                masses[0] += atom.masses[0];
                masses[1] += atom.masses[1];
                entering.next();
                next
            }
            _ => {
                integral.add(piece(masses, unit, position, end));
                masses[0] -= next_leaving.masses[0];
                masses[1] -= next_leaving.masses[1];
                leaving.next();
                end
            }
        };
        position = next;
    }

    let factor = match integrand {
        Integrand::Paper => 0.0,
        Integrand::Residual => kernel.link.derivative_bound(1).unwrap_or(f64::INFINITY) * points.logit_error,
    };
    let bound = (points.logit_error + f64::EPSILON * a) / a + 2f64.powi(-42) + factor;
    if !(bound <= tolerance) {
        let reason = "the logits are rounded more coarsely than that at this sigma";
        return Err(Error::ToleranceNotMet { tolerance, attainable: 1.1 * bound, reason });
    }
    Ok(Integral { value: integral.value(), bound })
}

/// Distinct logits in ascending order, without those of mass 0.
fn atoms(points: &Points, masses: Option<&[f64]>) -> Vec<Atom> {
    let units = |index: usize| match masses {
        None => 1,
        Some(masses) => (masses[index] / points.total_weight * UNITS).round() as i128,
    };
    let mut atoms: Vec<Atom> = Vec::new();
    for index in points.sorted() {
        let (logit, mass) = (points.logits[index], units(index));
        if mass == 0 {
            continue;
        }
        let outcome = usize::from(points.outcomes[index]);
        match atoms.last_mut() {
            Some(last) if last.logit == logit => last.masses[outcome] += mass,
            _ => {
                let mut masses = [0; 2];
                masses[outcome] = mass;
                atoms.push(Atom { logit, masses });
            }
        }
    }
    atoms
}

/// The integral of |R| over [a, b], where the masses are constant.
fn constant_piece(masses: [i128; 2], unit: f64, a: f64, b: f64) -> f64 {
    let difference = masses[1] - masses[0];
    if difference == 0 || a >= b {
        return 0.0;
    }
    difference.unsigned_abs() as f64 * (b - a) * unit
}

/// The integral of |G| over [a, b], where the masses are constant.
fn piece(kernel: &Kernel<'_>, masses: [i128; 2], unit: f64, a: f64, b: f64) -> f64 {
    if masses == [0, 0] || a >= b {
        return 0.0;
    }
    let [negatives, positives] = masses.map(|mass| mass as f64);
    let total = negatives + positives;
    let signed = |a: f64, b: f64| positives * (b - a) - total * kernel.link.integral(a, b);
    if negatives == 0.0 || positives == 0.0 {
        return signed(a, b).abs() * unit;
    }
    let root = kernel.link.inverse(positives / total, negatives / total);
    if a < root && root < b {
        (signed(a, root).abs() + signed(root, b).abs()) * unit
    } else {
        signed(a, b).abs() * unit
    }
}
