//! Annotations of GitHub Actions, which its runner finds in the output of a step:
//! `::error file=predictions.csv,title=calipers check failed::what was found`.

use super::{Gate, Line, Verdict, table};
use crate::Status;
use crate::dataset::files;

/// A line for each value that did not pass, and at the end one for the whole gate. Nothing else is
/// printed: a name that begins like a command would be one.
pub(super) fn annotations(gate: &Gate) -> String {
    let lines = gate.lines.iter().filter(|line| line.verdict != Verdict::Passed).map(|line| of_line(gate, line));
    let groups = gate.empty_groups();
    let groups = groups.iter().map(|group| annotation("error", None, "calipers check: not measured", group));
    lines.chain(groups).chain([summary(gate)]).collect()
}

fn of_line(gate: &Gate, line: &Line) -> String {
    let level = match line.verdict {
        Verdict::Undecided if !gate.strict => "warning",
        _ => "error",
    };
    let name = if gate.names.len() > 1 { format!("{}: ", gate.names[line.place]) } else { String::new() };
    let reason = line.too_few.as_ref().map_or(String::new(), |reason| format!(" {reason}"));
    let message = format!("{name}{}.{reason} ({})", table::finding(gate, line), table::details(gate, line));
    let file = gate.results[line.place].file();
    let file = (!files::is_standard_input(file)).then(|| file.display().to_string());
    annotation(level, file.as_deref(), &format!("calipers check: {}", line.verdict.name()), &message)
}

/// The verdict, with the rows that were left out.
fn summary(gate: &Gate) -> String {
    let level = if gate.status() == Status::Fine { "notice" } else { "error" };
    let left_out: String = gate.rows_left_out().iter().map(|sentence| format!(" {sentence}")).collect();
    annotation(level, None, "calipers check", &format!("{}.{left_out}", table::sentence(gate)))
}

fn annotation(level: &str, file: Option<&str>, title: &str, message: &str) -> String {
    let file = file.map_or(String::new(), |file| format!("file={},", property(file)));
    format!("::{level} {file}title={}::{}\n", property(title), data(message))
}

/// Text after the last `::`, in which only these have a meaning.
fn data(text: &str) -> String {
    crate::printable(text).replace('%', "%25")
}

/// The value of a property, which ends at a comma or colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_to_the_runner_is_escaped() {
        let line = annotation("error", Some("a:b,c%\n.csv"), "50 %, so: no", "95 % of a::b, c\nd");
        let expected = "::error file=a%3Ab%2Cc%25\\n.csv,title=50 %25%2C so%3A no::95 %25 of a::b, c\\nd\n";
        assert_eq!(line, expected);
    }
}
