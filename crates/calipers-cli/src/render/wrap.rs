//! Text in lines that are no longer than a screen or a column is wide.

use textwrap::core::Word;
use textwrap::wrap_algorithms::wrap_first_fit;

/// The lines of a text, cut after `separators` where they would be longer than `width`; all but the
/// first of a line are `indent` shorter. What cannot be cut stays whole.
pub(crate) fn lines(text: &str, separators: &[char], width: usize, indent: usize) -> Vec<String> {
    let widths = [width, width.saturating_sub(indent)].map(|width| width as f64);
    let wrapped = |line: &str| {
        let words: Vec<Word<'_>> = line.split_inclusive(separators).map(Word::from).collect();
        let joined =
            |words: &[Word<'_>]| words.iter().flat_map(|word| [word.word, word.whitespace]).collect::<String>();
        wrap_first_fit(&words, &widths).into_iter().map(|words| joined(words).trim_end().to_owned()).collect()
    };
    text.lines().flat_map(|line| -> Vec<String> { wrapped(line) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_a_name_can_be_cut() {
        let lines = |text, width| lines(text, &['_', ' '], width, 0);
        assert_eq!(lines("expected_calibration_error", 18), ["expected_", "calibration_error"]);
        assert_eq!(lines("sigma 0.5, 497 clipped", 12), ["sigma 0.5,", "497 clipped"]);
        assert_eq!(lines("two\nlines", 40), ["two", "lines"]);
        assert_eq!(lines("indivisible", 3), ["indivisible"]);
        assert!(lines("", 3).is_empty());
    }
}
