//! The study of recalibration in its quick form, with files that are made up.

use calipers::Input;
use calipers::population::Family;
use calipers_studies::Setting;
use calipers_studies::recalibration::{self, Pair};

const QUICK: Setting = Setting { quick: true, random_state: 0 };

#[test]
fn the_page_has_all_questions_and_is_the_same_again() {
    let overconfident = Family::named("overconfident").unwrap();
    let [validation, test] = [1, 2].map(|seed| overconfident.sample(400, seed));
    let scores: Vec<f64> = (0..900).map(|i| 3.0 * f64::from(i * i % 89) / 29.0).collect();
    // Two of three labels are the class with the largest score.
    let label = |(row, scores): (usize, &[f64])| {
        let top = (0..3).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap();
        (if row % 3 == 0 { row * 7 / 3 % 3 } else { top }) as i64
    };
    let labels: Vec<i64> = scores.chunks(3).enumerate().map(label).collect();
    let page = || {
        let pairs = [
            Pair {
                name: "overconfident".to_owned(),
                validation: validation.input().check().unwrap(),
                test: test.input().check().unwrap(),
            },
            Pair {
                name: "classes".to_owned(),
                validation: Input::logits(&scores[..450], &labels[..150]).classes(3).check().unwrap(),
                test: Input::logits(&scores[450..], &labels[150..]).classes(3).check().unwrap(),
            },
        ];
        recalibration::run(&pairs, &["lone_val.csv (there is no lone_test)".to_owned()], &QUICK).unwrap()
    };
    let first = page();
    assert_eq!(first, page());
    let files: Vec<_> = first.files().collect();
    let text = &files[0].text;
    for heading in [
        "Excess risk of each method",
        "What auto chooses",
        "Coverage of the interval",
        "Size of the test",
        "Real predictions",
    ] {
        assert!(text.contains(&format!("## {heading}")), "{heading}");
    }
    for name in ["risk", "coverage", "files"] {
        assert!(text.contains(&format!("(recalibration-{name}.csv)")), "{name}");
    }
    assert!(files.iter().all(|file| !file.text.contains("NaN")));
    assert!(!text.contains("Without a result"), "{text}");
    assert!(text.contains("Files that were left out: lone_val.csv (there is no lone_test)."), "{text}");
    // Strong overconfidence: every method but a shift helps the test part.
    let csv = &files.iter().find(|file| file.name == "recalibration-files.csv").unwrap().text;
    let helped = csv.lines().filter(|line| line.starts_with("overconfident,") && line.ends_with(",helps")).count();
    assert!(helped >= 4, "{csv}");
}
