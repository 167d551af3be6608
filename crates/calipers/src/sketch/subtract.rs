//! Taking rows out of a sketch again, which integers allow.

use super::bytes::{Stored, check_agreement, check_sums};
use super::layout::Layout;
use super::table::Column;
use super::tables::Tables;
use super::{Cells, N_TABLES, Sketch};
use crate::Error;
use crate::data::InputReport;
use crate::measures::binned::BinTotals;

impl Sketch {
    /// The sketch of the rows that are not those of `part`: `month.subtract(&day)` is the sketch of
    /// the other days.
    ///
    /// # Definition
    /// If `self` is the sketch of some batches, and `part` that of some of them, the result is the
    /// sketch of the others. It has the same bytes, but for what sums cannot tell: it is weighted
    /// if `self` is and a row is left, whether or not the batches that are left have weights; and
    /// the error of scores is that of `self`, which can only differ if batches had different kinds
    /// of scores. Of two profiles and resolutions the coarser is taken, as by
    /// [`merge`](Self::merge).
    ///
    /// # Accuracy
    /// Exact. A part that is not contained gives an error if any count or sum would be one that no
    /// rows have; a part of other rows that happen to have sums that fit cannot be told.
    ///
    /// # Example
    /// ```
    /// use calipers::{Input, Sketch};
    ///
    /// let monday = Input::probabilities(&[0.9, 0.2, 0.6], &[1, 0, 1]).check()?;
    /// let tuesday = Input::probabilities(&[0.3, 0.8], &[0, 0]).check()?;
    /// let (mut first, mut second) = (Sketch::new(), Sketch::new());
    /// first.update(&monday.binary()?)?;
    /// second.update(&tuesday.binary()?)?;
    /// let mut both = first.clone();
    /// both.merge(&second)?;
    /// assert_eq!(both.subtract(&first)?.to_bytes(), second.to_bytes());
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn subtract(&self, part: &Sketch) -> Result<Sketch, Error> {
        self.options().check_mergeable(part.options())?;
        self.check_scale(part.scale)?;
        let fits = self.is_weighted() || !part.is_weighted();
        fits.then_some(()).ok_or(Error::NotContained { what: "weights" })?;
        let (mut rest, mut part) = (self.clone(), part.clone());
        let options = self.options().no_finer_than(part.options());
        rest.widen_to(options.clone());
        part.widen_to(options);
        if self.is_weighted() {
            part.make_weighted();
        }
        let layout = rest.layout();
        rest.cells = match (&rest.cells, &part.cells) {
            (Cells::Plain(ours), Cells::Plain(theirs)) => Cells::Plain(difference(ours, theirs, layout)?),
            (Cells::Weighted(ours), Cells::Weighted(theirs)) => Cells::Weighted(difference(ours, theirs, layout)?),
            // proof: made weighted above, or both plain
            _ => return Err(Error::NotContained { what: "weights" }),
        };
        rest.n = less("rows", rest.n, part.n)?;
        rest.units = rest.units.checked_sub(part.units).ok_or(Error::NotContained { what: "weights" })?;
        for (ours, theirs) in rest.bins.iter_mut().flatten().zip(part.bins.iter().flatten()) {
            *ours = without(*ours, *theirs).ok_or(Error::NotContained { what: "rows of a bin" })?;
        }
        rest.n_clipped = less("clipped rows", rest.n_clipped, part.n_clipped)?;
        rest.n_rounded_weights = less("rounded weights", rest.n_rounded_weights, part.n_rounded_weights)?;
        rest.report = report_without(&rest.report, &part.report)?;
        if rest.n == 0 {
            (rest.scale, rest.score_error) = (None, 0.0);
            rest.cells = Cells::Plain(Tables::default());
        }
        check_agreement(&rest).map_err(|_| Error::NotContained { what: "sums" })?;
        Ok(rest)
    }
}

fn less(what: &'static str, whole: u64, part: u64) -> Result<u64, Error> {
    whole.checked_sub(part).ok_or(Error::NotContained { what })
}

fn without(whole: BinTotals, part: BinTotals) -> Option<BinTotals> {
    let rest = BinTotals {
        count: whole.count.checked_sub(part.count)?,
        weight: whole.weight.checked_sub(part.weight)?,
        positive: whole.positive.checked_sub(part.positive)?,
        probability: whole.probability.checked_sub(part.probability)?,
    };
    (rest.count > 0 || rest == BinTotals::default()).then_some(rest)
}

fn report_without(whole: &InputReport, part: &InputReport) -> Result<InputReport, Error> {
    let mut rest = InputReport {
        n_rows: less("rows", whole.n_rows, part.n_rows)?,
        n_rounded: less("rounded probabilities", whole.n_rounded, part.n_rounded)?,
        n_inexact_sums: less("inexact row sums", whole.n_inexact_sums, part.n_inexact_sums)?,
        n_ties: less("ties", whole.n_ties, part.n_ties)?,
        left_out: whole.left_out.clone(),
    };
    for (kind, count) in &part.left_out {
        let ours = rest.left_out.entry(kind).or_default();
        *ours = less("rows that were left out", *ours, *count)?;
    }
    rest.left_out.retain(|_, count| *count > 0);
    if rest.n_left_out() > rest.n_rows {
        return Err(Error::NotContained { what: "rows" });
    }
    Ok(rest)
}

/// The cells of `whole` without the rows of `part`, both settled first.
fn difference<S: Stored>(whole: &Tables<S>, part: &Tables<S>, layout: Layout) -> Result<Tables<S>, Error> {
    let (whole, part) = (whole.settled(layout), part.settled(layout));
    let mut columns: [Column<S>; N_TABLES] = std::array::from_fn(|_| Column::default());
    for ((column, ours), theirs) in columns.iter_mut().zip(whole.tables()).zip(part.tables()) {
        let mut theirs = theirs.iter().peekable();
        for (cell, sums) in ours.iter() {
            let rest = match theirs.next_if(|(other, _)| *other == cell) {
                Some((_, part)) => sums.less(part, layout).ok_or(Error::NotContained { what: "rows of a cell" })?,
                None => sums,
            };
            if rest != S::default() {
                check_sums(&rest, layout).map_err(|_| Error::NotContained { what: "rows of a cell" })?;
                column.push(cell, rest);
            }
        }
        if theirs.peek().is_some() {
            return Err(Error::NotContained { what: "rows of a cell" });
        }
    }
    Ok(Tables::of(columns))
}
