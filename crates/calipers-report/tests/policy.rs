//! What a page may do: nothing is loaded, only the scripts run whose digests the page states, links
//! lead to sections or to the web, and names of every kind are text.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use calipers::population::Family;
use calipers::{Input, Monitor, Multiclass, Predictions, Ties};
use calipers_report::{
    Detail, Groups, Model, ModelPoint, ModelsPage, Options, Origin, Report, Source, models_page, monitor_page,
};
use sha2::{Digest, Sha256};

/// Names of every kind: markup, the ends of elements, quotes and comments, links, controls, marks
/// of direction, other scripts, and one of 10,000 characters.
fn names() -> Vec<String> {
    let names = [
        "<script>alert(1)</script>",
        "</script><script>alert(2)</script>",
        "</style><style>@import 'http://a'</style>",
        "</title><img src=x onerror=alert(3)>",
        "\" onmouseover=\"alert(4)\" x=\"",
        "' autofocus onfocus='alert(5)",
        "--><svg onload=alert(6)><!--",
        "<!--<script>",
        "]]><a href=\"javascript:alert(7)\">x</a>",
        "javascript:alert(8)",
        "&lt;script&gt;&#x3c;&amp;",
        "${alert(9)}`{{alert(10)}}",
        "\u{202e}evil\u{2066}\u{200f}\u{feff}",
        "\0\u{1}\u{7}\u{8}\u{1b}[31m\u{7f}\u{9b}",
        "\r\n\t\u{2028}\u{2029}\u{85}",
        "שלום עולם مرحبا",
        "𝕬🦀e\u{301}\u{301}\u{301}\u{301}",
        " ",
        "",
    ];
    let mut names: Vec<String> = names.map(str::to_owned).to_vec();
    names.push("<b>".repeat(2500) + &"x".repeat(2500));
    names
}

/// An element's name and attributes.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    /// What follows the element's tag.
    rest: &'a str,
}

impl Tag<'_> {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }
}

/// All tags that open elements, as a browser finds them: the content of a script or style ends at
/// its end tag, whatever is in it.
fn tags(html: &str) -> Vec<Tag<'_>> {
    let (mut tags, mut rest) = (Vec::new(), html);
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if rest.starts_with(['/', '!']) {
            assert!(rest.starts_with('/') || rest.starts_with("!DOCTYPE html>"), "a comment: {}", head(rest));
            continue;
        }
        let end = rest.find(|c: char| c == '>' || c == '/' || c.is_whitespace()).unwrap();
        let mut tag = Tag { name: &rest[..end], attributes: Vec::new(), rest: "" };
        assert!(tag.name.chars().all(|c| c.is_ascii_alphanumeric()), "{}", head(rest));
        rest = rest[end..].trim_start();
        while !rest.starts_with(['>', '/']) {
            let end = rest.find(['=', '>', ' ', '/']).unwrap();
            let (name, after) = rest.split_at(end);
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == ':'), "{}", head(rest));
            rest = after;
            let mut value = "";
            if let Some(quoted) = after.strip_prefix("=\"") {
                (value, rest) = quoted.split_once('"').unwrap();
            }
            tag.attributes.push((name, value));
            rest = rest.trim_start();
        }
        rest = rest.trim_start_matches('/').strip_prefix('>').unwrap();
        tag.rest = rest;
        if ["script", "style", "title"].contains(&tag.name) {
            rest = &rest[rest.find(&format!("</{}>", tag.name)).unwrap()..];
        }
        tags.push(tag);
    }
    tags
}

fn head(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Elements that load, send or embed something.
const LOADING: [&str; 18] = [
    "a:ping",
    "applet",
    "audio",
    "base",
    "embed",
    "fetch",
    "foreignObject",
    "form",
    "frame",
    "iframe",
    "image",
    "img",
    "link",
    "object",
    "source",
    "track",
    "use",
    "video",
];

fn check_policy(page: &str, html: &str) {
    let tags = tags(html);
    let scripts: Vec<&Tag> = tags.iter().filter(|tag| tag.name == "script").collect();
    let content = |tag: &Tag| tag.rest.split_once("</script>").unwrap().0.to_owned();
    let mut digests = String::new();
    for script in &scripts {
        assert_eq!(script.attribute("src"), None, "{page}");
        match script.attribute("type") {
            Some("application/json") => {
                let json = content(script);
                assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{page}: JSON that could end");
                serde_json::from_str::<serde_json::Value>(&json).unwrap();
            }
            None => digests += &format!(" 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(content(script)))),
            other => panic!("{page}: a script of type {other:?}"),
        }
    }
    let metas = tags.iter().filter(|tag| tag.attribute("http-equiv").is_some());
    let policies: Vec<&str> = metas.map(|tag| tag.attribute("content").unwrap()).collect();
    let expected = format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
         script-src{digests}"
    );
    assert_eq!(policies.iter().map(|policy| policy.replace("&#39;", "'")).collect::<Vec<_>>(), [expected], "{page}");
    for tag in &tags {
        assert!(!LOADING.contains(&tag.name), "{page}: <{}>", tag.name);
        for (name, value) in &tag.attributes {
            assert!(!name.starts_with("on") && *name != "srcdoc" && *name != "src", "{page}: {name}={value}");
            if name.ends_with("href") || *name == "action" {
                let leads = ["#", "http://", "https://"].iter().any(|start| value.starts_with(start));
                assert!(leads, "{page}: a link to {value}");
            }
            assert!(!value.contains("url(") || value.contains("url(#"), "{page}: {name}={value}");
        }
        if tag.name == "style" {
            let style = tag.rest.split_once("</style>").unwrap().0;
            assert!(!style.contains("@import") && !style.contains("url("), "{page}: a style that loads");
        }
    }
    // No control character but the ends of lines: a browser would drop or replace it.
    let control = html.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert_eq!(control, None, "{page}");
}

fn rows<'a>(predictions: &'a Predictions<'a>) -> Source<'a> {
    Source::Rows { predictions, multiclass: Multiclass::Auto, ties: Ties::First, clusters: None }
}

fn options() -> Options {
    Options::new().n_resamples(20)
}

#[test]
fn a_report_with_names_of_every_kind_keeps_the_policy() {
    let sample = Family::named("overconfident").unwrap().sample(120, 1);
    let predictions = sample.input().check().unwrap();
    let names = names();
    for (place, name) in names.iter().enumerate() {
        let other = &names[(place + 7) % names.len()];
        let groups = || Groups::Rows {
            by: other.clone(),
            keys: vec![name.clone(), other.clone(), "plain".to_owned()],
            numbers: (0..120).map(|row| row % 3).collect(),
        };
        let origin = Origin {
            files: vec![name.clone()],
            columns: vec![(other.clone(), name.clone())],
            notes: vec![other.clone()],
        };
        let model = |name: &str| Model::new(name, rows(&predictions)).groups(groups()).origin(origin.clone());
        let report = Report::new(options()).title(name).command(name).note(other);
        // One with a comparison, one with drift; both take long with each name.
        let values = match place % 3 {
            0 => report.model(model(name)).model(model(other)),
            1 => report.model(model(name)).against(Model::new(other, rows(&predictions))),
            _ => report.model(model(name)),
        };
        let values = values.gather().unwrap();
        check_policy(&head(name), &values.to_html());
        for (file, chart) in values.charts() {
            let svg = chart.to_svg();
            let document = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{file}: {error}"));
            let elements = document.descendants().filter(|node| node.is_element());
            for element in elements {
                assert!(!["script", "foreignObject", "image", "a", "use"].contains(&element.tag_name().name()));
                assert!(element.attributes().all(|attribute| !attribute.name().starts_with("on")));
            }
            assert!(file.len() < 200 && file.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c)), "{file}");
        }
    }
}

#[test]
fn classes_with_names_of_every_kind_keep_the_policy() {
    let names = names();
    let k = names.len();
    let scores: Vec<f64> = (0..60)
        .flat_map(|row| (0..k).map(move |class| if class == row % k { 0.5 } else { 0.5 / (k - 1) as f64 }))
        .collect();
    let labels: Vec<u32> = (0..60).map(|row| (row % k) as u32).collect();
    let predictions = Input::probabilities(&scores, &labels).classes(k).check().unwrap();
    let report = Report::new(options()).model(Model::new("m", rows(&predictions)).class_names(names));
    check_policy("classes", &report.gather().unwrap().to_html());
}

#[test]
fn monitors_with_names_of_every_kind_keep_the_policy() {
    let sample = Family::named("overconfident").unwrap().sample(100, 1);
    let predictions = sample.input().check().unwrap();
    let monitors: Vec<(String, Monitor)> = names()
        .into_iter()
        .map(|name| {
            let mut monitor = Monitor::new();
            for window in 0..3 {
                monitor.update(&format!("{window}{name}"), &predictions.binary().unwrap()).unwrap();
            }
            (name, monitor)
        })
        .collect();
    let all: Vec<(String, &Monitor)> = monitors.iter().map(|(name, monitor)| (name.clone(), monitor)).collect();
    for some in [&all[..], &all[..1], &all[13..14], &all[19..20]] {
        let title = &some[0].0;
        check_policy("monitors", &monitor_page(title, some, Some(title.as_str())));
    }
}

#[test]
fn many_models_with_names_of_every_kind_keep_the_policy() {
    let names = names();
    let model = |place: usize| ModelPoint {
        name: names[place].clone(),
        group: names[(place + 3) % names.len()].clone(),
        n: 1000,
        x: 0.01 * (place + 1) as f64,
        y: 0.02,
        details: vec![Detail { label: names[8].clone(), text: names[place].clone(), value: None }],
    };
    for name in &names {
        let page = ModelsPage {
            title: name.clone(),
            about: vec![name.clone()],
            x: name.clone(),
            y: name.clone(),
            group: name.clone(),
            models: (0..names.len()).map(model).collect(),
            command: Some(name.clone()),
        };
        check_policy(&head(name), &models_page(&page));
    }
}

#[test]
#[should_panic(expected = "a link to javascript:alert(1)")]
fn a_link_to_a_script_is_found() {
    check_policy("link", &with("<a href=\"javascript:alert(1)\">x</a>"));
}

#[test]
#[should_panic(expected = "onload=")]
fn an_attribute_that_runs_is_found() {
    check_policy("attribute", &with("<svg onload=\"alert(1)\"></svg>"));
}

#[test]
#[should_panic(expected = "<img>")]
fn an_element_that_loads_is_found() {
    check_policy("element", &with("<img src=\"http://a\">"));
}

/// A page of ours with more in its body.
fn with(markup: &str) -> String {
    let sample = Family::named("calibrated").unwrap().sample(50, 1);
    let predictions = sample.input().check().unwrap();
    let html = Report::new(options()).model(Model::new("m", rows(&predictions))).gather().unwrap().to_html();
    html.replace("<main>", &format!("<main>{markup}"))
}
