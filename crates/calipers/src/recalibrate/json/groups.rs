//! Maps by group in a file: format 2, which is format 1 of the pooled map with further keys.

use super::object::{Object, error};
use super::parts::{read_parameter, written_parameters};
use super::text::Text;
use crate::Error;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::groups::GroupMaps;
use crate::recalibrate::method::Method;

/// What decides the values of groups.
pub(super) fn written(maps: &GroupMaps) -> Text {
    let one = |(name, map): (&String, &BinaryMap)| {
        Text::default().with("name", name).with("parameters", written_parameters(map))
    };
    Text::default().with("groups", maps.names.iter().zip(&maps.maps).map(one).collect::<Vec<Text>>())
}

/// What is known about the groups beside their maps.
pub(super) fn about(maps: &GroupMaps) -> Text {
    let names = maps.method().parameter_names().iter();
    let spread = names.zip(&maps.spread).fold(Text::default(), |text, (name, value)| text.with(name, *value));
    Text::default().maybe("by", maps.by.as_ref()).with("spread", spread)
}

pub(super) fn read(object: &Object<'_>, pooled: BinaryMap) -> Result<GroupMaps, Error> {
    let method = pooled.method;
    let is_formula =
        !method.is_table() && !method.is_of_classes() && !matches!(method, Method::Identity | Method::Spline);
    if !is_formula {
        return Err(error(format!("\"method\" must be a formula where there are groups, got {:?}", method.name())));
    }
    let by = match object.get("by") {
        None => None,
        Some(_) => Some(object.text("by")?.to_owned()),
    };
    let of_spread = object.object("spread")?;
    let rule = "finite and not negative";
    let spread = method.parameter_names().iter().map(|name| of_spread.number(name, rule, |spread| spread >= 0.0));
    let spread = spread.collect::<Result<_, _>>()?;
    of_spread.finish()?;
    let (mut names, mut maps): (Vec<String>, Vec<BinaryMap>) = (Vec::new(), Vec::new());
    for group in object.objects("groups")? {
        let name = group.text("name")?;
        if names.last().is_some_and(|last| last.as_str() >= name) {
            let text = format!("{} must be after the name before it, got {name:?}", group.name("name"));
            return Err(error(text));
        }
        let parameters = group.object("parameters")?;
        let own = method.parameter_names().iter().enumerate();
        let own = own.map(|(place, name)| read_parameter(&parameters, name, place < method.n_slopes()));
        let own = own.collect::<Result<_, _>>()?;
        parameters.finish()?;
        group.finish()?;
        names.push(name.to_owned());
        maps.push(BinaryMap { parameters: own, ..pooled.clone() });
    }
    if names.is_empty() {
        return Err(error("\"groups\" must have one entry at least, got none"));
    }
    Ok(GroupMaps { by, pooled, names, maps, spread })
}
