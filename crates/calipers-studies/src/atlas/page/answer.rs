//! The answer, in five sentences.

use calipers::{LsEce, SmoothEce};

use super::bins::{brittle, brittle_by_a_point};
use super::claims::paper_range;
use super::differences::apart;
use super::noise::{not_above, share_of_noise};
use super::rankings::flips_with_ece;
use super::ties::tied;
use super::{median, percent, share, with_chance};
use crate::Page;
use crate::atlas::MeasuredSet;
use crate::atlas::measured::Measured;
use crate::atlas::rules::{HOLDS, HOLDS_WITH_CONDITIONS, MATTERS, NEARLY_THE_SAME};

pub(super) fn section(page: &mut Page, all: &[&Measured], sets: &[&MeasuredSet]) {
    let independent = with_chance(all);
    page.heading("The answer");
    if let Some(harmless) = share(&independent, |model| !brittle_by_a_point(model)) {
        let text = match harmless.value {
            value if value >= HOLDS => {
                "For nearly all models, chance could explain how ECE moves with the bins, or it moves by less than a \
                 percentage point."
            }
            value if value >= HOLDS_WITH_CONDITIONS => {
                "For most models, chance could explain how ECE moves with the bins, or it moves by less than a \
                 percentage point. For some it could not."
            }
            _ => "For most models, chance does not explain how ECE moves with the bins.",
        };
        page.text(text);
    }
    let flips = |name: &str| percent(flips_with_ece(sets, name));
    let sentences = [
        format!(
            "**Bins**: from 10 to 100 bins of equal width, ECE stays within 0.005 for {} of all models. Over 5 to 100 bins, of equal width or mass, it moves farther than chance explains for {} of the {} models with independent rows, and then by more than a percentage point for {}.",
            percent(share(all, |model| paper_range(model) <= NEARLY_THE_SAME)),
            percent(share(&independent, brittle)),
            independent.len(),
            percent(share(&independent, brittle_by_a_point)),
        ),
        format!(
            "**LS-ECE and smECE**: ECE with 15 bins differs by more than 0.01 from LS-ECE at the matched sigma for {} of models, from LS-ECE at the automatic sigma for {}, and from smECE for {}.",
            percent(share(all, |model| apart(model, |model| model.matched) > MATTERS)),
            percent(share(all, |model| apart(model, |model| model.automatic) > MATTERS)),
            percent(share(all, |model| apart(model, |model| model.smooth_ece) > MATTERS)),
        ),
        format!(
            "**Rankings**: of the pairs of models that two measures both call different, the order flips between ECE and LS-ECE for {}, and between ECE and smECE for {}.",
            flips(LsEce::NAME),
            flips(SmoothEce::NAME),
        ),
        format!(
            "**Noise**: the noise floor is {} of the ECE in the median, and the ECE of {} of models is not significantly above its noise floor.",
            percent(median(&independent, share_of_noise)),
            percent(share(&independent, not_above)),
        ),
        format!(
            "**Ties**, where ECE is discontinuous: {} of models have more than half of their rows tied, and splitting ties could move ECE, with each distinct probability as a bin of its own, by more than 0.01 for {}.",
            percent(share(all, |model| tied(model) > 0.5)),
            percent(share(all, |model| model.tied_jump > MATTERS)),
        ),
    ];
    for sentence in sentences {
        page.text(&sentence);
    }
}
