//! The sketch of a group while rows come.

use calipers::{BinaryView, Error, Filling, Sketch};

use crate::options::Kind;

/// Rows from which on a table for filling, of 5 MB, is a part of what they take anyway.
const MANY: u64 = 1 << 17;

/// A sketch; with the table for filling where there are many rows.
#[derive(Clone)]
pub(super) enum Filled {
    Few(Box<Sketch>),
    Many(Box<Filling>),
}

impl Default for Filled {
    fn default() -> Self {
        Filled::Few(Box::default())
    }
}

impl Filled {
    pub(super) fn new(kind: &Kind) -> Self {
        Filled::Few(Box::new(kind.empty.empty_like()))
    }

    /// Whether chunks of any size are added quickly.
    pub(super) fn takes_any(&self) -> bool {
        matches!(self, Filled::Many(_))
    }

    /// With a table for filling, if there are enough rows for it.
    pub(super) fn with_table(self) -> Self {
        match self {
            // Weighted rows do not go through that table.
            Filled::Few(sketch) if sketch.n() >= MANY && !sketch.is_weighted() => {
                Filled::Many(Box::new(Filling::new(*sketch)))
            }
            filled => filled,
        }
    }

    pub(super) fn update(&mut self, view: &BinaryView<'_>) -> Result<(), Error> {
        match self {
            Filled::Few(sketch) => sketch.update(view),
            Filled::Many(filling) => filling.update(view),
        }
    }

    pub(super) fn merge(&mut self, other: &Filled) -> Result<(), Error> {
        let mut sketch = std::mem::take(self).finish();
        match other {
            Filled::Few(other) => sketch.merge(other)?,
            Filled::Many(other) => sketch.merge(&other.clone().finish())?,
        }
        *self = Filled::Few(Box::new(sketch));
        Ok(())
    }

    pub(super) fn finish(self) -> Sketch {
        match self {
            Filled::Few(sketch) => *sketch,
            Filled::Many(filling) => filling.finish(),
        }
    }
}
