//! A file of any length -> sketches: parts are checked and added on all threads, and only the sketches stay in memory.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use calipers::{BinaryView, Error, Filling, Predictions, Sketch, SketchOptions, Tally};

use crate::args::InputRules;
use crate::dataset::batch::{self, Loaded};
use crate::dataset::columns::{Chosen, Scores};
use crate::dataset::files::InputFile;
use crate::dataset::formats::{self, Column, Part, Table};
use crate::dataset::sketches::{Groups, Sketches};
use crate::progress::Progress;

/// A power of two, and more than there are threads to wait for each other.
const N_SHARDS: usize = 256;

/// One model of a file.
pub(crate) struct Filled {
    pub(crate) sketches: Sketches,
    /// 1 for a plain column.
    pub(crate) n_classes: usize,
}

/// The sketches of each model, in the order of [`Chosen::scores`].
pub(crate) fn fill(
    file: &InputFile,
    table: &dyn Table,
    chosen: &Chosen,
    rules: &InputRules,
    options: &SketchOptions,
) -> Result<Vec<Filled>> {
    let empty = Sketch::with(options)?;
    let wanted = batch::wanted(chosen, rules);
    let start = |extent| {
        let models = chosen.scores.iter().map(|scores| Model::new(*scores, &empty)).collect::<Vec<_>>();
        (Progress::new(&file.name, extent), models)
    };
    let (_, models) = formats::for_each(table, &wanted, rules.limit, start, |(progress, models), part| {
        progress.add(&part);
        let Part { first_row, mut columns, .. } = part;
        let groups = chosen.by.and_then(|_| columns.pop());
        let loaded = Loaded::new(columns, first_row, chosen, rules)?;
        for (model, column) in models.iter().zip(&loaded.scores) {
            let added = model.add(&loaded, column, groups.as_ref(), rules);
            added.map_err(|error| chosen.in_model(table, &model.scores, error))?;
        }
        Ok(())
    })?;
    let by = chosen.by.map(|place| table.names()[place].clone());
    let finished = models.into_iter().map(|model| {
        let scores = model.scores;
        model.finish(by.clone()).map_err(|error| chosen.in_model(table, &scores, error))
    });
    finished.collect()
}

/// One model while its file is read, shared by all threads.
struct Model {
    scores: Scores,
    empty: Sketch,
    /// Sketches that no thread is filling: as many as ever were filled at once. Sums are integers, so it does not matter which rows
    /// went into which.
    idle: Mutex<Vec<Filling>>,
    shards: Vec<Mutex<HashMap<String, Sketch>>>,
    hasher: std::hash::RandomState,
    tally: Mutex<Tally>,
    n_classes: AtomicUsize,
}

impl Model {
    fn new(scores: Scores, empty: &Sketch) -> Self {
        Model {
            scores,
            empty: empty.clone(),
            idle: Mutex::default(),
            shards: (0..N_SHARDS).map(|_| Mutex::default()).collect(),
            hasher: Default::default(),
            tally: Mutex::default(),
            n_classes: AtomicUsize::new(1),
        }
    }

    fn add(&self, loaded: &Loaded, scores: &Column, groups: Option<&Column>, rules: &InputRules) -> Result<(), Error> {
        self.n_classes.store(scores.n_classes, Ordering::Relaxed);
        let mut tally = Tally::default();
        let predictions = loaded.input(scores, self.scores.form, rules)?.check_batch(&mut tally)?;
        let view = predictions.view(loaded.multiclass(rules), rules.ties)?;
        let mut sketch = lock(&self.idle).pop().unwrap_or_else(|| Filling::new(self.empty.empty_like()));
        sketch.update(&view)?;
        lock(&self.idle).push(sketch);
        if let Some(groups) = groups {
            self.add_groups(&predictions, &view, groups)?;
        }
        lock(&self.tally).absorb(&tally);
        Ok(())
    }

    fn add_groups(&self, predictions: &Predictions<'_>, view: &BinaryView<'_>, groups: &Column) -> Result<(), Error> {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for place in 0..view.len() {
            let row = predictions.row(place);
            let key = if groups.is_missing(row) { String::new() } else { groups.values.display(row) };
            places.entry(key).or_default().push(place);
        }
        for (key, places) in places {
            let shard = self.hasher.hash_one(&key) as usize % N_SHARDS;
            let mut shard = lock(&self.shards[shard]);
            shard.entry(key).or_insert_with(|| self.empty.empty_like()).update_selected(view, &places)?;
        }
        Ok(())
    }

    fn finish(self, by: Option<String>) -> Result<Filled, Error> {
        into_inner(self.tally).finish()?;
        let mut filled = into_inner(self.idle).into_iter().map(Filling::finish);
        // Into the first, which is large already.
        let mut all = filled.next().unwrap_or(self.empty);
        filled.try_for_each(|sketch| all.merge(&sketch))?;
        let groups = by.map(|by| {
            let sketches: BTreeMap<String, Sketch> = self.shards.into_iter().flat_map(into_inner).collect();
            Groups { by, sketches }
        });
        Ok(Filled { sketches: Sketches { all, groups }, n_classes: self.n_classes.into_inner() })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
