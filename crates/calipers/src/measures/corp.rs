//! CORP: what of a proper score is miscalibration, found by isotonic regression.

use super::isotonic::{Block, isotonic};
use super::prelude::*;
use crate::data::Sample;
use crate::inference::CellWeights;

/// The proper score that is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProperScore {
    /// (y - p)².
    #[default]
    Brier,
    /// -ln p where y = 1, -ln(1 - p) where y = 0; infinite where an outcome had probability 0.
    Log,
}

names! { ProperScore, "score";
    Brier = "brier",
    Log = "log",
}

impl ProperScore {
    /// Score of the outcomes of a group at probability p.
    fn at(self, positive: f64, negative: f64, p: f64) -> f64 {
        match self {
            ProperScore::Brier => positive * (1.0 - p) * (1.0 - p) + negative * p * p,
            ProperScore::Log => times_ln(positive, 1.0 / p) - times(negative, (-p).ln_1p()),
        }
    }

    /// Score at p less score at q: what is common to both is left out, so nothing is lost where p
    /// is near q.
    fn excess(self, positive: f64, negative: f64, p: f64, q: f64) -> f64 {
        match self {
            ProperScore::Brier => (p - q) * (negative * (p + q) - positive * ((1.0 - p) + (1.0 - q))),
            ProperScore::Log => times_ln(positive, q / p) + times_ln(negative, (1.0 - q) / (1.0 - p)),
        }
    }
}

/// weight · ln(ratio), where no weight makes it 0 whatever the ratio.
fn times_ln(weight: f64, ratio: f64) -> f64 {
    times(weight, ratio.ln())
}

fn times(weight: f64, value: f64) -> f64 {
    if weight == 0.0 { 0.0 } else { weight * value }
}

/// A mean score and its parts: score = miscalibration - discrimination + uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CorpDecomposition {
    /// Mean score of the probabilities.
    pub score: f64,
    /// By how much the isotonic fit scores better: never negative, 0 where the probabilities are
    /// the fit.
    pub miscalibration: f64,
    /// By how much the isotonic fit scores better than the overall rate: never negative.
    pub discrimination: f64,
    /// Mean score of the overall rate.
    pub uncertainty: f64,
    /// Bound on the numerical error of each part.
    pub numerical_bound: f64,
}

/// The isotonic fit: for each distinct probability, its share of the weight and the rate that it
/// should have been.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IsotonicCurve {
    /// Distinct probabilities, ascending.
    pub probabilities: Vec<f64>,
    /// Share of the weight at each.
    pub shares: Vec<f64>,
    /// Fitted outcome rate at each, never descending.
    pub outcome_rates: Vec<f64>,
}

measure! {
    /// CORP miscalibration: by how much a score would improve if the probabilities were replaced by
    /// their isotonic regression.
    ///
    /// # Definition
    /// ```text
    /// MCB = S(p) - S(PAV),  DSC = S(ȳ) - S(PAV),  UNC = S(ȳ),   so that S(p) = MCB - DSC + UNC
    /// ```
    /// with S the weighted mean of a proper score (Brier unless set, or the log score), ȳ the
    /// overall rate, and PAV the isotonic regression of the outcomes on p by pooling adjacent
    /// violators. Equal probabilities are pooled first, so the order of rows does not matter.
    /// [`estimate`](Measure::estimate) gives MCB, [`decompose`](Self::decompose) all parts,
    /// [`curve`](Self::curve) the fit.
    ///
    /// # Assumptions
    /// The true rate does not fall as p rises. 0 ln 0 is 0: a log score is infinite only where an
    /// outcome was given probability 0, and then MCB is too. Raw scores are rounded to
    /// probabilities first.
    ///
    /// # Cost
    /// O(n log n) time for a sort, then one pass.
    ///
    /// # Accuracy
    /// Numerical: parts are sums of differences group by group, so that a small MCB is not the
    /// difference of two large scores; the bound is some units of rounding of the terms.
    /// Statistical: biased up, by about n^(-2/3).
    ///
    /// # Reference
    /// Dimitriadis, Gneiting, Jordan, "Stable reliability diagrams for probabilistic classifiers",
    /// PNAS 118, 2021.
    ///
    /// # Example
    /// 0.2 and 0.4 had outcomes 1 and 0, so both get 0.5; 0.9 had outcome 1 and gets 1.
    /// ```
    /// use calipers::{Corp, Measure, Input};
    ///
    /// let predictions = Input::probabilities(&[0.2, 0.4, 0.9], &[1, 0, 1]).check()?;
    /// let view = predictions.binary()?;
    /// let parts = Corp::new().decompose(&view)?;
    /// assert!((parts.score - (0.64 + 0.16 + 0.01) / 3.0).abs() < 1e-15);
    /// assert!((parts.miscalibration - (parts.score - 0.5 / 3.0)).abs() < 1e-15);
    /// assert!((parts.uncertainty - 2.0 / 9.0).abs() < 1e-15);
    /// assert_eq!(Corp::new().curve(&view)?.outcome_rates, [0.5, 0.5, 1.0]);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct Corp {
        /// Of the Brier score.
        new;

        /// The score that is taken apart.
        score: ProperScore = ProperScore::Brier;

        link: Link;
    }
}

impl Corp {
    /// The score and its parts.
    pub fn decompose(&self, view: &BinaryView<'_>) -> Result<CorpDecomposition, Error> {
        let pooled = Pooled::new(view, &*self.link)?;
        let blocks = isotonic(&pooled.groups);
        let total = |part: fn(&Block) -> f64| blocks.iter().map(part).collect::<Sum>().value();
        let (positive, negative) = (total(Block::positive), total(Block::negative));
        let overall = positive / (positive + negative);
        let (mut score, mut miscalibration, mut discrimination) =
            (Parts::default(), Parts::default(), Parts::default());
        let mut groups = pooled.groups.iter();
        for block in &blocks {
            let rate = block.rate();
            for group in groups.by_ref().take(block.n_groups) {
                score.add(self.score.at(group.positive, group.negative, group.p));
                miscalibration.add(self.score.excess(group.positive, group.negative, group.p, rate));
            }
            discrimination.add(self.score.excess(block.positive(), block.negative(), overall, rate));
        }
        // Rates and shares have an error of some units of rounding, and so has every term; rates
        // move a score by less.
        let terms = 1.0 + score.absolute + miscalibration.absolute + discrimination.absolute;
        let infinite = score.value() == f64::INFINITY;
        Ok(CorpDecomposition {
            score: score.value(),
            miscalibration: if infinite { f64::INFINITY } else { miscalibration.value().max(0.0) },
            discrimination: discrimination.value().max(0.0),
            uncertainty: self.score.at(positive, negative, overall),
            numerical_bound: if infinite { 0.0 } else { 16.0 * f64::EPSILON * terms + 2.0 * pooled.score_error() },
        })
    }

    /// The isotonic fit.
    ///
    /// # Accuracy
    /// Of a sketch, rows of a cell are pooled at their mean, whatever the fit would have made of
    /// them: of steps within 2^-resolution logits nothing is seen.
    pub fn curve<'s>(&self, sample: impl Into<Sample<'s>>) -> Result<IsotonicCurve, Error> {
        let groups = sample.into().groups(&*self.link)?;
        let rates = isotonic(&groups).into_iter().flat_map(|block| std::iter::repeat_n(block.rate(), block.n_groups));
        Ok(IsotonicCurve {
            probabilities: groups.iter().map(|group| group.p).collect(),
            shares: groups.iter().map(Group::weight).collect(),
            outcome_rates: rates.collect(),
        })
    }
}

entry! { ENTRY = Corp::new(); SPEC }

const SPEC: Spec = Spec::error("corp_miscalibration", "Brier score less that of the isotonic recalibration")
    .title("CORP miscalibration")
    .family(Family::Score)
    .reference("Dimitriadis, Gneiting, Jordan, PNAS 118, 2021")
    .range(0.0, 1.0)
    .cost(Cost::Quick)
    .options(&[OptionSpec::choice("score", &["brier", "log"], "The proper score that is decomposed."), LINK]);

/// Of the log score, which has no largest value.
const OF_LOG_SCORE: Spec = SPEC.range(0.0, f64::INFINITY);

impl Measure for Corp {
    described! { self => if self.score == ProperScore::Brier { &SPEC } else { &OF_LOG_SCORE } }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let parts = self.decompose(view)?;
        let estimate = Estimate::new(self.spec(), parts.miscalibration, parts.numerical_bound).of(view);
        Ok(estimate.with("score", self.score.name()).with("link", self.link.name()))
    }

    /// Inside of cells nothing is fitted, which makes values smaller: by 3.5 % with three rows a
    /// cell at 6,000 rows. So there are more cells than for other measures.
    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        Ok(Some(Cells::new(8192).valued_by(|cells| self.of_cells(cells))))
    }
}

/// Neighbouring cells with one outcome rate: of a draw, whose last bits do not matter.
#[derive(Clone, Copy)]
struct Pool {
    n_cells: usize,
    weights: [f64; 2],
}

impl Pool {
    /// As [`isotonic`] asks it, without a division.
    fn is_not_below(&self, other: &Pool) -> bool {
        self.weights[1] * other.weights[0] >= other.weights[1] * self.weights[0]
    }
}

impl Corp {
    /// The miscalibration of cells in the order of their probabilities; those of a draw may have no
    /// weight, and pool with whatever is beside them.
    fn of_cells(&self, cells: &[CellWeights]) -> f64 {
        let mut pools: Vec<Pool> = Vec::new();
        for cell in cells {
            let mut pool = Pool { n_cells: 1, weights: cell.weights };
            while let Some(last) = pools.last().filter(|last| last.is_not_below(&pool)) {
                pool.n_cells += last.n_cells;
                (pool.weights[0], pool.weights[1]) =
                    (pool.weights[0] + last.weights[0], pool.weights[1] + last.weights[1]);
                pools.pop();
            }
            pools.push(pool);
        }
        let (mut excess, mut total) = (0.0, 0.0);
        let mut rest = cells;
        for pool in &pools {
            let [negative, positive] = pool.weights;
            let (of_pool, after) = rest.split_at(pool.n_cells);
            rest = after;
            if !(negative + positive > 0.0) {
                continue;
            }
            total += negative + positive;
            let rate = positive / (negative + positive);
            for CellWeights { p, weights: [negative, positive] } in of_pool {
                excess += self.score.excess(*positive, *negative, *p, rate);
            }
        }
        (excess / total).max(0.0)
    }
}

/// A sum, and that of the absolute values, on which its rounding depends.
#[derive(Debug, Default)]
struct Parts {
    sum: Sum,
    absolute: f64,
    infinite: bool,
}

impl Parts {
    fn add(&mut self, value: f64) {
        if value == f64::INFINITY {
            // A compensated sum would make a NaN of it.
            self.infinite = true;
        } else {
            self.sum.add(value);
            self.absolute += value.abs();
        }
    }

    fn value(&self) -> f64 {
        if self.infinite { f64::INFINITY } else { self.sum.value() }
    }
}
