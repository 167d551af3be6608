//! The page answers first: one sentence with the direction, the diagram, and how sure that is.

use calipers::inference::{Direction, holm};
use calipers::population::Family;
use calipers::{Input, Multiclass, Predictions, Ties};
use calipers_report::{Groups, Model, ModelValues, Options, Origin, Report, Source, Values};

fn rows<'a>(predictions: &'a Predictions<'a>) -> Source<'a> {
    Source::Rows { predictions, multiclass: Multiclass::Auto, ties: Ties::First, clusters: None }
}

fn options() -> Options {
    Options::new().n_resamples(200)
}

fn values(predictions: &Predictions<'_>) -> Values {
    Report::new(options()).model(Model::new("m", rows(predictions))).gather().unwrap()
}

/// Evenly spread numbers between 0 and 1 that are different for each `seed`.
fn uniform(row: usize, seed: usize) -> f64 {
    ((row as f64 + 0.5) * 0.618_033_988_749_895
        + seed as f64 * 0.414_213_562_373_095
        + 0.1 * (row as f64 * 12.9898).sin())
    .rem_euclid(1.0)
}

/// Numbers between 0 and 1 that do not follow those of [`uniform`].
fn hash(row: usize) -> f64 {
    ((row as f64 * 78.233).sin() * 43_758.545_3).rem_euclid(1.0)
}

/// Rows whose outcomes happen with the given rate.
fn drawn(n: usize, p: impl Fn(f64) -> f64, rate: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<bool>) {
    let p: Vec<f64> = (0..n).map(|row| p(uniform(row, 1))).collect();
    let y = p.iter().enumerate().map(|(row, p)| hash(row) < rate(*p)).collect();
    (p, y)
}

/// What a reader sees: the text of the page without its data, script and style.
fn visible(html: &str) -> String {
    let mut text = html.to_owned();
    for tag in ["script", "style"] {
        while let Some(from) = text.find(&format!("<{tag}")) {
            let to = from + text[from..].find(&format!("</{tag}>")).unwrap() + tag.len() + 3;
            text.replace_range(from..to, "");
        }
    }
    text
}

/// The sentence of the JSON, which is in the header of the page.
fn sentence(values: &Values) -> String {
    let html = values.to_html();
    let header = html.split_once("<header").unwrap().1.split_once("</header>").unwrap().0;
    let (_, after) = header.split_once("class=\"sentence").unwrap();
    let (_, after) = after.split_once('>').unwrap();
    after.split_once("</p>").unwrap().0.to_owned()
}

#[test]
fn rare_events_that_are_predicted_too_often_are_too_high_and_where() {
    let (p, y) = drawn(20_000, |u| 0.6 * u.powi(5) + 0.005, |p| if p > 0.2 { 0.3 * p } else { 0.9 * p });
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let values = values(&predictions);
    let sentence = sentence(&values);
    assert!(
        sentence.starts_with("Predicts 10.")
            && sentence.contains(" % happen: probabilities are too high, most of all above "),
        "{sentence}"
    );
    let region = values.models[0].finding.region.unwrap();
    assert!(region.is_above && (0.1..=0.3).contains(&region.threshold), "{region:?}");
    let html = values.to_html();
    assert!(html.contains("The mean error is about") && html.contains("fewer than 1 of 1,000 samples"));
}

/// A sketch does not tell overconfidence from other errors, so both directions are named.
#[test]
fn a_sketch_of_an_overconfident_model_is_off_in_both_directions() {
    let (p, y) = drawn(6000, |u| u, |p| 0.3 + 0.4 * p);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let mut sketch = calipers::Sketch::new();
    sketch.update(&predictions.binary().unwrap()).unwrap();
    let by_sketch = Report::new(options()).model(Model::new("m", Source::Sketch(&sketch))).gather().unwrap();
    let found = sentence(&by_sketch);
    let both = found.contains("are too high") && found.ends_with(", and too low elsewhere.")
        || found.contains("are too low") && found.ends_with(", and too high elsewhere.");
    assert!(both, "{found}");
}

#[test]
fn a_sentence_states_what_there_is_evidence_for_and_no_more() {
    let (p, y) = drawn(3000, |u| u, |p| p);
    let calibrated = Input::probabilities(&p, &y).check().unwrap();
    let found = sentence(&values(&calibrated));
    assert!(found.ends_with("happen: no evidence of miscalibration."), "{found}");
    assert!(!found.contains("most of all") && !found.contains("too "), "{found}");

    type Curve = fn(f64) -> f64;
    let cases: [(Curve, &str); 4] = [
        (|p| (0.5 + 0.5 * (p - 0.5)).clamp(0.0, 1.0), "too far from 50 % (overconfident)."),
        (|p| (0.5 + 2.0 * (p - 0.5)).clamp(0.0, 1.0), "too close to 50 % (underconfident)."),
        (|p| 0.8 * p, "probabilities are too high"),
        (|p| 1.0 - 0.8 * (1.0 - p), "probabilities are too low"),
    ];
    for (rate, expected) in cases {
        let (p, y) = drawn(5000, |u| 0.05 + 0.9 * u, rate);
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let found = sentence(&values(&predictions));
        assert!(found.contains(expected), "{found}");
    }
    // So few rows are no evidence of anything.
    let few =
        Input::probabilities(&[0.9, 0.2, 0.6, 0.7, 0.4, 0.1, 0.8, 0.3], &[1, 0, 0, 1, 1, 0, 1, 0]).check().unwrap();
    let found = sentence(&values(&few));
    assert!(found.ends_with("no evidence of miscalibration, but too few rows to rule out a large error."), "{found}");
    assert!(!values(&few).to_html().contains("class=\"sentence good"));
}

/// All rows together may be calibrated while groups are not.
#[test]
fn groups_that_are_off_are_on_the_first_screen() {
    let n = 4000;
    let (p, _) = drawn(n, |u| 0.2 + 0.6 * u, |p| p);
    let keys: Vec<String> = (0..10).map(|group| format!("g{group}")).collect();
    let numbers: Vec<u32> = (0..n as u32).map(|row| row % 10).collect();
    let y: Vec<bool> = (0..n)
        .map(|row| {
            let off = [0.2, -0.2].get(row % 10).copied().unwrap_or(0.0);
            hash(row) < p[row] + off
        })
        .collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let groups = Groups::Rows { by: "country".to_owned(), keys, numbers };
    let model = Model::new("m", rows(&predictions)).groups(groups);
    let html = Report::new(options()).model(model).gather().unwrap().to_html();
    let header = html.split_once("</header>").unwrap().0;
    assert!(
        header.contains("2 of 10 groups by country are miscalibrated, after adjustment for their number: "),
        "{header}"
    );
    assert!(
        header.contains("g0 (too low)") && header.contains("g1 (too high)") && header.contains("href=\"#groups-0\"")
    );
    assert!(!header.contains("class=\"sentence good"));
}

/// A few rows far away do not decide which part of the axes is shown.
#[test]
fn a_spur_of_few_rows_does_not_stretch_the_axes_of_rare_events() {
    let n = 4000;
    let p: Vec<f64> = (0..n).map(|row| if row < 6 { 0.3 } else { 0.001 + 0.06 * uniform(row, 5).powi(2) }).collect();
    let y: Vec<bool> = (0..n).map(|row| if row < 6 { row < 4 } else { hash(row) < p[row] }).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let values = values(&predictions);
    let (_, chart) = values.charts().into_iter().find(|(name, _)| name.starts_with("reliability_smoothed")).unwrap();
    assert!(chart.to_svg().contains("(6 rows are beyond this axis)"));
}

#[test]
fn confidences_in_a_class_are_over_or_underconfident() {
    let scores: Vec<f64> = (0..2000)
        .flat_map(|row| {
            let top = 0.6 + 0.39 * uniform(row, 2);
            [top, (1.0 - top) / 2.0, (1.0 - top) / 2.0]
        })
        .collect();
    let labels: Vec<u32> = (0..2000).map(|row| u32::from(row % 3 == 0)).collect();
    let predictions = Input::probabilities(&scores, &labels).classes(3).check().unwrap();
    let found = values(&predictions);
    assert_eq!(found.models[0].finding.direction, Some(Direction::Overconfident));
    let sentence = sentence(&found);
    assert!(
        sentence.starts_with("Is 79.") && sentence.contains("are correct: the model is overconfident"),
        "{sentence}"
    );
}

#[test]
fn verdicts_on_several_models_are_adjusted_for_their_number() {
    let sample = Family::named("overconfident").unwrap().sample(400, 1);
    let predictions = sample.input().check().unwrap();
    let (p, y) = drawn(400, |u| u, |p| p);
    let calibrated = Input::probabilities(&p, &y).check().unwrap();
    let mut report = Report::new(options()).unpaired("different rows");
    for name in ["a", "b", "c"] {
        report = report.model(Model::new(name, rows(&predictions)));
    }
    let values = report.model(Model::new("good", rows(&calibrated))).gather().unwrap();
    let p_value = |model: &ModelValues| model.measures[0].assessment().unwrap().floor.as_ref().unwrap().p_value;
    let p_values: Vec<f64> = values.models.iter().map(p_value).collect();
    let adjusted: Vec<f64> = values.models.iter().map(|model| model.finding.p_adjusted.unwrap()).collect();
    assert_eq!(adjusted, holm(&p_values));
    for (model, p) in values.models.iter().zip(&adjusted) {
        assert_eq!(model.finding.significant, Some(*p <= 0.05));
    }
    let html = values.to_html();
    assert!(html.contains("3 of 4 models are miscalibrated: a (") && html.contains("adjusted for 4 models (Holm)"));
    assert!(html.contains("No evidence of miscalibration: good."));
}

#[test]
fn several_models_have_navigation_an_overlay_and_the_comparison_before_the_table() {
    let sample = Family::named("overconfident").unwrap().sample(300, 1);
    let predictions = sample.input().check().unwrap();
    let report = Report::new(options()).model(Model::new("first", rows(&predictions)));
    let values = report.model(Model::new("second", rows(&predictions))).gather().unwrap();
    let html = values.to_html();
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}"));
    let order = [
        "<nav",
        "<header",
        "data-chart=\"overlay-0\"",
        "id=\"pairs\"",
        "id=\"measures\"",
        "id=\"charts\"",
        "id=\"of-model-1\"",
    ];
    assert!(order.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{order:?}");
    for link in ["#pairs", "#measures", "#charts", "#provenance"] {
        assert!(
            html.contains(&format!("href=\"{link}\"")) && html.contains(&format!("id=\"{}\"", &link[1..])),
            "{link}"
        );
    }
    let names: Vec<String> = values.charts().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"reliability_overlay.svg".to_owned()));
}

#[test]
fn the_table_of_measures_has_no_dashes() {
    let sample = Family::named("overconfident").unwrap().sample(1500, 3);
    let predictions = sample.input().check().unwrap();
    let values = values(&predictions);
    let html = values.to_html();
    let table = html.split_once("class=\"measures\"").unwrap().1.split_once("</table>").unwrap().0;
    assert!(!table.contains('–'), "{table}");
    for title in ["smECE", "ECCE-R", "Brier score"] {
        assert!(table.contains(title), "{title}");
    }
    assert!(values.models[0].measures.iter().all(|measure| measure.assessment().is_some()));
}

#[test]
fn the_page_shows_no_folders_and_no_long_numbers() {
    let sample = Family::named("overconfident").unwrap().sample(300, 3);
    let predictions = sample.input().check().unwrap();
    let origin = Origin { files: vec!["/home/someone/secret/rows.csv".to_owned()], ..Origin::default() };
    let html =
        Report::new(options()).model(Model::new("m", rows(&predictions)).origin(origin)).gather().unwrap().to_html();
    assert!(html.contains("<code>rows.csv</code>") && !html.contains("secret"));
    let text = visible(&html);
    let long = text.split(|c: char| !c.is_ascii_digit()).find(|digits| digits.len() > 9);
    assert_eq!(long, None);
}

#[test]
fn rows_at_0_and_1_are_drawn_and_counted() {
    let p: Vec<f64> = (0..1000)
        .map(|row| match row % 4 {
            0 => 0.0,
            1 => 1.0,
            _ => 0.05 + 0.9 * uniform(row, 3),
        })
        .collect();
    let y: Vec<bool> =
        (0..1000).map(|row| row % 4 == 1 || (row % 4 == 0 && row % 40 == 0) || (row % 4 > 1 && row % 8 > 3)).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let values = values(&predictions);
    let ends = &values.models[0].reliability.ends;
    assert_eq!(ends.iter().map(|end| (end.n, end.outcome_rate)).collect::<Vec<_>>(), [(250, 0.1), (250, 1.0)]);
    let html = values.to_html();
    assert!(html.contains("250 rows near 0") && html.contains("250 rows near 1"));
}

#[test]
fn bands_of_chance_are_in_the_binned_and_the_cumulative_chart() {
    let sample = Family::named("overconfident").unwrap().sample(800, 3);
    let predictions = sample.input().check().unwrap();
    let values = values(&predictions);
    let model = &values.models[0];
    let inside = |band: (&Vec<f64>, &Vec<f64>), at: usize, value: f64| band.0[at] <= value && value <= band.1[at];
    for (at, bin) in model.reliability.bins.iter().enumerate().filter(|(_, bin)| bin.n > 0) {
        let band = &model.reliability.bins_band;
        assert!(inside((&band.lower, &band.upper), at, bin.mean_probability), "{bin:?}");
    }
    let found = &model.spread.cumulative;
    assert!(found.lower.iter().zip(&found.upper).all(|(lower, upper)| *lower == -upper));
    assert!(found.upper.is_sorted() && found.upper[0] == 0.0);
    let html = values.to_html();
    assert!(html.matches("95 % chance band").count() >= 4);
}

/// Numbers below small diagrams, the table and the curves have the same sigma.
#[test]
fn small_diagrams_have_the_sigma_of_the_table() {
    let sample = Family::named("overconfident").unwrap().sample(900, 4);
    let predictions = sample.input().check().unwrap();
    let keys: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let groups = Groups::Rows {
        by: "g".to_owned(),
        keys,
        numbers: (0..900).map(|row| u32::from(row > 50) + u32::from(row > 500)).collect(),
    };
    let model = Model::new("m", rows(&predictions)).groups(groups);
    let values = Report::new(options()).model(model).gather().unwrap();
    for part in &values.models[0].groups.as_ref().unwrap().parts {
        let sigma = part.ls_ece.as_ref().unwrap().estimate.settings.number("sigma").unwrap();
        assert_eq!(part.diagram.as_ref().unwrap().sigma, sigma);
        assert!(sigma > values.models[0].sigma);
    }
}

#[test]
fn classes_have_their_names() {
    let scores: Vec<f64> =
        (0..300).flat_map(|row| if row % 2 == 0 { [0.7, 0.2, 0.1] } else { [0.1, 0.3, 0.6] }).collect();
    let labels: Vec<u32> = (0..300).map(|row| row % 3).collect();
    let predictions = Input::probabilities(&scores, &labels).classes(3).check().unwrap();
    let names = ["cat", "dog", "bird"].map(str::to_owned).to_vec();
    let html = Report::new(options())
        .model(Model::new("m", rows(&predictions)).class_names(names.clone()))
        .gather()
        .unwrap()
        .to_html();
    for name in names {
        assert!(html.contains(&format!(">{name}</th>")), "{name}");
    }
}

/// A part of the curve that rests on few rows is thin, and its legend entry is there.
#[test]
fn a_curve_from_few_rows_is_thin() {
    let p: Vec<f64> = (0..500).map(|row| if row < 6 { 0.9 } else { 0.1 + 0.1 * uniform(row, 5) }).collect();
    let y: Vec<bool> = (0..500).map(|row| row % 7 == 0).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let values = values(&predictions);
    let diagram = &values.models[0].reliability.smoothed[values.models[0].reliability.chosen];
    let near = |p: f64| {
        let place = diagram.curve.probabilities.iter().position(|other| *other >= p).unwrap();
        diagram.rows_nearby[place]
    };
    assert!((1.0..=8.0).contains(&near(0.9)) && near(0.15) > 50.0, "{} {}", near(0.9), near(0.15));
    let (_, chart) = values.charts().into_iter().find(|(name, _)| name.starts_with("reliability_smoothed")).unwrap();
    assert!(chart.to_svg().contains("from &lt; 20 rows"));
}
