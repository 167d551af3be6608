//! The rows of a batch by group: validated as one batch, then put side by side, group after group.

use std::borrow::Cow;

use super::binary::Grouped;
use super::{BinaryView, InputReport, Multiclass, Outcome, PlainPass, Predictions, Probability, Rows, Ties, checks};
use crate::Error;

/// Rows that are copied at once where they are not plain.
const CHUNK: usize = 1 << 12;

/// The rows of a batch, of which those of a group stand together: a view for each group, for one
/// pass over the batch.
///
/// # Definition
/// [`view`](Self::view) of a group is the view that its rows alone, validated by the same rules,
/// would have: the same scores, outcomes and weights in the same order, and counts of its own rows
/// that were rounded, tied or left out.
///
/// # Cost
/// A counting sort: one pass over the group numbers, and one that copies 9 bytes for each row, 17
/// with weights. Rows are looked at once more only where some were rounded, tied or left out.
///
/// # Example
/// ```
/// use calipers::{Input, Multiclass, Sketch, Tally, Ties};
///
/// let batch = Input::probabilities(&[0.9, 0.2, 0.6, 0.4], &[1, 0, 1, 0]);
/// let batch = batch.check_batch(&mut Tally::default())?;
/// let rows = batch.by_group(&[1, 0, 1, 0], 2, Multiclass::Auto, Ties::First)?;
/// let mut sketches = [Sketch::new(), Sketch::new()];
/// for (group, sketch) in sketches.iter_mut().enumerate() {
///     sketch.update(&rows.view(group))?;
/// }
/// let second = Input::probabilities(&[0.9, 0.6], &[1, 1]).check()?;
/// let mut alone = Sketch::new();
/// alone.update(&second.binary()?)?;
/// assert_eq!(sketches[1], alone);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GroupedRows {
    /// Where the rows of each group start, and at last where those of the last one end.
    starts: Vec<usize>,
    columns: Grouped,
    reports: Vec<InputReport>,
}

impl Predictions<'_> {
    /// The rows of each group. `numbers` has the number of the group, below `n_groups`, for each
    /// row of the batch, those that were left out included.
    pub fn by_group(
        &self,
        numbers: &[u32],
        n_groups: usize,
        multiclass: Multiclass,
        ties: Ties,
    ) -> Result<GroupedRows, Error> {
        let n_rows = self.input.n_rows();
        if numbers.len() != n_rows {
            return Err(Error::LengthMismatch { what: "groups", got: numbers.len(), expected: n_rows });
        }
        let largest = numbers.iter().fold(0, |largest, number| largest.max(*number)) as usize;
        let valid = numbers.is_empty() || largest < n_groups;
        Error::require(valid, "groups", format!("numbers below {n_groups}"), largest)?;
        let view = self.view(multiclass, ties)?;
        let reports = self.reports(numbers, n_groups, &view, ties);
        let mut starts = Vec::with_capacity(n_groups + 1);
        let mut start = 0;
        for report in &reports {
            starts.push(start);
            // proof: rows that were left out are among those read
            start += (report.n_rows - report.n_left_out()) as usize;
        }
        starts.push(start);
        let numbers = match &self.kept {
            None => Cow::Borrowed(numbers),
            Some(kept) => kept.iter().map(|row| numbers[*row]).collect(),
        };
        Ok(GroupedRows { columns: scattered(&view, &numbers, starts.clone()), starts, reports })
    }

    /// The counts of each group.
    fn reports(&self, numbers: &[u32], n_groups: usize, view: &BinaryView<'_>, ties: Ties) -> Vec<InputReport> {
        let mut reports = vec![InputReport::default(); n_groups];
        let mut counts = vec![0u64; n_groups];
        numbers.iter().for_each(|number| counts[*number as usize] += 1);
        reports.iter_mut().zip(counts).for_each(|(report, n_rows)| report.n_rows = n_rows);
        let InputReport { n_rounded, n_inexact_sums, left_out, .. } = &self.report;
        if *n_rounded > 0 || *n_inexact_sums > 0 || !left_out.is_empty() {
            checks::count_by_group(&self.input, numbers, &mut reports);
        }
        if view.report().n_ties > 0 {
            for (index, (top, _)) in self.tops(ties).into_iter().flatten().enumerate() {
                reports[numbers[self.row(index)] as usize].n_ties += u64::from(top.tied);
            }
        }
        reports
    }
}

impl GroupedRows {
    /// Number of groups, those without rows included.
    pub fn n_groups(&self) -> usize {
        self.reports.len()
    }

    /// The rows of a group. Panics if there is no such group.
    pub fn view(&self, group: usize) -> BinaryView<'_> {
        self.columns.view(self.starts[group]..self.starts[group + 1], self.reports[group].clone())
    }
}

/// The rows of a view, each at the next place of its group, whose number it has.
fn scattered(view: &BinaryView<'_>, numbers: &[u32], mut next: Vec<usize>) -> Grouped {
    let mut grouped = Grouped::like(view);
    if let Some(plain) = view.plain() {
        let Grouped { scores, outcomes, .. } = &mut grouped;
        plain.visit(0..view.len(), Scatter { numbers, next, scores, outcomes });
        return grouped;
    }
    let mut rows = Rows::default();
    for (start, numbers) in (0..view.len()).step_by(CHUNK).zip(numbers.chunks(CHUNK)) {
        view.read(start..start + numbers.len(), &mut rows);
        for (((&number, &score), &outcome), &weight) in
            numbers.iter().zip(&rows.scores).zip(&rows.outcomes).zip(&rows.weights)
        {
            let place = next_place(&mut next, number);
            grouped.scores[place] = score;
            grouped.outcomes[place] = outcome;
            if let Some(weights) = &mut grouped.weights {
                weights[place] = weight;
            }
        }
    }
    grouped
}

#[inline(always)]
fn next_place(next: &mut [usize], number: u32) -> usize {
    let next = &mut next[number as usize];
    *next += 1;
    *next - 1
}

/// The pass over plain rows.
struct Scatter<'a> {
    numbers: &'a [u32],
    next: Vec<usize>,
    scores: &'a mut [f64],
    outcomes: &'a mut [bool],
}

impl PlainPass for Scatter<'_> {
    type Output = ();

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) {
        let Scatter { numbers, mut next, scores, outcomes } = self;
        for ((&number, &p), label) in numbers.iter().zip(probabilities).zip(labels) {
            let place = next_place(&mut next, number);
            scores[place] = p.into();
            outcomes[place] = label.bit() == 1;
        }
    }
}
