//! A file of any length -> sketches: parts are checked and added on all threads, and only the
//! sketches stay in memory.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use calipers::{Error, Filling, GroupedRows, Sketch, SketchOptions, Tally};

use super::Opened;
use super::batch::{self, Batch, Origin};
use super::folds::{FOLD, row_folds};
use super::formats::{self, Numbering, Part};
use super::groups::{By, RowGroups, check_number};
use super::sketches::Sketches;
use crate::progress::Progress;

/// A batch of fewer rows is small.
const FEW_ROWS: usize = 1 << 12;

/// So many small batches are added one by one.
const FEW_BATCHES: u32 = 16;

/// One model of a file.
pub(super) struct Sketched {
    pub(super) sketches: Sketches,
    /// 1 for a plain column.
    pub(super) n_classes: usize,
}

/// The sketches of each model, in the order of [`Chosen::scores`]: of all rows, and of each group
/// or fold where there are some.
pub(super) fn sketch_models(
    opened: &Opened<'_>,
    options: &SketchOptions,
    n_folds: Option<usize>,
) -> Result<Vec<Sketched>> {
    let Opened { file, table, chosen, rules } = opened;
    let empty = Sketch::with(options)?;
    let wanted = batch::wanted(chosen, rules);
    let start = |extent| {
        let models = chosen.scores.iter().map(|_| Model::new(&empty)).collect::<Vec<_>>();
        (Progress::new(&file.name, extent), models)
    };
    let (_, models) = formats::for_each(&**table, &wanted, rules.limit(), start, |(progress, models), part| {
        progress.add(&part);
        let Part { first_row, columns, .. } = part;
        let origin = Origin { table: Arc::clone(table), numbering: Numbering::default(), first_row };
        let batch = Batch::new(columns, origin, chosen, rules)?;
        let folds = n_folds.map(|n_folds| row_folds(&batch, first_row, n_folds)).transpose();
        let folds = folds.map_err(|error| batch.located(error))?;
        let groups = folds.as_ref().or(batch.groups.as_ref());
        for (place, model) in models.iter().enumerate() {
            let added = model.add(&batch, place, groups).map_err(|error| batch.located(error));
            added.map_err(|error| chosen.in_model(&**table, place, error))?;
        }
        Ok(())
    })?;
    let by = match n_folds {
        Some(_) => vec![FOLD.to_owned()],
        None => chosen.by.iter().map(|place| table.names()[*place].clone()).collect(),
    };
    let by = By::new(by);
    let finish = |(place, model): (usize, Model)| {
        let finished = model.finish(by.clone()).map_err(|error| chosen.in_model(&**table, place, error))?;
        let n_groups = finished.sketches.groups.as_ref().map_or(0, |groups| groups.sketches.len());
        // A batch has been checked alone.
        check_number(n_groups, rules.max_groups)?;
        Ok(finished)
    };
    models.into_iter().enumerate().map(finish).collect()
}

/// One model while its file is read, shared by all threads.
struct Model {
    empty: Sketch,
    /// Sketches that no thread is filling: as many as ever were filled at once. Sums are integers,
    /// so it does not matter which rows went into which.
    idle: Mutex<Vec<Filling>>,
    /// The rows of the first batches that are small: for a few rows, to make a [`Filling`] would
    /// take far longer than all else.
    few: Mutex<(Sketch, u32)>,
    groups: Shards,
    tally: Mutex<Tally>,
    n_classes: AtomicUsize,
}

impl Model {
    fn new(empty: &Sketch) -> Self {
        Model {
            empty: empty.clone(),
            idle: Mutex::default(),
            few: Mutex::new((empty.empty_like(), 0)),
            groups: Shards::new(),
            tally: Mutex::default(),
            n_classes: AtomicUsize::new(1),
        }
    }

    fn add(&self, batch: &Batch, place: usize, groups: Option<&RowGroups>) -> Result<(), Error> {
        self.n_classes.store(batch.scores[place].n_classes, Ordering::Relaxed);
        let mut tally = Tally::default();
        let predictions = batch.input(place)?.check_batch(&mut tally)?;
        match groups {
            None if batch.scores[place].n_rows() < FEW_ROWS && self.take_turn() => {
                lock(&self.few).0.update(&batch.view(&predictions)?)?;
            }
            None => {
                let mut sketch = lock(&self.idle).pop().unwrap_or_else(|| Filling::new(self.empty.empty_like()));
                sketch.update(&batch.view(&predictions)?)?;
                lock(&self.idle).push(sketch);
            }
            // With rows that are left out, so that all groups together are all rows.
            Some(groups) => self.groups.add(&groups.keys, &batch.by_group(&predictions, groups)?, &self.empty)?,
        }
        lock(&self.tally).absorb(&tally);
        Ok(())
    }

    /// Whether a small batch is one of the first.
    fn take_turn(&self) -> bool {
        let n = &mut lock(&self.few).1;
        *n = n.saturating_add(1);
        *n <= FEW_BATCHES
    }

    fn finish(self, by: Option<By>) -> Result<Sketched, Error> {
        into_inner(self.tally).finish()?;
        let sketches = match by {
            Some(by) => Sketches::of_groups(by, self.groups.finish()),
            None => {
                let mut filled = into_inner(self.idle).into_iter().map(Filling::finish);
                let (few, _) = into_inner(self.few);
                // Into the first, which is large already.
                let mut all = filled.next().unwrap_or(self.empty);
                filled.try_for_each(|sketch| all.merge(&sketch))?;
                all.merge(&few)?;
                Sketches::one(all)
            }
        };
        Ok(Sketched { sketches, n_classes: self.n_classes.into_inner() })
    }
}

/// More than there are threads to wait for each other.
const N_SHARDS: usize = 256;

/// The sketches of all groups, each of which one thread at a time can fill: a group has one sketch
/// however many threads there are.
struct Shards {
    shards: Vec<Mutex<HashMap<String, Sketch>>>,
    hasher: std::hash::RandomState,
    /// Counts batches.
    next: AtomicUsize,
}

impl Shards {
    fn new() -> Self {
        let shards = (0..N_SHARDS).map(|_| Mutex::default()).collect();
        Shards { shards, hasher: Default::default(), next: AtomicUsize::new(0) }
    }

    /// Adds the rows of a batch, whose groups have these keys.
    fn add(&self, keys: &[String], rows: &GroupedRows, empty: &Sketch) -> Result<(), Error> {
        // Batches begin at different shards, so that threads do not follow each other.
        let first = self.next.fetch_add(N_SHARDS / 3, Ordering::Relaxed);
        let turn = |key: &String| (self.hasher.hash_one(key) as usize).wrapping_sub(first) % N_SHARDS;
        let mut order: Vec<(usize, usize)> = keys.iter().map(turn).zip(0..).collect();
        order.sort_unstable();
        for of_shard in order.chunk_by(|a, b| a.0 == b.0) {
            let mut shard = lock(&self.shards[of_shard[0].0.wrapping_add(first) % N_SHARDS]);
            for &(_, group) in of_shard {
                let key = &keys[group];
                if !shard.contains_key(key) {
                    shard.insert(key.clone(), empty.empty_like());
                }
                if let Some(sketch) = shard.get_mut(key) {
                    sketch.update(&rows.view(group))?;
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> BTreeMap<String, Sketch> {
        self.shards.into_iter().flat_map(into_inner).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
