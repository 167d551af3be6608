//! Where the values of the page come from.

use std::path::Path;

use calipers::Form;
use calipers_report::Origin;

use crate::dataset::Dataset;
use crate::dataset::model::Measured;

pub(super) fn of(model: &Measured<()>) -> Origin {
    let files = model.files.iter().map(|file| file.display().to_string()).collect();
    let Some(columns) = &model.columns else { return Origin { files, ..Origin::default() } };
    let score = match (columns.form, columns.n_classes) {
        (Form::Probabilities, 1) => "probability",
        (Form::Probabilities, _) => "probabilities",
        (Form::Logits, 1) => "logit",
        (Form::Logits, _) => "logits",
    };
    let named = [
        Some((score, &columns.prob)),
        Some(("label", &columns.label)),
        columns.predicted.as_ref().map(|name| ("predicted class", name)),
        columns.weight.as_ref().map(|name| ("weight", name)),
    ];
    let named = named.into_iter().flatten().map(|(what, name)| (what.to_owned(), name.clone()));
    let mut notes = Vec::new();
    if !columns.guessed.is_empty() {
        notes.push(format!("found by name: {}", columns.guessed.join(", ")));
    }
    if columns.n_classes > 1 {
        notes.push(format!("{} classes; tied top classes: {}", columns.n_classes, columns.rules.ties.name()));
    }
    Origin { files, columns: named.collect(), notes }
}

/// The name of the only file; those of the models where there are several.
pub(super) fn title(datasets: &[Dataset]) -> Option<String> {
    let [one] = datasets else { return None };
    let stem = one.file.name.file_stem()?.to_string_lossy();
    match &one.models[..] {
        [_] => Some(stem.to_string()),
        several => Some(format!("{stem}: {} models", several.len())),
    }
}

/// The command as it was typed, for a shell, except that files have no folders: the page is meant
/// to be shared.
pub(crate) fn command() -> String {
    let arguments = std::env::args_os().skip(1).map(|argument| quoted(&without_folders(&argument.to_string_lossy())));
    ["calipers".to_owned()].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

fn quoted(argument: &str) -> String {
    match argument.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=,:+%@".contains(c)) {
        true if !argument.is_empty() => argument.to_owned(),
        _ => format!("'{}'", argument.replace('\'', "'\\''")),
    }
}

/// The name of the file alone, if the argument, or what follows its `=`, is a path whose folder
/// exists.
fn without_folders(argument: &str) -> String {
    let (option, value) = match argument.split_once('=') {
        Some((option, value)) if option.starts_with("--") => (format!("{option}="), value),
        _ => (String::new(), argument),
    };
    let path = Path::new(value);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && folder.is_dir());
    match (folder, path.file_name()) {
        (Some(_), Some(name)) => format!("{option}{}", name.to_string_lossy()),
        _ => argument.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_no_folders_of_this_machine() {
        let folder = std::env::temp_dir();
        let file = folder.join("rows.csv");
        assert_eq!(without_folders(&file.to_string_lossy()), "rows.csv");
        assert_eq!(without_folders(&format!("--output={}", file.display())), "--output=rows.csv");
        for other in ["report", "--prob", "a/b in no folder", "rows.csv", "--title=A = B"] {
            assert_eq!(without_folders(other), other);
        }
    }
}
