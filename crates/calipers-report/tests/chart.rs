//! Charts are valid XML without NaN, for any data.

use calipers_report::{Axis, Band, Chart, Rule, Series, Stroke};

/// The document, after checks that hold for every chart.
fn checked(chart: &Chart) -> String {
    let svg = chart.to_svg();
    let document = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{error}\n{svg}"));
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    assert_eq!(root.attribute("role"), Some("img"));
    assert!(root.children().find(|child| child.is_element()).is_some_and(|first| first.tag_name().name() == "title"));
    for attribute in document.descendants().flat_map(|node| node.attributes()) {
        let value = attribute.value();
        assert!(!value.contains("NaN") && !value.contains("inf"), "{} = {value:?}", attribute.name());
        assert_ne!(attribute.name(), "id");
    }
    svg
}

fn wave(n: usize, height: f64) -> Vec<(f64, f64)> {
    (1..=n).map(|k| (k as f64, height * (1.0 + (k as f64 / 3.0).sin() / 2.0))).collect()
}

#[test]
fn hard_data_make_valid_documents() {
    let nan = f64::NAN;
    let hard: Vec<Vec<(f64, f64)>> = vec![
        vec![],
        vec![(1.0, 2.0)],
        vec![(1.0, 2.0); 5],
        vec![(nan, nan), (nan, 1.0), (1.0, nan)],
        vec![(0.0, 0.0), (-1.0, -1.0)],
        vec![(1.0, f64::INFINITY), (2.0, f64::NEG_INFINITY), (3.0, 1.0)],
        vec![(1e308, -1e308), (-1e308, 1e308), (0.0, 1e-320)],
        wave(1000, 1e-12),
    ];
    for points in hard {
        for axis in
            [Axis::linear("x"), Axis::log("x"), Axis::linear("x").range(0.5, 0.6), Axis::log("x").range(-1.0, 1.0)]
        {
            let chart = Chart::new("hard")
                .x(axis.clone())
                .y(axis)
                .add(Series::line("a", points.clone()).markers())
                .add(Series::line("b", points.clone()).stroke(Stroke::Dotted))
                .band(Band::new("c", points.clone(), points.clone()))
                .horizontal_rule(points.first().map_or(nan, |point| point.1), "rule");
            checked(&chart);
        }
    }
}

#[test]
fn a_point_that_cannot_be_drawn_interrupts_the_line() {
    let points = vec![(1.0, 1.0), (2.0, 2.0), (3.0, f64::NAN), (4.0, 2.0), (5.0, 1.0)];
    let svg = checked(&Chart::new("gap").add(Series::line("a", points)));
    assert_eq!(svg.matches("<polyline").count(), 2);
}

#[test]
fn a_single_point_is_visible() {
    let svg = checked(&Chart::new("one").add(Series::line("a", vec![(1.0, 1.0)])));
    assert_eq!(svg.matches("<circle").count(), 1);
}

#[test]
fn names_are_text_and_not_markup() {
    let name = "<script>alert(\"&\")</script>\u{1}";
    let chart = Chart::new(name)
        .subtitle(name)
        .x(Axis::linear(name))
        .y(Axis::log(name))
        .add(Series::line(name, wave(5, 1.0)).markers())
        .band(Band::new(name, wave(5, 1.0), wave(5, 2.0)))
        .horizontal_rule(1.0, name);
    let svg = checked(&chart);
    assert!(!svg.contains("<script") && !svg.contains('\u{1}'));
}

#[test]
fn series_of_one_colour_share_it() {
    let chart = Chart::new("shared")
        .add(Series::line("ECE", wave(5, 1.0)).colour(1))
        .add(Series::line("LS-ECE", wave(5, 1.0)).colour(1).stroke(Stroke::Dashed))
        .rule(Rule { name: "smECE".to_owned(), value: 1.0, stroke: Stroke::Dotted, colour: 1 });
    // Each is in the plot and in the legend.
    assert_eq!(checked(&chart).matches(&format!("stroke=\"{}\"", calipers_report::PALETTE[1])).count(), 6);
}

#[test]
fn the_same_chart_has_the_same_bytes() {
    let chart = Chart::new("same").add(Series::line("a", wave(50, 1.0)).markers());
    assert_eq!(chart.to_svg(), chart.to_svg());
}
