//! The sketch of a group while rows come.

use calipers::{BinaryView, Error, Filling, Sketch};

use crate::options::Kind;

/// Rows from which on a group has a table for filling of 5 MB: a part of what so many rows take.
const MANY: u64 = 1 << 17;

/// A sketch; with the table for filling where there are many rows.
#[derive(Clone)]
pub(super) enum Filled {
    Few(Sketch),
    Many(Box<Filling>),
}

impl Default for Filled {
    fn default() -> Self {
        Filled::Few(Sketch::new())
    }
}

impl Filled {
    pub(super) fn new(kind: &Kind) -> Self {
        Filled::Few(kind.empty.empty_like())
    }

    pub(super) fn update(&mut self, view: &BinaryView<'_>) -> Result<(), Error> {
        match self {
            Filled::Many(filling) => filling.update(view),
            Filled::Few(sketch) => {
                sketch.update(view)?;
                // Weighted rows do not go through that table.
                if sketch.n() >= MANY && !sketch.is_weighted() {
                    *self = Filled::Many(Box::new(Filling::new(sketch.clone())));
                }
                Ok(())
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Filled) -> Result<(), Error> {
        let mut sketch = std::mem::take(self).finish();
        match other {
            Filled::Few(other) => sketch.merge(other)?,
            Filled::Many(other) => sketch.merge(&other.clone().finish())?,
        }
        *self = Filled::Few(sketch);
        Ok(())
    }

    pub(super) fn finish(self) -> Sketch {
        match self {
            Filled::Few(sketch) => sketch,
            Filled::Many(filling) => filling.finish(),
        }
    }
}
