//! JUnit XML, as GitLab, Jenkins and other CI services read it: a test suite for each model or
//! group, and a test case for each of its limits.

use super::{Gate, Line, Verdict, table};
use crate::render::grouped;

/// Characters that XML 1.0 cannot have, not even escaped.
const NOT_IN_XML: [char; 2] = ['\u{FFFE}', '\u{FFFF}'];

pub(super) fn document(gate: &Gate) -> String {
    let of_values = grouped(gate.lines.iter().map(|line| (line.place, of_line(gate, line)))).into_iter();
    let of_values = of_values.map(|(place, cases)| Suite {
        name: gate.names[place].clone(),
        cases,
        left_out: gate.results[place].found.input.left_out_sentence(),
    });
    let of_groups = gate.empty_groups().into_iter().map(|reason| {
        let name = "has valid rows".to_owned();
        let case = Case { name, outcome: Outcome::Error, message: reason, details: String::new() };
        Suite { name: "groups".to_owned(), cases: vec![case], left_out: None }
    });
    let suites: Vec<Suite> = of_values.chain(of_groups).collect();
    let counts = counts(suites.iter().flat_map(|suite| &suite.cases));
    let suites: String = suites.iter().map(Suite::to_xml).collect();
    format!("{DECLARATION}\n<testsuites name=\"calipers check\"{counts}>\n{suites}</testsuites>\n")
}

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

/// A model or group with its limits.
struct Suite {
    name: String,
    cases: Vec<Case>,
    left_out: Option<String>,
}

/// A limit, and what became of it.
struct Case {
    name: String,
    outcome: Outcome,
    message: String,
    details: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failure,
    /// The value could not be measured.
    Error,
    /// Undecided, which is not a failure unless --strict is given.
    Skipped,
}

fn of_line(gate: &Gate, line: &Line) -> Case {
    let outcome = match line.verdict {
        Verdict::Passed => Outcome::Passed,
        Verdict::Failed => Outcome::Failure,
        Verdict::NotMeasured => Outcome::Error,
        Verdict::Undecided if gate.strict => Outcome::Failure,
        Verdict::Undecided => Outcome::Skipped,
    };
    let reason = line.too_few.as_ref().map_or(String::new(), |reason| format!("{reason}\n"));
    Case {
        name: format!("{} is at most {}", line.measure, line.max),
        outcome,
        message: format!("{}: {}", line.verdict.name(), table::finding(gate, line)),
        details: reason + &table::details(gate, line),
    }
}

impl Suite {
    fn to_xml(&self) -> String {
        let (name, counts) = (escaped(&self.name), counts(self.cases.iter()));
        let cases: String = self.cases.iter().map(|case| case.to_xml(&name)).collect();
        let left_out = self
            .left_out
            .as_ref()
            .map_or(String::new(), |sentence| format!("    <system-out>{}</system-out>\n", escaped(sentence)));
        format!("  <testsuite name=\"{name}\"{counts}>\n{cases}{left_out}  </testsuite>\n")
    }
}

impl Case {
    fn to_xml(&self, class: &str) -> String {
        let (message, details) = (escaped(&self.message), escaped(&self.details));
        let body = match self.outcome {
            Outcome::Passed => format!("<system-out>{message}\n{details}</system-out>"),
            Outcome::Failure => format!("<failure type=\"failed\" message=\"{message}\">{details}</failure>"),
            Outcome::Error => format!("<error type=\"not measured\" message=\"{message}\">{details}</error>"),
            Outcome::Skipped => format!("<skipped message=\"{message}\">{details}</skipped>"),
        };
        format!("    <testcase classname=\"{class}\" name=\"{}\">{body}</testcase>\n", escaped(&self.name))
    }
}

/// How many there are, in all and of each outcome.
fn counts<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    let outcomes: Vec<Outcome> = cases.map(|case| case.outcome).collect();
    let n = |outcome: Outcome| outcomes.iter().filter(|other| **other == outcome).count();
    let [failures, errors, skipped] = [Outcome::Failure, Outcome::Error, Outcome::Skipped].map(n);
    format!(" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"", outcomes.len())
}

/// Text for an attribute or an element. Control characters are shown by their codes, except for the
/// ends of lines.
fn escaped(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(crate::printable).collect();
    let text = lines.join("\n").replace(NOT_IN_XML, "\u{FFFD}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_in_xml_is_escaped() {
        assert_eq!(escaped("a<b> & \"c\"\n\u{1}\u{FFFF}"), "a&lt;b&gt; &amp; &quot;c&quot;\n\\u{1}\u{FFFD}");
    }
}
