//! Where samples come from.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::Error;
use crate::ls_ece::LsEce;
use crate::noise::Gaussian;
use crate::population::{Family, Finite, Sample};

/// A distribution that can be drawn from and whose truth is known.
pub trait Population: Send + Sync {
    /// `n` rows drawn independently; the same for the same seed.
    fn sample(&self, n: usize, seed: u64) -> Sample;

    /// The true ECE.
    fn ece(&self) -> f64;

    /// The true LS-ECE with Gaussian noise of that scale and the logistic link.
    fn ls_ece(&self, sigma: f64) -> Result<f64, Error>;
}

impl Population for Family {
    fn sample(&self, n: usize, seed: u64) -> Sample {
        Family::sample(self, n, seed)
    }

    fn ece(&self) -> f64 {
        Family::ece(self).value
    }

    fn ls_ece(&self, sigma: f64) -> Result<f64, Error> {
        Ok(Family::ls_ece(self, &Gaussian, sigma)?.value)
    }
}

impl Population for Finite {
    fn sample(&self, n: usize, seed: u64) -> Sample {
        Finite::sample(self, n, seed)
    }

    fn ece(&self) -> f64 {
        Finite::ece(self)
    }

    fn ls_ece(&self, sigma: f64) -> Result<f64, Error> {
        Ok(Finite::ls_ece(self, &LsEce::new().sigma(sigma))?.value)
    }
}

/// A population whose figures are computed once: for many simulations of one.
pub struct Remembered<'a> {
    population: &'a dyn Population,
    ece: f64,
    /// LS-ECE by the bits of sigma.
    ls_ece: Mutex<BTreeMap<u64, f64>>,
}

impl<'a> Remembered<'a> {
    /// Knows the true ECE; LS-ECE is computed where it is asked for.
    pub fn new(population: &'a dyn Population) -> Self {
        Remembered { population, ece: population.ece(), ls_ece: Mutex::default() }
    }
}

impl Population for Remembered<'_> {
    fn sample(&self, n: usize, seed: u64) -> Sample {
        self.population.sample(n, seed)
    }

    fn ece(&self) -> f64 {
        self.ece
    }

    fn ls_ece(&self, sigma: f64) -> Result<f64, Error> {
        let known = || self.ls_ece.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&sigma.to_bits()).copied();
        if let Some(value) = found {
            return Ok(value);
        }
        // Not while it is locked: the integral is on all threads, of which one may ask, too.
        let value = self.population.ls_ece(sigma)?;
        known().insert(sigma.to_bits(), value);
        Ok(value)
    }
}
