//! Classes that have a column each, and labels that are names of classes.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, StringArray};
use parquet::basic::Compression;
use serde_json::{Value, json as value};

use crate::support::{Array, Folder, assert_refused, json, measure, results};

const PROBS: [[f64; 3]; 4] = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.125, 0.75], [0.5, 0.375, 0.125]];
const LABELS: [usize; 4] = [0, 1, 2, 1];
const NAMES: [&str; 3] = ["cat", "dog", "fish"];

/// A text of columns with these names, and labels as these words.
fn text(columns: [&str; 3], labels: [&str; 3]) -> String {
    let row =
        |(probs, label): (&[f64; 3], usize)| format!("{},{},{},{}\n", labels[label], probs[0], probs[1], probs[2]);
    let rows: String = PROBS.iter().zip(LABELS).map(row).collect();
    format!("label,{}\n{rows}", columns.join(","))
}

fn figures(result: &Value) -> [Value; 4] {
    ["n", "measures", "input", "multiclass"].map(|key| result[key].clone())
}

/// The same rows as arrays, whose classes are numbers.
fn expected(folder: &Folder) -> [Value; 4] {
    let labels = LABELS.map(|label| label as i64).to_vec();
    let arrays = [("probs", Array::Double(vec![4, 3], PROBS.concat())), ("labels", Array::Integers(vec![4], labels))];
    figures(&json(&folder.npz("expected.npz", &arrays), &[]))
}

#[test]
fn columns_of_classes_are_named_by_a_list_or_a_pattern() {
    let folder = Folder::new();
    let expected = expected(&folder);
    let path = folder.write("a.csv", text(["p_cat", "p_dog", "p_fish"], NAMES));
    for prob in ["p_cat,p_dog,p_fish", "p_*", "P_cat, p_dog ,p_fish"] {
        let found = json(&path, &["--prob", prob]);
        assert_eq!(figures(&found), expected, "{prob}");
        assert_eq!((&found["n_classes"], &found["classes"]), (&value!(3), &value!(NAMES)));
    }
    // In another order, as labels have names.
    let found = json(&path, &["--prob", "p_fish,p_cat,p_dog"]);
    assert_eq!((figures(&found), &found["classes"]), (expected.clone(), &value!(["fish", "cat", "dog"])));
    // Numbers are numbers of classes in the order of the columns.
    let path = folder.write("b.csv", text(["p_cat", "p_dog", "p_fish"], ["0", "1", "2"]));
    assert_eq!(figures(&json(&path, &["--prob", "p_*"])), expected);
    let lines: String = PROBS
        .iter()
        .zip(LABELS)
        .map(|(probs, label)| value!({"label": NAMES[label], "p_cat": probs[0], "p_dog": probs[1], "p_fish": probs[2]}))
        .map(|row| format!("{row}\n"))
        .collect();
    assert_eq!(figures(&json(&folder.write("a.jsonl", lines), &["--prob", "p_*"])), expected);
    let column = |class: usize| {
        Arc::new(Float32Array::from_iter_values(PROBS.iter().map(|probs| probs[class] as f32))) as ArrayRef
    };
    let labels = Arc::new(StringArray::from_iter_values(LABELS.map(|label| NAMES[label]))) as ArrayRef;
    let columns = [("label", labels), ("p_cat", column(0)), ("p_dog", column(1)), ("p_fish", column(2))];
    let parquet = folder.parquet("a.parquet", &columns, Compression::SNAPPY);
    assert_eq!(figures(&json(&parquet, &["--prob", "p_*"])), expected);
}

#[test]
fn numbered_columns_of_classes_are_found_and_reported() {
    let folder = Folder::new();
    let expected = expected(&folder);
    for (columns, labels) in [
        (["prob_0", "prob_1", "prob_2"], ["0", "1", "2"]),
        (["p0", "p1", "p2"], ["0", "1", "2"]),
        (["proba_1", "proba_2", "proba_3"], ["1", "2", "3"]),
    ] {
        let path = folder.write("a.csv", text(columns, labels));
        let found = json(&path, &[]);
        assert_eq!(figures(&found), expected, "{columns:?}");
        let note = format!("probabilities from columns {} to {}, labels from column label\n", columns[0], columns[2]);
        assert!(measure(&path, &[]).ends_with(&note));
    }
    // The number counts, not the place in the file.
    let swapped = "label,p_1,p_0\n1,0.9,0.1\n0,0.2,0.8\n";
    let plain = "label,prob\n1,0.9\n0,0.2\n";
    let (swapped, plain) = (folder.write("swapped.csv", swapped), folder.write("plain.csv", plain));
    assert_eq!(json(&swapped, &[])["measures"]["ls_ece"]["value"], json(&plain, &[])["measures"]["ls_ece"]["value"]);
    let names = folder.write("names.csv", text(["prob_a", "prob_b", "prob_c"], ["a", "b", "c"]));
    assert_refused(
        &names,
        &[],
        "no column is named like a probability (prob, proba, y_prob, score, p or logit): choose one with --prob; the \
         columns are label, prob_a, prob_b, prob_c; if a model has a column for each class, pass --prob 'prob_*'",
    );
}

#[test]
fn a_class_is_chosen_by_its_name_or_its_number() {
    let folder = Folder::new();
    let path = folder.write("a.csv", text(["p_cat", "p_dog", "p_fish"], NAMES));
    let by = |path: &Path, multiclass: &str| {
        let found = json(path, &["--prob", "p_*", "--sigma", "0.5", "--multiclass", multiclass]);
        (found["multiclass"].clone(), found["measures"].clone())
    };
    assert_eq!(by(&path, "dog"), by(&path, "1"));
    assert_eq!(by(&path, "dog").0, 1);
    // A name comes before a number.
    let from_one = folder.write("b.csv", text(["p_1", "p_2", "p_3"], ["1", "2", "3"]));
    assert_eq!(by(&from_one, "2"), by(&path, "dog"));
    assert_eq!(by(&from_one, "0"), by(&path, "cat"));
    let rule = "multiclass must be \"top_class\", \"classwise\", \"all_classes\" or a class, got \"bird\"";
    assert_refused(
        &path,
        &["--prob", "p_*", "--multiclass", "bird"],
        &format!("{rule}; the classes are cat, dog, fish"),
    );
    let plain = folder.write("c.csv", "label,prob\n1,0.75\n0,0.25\n");
    assert_refused(
        &plain,
        &["--multiclass", "bird"],
        &format!("{rule}; the classes have no names, which --classes gives them"),
    );
}

#[test]
fn several_models_may_have_columns_of_classes() {
    let folder = Folder::new();
    let rows = "label,a_no,a_yes,b_no,b_yes\nyes,0.25,0.75,0.5,0.5\nno,0.75,0.25,0.5,0.5\nno,0.5,0.5,0.75,0.25\n";
    let path = folder.write("a.csv", rows);
    let all = results(&[path.to_str().unwrap(), "--prob", "a_*", "--prob", "b_*", "--sigma", "0.5"]);
    let plain = folder.write("b.csv", "label,a,b\n1,0.75,0.5\n0,0.25,0.5\n0,0.5,0.25\n");
    let expected = results(&[plain.to_str().unwrap(), "--prob", "a", "--prob", "b", "--sigma", "0.5"]);
    assert_eq!(all.len(), 2);
    for (found, expected) in all.iter().zip(expected) {
        assert_eq!(found["ls_ece"]["value"], expected["ls_ece"]["value"]);
    }
    assert_eq!((&all[1]["prob"], &all[1]["classes"]), (&value!("b_*"), &value!(["no", "yes"])));
}

#[test]
fn text_labels_of_arrays_need_the_names_of_the_classes() {
    let folder = Folder::new();
    let expected = expected(&folder);
    let rows = PROBS.iter().zip(LABELS).map(|(probs, label)| value!({"probs": probs, "label": NAMES[label]}));
    let path = folder.write("a.jsonl", rows.map(|row| format!("{row}\n")).collect::<String>());
    assert_eq!(figures(&json(&path, &["--classes", "cat,dog,fish"])), expected);
    assert_refused(
        &path,
        &[],
        "label in line 1 must be a class from 0 to 2, got \"cat\"; name the classes in their order with --classes",
    );
    assert_refused(&path, &["--classes", "cat,dog"], "--classes must name every class, got 2 names for 3 classes");
    assert_refused(
        &path,
        &["--classes", "cat,dog,bird"],
        "label in line 3 must be one of the classes cat, dog, bird, got \"fish\"",
    );
    let left_out = &json(&path, &["--classes", "cat,dog,bird", "--invalid", "count"])["input"]["left_out"];
    assert_eq!(*left_out, value!({"invalid label": 1}));
}

#[test]
fn columns_that_are_no_classes_are_refused() {
    let folder = Folder::new();
    let path = folder.write("a.csv", text(["p_cat", "p_dog", "p_fish"], ["cat", "dog", "bird"]));
    assert_refused(
        &path,
        &["--prob", "p_*"],
        "label in line 4 must be one of the classes cat, dog, fish, got \"bird\"",
    );
    assert_refused(
        &path,
        &["--prob", "q_*"],
        "no column is named like q_* for --prob; the columns are label, p_cat, p_dog, p_fish",
    );
    assert_refused(
        &path,
        &["--prob", "p_cat,p_cow"],
        "no column p_cow for --prob; did you mean p_cat? the columns are label, p_cat, p_dog, p_fish",
    );
    assert_refused(&path, &["--prob", "*"], "column label is named for two things");
    let binary = folder.write("b.csv", "label,p_no,p_yes\nyes,0.25,0.75\nno,0.5,0.5\n");
    assert_refused(
        &binary,
        &["--prob", "p_*", "--pos-label", "no"],
        "--pos-label is left out where labels name columns (no, yes); --multiclass chooses a class by its name",
    );
}
