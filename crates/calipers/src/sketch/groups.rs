//! The cells of a sketch in order, as curves read them: what pooled rows are to a view.

use super::Sketch;
use crate::Error;
use crate::cells::Summary;
use crate::data::Scale;
use crate::link::{Link, Logistic};
use crate::measures::Group;

/// The rows of one cell and one outcome.
pub(crate) struct CellRows {
    /// Which cell, from 0 in ascending order of probability; both outcomes of a cell share it.
    pub(crate) place: usize,
    /// Their mean probability.
    pub(crate) p: f64,
    pub(crate) outcome: bool,
    /// Their share of the whole weight.
    pub(crate) share: f64,
    /// How many rows of equal weight would say as much, at least 1.
    pub(crate) n: u64,
}

impl Sketch {
    /// The occupied cells in ascending order of probability. Raw scores are read by the logistic
    /// link, which cells were made with.
    pub(crate) fn cell_rows(&self, link: &dyn Link) -> Result<Vec<CellRows>, Error> {
        self.check_rows()?;
        if self.scale() == Some(Scale::Link) && link.name() != Logistic.name() {
            let rule = "\"logistic\" for the scores of a sketch of raw scores";
            return Err(Error::setting("link", rule, format!("{:?}", link.name())));
        }
        let mut cells: Vec<(f64, f64, Summary)> = self
            .summaries()
            .filter(|cell| cell.weight > 0.0)
            .map(|cell| {
                let (first, last) = (cell.lower * cell.scale, (cell.lower + cell.width) * cell.scale);
                // Ascending in p: by q below one half, by -q above, which has all its digits where
                // 1 - q has not.
                if cell.upper { (1.0, -last, cell) } else { (0.0, first, cell) }
            })
            .collect();
        cells.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.outcome.cmp(&b.2.outcome)));
        let (total, unit) = (self.total_units() as f64, self.unit());
        let same_cell = |a: &(f64, f64, Summary), b: &(f64, f64, Summary)| (a.0, a.1) == (b.0, b.1);
        let rows = cells.chunk_by(same_cell).enumerate().flat_map(|(place, cell)| {
            cell.iter().map(move |(_, _, cell)| CellRows {
                place,
                p: cell.probability(cell.mean).0.clamp(0.0, 1.0),
                outcome: cell.outcome,
                share: cell.weight / total,
                n: (cell.weight / unit / cell.row_weight).round().max(1.0) as u64,
            })
        });
        Ok(rows.collect())
    }

    /// The cells as groups of rows of one probability, their mean.
    pub(crate) fn groups(&self, link: &dyn Link) -> Result<Vec<Group>, Error> {
        let rows = self.cell_rows(link)?;
        let group = |cell: &[CellRows]| {
            let sum = |of: &dyn Fn(&CellRows) -> f64| cell.iter().map(of).sum::<f64>();
            let weight = sum(&|rows| rows.share);
            Group {
                p: sum(&|rows| rows.share * rows.p) / weight,
                negative: sum(&|rows| if rows.outcome { 0.0 } else { rows.share }),
                positive: sum(&|rows| if rows.outcome { rows.share } else { 0.0 }),
                n: cell.iter().map(|rows| rows.n).sum(),
            }
        };
        Ok(rows.chunk_by(|a, b| a.place == b.place).map(group).collect())
    }
}
