//! Links to the sections of the page.

use maud::{Markup, html};

use crate::gather::Values;

pub(super) fn bar(values: &Values) -> Markup {
    let several = values.models.len() > 1;
    let has = |parts: bool, id: &'static str, title: &'static str| parts.then_some((id, title));
    let sections = [
        Some(("answer", "Answer")),
        has(!values.drifts.is_empty(), "drift", "Has it changed"),
        has(values.compared.is_some(), "pairs", "Which is better"),
        Some(("measures", "Measures")),
        Some(("charts", if several { "Charts of each model" } else { "Charts" })),
        has(!several, "recalibration-0", "Recalibration"),
        has(!several && values.models.iter().any(|model| model.classes.is_some()), "classes-0", "Classes"),
        has(!several && values.models.iter().any(|model| model.groups.is_some()), "groups-0", "Groups"),
        Some(("provenance", "How this page was made")),
    ];
    html! {
        nav aria-label="Sections" class=[several.then_some("sticky")] {
            span class="eyebrow" { "calipers · calibration report" }
            @for (id, title) in sections.into_iter().flatten() { a href={ "#" (id) } { (title) } }
        }
    }
}
