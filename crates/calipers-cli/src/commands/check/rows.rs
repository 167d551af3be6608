//! Whether there are enough rows for a verdict: a gate that measured too few of them is not passed.

use std::str::FromStr;

use calipers::{Error, InputReport};

use crate::render::number;

/// A share of rows, written as `0.01` or `1%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Share(pub(super) f64);

impl FromStr for Share {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number = match text.trim().strip_suffix('%') {
            Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
            None => text.trim().parse(),
        };
        // Written so that NaN fails.
        match number {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Share(share)),
            _ => Err(Error::InvalidSetting {
                name: "max_missing",
                rule: "a share in [0, 1], as 0.01 or 1%".to_owned(),
                value: format!("{text:?}"),
            }),
        }
    }
}

/// What the rows of each value must be.
#[derive(Debug, Clone, Copy)]
pub(super) struct EnoughRows {
    /// The largest share of rows that may be left out.
    pub(super) max_missing: Share,
    pub(super) min_rows: u64,
}

impl EnoughRows {
    /// Why a value of `n` rows has no verdict; `None` if it has.
    pub(super) fn reason(&self, n: u64, input: &InputReport) -> Option<String> {
        let Share(max_missing) = self.max_missing;
        if input.share_left_out() > max_missing {
            let left_out = input.left_out_sentence().unwrap_or_default();
            let share = number::percent(rounded(input.share_left_out()));
            let allowed = number::percent(max_missing);
            return Some(format!("{left_out} That is {share}, and --max-missing allows {allowed}."));
        }
        (n < self.min_rows).then(|| {
            let rows = if n == 1 { "row" } else { "rows" };
            format!("There are {} valid {rows}, and --min-rows is {}.", number::count(n), number::count(self.min_rows))
        })
    }
}

/// With three digits, but never 0 or 1 unless it is.
fn rounded(share: f64) -> f64 {
    format!("{share:.2e}").parse().unwrap_or(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_or_a_percentage() {
        for (text, share) in [("0.01", 0.01), ("1%", 0.01), (" 2.5 % ", 0.025), ("0", 0.0), ("100%", 1.0), ("1", 1.0)] {
            assert_eq!(text.parse::<Share>(), Ok(Share(share)), "{text}");
        }
        for text in ["", "%", "-0.1", "101%", "nan", "NaN%", "inf", "one", "1 percent"] {
            let error = text.parse::<Share>().unwrap_err().to_string();
            assert!(error.starts_with("max_missing must be a share in [0, 1], as 0.01 or 1%, got "), "{error}");
        }
    }

    #[test]
    fn too_many_missing_rows_or_too_few_rows_are_reasons() {
        let enough = EnoughRows { max_missing: Share(0.01), min_rows: 100 };
        let report = |n_rows, n_missing| InputReport {
            n_rows,
            left_out: [("missing label", n_missing)].into_iter().collect(),
            ..InputReport::default()
        };
        assert_eq!(
            enough.reason(99, &report(100, 1)).as_deref(),
            Some("There are 99 valid rows, and --min-rows is 100.")
        );
        assert_eq!(enough.reason(990, &report(1000, 10)), None);
        let reason = enough.reason(985, &report(1000, 15)).unwrap();
        let expected =
            "15 of 1,000 rows were left out: 15 labels are missing. That is 1.5 %, and --max-missing allows 1 %.";
        assert_eq!(reason, expected);
    }
}
