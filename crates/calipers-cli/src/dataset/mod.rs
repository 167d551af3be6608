//! The one way in: files -> rows in memory, or sketches of them, with a name for every column.
//!
//! ```text
//! files (names, patterns, standard input) -> formats (file -> columns) -> columns (which is which) -> batch (named columns)
//!                                                                      -> few rows: kept        -> Dataset
//!                                                                      -> many rows: sketching  -> Dataset
//! ```
//!
//! [`Reader`] opens a file for every command; [`listing`] tells what is in one.

pub(crate) mod batch;
pub(crate) mod columns;
pub(crate) mod files;
pub(crate) mod formats;
pub(crate) mod groups;
mod labels;
pub(crate) mod listing;
pub(crate) mod model;
pub(crate) mod pairing;
pub(crate) mod sketches;
mod sketching;

use anyhow::{Context, Result, bail};
use calipers::{Multiclass, SketchOptions};

use crate::args::{InputArgs, InputRules};
use batch::Batch;
use columns::Chosen;
use files::InputFile;
use formats::Table;
use model::{Columns, Measured, Method};
use sketches::Sketches;

/// Files of more rows are read into a sketch, where a sketch answers as well as the rows do.
const MOST_ROWS_IN_MEMORY: u64 = 1 << 20;

/// How a command reads its files.
pub(crate) struct Reader<'a> {
    pub(crate) args: &'a InputArgs,
    pub(crate) rules: InputRules,
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

/// The predictions of a file.
pub(crate) enum Content {
    Rows(Box<Batch>),
    /// One for each model.
    Sketches(Vec<Sketches>),
}

/// A command that needs all rows of a file at once and has one figure for them, in the words of its
/// errors.
pub(crate) struct WholeFiles {
    /// `sweep`
    pub(crate) verb: &'static str,
    /// `swept`
    pub(crate) done: &'static str,
    /// What there would be for each class: `sweep`, `curve`.
    pub(crate) figure: &'static str,
    /// What needs the rows.
    pub(crate) needs: &'static str,
}

impl WholeFiles {
    /// A reader that keeps all rows, without groups and classes.
    pub(crate) fn reader<'a>(&self, args: &'a InputArgs, cluster: Option<&'a str>) -> Result<Reader<'a>> {
        let rules = args.rules()?;
        if rules.multiclass == Multiclass::Classwise {
            bail!("--multiclass classwise has a {} for each class: name one, as --multiclass 3", self.figure);
        }
        if args.by.is_some() {
            bail!("--by is not taken by {}: give a file for each group", self.verb);
        }
        Ok(Reader { args, rules, cluster, sketch: None })
    }
}

impl Reader<'_> {
    /// Rows where they are few or needed; else sketches.
    pub(crate) fn open(&self, file: &InputFile) -> Result<Dataset> {
        if file.is_sketch() {
            return Ok(self.open_sketch(file)?.map(Content::Sketches));
        }
        let (table, chosen) = self.open_table(file)?;
        let most_rows = match &self.sketch {
            Some(_) if chosen.cluster.is_none() => MOST_ROWS_IN_MEMORY,
            _ => u64::MAX,
        };
        match (self.rows(file, &*table, &chosen, most_rows)?, &self.sketch) {
            (Some(rows), _) => Ok(rows.map(|batch| Content::Rows(Box::new(batch)))),
            (None, Some(options)) => Ok(self.sketches(file, &*table, &chosen, options)?.map(Content::Sketches)),
            (None, None) => bail!(TOO_MANY_ROWS),
        }
    }

    /// All rows, for a command that needs them.
    pub(crate) fn open_rows(&self, file: &InputFile, whole_files: &WholeFiles) -> Result<Dataset<Batch>> {
        if file.is_sketch() {
            let WholeFiles { done, needs, .. } = whole_files;
            bail!("a sketch cannot be {done}: it has lost the rows, which {needs} need");
        }
        let (table, chosen) = self.open_table(file)?;
        self.rows(file, &*table, &chosen, u64::MAX)?.context(TOO_MANY_ROWS)
    }

    /// A sketch of each model, however few rows there are.
    pub(crate) fn open_sketches(&self, file: &InputFile, options: &SketchOptions) -> Result<Dataset<Vec<Sketches>>> {
        if file.is_sketch() {
            return self.open_sketch(file);
        }
        let (table, chosen) = self.open_table(file)?;
        self.sketches(file, &*table, &chosen, options)
    }

    /// A file of sketches, to which no option of rows applies.
    fn open_sketch(&self, file: &InputFile) -> Result<Dataset<Vec<Sketches>>> {
        let given = [("--cluster", self.cluster.is_some()), ("--limit", self.args.limit.is_some())];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
            bail!("{option} needs the rows, which a sketch has lost");
        }
        let content = vec![Sketches::read(&file.path)?];
        let models = vec![Measured::new(file, None, Method::Sketch)];
        Ok(Dataset { file: file.clone(), models, content })
    }

    fn open_table(&self, file: &InputFile) -> Result<(Box<dyn Table>, Chosen)> {
        columns::open(file, self.args, self.cluster, self.rules.invalid)
    }

    /// `None` if there are more rows.
    fn rows(
        &self,
        file: &InputFile,
        table: &dyn Table,
        chosen: &Chosen,
        most_rows: u64,
    ) -> Result<Option<Dataset<Batch>>> {
        let wanted = batch::wanted(chosen, &self.rules);
        let columns = formats::collect(table, &wanted, self.rules.limit, most_rows)?;
        let Some(columns) = columns else { return Ok(None) };
        let content = Batch::new(columns, 0, chosen, &self.rules)?;
        let models = self.models(file, table, chosen, Method::Rows, |model| content.scores[model].n_classes);
        Ok(Some(Dataset { file: file.clone(), models, content }))
    }

    fn sketches(
        &self,
        file: &InputFile,
        table: &dyn Table,
        chosen: &Chosen,
        options: &SketchOptions,
    ) -> Result<Dataset<Vec<Sketches>>> {
        let sketched = sketching::sketch_models(file, table, chosen, &self.rules, options)?;
        let models = self.models(file, table, chosen, Method::Sketch, |model| sketched[model].n_classes);
        let content = sketched.into_iter().map(|sketched| sketched.sketches).collect();
        Ok(Dataset { file: file.clone(), models, content })
    }

    fn models(
        &self,
        file: &InputFile,
        table: &dyn Table,
        chosen: &Chosen,
        method: Method,
        n_classes: impl Fn(usize) -> usize,
    ) -> Vec<Measured<()>> {
        let model = |(place, scores)| {
            let columns = Columns::new(table, chosen, scores, n_classes(place), &self.rules);
            Measured::new(file, Some(columns), method)
        };
        chosen.scores.iter().enumerate().map(model).collect()
    }
}

impl<C> Dataset<C> {
    fn map<D>(self, map: impl FnOnce(C) -> D) -> Dataset<D> {
        Dataset { file: self.file, models: self.models, content: map(self.content) }
    }

    /// What `each` makes of the models, one after the other; an error names the model where there
    /// are several.
    pub(crate) fn each_model<T>(&self, each: impl Fn(usize, &Measured<()>) -> Result<T>) -> Result<Vec<T>> {
        let models = self.models.iter().enumerate();
        models.map(|(place, model)| each(place, model).map_err(|error| self.in_model(place, error))).collect()
    }

    pub(crate) fn in_model(&self, place: usize, error: anyhow::Error) -> anyhow::Error {
        match &self.models[place].columns {
            Some(columns) if self.models.len() > 1 => error.context(format!("{} {}", columns.noun, columns.prob)),
            _ => error,
        }
    }
}

const TOO_MANY_ROWS: &str = "too many rows to keep";
