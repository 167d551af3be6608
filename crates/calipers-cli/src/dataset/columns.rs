//! Which column is what: named by the user, or found by a usual name and then reported.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use calipers::Form;

use crate::args::InputArgs;
use crate::dataset::files::InputFile;
use crate::dataset::formats::{self, Format, NpyFiles, Table};

const PROBABILITY: &[&str] = &["prob", "probability", "y_prob", "probs"];
/// The probability of a predicted class: nothing without one.
const CONFIDENCE: &[&str] = &["conf", "confidence"];
const LOGIT: &[&str] = &["logit", "logits"];
const LABEL: &[&str] = &["label", "labels", "y_true", "target", "outcome"];
const PREDICTED: &[&str] = &["pred"];
/// Not `weight`: it may be that of a patient.
const WEIGHT: &[&str] = &["sample_weight", "sample_weights"];

/// How many names an error lists.
const MOST_LISTED: usize = 12;

/// The columns of a file, by their place among its names.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) scores: Vec<Scores>,
    pub(super) label: usize,
    /// The predicted class, whose probability the scores are.
    pub(super) predicted: Option<usize>,
    pub(super) weight: Option<usize>,
    /// What tells groups apart.
    pub(super) by: Option<usize>,
    /// What tells clusters of rows apart that depend on each other.
    pub(super) cluster: Option<usize>,
    pub(super) guessed: Guessed,
}

/// The scores of one model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scores {
    pub(super) place: usize,
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
            _ => error.into().context(format!("{} {}", table.noun(), table.names()[self.scores[place].place])),
        }
    }
}

/// A file of predictions, and which of its columns is what; `cluster` is the one of that name.
pub(super) fn open(file: &InputFile, args: &InputArgs, cluster: Option<&str>) -> Result<(Box<dyn Table>, Chosen)> {
    let format = file.format()?;
    if format == Format::Npy {
        // A name without a file is the likelier mistake.
        formats::open_file(&file.path)?;
        let (files, chosen) = choose_files(file, args, cluster)?;
        return Ok((Box::new(files), chosen));
    }
    let table = formats::open(&file.path, format, args.rules.invalid)?;
    let chosen = choose(&*table, args, cluster)?;
    Ok((table, chosen))
}

/// The columns of a table.
fn choose(table: &dyn Table, args: &InputArgs, cluster: Option<&str>) -> Result<Chosen> {
    let named = |option: &str, name: Option<&str>| name.map(|name| find(table, option, name)).transpose();
    let scores: Vec<usize> = match args.prob.is_empty() {
        false => args.prob.iter().map(|name| find(table, "--prob", name)).collect::<Result<_>>()?,
        true => vec![guess_scores(table, args)?],
    };
    let label = match named("--label", args.label.as_deref())? {
        Some(label) => label,
        None => guess_one(table, "label", "--label", LABEL)?,
    };
    let is_confidence = args.prob.is_empty() && scores.iter().all(|place| is_any(&table.names()[*place], CONFIDENCE));
    let predicted = match named("--pred", args.pred.as_deref())? {
        None if is_confidence => at_most_one(table, "predicted class", "--pred", PREDICTED)?,
        predicted => predicted,
    };
    let weight = match named("--weight", args.weight.as_deref())? {
        None => at_most_one(table, "weight", "--weight", WEIGHT)?,
        weight => weight,
    };
    let (by, cluster) = (named("--by", args.by.as_deref())?, named("--cluster", cluster)?);
    let mut places: Vec<usize> = scores.iter().copied().chain([label]).chain(predicted).chain(weight).collect();
    places.sort_unstable();
    if let Some(twice) = places.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("{} {} is named for two things", table.noun(), table.names()[twice[0]]);
    }
    let scores = scores.into_iter().map(|place| {
        let form_guessed = !args.from_logits && is_any(&table.names()[place], LOGIT);
        let form = if args.from_logits || form_guessed { Form::Logits } else { Form::Probabilities };
        Scores { place, form, form_guessed }
    });
    Ok(Chosen {
        scores: scores.collect(),
        label,
        predicted,
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
    let (by, cluster) = (place_of(args.by.as_deref()), place_of(cluster));
    let form = if args.from_logits { Form::Logits } else { Form::Probabilities };
    let scores = vec![Scores { place: 0, form, form_guessed: false }];
    Ok((NpyFiles::new(paths), Chosen { scores, label: 1, predicted, weight, by, cluster, guessed: Guessed::default() }))
}

/// The column of that name, exactly; or else the only one that differs in case alone.
fn find(table: &dyn Table, option: &str, name: &str) -> Result<usize> {
    let places = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..table.names().len()).filter(|place| same(&table.names()[*place])).collect()
    };
    let exact = places(&|other| other == name);
    match if exact.is_empty() { places(&|other| is_any(other, &[name])) } else { exact }[..] {
        [place] => Ok(place),
        [] => {
            let nearest = table
                .names()
                .iter()
                .map(|other| (strsim::osa_distance(&name.to_lowercase(), &other.to_lowercase()), other))
                .min();
            let meant = match nearest {
                Some((distance, other)) if distance <= name.chars().count().div_ceil(3) => {
                    format!("did you mean {other}? ")
                }
                _ => String::new(),
            };
            Err(anyhow!("no {} {name} for {option}; {meant}{}", table.noun(), there_are(table)))
        }
        [..] => Err(anyhow!("more than one {} {name} for {option}; {}", table.noun(), there_are(table))),
    }
}

/// With `--from-logits`, columns that are called logits come before those that are called
/// probabilities.
fn guess_scores(table: &dyn Table, args: &InputArgs) -> Result<usize> {
    let raw = at_most_one(table, "probability", "--prob", LOGIT)?;
    let predicted = args.pred.is_some() || at_most_one(table, "predicted class", "--pred", PREDICTED)?.is_some();
    match (raw, args.from_logits) {
        (Some(place), true) => Ok(place),
        _ if predicted => guess_one(table, "probability", "--prob", &[PROBABILITY, CONFIDENCE, LOGIT].concat()),
        _ => guess_one(table, "probability", "--prob", &[PROBABILITY, LOGIT].concat()),
    }
}

fn guess_one(table: &dyn Table, what: &str, option: &str, candidates: &[&str]) -> Result<usize> {
    at_most_one(table, what, option, candidates)?.ok_or_else(|| {
        anyhow!(
            "no {} is named like a {what} ({}): choose one with {option}; {}",
            table.noun(),
            candidates.join(", "),
            there_are(table)
        )
    })
}

fn at_most_one(table: &dyn Table, what: &str, option: &str, candidates: &[&str]) -> Result<Option<usize>> {
    let names = table.names();
    let places: Vec<usize> = (0..names.len()).filter(|place| is_any(&names[*place], candidates)).collect();
    match places[..] {
        [] => Ok(None),
        [place] => Ok(Some(place)),
        [..] => {
            let found: Vec<&str> = places.iter().map(|place| names[*place].as_str()).collect();
            Err(anyhow!("more than one {} may be the {what}: {}; choose with {option}", table.noun(), found.join(", ")))
        }
    }
}

fn is_any(name: &str, candidates: &[&str]) -> bool {
    candidates.iter().any(|candidate| candidate.to_lowercase() == name.to_lowercase())
}

fn there_are(table: &dyn Table) -> String {
    let names = table.names();
    let listed = names[..names.len().min(MOST_LISTED)].join(", ");
    match names.len().saturating_sub(MOST_LISTED) {
        0 => format!("the {}s are {listed}", table.noun()),
        more => format!("the {}s are {listed} and {more} more", table.noun()),
    }
}
