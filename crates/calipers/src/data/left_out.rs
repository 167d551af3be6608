//! Rows that were left out, in words: every verdict says how many there are and why.

use super::InputReport;

impl InputReport {
    /// The share of the rows read that were left out.
    pub fn share_left_out(&self) -> f64 {
        if self.n_rows == 0 { 0.0 } else { self.n_left_out() as f64 / self.n_rows as f64 }
    }

    /// How many rows were left out and why; `None` if none were.
    ///
    /// # Example
    /// ```
    /// use calipers::{Input, Invalid};
    ///
    /// let p = [0.1, f64::NAN, 0.9];
    /// let predictions = Input::probabilities(&p, &[0, 1, 1]).invalid(Invalid::Count).check()?;
    /// let sentence = predictions.report().left_out_sentence();
    /// assert_eq!(sentence.as_deref(), Some("1 of 3 rows was left out: 1 probability is invalid."));
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn left_out_sentence(&self) -> Option<String> {
        let n_left_out = self.n_left_out();
        let reasons: Vec<String> = self.left_out.iter().map(|(kind, n)| reason(kind, *n)).collect();
        let were = if n_left_out == 1 { "was" } else { "were" };
        let of = format!("{} of {} rows", with_commas(n_left_out), with_commas(self.n_rows));
        (n_left_out > 0).then(|| format!("{of} {were} left out: {}.", reasons.join(", ")))
    }
}

/// `3 labels are missing`, of the kind `missing label`.
fn reason(kind: &str, n: u64) -> String {
    let (fault, noun) = kind.split_once(' ').unwrap_or(("invalid", kind));
    let nouns = match (n, noun.strip_suffix('y')) {
        (1, _) => format!("{noun} is"),
        (_, Some(stem)) => format!("{stem}ies are"),
        (_, None) => format!("{noun}s are"),
    };
    format!("{} {nouns} {fault}", with_commas(n))
}

/// A count with a comma before every three digits.
fn with_commas(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(n_rows: u64, left_out: &[(&'static str, u64)]) -> InputReport {
        InputReport { n_rows, left_out: left_out.iter().copied().collect(), ..InputReport::default() }
    }

    #[test]
    fn the_sentence_counts_rows_and_reasons() {
        let sentence = |report: InputReport| report.left_out_sentence();
        assert_eq!(
            sentence(report(1500, &[("missing probability", 1425)])).as_deref(),
            Some("1,425 of 1,500 rows were left out: 1,425 probabilities are missing.")
        );
        assert_eq!(
            sentence(report(1_234_567, &[("invalid row sum", 2), ("missing label", 1)])).as_deref(),
            Some("3 of 1,234,567 rows were left out: 2 row sums are invalid, 1 label is missing.")
        );
        assert_eq!(sentence(report(10, &[])), None);
    }

    #[test]
    fn every_kind_makes_a_sentence() {
        for kind in crate::data::KINDS {
            let text = report(9, &[(kind, 2)]).left_out_sentence().unwrap_or_default();
            assert!(text.contains("s are missing.") || text.contains("s are invalid."), "{text}");
        }
    }

    #[test]
    fn no_rows_have_no_share() {
        assert_eq!(InputReport::default().share_left_out(), 0.0);
        assert_eq!(report(4, &[("missing label", 1)]).share_left_out(), 0.25);
    }
}
