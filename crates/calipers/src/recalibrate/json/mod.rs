//! Maps as files: versioned JSON that carries its formula and values to check an evaluator with.
//!
//! `docs/map-format.md` specifies the format, with evaluators in other languages. A map that is
//! read gives the same bits as the one that was written, since numbers are in the shortest form
//! that reads back the same.

mod check;
mod groups;
mod object;
mod parts;
mod records;
mod text;

use serde_json::Value;
use sha2::{Digest, Sha256};

use object::{Object, error};
pub use records::{FitRecord, GainRecord, GroupRecord};
use text::{Json, Text};

use super::groups::GroupMaps;
use super::method::Method;
use crate::Error;
use crate::data::Form;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::classes::map::ClassMap;

/// What `what` is in every file.
const WHAT: &str = "calibrator";

/// The version of the format of one map.
const FORMAT: u64 = 1;

/// The version of the format of maps by group. A reader of the first version would use the pooled
/// map for all rows if it did not reject this one.
const FORMAT_OF_GROUPS: u64 = 2;

/// A map of a binary outcome or of classes, as a file has it.
///
/// # Example
/// A map that is written and read again is the same.
/// ```
/// use calipers::Input;
/// use calipers::recalibrate::{Map, Method, Recalibrate};
///
/// let p = [0.75, 0.75, 0.75, 0.25, 0.25, 0.25];
/// let predictions = Input::probabilities(&p, &[1, 1, 0, 1, 0, 0]).check()?;
/// let fit = Recalibrate::new(Method::Beta).fit(&predictions.binary()?)?;
/// let text = fit.map.to_json();
/// assert!(text.contains("\"formula\": \"sigma(a * log_sigma(h) - b * log_sigma(-h) + c)\""));
/// assert_eq!(Map::from_json(&text)?, Map::Binary(fit.map));
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Map {
    /// From the logit of a probability to a probability.
    Binary(BinaryMap),
    /// From the scores of all classes to their probabilities.
    Classes(ClassMap),
    /// A map of a binary outcome for each group of rows.
    Groups(GroupMaps),
}

impl From<BinaryMap> for Map {
    fn from(map: BinaryMap) -> Self {
        Map::Binary(map)
    }
}

impl From<ClassMap> for Map {
    fn from(map: ClassMap) -> Self {
        Map::Classes(map)
    }
}

impl From<GroupMaps> for Map {
    fn from(maps: GroupMaps) -> Self {
        Map::Groups(maps)
    }
}

impl Map {
    /// The family.
    pub fn method(&self) -> Method {
        match self {
            Map::Binary(map) => map.method,
            Map::Classes(map) => map.method,
            Map::Groups(maps) => maps.method(),
        }
    }

    /// The number of classes; 2 for a binary outcome.
    pub fn n_classes(&self) -> usize {
        match self {
            Map::Binary(_) | Map::Groups(_) => 2,
            Map::Classes(map) => map.n_classes,
        }
    }

    /// Probabilities are clipped to at least this before their logarithms are taken.
    pub fn clip(&self) -> f64 {
        match self {
            Map::Binary(map) => map.clip,
            Map::Classes(map) => map.clip,
            Map::Groups(maps) => maps.pooled.clip,
        }
    }

    /// The share of equal probabilities that is mixed in.
    pub fn mixture(&self) -> f64 {
        match self {
            Map::Binary(map) => map.mixture,
            Map::Classes(map) => map.mixture,
            Map::Groups(maps) => maps.pooled.mixture,
        }
    }

    /// The recalibrated probabilities of one row of raw scores or, by `form`, of probabilities: one
    /// for each class, or that of outcome 1 where the row has one score. `None` if the map is of
    /// another number of classes. Of maps by group it is the pooled one;
    /// [`apply_row_of`](Self::apply_row_of) takes the group.
    pub fn apply_row(&self, scores: &[f64], form: Form) -> Option<Vec<f64>> {
        match (self, scores) {
            (Map::Binary(map), scores) => map.apply_row(scores, form),
            (Map::Groups(maps), scores) => maps.pooled.apply_row(scores, form),
            (Map::Classes(map), [score]) if map.n_classes == 2 => {
                let pair = match form {
                    Form::Probabilities => [1.0 - score, *score],
                    Form::Logits => [0.0, *score],
                };
                Some(vec![map.apply(&pair, form)[1]])
            }
            (Map::Classes(map), scores) => (map.n_classes == scores.len()).then(|| map.apply(scores, form)),
        }
    }

    /// The same for a row of a group, which only maps by group depend on.
    pub fn apply_row_of(&self, group: &str, scores: &[f64], form: Form) -> Option<Vec<f64>> {
        match self {
            Map::Groups(maps) => maps.of(group).apply_row(scores, form),
            map => map.apply_row(scores, form),
        }
    }

    /// The map in words that a program can be written from; see `docs/map-format.md`.
    pub fn formula(&self) -> String {
        parts::formula(self)
    }

    /// Names and values of the parameters, in order; none of a table.
    pub fn parameters(&self) -> Vec<(String, f64)> {
        parts::parameters(self)
    }

    /// The map as JSON. [`MapFile`] also has the fit and the gain.
    pub fn to_json(&self) -> String {
        MapFile::new(self.clone()).to_json()
    }

    /// The map of a JSON text. What is no map, or one that this version would evaluate differently,
    /// is an error.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        MapFile::from_json(text).map(|file| file.map)
    }

    /// 16 hexadecimal digits that are the same for equal maps, and for no two others that will ever
    /// meet: the beginning of the SHA-256 of what decides the map's values.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(parts::written(self).json());
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl GroupMaps {
    /// The maps as JSON.
    pub fn to_json(&self) -> String {
        Map::Groups(self.clone()).to_json()
    }
}

impl BinaryMap {
    /// The recalibrated probabilities of a row of one score or of two.
    fn apply_row(&self, scores: &[f64], form: Form) -> Option<Vec<f64>> {
        match scores {
            [score] => Some(vec![match form {
                Form::Probabilities => self.apply_probability(*score),
                Form::Logits => self.apply(*score),
            }]),
            [negative, positive] => {
                let logit = match form {
                    Form::Probabilities => self.logit_of(*positive),
                    Form::Logits => positive - negative,
                };
                let (p, complement) = self.both(logit);
                Some(vec![complement, p])
            }
            _ => None,
        }
    }

    /// The map as JSON.
    pub fn to_json(&self) -> String {
        Map::Binary(self.clone()).to_json()
    }

    /// The map of a JSON text; see [`Map::from_json`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        match Map::from_json(text)? {
            Map::Binary(map) => Ok(map),
            Map::Classes(map) => {
                Err(error(format!("it must be of a binary outcome here, got a map of {} classes", map.n_classes)))
            }
            Map::Groups(_) => Err(error("it must be one map here, got maps by group")),
        }
    }
}

impl ClassMap {
    /// The map as JSON.
    pub fn to_json(&self) -> String {
        Map::Classes(self.clone()).to_json()
    }

    /// The map of a JSON text; see [`Map::from_json`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        match Map::from_json(text)? {
            Map::Classes(map) => Ok(map),
            _ => Err(error("it must be of rows of classes here, got a map of a binary outcome")),
        }
    }
}

/// The name of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Label {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Label::Number(number) => number.fmt(f),
            Label::Text(text) => text.fmt(f),
        }
    }
}

impl Json for Label {
    fn json(&self) -> String {
        match self {
            Label::Number(number) => number.json(),
            Label::Text(text) => text.json(),
        }
    }
}

/// A map with the names of its classes, and with what was known when it was fitted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MapFile {
    /// The map.
    pub map: Map,
    /// One for each class, in order; for a binary outcome 0 and then 1. Empty where they have no
    /// names.
    pub labels: Vec<Label>,
    /// The fit that the map comes from.
    pub fit: Option<FitRecord>,
    /// What the map gains on new rows.
    pub improvement: Option<GainRecord>,
}

impl MapFile {
    /// A map alone.
    pub fn new(map: impl Into<Map>) -> Self {
        MapFile { map: map.into(), labels: Vec::new(), fit: None, improvement: None }
    }

    /// With the names of classes.
    pub fn labels(mut self, labels: Vec<Label>) -> Self {
        self.labels = labels;
        self
    }

    /// With the fit.
    pub fn fit(mut self, fit: impl Into<FitRecord>) -> Self {
        self.fit = Some(fit.into());
        self
    }

    /// With the gain on new rows.
    pub fn improvement(mut self, improvement: impl Into<GainRecord>) -> Self {
        self.improvement = Some(improvement.into());
        self
    }

    /// The file as JSON, one line for each key.
    pub fn to_json(&self) -> String {
        let check = check::Values::of(&self.map);
        let (format, of_groups) = match &self.map {
            Map::Groups(maps) => (FORMAT_OF_GROUPS, groups::about(maps)),
            _ => (FORMAT, Text::default()),
        };
        Text::default()
            .with("calipers", env!("CARGO_PKG_VERSION"))
            .with("what", WHAT)
            .with("format", format)
            .and(parts::written(&self.map))
            .and(of_groups)
            .with("formula", self.map.formula())
            .maybe("labels", (!self.labels.is_empty()).then_some(&self.labels))
            .maybe("fit", self.fit.as_ref().map(FitRecord::written))
            .maybe("improvement", self.improvement.as_ref().map(GainRecord::written))
            .with("check", check.written())
            .with("fingerprint", self.map.fingerprint())
            .lines()
    }

    /// The file of a JSON text. Other versions of the format, unknown keys, wrong types, numbers
    /// that make no map, and check values that this version does not reproduce to 1e-12 are errors.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let value: Value = serde_json::from_str(text).map_err(|fault| error(format!("it is no JSON: {fault}")))?;
        let object = Object::top(&value)?;
        // First, so that a file of another kind is not reported by what it lacks.
        if object.get("what").and_then(Value::as_str) != Some(WHAT) {
            return Err(error(format!("\"what\" must be {WHAT:?}; give a file that `calipers recalibrate fit` wrote")));
        }
        let format = object.count("format")?;
        if ![FORMAT, FORMAT_OF_GROUPS].contains(&format) {
            let known = format!("{FORMAT} and {FORMAT_OF_GROUPS}");
            return Err(error(format!("\"format\" is {format} and this version reads {known}; update calipers")));
        }
        object.text("calipers")?;
        let map = match parts::read(&object)? {
            map if format == FORMAT => map,
            Map::Binary(pooled) => Map::Groups(groups::read(&object, pooled)?),
            _ => return Err(error(format!("\"input\" must be \"logit\" where \"format\" is {format}"))),
        };
        object.exactly("formula", &map.formula())?;
        let label = |value: &Value| match value {
            Value::String(text) => Some(Label::Text(text.clone())),
            value => value.as_i64().map(Label::Number),
        };
        let labels = match object.get("labels") {
            None => Vec::new(),
            Some(_) => object.list("labels", "text or a whole number", label)?,
        };
        if !labels.is_empty() && labels.len() != map.n_classes() {
            let (got, expected) = (labels.len(), map.n_classes());
            return Err(error(format!("\"labels\" must name each of the {expected} classes, got {got} names")));
        }
        let fit = object.maybe_object("fit")?.map(|fit| FitRecord::read(&fit)).transpose()?;
        let improvement = object.maybe_object("improvement")?.map(|gain| GainRecord::read(&gain)).transpose()?;
        check::Values::read(&object.object("check")?, &map)?.compare(&map)?;
        if object.get("fingerprint").is_some() {
            let (found, own) = (object.text("fingerprint")?, map.fingerprint());
            if found != own {
                let text = format!("\"fingerprint\" is {found:?} and that of the map is {own:?}: the map was changed");
                return Err(error(format!("{text}; fit it again")));
            }
        }
        object.finish()?;
        Ok(MapFile { map, labels, fit, improvement })
    }
}
