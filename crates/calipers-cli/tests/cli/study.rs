//! What `calipers study` says, writes and refuses.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Array, Folder, assert_fails, calipers, succeed};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The names of all files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// `--json`, read.
fn json(args: &[&str]) -> Value {
    serde_json::from_str(&succeed(&[&["study", "--json"], args].concat())).unwrap()
}

fn base_names(written: &Value) -> Vec<String> {
    let paths = written["files"].as_array().unwrap().iter();
    let name = |path: &Value| Path::new(path.as_str().unwrap()).file_name().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<String> = paths.map(name).collect();
    names.sort();
    names
}

#[test]
fn studies_are_listed_with_what_they_show() {
    let list = succeed(&["study", "list"]);
    assert_eq!(list, succeed(&["study"]));
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines[0], "Studies, for `calipers study NAME --out DIR`:");
    assert!(lines[4].starts_with("two-point ") && lines[4].ends_with("(Figure synthplot)"), "{list}");
    assert!(lines[13].starts_with("images GROUP=FILE...    ECE by bins"), "{list}");
    assert!(lines[14].starts_with("recalibration [FOLDER]  how much each"), "{list}");
    assert!(lines.last().unwrap().starts_with("atlas FOLDER...         does ECE mislead"), "{list}");
    let help = succeed(&["study", "--help"]);
    assert!(lines[4..].iter().all(|line| help.contains(line.split("  ").next().unwrap())), "{help}");
    let studies = json(&[])["studies"].as_array().unwrap().clone();
    assert_eq!(studies.len(), lines.len() - 4);
    assert_eq!((&studies[0]["name"], &studies[0]["takes_files"]), (&"two-point".into(), &false.into()));
}

#[test]
fn what_cannot_be_run_is_refused_and_nothing_written() {
    let folder = Folder::new();
    let (out, file) = (folder.path("out"), folder.write("file", "here"));
    let run = calipers(&["study", "three-point", "--out", text(&out)]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(
        run.stderr.starts_with("calipers: no study is called three-point: there are two-point, "),
        "{}",
        run.stderr
    );
    assert!(run.stderr.ends_with(", images, recalibration, atlas\n"), "{}", run.stderr);
    assert_fails(&["study", "two-point"], "--out DIR is needed: the folder for the page of two-point");
    let cases: [(&[&str], &str); 12] = [
        (&["two-point", "a.csv"], "two-point makes its own data and takes no files, got a.csv"),
        (&["two-point", "--label", "y"], "two-point makes its own data and has no use for --label"),
        (&["two-point", "--ties", "any"], "two-point makes its own data and has no use for --ties"),
        (&["two-point", "--ties", "first"], "two-point makes its own data and has no use for --ties"),
        (&["two-point", "--invalid", "count"], "two-point makes its own data and has no use for --invalid"),
        (&["two-point", "--sum-tolerance", "-4"], "two-point makes its own data and has no use for --sum-tolerance"),
        (&["images", "a b=no.npz"], "group must be letters from a to z, digits, ., - and _, got \"a b\""),
        (&["images", "a=no.npz", "A=no.npz"], "group must be unlike all others, also in upper case, got \"A\""),
        (&["images"], "images needs predictions: one file for each model, as cifar10=resnet20.npz"),
        (&["images", "g=no.npz"], "no.npz: no such file"),
        (&["images", "g=no*.npz"], "no*.npz: no file has such a name"),
        (&["images", "g=no.npz", "--by", "x"], "study does not accept --by; pass a file for each group"),
    ];
    for (args, refusal) in cases {
        assert_fails(&[&["study", "--out", text(&out)], args].concat(), refusal);
    }
    let quick = ["study", "two-point", "--quick", "--out"];
    let refused = |out: &Path, rule: &str| {
        assert_fails(&[&quick[..], &[text(out)]].concat(), &format!("{}: {rule}", out.display()));
    };
    refused(&file, "is a file, not a folder");
    let inside = folder.path("file/a/b");
    let refusal = format!("{}: is a file, not a folder", file.display());
    assert_fails(&[&quick[..], &[text(&inside)]].concat(), &refusal);
    assert_eq!(folder.names(), ["file"]);
    std::fs::create_dir_all(out.join("two-point-bins.svg")).unwrap();
    refused(&out, "cannot write two-point-bins.svg: a folder has that name");
    assert_eq!(names(&out), ["two-point-bins.svg"]);
}

#[test]
fn a_list_takes_nothing() {
    let cases: [(&[&str], &str); 6] = [
        (&["list", "a.csv"], "the list of studies needs no data and takes no files, got a.csv"),
        (&["list", "--random-state", "0"], "the list of studies needs no data and has no use for --random-state"),
        (&["list", "--invalid", "count"], "the list of studies needs no data and has no use for --invalid"),
        (&["--out", "pages"], "the list of studies needs no data and has no use for --out"),
        (&["--quick"], "the list of studies needs no data and has no use for --quick"),
        (&["--prob", "p"], "the list of studies needs no data and has no use for --prob"),
    ];
    for (args, refusal) in cases {
        assert_fails(&[&["study"], args].concat(), refusal);
    }
    succeed(&["study", "list", "--threads", "1"]);
}

#[test]
fn help_lists_what_is_taken() {
    let help = succeed(&["study", "--help"]);
    assert!(!help.contains("--by <COL>"), "{help}");
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("compare, sweep and study do not accept classwise"), "{help}");
    assert!(words.contains("reject the file, naming the line"), "{help}");
}

#[test]
fn folders_around_the_page_are_made() {
    let folder = Folder::new();
    let out = folder.path("a/b/c");
    succeed(&["study", "two-point", "--quick", "--out", text(&out)]);
    assert!(out.join("two-point.md").is_file());
    assert_eq!((folder.names(), names(&folder.path("a"))), (vec!["a".to_owned()], vec!["b".to_owned()]));
    // And not if there is nothing to write.
    let other = folder.path("d/e");
    let bad = folder.write("bad.csv", "label,prob\n1,1.5\n");
    assert_eq!(calipers(&["study", "images", "--quick", text(&bad), "--out", text(&other)]).code, Some(2));
    assert_eq!(folder.names(), ["a", "bad.csv"]);
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_refused_before_the_run() {
    let folder = Folder::new();
    let link = folder.path("link");
    std::os::unix::fs::symlink(folder.path("absent"), &link).unwrap();
    for out in [link.clone(), link.join("out")] {
        // Not quick: it would take long.
        let refusal = format!("{}: is a link to nothing", link.display());
        assert_fails(&["study", "rate", "--out", text(&out)], &refusal);
    }
    assert_eq!(folder.names(), ["link"]);
}

#[test]
fn what_stands_in_the_way_is_refused_before_any_file_is_read() {
    let folder = Folder::new();
    let out = folder.path("out");
    // No predictions, which reading would refuse.
    let input = out.join("images-models.csv");
    std::fs::create_dir_all(out.join("images-g-lines.svg")).unwrap();
    std::fs::write(&input, "nothing").unwrap();
    let run = || calipers(&["study", "images", "--out", text(&out), text(&input)]).stderr;
    let refusal = format!("calipers: {}: cannot write images-g-lines.svg: a folder has that name\n", out.display());
    assert_eq!(run(), refusal);
    std::fs::remove_dir(out.join("images-g-lines.svg")).unwrap();
    assert!(run().contains("images-models.csv: must not be an input too"), "{}", run());
    // A folder of another study is none of ours.
    std::fs::remove_file(&input).unwrap();
    std::fs::create_dir(out.join("rate-rows.svg")).unwrap();
    succeed(&["study", "two-point", "--quick", "--out", text(&out)]);
}

#[test]
fn models_of_a_group_must_keep_the_same_rows_with_the_same_weights() {
    let folder = Folder::new();
    let out = folder.path("out");
    let study = |files: &[&Path], more: &[&str]| {
        let files: Vec<String> = files.iter().map(|file| format!("g={}", file.display())).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        calipers(&[&["study", "images", "--quick", "--out", text(&out)], &files[..], more].concat())
    };
    let refused = |files: &[&Path], more: &[&str], refusal: String| {
        let run = study(files, more);
        assert_eq!((run.code, run.stderr), (Some(2), format!("calipers: {refusal}\n")));
        assert!(!out.exists());
    };
    let whole = folder.write("whole.csv", "label,prob\n0,0.2\n1,0.7\n1,0.9\n");
    let middle = folder.write("middle.csv", "label,prob\n0,0.2\n1,1.7\n1,0.9\n");
    let last = folder.write("last.csv", "label,prob\n0,0.2\n1,0.7\n1,1.9\n");
    let count = ["--invalid", "count"];
    let rule = |this: &Path, first: &Path, name: &str, rest: &str| {
        let kept = format!("must keep the rows of {name} of {}", first.display());
        format!("{}: {kept}, the first of its group: line {rest}", this.display())
    };
    refused(&[&whole, &middle], &count, rule(&middle, &whole, "whole", "3 is kept there and left out here"));
    refused(&[&middle, &whole], &count, rule(&whole, &middle, "middle", "3 is left out there and kept here"));
    refused(&[&whole, &last], &count, rule(&last, &whole, "whole", "4 is kept there and left out here"));
    refused(&[&last, &whole], &count, rule(&whole, &last, "last", "4 is left out there and kept here"));
    refused(&[&middle, &last], &count, rule(&last, &middle, "middle", "3 is left out there and kept here"));
    let heavy = folder.write("heavy.csv", "label,prob,w\n0,0.2,1\n1,0.7,2\n1,0.9,1\n");
    let heavier = folder.write("heavier.csv", "label,prob,w\n0,0.2,1\n1,0.7,3\n1,0.9,1\n");
    let weights =
        format!("{}: must have the rows of {}, the first of its group: they have", heavier.display(), heavy.display());
    refused(&[&heavy, &heavier], &["--weight", "w"], format!("{weights} the weights 2 and 3 in line 3"));
    let sampled = folder.write("sampled.csv", "label,prob,sample_weight\n0,0.2,1\n1,0.7,2\n1,0.9,1\n");
    let weights = |this: &Path, first: &Path| {
        format!("{}: must have the rows of {}, the first of its group: they have", this.display(), first.display())
    };
    refused(&[&sampled, &whole], &[], format!("{} weights in one of them only", weights(&whole, &sampled)));
    refused(&[&whole, &sampled], &[], format!("{} weights in one of them only", weights(&sampled, &whole)));
    // The same row left out of both is fine.
    let again = folder.write("again.csv", "label,prob\n0,0.3\n1,2.7\n1,0.8\n");
    let run = study(&[&middle, &again], &count);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let mut tables = names(&out);
    tables.retain(|name| name.ends_with(".csv"));
    assert_eq!(tables, ["images-differences.csv", "images-models.csv", "images-points.csv"]);
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let closed = folder.path("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser may write anywhere.
    if std::fs::write(closed.join("probe"), "").is_err() {
        for out in [closed.clone(), closed.join("out")] {
            let refusal = format!("{}: cannot write: permission denied", out.display());
            assert_fails(&["study", "two-point", "--quick", "--out", text(&out)], &refusal);
        }
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_quick_study_writes_the_files_that_it_names_and_no_other() {
    let folder = Folder::new();
    let out = folder.path("pages");
    let args = ["two-point", "--quick", "--random-state", "7", "--out", text(&out)];
    let written = json(&args);
    assert_eq!(names(&out), base_names(&written));
    assert_eq!(folder.names(), ["pages"]);
    assert_eq!(
        (&written["study"], &written["random_state"], &written["quick"]),
        (&"two-point".into(), &7.into(), &true.into())
    );
    assert_eq!(written["findings"][0]["agreement"], "seen");
    assert_eq!(written["page"], text(&out.join("two-point.md")));
    let page = std::fs::read_to_string(out.join("two-point.md")).unwrap();
    assert!(page.contains("not to be cited, seed 7."), "{page}");

    // Again, among files of others, and for people.
    std::fs::write(out.join("notes.txt"), "mine").unwrap();
    std::fs::write(out.join("two-point.md"), "old").unwrap();
    let said = succeed(&[&["study"], &args[..]].concat());
    assert!(said.starts_with("Seen: ECE is "), "{said}");
    let last = format!("{}: the page, with 4 charts and tables beside it", out.join("two-point.md").display());
    assert_eq!(said.lines().last(), Some(last.as_str()));
    assert_eq!(std::fs::read_to_string(out.join("notes.txt")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(out.join("two-point.md")).unwrap(), page);
    let mut expected = base_names(&written);
    expected.push("notes.txt".to_owned());
    expected.sort();
    assert_eq!(names(&out), expected);
}

#[test]
fn models_on_images_are_read_by_group() {
    let folder = Folder::new();
    let out = folder.path("pages");
    let pattern = format!("digits={}", examples().join("digits_*.npz").display());
    let alone = examples().join("digits_mlp.npz");
    let written = json(&["images", "--quick", "--out", text(&out), &pattern, text(&alone)]);
    assert_eq!(names(&out), base_names(&written));
    let page = std::fs::read_to_string(out.join("images.md")).unwrap();
    assert!(page.contains("\n## digits\n") && page.contains("\n## models\n"), "{page}");
    assert!(page.contains("Models: 4; ") && page.contains("Models: 1; "), "{page}");
    let points = std::fs::read_to_string(out.join("images-points.csv")).unwrap();
    assert_eq!(points.lines().count(), 1 + 5 * 5);
    // The figures are those of `calipers measure`.
    let row = points.lines().find(|line| line.starts_with("models,digits_mlp,40,")).unwrap();
    let cells: Vec<&str> = row.split(',').collect();
    let measured = crate::support::json(&alone, &["--sigma", "0.025", "--n-bins", "40", "--compat", "netcal"]);
    assert_eq!(cells[4].parse::<f64>().unwrap(), measured["ece"]["value"].as_f64().unwrap());
    assert_eq!(cells[5].parse::<f64>().unwrap(), measured["ls_ece"]["value"].as_f64().unwrap());
}

#[test]
fn models_of_a_group_must_have_the_same_rows() {
    let folder = Folder::new();
    let binary = |name: &str, labels: &[u8]| {
        let rows = labels.iter().enumerate().map(|(row, label)| format!("{label},0.{}\n", 3 + row));
        folder.write(name, "label,prob\n".to_owned() + &rows.collect::<String>())
    };
    let (a, b) = (binary("a.csv", &[0, 1, 1]), binary("b.csv", &[0, 1, 0]));
    let c = binary("c.csv", &[0, 1]);
    let top = |name: &str, labels: Vec<i64>| {
        folder.npz(
            name,
            &[
                ("conf", Array::Double(vec![3], vec![0.5, 0.6, 0.7])),
                ("pred", Array::Integers(vec![3], vec![4, 5, 6])),
                ("labels", Array::Integers(vec![3], labels)),
            ],
        )
    };
    // Right and wrong alike, and yet not the same labels.
    let (d, e) = (top("d.npz", vec![4, 7, 6]), top("e.npz", vec![4, 8, 6]));
    let out = folder.path("out");
    let study = |files: &[&Path]| -> Vec<String> {
        let files = files.iter().map(|file| format!("g={}", file.display()));
        ["study", "images", "--quick", "--out", text(&out)].map(str::to_owned).into_iter().chain(files).collect()
    };
    let refused = |files: &[&Path], refusal: &str| {
        let args = study(files);
        assert_fails(&args.iter().map(String::as_str).collect::<Vec<_>>(), refusal);
        assert!(!out.exists());
    };
    let rule = |first: &Path, rest: &str| {
        format!("must have the rows of {}, the first of its group: they have the labels {rest}", first.display())
    };
    refused(&[&a, &b], &format!("{}: {}", b.display(), rule(&a, "1 and 0 in line 4")));
    refused(&[&d, &e], &format!("{}: {}", e.display(), rule(&d, "7 and 8 in row 1 (counting from 0)")));
    let rows = format!(
        "{}: must have the rows of {}, the first of its group: they have 3 and 2 rows",
        c.display(),
        a.display()
    );
    refused(&[&a, &c], &rows);
    let twice = format!("{}: group g has a model a already, of {}", a.display(), a.display());
    refused(&[&a, &a], &twice);
    let bad = folder.write("bad.csv", "label,prob\n0,0.5\n1,1.5\n1,0.5\n");
    refused(&[&a, &bad], &format!("{}: probability in line 3 must be in [0, 1], got 1.5", bad.display()));
    let args = ["study", "images", "--quick", "--out", text(&out)];
    let odd = format!("a b={}", a.display());
    assert_fails(&[&args[..], &[&odd]].concat(), "group must be letters from a to z, digits, ., - and _, got \"a b\"");
    assert!(!out.exists());
    // As groups of their own, all are studied.
    let files = [&a, &b, &c, &d].map(|file| format!("{}={}", file.file_stem().unwrap().display(), file.display()));
    let said = succeed(&[&args[..], &files.each_ref().map(String::as_str)].concat());
    assert!(said.contains("d: One model: there is nothing to rank."), "{said}");
    assert_eq!(names(&out).len(), 1 + 4 * 5 + 3);
}

#[test]
fn an_input_is_never_written_over() {
    let folder = Folder::new();
    let input = folder.write("images-points.csv", "label,prob\n1,0.5\n0,0.25\n");
    let args = ["study", "images", "--quick", text(&input), "--out", text(&folder.path(""))].map(str::to_owned);
    let run = calipers(&args.each_ref().map(String::as_str));
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("must not be an input too"), "{}", run.stderr);
    assert_eq!(std::fs::read_to_string(&input).unwrap(), "label,prob\n1,0.5\n0,0.25\n");
    assert_eq!(folder.names(), ["images-points.csv"]);
}

#[test]
fn recalibration_names_the_files_that_it_leaves_out() {
    let folder = Folder::new();
    let rows = |seed: u32| {
        let row = |i: u32| format!("{},{}\n", u32::from((i * 7 + seed) % 10 < 2 + i % 5), 0.1 + 0.2 * f64::from(i % 5));
        "label,prob\n".to_owned() + &(0..150).map(row).collect::<String>()
    };
    for name in ["good_val.csv", "good_test.csv", "alone_val.csv", "other_val.csv"] {
        folder.write(name, rows(name.len() as u32));
    }
    folder.write("other_test.csv", "label,prob\n1,3\n");
    let out = folder.path("out");
    let good = folder.path("good_val.csv");
    let findings = succeed(&["study", "recalibration", "--quick", "--out", text(&out), text(good.parent().unwrap())]);
    assert!(findings.contains("Models of a binary outcome: "), "{findings}");
    let page = std::fs::read_to_string(out.join("recalibration.md")).unwrap();
    assert!(page.contains("\n1 model. A map is fitted to the validation part"), "{page}");
    let left_out = page.lines().find(|line| line.starts_with("Files that were left out: ")).unwrap();
    assert!(left_out.contains("alone_val.csv (there is no alone_test)"), "{left_out}");
    assert!(left_out.contains("other_test.csv: ") && !left_out.contains("good_"), "{left_out}");
    assert!(page.find("## In short").unwrap() < page.find("## How to read it").unwrap());
}
