//! A file as a stream of parts: so many rows at a time that memory stays the same however long the
//! file is.
//!
//! Several threads take parts from one [`Stream`]. Each takes them in ascending order, so of
//! several faults the one of the first row is known, however the parts fall to threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use super::{Column, Numbering, Role, Table};

/// Rows of a part, where the format leaves the choice: enough to amortise what a part costs, few
/// enough for the cache.
pub(crate) const PART_ROWS: usize = 1 << 16;

/// Some rows of the wanted columns.
#[derive(Debug)]
pub(crate) struct Part {
    /// The first row's number in the file.
    pub(crate) first_row: u64,
    pub(crate) columns: Vec<Column>,
    /// How much of the stream's [`Extent`] this part is.
    pub(crate) extent: u64,
}

impl Part {
    pub(crate) fn n_rows(&self) -> usize {
        self.columns.first().map_or(0, Column::n_rows)
    }
}

/// How long a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Rows(u64),
    /// Where rows are not known before they are read.
    Bytes(u64),
}

/// Why a part could not be read, or is invalid, and where it begins.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) first_row: u64,
    pub(crate) error: anyhow::Error,
}

/// The parts that fall to one thread, in ascending order.
pub(crate) type Parts<'a> = Box<dyn Iterator<Item = Result<Part, Failure>> + 'a>;

/// The wanted columns of a file, from which several threads take parts.
pub(crate) trait Stream: Send + Sync {
    fn extent(&self) -> Extent;

    /// Parts for one thread. Each part of the file falls to one thread; to the only one, all fall
    /// in order.
    fn parts(&self) -> Parts<'_>;

    /// Errors that are known only after the last part.
    fn finish(&self) -> Result<()> {
        Ok(())
    }
}

/// A part does not fit what the parts before it were taken for: the file has to be read again from
/// its start. The table has learnt, so it will fit then.
#[derive(Debug)]
pub(crate) struct ReadAgain;

impl std::fmt::Display for ReadAgain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the file changed while it was read")
    }
}

impl std::error::Error for ReadAgain {}

/// A column learns at most from integers to numbers to text: one that learns more is a file that
/// somebody writes to.
const MOST_READINGS: usize = 64;

fn until_it_fits<T>(mut read: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..MOST_READINGS {
        match read() {
            Err(error) if error.is::<ReadAgain>() => {}
            result => return result,
        }
    }
    read()
}

/// Whole columns.
pub(crate) struct Collected {
    pub(crate) columns: Vec<Column>,
    /// Which rows of the file they are.
    pub(crate) numbering: Numbering,
}

/// The wanted columns whole, up to the limit, if there are at most so many rows then.
pub(crate) fn collect(
    table: &dyn Table,
    wanted: &[(usize, Role)],
    limit: u64,
    most_rows: u64,
) -> Result<Option<Collected>> {
    until_it_fits(|| {
        let stream = table.stream(wanted, limit)?;
        if matches!(stream.extent(), Extent::Rows(n_rows) if n_rows > most_rows) {
            return Ok(None);
        }
        let mut columns: Vec<Vec<Column>> = wanted.iter().map(|_| Vec::new()).collect();
        let (mut n_rows, mut n_missing, mut numbering) = (0, vec![0; wanted.len()], Numbering::default());
        for part in stream.parts() {
            let part = part.map_err(|failure| failure.error)?;
            numbering.push(n_rows, part.first_row);
            n_rows += part.n_rows() as u64;
            if n_rows > most_rows {
                return Ok(None);
            }
            for (index, part) in part.columns.into_iter().enumerate() {
                n_missing[index] += part.n_missing();
                // proof: rows that are in memory
                wanted[index].1.check_missing_lists(n_missing[index], n_rows as usize, part.n_classes)?;
                columns[index].push(part);
            }
        }
        stream.finish()?;
        let whole = columns.into_iter().zip(wanted).map(|(parts, (_, role))| Ok(Column::concat(parts, *role)?));
        Ok(Some(Collected { columns: whole.collect::<Result<_>>()?, numbering }))
    })
}

/// Hands all parts up to the limit to `take`, one after another in the order of the file.
pub(crate) fn in_order<S>(
    table: &dyn Table,
    wanted: &[(usize, Role)],
    limit: u64,
    mut start: impl FnMut(Extent) -> Result<S>,
    mut take: impl FnMut(&mut S, Part) -> Result<()>,
) -> Result<S> {
    until_it_fits(|| {
        let stream = table.stream(wanted, limit)?;
        let mut state = start(stream.extent())?;
        for part in stream.parts() {
            take(&mut state, part.map_err(|failure| failure.error)?)?;
        }
        stream.finish()?;
        Ok(state)
    })
}

/// Hands all parts up to the limit to `take`, on all threads, or on the one of them that calls it;
/// `start` makes what a reading of the file begins with, `state` of which all threads share.
pub(crate) fn for_each<S: Sync>(
    table: &dyn Table,
    wanted: &[(usize, Role)],
    limit: u64,
    start: impl Fn(Extent) -> S,
    take: impl Fn(&S, Part) -> Result<()> + Sync,
) -> Result<S> {
    until_it_fits(|| {
        let stream = table.stream(wanted, limit)?;
        let state = start(stream.extent());
        let failures = Failures::default();
        let work = || {
            for part in stream.parts() {
                if part.as_ref().is_ok_and(|part| failures.precede(part.first_row)) {
                    break;
                }
                let taken = part.and_then(|part| {
                    let first_row = part.first_row;
                    take(&state, part).map_err(|error| Failure { first_row, error })
                });
                if let Err(failure) = taken {
                    failures.lock().push(failure);
                    break;
                }
            }
        };
        match rayon::current_thread_index() {
            // Other threads have files of their own.
            Some(_) => work(),
            None => drop(rayon::broadcast(|_| work())),
        }
        failures.first()?;
        stream.finish()?;
        Ok(state)
    })
}

/// The failures of all threads, of which the one that is first in the file counts.
#[derive(Default)]
struct Failures(Mutex<Vec<Failure>>);

impl Failures {
    fn lock(&self) -> MutexGuard<'_, Vec<Failure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a failure before that row makes all later parts pointless.
    fn precede(&self, row: u64) -> bool {
        self.lock().iter().any(|failure| failure.first_row < row)
    }

    fn first(self) -> Result<()> {
        let mut all = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.sort_by_key(|failure| failure.first_row);
        // What was learnt is kept, and the failure will come again if it still is one.
        if all.iter().any(|failure| failure.error.is::<ReadAgain>()) {
            return Err(ReadAgain.into());
        }
        all.into_iter().next().map_or(Ok(()), |failure| Err(failure.error))
    }
}
