//! A target, and the limits on what one call may take.

use std::sync::{Mutex, PoisonError};

use crate::spent::{self, Spent};

/// A decoder with the properties that it must keep for all bytes.
#[derive(Debug)]
pub struct Target {
    /// The name of its folder of seeds.
    pub name: &'static str,
    /// What its bytes are, in one line.
    pub about: &'static str,
    /// The most bytes that an engine should try.
    pub max_len: usize,
    /// Of allocated bytes, at their peak.
    pub memory: Limit,
    /// Of seconds of the processor, over all threads.
    pub seconds: Limit,
    pub(crate) run: fn(&[u8]),
}

/// At most `fixed`, and `per_byte` more for each byte of the input.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// What any call may take.
    pub fixed: f64,
    /// What each byte may add.
    pub per_byte: f64,
}

impl Limit {
    pub(crate) const fn new(fixed: f64, per_byte: f64) -> Self {
        Limit { fixed, per_byte }
    }

    fn of(self, n_bytes: usize) -> f64 {
        self.fixed + self.per_byte * n_bytes as f64
    }
}

/// Memory is that of the whole process, so that calls must not overlap.
static ALONE: Mutex<()> = Mutex::new(());

impl Target {
    /// Runs the decoder on these bytes.
    ///
    /// # Panics
    /// If a property does not hold, or the call takes more memory or time than is allowed.
    pub fn check(&self, bytes: &[u8]) {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (memory, seconds) = (self.memory.of(bytes.len()), self.seconds.of(bytes.len()));
        let mut spent = Spent::of(|| (self.run)(bytes));
        if spent.seconds > seconds {
            // The machine may have been busy with something else, which the processor's time tells.
            spent.seconds = spent::processor_time(|| (self.run)(bytes));
        }
        assert!(
            spent.bytes as f64 <= memory,
            "{} bytes of input took {} bytes of memory; at most {memory} are allowed",
            bytes.len(),
            spent.bytes
        );
        assert!(
            spent.seconds <= seconds,
            "{} bytes of input took {} s of the processor; at most {seconds} are allowed",
            bytes.len(),
            spent.seconds
        );
    }
}
