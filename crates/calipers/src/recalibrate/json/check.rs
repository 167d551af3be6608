//! Inputs with the outputs that every evaluator must reproduce.

use serde_json::Value;

use super::Map;
use super::object::{Object, error};
use super::text::{Json, Text};
use crate::Error;
use crate::data::Form;
use crate::recalibrate::binary::map::BinaryMap;

/// How far outputs may be off.
const TOLERANCE: f64 = 1e-12;

/// Logits on both sides of 0, near and far. Multiples of 1/8, so that their text is short.
const LOGITS: [f64; 7] = [-40.0, -3.125, -0.5, 0.0, 1.5, 3.125, 40.0];

/// Rows of scores for classes.
const N_ROWS: usize = 3;

/// Inputs and outputs: logits and probabilities, or rows of scores and rows of probabilities.
pub(super) struct Values {
    all: Vec<(Entry, Entry)>,
    /// The outputs of each group for the same inputs; none unless there are groups.
    by_group: Vec<Vec<f64>>,
}

enum Entry {
    One(f64),
    Row(Vec<f64>),
}

impl Json for Entry {
    fn json(&self) -> String {
        match self {
            Entry::One(value) => value.json(),
            Entry::Row(values) => values.json(),
        }
    }
}

impl Entry {
    fn values(&self) -> &[f64] {
        match self {
            Entry::One(value) => std::slice::from_ref(value),
            Entry::Row(values) => values,
        }
    }

    /// What the map makes of an input.
    fn mapped(&self, map: &Map) -> Entry {
        match (map, self) {
            (Map::Binary(map), Entry::One(logit)) => Entry::One(map.apply(*logit)),
            (Map::Groups(maps), Entry::One(logit)) => Entry::One(maps.pooled.apply(*logit)),
            (Map::Classes(map), Entry::Row(scores)) => Entry::Row(map.apply(scores, Form::Logits)),
            // Inputs are made and read by the kind of the map.
            (_, other) => Entry::Row(vec![f64::NAN; other.values().len()]),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Array(items) => Some(Entry::Row(items.iter().map(Value::as_f64).collect::<Option<_>>()?)),
            value => value.as_f64().map(Entry::One),
        }
    }
}

impl Values {
    /// Those that are written with a map.
    pub(super) fn of(map: &Map) -> Self {
        let inputs: Vec<Entry> = match map {
            Map::Groups(_) => LOGITS.into_iter().map(Entry::One).collect(),
            Map::Binary(binary) => {
                let mut logits = LOGITS.to_vec();
                let table = binary.table.as_ref().map(|table| &table.at);
                let table = table.or(binary.venn_abers.as_ref().map(|venn_abers| &venn_abers.at));
                if let Some(at) = table.or(binary.spline.as_ref().map(|spline| &spline.knots)) {
                    // Three knots, and what is between two in the middle.
                    let middle = at.len() / 2;
                    logits.extend([at.first(), at.get(middle), at.last()].into_iter().flatten());
                    logits.extend(at.get(middle + 1).map(|next| 0.5 * (next + at[middle])));
                }
                logits.into_iter().map(Entry::One).collect()
            }
            Map::Classes(classes) => {
                let score = |row: usize, class: usize| ((7 * class + 5 * row + 3) % 17) as f64 * 0.5 - 4.0;
                let row = |row: usize| Entry::Row((0..classes.n_classes).map(|class| score(row, class)).collect());
                (0..N_ROWS).map(row).collect()
            }
        };
        let with_output = |input: Entry| {
            let output = input.mapped(map);
            (input, output)
        };
        let all: Vec<(Entry, Entry)> = inputs.into_iter().map(with_output).collect();
        let by_group = of_groups(map, &all);
        Values { all, by_group }
    }

    pub(super) fn written(&self) -> Text {
        let inputs: Vec<&Entry> = self.all.iter().map(|(input, _)| input).collect();
        let outputs: Vec<&Entry> = self.all.iter().map(|(_, output)| output).collect();
        let by_group = (!self.by_group.is_empty()).then_some(&self.by_group);
        Text::default().with("input", inputs).with("output", outputs).maybe("by_group", by_group)
    }

    pub(super) fn read(object: &Object<'_>, map: &Map) -> Result<Self, Error> {
        let size = match map {
            Map::Binary(_) | Map::Groups(_) => None,
            Map::Classes(map) => Some(map.n_classes),
        };
        let rule = size.map_or("a number".to_owned(), |size| format!("a list of {size} numbers"));
        let entry = |value: &Value| {
            Entry::read(value).filter(|entry| match entry {
                Entry::One(_) => size.is_none(),
                Entry::Row(values) => size == Some(values.len()),
            })
        };
        let inputs = object.list("input", &rule, entry)?;
        let outputs = object.list("output", &rule, entry)?;
        if inputs.len() != outputs.len() {
            let (input, output) = (inputs.len(), outputs.len());
            return Err(error(format!("\"check\" must have as many outputs as inputs, got {output} and {input}")));
        }
        let list = |value: &Value| match Entry::read(value) {
            Some(Entry::Row(values)) => Some(values).filter(|values| values.len() == inputs.len()),
            _ => None,
        };
        let by_group = match map {
            Map::Groups(_) => object.list("by_group", &format!("a list of {} numbers", inputs.len()), list)?,
            _ => Vec::new(),
        };
        object.finish()?;
        Ok(Values { all: inputs.into_iter().zip(outputs).collect(), by_group })
    }

    /// The map must give the outputs.
    pub(super) fn compare(&self, map: &Map) -> Result<(), Error> {
        for (place, (input, output)) in self.all.iter().enumerate() {
            let own = input.mapped(map);
            let differs = |(own, output): (&f64, &f64)| !((own - output).abs() <= TOLERANCE);
            if own.values().iter().zip(output.values()).any(differs) {
                let (output, own) = (output.json(), own.json());
                let text = format!("\"check.output[{place}]\" is {output} and this version gives {own}");
                return Err(error(format!("{text}: the map was changed or damaged; fit it again")));
            }
        }
        let own = of_groups(map, &self.all);
        if own.len() != self.by_group.len() {
            let (own, found) = (own.len(), self.by_group.len());
            return Err(error(format!("\"check.by_group\" must have {own} entries, got {found}")));
        }
        let differs = |(own, found): (&f64, &f64)| !((own - found).abs() <= TOLERANCE);
        let differ = |(own, found): (&Vec<f64>, &Vec<f64>)| own.iter().zip(found).any(differs);
        match own.iter().zip(&self.by_group).position(differ) {
            None => Ok(()),
            Some(place) => {
                let text = format!("\"check.by_group[{place}]\" is not what this version gives");
                Err(error(format!("{text}: the map was changed or damaged; fit it again")))
            }
        }
    }
}

/// The outputs of each group for some inputs.
fn of_groups(map: &Map, all: &[(Entry, Entry)]) -> Vec<Vec<f64>> {
    let Map::Groups(maps) = map else { return Vec::new() };
    let of_group = |map: &BinaryMap| all.iter().flat_map(|(input, _)| input.values()).map(|h| map.apply(*h)).collect();
    maps.maps.iter().map(of_group).collect()
}
