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
    /// The occupied cells in ascending order of probability; those of both outcomes together.
    pub(crate) fn cells_in_order(&self) -> Vec<Vec<Summary>> {
        // By q below one half, by -q above, which has all its digits where 1 - q has not.
        let place = |cell: &Summary| match cell.upper {
            true => -((cell.lower + cell.width) * cell.scale),
            false => cell.lower * cell.scale,
        };
        let mut cells: Vec<Summary> = self.summaries().filter(|cell| cell.weight > 0.0).collect();
        let order = |a: &Summary, b: &Summary| a.upper.cmp(&b.upper).then(place(a).total_cmp(&place(b)));
        cells.sort_by(|a, b| order(a, b).then(a.outcome.cmp(&b.outcome)));
        cells.chunk_by(|a, b| order(a, b).is_eq()).map(<[Summary]>::to_vec).collect()
    }

    /// The occupied cells in ascending order of probability. Raw scores are read by the logistic
    /// link, which cells were made with.
    pub(crate) fn cell_rows(&self, link: &dyn Link) -> Result<Vec<CellRows>, Error> {
        self.check_rows()?;
        if self.scale() == Some(Scale::Link) && link.name() != Logistic.name() {
            let rule = "\"logistic\" for the scores of a sketch of raw scores";
            return Err(Error::setting("link", rule, format!("{:?}", link.name())));
        }
        let (total, unit) = (self.total_units() as f64, self.unit());
        let rows = self.cells_in_order().into_iter().enumerate().flat_map(|(place, cell)| {
            cell.into_iter().map(move |cell| CellRows {
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
