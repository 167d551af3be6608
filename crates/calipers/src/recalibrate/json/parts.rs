//! What decides the values of a map: method, parameters or table, mixture and clip.

use super::object::{Object, error};
use super::text::Text;
use super::{ClassMap, Map};
use crate::Error;
use crate::names::rule;
use crate::recalibrate::map::BinaryMap;
use crate::recalibrate::method::Method;
use crate::recalibrate::table::{Between, Table};

/// Input is the logit of a probability.
const LOGIT: &str = "logit";

/// Input is a raw score, or the logarithm of a probability, for each class.
const SCORES: &str = "scores";

/// The formula of a map, without its mixture.
pub(super) fn formula(map: &Map) -> String {
    let formula = match map {
        Map::Binary(map) => match map.method {
            Method::Identity => "sigma(h)",
            Method::Shift => "sigma(h + shift)",
            Method::Temperature => "sigma(slope * h)",
            Method::Platt => "sigma(slope * h + intercept)",
            Method::Beta => "sigma(a * log_sigma(h) - b * log_sigma(-h) + c)",
            Method::Isotonic | Method::CentredIsotonic => "table(h)",
        },
        Map::Classes(map) => match map.method {
            Method::Identity => "softmax(z)",
            _ => "softmax(slope * z)",
        },
    };
    formula.to_owned()
}

pub(super) fn parameters(map: &Map) -> Vec<(String, f64)> {
    match map {
        Map::Binary(map) => {
            let names = map.method.parameter_names().iter();
            names.zip(&map.parameters).map(|(name, value)| ((*name).to_owned(), *value)).collect()
        }
        Map::Classes(map) if map.method == Method::Identity => Vec::new(),
        Map::Classes(map) => vec![("slope".to_owned(), map.slope)],
    }
}

/// The keys that [`read`] takes, in their order.
pub(super) fn written(map: &Map) -> Text {
    let table = match map {
        Map::Binary(map) => map.table.as_ref(),
        Map::Classes(_) => None,
    };
    let input = if matches!(map, Map::Binary(_)) { LOGIT } else { SCORES };
    let parameters = parameters(map);
    let parameters = parameters.iter().fold(Text::default(), |text, (name, value)| text.with(name, *value));
    Text::default()
        .with("method", map.method().name())
        .with("classes", map.n_classes())
        .with("input", input)
        .with("parameters", parameters)
        .maybe("table", table.map(written_table))
        .with("mixture", map.mixture())
        .with("clip", map.clip())
}

fn written_table(table: &Table) -> Text {
    Text::default().with("between", table.between.name()).with("at", &table.at).with("value", &table.value)
}

pub(super) fn read(object: &Object<'_>) -> Result<Map, Error> {
    let method: Method = named(object, "method", Method::NAMES)?;
    let classes = object.count("classes")?;
    let input = object.text("input")?;
    let mixture = object.number("mixture", "in [0, 1)", |mixture| (0.0..1.0).contains(&mixture))?;
    let clip = object.number("clip", "above 0 and below 1/2", |clip| clip > 0.0 && clip < 0.5)?;
    let parameters = object.object("parameters")?;
    let map = match input {
        LOGIT => {
            if classes != 2 {
                return Err(error(format!("\"classes\" must be 2 where \"input\" is {LOGIT:?}, got {classes}")));
            }
            let value = |(place, name): (usize, &&str)| read_parameter(&parameters, name, place < method.n_slopes());
            let values: Vec<f64> = method.parameter_names().iter().enumerate().map(value).collect::<Result<_, _>>()?;
            let table = if method.is_table() { Some(read_table(&object.object("table")?)?) } else { None };
            Map::Binary(BinaryMap { method, parameters: values, table, mixture, clip })
        }
        SCORES => {
            if !(classes >= 2 && classes <= u64::from(u32::MAX)) {
                return Err(error(format!("\"classes\" must be at least 2, got {classes}")));
            }
            let slope = match method {
                Method::Identity => 1.0,
                Method::Temperature => read_parameter(&parameters, "slope", true)?,
                _ => {
                    let methods = "\"identity\" or \"temperature\"";
                    let found = method.name();
                    return Err(error(format!("\"method\" must be {methods} for rows of classes, got {found:?}")));
                }
            };
            Map::Classes(ClassMap { method, n_classes: classes as usize, slope, mixture, clip })
        }
        _ => return Err(error(format!("\"input\" must be {LOGIT:?} or {SCORES:?}, got {input:?}"))),
    };
    parameters.finish()?;
    Ok(map)
}

fn read_parameter(parameters: &Object<'_>, name: &str, is_slope: bool) -> Result<f64, Error> {
    if is_slope {
        parameters.number(name, "finite and not negative, so that the map does not fall", |slope| slope >= 0.0)
    } else {
        parameters.number(name, "a number", |_| true)
    }
}

fn read_table(object: &Object<'_>) -> Result<Table, Error> {
    let between: Between = named(object, "between", Between::NAMES)?;
    let at = object.numbers("at", "a number", |_| true)?;
    let value = object.numbers("value", "in [0, 1]", |value| (0.0..=1.0).contains(&value))?;
    if at.is_empty() || at.len() != value.len() {
        let places = format!("{} and {}", object.name("at"), object.name("value"));
        return Err(error(format!("{places} must be as many, and at least 1, got {} and {}", at.len(), value.len())));
    }
    let out_of_order =
        |list: &[f64], wrong: fn(f64, f64) -> bool| list.windows(2).position(|pair| wrong(pair[0], pair[1]));
    if let Some(place) = out_of_order(&at, |left, right| !(left < right)) {
        let key = object.name(&format!("at[{}]", place + 1));
        return Err(error(format!("{key} must be above {}, got {}", at[place], at[place + 1])));
    }
    if let Some(place) = out_of_order(&value, |left, right| !(left <= right)) {
        let key = object.name(&format!("value[{}]", place + 1));
        return Err(error(format!("{key} must be at least {}, got {}", value[place], value[place + 1])));
    }
    object.finish()?;
    Ok(Table { at, value, between })
}

/// One of some names.
pub(super) fn named<T: std::str::FromStr>(object: &Object<'_>, key: &str, names: &[&str]) -> Result<T, Error> {
    let text = object.text(key)?;
    text.parse().map_err(|_| error(format!("{} must be {}, got {text:?}", object.name(key), rule(names))))
}
