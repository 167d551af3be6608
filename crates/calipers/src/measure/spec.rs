//! What a measure is: its name, what people call it, what its values mean, and its options.

use crate::data::Multiclass;

/// The description of a measure, from which tables, checks and bindings are made.
///
/// # Example
/// A measure of one's own, whose values may be above 1:
/// ```
/// use calipers::Spec;
///
/// const LARGEST_RATIO: Spec = Spec::error("largest_ratio", "largest ratio of outcome rate and mean probability")
///     .title("largest ratio")
///     .range(0.0, f64::INFINITY);
/// assert_eq!(LARGEST_RATIO.name, "largest_ratio");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Spec {
    /// The name by which it is requested, in all languages.
    pub name: &'static str,
    /// The name that people use in a sentence: `LS-ECE`. The name by which it is requested, unless
    /// set.
    pub title: &'static str,
    /// What it is, in one line; p are probabilities, y outcomes, r = y - p.
    pub definition: &'static str,
    /// Measures that are computed in a similar way.
    pub family: Family,
    /// Where it was defined; empty where that is common knowledge.
    pub reference: &'static str,
    /// What a value means.
    pub role: Role,
    /// The value of a calibrated model with unlimited data. For scores, the value of a perfect one.
    pub ideal: f64,
    /// The least and the largest value that the measure can have: intervals end there.
    pub range: (f64, f64),
    /// Whether the value of a sample is too large on average. Then the bias is removed from
    /// intervals.
    pub biased_up: bool,
    /// How long it takes.
    pub cost: Cost,
    /// What a sketch can answer.
    pub from_sketch: FromSketch,
    /// What [`Multiclass::Auto`] means for three classes or more: [`Multiclass::TopClass`], or
    /// [`Multiclass::AllClasses`] for a measure that takes a distribution over classes.
    pub several_classes: Multiclass,
    /// Its options, in the order of a signature.
    pub options: &'static [OptionSpec],
}

/// What a value means for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Miscalibration: the larger, the worse.
    Error,
    /// Calibration and sharpness together: the larger, the worse, but a calibrated model does not
    /// have 0.
    Score,
    /// A ratio or a coefficient, which can be off its ideal value on either side.
    Coefficient,
}

/// Measures that are computed in a similar way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// By noise on the logits.
    LogitSmoothing,
    /// By bins.
    Binned,
    /// By kernels on the probabilities.
    Kernel,
    /// By cumulated residuals.
    Cumulative,
    /// By the distance to calibrated predictions.
    Distance,
    /// Proper scores and their parts.
    Score,
    /// By regression of outcomes on predictions, as in clinical studies.
    Regression,
    /// Of a third party.
    Other,
}

/// How long a measure takes, as far as resampling is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cost {
    /// Resamples are drawn from a summary, at a cost that does not grow with the number of rows.
    AnyNumberOfRows,
    /// Hundreds of resamples take a second or two: few rows are drawn one by one, and many are
    /// counted in cells.
    Quick,
    /// Slower than that.
    Slow,
}

/// What a sketch can answer about a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FromSketch {
    /// Nothing: the measure needs the rows.
    Nothing,
    /// A value that may differ from that of the rows: by its bound, or by the clip of the sketch.
    Approximation,
    /// The value, as well as the rows or nearly.
    Value,
    /// The value, its noise floor and its interval.
    Assessment,
}

/// An option of a measure.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct OptionSpec {
    /// The name, in all languages.
    pub name: &'static str,
    /// What values it takes.
    pub kind: OptionKind,
    /// The value unless set.
    pub default: OptionDefault,
    /// What it does, in one line.
    pub help: &'static str,
}

/// What values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionKind {
    /// A real number.
    Number,
    /// A real number, or the text `auto`.
    NumberOrAuto,
    /// An integer that is not negative.
    Count,
    /// An integer that is not negative, or the text `auto`.
    CountOrAuto,
    /// One of these texts.
    Choice(&'static [&'static str]),
}

/// The value of an option that was not set.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum OptionDefault {
    /// None: the measure then does without.
    None,
    /// Chosen automatically.
    Auto,
    /// A real number.
    Number(f64),
    /// An integer.
    Count(u64),
    /// A text.
    Text(&'static str),
}

/// Builder methods that can be used in constants.
macro_rules! spec_fields {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        $($(#[$doc])*
        pub const fn $name(mut self, $name: $type) -> Self {
            self.$name = $name;
            self
        })*
    };
}

impl Spec {
    /// A calibration error from 0 on: biased up, slow, and without options, unless set.
    pub const fn error(name: &'static str, definition: &'static str) -> Self {
        Spec {
            name,
            title: name,
            definition,
            family: Family::Other,
            reference: "",
            role: Role::Error,
            ideal: 0.0,
            range: (0.0, f64::INFINITY),
            biased_up: true,
            cost: Cost::Slow,
            from_sketch: FromSketch::Nothing,
            several_classes: Multiclass::TopClass,
            options: &[],
        }
    }

    /// A score from 0 on: calibration and sharpness together, right on average.
    pub const fn score(name: &'static str, definition: &'static str) -> Self {
        Spec { role: Role::Score, biased_up: false, ..Self::error(name, definition) }
    }

    /// A ratio or a coefficient, whose value for a calibrated model is `ideal`.
    pub const fn coefficient(name: &'static str, definition: &'static str, ideal: f64) -> Self {
        Spec { role: Role::Coefficient, ideal, biased_up: false, ..Self::error(name, definition) }
    }

    spec_fields! {
        /// The name that people use for it.
        title: &'static str;
        /// Measures like it.
        family: Family;
        /// Where it was defined.
        reference: &'static str;
        /// How long it takes.
        cost: Cost;
        /// What a sketch can answer.
        from_sketch: FromSketch;
        /// What it takes of three classes or more unless something else is requested.
        several_classes: Multiclass;
        /// Its options.
        options: &'static [OptionSpec];
    }

    /// The values that it can have.
    pub const fn range(mut self, least: f64, largest: f64) -> Self {
        self.range = (least, largest);
        self
    }

    /// Right on average, so that there is no bias to remove.
    pub const fn unbiased(mut self) -> Self {
        self.biased_up = false;
        self
    }

    /// What it measures of rows with so many classes, where this was requested.
    pub fn multiclass(&self, requested: Multiclass, n_classes: usize) -> Multiclass {
        match (requested, n_classes) {
            (Multiclass::Auto, 3..) => self.several_classes,
            _ => requested.resolved(n_classes),
        }
    }

    /// Whether a larger value is worse.
    pub const fn larger_is_worse(&self) -> bool {
        !matches!(self.role, Role::Coefficient)
    }

    /// Whether miscalibration is only a part of it.
    pub const fn is_score(&self) -> bool {
        matches!(self.role, Role::Score)
    }

    /// The option of that name.
    pub fn option(&self, name: &str) -> Option<&'static OptionSpec> {
        self.options.iter().find(|option| option.name == name)
    }
}

impl OptionSpec {
    /// A real number.
    pub const fn number(name: &'static str, default: f64, help: &'static str) -> Self {
        OptionSpec { name, kind: OptionKind::Number, default: OptionDefault::Number(default), help }
    }

    /// A real number that is chosen automatically unless set.
    pub const fn number_or_auto(name: &'static str, help: &'static str) -> Self {
        OptionSpec { name, kind: OptionKind::NumberOrAuto, default: OptionDefault::Auto, help }
    }

    /// An integer.
    pub const fn count(name: &'static str, default: u64, help: &'static str) -> Self {
        OptionSpec { name, kind: OptionKind::Count, default: OptionDefault::Count(default), help }
    }

    /// An integer, or the text `auto`.
    pub const fn count_or_auto(name: &'static str, default: u64, help: &'static str) -> Self {
        OptionSpec { name, kind: OptionKind::CountOrAuto, default: OptionDefault::Count(default), help }
    }

    /// An integer that need not be there.
    pub const fn optional_count(name: &'static str, help: &'static str) -> Self {
        OptionSpec { name, kind: OptionKind::Count, default: OptionDefault::None, help }
    }

    /// One of these texts, the first unless set.
    pub const fn choice(name: &'static str, choices: &'static [&'static str], help: &'static str) -> Self {
        OptionSpec { name, kind: OptionKind::Choice(choices), default: OptionDefault::Text(choices[0]), help }
    }

    /// One of these texts, or none.
    pub const fn optional_choice(name: &'static str, choices: &'static [&'static str], help: &'static str) -> Self {
        OptionSpec { name, kind: OptionKind::Choice(choices), default: OptionDefault::None, help }
    }
}
