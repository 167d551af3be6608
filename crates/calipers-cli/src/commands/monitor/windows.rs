//! Files of sketches -> the windows of each group.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use calipers::Sketch;

use super::series::Series;
use crate::dataset::files::InputFile;
use crate::dataset::formats::{open_file, sketch_rows};
use crate::dataset::groups::By;
use crate::dataset::sketches::Sketches;

/// The columns that streams of Spark write.
const START: &str = "window_start";
const END: &str = "window_end";

/// Keys of a row, which may be null.
type Keys = Vec<Option<String>>;

/// All windows, by group.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// The columns of groups, if there are any.
    pub(super) by: Option<String>,
    /// By group; one of `None` without groups.
    pub(super) groups: BTreeMap<Option<String>, Series>,
    /// Rows whose window is null.
    pub(super) n_without_window: u64,
}

/// Sketches by window and keys of the group.
#[derive(Default)]
struct Collected {
    by: Option<Vec<String>>,
    sketches: BTreeMap<(Option<String>, Keys), Sketch>,
}

impl Windows {
    /// `window` is the column of windows, if it was named.
    pub(super) fn read(inputs: &[InputFile], window: Option<&str>) -> Result<Self> {
        let mut files = Vec::new();
        for input in inputs {
            match input.is_folder() {
                true => files.extend(input.members().with_context(|| input.shown())?),
                false => files.push(input.clone()),
            }
        }
        let mut collected = Collected::default();
        for file in &files {
            collected.add(file, window, files.len()).with_context(|| file.shown())?;
        }
        collected.finish()
    }
}

impl Collected {
    fn add(&mut self, file: &InputFile, window: Option<&str>, n_files: usize) -> Result<()> {
        if !file.is_sketch() {
            // A file that is not there, or cannot be read, is no file of another kind.
            open_file(&file.path)?;
            bail!("is no sketch; make one of each window with calipers sketch");
        }
        let name = crate::render::legend::stem(&file.name);
        if !sketch_rows::is_one(&file.path) {
            let all = Sketches::open(file)?.into_all()?;
            return self.insert(Vec::new(), Some(name), Vec::new(), all);
        }
        let (by, sketches) = sketch_rows::read_keyed(&file.path)?;
        let wanted = window.unwrap_or(START);
        let place = by.iter().position(|column| column == wanted);
        let columns = || if by.is_empty() { "none".to_owned() } else { by.join(", ") };
        if place.is_none() && window.is_some() {
            bail!("has no column {wanted:?} of windows; there are {}", columns());
        }
        // One table without a column of windows would be a single window, which nobody means.
        if place.is_none() && n_files == 1 && !by.is_empty() {
            bail!("has no column {START:?}; name the column of windows with --window: there are {}", columns());
        }
        let is_group =
            |column: usize| Some(column) != place && !(wanted == START && place.is_some() && by[column] == END);
        let kept: Vec<usize> = (0..by.len()).filter(|column| is_group(*column)).collect();
        let names: Vec<String> = kept.iter().map(|column| by[*column].clone()).collect();
        for (keys, sketch) in sketches {
            let window = place.map_or_else(|| Some(name.clone()), |place| keys[place].clone());
            let group = kept.iter().map(|column| keys[*column].clone()).collect();
            self.insert(names.clone(), window, group, sketch)?;
        }
        Ok(())
    }

    fn insert(&mut self, by: Vec<String>, window: Option<String>, group: Keys, sketch: Sketch) -> Result<()> {
        if let Some(before) = self.by.replace(by.clone())
            && before != by
        {
            let shown = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            bail!("windows must have the same groups, got {} and {}", shown(&before), shown(&by));
        }
        match self.sketches.entry((window, group)) {
            std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(sketch)),
            std::collections::btree_map::Entry::Occupied(mut place) => place.get_mut().merge(&sketch)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<Windows> {
        let by = By::new(self.by.unwrap_or_default());
        let has_groups = by.is_some();
        let mut windows = Windows { by: by.map(|by| by.to_string()), ..Windows::default() };
        for ((window, group), sketch) in self.sketches {
            let Some(window) = window else {
                windows.n_without_window += sketch.n();
                continue;
            };
            let key = has_groups.then(|| By::key(group.into_iter().map(Option::unwrap_or_default).collect()));
            windows.groups.entry(key).or_default().windows.push((window, sketch));
        }
        if windows.groups.is_empty() {
            bail!("there is no window");
        }
        windows.groups.values_mut().for_each(Series::sort);
        Ok(windows)
    }
}
