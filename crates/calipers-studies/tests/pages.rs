//! Every study runs in its quick form and writes what it says.

use std::collections::BTreeSet;

use calipers_studies::{Agreement, STUDIES, Setting};

const QUICK: Setting = Setting { quick: true, random_state: 0 };

#[test]
fn every_page_names_its_files_and_each_file_has_content() {
    for study in STUDIES {
        let page = study.run(&QUICK).unwrap();
        let files: Vec<_> = page.files().collect();
        let names: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names.len(), files.len(), "{}: two files of one name", study.name);
        assert_eq!(files[0].name, format!("{}.md", study.name));
        for file in &files[1..] {
            assert!(files[0].text.contains(&format!("({})", file.name)), "{} is not on its page", file.name);
            assert!(!file.text.contains("NaN") && file.text.lines().count() > 1, "{}", file.name);
        }
        assert!(!page.findings().is_empty() && !files[0].text.contains("NaN"), "{}", study.name);
    }
}

#[test]
fn a_study_gives_the_same_page_again() {
    for study in STUDIES {
        assert_eq!(study.run(&QUICK).unwrap(), study.run(&QUICK).unwrap(), "{}", study.name);
    }
}

/// The findings of a study, as they must come out.
fn agreements(name: &str) -> Vec<Agreement> {
    let study = STUDIES.iter().find(|study| study.name == name).unwrap();
    study.run(&QUICK).unwrap().findings().iter().map(|finding| finding.agreement).collect()
}

#[test]
fn the_two_points_behave_as_the_paper_says() {
    assert_eq!(agreements("two-point"), [Agreement::Seen, Agreement::Noted, Agreement::Noted, Agreement::Noted]);
}

#[test]
fn ece_jumps_by_the_general_criterion_and_not_by_the_discrete_one() {
    assert_eq!(agreements("discontinuity"), [Agreement::Seen, Agreement::NotSeen, Agreement::Seen, Agreement::Noted]);
}

#[test]
fn ls_ece_stays_within_the_bound_of_continuity() {
    assert_eq!(agreements("continuity"), [Agreement::Seen, Agreement::Noted, Agreement::Noted]);
}

#[test]
fn the_theorem_on_rates_holds_and_its_lemma_does_not_for_heavy_tails() {
    use Agreement::{NotSeen, Noted, Seen};
    assert_eq!(agreements("rate"), [Seen, Seen, Noted, NotSeen, Seen, Noted]);
}

#[test]
fn ls_ece_with_shrinking_noise_goes_to_ece_with_a_density_or_without() {
    use Agreement::{Noted, Seen};
    assert_eq!(agreements("consistency"), [Seen, Noted, Noted, Noted, Noted, Noted, Noted]);
}

#[test]
fn the_page_of_estimators_has_all_sections_and_every_method() {
    let study = STUDIES.iter().find(|study| study.name == "estimators").unwrap();
    let page = study.run(&QUICK).unwrap();
    let files: Vec<_> = page.files().collect();
    let text = &files[0].text;
    for heading in [
        "## The families",
        "## Estimates of ECE: mean error over the families",
        "## Against the best of five",
        "## Bias and error of each estimate, by family",
        "## Coverage of the 95 % interval",
        "## Size of tests at 5 %",
        "## Comparing two models",
        "## Power of tests at 5 %",
    ] {
        assert!(text.contains(heading), "no {heading}");
    }
    for method in [
        "LS-ECE, sigma 0.02",
        "LS-ECE, sigma 1",
        "LS-ECE, sigma auto",
        "residual LS-ECE, sigma auto",
        "residual LS-ECE, sigma auto, debiased by local",
        "residual LS-ECE, sigma auto, debiased by mean",
        "residual LS-ECE, sigma auto, debiased by floor",
        "residual LS-ECE, sigma auto, debiased by bootstrap",
        "ECE, 15 of equal width",
        "ECE, 15 of equal mass",
        "debiased ECE, 15 bins",
        "ECE-sweep",
        "smECE",
        "smECE~",
        "KDE-ECE, triweight",
        "KDE-ECE, Gaussian",
        "KDE-ECE, beta",
        "spline",
        "ICI by the LS curve",
    ] {
        // Once for each list, and once for each of the seven families.
        assert_eq!(text.matches(&format!("\n| {method} |")).count(), 11, "{method}");
    }
    let csv = |name: &str| files.iter().find(|file| file.name == format!("estimators-{name}.csv")).unwrap();
    let n_lines = |name: &str| csv(name).text.lines().count() - 1;
    // Families, n and methods; calibrated families, shapes and tests; curves, points and tests.
    assert_eq!((n_lines("accuracy"), n_lines("size"), n_lines("power")), (7 * 2 * 23, 3 * 3 * 7, 2 * 2 * 7));
    assert!(n_lines("coverage") >= 1);
    // Four verdicts on error and as many notes at n = 300, three findings on coverage, two on size,
    // two on pairs, two on power.
    assert_eq!(page.findings().len(), 17);
}
