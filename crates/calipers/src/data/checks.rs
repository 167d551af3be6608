//! Input validation, on a batch of rows in parallel.
//!
//! # Row sums
//! The probabilities of a row sum to 1 within [`ROUNDED_SUM`], or within the tolerance that the
//! caller sets. Values that were rounded to d digits are off by at most 10^-d / 2 each, so that k
//! of them sum to 1 within k 10^-d / 2: within 0.02 for two digits and up to four classes. With
//! more classes the errors mostly cancel: they have a standard deviation of 10^-d / sqrt(12), and
//! their sum has one of 0.009 for two digits and ten classes.
//!
//! Rows that are off by more than [`EXACT_SUM`] are counted, and a note reports them: this is where
//! rounding to three digits ends and coarser rounding, or a class that was left out, begins. No row
//! is divided by its sum: that would change values which somebody has published, and the division
//! cannot know which of them was rounded up. The probability of a class is used as given.

use std::ops::Range;

use super::class_rows;
use super::columns::{Floats, match_floats};
use super::faults::{Fault, error_of, systematic};
use super::tally::{InputReport, Tally};
use super::{Form, Input, PlainRows};
use crate::Error;
use crate::names::names;
use crate::numerics::parallel;

/// How far probabilities of k classes may leave [0, 1] and still be read as 0 or 1, and counted.
///
/// Single precision rounds by u = 2^-24, relative to a value. A softmax divides an exponential by
/// the sum of k of them, which is at least the exponential itself. A sum of k terms, taken one
/// after the other, has k - 1 additions and so is off by at most (k - 1) u; the division adds u. So
/// a probability exceeds 1 by at most k u, whatever the exponentials are.
///
/// Programs also add up to 1e-5 to each probability, so that no logarithm is infinite, and leave
/// the sum as it is: a probability of 1 becomes 1.00001. And 1 - p of one above 1 is below 0.
///
/// The type of a column does not matter: a number of single precision that went through a text file
/// or a data frame is a double. More than 2^14 terms are never added one after the other, since
/// that sum would be no good; so k counts up to there, and the tolerance is below 0.001.
pub(super) fn rounding(n_classes: usize) -> f64 {
    SMALL_ADDEND + rounding_of_sum(n_classes)
}

/// What programs add to probabilities that they take logarithms of.
const SMALL_ADDEND: f64 = 1e-5;

/// How far k probabilities that were rounded to single precision, and divided by a rounded sum, may
/// be from summing to 1: the k u of [`rounding`], and u for the rounding of each.
fn rounding_of_sum(n_classes: usize) -> f64 {
    (n_classes.min(1 << 14) + 1) as f64 * f64::from(f32::EPSILON) / 2.0
}

/// How far the probabilities of a row may be from summing to 1 without being counted.
const EXACT_SUM: f64 = 1e-3;

/// How far they may be from it, unless the caller sets another tolerance.
pub(super) const ROUNDED_SUM: f64 = 0.02;

/// What to do with a row that breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Invalid {
    /// An error that names the first such row.
    #[default]
    Reject,
    /// Leave the row out and count it by its kind; the counts are in every result.
    Count,
}

names! { Invalid, "invalid"; Reject = "reject", Count = "count" }

/// What is not quite right in rows that are valid.
#[derive(Default, Clone, Copy)]
struct Inexact {
    /// Probabilities that are outside [0, 1] by rounding only.
    n_rounded: u64,
    /// Rows that do not sum to 1 within [`EXACT_SUM`].
    n_sums: u64,
}

impl Inexact {
    fn add_to(self, report: &mut InputReport) {
        report.n_rounded += self.n_rounded;
        report.n_inexact_sums += self.n_sums;
    }
}

/// What one chunk of rows has shown.
#[derive(Default)]
struct ChunkCheck {
    faults: Vec<(usize, Fault)>,
    inexact: Inexact,
    positive_weight: bool,
    positive_seen: bool,
}

/// Checks a batch; returns its report and, where rows were left out, the rows that stay.
pub(super) fn check(input: &Input<'_>, tally: &mut Tally) -> Result<(InputReport, Option<Vec<usize>>), Error> {
    check_shape(input)?;
    let n_rows = input.n_rows();
    let reject = input.rules.invalid == Invalid::Reject;
    let rows_per_chunk = class_rows::rows_per_chunk(input.rules.n_classes);
    let chunks = parallel::map_chunks(n_rows, rows_per_chunk, |rows| check_rows(input, rows, reject));

    let mut report = InputReport { n_rows: n_rows as u64, ..InputReport::default() };
    let mut bad_rows = Vec::new();
    let (mut positive_weight, mut positive_seen) = (false, false);
    let faults = chunks.iter().flat_map(|chunk| &chunk.faults);
    if let Some((row, fault)) = systematic(input, faults).filter(|_| !input.is_part) {
        return Err(error_of(input, row, fault));
    }
    for chunk in chunks {
        chunk.inexact.add_to(&mut report);
        positive_weight |= chunk.positive_weight;
        positive_seen |= chunk.positive_seen;
        for (row, fault) in chunk.faults {
            if reject {
                return Err(error_of(input, row, fault));
            }
            *report.left_out.entry(fault.kind(input.rules.form)).or_default() += 1;
            bad_rows.push(row);
        }
    }

    tally.add(input, &report, positive_weight, positive_seen);
    let kept = (!bad_rows.is_empty()).then(|| all_but(n_rows, &bad_rows));
    Ok((report, kept))
}

/// Counts the rows of a batch that were rounded or left out, each in the report of its group.
pub(super) fn count_by_group(input: &Input<'_>, numbers: &[u32], reports: &mut [InputReport]) {
    for (row, number) in numbers.iter().enumerate() {
        let report = &mut reports[*number as usize];
        match check_row(input, row, false) {
            Ok(inexact) => inexact.add_to(report),
            Err(fault) => *report.left_out.entry(fault.kind(input.rules.form)).or_default() += 1,
        }
    }
}

/// The rows below `n_rows` that are not in the ascending list `bad_rows`.
fn all_but(n_rows: usize, bad_rows: &[usize]) -> Vec<usize> {
    let mut bad = bad_rows.iter().copied().peekable();
    (0..n_rows).filter(|&row| bad.next_if_eq(&row).is_none()).collect()
}

pub(super) fn check_shape(input: &Input<'_>) -> Result<(), Error> {
    let rules = &input.rules;
    Error::require(rules.n_classes > 0, "n_classes", "at least 1", 0)?;
    let in_range = (0.0..=1.0).contains(&rules.sum_tolerance);
    Error::require(in_range, "sum_tolerance", "in [0, 1]", rules.sum_tolerance)?;
    let (has_meaning, rule) = (rules.positive.is_none() || rules.n_classes <= 2, "left out for more than two classes");
    Error::require(has_meaning, "pos_label", rule, format!("{} classes", rules.n_classes))?;
    let n_rows = input.n_rows();
    let scores = match rules.form {
        Form::Probabilities => "probabilities",
        Form::Logits => "logits",
    };
    let n_scores = input.scores.len();
    if Some(n_scores) != n_rows.checked_mul(rules.n_classes) {
        if !n_scores.is_multiple_of(rules.n_classes) {
            let got = format!("{n_scores} values for {} classes", rules.n_classes);
            return Err(Error::Shape { what: scores, expected: "(n, k)", got });
        }
        let expected = n_scores / rules.n_classes;
        return Err(Error::LengthMismatch { what: "labels", got: n_rows, expected });
    }
    let beside = [
        ("weights", input.weights.map(|weights| weights.len())),
        ("marks of missing scores", input.missing_scores.map(<[bool]>::len)),
        ("marks of missing labels", input.missing_labels.map(<[bool]>::len)),
        ("marks of missing weights", input.missing_weights.map(<[bool]>::len)),
    ];
    match beside.into_iter().find(|(_, length)| length.is_some_and(|length| length != n_rows)) {
        Some((what, Some(got))) => Err(Error::LengthMismatch { what, got, expected: n_rows }),
        _ => Ok(()),
    }
}

/// Checks some rows; stops at the first fault if it is an error anyway.
fn check_rows(input: &Input<'_>, rows: Range<usize>, stop_at_first: bool) -> ChunkCheck {
    let mut found = ChunkCheck::default();
    if is_plain(input) && holds_probabilities(input, rows.clone()) && input.labels.are_outcomes(rows.clone()) {
        return found;
    }
    let scores_are_valid = holds_classes(input, rows.clone());
    for row in rows {
        match check_row(input, row, scores_are_valid) {
            Ok(inexact) => {
                found.inexact.n_rounded += inexact.n_rounded;
                found.inexact.n_sums += inexact.n_sums;
                found.positive_weight |= input.weights.is_some_and(|weights| weights.get(row) > 0.0);
                if let Some(positive) = &input.rules.positive {
                    found.positive_seen |= input.labels.is_positive(row, positive);
                }
            }
            Err(fault) => {
                found.faults.push((row, fault));
                if stop_at_first {
                    break;
                }
            }
        }
    }
    found
}

/// The columns as they are, unchecked but for their lengths, where there is nothing else to look
/// at.
pub(super) fn plain_rows<'a>(input: &Input<'a>) -> Option<PlainRows<'a>> {
    let plain = is_plain(input) && check_shape(input).is_ok();
    plain.then_some(PlainRows { probabilities: input.scores, labels: input.labels, checked: false })
}

/// Whether there is nothing to look at but a column of probabilities and one of outcomes.
fn is_plain(input: &Input<'_>) -> bool {
    let rules = &input.rules;
    let missing = [input.missing_scores, input.missing_labels, input.missing_weights];
    let only_columns = input.weights.is_none() && missing.iter().all(Option::is_none) && !input.labels.are_text();
    only_columns && rules.n_classes == 1 && rules.form == Form::Probabilities && rules.positive.is_none()
}

/// Whether all scores are in [0, 1] as they are: the quick way through, without a branch for each
/// row.
fn holds_probabilities(input: &Input<'_>, rows: Range<usize>) -> bool {
    match_floats!(input.scores, values => values[rows].iter().fold(true, |all, p| all & (0.0..=1.0).contains(p)))
}

/// Whether all rows are rows of classes with scores that are valid for certain, and whose sums need
/// not be counted: the quick way through, which leaves the labels and weights to be checked.
fn holds_classes(input: &Input<'_>, rows: Range<usize>) -> bool {
    let k = input.rules.n_classes;
    let values = rows.start * k..rows.end * k;
    k > 1
        && match_floats!(input.scores, scores => match input.rules.form {
            Form::Logits => class_rows::are_logits(&scores[values]),
            Form::Probabilities => {
                let tolerance = input.rules.sum_tolerance.min(EXACT_SUM);
                class_rows::are_distributions(&scores[values], k, tolerance + rounding_of_sum(k))
            }
        })
}

/// Checks one row, whose scores may be known to be valid and exact.
fn check_row(input: &Input<'_>, row: usize, scores_are_valid: bool) -> Result<Inexact, Fault> {
    let missing = |column: Option<&[bool]>| column.is_some_and(|column| column[row]);
    if missing(input.missing_scores) {
        return Err(Fault::MissingScore);
    }
    let inexact = if scores_are_valid { Inexact::default() } else { check_scores(input, row)? };
    // A label that is NaN is one that is missing: so tables of numbers have it.
    if missing(input.missing_labels) || input.labels.number(row).is_some_and(f64::is_nan) {
        return Err(Fault::MissingLabel);
    }
    if !label_is_valid(input, row) {
        return Err(Fault::Label);
    }
    if missing(input.missing_weights) {
        return Err(Fault::MissingWeight);
    }
    match input.weights.map(|weights| weights.get(row)) {
        Some(weight) if !(weight.is_finite() && weight >= 0.0) => Err(Fault::Weight),
        _ => Ok(inexact),
    }
}

fn check_scores(input: &Input<'_>, row: usize) -> Result<Inexact, Fault> {
    let k = input.rules.n_classes;
    let scores = (0..k).map(|class| input.scores.get(row * k + class));
    if input.rules.form == Form::Logits {
        // Differences of larger ones would overflow. Written so that NaN is found.
        return match scores.enumerate().find(|(_, logit)| !(logit.abs() <= 1e300)) {
            Some((class, _)) => Err(Fault::Score { class }),
            None => Ok(Inexact::default()),
        };
    }
    let (mut n_rounded, mut sum, rounding) = (0, 0.0, rounding(k));
    for (class, probability) in scores.enumerate() {
        // Both tests are written so that NaN fails them.
        if !(0.0..=1.0).contains(&probability) {
            if !(-rounding..=1.0 + rounding).contains(&probability) {
                return Err(Fault::Score { class });
            }
            n_rounded += 1;
        }
        sum += probability;
    }
    if k == 1 {
        return Ok(Inexact { n_rounded, n_sums: 0 });
    }
    let (off, rounding) = ((sum - 1.0).abs(), rounding_of_sum(k));
    if off > input.rules.sum_tolerance + rounding {
        return Err(Fault::RowSum { sum });
    }
    Ok(Inexact { n_rounded, n_sums: u64::from(off > EXACT_SUM + rounding) })
}

#[inline]
fn label_is_valid(input: &Input<'_>, row: usize) -> bool {
    if input.rules.positive.is_some() {
        // Any label will do that is one: NaN equals nothing, and nobody means infinity.
        return input.labels.number(row).is_none_or(f64::is_finite);
    }
    let n_labels = input.rules.n_classes.max(2) as f64;
    input.labels.number(row).is_some_and(|label| label >= 0.0 && label < n_labels && label.fract() == 0.0)
}
