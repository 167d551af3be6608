//! What validation has counted so far, batch after batch, and what is known only at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::Input;
use super::columns::PositiveLabel;
use crate::Error;

/// Counts from input validation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct InputReport {
    /// Rows read, those left out included.
    pub n_rows: u64,
    /// Rows left out by `invalid = "count"`, by kind.
    pub left_out: BTreeMap<&'static str, u64>,
    /// Probabilities outside [0, 1] by no more than rounding, which were taken as 0 or 1: by at
    /// most 1e-5, and 2^-24 for each class.
    pub n_rounded: u64,
    /// Rows whose class probabilities sum to 1 within the tolerance, but not within 0.001. They are
    /// used as given.
    pub n_inexact_sums: u64,
    /// Rows in which several classes tie for the top; only top-class views count them.
    pub n_ties: u64,
}

impl InputReport {
    /// Rows left out, of all kinds.
    pub fn n_left_out(&self) -> u64 {
        self.left_out.values().sum()
    }

    /// Adds the counts of a further batch.
    pub fn absorb(&mut self, other: &InputReport) {
        self.n_rows += other.n_rows;
        self.n_rounded += other.n_rounded;
        self.n_inexact_sums += other.n_inexact_sums;
        self.n_ties += other.n_ties;
        for (kind, count) in &other.left_out {
            *self.left_out.entry(kind).or_default() += count;
        }
    }
}

/// The state of a stream after some of its batches, which is checked at its end.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    report: InputReport,
    weighted: bool,
    positive_weight: bool,
    positive: Option<PositiveLabel>,
    positive_seen: bool,
    /// The first few distinct labels and the rows where they stand, for the message that the
    /// positive one is absent.
    labels_seen: Vec<(u64, String)>,
}

/// How many labels that message has.
pub(super) const LABELS_SEEN: usize = 5;

impl Tally {
    /// Counts over all batches so far.
    pub fn report(&self) -> &InputReport {
        &self.report
    }

    /// The tally of the stream that the rows of a sketch came from.
    pub(crate) fn of_sketch(report: &InputReport, weighted: bool, positive_weight: bool, positive_seen: bool) -> Self {
        Tally { report: report.clone(), weighted, positive_weight, positive_seen, ..Tally::default() }
    }

    /// Adds a batch with its report: whether a row that stays has a weight above 0, and whether one
    /// has the positive label.
    pub(super) fn add(&mut self, input: &Input<'_>, report: &InputReport, weight_seen: bool, positive_seen: bool) {
        self.weighted |= input.weights.is_some();
        // Beside rows with weights, those without count 1.
        self.positive_weight |= weight_seen || (input.weights.is_none() && report.n_rows > report.n_left_out());
        self.positive_seen |= positive_seen;
        if let Some(positive) = &input.rules.positive {
            self.positive = Some(positive.clone());
            if !self.positive_seen {
                note_labels(input, &mut self.labels_seen);
            }
        }
        self.report.absorb(report);
    }

    /// Adds what is known of other batches of the same stream, wherever in it they stand.
    pub fn absorb(&mut self, other: &Tally) {
        self.report.absorb(&other.report);
        self.weighted |= other.weighted;
        self.positive_weight |= other.positive_weight;
        self.positive_seen |= other.positive_seen;
        self.positive = self.positive.take().or_else(|| other.positive.clone());
        // Of each label its first row, and of these the first few: the same whoever has read what.
        self.labels_seen.extend(other.labels_seen.iter().cloned());
        self.labels_seen.sort();
        let mut seen = BTreeSet::new();
        self.labels_seen.retain(|(_, label)| seen.insert(label.clone()));
        self.labels_seen.truncate(LABELS_SEEN);
    }

    /// Checks what is known only at the end: that there are rows, weight and the positive label.
    pub fn finish(&self) -> Result<(), Error> {
        let n_left_out = self.report.n_left_out();
        if self.report.n_rows == 0 {
            return Err(Error::NoRows);
        }
        if n_left_out == self.report.n_rows {
            let kinds: Vec<String> =
                self.report.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            return Err(Error::NoValidRows { n_rows: n_left_out, kinds: kinds.join(", ") });
        }
        if self.weighted && !self.positive_weight {
            return Err(Error::ZeroWeights { n_rows: self.report.n_rows - n_left_out });
        }
        match &self.positive {
            Some(positive) if !self.positive_seen => Err(Error::PositiveLabelAbsent {
                positive: positive.as_str().to_owned(),
                found: self.labels_seen.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", "),
            }),
            _ => Ok(()),
        }
    }
}

/// Remembers the first few distinct labels of a batch.
pub(super) fn note_labels(input: &Input<'_>, seen: &mut Vec<(u64, String)>) {
    let is_missing = |row: &usize| input.missing_labels.is_some_and(|missing| missing[*row]);
    // The first row of each label of this batch: a label that comes again need not be written
    // again, which takes long where it is long.
    let mut firsts: Vec<usize> = Vec::new();
    for row in (0..input.n_rows()).filter(|row| !is_missing(row)) {
        if seen.len() >= LABELS_SEEN {
            break;
        }
        if firsts.iter().any(|first| input.labels.are_same(*first, row)) {
            continue;
        }
        // NaN is not the same as NaN.
        if firsts.len() < LABELS_SEEN {
            firsts.push(row);
        }
        let label = input.labels.display(row);
        if !seen.iter().any(|(_, earlier)| *earlier == label) {
            seen.push((input.first_row + row as u64, label));
        }
    }
}
