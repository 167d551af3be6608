//! Distributions to draw samples from.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::Error;
use crate::measures::ls_ece::LsEce;
use crate::noise::Gaussian;
use crate::population::{Family, Finite, Sample};

/// A distribution that can be drawn from and whose truth is known.
pub trait Population: Send + Sync {
    /// `n` rows drawn independently; the same for the same seed.
    fn sample(&self, n: usize, random_state: u64) -> Sample;

    /// The true ECE.
    fn ece(&self) -> f64;

    /// The true LS-ECE with Gaussian noise of that scale and the logistic link.
    fn ls_ece(&self, sigma: f64) -> Result<f64, Error>;

    /// The true residual form of LS-ECE, with the same noise and link.
    fn residual_ls_ece(&self, sigma: f64) -> Result<f64, Error>;
}

impl Population for Family {
    fn sample(&self, n: usize, random_state: u64) -> Sample {
        Family::sample(self, n, random_state)
    }

    fn ece(&self) -> f64 {
        Family::ece(self).value
    }

    fn ls_ece(&self, sigma: f64) -> Result<f64, Error> {
        Ok(Family::ls_ece(self, &Gaussian, sigma)?.value)
    }

    fn residual_ls_ece(&self, sigma: f64) -> Result<f64, Error> {
        Ok(Family::residual_ls_ece(self, &Gaussian, sigma)?.value)
    }
}

impl Population for Finite {
    fn sample(&self, n: usize, random_state: u64) -> Sample {
        Finite::sample(self, n, random_state)
    }

    fn ece(&self) -> f64 {
        Finite::ece(self)
    }

    fn ls_ece(&self, sigma: f64) -> Result<f64, Error> {
        Ok(Finite::ls_ece(self, &LsEce::new().sigma(sigma))?.value)
    }

    fn residual_ls_ece(&self, sigma: f64) -> Result<f64, Error> {
        Ok(Finite::residual_ls_ece(self, &LsEce::new().sigma(sigma))?.value)
    }
}

/// A population whose true values are computed once, for many simulations of it.
pub struct Remembered<'a> {
    population: &'a dyn Population,
    ece: f64,
    ls_ece: BySigma,
    residual_ls_ece: BySigma,
}

/// Values by the bits of sigma.
type BySigma = Mutex<BTreeMap<u64, f64>>;

impl<'a> Remembered<'a> {
    /// Computes the true ECE now, and LS-ECE and its residual form when they are first requested.
    pub fn new(population: &'a dyn Population) -> Self {
        Remembered { population, ece: population.ece(), ls_ece: Mutex::default(), residual_ls_ece: Mutex::default() }
    }
}

impl Population for Remembered<'_> {
    fn sample(&self, n: usize, random_state: u64) -> Sample {
        self.population.sample(n, random_state)
    }

    fn ece(&self) -> f64 {
        self.ece
    }

    fn ls_ece(&self, sigma: f64) -> Result<f64, Error> {
        remembered(&self.ls_ece, sigma, || self.population.ls_ece(sigma))
    }

    fn residual_ls_ece(&self, sigma: f64) -> Result<f64, Error> {
        remembered(&self.residual_ls_ece, sigma, || self.population.residual_ls_ece(sigma))
    }
}

/// The value that is known at that sigma, or else computed now.
fn remembered(values: &BySigma, sigma: f64, compute: impl FnOnce() -> Result<f64, Error>) -> Result<f64, Error> {
    let known = || values.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known().get(&sigma.to_bits()).copied();
    if let Some(value) = found {
        return Ok(value);
    }
    // Not while it is locked: the integral is on all threads, of which one may ask, too.
    let value = compute()?;
    known().insert(sigma.to_bits(), value);
    Ok(value)
}
