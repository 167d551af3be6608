//! The page of many models: it is complete, and harmless for any name and any value.

use calipers_report::{Detail, ModelPoint, ModelsPage, models_page};
use serde_json::Value;

const HOSTILE: &str = "</script><script>alert(1)</script>\"'--><img src=x onerror=alert(2)>\u{2028}&amp;\u{202e}";

fn model(name: &str, group: &str, n: u64, x: f64, y: f64) -> ModelPoint {
    ModelPoint { name: name.to_owned(), group: group.to_owned(), n, x, y, details: Vec::new() }
}

fn page(models: Vec<ModelPoint>) -> String {
    models_page(&ModelsPage {
        title: "Models".to_owned(),
        about: vec!["What they are.".to_owned()],
        x: "ECE".to_owned(),
        y: "LS-ECE".to_owned(),
        group: "domain".to_owned(),
        models,
        command: None,
    })
}

/// The two charts of a page: logarithmic and linear.
fn charts(html: &str) -> Vec<roxmltree::Document<'_>> {
    let charts = html.match_indices("<svg xmlns").map(|(start, _)| {
        let end = start + html[start..].find("</svg>").unwrap() + "</svg>".len();
        roxmltree::Document::parse(&html[start..end]).unwrap()
    });
    charts.collect()
}

/// The outlines of all marks of a chart.
fn outlines(chart: &roxmltree::Document) -> Vec<String> {
    let marks =
        chart.descendants().filter(|node| node.attribute("class").is_some_and(|class| class.starts_with("mark")));
    marks.map(|mark| mark.attribute("d").unwrap().to_owned()).collect()
}

#[test]
fn every_model_is_in_both_charts_in_the_table_and_in_the_json() {
    let models: Vec<ModelPoint> = (0..320)
        .map(|k| {
            model(
                &format!("model {k}"),
                &format!("domain {}", k % 20),
                500 + 997 * k,
                1e-4 * (k + 1) as f64,
                2e-4 * k as f64,
            )
        })
        .collect();
    let html = page(models);
    let charts = charts(&html);
    assert_eq!(charts.len(), 2);
    for chart in &charts {
        assert_eq!(outlines(chart).len(), 320);
    }
    assert_eq!(html.matches("<tr data-place=").count(), 320);
    assert_eq!(html.matches("<li data-group=").count(), 20);
    let (_, after) = html.split_once("id=\"calipers-data\" type=\"application/json\">").unwrap();
    let json: Value = serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(json["models"].as_array().unwrap().len(), 320);
    assert_eq!((&json["models"][7]["name"], &json["models"][7]["x"]), (&"model 7".into(), &8e-4.into()));
    // The look of each of 20 groups is its own.
    let symbols = html.split("<li data-group=").skip(1).map(|entry| {
        let (_, after) = entry.split_once("class=\"mark").unwrap();
        after.split_once('>').unwrap().0
    });
    assert_eq!(symbols.collect::<std::collections::HashSet<_>>().len(), 20);
}

#[test]
fn hostile_texts_are_only_text() {
    let long = "x".repeat(10_000);
    let mut models =
        vec![model(HOSTILE, HOSTILE, 10, 0.1, 0.2), model(&long, &long, 20, 0.2, 0.1), model("", "", 0, 0.3, 0.3)];
    models[0].details = vec![Detail::text(HOSTILE, HOSTILE), Detail::shown(HOSTILE, 0.5, HOSTILE)];
    let html = models_page(&ModelsPage {
        title: HOSTILE.to_owned(),
        about: vec![HOSTILE.to_owned()],
        x: HOSTILE.to_owned(),
        y: HOSTILE.to_owned(),
        group: HOSTILE.to_owned(),
        models,
        command: Some(HOSTILE.to_owned()),
    });
    assert!(!html.contains("<img") && !html.contains("<script>alert"));
    // The data, and two scripts whose digests are in the policy.
    assert_eq!(html.matches("<script").count(), 3);
    assert_eq!(html.matches("</script>").count(), 3);
    assert_eq!(charts(&html).len(), 2);
    // A model and a group without a name can be seen.
    assert!(html.contains("(none)"));
}

#[test]
fn the_policy_allows_the_scripts_of_the_page_and_nothing_else() {
    use base64::Engine;
    use sha2::{Digest, Sha256};
    let html = page(vec![model("m", "g", 10, 0.1, 0.2)]);
    let (_, after) = html.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap();
    let policy = after.split_once('"').unwrap().0;
    let digests: Vec<String> = html
        .split("<script>")
        .skip(1)
        .map(|rest| Sha256::digest(rest.split_once("</script>").unwrap().0))
        .map(|digest| format!("'sha256-{}'", base64::prelude::BASE64_STANDARD.encode(digest)))
        .collect();
    assert_eq!(digests.len(), 2);
    assert!(
        policy.starts_with("default-src 'none';") && policy.ends_with(&format!("script-src {}", digests.join(" ")))
    );
    for outside in ["src=", "href=\"http", "url(", "@import"] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn zeros_and_equal_values_are_drawn() {
    let models = vec![
        model("both", "g", 10, 0.0, 0.0),
        model("x", "g", 10, 0.0, 0.3),
        model("y", "g", 10, 0.01, 0.0),
        model("same", "g", 10, 0.01, 0.02),
        model("same", "g", 10, 0.01, 0.02),
        model("negative", "g", 10, -0.01, 0.02),
    ];
    let html = page(models);
    for chart in &charts(&html) {
        let drawn = outlines(chart);
        assert_eq!(drawn.len(), 6);
        assert!(drawn.iter().all(|outline| !outline.contains("NaN") && !outline.contains("inf")));
        assert_eq!(drawn.iter().collect::<std::collections::HashSet<_>>().len(), 5);
    }
    assert!(html.contains("≤ 0") && html.contains("class=\"zeros\""));
    let positive = page(vec![model("m", "g", 10, 0.1, 0.2), model("m", "g", 10, 1e-4, 0.2)]);
    assert!(!positive.contains("class=\"zeros\""));
}

#[test]
fn models_without_a_finite_value_are_only_in_the_table() {
    let values = [(f64::NAN, 0.1), (0.1, f64::INFINITY), (0.1, 0.2)];
    let html = page(values.iter().map(|(x, y)| model("m", "g", 10, *x, *y)).collect());
    assert!(charts(&html).iter().all(|chart| outlines(chart).len() == 1));
    assert_eq!(html.matches("<tr data-place=").count(), 3);
    assert!(html.contains("2 of 3 models do not have both values"));
}

#[test]
fn one_model_one_value_and_no_model_make_a_page() {
    for values in [vec![(0.1, 0.2)], vec![(0.1, 0.1)], vec![(0.0, 0.0)], vec![(1e-300, 1e-300)], vec![(0.2, 0.2); 3]] {
        let html = page(values.iter().map(|(x, y)| model("m", "g", 0, *x, *y)).collect());
        for chart in &charts(&html) {
            assert_eq!(outlines(chart).len(), values.len());
            assert!(!chart.input_text().contains("NaN"), "{values:?}");
        }
    }
    for models in [Vec::new(), vec![model("m", "g", 10, f64::NAN, f64::NAN)]] {
        let html = page(models);
        assert!(html.contains("No model has two values that can be drawn.") && charts(&html).is_empty());
    }
}

#[test]
fn columns_are_sorted_by_numbers_where_all_values_are_numbers() {
    let mut models = vec![model("a", "g", 10, 0.1, 0.2), model("b", "g", 10, 0.1, 0.2), model("c", "g", 10, 0.1, 0.2)];
    models[0].details =
        vec![Detail::number("Floor", 0.0123456), Detail::text("Verdict", "none"), Detail::number("Mixed", 1.0)];
    models[1].details = vec![Detail::shown("Floor", 0.5, "below 0.5"), Detail::text("Mixed", "–")];
    let html = page(models);
    assert!(html.contains("<td class=\"n\" data-value=\"0.0123456\"><bdi>0.01235</bdi></td>"));
    assert!(html.contains("<td class=\"n\" data-value=\"0.5\"><bdi>below 0.5</bdi></td>"));
    // The third model has no details.
    assert!(html.contains("<td class=\"n\" data-value=\"NaN\"><bdi>–</bdi></td>"));
    assert!(html.contains("<th scope=\"col\" class=\"n\"><button type=\"button\">Floor</button></th>"));
    assert!(html.contains("<th scope=\"col\"><button type=\"button\">Mixed</button></th>"));
}
