//! Files -> rows in memory, or sketches of those that are too many.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use calipers::{Form, Predictions, SketchOptions};
use calipers_report::Options;

use super::ReportArgs;
use crate::args::InputRules;
use crate::dataset::batch;
use crate::dataset::batch::Loaded;
use crate::dataset::columns;
use crate::dataset::files::InputFile;
use crate::dataset::formats;
use crate::dataset::formats::Column;
use crate::dataset::groups;
use crate::dataset::model::{Columns, Measured, Method};
use crate::dataset::sketches::Sketches;
use crate::dataset::sketching;

/// Files of more rows are shown through a sketch.
const MOST_ROWS: u64 = 200_000;

pub(super) struct Reader<'a> {
    args: &'a ReportArgs,
    rules: &'a InputRules,
    /// What stands for many rows, if anything can with these options.
    sketch: Option<SketchOptions>,
}

/// A file, read.
pub(super) struct Opened {
    pub(super) file: PathBuf,
    /// What was read for each model; a file of sketches does not know.
    pub(super) columns: Vec<Option<Columns>>,
    pub(super) content: Content,
}

pub(super) enum Content {
    Rows(Box<InMemory>),
    /// One for each model.
    Sketches(Vec<Sketches>),
}

pub(super) struct InMemory {
    pub(super) loaded: Loaded,
    /// As they were in the file, before they were compared with predicted classes.
    pub(super) labels: Column,
    forms: Vec<Form>,
    /// The column that tells groups apart, and its name.
    pub(super) groups: Option<(String, Column)>,
    clusters: Option<Column>,
}

/// A model whose rows are sound.
pub(super) struct Checked<'a> {
    pub(super) predictions: Predictions<'a>,
    pub(super) clusters: Option<Vec<u32>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(args: &'a ReportArgs, rules: &'a InputRules, options: &Options) -> Self {
        // Only what a sketch answers as well as the rows do.
        let possible = args.ls_ece.sketch_options().zip(args.ece.n_bins_of_a_sketch());
        let sketch = possible.map(|(_, n_bins)| options.sketch(n_bins));
        Reader { args, rules, sketch }
    }

    pub(super) fn open(&self, file: &InputFile) -> Result<Opened> {
        let cluster = self.args.draws.cluster.as_deref();
        if file.is_sketch() {
            if cluster.is_some() {
                bail!("--cluster needs the rows, which a sketch has lost");
            }
            let sketches = Sketches::read(&file.path)?;
            return Ok(Opened {
                file: file.name.clone(),
                columns: vec![None],
                content: Content::Sketches(vec![sketches]),
            });
        }
        let (table, chosen) = columns::open(file, &self.args.input, cluster, self.rules.invalid)?;
        let most_rows = if self.sketch.is_some() && cluster.is_none() { MOST_ROWS } else { u64::MAX };
        let wanted = batch::wanted(&chosen, self.rules);
        let columns_of = |n_classes: &dyn Fn(usize) -> usize| {
            let scores = chosen.scores.iter().enumerate();
            let of = |(place, scores)| Some(Columns::new(&*table, &chosen, scores, n_classes(place), self.rules));
            scores.map(of).collect::<Vec<Option<Columns>>>()
        };
        match (formats::collect(&*table, &wanted, self.rules.limit, most_rows)?, &self.sketch) {
            (Some(mut columns), _) => {
                let clusters = chosen.cluster.and_then(|_| columns.pop());
                let by = chosen.by.map(|place| table.names()[place].clone());
                let groups = by.and_then(|by| Some((by, columns.pop()?)));
                // proof: labels come after the scores, and are always wanted
                let labels = columns.get(chosen.scores.len()).cloned().ok_or_else(|| anyhow!("no labels"))?;
                let loaded = Loaded::new(columns, 0, &chosen, self.rules)?;
                let columns = columns_of(&|place| loaded.scores[place].n_classes);
                let forms = chosen.scores.iter().map(|scores| scores.form).collect();
                let content = Content::Rows(Box::new(InMemory { loaded, labels, forms, groups, clusters }));
                Ok(Opened { file: file.name.clone(), columns, content })
            }
            (None, Some(options)) => {
                let filled = sketching::fill(file, &*table, &chosen, self.rules, options)?;
                let columns = columns_of(&|place| filled[place].n_classes);
                let sketches = filled.into_iter().map(|filled| filled.sketches).collect();
                Ok(Opened { file: file.name.clone(), columns, content: Content::Sketches(sketches) })
            }
            (None, None) => bail!("too many rows to keep"),
        }
    }
}

impl Opened {
    pub(super) fn n_models(&self) -> usize {
        self.columns.len()
    }

    /// The rows of each model, checked; none of sketches.
    pub(super) fn check(&self, rules: &InputRules) -> Result<Vec<Checked<'_>>> {
        let Content::Rows(rows) = &self.content else { return Ok(Vec::new()) };
        let mut checked = Vec::new();
        for ((scores, form), columns) in rows.loaded.scores.iter().zip(&rows.forms).zip(&self.columns) {
            let of_model = |error: calipers::Error| match (columns, self.n_models()) {
                (Some(columns), 2..) => anyhow!("{}: {}: {error}", self.file.display(), columns.prob),
                _ => anyhow!("{}: {error}", self.file.display()),
            };
            let predictions =
                rows.loaded.input(scores, *form, rules).and_then(calipers::Input::check).map_err(of_model)?;
            let kept: Vec<usize> = (0..predictions.len()).map(|place| predictions.row(place)).collect();
            let clusters = rows.clusters.as_ref().map(|column| groups::numbered(column, &kept)).transpose();
            checked.push(Checked { predictions, clusters: clusters.map_err(of_model)? });
        }
        Ok(checked)
    }

    /// The models, as tables name them.
    pub(super) fn measured(&self) -> Vec<Measured<()>> {
        let method = if matches!(self.content, Content::Rows(_)) { Method::Rows } else { Method::Sketch };
        let of = |columns: &Option<Columns>| Measured {
            files: vec![self.file.clone()],
            columns: columns.clone(),
            group: None,
            method,
            figures: (),
        };
        self.columns.iter().map(of).collect()
    }
}
