//! `calipers check --output-format`: what CI services read.

use roxmltree::{Document, Node};

use crate::support::{Desk, Folder, Run, calipers};

const GATE: [&str; 7] = ["check", "breast_cancer.csv", "--sigma", "0.5", "--n-resamples", "100", "--max"];

fn check(desk: &Desk, args: &[&str]) -> Run {
    desk.calipers(&[&GATE[..], args].concat())
}

#[test]
fn github_annotates_what_failed_and_what_is_undecided() {
    let desk = Desk::new();
    let failed = check(&desk, &["ls-ece=0.03", "--prob", "naive_bayes", "--output-format", "github"]);
    assert_eq!((failed.code, failed.stderr.as_str()), (Some(1), ""));
    let lines: Vec<&str> = failed.stdout.lines().collect();
    let expected = "::error file=breast_cancer.csv,title=calipers check%3A failed::residual LS-ECE is above 0.03. (ls_ece is \
                    0.05567; residual LS-ECE, which decides, is 0.05521; 95 %25 interval [0.035, 0.074], p 0.01; 569 rows)";
    assert_eq!(lines[0], expected);
    assert_eq!(lines[1..], ["::error title=calipers check::failed: residual LS-ECE is above 0.03."]);

    let passed = check(&desk, &["ls-ece=0.3", "--prob", "naive_bayes", "--output-format", "github"]);
    assert_eq!((passed.code, passed.stderr.as_str()), (Some(0), ""));
    assert_eq!(passed.stdout, "::notice title=calipers check::passed: residual LS-ECE is at most 0.3.\n");

    let max = ["ls-ece=0.05", "--prob", "naive_bayes", "--output-format", "github"];
    let undecided = check(&desk, &max);
    assert!(undecided.code == Some(0) && undecided.stdout.starts_with("::warning file="), "{undecided:?}");
    assert!(undecided.stdout.contains("\n::notice title=calipers check::undecided: "), "{undecided:?}");
    let strict = check(&desk, &[&max[..], &["--strict"]].concat());
    assert!(strict.code == Some(1) && strict.stdout.starts_with("::error file="), "{strict:?}");
    assert!(strict.stdout.contains("\n::error title=calipers check::undecided: "), "{strict:?}");
}

#[test]
fn junit_has_a_test_case_for_each_limit_of_each_model() {
    let desk = Desk::new();
    let limits = ["ls-ece=0.03", "--max", "ece=0.3", "--prob", "naive_bayes", "--prob", "mlp"];
    let run = check(&desk, &[&limits[..], &["--output-format", "junit"]].concat());
    assert_eq!(run.code, Some(1));
    let document = Document::parse(&run.stdout).unwrap();
    let root = document.root_element();
    let attributes = |node: Node<'_, '_>, names: &[&str]| -> Vec<String> {
        names.iter().map(|name| node.attribute(*name).unwrap_or("absent").to_owned()).collect()
    };
    let counts = ["tests", "failures", "errors", "skipped"];
    assert_eq!(root.tag_name().name(), "testsuites");
    assert_eq!(attributes(root, &["name"]), ["calipers check"]);
    let suites: Vec<Node<'_, '_>> = root.children().filter(Node::is_element).collect();
    let names: Vec<String> = suites.iter().flat_map(|suite| attributes(*suite, &["name"])).collect();
    assert_eq!(names, ["naive_bayes", "mlp"]);
    let mut totals = [0; 4];
    for suite in &suites {
        let cases: Vec<Node<'_, '_>> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
        let of_cases: Vec<String> = cases.iter().flat_map(|case| attributes(*case, &["name"])).collect();
        assert_eq!(of_cases, ["ls_ece is at most 0.03", "expected_calibration_error is at most 0.3"]);
        let n = |tag: &str| cases.iter().filter(|case| case.children().any(|child| child.has_tag_name(tag))).count();
        let found = [cases.len(), n("failure"), n("error"), n("skipped")];
        assert_eq!(attributes(*suite, &counts), found.map(|n| n.to_string()));
        totals.iter_mut().zip(found).for_each(|(total, n)| *total += n);
    }
    assert_eq!(attributes(root, &counts), totals.map(|n| n.to_string()));
    let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
    assert_eq!(failure.attribute("message"), Some("failed: residual LS-ECE is above 0.03"));
    assert!(failure.text().unwrap().contains("95 % interval [0.035, 0.074]"), "{:?}", failure.text());
}

#[test]
fn names_from_files_cannot_break_xml_or_give_commands() {
    let folder = Folder::new();
    let groups = ["a<b>&\"c\"", "::set-output name=x::y", "]]>", "line\u{7}bell"];
    let row = |row: usize| {
        let p = 0.05 + 0.9 * (row as f64 * 0.618_033_988_749_895).fract();
        let group = groups[row % 4].replace('"', "\"\"");
        format!("{},{p:.3},\"{group}\"\n", u8::from(row.is_multiple_of(2)))
    };
    let path = folder.write("a.csv", "label,prob,g\n".to_owned() + &(0..400).map(row).collect::<String>());
    let check = |format: &str| {
        let gate = ["check", path.to_str().unwrap(), "--by", "g", "--max", "ece=0.01", "--n-resamples", "400"];
        calipers(&[&gate[..], &["--output-format", format]].concat()).stdout
    };
    let xml = check("junit");
    let document = Document::parse(&xml).unwrap();
    let names: Vec<&str> = document.descendants().filter_map(|node| node.attribute("classname")).collect();
    for name in ["a<b>&\"c\"", "::set-output name=x::y", "]]>", "line\\u{7}bell"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let rows: Vec<String> =
        check("markdown").lines().filter(|line| line.starts_with("| ")).map(str::to_owned).collect();
    let n_columns = |row: &String| row.replace("\\|", "").matches('|').count();
    assert!(rows.len() == 7 && rows.iter().all(|row| n_columns(row) == n_columns(&rows[0])), "{rows:?}");
    assert!(rows.iter().any(|row| row.contains(r#"a\<b\>\&"c""#)), "{rows:?}");
    for line in check("github").lines() {
        assert!(["::error ", "::warning ", "::notice "].iter().any(|start| line.starts_with(start)), "{line}");
    }
}

#[test]
fn a_file_has_the_format_and_the_log_has_the_table() {
    let desk = Desk::new();
    let gate = ["ls-ece=0.03", "--prob", "naive_bayes"];
    let table = check(&desk, &gate);
    for format in ["junit", "github", "markdown", "json", "table"] {
        let printed = check(&desk, &[&gate[..], &["--output-format", format]].concat());
        let both = check(&desk, &[&gate[..], &["--output-format", format, "-o", "result"]].concat());
        assert_eq!(both, table, "{format}");
        assert_eq!(std::fs::read_to_string(desk.path("result")).unwrap(), printed.stdout, "{format}");
    }
    assert_eq!(
        check(&desk, &[&gate[..], &["--json"]].concat()),
        check(&desk, &[&gate[..], &["--output-format", "json"]].concat())
    );
    let overwriting = check(&desk, &[&gate[..], &["-o", "breast_cancer.csv"]].concat());
    assert_eq!((overwriting.code, overwriting.stdout.as_str()), (Some(2), ""));
}

#[test]
fn within_github_actions_the_summary_of_the_job_has_the_table() {
    let desk = Desk::new();
    let gate = ["ls-ece=0.03", "--prob", "naive_bayes"];
    let markdown = check(&desk, &[&gate[..], &["--output-format", "markdown"]].concat());
    assert!(markdown.stdout.starts_with("### calipers check: failed\n\nfailed: residual LS-ECE is above 0.03.\n\n| "));
    let summary = desk.path("summary.md");
    let github = [&GATE[..], &gate, &["--output-format", "github"]].concat();
    let plain = desk.calipers(&github);
    for times in 1..3 {
        let run = desk.calipers_with(&[("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())], &github);
        assert_eq!(run, plain);
        let expected = format!("{}\n", markdown.stdout).repeat(times);
        assert_eq!(std::fs::read_to_string(&summary).unwrap(), expected);
    }
    let absent = desk.path("absent/summary.md");
    let run = desk.calipers_with(&[("GITHUB_STEP_SUMMARY", absent.to_str().unwrap())], &github);
    assert!(run.code == Some(2) && run.stderr.contains("GITHUB_STEP_SUMMARY="), "{run:?}");
}

#[test]
fn the_format_of_files_is_told_apart_from_that_of_the_result() {
    let desk = Desk::new();
    let run = check(&desk, &["ls-ece=0.03", "--prob", "mlp", "--format", "junit"]);
    assert!(run.code == Some(2) && run.stdout.is_empty(), "{run:?}");
    let hint = "--format is the format of the files; calipers check has --output-format junit";
    assert!(run.stderr.contains(hint), "{}", run.stderr);
    let both = check(&desk, &["ls-ece=0.03", "--prob", "mlp", "--json", "--output-format", "junit"]);
    assert!(both.code == Some(2) && both.stdout.is_empty(), "{both:?}");
}

#[test]
fn a_gate_that_was_not_measured_is_an_error_in_every_format() {
    let desk = Desk::new();
    let gate = ["check", "bad.csv", "--invalid", "count", "--max", "ece=0.9", "--n-resamples", "100"];
    let github = desk.calipers(&[&gate[..], &["--output-format", "github"]].concat());
    assert_eq!(github.code, Some(2));
    let reason = "2 of 5 rows were left out: 1 label is missing, 1 probability is invalid.";
    let sentence =
        reason.replace("1 label is missing, 1 probability is invalid", "1 probability is invalid, 1 label is missing");
    assert!(github.stdout.starts_with("::error file=bad.csv,title=calipers check%3A not measured::only 3 of 5 rows"));
    assert!(github.stdout.contains(&sentence) && github.stdout.contains("--max-missing allows 1 %25"), "{github:?}");
    let junit = desk.calipers(&[&gate[..], &["--output-format", "junit"]].concat());
    let document = Document::parse(&junit.stdout).unwrap();
    assert_eq!((junit.code, document.root_element().attribute("errors")), (Some(2), Some("1")));
    assert!(document.descendants().any(|node| node.has_tag_name("error")), "{}", junit.stdout);
    let out = document.descendants().find(|node| node.has_tag_name("system-out")).unwrap();
    assert_eq!(out.text(), Some(sentence.as_str()));
}
