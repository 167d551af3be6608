//! The one way in: files -> rows in memory, or sketches of them, with a name for every column.
//!
//! ```text
//! files (patterns, folders, standard input) -> formats (file -> columns) -> columns (which is which: names, classes)
//!     -> batch (named columns) -> few rows: kept       -> Dataset
//!                              -> many rows: sketching -> Dataset
//! ```
//!
//! [`Reader`] opens a file for every command; [`listing`] tells what is in one.

pub(crate) mod batch;
mod classes;
pub(crate) mod columns;
pub(crate) mod files;
pub(crate) mod folds;
pub(crate) mod formats;
pub(crate) mod groups;
mod labels;
pub(crate) mod listing;
pub(crate) mod model;
mod names;
pub(crate) mod pairing;
pub(crate) mod sketches;
mod sketching;
pub(crate) mod whole_rows;

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use calipers::{Multiclass, SketchOptions};

use crate::args::{InputArgs, InputRules};
use batch::{Batch, Origin};
use columns::Chosen;
use files::InputFile;
use formats::{Collected, Table};
use model::{Columns, Measured, Method};
use sketches::Sketches;

/// Files of more rows are read into a sketch, where a sketch answers as well as the rows do.
const MOST_ROWS_IN_MEMORY: u64 = 1 << 20;

/// How a command reads its files.
pub(crate) struct Reader<'a> {
    pub(crate) args: &'a InputArgs,
    /// The column that tells clusters apart.
    pub(crate) cluster: Option<&'a str>,
    /// What stands for many rows; `None` where only the rows will do.
    pub(crate) sketch: Option<SketchOptions>,
}

/// A file that was read, with what is known of each of its models.
pub(crate) struct Dataset<C = Content> {
    pub(crate) file: InputFile,
    pub(crate) models: Vec<Measured<()>>,
    pub(crate) content: C,
}

/// A file of predictions, and which of its columns is what.
struct Opened<'a> {
    file: &'a InputFile,
    table: Arc<dyn Table>,
    chosen: Chosen,
    /// With the class that `--multiclass` names.
    rules: InputRules,
}

/// The predictions of a file.
pub(crate) enum Content {
    Rows(Box<Batch>),
    /// One for each model.
    Sketches(Vec<Sketches>),
}

/// A command that needs all rows of a file and has one result for them, in the words of its errors.
pub(crate) struct WholeFiles {
    pub(crate) verb: &'static str,
    /// What needs the rows.
    pub(crate) needs: &'static str,
    /// Whether its result is by group if there are groups.
    pub(crate) by_group: bool,
}

impl WholeFiles {
    /// A reader that keeps all rows, without classes.
    pub(crate) fn reader<'a>(&self, args: &'a InputArgs, cluster: Option<&'a str>) -> Result<Reader<'a>> {
        if args.rules.multiclass.asked == Multiclass::Classwise {
            bail!("{} does not accept --multiclass classwise; choose a class, as --multiclass 3", self.verb);
        }
        if args.by.is_some() && !self.by_group {
            bail!("{} does not accept --by; pass a file for each group", self.verb);
        }
        Ok(Reader { args, cluster, sketch: None })
    }
}

impl Reader<'_> {
    /// Rows if they are few or needed, else sketches.
    pub(crate) fn open(&self, file: &InputFile) -> Result<Dataset> {
        if file.is_sketch() {
            return Ok(self.open_sketch(file)?.map(Content::Sketches));
        }
        let opened = self.open_table(file)?;
        let most_rows = match &self.sketch {
            Some(_) if opened.chosen.cluster.is_none() => MOST_ROWS_IN_MEMORY,
            _ => u64::MAX,
        };
        match (self.rows(&opened, most_rows)?, &self.sketch) {
            (Some(rows), _) => Ok(rows.map(|batch| Content::Rows(Box::new(batch)))),
            (None, Some(options)) => Ok(self.sketches(&opened, options, None)?.map(Content::Sketches)),
            (None, None) => bail!(TOO_MANY_ROWS),
        }
    }

    /// All rows, for a command that needs them.
    pub(crate) fn open_rows(&self, file: &InputFile, whole_files: &WholeFiles) -> Result<Dataset<Batch>> {
        if file.is_sketch() {
            bail!("{} does not accept a sketch: {} need the rows", whole_files.verb, whole_files.needs);
        }
        self.rows(&self.open_table(file)?, u64::MAX)?.context(TOO_MANY_ROWS)
    }

    /// A sketch of each model, however few rows there are.
    pub(crate) fn open_sketches(&self, file: &InputFile, options: &SketchOptions) -> Result<Dataset<Vec<Sketches>>> {
        if file.is_sketch() { self.open_sketch(file) } else { self.sketches(&self.open_table(file)?, options, None) }
    }

    /// A sketch of each model and fold; rows of a cluster are in the same fold.
    pub(crate) fn open_folds(
        &self,
        file: &InputFile,
        options: &SketchOptions,
        n_folds: usize,
    ) -> Result<Dataset<Vec<Sketches>>> {
        self.sketches(&self.open_table(file)?, options, Some(n_folds))
    }

    /// A file of sketches, to which no option of rows applies.
    fn open_sketch(&self, file: &InputFile) -> Result<Dataset<Vec<Sketches>>> {
        let given = [("--cluster", self.cluster.is_some()), ("--limit", self.args.rules.limit.is_some())];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
            bail!("{option} needs the rows, which a sketch does not have");
        }
        let content = vec![Sketches::open(file)?];
        let models = vec![Measured::new(file, None, Method::Sketch)];
        Ok(Dataset { file: file.clone(), models, content })
    }

    fn open_table<'a>(&self, file: &'a InputFile) -> Result<Opened<'a>> {
        let (table, chosen) = columns::open(file, self.args, self.cluster)?;
        let classes = chosen.scores.iter().map(|model| &model.classes[..]);
        let multiclass = self.args.rules.multiclass.of_classes(classes)?;
        let rules = InputRules { multiclass, ..self.args.rules.clone() };
        Ok(Opened { file, table: table.into(), chosen, rules })
    }

    /// `None` if there are more rows.
    fn rows(&self, opened: &Opened<'_>, most_rows: u64) -> Result<Option<Dataset<Batch>>> {
        let Opened { table, chosen, rules, .. } = opened;
        let collected = formats::collect(&**table, &batch::wanted(chosen, rules), rules.limit(), most_rows)?;
        let Some(Collected { columns, numbering }) = collected else { return Ok(None) };
        let origin = Origin { table: Arc::clone(table), numbering, first_row: 0 };
        let content = Batch::new(columns, origin, chosen, rules)?;
        let models = self.models(opened, Method::Rows, |model| content.scores[model].n_classes);
        Ok(Some(Dataset { file: opened.file.clone(), models, content }))
    }

    fn sketches(
        &self,
        opened: &Opened<'_>,
        options: &SketchOptions,
        n_folds: Option<usize>,
    ) -> Result<Dataset<Vec<Sketches>>> {
        let sketched = sketching::sketch_models(opened, options, n_folds)?;
        let models = self.models(opened, Method::Sketch, |model| sketched[model].n_classes);
        let content = sketched.into_iter().map(|sketched| sketched.sketches).collect();
        Ok(Dataset { file: opened.file.clone(), models, content })
    }

    fn models(&self, opened: &Opened<'_>, method: Method, n_classes: impl Fn(usize) -> usize) -> Vec<Measured<()>> {
        let model = |(place, scores)| {
            let columns = Columns::new(&*opened.table, &opened.chosen, scores, n_classes(place), &opened.rules);
            Measured::new(opened.file, Some(columns), method)
        };
        opened.chosen.scores.iter().enumerate().map(model).collect()
    }
}

impl<C> Dataset<C> {
    fn map<D>(self, map: impl FnOnce(C) -> D) -> Dataset<D> {
        Dataset { file: self.file, models: self.models, content: map(self.content) }
    }

    /// All that `each` makes of the models, in order; an error names the model if there are
    /// several.
    pub(crate) fn each_model<T, I: IntoIterator<Item = T>>(
        &self,
        each: impl Fn(usize, &Measured<()>) -> Result<I>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        for (place, model) in self.models.iter().enumerate() {
            all.extend(each(place, model).map_err(|error| self.in_model(place, error))?);
        }
        Ok(all)
    }

    pub(crate) fn in_model(&self, place: usize, error: anyhow::Error) -> anyhow::Error {
        match &self.models[place].columns {
            Some(columns) if self.models.len() > 1 => error.context(format!("{} {}", columns.noun, columns.prob)),
            _ => error,
        }
    }
}

const TOO_MANY_ROWS: &str = "too many rows to keep";
