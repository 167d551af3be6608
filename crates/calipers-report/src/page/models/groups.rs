//! The groups of models, each with a colour and a shape, and the legend that selects among them.

use std::collections::HashMap;

use maud::{Markup, html};

use super::ModelPoint;
use crate::chart::Shape;
use crate::number::{capitalised, count};

/// The colours of the style sheet, `k0` to `k5`.
const N_COLOURS: usize = 6;

/// The groups, those with the most models first, then by name.
pub(super) struct Groups<'a> {
    /// The name of each group and its number of models.
    groups: Vec<(&'a str, usize)>,
    /// The group of each model.
    of_models: Vec<usize>,
}

/// The colour and the shape of a group. The first groups, which have the most models, are circles.
/// With more groups than there are pairs, groups share a look.
pub(super) fn look(group: usize) -> (usize, Shape) {
    (group % N_COLOURS, Shape::ALL[group / N_COLOURS % Shape::ALL.len()])
}

impl<'a> Groups<'a> {
    pub(super) fn new(models: &'a [ModelPoint]) -> Self {
        let mut n_models: HashMap<&str, usize> = HashMap::new();
        for model in models {
            *n_models.entry(&model.group).or_default() += 1;
        }
        let mut groups: Vec<(&str, usize)> = n_models.into_iter().collect();
        groups.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let places: HashMap<&str, usize> = groups.iter().enumerate().map(|(place, group)| (group.0, place)).collect();
        // proof: every group of a model is in the list
        let of_models = models.iter().map(|model| places.get(model.group.as_str()).copied().unwrap_or(0)).collect();
        Groups { groups, of_models }
    }

    /// The group of the model at a place of the list.
    pub(super) fn of_model(&self, place: usize) -> usize {
        self.of_models.get(place).copied().unwrap_or(0)
    }

    /// All groups with their looks. The script shows what selects among them.
    pub(super) fn legend(&self, what: &str) -> Markup {
        html! {
            div class="groups" role="group" aria-labelledby="groups-title" {
                p { span id="groups-title" { (capitalised(what)) } button type="button" id="all-groups" hidden { "Show all" } }
                ul {
                    @for (place, (name, n)) in self.groups.iter().enumerate() {
                        li data-group=(place) {
                            label {
                                input type="checkbox" checked autocomplete="off";
                                (symbol(place))
                                span class="name" { bdi { (shown(name)) } }
                                span class="n" { (count(*n as u64)) }
                            }
                            button type="button" class="only" aria-label={ "Show only " (shown(name)) } { "only" }
                        }
                    }
                }
            }
        }
    }
}

/// The mark of a group, as large as a letter.
pub(super) fn symbol(group: usize) -> Markup {
    let (colour, shape) = look(group);
    html! {
        svg class="symbol" viewBox="0 0 16 16" aria-hidden="true" {
            path class={ "mark k" (colour) } d=(shape.outline(8.0, 8.5, 5.2)) {}
        }
    }
}

/// A group without a name has one that can be seen.
pub(super) fn shown(name: &str) -> &str {
    if name.trim().is_empty() { "(none)" } else { name }
}
