//! The windows of one group, in order.

use std::cmp::Ordering;

use anyhow::{Result, bail};
use calipers::Sketch;

/// Names and sketches of windows.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    pub(super) windows: Vec<(String, Sketch)>,
}

impl Series {
    pub(super) fn sort(&mut self) {
        self.windows.sort_by(|(a, _), (b, _)| order(a, b));
    }

    /// The first `n` windows as one sketch, and those after.
    pub(super) fn split(&self, n: usize) -> Result<(Sketch, Series)> {
        if n == 0 || n >= self.windows.len() {
            bail!("--reference-windows must be from 1 to {}, got {n}", self.windows.len().saturating_sub(1));
        }
        let (first, rest) = self.windows.split_at(n);
        let mut reference = first[0].1.clone();
        first[1..].iter().try_for_each(|(_, sketch)| reference.merge(sketch))?;
        Ok((reference, Series { windows: rest.to_vec() }))
    }

    /// The windows after the one of that name.
    pub(super) fn after(&self, last: Option<&str>) -> Series {
        let is_new = |name: &str| last.is_none_or(|last| order(name, last) == Ordering::Greater);
        Series { windows: self.windows.iter().filter(|(name, _)| is_new(name)).cloned().collect() }
    }
}

/// Whole numbers by their size, before other names.
pub(super) fn order(a: &str, b: &str) -> Ordering {
    match (a.parse::<i64>(), b.parse::<i64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}
