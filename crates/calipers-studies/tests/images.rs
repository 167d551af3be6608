//! The figures of the study of images are those of direct calls, and its findings follow from them.

use calipers::population::Sample;
use calipers::{BinnedEce, Compat, Form, LsEce, LsEceSampled, Measure, Predictions, SmoothEce, SmoothMethod, Uniform};
use calipers_studies::images::{self, Group, Model};
use calipers_studies::{Agreement, Page, Setting};

const QUICK: Setting = Setting { quick: true, random_state: 3 };
const BINS: [usize; 5] = [1, 10, 40, 70, 100];

/// Rows whose outcomes come with probability p - gap, on a fixed lattice.
fn rows(gap: f64) -> Sample {
    let n = 1500;
    let p = |row: usize| 0.3 + 0.69 * ((row as f64 * 0.618_033_988_749_894_9) % 1.0);
    let outcome = |row: usize| ((row as f64 * 0.754_877_666_246_692_7) % 1.0) < p(row) - gap;
    Sample { form: Form::Probabilities, scores: (0..n).map(p).collect(), outcomes: (0..n).map(outcome).collect() }
}

fn study(samples: &[(&str, &str, Sample)]) -> Result<Page, calipers::Error> {
    let checked: Vec<Predictions<'_>> = samples.iter().map(|(_, _, sample)| sample.input().check().unwrap()).collect();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for ((group, model, _), predictions) in samples.iter().zip(&checked) {
        let model = Model { name: (*model).to_owned(), view: predictions.binary().unwrap() };
        match groups.iter_mut().find(|other| other.name == *group) {
            Some(group) => group.models.push(model),
            None => groups.push(Group { name: (*group).to_owned(), models: vec![model] }),
        }
    }
    images::run(&groups, &QUICK)
}

fn three() -> Page {
    study(&[("a", "x_good_v1", rows(0.02)), ("a", "x_poor_v1", rows(0.2)), ("b", "alone", rows(0.1))]).unwrap()
}

/// Cells of a row, each with the name of its column.
type Row = Vec<(String, String)>;

/// The rows of a CSV file of the page, by the names of its columns.
fn csv(page: &Page, name: &str) -> Vec<Row> {
    let file = page.files().find(|file| file.name == name).unwrap();
    let mut lines = file.text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let names = lines.next().unwrap();
    lines.map(|cells| names.iter().cloned().zip(cells).collect()).collect()
}

fn cell<'a>(row: &'a Row, name: &str) -> &'a str {
    &row.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("no column {name}")).1
}

fn number(row: &Row, name: &str) -> f64 {
    cell(row, name).parse().unwrap()
}

#[test]
fn every_figure_is_that_of_a_direct_call() {
    let page = three();
    let points = csv(&page, "images-points.csv");
    assert_eq!(points.len(), 3 * BINS.len());
    for (place, (model, gap)) in [("x_good_v1", 0.02), ("x_poor_v1", 0.2), ("alone", 0.1)].into_iter().enumerate() {
        let sample = rows(gap);
        let predictions = sample.input().check().unwrap();
        let view = predictions.binary().unwrap();
        let value = |measure: &dyn Measure| measure.estimate(&view).unwrap().value;
        for (index, bins) in BINS.into_iter().enumerate() {
            let row = &points[place * BINS.len() + index];
            assert_eq!((cell(row, "model"), cell(row, "bins")), (model, bins.to_string().as_str()));
            let sigma = 1.0 / bins as f64;
            assert_eq!(number(row, "sigma"), sigma);
            assert_eq!(number(row, "ece"), value(&BinnedEce::new().n_bins(bins).compat(Compat::Netcal)));
            assert_eq!(number(row, "ls_ece_gaussian"), value(&LsEce::new().sigma(sigma)));
            assert_eq!(number(row, "ls_ece_uniform"), value(&LsEce::new().sigma(sigma).noise(Uniform)));
            // Another seed, so within the errors of both.
            let sampled =
                LsEceSampled::new(sigma).noise(Uniform).n_samples(1_000).random_state(99).estimate(&view).unwrap();
            let error = number(row, "ls_ece_uniform_standard_error");
            assert!((error / sampled.standard_error.unwrap() - 1.0).abs() < 0.2, "{model} {bins}");
            for noise in ["gaussian", "uniform"] {
                let off = number(row, &format!("ls_ece_{noise}_sampled")) - number(row, &format!("ls_ece_{noise}"));
                assert!(off.abs() < 5.0 * number(row, &format!("ls_ece_{noise}_standard_error")), "{model} {bins}");
            }
        }
        let row = &csv(&page, "images-models.csv")[place];
        assert_eq!(number(row, "smooth_ece"), value(&SmoothEce::new()));
        assert_eq!(number(row, "smooth_ece_relplot"), value(&SmoothEce::new().method(SmoothMethod::Relplot)));
        assert_eq!(cell(row, "n"), "1500");
    }
}

#[test]
fn differences_are_means_over_the_models_of_a_group() {
    let page = three();
    let (points, models) = (csv(&page, "images-points.csv"), csv(&page, "images-models.csv"));
    let differences = csv(&page, "images-differences.csv");
    assert_eq!(differences.len(), 2 * BINS.len());
    for (index, row) in differences[..BINS.len()].iter().enumerate() {
        let of = |value: &dyn Fn(usize, &Row) -> f64| {
            let [a, b] = [0, 1].map(|model| value(model, &points[model * BINS.len() + index]).abs());
            ((a + b) / 2.0, (a - b).abs() / 2.0)
        };
        let ls_ece = of(&|_, point| number(point, "ece") - number(point, "ls_ece_gaussian"));
        let smooth = of(&|model, point| number(point, "ece") - number(&models[model], "smooth_ece"));
        for (name, (mean, deviation)) in [("ls_ece_gaussian", ls_ece), ("smooth_ece", smooth)] {
            assert!((number(row, &format!("{name}_mean")) - mean).abs() < 1e-15);
            assert!((number(row, &format!("{name}_deviation")) - deviation).abs() < 1e-15);
        }
    }
    assert_eq!(number(&differences[BINS.len()], "ls_ece_gaussian_deviation"), 0.0);
}

#[test]
fn the_better_model_is_named_and_a_single_one_is_not_ranked() {
    let page = three();
    let texts: Vec<&str> = page.findings().iter().map(|finding| finding.text.as_str()).collect();
    let best =
        "a: The best calibrated model by ECE is good at every number of bins; by LS-ECE good at every number of bins.";
    let place = texts.iter().position(|text| *text == best).unwrap_or_else(|| panic!("{texts:#?}"));
    assert_eq!(page.findings()[place].agreement, Agreement::Seen);
    assert_eq!(texts[place + 1], "a: ECE and LS-ECE rank the 2 models alike at 5 of 5 numbers of bins. No pair swaps.");
    assert!(texts.contains(&"b: One model: there is nothing to rank."), "{texts:#?}");
    assert!(texts.iter().all(|text| text.starts_with("a: ") || text.starts_with("b: ")));
}

#[test]
fn the_page_names_its_files_and_is_the_same_again() {
    let page = three();
    let files: Vec<_> = page.files().collect();
    assert_eq!(files[0].name, "images.md");
    // Five figures for each group, three tables.
    assert_eq!(files.len(), 1 + 2 * 5 + 3);
    for file in &files[1..] {
        assert!(files[0].text.contains(&format!("({})", file.name)), "{} is not on its page", file.name);
        assert!(!file.text.contains("NaN") && !file.text.contains("inf,"), "{}", file.name);
    }
    assert!(files[0].text.contains("Names are shown without their common parts: x_ and _v1."));
    assert_eq!(page, three());
}

#[test]
fn groups_without_models_and_names_that_collide_are_refused() {
    let text = |samples: &[(&str, &str, Sample)]| study(samples).unwrap_err().to_string();
    assert_eq!(text(&[]), "models must be at least one in each group, got \"none\"");
    let rule = "group must be letters from a to z, digits, ., - and _, got";
    assert_eq!(text(&[("a/b", "x", rows(0.1))]), format!("{rule} \"a/b\""));
    assert_eq!(text(&[("", "x", rows(0.1))]), format!("{rule} \"\""));
    assert_eq!(
        text(&[("a", "x", rows(0.1)), ("A", "x", rows(0.1))]),
        "group must be unlike all others, also in upper case, got \"A\""
    );
    assert_eq!(
        text(&[("a", "x", rows(0.1)), ("a", "x", rows(0.1))]),
        "model must be unlike all others of its group, got \"x\""
    );
}
