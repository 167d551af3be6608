//! Columns are found by the names that people use, and the choice is reported.

use serde_json::{Value, json as value};

use crate::support::{Folder, assert_refused, json, measure};

/// Rows with these two names for the columns.
fn rows(prob: &str, label: &str) -> String {
    format!("id,{label},{prob}\n1,1,0.9\n2,0,0.25\n3,1,0.5\n4,0,0.125\n")
}

#[test]
fn the_usual_pairs_of_names_are_found_and_reported() {
    let folder = Folder::new();
    let expected = json(&folder.write("plain.csv", rows("prob", "label")), &["--sigma", "0.5"]);
    let pairs = [
        ("p", "y"),
        ("score", "target"),
        ("y_prob", "y_true"),
        ("proba", "outcome"),
        ("Probability", "Class"),
        ("Predicted Probability", "ground-truth"),
        ("y_score", "Actual"),
        ("pred", "label"),
        ("y_pred", "y_true"),
        ("prediction", "observed"),
    ];
    for (prob, label) in pairs {
        let path = folder.write("a.csv", rows(prob, label));
        let found = json(&path, &["--sigma", "0.5"]);
        assert_eq!([&found["prob"], &found["label"]], [prob, label]);
        assert_eq!(found["measures"], expected["measures"], "{prob} {label}");
        let guessed = value!([format!("probability from column {prob}"), format!("outcome from column {label}")]);
        assert_eq!(found["guessed"], guessed);
        let note = format!("probability from column {prob}, outcome from column {label}\n");
        assert!(measure(&path, &[]).ends_with(&note), "{prob} {label}");
    }
}

#[test]
fn confidence_and_correct_are_confidences_in_the_predicted_class() {
    let folder = Folder::new();
    let path = folder.write("a.csv", rows("confidence", "correct"));
    let found = json(&path, &[]);
    assert_eq!([&found["prob"], &found["label"], &found["multiclass"]], ["confidence", "correct", "top_class"]);
    let guessed = ["probability from column confidence", "whether the prediction was right from column correct"];
    assert_eq!(found["guessed"], value!(guessed));
    // As if the prediction had been compared with the label.
    let compared = folder.write("b.csv", "conf,pred,label\n0.9,a,a\n0.25,a,b\n0.5,b,b\n0.125,c,a\n");
    let assessed = |path: &std::path::Path| -> Value {
        let args = ["assess", "--json", "--sigma", "0.5", "--n-resamples", "100", path.to_str().unwrap()];
        serde_json::from_str(&crate::support::succeed(&args)).unwrap()
    };
    assert_eq!(assessed(&path)["results"][0]["measures"], assessed(&compared)["results"][0]["measures"]);
    // What a file says of the predictions counts, whatever else is in it.
    let all = folder.write("c.csv", "confidence,correct,pred,label\n0.9,1,yes,Yes\n0.25,0,no,yes\n");
    assert_eq!(json(&all, &[])["label"], "correct");
    assert_eq!(json(&all, &["--pred", "pred", "--label", "label"])["pred"], "pred");
}

#[test]
fn two_columns_that_fit_are_an_error_with_both() {
    let folder = Folder::new();
    let cases = [
        ("p,score,label\n0.5,0.5,1\n", "more than one column may be the probability: p, score; choose with --prob"),
        ("prob,proba,y\n0.5,0.5,1\n", "more than one column may be the probability: prob, proba; choose with --prob"),
        ("p,y,truth\n0.5,1,1\n", "more than one column may be the label: y, truth; choose with --label"),
        (
            "confidence,prob,correct\n0.5,0.5,1\n",
            "more than one column may be the probability: confidence, prob; choose with --prob",
        ),
    ];
    for (content, text) in cases {
        assert_refused(&folder.write("a.csv", content), &[], text);
    }
    // A clear name comes before one that may mean something else.
    let found = json(&folder.write("b.csv", "p,prob,y,label\n7,0.5,x,1\n7,0.25,x,0\n"), &[]);
    assert_eq!([&found["prob"], &found["label"]], ["prob", "label"]);
}

#[test]
fn predicted_classes_are_not_taken_for_probabilities() {
    let folder = Folder::new();
    let absent = "no column is named like a probability (prob, proba, y_prob, score, p or logit): choose one with \
                  --prob; the columns are label, pred";
    for rows in ["1,1\n0,1\n", "1,cat\n0,dog\n"] {
        assert_refused(&folder.write("a.csv", format!("label,pred\n{rows}")), &[], absent);
    }
}
