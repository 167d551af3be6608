//! Rows put together by panel of the grid: all that resamples need to know of them.

use std::collections::{BTreeMap, HashMap};

use super::super::Kernel;
use super::super::points::Points;
use super::spacing::{MAX_ORDER, Spacing};
use crate::measures::prelude::Merge;
use crate::numerics::lagrange::Lagrange;
use crate::numerics::parallel;

/// What the points of [`Points`] are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    /// Rows with their weights.
    Rows,
    /// Points that stand for many rows each: as many rows of weight 1 as their own weight, or else
    /// rows of these weights, which are Σ w² / Σ w of the rows.
    Cells { row_weights: Option<&'a [f64]> },
}

/// Sums over the rows of one panel. Those by node are over the nodes that interpolate in the panel.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Panel {
    /// Σ w by outcome.
    pub(super) weight: [f64; 2],
    /// Σ w² by outcome.
    pub(super) squares: [f64; 2],
    /// The largest weight of a row.
    pub(super) largest: f64,
    /// Σ w by outcome and node.
    pub(super) masses: [[f64; MAX_ORDER]; 2],
    /// Σ w (y - p) by outcome and node.
    pub(super) residual_masses: [[f64; MAX_ORDER]; 2],
    /// Σ w (y - p) by outcome.
    pub(super) residuals: [f64; 2],
    /// Σ w p and Σ w (1 - p).
    pub(super) expected: [f64; 2],
    /// Σ w p by node.
    pub(super) expected_masses: [f64; MAX_ORDER],
    /// Σ w² p (1 - p).
    pub(super) variance: f64,
    /// Σ w² p (1 - p) by node.
    pub(super) variance_masses: [f64; MAX_ORDER],
}

impl Panel {
    fn merge(&mut self, other: &Panel) {
        self.weight.merge(other.weight);
        self.squares.merge(other.squares);
        self.largest = self.largest.max(other.largest);
        self.masses.merge(other.masses);
        self.residual_masses.merge(other.residual_masses);
        self.residuals.merge(other.residuals);
        self.expected.merge(other.expected);
        self.expected_masses.merge(other.expected_masses);
        self.variance += other.variance;
        self.variance_masses.merge(other.variance_masses);
    }

    fn add(&mut self, row: Row, nodes: &[f64]) {
        let outcome = usize::from(row.outcome);
        let variance = row.squares * row.response * row.complement;
        let residual = row.weight * if row.outcome { row.complement } else { -row.response };
        self.residuals[outcome] += residual;
        self.weight[outcome] += row.weight;
        self.squares[outcome] += row.squares;
        self.largest = self.largest.max(row.squares / row.weight);
        self.expected[0] += row.weight * row.response;
        self.expected[1] += row.weight * row.complement;
        self.variance += variance;
        for (k, node) in nodes.iter().enumerate() {
            self.masses[outcome][k] += row.weight * node;
            self.residual_masses[outcome][k] += residual * node;
            self.expected_masses[k] += row.weight * row.response * node;
            self.variance_masses[k] += variance * node;
        }
    }
}

/// A row, or rows at one place with one outcome.
struct Row {
    outcome: bool,
    weight: f64,
    squares: f64,
    response: f64,
    complement: f64,
}

/// Panels by their number, in the order in which they came.
struct Table {
    places: Places,
    panels: Vec<(i64, Panel)>,
}

/// The place of each panel, or `NONE`.
enum Places {
    /// From the lowest number on: without hashing.
    Near(i64, Vec<u32>),
    /// Of logits so far apart that most panels between them are empty.
    Far(HashMap<i64, u32>),
}

const NONE: u32 = u32::MAX;

/// Panels for each row, up to which a place is kept for all between the lowest and the highest.
const MOST_PER_ROW: i64 = 4;

impl Table {
    /// For these panels; `None` where one has no number.
    fn new(numbers: impl ExactSizeIterator<Item = Option<(i64, f64)>>) -> Option<Self> {
        let n_rows = numbers.len() as i64;
        let (mut lowest, mut highest) = (i64::MAX, i64::MIN);
        for number in numbers {
            let (number, _) = number?;
            (lowest, highest) = (lowest.min(number), highest.max(number));
        }
        let places = match highest.saturating_sub(lowest) {
            width if (0..MOST_PER_ROW * n_rows + 1024).contains(&width) => {
                Places::Near(lowest, vec![NONE; width as usize + 1])
            }
            _ => Places::Far(HashMap::new()),
        };
        Some(Table { places, panels: Vec::new() })
    }

    fn at(&mut self, number: i64) -> &mut Panel {
        let place = match &mut self.places {
            Places::Near(lowest, places) => &mut places[(number - *lowest) as usize],
            Places::Far(places) => places.entry(number).or_insert(NONE),
        };
        if *place == NONE {
            *place = self.panels.len() as u32;
            self.panels.push((number, Panel::default()));
        }
        &mut self.panels[*place as usize].1
    }

    fn each(&self, mut merge: impl FnMut(i64, &Panel)) {
        self.panels.iter().for_each(|(number, panel)| merge(*number, panel));
    }
}

/// Occupied panels in ascending order; `None` where doubles do not tell panels apart.
pub(super) fn panels(
    points: &Points,
    origin: Origin<'_>,
    kernel: &Kernel<'_>,
    spacing: &Spacing,
) -> Option<BTreeMap<i64, Panel>> {
    let lagrange = Lagrange::new(spacing.order);
    // A number of segments that depends on the data alone.
    let segment = points.len().div_ceil(64).max(parallel::CHUNK);
    let parts = parallel::map_chunks(points.len(), segment, |range| {
        let mut panels = Table::new(points.logits[range.clone()].iter().map(|logit| spacing.panel(*logit)))?;
        for index in range {
            let (weight, logit) = (points.weight(index), points.logits[index]);
            if weight == 0.0 {
                continue;
            }
            let (panel, theta) = spacing.panel(logit)?;
            let (response, complement) = kernel.link.both(logit);
            let squares = match origin {
                Origin::Rows => weight * weight,
                Origin::Cells { row_weights } => weight * row_weights.map_or(1.0, |weights| weights[index]),
            };
            let row = Row { outcome: points.outcomes[index], weight, squares, response, complement };
            panels.at(panel).add(row, &lagrange.weights_at(theta)[..spacing.order]);
        }
        Some(panels)
    });
    let mut all: BTreeMap<i64, Panel> = BTreeMap::new();
    // Segment after segment: the order within a table does not matter, since its numbers are all
    // different.
    for part in parts {
        part?.each(|number, panel| all.entry(number).or_default().merge(panel));
    }
    Some(all)
}
