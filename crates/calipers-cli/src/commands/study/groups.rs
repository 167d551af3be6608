//! `GROUP=FILE`: which models of `calipers study images` are compared with each other.

use std::path::{Path, PathBuf};

use anyhow::Result;
use calipers::Error;

use crate::args::InputArgs;
use crate::dataset::files::{self, InputFile};

/// The group of files that name none.
const NO_GROUP: &str = "models";

/// Files by the name of their group.
pub(super) type Groups = Vec<(String, Vec<InputFile>)>;

/// Files by their groups, in the order in which those were first named.
pub(super) fn grouped(input: &InputArgs) -> Result<Groups> {
    let mut groups: Groups = Vec::new();
    for argument in &input.files {
        let (group, pattern) = split(argument);
        check_group(&group, &groups)?;
        let files = files::expand(&[pattern], input.format, input.rules.limit())?;
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, own)) => own.extend(files),
            None => groups.push((group, files)),
        }
    }
    Ok(groups)
}

/// As [`calipers_studies::images::run`] does, but before any file is read.
fn check_group(group: &str, groups: &Groups) -> Result<(), Error> {
    let rejected = |rule: &str| {
        let value = format!("{group:?}");
        Err(Error::InvalidSetting { name: "group", rule: rule.to_owned(), value })
    };
    if group.is_empty() || !group.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c)) {
        return rejected("letters from a to z, digits, ., - and _");
    }
    match groups.iter().any(|(other, _)| other != group && other.eq_ignore_ascii_case(group)) {
        true => rejected("unlike all others, also in upper case"),
        false => Ok(()),
    }
}

/// `GROUP=FILE`; a file whose own name has `=` in it, or a folder of such a name, is a file.
fn split(argument: &Path) -> (String, PathBuf) {
    let parts = argument.to_str().and_then(|text| text.split_once('='));
    match parts.filter(|(group, _)| !group.contains(['/', '\\']) && argument.symlink_metadata().is_err()) {
        Some((group, file)) => (group.to_owned(), PathBuf::from(file)),
        None => (NO_GROUP.to_owned(), argument.to_owned()),
    }
}
