//! Resamples of what is made of the gaps between curve and diagonal at the rows, on the grid of
//! LS-ECE.
//!
//! The curve is positives / all of the smoothed masses at the nodes, and its gap the quotient of G
//! and all. Rows of a panel, which is narrow against sigma, have the gap at the panel's mean logit,
//! in a straight line between its two nodes.

use super::super::LsEce;
use super::OnGrid;
use super::grid::Grid;
use super::rows::RowDraws;
use crate::Error;
use crate::data::BinaryView;
use crate::inference::{Resampler, RowResampler};
use crate::measure::Measure;
use crate::numerics::random::Normals;

/// The statistic of gaps, with the weight of each.
pub(crate) type OfGaps<'a> = Box<dyn Fn(Vec<(f64, f64)>) -> f64 + Sync + 'a>;

/// Draws of a statistic of the gaps at the rows.
struct GapDraws<'a> {
    rows: RowResampler<'a>,
    grid: Grid,
    laws: RowDraws,
    /// The node before the rows of each cell, and where between it and the next they are.
    places: Vec<(usize, f64)>,
    /// The smoothed masses of all rows.
    density: Vec<f64>,
    of_gaps: OfGaps<'a>,
    value: f64,
}

/// G and the smoothed masses, at every node.
struct Smoothed {
    gaps: Vec<f64>,
    density: Vec<f64>,
}

impl GapDraws<'_> {
    /// G and the masses with the rows of each cell and outcome counted `factor` times.
    fn smoothed(&self, mut factor: impl FnMut(usize, usize) -> f64) -> Smoothed {
        let (mut positives, mut all) = (self.grid.nodes.no_masses(), self.grid.nodes.no_masses());
        for (place, cell) in self.grid.cells.iter().enumerate() {
            for outcome in [0, 1].into_iter().filter(|outcome| cell.sums.weight[*outcome] > 0.0) {
                let (factor, masses) = (factor(place, outcome), &cell.sums.masses[outcome][..self.grid.order]);
                all.add(cell.first, factor, masses);
                if outcome == 1 {
                    positives.add(cell.first, factor, masses);
                }
            }
        }
        let (mut gaps, density) = (self.grid.nodes.smooth(&positives), self.grid.nodes.smooth(&all));
        let responses = gaps.iter_mut().zip(&density).zip(&self.grid.nodes.responses);
        responses.for_each(|((gap, density), response)| *gap -= response * density);
        Smoothed { gaps, density }
    }

    /// The statistic of the gaps at the cells, with these weights.
    fn statistic(&self, gaps: &[f64], density: &[f64], weight: impl Fn(usize) -> f64) -> f64 {
        let at = |node: usize| {
            let all = density[node];
            // Next to nothing is rounding; rows are where there is some.
            if all > 0.0 { (gaps[node] / all).clamp(-1.0, 1.0) } else { 0.0 }
        };
        let gap = |(index, &(node, x)): (usize, &(usize, f64))| {
            let weight = weight(index);
            (weight > 0.0).then(|| (((1.0 - x) * at(node) + x * at(node + 1)).abs(), weight))
        };
        (self.of_gaps)(self.places.iter().enumerate().filter_map(gap).collect())
    }

    fn weight(&self, cell: usize) -> f64 {
        let [negative, positive] = self.grid.cells[cell].sums.weight;
        negative + positive
    }
}

impl Resampler for GapDraws<'_> {
    fn value(&self) -> f64 {
        self.value
    }

    /// With the outcomes of the rows in the place of drawn ones.
    fn calibrated_value(&self) -> f64 {
        let gaps = self.grid.gaps_of_surpluses(self.laws.seen_surpluses());
        self.statistic(&gaps, &self.density, |cell| self.weight(cell))
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let gaps = self.grid.gaps_of_surpluses(self.laws.drawn_surpluses(&mut Normals::new(draw)));
        self.statistic(&gaps, &self.density, |cell| self.weight(cell))
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let mut random = Normals::new(draw);
        let mut weights = vec![0.0; self.grid.cells.len()];
        let Smoothed { gaps, density } = self.smoothed(|cell, outcome| {
            let factor = self.laws.drawn_factor(cell, outcome, &mut random);
            weights[cell] += factor * self.grid.cells[cell].sums.weight[outcome];
            factor / self.grid.total_weight
        });
        self.statistic(&gaps, &density, |cell| weights[cell])
    }

    fn effective_rows(&self) -> f64 {
        self.rows.effective_rows()
    }

    fn range(&self) -> (f64, f64) {
        self.rows.range()
    }
}

impl LsEce {
    /// Resamples of `measure`, which is `of_gaps` of the gaps at the rows; `None` without a grid.
    pub(crate) fn gap_resampler<'a, E: Measure>(
        &self,
        measure: &'a E,
        view: &'a BinaryView<'a>,
        of_gaps: OfGaps<'a>,
    ) -> Result<Option<Box<dyn Resampler + 'a>>, Error> {
        self.check_settings()?;
        let Some(OnGrid { points, grid }) = self.on_grid(view)? else { return Ok(None) };
        let laws = RowDraws::of_points(&grid, &points, &*self.link);
        let rows = RowResampler::new(measure, view, None)?;
        let place = |cell: &super::grid::Cell| {
            let node_sum = |of: fn(usize) -> f64| -> f64 {
                let masses = (0..grid.order).map(|k| of(k) * (cell.sums.masses[0][k] + cell.sums.masses[1][k]));
                masses.sum()
            };
            // Polynomials of a degree above 0 have their mean at the mean of the rows.
            let inside = node_sum(|k| k as f64) / node_sum(|_| 1.0);
            let first = grid.order / 2 - 1;
            (grid.nodes.smoothed_place(cell.first) + first, (inside - first as f64).clamp(0.0, 1.0))
        };
        let places = grid.cells.iter().map(place).collect();
        let mut draws = GapDraws { rows, laws, places, density: Vec::new(), of_gaps, value: 0.0, grid };
        let share = 1.0 / draws.grid.total_weight;
        let Smoothed { gaps, density } = draws.smoothed(|_, _| share);
        draws.value = draws.statistic(&gaps, &density, |cell| draws.weight(cell));
        draws.density = density;
        Ok(Some(Box::new(draws)))
    }
}
