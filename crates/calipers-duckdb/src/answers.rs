//! Scalar functions of a sketch: its rows, a measure, and an assessment.

use calipers::{Assessment, BinnedEce, Measure as _, NBins, Settings, Sketch, Spec, registry};

use crate::engine::{Column, LogicalType, Output, Scalar, Target, Type};
use crate::{failure, options};

/// `calipers_n(sketch)`: the number of rows.
pub(crate) struct N;

/// `calipers_ls_ece(sketch [, sigma])`.
pub(crate) struct LsEce;

/// `calipers_ece(sketch [, n_bins])`.
pub(crate) struct Ece;

/// `calipers_measure(sketch, name [, options])`.
pub(crate) struct Measure;

/// `calipers_assess(sketch [, name [, options]])`.
pub(crate) struct Assess;

impl Scalar for N {
    const NAME: &'static str = "calipers_n";
    type Value = i64;

    fn evaluate(arguments: &[Column<'_>], row: usize) -> Result<i64, String> {
        // A sketch has at most 2^38 rows.
        Ok(sketch(arguments, row)?.n() as i64)
    }
}

impl Scalar for LsEce {
    const NAME: &'static str = "calipers_ls_ece";
    type Value = f64;

    fn evaluate(arguments: &[Column<'_>], row: usize) -> Result<f64, String> {
        let sketch = sketch(arguments, row)?;
        let measure = calipers::LsEce::new().clip(sketch.options().clip_value());
        let measure = match arguments.get(1).and_then(|sigma| sigma.double(row)) {
            None => measure,
            Some(sigma) => measure.sigma(sigma),
        };
        sketch.estimate(&measure).map(|estimate| estimate.value).map_err(failure::text)
    }
}

impl Scalar for Ece {
    const NAME: &'static str = "calipers_ece";
    type Value = f64;

    fn evaluate(arguments: &[Column<'_>], row: usize) -> Result<f64, String> {
        let mut measure = BinnedEce::new();
        if let Some(n_bins) = arguments.get(1).and_then(|n_bins| n_bins.integer(row)) {
            // As text, so that the core's own rule rejects -1.
            measure = measure.n_bins(n_bins.to_string().parse::<NBins>().map_err(failure::text)?);
        }
        let estimate = sketch(arguments, row)?.estimate(&measure);
        estimate.map(|estimate| estimate.value).map_err(failure::text)
    }
}

impl Scalar for Measure {
    const NAME: &'static str = "calipers_measure";
    type Value = f64;

    fn evaluate(arguments: &[Column<'_>], row: usize) -> Result<f64, String> {
        let (sketch, spec) = (sketch(arguments, row)?, spec(arguments, row)?);
        let (settings, others) = options::settings(spec, text(arguments, 2, row).unwrap_or_default())?;
        if let Some((name, _)) = others.first() {
            return Err(unknown(spec, &[], name));
        }
        let measure = registry::make(spec.name, &with_clip(spec, settings, &sketch)).map_err(failure::text)?;
        sketch.estimate(&*measure).map(|estimate| estimate.value).map_err(failure::text)
    }
}

impl Scalar for Assess {
    const NAME: &'static str = "calipers_assess";
    type Value = Assessment;

    fn evaluate(arguments: &[Column<'_>], row: usize) -> Result<Assessment, String> {
        let (sketch, spec) = (sketch(arguments, row)?, spec(arguments, row)?);
        let (settings, others) = options::settings(spec, text(arguments, 2, row).unwrap_or_default())?;
        let measure = registry::make(spec.name, &with_clip(spec, settings, &sketch)).map_err(failure::text)?;
        let mut assess = calipers::Assess::new(&*measure);
        for (name, given) in others {
            let count = |given| options::value(name, given, "an integer from 0 to 2^64 - 1");
            assess = match name {
                "level" => assess.level(options::value(name, given, "a number")?),
                "n_resamples" => assess.n_resamples(count(given)?),
                "random_state" => assess.random_state(count(given)?),
                _ => return Err(unknown(spec, &["level", "n_resamples", "random_state"], name)),
            };
        }
        assess.run(&sketch).map_err(failure::text)
    }
}

fn sketch(arguments: &[Column<'_>], row: usize) -> Result<Sketch, String> {
    let bytes = arguments.first().and_then(|sketches| sketches.bytes(row)).unwrap_or_default();
    Sketch::from_bytes(bytes).map_err(failure::text)
}

fn text<'a>(arguments: &[Column<'a>], place: usize, row: usize) -> Option<&'a str> {
    arguments.get(place).and_then(|texts| texts.text(row))
}

/// The measure that the second argument names, or LS-ECE.
fn spec(arguments: &[Column<'_>], row: usize) -> Result<&'static Spec, String> {
    match text(arguments, 1, row) {
        Some(name) => registry::spec(name).map_err(failure::text),
        None => Ok(calipers::LsEce::new().spec()),
    }
}

/// The clip is that of the sketch, whose rows were clipped when they came in.
fn with_clip(spec: &'static Spec, settings: Settings, sketch: &Sketch) -> Settings {
    match spec.option("clip") {
        Some(clip) if settings.get(clip.name).is_none() => settings.with(clip.name, sketch.options().clip_value()),
        _ => settings,
    }
}

fn unknown(spec: &Spec, others: &[&str], name: &str) -> String {
    let names: Vec<&str> = spec.options.iter().map(|option| option.name).chain(others.iter().copied()).collect();
    format!("option must be one of {}, got {name:?}", names.join(", "))
}

impl Output for i64 {
    fn logical_type() -> LogicalType {
        Type::BigInt.into()
    }

    fn write(&self, target: Target, row: usize) {
        target.integer(row, *self);
    }
}

impl Output for f64 {
    fn logical_type() -> LogicalType {
        Type::Double.into()
    }

    fn write(&self, target: Target, row: usize) {
        target.double(row, *self);
    }
}

/// The fields of an assessment in SQL.
const FIELDS: [(&str, Type); 9] = [
    ("value", Type::Double),
    ("numerical_bound", Type::Double),
    ("floor", Type::Double),
    ("floor_std", Type::Double),
    ("lower", Type::Double),
    ("upper", Type::Double),
    ("p_value", Type::Double),
    ("significant", Type::Boolean),
    ("sentence", Type::Varchar),
];

impl Output for Assessment {
    fn logical_type() -> LogicalType {
        LogicalType::of_fields(&FIELDS)
    }

    fn write(&self, target: Target, row: usize) {
        let floor = self.floor.as_ref();
        let numbers = [
            Some(self.estimate.value),
            Some(self.estimate.numerical_bound),
            floor.map(|floor| floor.mean),
            floor.map(|floor| floor.deviation),
            Some(self.interval.lower),
            Some(self.interval.upper),
            floor.map(|floor| floor.p_value),
        ];
        for (place, number) in numbers.into_iter().enumerate() {
            match number {
                Some(number) => target.field(place).double(row, number),
                None => target.field(place).null(row),
            }
        }
        match self.significant {
            Some(significant) => target.field(7).boolean(row, significant),
            None => target.field(7).null(row),
        }
        target.field(8).bytes(row, self.sentence().as_bytes());
    }

    fn write_null(target: Target, row: usize) {
        target.null(row);
        (0..FIELDS.len()).for_each(|place| target.field(place).null(row));
    }
}
