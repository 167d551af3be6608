//! Which column is what: named by the user, or found by a usual name and then reported.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use calipers::Form;

use super::classes::{self, ClassColumns};
use super::files::InputFile;
use super::formats::{self, Format, NpyFiles, Role, Table, Values};
use super::names::{CONFIDENCE, CORRECT, LABEL, LOGIT, PREDICTED, PROBABILITY, WEIGHT, find};
use crate::args::InputArgs;

/// The columns of a file, by their place among its names.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) scores: Vec<Scores>,
    pub(super) label: usize,
    /// The predicted class, whose probability the scores are.
    pub(super) predicted: Option<usize>,
    /// Whether the label tells if the predicted class was right, whose probability the scores are.
    pub(super) confidences: bool,
    pub(super) weight: Option<usize>,
    /// What tells groups apart; none if there are none.
    pub(super) by: Vec<usize>,
    /// What tells clusters of rows apart that depend on each other.
    pub(super) cluster: Option<usize>,
    pub(super) guessed: Guessed,
}

/// The scores of one model.
#[derive(Debug, Clone)]
pub(super) struct Scores {
    /// One column, or one for each class.
    pub(super) places: Vec<usize>,
    pub(super) name: String,
    /// The names of the classes, where they have any.
    pub(super) classes: Vec<String>,
    pub(super) form: Form,
    /// Raw by their name alone, not by `--from-logits`.
    pub(super) form_guessed: bool,
}

/// What the user did not name.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Guessed {
    pub(super) scores: bool,
    pub(super) label: bool,
    pub(super) predicted: bool,
    pub(super) weight: bool,
}

impl Chosen {
    /// A failure of a model, which is named where there are several.
    pub(super) fn in_model(&self, table: &dyn Table, place: usize, error: impl Into<anyhow::Error>) -> anyhow::Error {
        match self.scores.len() {
            1 => error.into(),
            _ => error.into().context(format!("{} {}", table.noun(), self.scores[place].name)),
        }
    }
}

/// A file of predictions, and which of its columns is what; `cluster` is the one of that name.
pub(super) fn open(file: &InputFile, args: &InputArgs, cluster: Option<&str>) -> Result<(Box<dyn Table>, Chosen)> {
    if !file.is_folder() && file.format()? == Format::Npy {
        // A name without a file is the likelier mistake.
        formats::open_file(&file.path)?;
        let (files, chosen) = choose_files(file, args, cluster)?;
        return Ok((Box::new(files), chosen));
    }
    let table = file.open_table(&args.reading())?;
    let chosen = choose(&*table, args, cluster)?;
    Ok((table, chosen))
}

/// A file whose scores alone are of interest, and which of its columns they are.
pub(super) fn open_scores(file: &InputFile, args: &InputArgs) -> Result<(Box<dyn Table>, Scores)> {
    if !file.is_folder() && file.format()? == Format::Npy {
        formats::open_file(&file.path)?;
        if !args.prob.is_empty() {
            bail!("an .npy file is one array: --prob has nothing to choose from");
        }
        let files = NpyFiles::new(vec![file.path.clone()]);
        let column = ClassColumns { places: vec![0], name: files.names()[0].clone(), classes: Vec::new() };
        let scores = Scores { form_guessed: false, ..scores(column, args) };
        return Ok((Box::new(files), scores));
    }
    let table = file.open_table(&args.reading())?;
    let scores = match &args.prob[..] {
        [] => guess_scores(&*table, args, false)?,
        [text] => scores(classes::named(&*table, text)?, args),
        several => bail!("a map is of one model, got --prob {}", several.join(" and --prob ")),
    };
    Ok((table, scores))
}

/// The columns of a table.
fn choose(table: &dyn Table, args: &InputArgs, cluster: Option<&str>) -> Result<Chosen> {
    let named = |option: &str, name: Option<&str>| name.map(|name| find(table, option, name)).transpose();
    let label = match named("--label", args.label.as_deref())? {
        Some(label) => label,
        None => match guess_label(table, args) {
            // Of two that are missing, the probability is named first.
            Err(error) if args.prob.is_empty() => return Err(guess_scores(table, args, false).err().unwrap_or(error)),
            label => label?,
        },
    };
    let confidences = args.pred.is_none() && CORRECT.fits(&table.names()[label]);
    let scores: Vec<Scores> = match args.prob.is_empty() {
        false => args.prob.iter().map(|text| Ok(scores(classes::named(table, text)?, args))).collect::<Result<_>>()?,
        true => vec![guess_scores(table, args, confidences)?],
    };
    let is_confidence = !confidences && args.prob.is_empty() && scores.iter().all(|model| CONFIDENCE.fits(&model.name));
    let predicted = match named("--pred", args.pred.as_deref())? {
        None if is_confidence => PREDICTED.find(table)?,
        predicted => predicted,
    };
    let weight = match named("--weight", args.weight.as_deref())? {
        None => WEIGHT.find(table)?,
        weight => weight,
    };
    let (by, cluster) = (find_groups(table, &args.by, args.by_option)?, named("--cluster", cluster)?);
    let scored = scores.iter().flat_map(|model| model.places.iter().copied());
    let mut places: Vec<usize> = scored.chain([label]).chain(predicted).chain(weight).collect();
    places.sort_unstable();
    if let Some(twice) = places.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("{} {} is named for two things", table.noun(), table.names()[twice[0]]);
    }
    Ok(Chosen {
        scores,
        label,
        predicted,
        confidences,
        weight,
        by,
        cluster,
        guessed: Guessed {
            scores: args.prob.is_empty(),
            label: args.label.is_none(),
            predicted: args.pred.is_none() && predicted.is_some(),
            weight: args.weight.is_none() && weight.is_some(),
        },
    })
}

fn scores(columns: ClassColumns, args: &InputArgs) -> Scores {
    let form_guessed = !args.from_logits && LOGIT.fits(&columns.name);
    let form = if args.from_logits || form_guessed { Form::Logits } else { Form::Probabilities };
    let ClassColumns { places, name, classes } = columns;
    let classes = if args.classes.is_empty() { classes } else { args.classes.clone() };
    Scores { places, name, classes, form, form_guessed }
}

/// The columns that tell groups apart, which `option` names.
pub(super) fn find_groups(table: &dyn Table, names: &[String], option: &str) -> Result<Vec<usize>> {
    let has = |name: &str| find(table, option, name).is_ok();
    let mut places = Vec::new();
    for name in names {
        let parts: Vec<&str> = name.split(',').map(str::trim).collect();
        if option == "--by" && parts.len() > 1 && !has(name) && parts.iter().all(|part| has(part)) {
            bail!("--by names one column, got {name}: pass it once for each, as --by {}", parts.join(" --by "));
        }
        let place = find(table, option, name)?;
        if places.contains(&place) {
            bail!("{} {} is named twice for --by", table.noun(), table.names()[place]);
        }
        places.push(place);
    }
    Ok(places)
}

/// An .npy file has one array without a name: the options name the files of the others.
fn choose_files(file: &InputFile, args: &InputArgs, cluster: Option<&str>) -> Result<(NpyFiles, Chosen)> {
    if !args.prob.is_empty() {
        bail!("an .npy file is one array: --prob has nothing to choose from");
    }
    let Some(label) = &args.label else {
        bail!(
            "an .npy file is one array: give the file of the labels too, as --label labels.npy, or save both with numpy.savez"
        );
    };
    let mut paths = vec![file.path.clone(), PathBuf::from(label)];
    let mut place_of = |name: Option<&str>| {
        name.map(|name| {
            paths.push(PathBuf::from(name));
            paths.len() - 1
        })
    };
    let (predicted, weight) = (place_of(args.pred.as_deref()), place_of(args.weight.as_deref()));
    let by = args.by.iter().filter_map(|name| place_of(Some(name))).collect();
    let cluster = place_of(cluster);
    let files = NpyFiles::new(paths);
    let column = ClassColumns { places: vec![0], name: files.names()[0].clone(), classes: Vec::new() };
    let scores = vec![Scores { form_guessed: false, ..scores(column, args) }];
    let guessed = Guessed::default();
    Ok((files, Chosen { scores, label: 1, predicted, confidences: false, weight, by, cluster, guessed }))
}

/// Beside a confidence, whether the prediction was right is the outcome.
fn guess_label(table: &dyn Table, args: &InputArgs) -> Result<usize> {
    let names = table.names();
    let is_confidence = |text: &String| find(table, "--prob", text).is_ok_and(|place| CONFIDENCE.fits(&names[place]));
    let has_confidence = match args.prob.is_empty() {
        true => names.iter().any(|name| CONFIDENCE.fits(name)),
        false => args.prob.iter().all(is_confidence),
    };
    let correct = if has_confidence && args.pred.is_none() { CORRECT.find(table)? } else { None };
    match correct {
        Some(correct) => Ok(correct),
        None => LABEL.find(table)?.ok_or_else(|| LABEL.absent(table)),
    }
}

/// The clearest names come first, then columns of numbered classes, then names that may also mean
/// something else. With `--from-logits`, logits come before all.
fn guess_scores(table: &dyn Table, args: &InputArgs, confidences: bool) -> Result<Scores> {
    let one = |place: usize| {
        let name = table.names()[place].clone();
        scores(ClassColumns { places: vec![place], name, classes: Vec::new() }, args)
    };
    let logit = LOGIT.find(table)?;
    if let (Some(place), true) = (logit, args.from_logits) {
        return Ok(one(place));
    }
    let with_prediction = confidences || args.pred.is_some() || PREDICTED.find(table)?.is_some();
    let clear = PROBABILITY.find_within(table, 0..1)?;
    let confidence = if with_prediction { CONFIDENCE.find(table)? } else { None };
    let mut found: Vec<usize> = [clear, confidence, logit].into_iter().flatten().collect();
    found.sort_unstable();
    match found[..] {
        [] => {}
        [place] => return Ok(one(place)),
        [..] => {
            let names: Vec<&str> = found.iter().map(|place| table.names()[*place].as_str()).collect();
            let (noun, names) = (table.noun(), names.join(", "));
            bail!("more than one {noun} may be the probability: {names}; choose with --prob");
        }
    }
    if let Some((columns, are_logits)) = classes::guessed(table) {
        let scores = scores(columns, args);
        let form_guessed = are_logits && !args.from_logits;
        return Ok(if form_guessed { Scores { form: Form::Logits, form_guessed, ..scores } } else { scores });
    }
    if let Some(place) = PROBABILITY.find_within(table, 1..2)? {
        return Ok(one(place));
    }
    match PREDICTED.find(table)? {
        Some(place) if has_fractions(table, place) => Ok(one(place)),
        _ => Err(match classes::suggested(table) {
            Some(pattern) => anyhow!(
                "{}; if a model has a {} for each class, pass --prob '{pattern}'",
                PROBABILITY.absent(table),
                table.noun()
            ),
            None => PROBABILITY.absent(table),
        }),
    }
}

/// Rows that are looked at to tell probabilities from classes.
const ROWS_LOOKED_AT: u64 = 1000;

/// Whether a column has numbers other than 0, 1 and other classes.
fn has_fractions(table: &dyn Table, place: usize) -> bool {
    // Logits may be any numbers, so that none is rejected here.
    let collected = formats::collect(table, &[(place, Role::Logits)], ROWS_LOOKED_AT, u64::MAX).ok().flatten();
    let columns = collected.map_or_else(Vec::new, |collected| collected.columns);
    columns.first().is_some_and(|column| match &column.values {
        Values::F32(values) => values.iter().any(|value| value.fract() != 0.0),
        Values::F64(values) => values.iter().any(|value| value.fract() != 0.0),
        _ => false,
    })
}
