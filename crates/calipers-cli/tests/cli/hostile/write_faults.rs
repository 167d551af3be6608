//! A disk that is full and a folder that vanishes while files are written: an error of one line,
//! and the files that were there before; or success, and the new ones.

use std::path::PathBuf;

use crate::hostile::injected::{Fault, moments};
use crate::hostile::writers::{Left, Writer};

/// One call fails, or this one and all later ones that need space.
fn fill_at(writer: &Writer, kind: &'static str, number: usize) {
    writer.reset();
    let context = format!("{kind} at call {number}");
    let ended = writer.run(Fault { kind, number });
    assert!(ended.is_answer_or_error(), "{}, {context}: {ended:?}", writer.name);
    let left = writer.left(&context);
    if ended.code == Some(0) {
        assert_eq!(left, Left::AllNew, "{}, {context}", writer.name);
    } else {
        assert!(ended.stderr.contains("cannot write"), "{}, {context}: {}", writer.name, ended.stderr);
        // Of several outputs, those before the one that failed may be new.
        let is_one = writer.is_one_folder() || writer.new.len() == 1;
        assert!(!is_one || left == Left::AllOld, "{}, {context}: {left:?}", writer.name);
        // A file whose removal failed is left, by its name.
        let n_left = writer.temporary().len();
        assert!(n_left <= 1, "{}, {context}: {n_left} temporary files", writer.name);
    }
}

#[test]
fn a_full_disk_is_an_error_and_old_files_stay() {
    for writer in Writer::all() {
        for number in moments(writer.n_calls(), 3) {
            fill_at(&writer, "full-on", number);
        }
    }
}

#[test]
#[ignore = "minutes; make test-hostile"]
fn a_full_disk_at_any_call_is_an_error_and_old_files_stay() {
    for writer in Writer::all() {
        for number in 1..=writer.n_calls() {
            fill_at(&writer, "full", number);
            fill_at(&writer, "full-on", number);
        }
    }
}

/// The folder of outputs gets another name in between.
fn vanish_at(writer: &Writer, number: usize) {
    writer.reset();
    let context = format!("the folder vanishes at call {number}");
    let ended = writer.run(Fault { kind: "vanish", number });
    assert!(ended.is_answer_or_error(), "{}, {context}: {ended:?}", writer.name);
    // What a run has made anew in its place must be whole, too.
    writer.left(&context);
    let gone = PathBuf::from(format!("{}.gone", writer.out().display()));
    if gone.exists() && !writer.out().exists() {
        std::fs::rename(gone, writer.out()).unwrap();
        writer.left(&context);
    }
}

#[test]
fn a_folder_that_vanishes_is_an_error() {
    for writer in Writer::all() {
        moments(writer.n_calls(), 3).into_iter().for_each(|number| vanish_at(&writer, number));
    }
}

#[test]
#[ignore = "minutes; make test-hostile"]
fn a_folder_that_vanishes_at_any_call_is_an_error() {
    for writer in Writer::all() {
        (1..=writer.n_calls()).for_each(|number| vanish_at(&writer, number));
    }
}
