//! The one error type of calipers.

/// Invalid input, an invalid option, or a tolerance that cannot be met. The text states the rule,
/// the value and the place; rows are counted from 0.
///
/// The cases under test are one table, `fixtures/refusals.json`, which runs through Rust, the
/// command line and Python; [`Error::CODES`] is what the table is checked against.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to measure.
    #[error("no rows: at least one prediction is needed")]
    NoRows,

    /// Every row was invalid and `invalid = "count"` left it out.
    #[error("no rows left: all {n_rows} were left out as invalid ({kinds})")]
    NoValidRows {
        /// Rows that were read.
        n_rows: u64,
        /// How many of each kind, as `2 missing label, 3 invalid probability`.
        kinds: String,
    },

    /// Two columns that belong together differ in length.
    #[error("{what} must have one value for each row, got {got} values for {expected} rows")]
    LengthMismatch {
        /// The column that does not fit.
        what: &'static str,
        /// Its length.
        got: usize,
        /// The number of rows.
        expected: usize,
    },

    /// An array that is neither a column nor rows of classes.
    #[error("{what} must have shape {expected}, got {got}")]
    Shape {
        /// The argument.
        what: &'static str,
        /// The shapes that are taken.
        expected: &'static str,
        /// The shape that came.
        got: String,
    },

    /// A column of a type that calipers cannot read as what it should be.
    #[error("{what} must be {expected}, got {got}")]
    WrongType {
        /// The column.
        what: String,
        /// The types that are taken.
        expected: &'static str,
        /// The type that came.
        got: String,
    },

    /// A null, or an empty cell.
    #[error("{what} in row {row} is missing")]
    Missing {
        /// The column.
        what: &'static str,
        /// Row, from 0.
        row: u64,
    },

    /// A probability that is none: NaN, infinite, or outside [0, 1] by more than rounding.
    #[error("probability{} in row {row} must be in [0, 1], got {}", of_class(.class), number(*.value))]
    InvalidProbability {
        /// Row, from 0.
        row: u64,
        /// Class, from 0, for n x k input.
        class: Option<usize>,
        /// The value.
        value: f64,
    },

    /// Probabilities that were written as percentages.
    #[error(
        "probability{} in row {row} must be in [0, 1], got {}; the largest value is {}: if these are percentages, divide them by 100",
        of_class(.class), number(*.value), number(*.max)
    )]
    Percentages {
        /// Row, from 0.
        row: u64,
        /// Class, from 0, for n x k input.
        class: Option<usize>,
        /// The value.
        value: f64,
        /// The largest value of the batch.
        max: f64,
    },

    /// Logits that were given as probabilities.
    #[error(
        "probability{} in row {row} must be in [0, 1], got {}; the values are from {} to {}, which looks like logits",
        of_class(.class), number(*.value), number(*.min), number(*.max)
    )]
    LooksLikeLogits {
        /// Row, from 0.
        row: u64,
        /// Class, from 0, for n x k input.
        class: Option<usize>,
        /// The value.
        value: f64,
        /// The smallest value of the batch.
        min: f64,
        /// The largest value of the batch.
        max: f64,
    },

    /// A raw score that is NaN or infinite.
    #[error("logit{} in row {row} must be finite and at most 1e300 in size, got {}", of_class(.class), number(*.value))]
    InvalidLogit {
        /// Row, from 0.
        row: u64,
        /// Class, from 0, for n x k input.
        class: Option<usize>,
        /// The value.
        value: f64,
    },

    /// A row of class probabilities that is no distribution.
    #[error("probabilities in row {row} must sum to 1 within {tolerance}, got {sum:.6}")]
    RowSum {
        /// Row, from 0.
        row: u64,
        /// What the row sums to.
        sum: f64,
        /// The tolerance in force.
        tolerance: f64,
    },

    /// An outcome that is neither 0 nor 1.
    #[error("label in row {row} must be 0 or 1, got {value}; the labels are {labels}")]
    InvalidOutcome {
        /// Row, from 0.
        row: u64,
        /// The label.
        value: String,
        /// The first few distinct labels of the batch, as `"yes", "no"`.
        labels: String,
    },

    /// A label that is not a class index.
    #[error("label in row {row} must be a class from 0 to {last}, got {value}")]
    InvalidLabel {
        /// Row, from 0.
        row: u64,
        /// The label.
        value: String,
        /// The last class.
        last: usize,
    },

    /// A label that is none of the classes with names.
    #[error("label in row {row} must be {rule}, got {value}")]
    UnknownLabel {
        /// Row, from 0.
        row: u64,
        /// What labels are, such as `"cat", "dog" or "fox"`.
        rule: String,
        /// The label.
        value: String,
    },

    /// Class labels that count from 1.
    #[error(
        "label in row {row} must be a class from 0 to {last}, got {value}; the labels count from 1: subtract 1 from each"
    )]
    LabelsFromOne {
        /// Row, from 0.
        row: u64,
        /// The label.
        value: String,
        /// The last class.
        last: usize,
    },

    /// The positive label was named, but no row has it.
    #[error("positive label {positive:?} must occur in at least one row, got only {found}")]
    PositiveLabelAbsent {
        /// The label that was named.
        positive: String,
        /// Some of the labels that are there.
        found: String,
    },

    /// Labels given as probabilities, and probabilities as labels.
    #[error(
        "labels and probabilities look swapped: the labels are fractions and the probabilities are whole numbers; exchange them"
    )]
    Swapped,

    /// A weight that is NaN, infinite or negative.
    #[error("weight in row {row} must be finite and not negative, got {}", number(*.value))]
    InvalidWeight {
        /// Row, from 0.
        row: u64,
        /// The weight.
        value: f64,
    },

    /// Weights that sum to nothing.
    #[error("weights must not all be zero, got {n_rows} rows of weight 0")]
    ZeroWeights {
        /// Rows with that weight.
        n_rows: u64,
    },

    /// An option outside its range.
    #[error("{name} must be {rule}, got {value}")]
    InvalidSetting {
        /// The option.
        name: &'static str,
        /// Its range in words.
        rule: String,
        /// What was given.
        value: String,
    },

    /// Sketches that cannot be merged, or rows that do not belong to a sketch.
    #[error("sketches must have the same {what} to be merged, got {ours} and {theirs}")]
    UnlikeSketches {
        /// What differs.
        what: &'static str,
        /// That of the sketch.
        ours: String,
        /// That of what was to be added.
        theirs: String,
    },

    /// A sketch to subtract that is not part of the other.
    #[error("a sketch that is subtracted must be part of the other: {what} in it are not in the other")]
    NotContained {
        /// What the other lacks.
        what: &'static str,
    },

    /// Bytes that are no sketch, or one that was damaged.
    #[error("bytes must be a calipers sketch: {reason}")]
    InvalidSketch {
        /// What is wrong, and where.
        reason: String,
    },

    /// Text that is no recalibration map, or a map that was damaged.
    #[error("text must be a calipers map: {reason}")]
    InvalidMap {
        /// What is wrong, where, and what to do.
        reason: String,
    },

    /// Text that is no state of a monitor, or one that was damaged.
    #[error("text must be the state of a calipers monitor: {reason}")]
    InvalidMonitor {
        /// What is wrong, where, and what to do.
        reason: String,
    },

    /// The tolerance is finer than can be proven for this noise, sigma and data.
    #[error("tolerance {tolerance:e} cannot be met: {reason}{}", what_can_be_met(*.attainable))]
    ToleranceNotMet {
        /// What was asked.
        tolerance: f64,
        /// A tolerance that can be met; infinite if none is known.
        attainable: f64,
        /// Which part of the computation stands in the way.
        reason: &'static str,
    },
}

fn of_class(class: &Option<usize>) -> String {
    class.map(|class| format!(" of class {class}")).unwrap_or_default()
}

fn what_can_be_met(tolerance: f64) -> String {
    if tolerance < 1.0 { format!("; a tolerance of {tolerance:.1e} can be met here") } else { String::new() }
}

/// Plain where a person would write it plainly, else with an exponent.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() || (1e-6..1e16).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// [`Error::CODES`] and [`Error::code`], from one list.
macro_rules! codes {
    ($($variant:ident: $code:literal),* $(,)?) => {
        impl Error {
            /// The codes of all variants, so that tests can check that they cover every one.
            pub const CODES: &'static [&'static str] = &[$($code),*];

            /// A name for the kind of error that does not change with its text.
            pub fn code(&self) -> &'static str {
                match self {
                    $(Error::$variant { .. } => $code),*
                }
            }
        }
    };
}

codes! {
    NoRows: "no_rows",
    NoValidRows: "no_valid_rows",
    LengthMismatch: "length_mismatch",
    Shape: "shape",
    WrongType: "wrong_type",
    Missing: "missing",
    InvalidProbability: "invalid_probability",
    Percentages: "percentages",
    LooksLikeLogits: "looks_like_logits",
    InvalidLogit: "invalid_logit",
    RowSum: "row_sum",
    InvalidOutcome: "invalid_outcome",
    InvalidLabel: "invalid_label",
    UnknownLabel: "unknown_label",
    LabelsFromOne: "labels_from_one",
    PositiveLabelAbsent: "positive_label_absent",
    Swapped: "swapped",
    InvalidWeight: "invalid_weight",
    ZeroWeights: "zero_weights",
    InvalidSetting: "invalid_setting",
    UnlikeSketches: "unlike_sketches",
    NotContained: "not_contained",
    InvalidSketch: "invalid_sketch",
    InvalidMap: "invalid_map",
    InvalidMonitor: "invalid_monitor",
    ToleranceNotMet: "tolerance_not_met",
}

impl Error {
    /// The row that the error is about, from 0, for an error of one row.
    pub fn row(&self) -> Option<u64> {
        match self {
            Error::Missing { row, .. }
            | Error::InvalidProbability { row, .. }
            | Error::Percentages { row, .. }
            | Error::LooksLikeLogits { row, .. }
            | Error::InvalidLogit { row, .. }
            | Error::RowSum { row, .. }
            | Error::InvalidOutcome { row, .. }
            | Error::InvalidLabel { row, .. }
            | Error::LabelsFromOne { row, .. }
            | Error::InvalidWeight { row, .. } => Some(*row),
            _ => None,
        }
    }

    /// The text with another name for the [`row`](Self::row): `line 18` of a text file, say.
    pub fn text_at(&self, place: &str) -> String {
        let text = self.to_string();
        // Before the row stand only fixed words and a class.
        self.row()
            .map_or_else(|| text.clone(), |row| text.replacen(&format!("in row {row}"), &format!("in {place}"), 1))
    }

    pub(crate) fn setting(name: &'static str, rule: impl Into<String>, value: impl ToString) -> Self {
        Error::InvalidSetting { name, rule: rule.into(), value: value.to_string() }
    }

    /// An error unless `valid`. Conditions on numbers are written so that NaN fails them.
    pub(crate) fn require(
        valid: bool,
        name: &'static str,
        rule: impl Into<String>,
        value: impl ToString,
    ) -> Result<(), Self> {
        if valid { Ok(()) } else { Err(Self::setting(name, rule, value)) }
    }

    pub(crate) fn invalid_sketch(reason: impl Into<String>) -> Self {
        Error::InvalidSketch { reason: reason.into() }
    }
}
