//! The top of the page: what was found, in one sentence, and how sure that is.

use calipers::inference::{Direction, Region};
use calipers::{Assessment, Estimate};
use maud::{Markup, html};

use crate::gather::{Finding, Measured, ModelValues, Part, Parts, Values};
use crate::number::{capitalised, count, four_digits, p_in_words, percent};

/// The header: the answer, the diagram beside it, and below the answer the numbers behind it. In a
/// narrow window the diagram comes before these numbers.
pub(super) fn header(values: &Values, diagram: &Markup) -> Markup {
    html! {
        header class="hero" id="answer" {
            div class="answer" {
                h1 { (values.title) }
                @match &values.models[..] {
                    [model] => (of_one(values, model)),
                    _ => (of_several(values)),
                }
            }
            div class="diagram" { (diagram) }
            div class="more" {
                @match &values.models[..] {
                    [model] => (numbers(values, model)),
                    models => ul class="verdicts" { @for model in models { li { (card(values, model)) } } },
                }
            }
        }
    }
}

/// The answer for the only model.
fn of_one(values: &Values, model: &ModelValues) -> Markup {
    html! {
        p class={ "sentence " (state(model)) } { (sentence(model)) }
        p class="sure" { strong { (chip(&model.finding)) ". " } (how_sure(values, model)) }
        @if let Some(groups) = &model.groups { (of_parts(values, groups, "groups-0")) }
        @if let Some(classes) = &model.classes { (of_parts(values, classes, "classes-0")) }
    }
}

/// How many groups or classes are miscalibrated, and which: all rows together may hide them.
fn of_parts(values: &Values, parts: &Parts, id: &str) -> Markup {
    let level = values.options.level;
    let is_found = |part: &&Part| part.p_adjusted.is_some_and(|p| p <= 1.0 - level + 1e-12);
    let found = parts.parts.iter().filter(is_found).map(|part| match part.direction(level) {
        Some(direction) => format!("{} ({})", part.name, direction.in_words()),
        None => part.name.clone(),
    });
    let found: Vec<String> = found.collect();
    let n = count(parts.n as u64);
    let what = if parts.by == "class" { format!("{n} classes") } else { format!("{n} groups by {}", parts.by) };
    let at_least = if parts.n_open > 0 { "At least " } else { "" };
    html! {
        p class="sure" {
            @match parts.n_found {
                0 => { "There is no evidence of miscalibration in any of the " (what) "." },
                n_found => {
                    (at_least) (count(n_found as u64)) " of " (what) (if n_found == 1 { " is" } else { " are" })
                    " miscalibrated, after adjustment for their number: "
                    // The page may list fewer than there are; of many, the first are enough here.
                    (listed_of(&found[..if found.len() > 6 { 3 } else { found.len() }], n_found)) "."
                },
            }
            " " a href={ "#" (id) } { "See them" }
        }
    }
}

/// The answer for several models: which are miscalibrated, and in which direction.
fn of_several(values: &Values) -> Markup {
    let with = |state: Option<bool>| values.models.iter().filter(move |model| model.finding.significant == state);
    let bad: Vec<String> = with(Some(true))
        .map(|model| match word(&model.finding) {
            Some(word) => format!("{} ({word})", model.name),
            None => model.name.clone(),
        })
        .collect();
    let plain = |state: Option<bool>| with(state).map(|model| model.name.clone()).collect::<Vec<String>>();
    let (good, open) = (plain(Some(false)), plain(None));
    let n = values.models.len();
    html! {
        p class={ "sentence " (if bad.is_empty() { "good" } else { "bad" }) } {
            @if bad.is_empty() { "There is no evidence of miscalibration in any of " (n) " models." }
            @else { (bad.len()) " of " (n) " models " (if bad.len() == 1 { "is" } else { "are" }) " miscalibrated: " (listed(&bad)) "." }
        }
        p class="sure" {
            @if !good.is_empty() && !bad.is_empty() { "No evidence of miscalibration: " (listed(&good)) ". " }
            @if !open.is_empty() { "Not decided: " (listed(&open)) ". " }
            "The p-values are adjusted for " (n) " models (Holm), so the verdicts hold for all of them together."
        }
    }
}

/// `a, b and 3 more`: nobody reads a longer list in a sentence.
fn listed(names: &[String]) -> String {
    listed_of(names, names.len())
}

/// The same for the first of `n` names.
fn listed_of(names: &[String], n: usize) -> String {
    const MOST: usize = 6;
    let first = &names[..names.len().min(MOST)];
    match first {
        [] => String::new(),
        [one] if n == 1 => one.clone(),
        [others @ .., last] if n == first.len() => format!("{} and {last}", others.join(", ")),
        _ => format!("{} and {} more", first.join(", "), count((n - first.len()) as u64)),
    }
}

/// The verdict on one of several models.
fn card(values: &Values, model: &ModelValues) -> Markup {
    html! {
        div class={ "verdict " (state(model)) } {
            p class="word" { span class="name" { (model.name) } " " span class="chip" { (chip(&model.finding)) } }
            p { (sentence(model)) }
            p class="note" { (how_sure(values, model)) }
        }
    }
}

/// Value, interval and floor, and the data of a model.
pub(super) fn numbers(values: &Values, model: &ModelValues) -> Markup {
    html! {
        @if let Some(found) = assessment(model) {
            p class="in-numbers" {
                (capitalised(&match model.finding.p_adjusted {
                    Some(adjusted) => found.sentence_among_models(adjusted),
                    None => found.sentence(),
                }))
            }
        }
        (facts(values, model))
    }
}

fn assessment(model: &ModelValues) -> Option<&Assessment> {
    model.measures.first().and_then(Measured::assessment)
}

/// A larger mean error than this is not called good only because chance could explain it.
const LARGE: f64 = 0.1;

/// Whether there is no evidence, and the data could not rule out a large error either.
fn is_weak(model: &ModelValues) -> bool {
    let upper = assessment(model).map(|found| found.deciding().interval.upper);
    model.finding.significant == Some(false) && upper.is_some_and(|upper| upper > LARGE)
}

fn state(model: &ModelValues) -> &'static str {
    let has_bad_parts = [&model.groups, &model.classes].into_iter().flatten().any(|parts| parts.n_found > 0);
    match model.finding.significant {
        Some(true) => "bad",
        Some(false) if !is_weak(model) && !has_bad_parts => "good",
        _ => "open",
    }
}

fn chip(finding: &Finding) -> String {
    match finding.significant {
        Some(true) => word(finding).map_or("Miscalibrated".to_owned(), |word| format!("Miscalibrated, {word}")),
        Some(false) => "No evidence of miscalibration".to_owned(),
        None => "Not decided".to_owned(),
    }
}

/// The direction in a word or two.
pub(super) fn word(finding: &Finding) -> Option<&'static str> {
    finding.direction.map(Direction::in_words)
}

/// One sentence in plain words: what is predicted, what happens, and the direction if there is
/// evidence of one.
pub(super) fn sentence(model: &ModelValues) -> String {
    let Finding { significant, direction, opposite, region, confidences, .. } = &model.finding;
    let [predicted, happened] = shares(model.means);
    let fact = match confidences {
        true => format!("Is {predicted} sure of its answers on average, {happened} are correct"),
        false => format!("Predicts {predicted} on average, {happened} happen"),
    };
    let elsewhere = opposite.map(|opposite| format!(", and {} elsewhere", opposite.in_words()));
    let place = region.as_ref().map_or_else(String::new, most_of_all) + &elsewhere.unwrap_or_default();
    let judgement = match (significant, direction) {
        (None, _) => ": whether chance alone explains the difference is not decided".to_owned(),
        (Some(false), _) if is_weak(model) => {
            ": no evidence of miscalibration, but too few rows to rule out a large error".to_owned()
        }
        (Some(false), _) => ": no evidence of miscalibration".to_owned(),
        (Some(true), None) => ": there is miscalibration, but the data do not show its direction".to_owned(),
        (Some(true), Some(Direction::TooHigh)) => format!(": probabilities are too high{place}"),
        (Some(true), Some(Direction::TooLow)) => format!(": probabilities are too low{place}"),
        (Some(true), Some(Direction::Overconfident)) if *confidences => format!(": the model is overconfident{place}"),
        (Some(true), Some(Direction::Underconfident)) if *confidences => {
            format!(": the model is underconfident{place}")
        }
        (Some(true), Some(Direction::Overconfident)) => {
            ", but single probabilities are too far from 50 % (overconfident)".to_owned()
        }
        (Some(true), Some(Direction::Underconfident)) => {
            ", but single probabilities are too close to 50 % (underconfident)".to_owned()
        }
    };
    format!("{fact}{judgement}.")
}

fn most_of_all(region: &Region) -> String {
    let side = if region.is_above { "above" } else { "below" };
    format!(", most of all {side} {}", percent(region.threshold))
}

/// Two shares in per cent with as many decimals as show two digits of either.
fn shares((first, second): (f64, f64)) -> [String; 2] {
    let needed = |share: f64| {
        let rest = 100.0 * share.min(1.0 - share);
        if rest > 0.0 { (1.0 - rest.log10().floor()).clamp(1.0, 6.0) as usize } else { 0 }
    };
    let places = needed(first).max(needed(second));
    [first, second].map(|share| match share {
        0.0 => "0 %".to_owned(),
        1.0 => "100 %".to_owned(),
        _ => format!("{:.places$} %", 100.0 * share),
    })
}

/// How often chance alone does as much, and how large the error is.
fn how_sure(values: &Values, model: &ModelValues) -> String {
    let Some((found, p)) = assessment(model).zip(model.finding.deciding_p()) else {
        let reason = assessment(model).and_then(|found| found.unavailable).unwrap_or("it cannot be computed");
        return format!("There is no noise floor: {reason}.");
    };
    let often = match p {
        _ if p < 0.001 => "fewer than 1 of 1,000".to_owned(),
        _ if p < 0.0095 => format!("about {:.0} of 1,000", 1000.0 * p),
        _ => format!("about {:.0} of 100", 100.0 * p),
    };
    let shown = p_in_words(p);
    let adjusted = if model.finding.p_adjusted.is_some() { ", adjusted" } else { "" };
    let chance = format!(
        "A perfectly calibrated model would be off by as much in {often} samples like this one ({shown}{adjusted})."
    );
    // The deciding measure has no part that smoothing adds.
    let found = found.deciding();
    let level = percent(values.options.level);
    let points = |value: f64| format!("{:.1$}", 100.0 * value, if found.interval.upper < 0.01 { 2 } else { 1 });
    let size = match model.finding.significant {
        Some(true) => format!(
            "The mean error is about {} percentage points ({level} interval {} to {}).",
            points(found.debiased),
            points(found.interval.lower),
            points(found.interval.upper)
        ),
        _ => format!(
            "The mean error can still be up to {} percentage points ({level} confidence).",
            points(found.interval.upper)
        ),
    };
    format!("{chance} {size}")
}

/// The data of a model, in one line.
fn facts(values: &Values, model: &ModelValues) -> Markup {
    let clusters = assessment(model).and_then(|found| found.n_clusters);
    let sigma =
        model.measures.first().and_then(Measured::estimate).and_then(|found: &Estimate| found.settings.number("sigma"));
    html! {
        p class="facts" {
            (count(model.n)) @if model.n == 1 { " row" } @else { " rows" }
            @if let Some(n) = clusters { " in " (count(n)) " clusters" }
            @if let Some(question) = &model.question { " · " (question) }
            @if model.from_sketch { " · from a sketch" }
            @if let Some(sigma) = sigma { " · sigma " (four_digits(sigma)) }
            @if values.models.len() == 1 { " · " a href="#measures" { "all measures" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_the_digits_that_tell_them_apart() {
        let cases = [
            ((0.072, 0.037), ["7.2 %", "3.7 %"]),
            ((0.5312, 0.4999), ["53.1 %", "50.0 %"]),
            ((0.000_372, 0.0), ["0.037 %", "0 %"]),
            ((0.9997, 0.98), ["99.970 %", "98.000 %"]),
            ((1.0, 0.5), ["100 %", "50.0 %"]),
        ];
        for (given, expected) in cases {
            assert_eq!(shares(given), expected);
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let names = |n: usize| (1..=n).map(|name| name.to_string()).collect::<Vec<String>>();
        assert_eq!(listed(&names(1)), "1");
        assert_eq!(listed(&names(3)), "1, 2 and 3");
        assert_eq!(listed(&names(9)), "1, 2, 3, 4, 5, 6 and 3 more");
        assert_eq!(listed_of(&names(2), 1_002), "1, 2 and 1,000 more");
    }
}
