//! Isotonic regression by pooling adjacent violators.

use super::probabilities::Group;
use crate::numerics::sum::Sum;

/// Neighbouring groups with one outcome rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    /// Groups in the block.
    pub(crate) n_groups: usize,
    negative: Sum,
    positive: Sum,
}

impl Block {
    pub(crate) fn positive(&self) -> f64 {
        self.positive.value()
    }

    pub(crate) fn negative(&self) -> f64 {
        self.negative.value()
    }

    /// Outcome rate.
    pub(crate) fn rate(&self) -> f64 {
        self.positive() / (self.positive() + self.negative())
    }

    /// Whether the rate is not below that of `other`, without a division: a / (a + b) >= c / (c +
    /// d) where a d >= c b.
    fn is_not_below(&self, other: &Block) -> bool {
        self.positive() * other.negative() >= other.positive() * self.negative()
    }
}

/// The increasing step function of p that is nearest to the outcomes, in squares as well as in
/// every other proper score: the blocks of the greatest convex minorant of the cumulated outcomes.
///
/// Groups are ties that are pooled already, so the result does not depend on the order of rows.
/// Every group is pushed once and merged at most once: O(n).
pub(crate) fn isotonic(groups: &[Group]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for group in groups {
        let of = |value: f64| [value].into_iter().collect::<Sum>();
        let mut block = Block { n_groups: 1, negative: of(group.negative), positive: of(group.positive) };
        while let Some(last) = blocks.last().filter(|last| last.is_not_below(&block)) {
            block.n_groups += last.n_groups;
            block.negative.merge(last.negative);
            block.positive.merge(last.positive);
            blocks.pop();
        }
        blocks.push(block);
    }
    blocks
}
