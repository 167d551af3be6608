//! What decides the values of a map: method, parameters or table, mixture and clip.

use super::groups;
use super::object::{Object, error};
use super::text::Text;
use super::{ClassMap, Map};
use crate::Error;
use crate::names::rule;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::spline::Spline;
use crate::recalibrate::binary::table::{Between, Table};
use crate::recalibrate::binary::venn_abers::VennAbers;
use crate::recalibrate::classes::map::ClassFormula;
use crate::recalibrate::groups::GroupMaps;
use crate::recalibrate::method::Method;

/// Input is the logit of a probability.
const LOGIT: &str = "logit";

/// Input is a raw score, or the logarithm of a probability, for each class.
const SCORES: &str = "scores";

/// g of vector and matrix scaling.
const LOGARITHMS: &str = "g = log((1 - mixture_before) * softmax(slope * z) + mixture_before / k)";

/// The formula of a map, without its mixture.
pub(super) fn formula(map: &Map) -> String {
    let map = match map {
        Map::Binary(map) => return binary_formula(map.method).to_owned(),
        Map::Groups(maps) => return binary_formula(maps.method()).to_owned(),
        Map::Classes(map) => map,
    };
    match &map.formula {
        ClassFormula::Slope if map.method == Method::Identity => "softmax(z)".to_owned(),
        ClassFormula::Slope => "softmax(slope * z)".to_owned(),
        ClassFormula::Vector { .. } => format!("softmax(scale * g + bias), {LOGARITHMS}"),
        ClassFormula::Matrix { .. } => format!("softmax(matrix g + bias), {LOGARITHMS}"),
        ClassFormula::Ensemble { .. } => {
            "weights[0] * softmax(slope * z) + weights[1] * softmax(z) + weights[2] / k".to_owned()
        }
        ClassFormula::OneVsRest { .. } => "maps[j](log_odds(softmax(z)[j])), divided by their sum".to_owned(),
    }
}

fn binary_formula(method: Method) -> &'static str {
    match method {
        Method::Shift => "sigma(h + shift)",
        Method::Temperature => "sigma(slope * h)",
        Method::Platt => "sigma(slope * h + intercept)",
        Method::Beta => "sigma(a * log_sigma(h) - b * log_sigma(-h) + c)",
        Method::Spline => "sigma(spline(h))",
        Method::Isotonic | Method::CentredIsotonic | Method::Bins => "table(h)",
        Method::VennAbers => "upper(h) / (1 - lower(h) + upper(h))",
        _ => "sigma(h)",
    }
}

/// Names and values of single numbers; splines have their values at the knots.
pub(super) fn parameters(map: &Map) -> Vec<(String, f64)> {
    match map {
        Map::Binary(map) | Map::Groups(GroupMaps { pooled: map, .. }) => {
            let names = map.method.parameter_names().iter();
            names.zip(&map.parameters).map(|(name, value)| ((*name).to_owned(), *value)).collect()
        }
        Map::Classes(map) if has_slope(map.method, &map.formula) => vec![("slope".to_owned(), map.slope)],
        Map::Classes(_) => Vec::new(),
    }
}

/// Whether scores are multiplied by a slope that is fitted.
fn has_slope(method: Method, formula: &ClassFormula) -> bool {
    method != Method::Identity && !matches!(formula, ClassFormula::OneVsRest { .. })
}

/// The keys that [`read`] takes, in their order.
pub(super) fn written(map: &Map) -> Text {
    let head = |input: &str| {
        Text::default().with("method", map.method().name()).with("classes", map.n_classes()).with("input", input)
    };
    match map {
        Map::Binary(binary) => head(LOGIT).and(written_binary(binary)),
        Map::Groups(maps) => head(LOGIT).and(written_binary(&maps.pooled)).and(groups::written(maps)),
        Map::Classes(classes) => head(SCORES)
            .with("parameters", written_formula(classes))
            .with("mixture", classes.mixture)
            .with("clip", classes.clip),
    }
}

/// All but the head, for maps of their own and for those of one class against the rest.
fn written_binary(map: &BinaryMap) -> Text {
    let spline = map.spline.as_ref();
    Text::default()
        .with("parameters", written_parameters(map))
        .maybe("spline", spline.map(written_spline))
        .maybe("table", map.table.as_ref().map(written_table))
        .maybe("venn_abers", map.venn_abers.as_ref().map(written_venn_abers))
        .with("mixture", map.mixture)
        .with("clip", map.clip)
}

/// Single numbers by their names; those of a spline are its values, which stand elsewhere.
pub(super) fn written_parameters(map: &BinaryMap) -> Text {
    let names = if map.spline.is_some() { &[][..] } else { map.method.parameter_names() };
    names.iter().zip(&map.parameters).fold(Text::default(), |text, (name, value)| text.with(name, *value))
}

fn written_spline(spline: &Spline) -> Text {
    let text = Text::default().with("knots", &spline.knots).with("value", &spline.value);
    text.with("curvature", &spline.curvature).with("smoothing", spline.smoothing)
}

fn written_table(table: &Table) -> Text {
    Text::default().with("between", table.between.name()).with("at", &table.at).with("value", &table.value)
}

fn written_venn_abers(venn_abers: &VennAbers) -> Text {
    Text::default().with("at", &venn_abers.at).with("lower", &venn_abers.lower).with("upper", &venn_abers.upper)
}

fn written_formula(map: &ClassMap) -> Text {
    let slope = has_slope(map.method, &map.formula).then_some(map.slope);
    let text = Text::default().maybe("slope", slope);
    match &map.formula {
        ClassFormula::Slope => text,
        ClassFormula::Vector { mixture_before, scale, bias } => {
            text.with("mixture_before", *mixture_before).with("scale", scale).with("bias", bias)
        }
        ClassFormula::Matrix { mixture_before, matrix, bias } => {
            text.with("mixture_before", *mixture_before).with("matrix", matrix).with("bias", bias)
        }
        ClassFormula::Ensemble { weights } => text.with("weights", weights.as_slice()),
        ClassFormula::OneVsRest { maps } => {
            let one = |map: &BinaryMap| Text::default().with("method", map.method.name()).and(written_binary(map));
            text.with("maps", maps.iter().map(one).collect::<Vec<Text>>())
        }
    }
}

pub(super) fn read(object: &Object<'_>) -> Result<Map, Error> {
    let method: Method = named(object, "method", Method::NAMES)?;
    let classes = object.count("classes")?;
    match object.text("input")? {
        LOGIT if classes == 2 => read_binary(object, method).map(Map::Binary),
        LOGIT => Err(error(format!("\"classes\" must be 2 where \"input\" is {LOGIT:?}, got {classes}"))),
        SCORES if classes >= 2 && classes <= u64::from(u32::MAX) => {
            read_classes(object, method, classes as usize).map(Map::Classes)
        }
        SCORES => Err(error(format!("\"classes\" must be at least 2, got {classes}"))),
        input => Err(error(format!("\"input\" must be {LOGIT:?} or {SCORES:?}, got {input:?}"))),
    }
}

fn read_mixture(object: &Object<'_>, key: &str) -> Result<f64, Error> {
    object.number(key, "in [0, 1)", |mixture| (0.0..1.0).contains(&mixture))
}

fn read_clip(object: &Object<'_>) -> Result<f64, Error> {
    object.number("clip", "above 0 and below 1/2", |clip| clip > 0.0 && clip < 0.5)
}

fn read_binary(object: &Object<'_>, method: Method) -> Result<BinaryMap, Error> {
    if method.is_of_classes() {
        let found = method.name();
        return Err(error(format!("{} must be of a binary outcome here, got {found:?}", object.name("method"))));
    }
    let parameters = object.object("parameters")?;
    let names = if method == Method::Spline { &[][..] } else { method.parameter_names() };
    let value = |(place, name): (usize, &&str)| read_parameter(&parameters, name, place < method.n_slopes());
    let values: Vec<f64> = names.iter().enumerate().map(value).collect::<Result<_, _>>()?;
    parameters.finish()?;
    let mut map = BinaryMap { method, parameters: values, ..BinaryMap::identity() };
    match method {
        Method::Spline => {
            let spline = read_spline(&object.object("spline")?)?;
            map.parameters.clone_from(&spline.value);
            map.spline = Some(spline);
        }
        Method::VennAbers => map.venn_abers = Some(read_venn_abers(&object.object("venn_abers")?)?),
        _ if method.is_table() => map.table = Some(read_table(&object.object("table")?, method != Method::Bins)?),
        _ => {}
    }
    map.mixture = read_mixture(object, "mixture")?;
    map.clip = read_clip(object)?;
    Ok(map)
}

pub(super) fn read_parameter(parameters: &Object<'_>, name: &str, is_slope: bool) -> Result<f64, Error> {
    if is_slope {
        parameters.number(name, "finite and not negative, so that the map does not fall", |slope| slope >= 0.0)
    } else {
        parameters.number(name, "a number", |_| true)
    }
}

fn read_table(object: &Object<'_>, rises: bool) -> Result<Table, Error> {
    let between: Between = named(object, "between", Between::NAMES)?;
    let at = read_knots(object, "at", 1)?;
    let value = read_shares(object, "value", at.len())?;
    if rises {
        check_order(object, "value", &value, |left, right| left <= right, "at least")?;
    }
    object.finish()?;
    Ok(Table { at, value, between })
}

fn read_venn_abers(object: &Object<'_>) -> Result<VennAbers, Error> {
    let at = read_knots(object, "at", 1)?;
    let (lower, upper) = (read_shares(object, "lower", at.len())?, read_shares(object, "upper", at.len())?);
    check_order(object, "lower", &lower, |left, right| left <= right, "at least")?;
    check_order(object, "upper", &upper, |left, right| left <= right, "at least")?;
    object.finish()?;
    Ok(VennAbers { at, lower, upper })
}

fn read_spline(object: &Object<'_>) -> Result<Spline, Error> {
    let knots = read_knots(object, "knots", 2)?;
    let value = read_some(object, "value", knots.len())?;
    let curvature = read_some(object, "curvature", knots.len())?;
    let smoothing = object.number("smoothing", "finite and not negative", |smoothing| smoothing >= 0.0)?;
    object.finish()?;
    let spline = Spline { knots, value, curvature, smoothing };
    let least = spline.least_slope();
    // A slope of 0 may be off by rounding.
    let size = spline.value.iter().fold(1.0, |size: f64, value| size.max(value.abs()));
    if !(least >= -1e-9 * size) {
        return Err(error(format!("{} must not fall, got a slope of {least}", object.name("value"))));
    }
    Ok(spline)
}

fn read_classes(object: &Object<'_>, method: Method, n_classes: usize) -> Result<ClassMap, Error> {
    let parameters = object.object("parameters")?;
    let (bias, before) = ("bias", "mixture_before");
    let has = |key: &str| parameters.get(key).is_some();
    let formula = match method {
        Method::Identity | Method::Temperature => ClassFormula::Slope,
        _ if has("scale") => ClassFormula::Vector {
            mixture_before: read_mixture(&parameters, before)?,
            scale: read_some(&parameters, "scale", n_classes)?,
            bias: read_some(&parameters, bias, n_classes)?,
        },
        _ if has("matrix") => ClassFormula::Matrix {
            mixture_before: read_mixture(&parameters, before)?,
            matrix: read_some(&parameters, "matrix", n_classes.saturating_mul(n_classes))?,
            bias: read_some(&parameters, bias, n_classes)?,
        },
        _ if has("weights") => {
            let weights = read_shares(&parameters, "weights", 3)?;
            let total: f64 = weights.iter().sum();
            let ([first, second, third], true) = (&weights[..], (total - 1.0).abs() <= 1e-9) else {
                return Err(error(format!("{} must have a sum of 1, got {total}", parameters.name("weights"))));
            };
            ClassFormula::Ensemble { weights: [*first, *second, *third] }
        }
        _ => {
            let maps = parameters.objects("maps")?;
            let one = |map: &Object<'_>| {
                let own: Method = named(map, "method", Method::NAMES)?;
                let read = read_binary(map, own)?;
                map.finish()?;
                Ok(read)
            };
            let maps: Vec<BinaryMap> = maps.iter().map(one).collect::<Result<_, Error>>()?;
            check_length(&parameters, "maps", maps.len(), n_classes)?;
            ClassFormula::OneVsRest { maps }
        }
    };
    let slope = if has_slope(method, &formula) { read_parameter(&parameters, "slope", true)? } else { 1.0 };
    parameters.finish()?;
    let (mixture, clip) = (read_mixture(object, "mixture")?, read_clip(object)?);
    Ok(ClassMap { method, n_classes, slope, formula, mixture, clip })
}

/// Strictly ascending numbers, of which there are so many at least.
fn read_knots(object: &Object<'_>, key: &str, least: usize) -> Result<Vec<f64>, Error> {
    let knots = object.numbers(key, "a number", |_| true)?;
    if knots.len() < least {
        return Err(error(format!("{} must have {least} numbers at least, got {}", object.name(key), knots.len())));
    }
    check_order(object, key, &knots, |left, right| left < right, "above")?;
    Ok(knots)
}

/// So many finite numbers.
fn read_some(object: &Object<'_>, key: &str, n: usize) -> Result<Vec<f64>, Error> {
    let numbers = object.numbers(key, "a number", |_| true)?;
    check_length(object, key, numbers.len(), n)?;
    Ok(numbers)
}

/// So many numbers in [0, 1].
fn read_shares(object: &Object<'_>, key: &str, n: usize) -> Result<Vec<f64>, Error> {
    let numbers = object.numbers(key, "in [0, 1]", |value| (0.0..=1.0).contains(&value))?;
    check_length(object, key, numbers.len(), n)?;
    Ok(numbers)
}

fn check_length(object: &Object<'_>, key: &str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(error(format!("{} must have {expected} entries, got {found}", object.name(key))))
}

fn check_order(
    object: &Object<'_>,
    key: &str,
    list: &[f64],
    holds: fn(f64, f64) -> bool,
    words: &str,
) -> Result<(), Error> {
    match list.windows(2).position(|pair| !holds(pair[0], pair[1])) {
        None => Ok(()),
        Some(place) => {
            let key = object.name(&format!("{key}[{}]", place + 1));
            Err(error(format!("{key} must be {words} {}, got {}", list[place], list[place + 1])))
        }
    }
}

/// One of some names.
pub(super) fn named<T: std::str::FromStr>(object: &Object<'_>, key: &str, names: &[&str]) -> Result<T, Error> {
    let text = object.text(key)?;
    text.parse().map_err(|_| error(format!("{} must be {}, got {text:?}", object.name(key), rule(names))))
}
