//! What rows add up to: sums at the slopes of all nodes, as integers.

use crate::Error;
use crate::data::ClassScores;
use crate::error::number;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::logarithm;

/// 2^(i/4).
const ROOTS: [f64; 4] = [1.0, 1.189_207_115_002_721, std::f64::consts::SQRT_2, 1.681_792_830_507_429];

/// Octaves below 1, and all.
pub(super) const BELOW: i32 = 24;
const OCTAVES: usize = 32;
pub(super) const NODES: usize = 4 * OCTAVES;

/// Exponentials of one octave are squares of those of the octave below; every so many octaves they
/// are computed anew, before squaring has lost more than 8 bits.
const RESTART: usize = 8;

/// Half the distance of a node from the next, as a share of it: (2^(1/4) - 1) / 2, rounded up.
const HALF_STEP: f64 = 0.094_604;

/// The widest row that sums have room for, and the range of weights.
pub(super) const WIDEST: f64 = (1u64 << 40) as f64;
const HEAVIEST: f64 = (1u64 << 24) as f64;
const LIGHTEST: f64 = 1.0 / (1u64 << 20) as f64;

/// Terms of the bound and of the standard error are cut here.
const LARGEST_REMAINDER: f64 = (1u64 << 60) as f64;
const LARGEST_SQUARE: f64 = (1u64 << 24) as f64;

/// Binary places of sums: of weights and moments, of distances in scores, of remainders and of
/// squares.
pub(super) const MOMENT_BITS: i32 = 60;
pub(super) const DISTANCE_BITS: i32 = 44;
pub(super) const REMAINDER_BITS: i32 = 20;
pub(super) const SQUARE_BITS: i32 = 50;

/// The most rows of a sketch.
pub(super) const MOST_ROWS: u64 = 1 << 38;

/// What rows add up to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sums {
    pub(super) nodes: Vec<Node>,
    /// Rows with weight, and those of each class.
    pub(super) n: u64,
    pub(super) of_class: Vec<u64>,
    pub(super) n_clipped: u64,
    pub(super) weight: i128,
    pub(super) square: i128,
    /// Distances of the labels' scores from the largest, and mean distances.
    pub(super) own: i128,
    pub(super) mean: i128,
    /// The largest range of the scores of a row.
    pub(super) widest: f64,
}

/// Sums at one slope.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Node {
    /// log Σ e^-x.
    pub(super) log: i128,
    /// E x.
    pub(super) first: i128,
    /// Var x.
    pub(super) second: i128,
    /// E (x - E x)³.
    pub(super) third: i128,
    /// w² (x_y - E x)².
    pub(super) square: i128,
    /// The bound of step 3 with the factor of step 4, times β⁷.
    pub(super) remainder: i128,
    /// Rows for which that is too large to be kept.
    pub(super) n_unbounded: u64,
}

/// The slope of a node.
pub(super) fn slope_of(node: usize) -> f64 {
    ROOTS[node % 4] * 2f64.powi((node / 4) as i32 - BELOW)
}

pub(super) fn value(sum: i128, bits: i32) -> f64 {
    sum as f64 * 2f64.powi(-bits)
}

/// Adds a term to a sum of so many binary places.
fn add(sum: &mut i128, term: f64, bits: i32) -> Result<(), Error> {
    add_whole(sum, (term * 2f64.powi(bits)) as i128)
}

fn add_whole(sum: &mut i128, term: i128) -> Result<(), Error> {
    let too_many = || Error::setting("rows", "fewer, or of smaller weights and scores", "sums that overflow");
    *sum = sum.checked_add(term).ok_or_else(too_many)?;
    Ok(())
}

impl Sums {
    pub(super) fn new(n_classes: usize) -> Self {
        Sums {
            nodes: vec![Node::default(); NODES],
            n: 0,
            of_class: vec![0; n_classes],
            n_clipped: 0,
            weight: 0,
            square: 0,
            own: 0,
            mean: 0,
            widest: 0.0,
        }
    }

    /// Adds one row.
    pub(super) fn add(&mut self, scores: &ClassScores<'_>, index: usize, row: &mut [f64]) -> Result<(), Error> {
        let weight = scores.weight(index) * scores.weight_unit;
        if !(weight > 0.0) {
            return Ok(());
        }
        let rule = "0 or from 2^-20 to 2^24 in a temperature sketch; multiply or divide all weights";
        Error::require((LIGHTEST..=HEAVIEST).contains(&weight), "weights", rule, number(weight))?;
        scores.read_row(index, row);
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|score| *score = top - *score);
        let range = row.iter().copied().fold(0.0, f64::max);
        let rule = "at most 2^40 apart in a row of a temperature sketch; divide all scores";
        Error::require(range <= WIDEST, "scores", rule, number(range))?;
        let label = scores.labels[index] as usize;
        let own = row[label];
        self.n += 1;
        self.of_class[label] += 1;
        self.widest = self.widest.max(range);
        add(&mut self.weight, weight, MOMENT_BITS)?;
        add(&mut self.square, weight * weight, MOMENT_BITS)?;
        add(&mut self.own, weight * own, DISTANCE_BITS)?;
        add(&mut self.mean, weight * (row.iter().sum::<f64>() / row.len() as f64), DISTANCE_BITS)?;
        let moments = Moments::of_row(row, range);
        for (place, node) in self.nodes.iter_mut().enumerate() {
            node.add(&moments, place, weight, own, range)?;
        }
        Ok(())
    }

    pub(super) fn merge(&mut self, other: &Sums) -> Result<(), Error> {
        for (node, more) in self.nodes.iter_mut().zip(&other.nodes) {
            add_whole(&mut node.log, more.log)?;
            add_whole(&mut node.first, more.first)?;
            add_whole(&mut node.second, more.second)?;
            add_whole(&mut node.third, more.third)?;
            add_whole(&mut node.square, more.square)?;
            add_whole(&mut node.remainder, more.remainder)?;
            node.n_unbounded += more.n_unbounded;
        }
        self.of_class.iter_mut().zip(&other.of_class).for_each(|(n, more)| *n += more);
        self.n += other.n;
        let rule = format!("at most {MOST_ROWS} in a temperature sketch");
        Error::require(self.n <= MOST_ROWS, "rows", rule, self.n)?;
        self.n_clipped += other.n_clipped;
        self.widest = self.widest.max(other.widest);
        add_whole(&mut self.weight, other.weight)?;
        add_whole(&mut self.square, other.square)?;
        add_whole(&mut self.own, other.own)?;
        add_whole(&mut self.mean, other.mean)
    }
}

/// Σ r^n e^-x for n from 0 to 3 at all nodes, where r is the distance as a share of the range.
struct Moments([[f64; NODES]; 4]);

impl Moments {
    fn of_row(distances: &[f64], range: f64) -> Self {
        let mut sums = [[0.0; NODES]; 4];
        for distance in distances {
            let r = if range > 0.0 { distance / range } else { 0.0 };
            let powers = [1.0, r, r * r, r * r * r];
            for start in (0..NODES).step_by(4 * RESTART) {
                let mut small: [f64; 4] = std::array::from_fn(|i| exp_of_nonpositive(-slope_of(start + i) * distance));
                for octave in (start..start + 4 * RESTART).step_by(4) {
                    for (sums, power) in sums.iter_mut().zip(powers) {
                        for (sum, small) in sums[octave..octave + 4].iter_mut().zip(small) {
                            *sum += power * small;
                        }
                    }
                    small.iter_mut().for_each(|small| *small *= *small);
                }
            }
        }
        Moments(sums)
    }
}

impl Node {
    fn add(&mut self, moments: &Moments, place: usize, weight: f64, own: f64, range: f64) -> Result<(), Error> {
        let Moments([zeroth, first, second, third]) = moments;
        let total = zeroth[place];
        let [a, b, c] = [first, second, third].map(|sums| sums[place] / total);
        let slope = slope_of(place);
        // The range of x, in units of which these moments are.
        let y = slope * range;
        let mean = y * a;
        let variance = y * y * (b - a * a).max(0.0);
        let skew = y * y * y * (c - 3.0 * a * b + 2.0 * a * a * a);
        add(&mut self.log, weight * logarithm::ln(total), MOMENT_BITS)?;
        add(&mut self.first, weight * mean, MOMENT_BITS)?;
        add(&mut self.second, weight * variance, MOMENT_BITS)?;
        add(&mut self.third, weight * skew, MOMENT_BITS)?;
        let away = slope * own - mean;
        add(&mut self.square, weight * weight * (away * away).min(LARGEST_SQUARE), SQUARE_BITS)?;
        // With what rounding of the variance may have taken.
        let larger = (variance + 8.0 * f64::EPSILON * y * y * (b + a * a)) / exp_of_nonpositive(-HALF_STEP * y);
        let remainder = y.powi(5) * larger + 56.0 * y.powi(3) * larger.powi(2) + 210.0 * y * larger.powi(3);
        if remainder <= LARGEST_REMAINDER {
            add(&mut self.remainder, weight * remainder, REMAINDER_BITS)
        } else {
            self.n_unbounded += 1;
            Ok(())
        }
    }
}
