//! Where tables are shown: how wide it is, and whether it has colours. What is piped is plain, and
//! as wide as it has to be.

use std::io::IsTerminal;

use clap::ColorChoice;

use super::wrap;

/// Narrower terminals are taken to be so wide: below, a line that wraps is easier to read than a
/// table of single words.
const LEAST_WIDTH: usize = 40;

/// Tables of many models and long reasons, if there is no terminal to fit.
const PIPED_WIDTH: usize = 100;

/// Explanations, if there is no terminal to fit.
const PIPED_NOTES: usize = 116;

/// What a piece of text is, which colours show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Heading,
    /// Explanations, and what is there for completeness.
    Quiet,
    Good,
    Warning,
    Bad,
}

impl Tone {
    /// The code of a terminal for it. Only the eight colours that every theme sets to be readable.
    fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Heading => Some("1"),
            Tone::Quiet => Some("2"),
            Tone::Good => Some("32"),
            Tone::Warning => Some("33"),
            Tone::Bad => Some("31"),
        }
    }
}

/// Standard output, as tables have to know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    /// Characters in a line; `None` where lines may be as long as they like.
    pub(crate) width: Option<usize>,
    pub(crate) colours: bool,
}

impl Screen {
    /// Standard output, with colours if it is a terminal that has them, or as requested.
    pub(crate) fn of_output(choice: ColorChoice) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let size = is_terminal.then(|| console::Term::stdout().size_checked()).flatten();
        let is_set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let forced = is_set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let dumb = is_set("TERM").is_some_and(|value| value == "dumb");
        let colours = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            // https://no-color.org: set and not empty, to whatever value.
            ColorChoice::Auto => is_set("NO_COLOR").is_none() && (forced || is_terminal && !dumb),
        };
        Screen { width: size.map(|(_, columns)| usize::from(columns).max(LEAST_WIDTH)), colours }
    }

    pub(crate) fn paint(&self, text: &str, tone: Tone) -> String {
        match tone.code().filter(|_| self.colours && !text.trim().is_empty()) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.to_owned(),
        }
    }

    /// Sentences, none of which is longer than a line of the terminal.
    pub(crate) fn prose(&self, text: &str) -> String {
        match self.width {
            None => text.to_owned(),
            Some(width) => text.lines().map(|line| wrapped(line, width)).collect(),
        }
    }

    /// What stands under a table to explain it.
    pub(crate) fn notes(&self, text: &str) -> String {
        let lines = |line: &str| wrapped(line, self.width.unwrap_or(PIPED_NOTES));
        let text: String = text.lines().map(lines).collect();
        text.lines().map(|line| self.paint(line, Tone::Quiet) + "\n").collect()
    }

    /// One long reason, in lines wherever it goes.
    pub(crate) fn reason(&self, text: &str) -> String {
        wrapped(text, self.width.unwrap_or(PIPED_WIDTH))
    }

    /// For tables that are cut also if there is no terminal to fit.
    pub(crate) fn with_width(&self) -> Screen {
        Screen { width: self.width.or(Some(PIPED_WIDTH)), ..*self }
    }
}

/// Lines of at most so many characters, where words allow it; all but the first are indented.
fn wrapped(text: &str, width: usize) -> String {
    wrap::lines(text, &[' '], width, 2).join("\n  ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_at_words_and_only_for_a_terminal() {
        let narrow = Screen { width: Some(11), colours: false };
        assert_eq!(narrow.prose("one two three four\nfive\n"), "one two\n  three\n  four\nfive\n");
        let piped = Screen { width: None, colours: false };
        assert_eq!(piped.prose("one two three four\nfive\n"), "one two three four\nfive\n");
    }

    #[test]
    fn plain_text_has_no_codes() {
        let painted = Screen { width: None, colours: true };
        assert_eq!(painted.paint("high", Tone::Bad), "\x1b[31mhigh\x1b[0m");
        assert_eq!(painted.paint("high", Tone::Plain), "high");
        assert_eq!(Screen { width: None, colours: false }.paint("high", Tone::Bad), "high");
    }
}
