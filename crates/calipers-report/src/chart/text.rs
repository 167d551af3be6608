//! The width of texts, their line breaks, and their escapes in XML.

/// An upper bound on the width in pixels: the width in DejaVu Sans, the widest font that a browser
/// is likely to use.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let share = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '|' | '!' | '.' | ',' | ':' | ';' | ' ' | 'I' => 0.36,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | '·' | '⁰'..='⁹' | '¹' | '²' | '³' | '⁻' => 0.45,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        'A'..='Z' | '+' | '=' | '<' | '>' | '~' | '#' | '&' | '−' => 0.84,
        ' '..='~' => 0.64,
        'À'..='ɏ' | 'Ͱ'..='Ͽ' | 'Ѐ'..='ӿ' => 0.84,
        _ => 1.05,
    };
    text.chars().map(share).sum::<f64>() * size
}

/// Lines that fit, broken between words, and inside a word that is longer than a line. An empty
/// text has no lines.
pub(super) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => {
                lines.push(String::new());
                for c in word.chars() {
                    let line = lines.last().map_or("", String::as_str);
                    if !line.is_empty() && width(&format!("{line}{c}"), size) > most {
                        lines.push(String::new());
                    }
                    // proof: a line was pushed above
                    lines.last_mut().into_iter().for_each(|line| line.push(c));
                }
            }
        }
    }
    lines
}

/// The text, or as much of its start and its end as fits.
pub(super) fn shortened(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let characters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| {
        let (start, end) = (kept.div_ceil(2), characters.len() - kept / 2);
        characters[..start].iter().chain(&['…']).chain(&characters[end..]).collect::<String>()
    };
    (0..characters.len()).rev().map(cut).find(|text| width(text, size) <= most).unwrap_or_else(|| "…".to_owned())
}

/// Text with the escapes of XML. Characters that XML does not allow become the replacement
/// character.
pub(crate) fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\t' | '\n' | '\r' => xml.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            c => xml.push(c),
        }
    }
    xml
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_break_between_words_and_else_inside() {
        assert_eq!(wrapped("one two three", 10.0, 60.0), ["one two", "three"]);
        assert_eq!(wrapped("", 10.0, 60.0), Vec::<String>::new());
        let lines = wrapped(&"x".repeat(50), 10.0, 60.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, 10.0) <= 60.0));
        assert_eq!(lines.concat(), "x".repeat(50));
    }

    #[test]
    fn names_keep_their_start_and_end() {
        let short = shortened("a_model_with_a_very_long_name_v2", 10.0, 80.0);
        assert!(short.starts_with("a_m") && short.ends_with("v2") && width(&short, 10.0) <= 80.0, "{short}");
        assert_eq!(shortened("short", 10.0, 80.0), "short");
    }

    #[test]
    fn markup_and_control_characters_are_text() {
        assert_eq!(escaped("a<b & \"c\"\u{1b}\n"), "a&lt;b &amp; &quot;c&quot;\u{fffd} ");
    }
}
