//! Rows of a binary outcome as fits read them: logits in place of probabilities, which are clipped
//! first, since 0 and 1 have no finite logit.

use std::ops::Range;

use crate::data::{BinaryView, Rows, Scale};
use crate::numerics::logarithm;

/// What was clipped among some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Clipped {
    pub(crate) n: u64,
    /// Rows with weight that were clipped and had the other outcome: how many, and the first.
    pub(crate) n_contradicted: u64,
    pub(crate) first_contradicted: Option<u64>,
}

impl Clipped {
    pub(crate) fn merge(&mut self, other: Clipped) {
        self.n += other.n;
        self.n_contradicted += other.n_contradicted;
        let firsts = self.first_contradicted.into_iter().chain(other.first_contradicted);
        self.first_contradicted = firsts.min();
    }
}

/// Copies some rows of a view into `rows`, with logits for scores.
pub(crate) fn read(view: &BinaryView<'_>, range: Range<usize>, clip: f64, rows: &mut Rows) -> Clipped {
    view.read(range.clone(), rows);
    let mut clipped = Clipped::default();
    if view.scale() != Scale::Probability {
        return clipped;
    }
    for (place, p) in rows.scores.iter_mut().enumerate() {
        let inside = p.clamp(clip, 1.0 - clip);
        if inside != *p {
            clipped.n += 1;
            *p = inside;
            if rows.weights[place] > 0.0 && rows.outcomes[place] == (inside < 0.5) {
                clipped.n_contradicted += 1;
                clipped.first_contradicted.get_or_insert((range.start + place) as u64);
            }
        }
    }
    logarithm::log_odds(&mut rows.scores);
    clipped
}

/// 2^-e for weights whose largest is in [2^e, 2^(e + 1)): a factor that changes no digit.
pub(crate) fn weight_scale(view: &BinaryView<'_>) -> f64 {
    let exponent = view.largest_weight().log2().floor().clamp(-1000.0, 1000.0);
    2f64.powi(-(exponent as i32))
}
