//! A file of any length -> sketches: parts are checked and added on all threads, and only the
//! sketches stay in memory.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use calipers::{Error, Filling, Sketch, SketchOptions, Tally};

use super::Opened;
use super::batch::{self, Batch, Origin};
use super::folds::{FOLD, rows_of_folds};
use super::formats::{self, Numbering, Part};
use super::groups::rows_of_groups;
use super::sketches::{Groups, Sketches};
use crate::progress::Progress;

/// A power of two, and more than there are threads to wait for each other.
const N_SHARDS: usize = 256;

/// Rows of a batch by the name of their group or fold.
type Parts = BTreeMap<String, Vec<usize>>;

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
        let of_folds = n_folds.map(|n_folds| rows_of_folds(&batch, first_row, n_folds)).transpose();
        let of_folds = of_folds.map_err(|error| batch.located(error))?;
        let of_groups = batch.groups.as_ref().map(|groups| rows_of_groups(groups, 0..groups.n_rows()));
        let parts = of_folds.or(of_groups);
        for (place, model) in models.iter().enumerate() {
            let added = model.add(&batch, place, parts.as_ref()).map_err(|error| batch.located(error));
            added.map_err(|error| chosen.in_model(&**table, place, error))?;
        }
        Ok(())
    })?;
    let by = match n_folds {
        Some(_) => Some(FOLD.to_owned()),
        None => chosen.by.map(|place| table.names()[place].clone()),
    };
    let finished = models
        .into_iter()
        .enumerate()
        .map(|(place, model)| model.finish(by.clone()).map_err(|error| chosen.in_model(&**table, place, error)));
    finished.collect()
}

/// One model while its file is read, shared by all threads.
struct Model {
    empty: Sketch,
    /// Sketches that no thread is filling: as many as ever were filled at once. Sums are integers,
    /// so it does not matter which rows went into which.
    idle: Mutex<Vec<Filling>>,
    shards: Vec<Mutex<HashMap<String, Sketch>>>,
    hasher: std::hash::RandomState,
    tally: Mutex<Tally>,
    n_classes: AtomicUsize,
}

impl Model {
    fn new(empty: &Sketch) -> Self {
        Model {
            empty: empty.clone(),
            idle: Mutex::default(),
            shards: (0..N_SHARDS).map(|_| Mutex::default()).collect(),
            hasher: Default::default(),
            tally: Mutex::default(),
            n_classes: AtomicUsize::new(1),
        }
    }

    fn add(&self, batch: &Batch, place: usize, parts: Option<&Parts>) -> Result<(), Error> {
        self.n_classes.store(batch.scores[place].n_classes, Ordering::Relaxed);
        let mut tally = Tally::default();
        let predictions = batch.input(place)?.check_batch(&mut tally)?;
        if let Some(parts) = parts {
            self.add_parts(batch, place, parts)?;
        } else {
            let mut sketch = lock(&self.idle).pop().unwrap_or_else(|| Filling::new(self.empty.empty_like()));
            sketch.update(&batch.view(&predictions)?)?;
            lock(&self.idle).push(sketch);
        }
        lock(&self.tally).absorb(&tally);
        Ok(())
    }

    /// A group is sketched with its rows that are left out, so that all groups together are all
    /// rows.
    fn add_parts(&self, batch: &Batch, place: usize, parts: &Parts) -> Result<(), Error> {
        for (key, rows) in parts {
            let group = batch.select(place, rows);
            let predictions = group.input(0)?.check_batch(&mut Tally::default())?;
            let view = group.view(&predictions)?;
            let shard = self.hasher.hash_one(key) as usize % N_SHARDS;
            let mut shard = lock(&self.shards[shard]);
            shard.entry(key.clone()).or_insert_with(|| self.empty.empty_like()).update(&view)?;
        }
        Ok(())
    }

    fn finish(self, by: Option<String>) -> Result<Sketched, Error> {
        into_inner(self.tally).finish()?;
        let mut filled = into_inner(self.idle).into_iter().map(Filling::finish);
        // Into the first, which is large already.
        let mut all = filled.next().unwrap_or(self.empty);
        filled.try_for_each(|sketch| all.merge(&sketch))?;
        let groups = by.map(|by| {
            let sketches: BTreeMap<String, Sketch> = self.shards.into_iter().flat_map(into_inner).collect();
            Groups { by, sketches }
        });
        // All groups together are all rows.
        groups.iter().flat_map(|groups| groups.sketches.values()).try_for_each(|sketch| all.merge(sketch))?;
        Ok(Sketched { sketches: Sketches { all, groups }, n_classes: self.n_classes.into_inner() })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
