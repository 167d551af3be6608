//! Maps of a binary outcome as SQL expressions.
//!
//! Numbers have an exponent, so that every dialect reads them as doubles and not as decimals. No
//! part overflows: exponentials are of numbers that are not positive, since
//! ```text
//! σ(u) = e^min(u, 0) / (1 + e^-|u|)        min(u, 0) = (u - |u|) / 2
//! ```

use super::binary::map::BinaryMap;
use super::binary::spline::Spline;
use super::binary::table::{Between, Table};
use super::binary::venn_abers::VennAbers;
use super::groups::GroupMaps;
use super::method::Method;
use crate::Error;
use crate::names::names;

/// How a dialect quotes the names of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Dialect {
    /// `"column"`: DuckDB, PostgreSQL, SQLite, Snowflake, Trino.
    #[default]
    Ansi,
    /// `` `column` ``: Spark, Databricks, BigQuery, MySQL.
    Spark,
}

names! { Dialect, "dialect"; Ansi = "ansi", Spark = "spark" }

/// What a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SqlInput {
    /// Probabilities, which the expression clips.
    #[default]
    Probability,
    /// Logits, which are taken as they are.
    Logit,
}

names! { SqlInput, "input"; Probability = "probability", Logit = "logit" }

/// Inputs so far below a step are taken to be on it: a logarithm may be off by its last digit.
const ON_STEP: f64 = 1e-12;

impl BinaryMap {
    /// An SQL expression for the recalibrated probability of a column; null where the column is
    /// null. Formulas are one line, splines and tables a `CASE` with a line for each knot, and
    /// Venn-Abers maps have two lines for each, at the knot and above it.
    ///
    /// Its values differ from those of [`apply`](Self::apply) by at most 1e-12. Where a map jumps,
    /// a logit within 1e-12 of the knot is taken to be on it.
    pub fn to_sql(&self, column: &str, input: SqlInput, dialect: Dialect) -> Result<String, Error> {
        let column = dialect.quoted(column);
        // p and 1 - p for probabilities, and the logit of the column.
        let (least, most) = (number(self.clip), number(1.0 - self.clip));
        let p =
            format!("CASE WHEN {column} < {least} THEN {least} WHEN {column} > {most} THEN {most} ELSE {column} END");
        let p = format!("({p})");
        let q = format!("(1e0 - {p})");
        let h = match input {
            SqlInput::Probability => format!("(ln({p}) - ln({q}))"),
            SqlInput::Logit => column,
        };
        let parameter = |place: usize| number(self.parameters.get(place).copied().unwrap_or(0.0));
        let value = match (self.method, &self.table) {
            (_, Some(table)) => table_sql(table, &h),
            (Method::Identity, _) => sigma(&h),
            (Method::Shift, _) => sigma(&format!("({h} + {})", parameter(0))),
            (Method::Temperature, _) => sigma(&format!("({} * {h})", parameter(0))),
            (Method::Platt, _) => sigma(&format!("({} * {h} + {})", parameter(0), parameter(1))),
            (Method::Beta, _) => {
                let [low, high] = match input {
                    SqlInput::Probability => [format!("ln({p})"), format!("-ln({q})")],
                    SqlInput::Logit => {
                        let tail = format!("ln(1e0 + exp(-abs({h})))");
                        let half = |sign: &str| format!("(5e-1 * ({h} {sign} abs({h})) {sign} {tail})");
                        [half("-"), half("+")]
                    }
                };
                sigma(&format!("({} * {low} + {} * ({high}) + {})", parameter(0), parameter(1), parameter(2)))
            }
            _ => match (&self.spline, &self.venn_abers) {
                (Some(spline), _) => spline_sql(spline, &h),
                (None, Some(venn_abers)) => venn_abers_sql(venn_abers, &h),
                (None, None) => {
                    let rule = "a map of a binary outcome, since SQL has no expression for others";
                    return Err(Error::setting("method", rule, format!("{:?}", self.method.name())));
                }
            },
        };
        if self.mixture == 0.0 {
            return Ok(value);
        }
        Ok(format!("({} * {value} + {})", number(1.0 - self.mixture), number(0.5 * self.mixture)))
    }
}

impl Dialect {
    fn quoted(self, column: &str) -> String {
        match self {
            Dialect::Ansi => format!("\"{}\"", column.replace('"', "\"\"")),
            Dialect::Spark => format!("`{}`", column.replace('`', "``")),
        }
    }

    fn text(self, value: &str) -> String {
        match self {
            Dialect::Ansi => format!("'{}'", value.replace('\'', "''")),
            Dialect::Spark => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'")),
        }
    }

    fn text_type(self) -> &'static str {
        match self {
            Dialect::Ansi => "VARCHAR",
            Dialect::Spark => "STRING",
        }
    }
}

impl GroupMaps {
    /// An SQL expression for the recalibrated probability of a column: a `CASE` with a line for
    /// each group, whose names are values of the column that the maps are [by](Self::by). A group
    /// that is not listed gets the pooled map.
    pub fn to_sql(&self, column: &str, input: SqlInput, dialect: Dialect) -> Result<String, Error> {
        let Some(by) = &self.by else {
            return Err(Error::setting("maps", "with the name of the column of groups for SQL", "none"));
        };
        // Rows without a value are a group, too, whose name is empty.
        let by = format!("COALESCE(CAST({} AS {}), '')", dialect.quoted(by), dialect.text_type());
        let arm = |(name, map): (&String, &BinaryMap)| {
            Ok(format!("WHEN {} THEN {}", dialect.text(name), map.to_sql(column, input, dialect)?))
        };
        let arms: Vec<String> = self.names.iter().zip(&self.maps).map(arm).collect::<Result<_, Error>>()?;
        let other = self.pooled.to_sql(column, input, dialect)?;
        Ok(format!("(CASE {by}\n  {}\n  ELSE {other} END)", arms.join("\n  ")))
    }
}

/// A polynomial of the distance from the knot below in each piece, and lines beyond the ends.
fn spline_sql(spline: &Spline, h: &str) -> String {
    let Spline { knots, value, curvature, .. } = spline;
    let last = knots.len() - 1;
    let line = |knot: usize, slope: f64| {
        sigma(&format!("({} + {} * ({h} - {}))", number(value[knot]), number(slope), number(knots[knot])))
    };
    let mut arms = vec![format!("WHEN {h} <= {} THEN {}", number(knots[0]), line(0, spline.slope_at_knot(0)))];
    arms.extend((0..last).map(|i| {
        let third = (curvature[i + 1] - curvature[i]) / (knots[i + 1] - knots[i]) / 6.0;
        let [first, second, third] = [spline.slope_at_knot(i), 0.5 * curvature[i], third].map(number);
        let x = format!("({h} - {})", number(knots[i]));
        let u = format!("({} + {x} * ({first} + {x} * ({second} + {x} * {third})))", number(value[i]));
        format!("WHEN {h} < {} THEN {}", number(knots[i + 1]), sigma(&u))
    }));
    // Without this, what is null would be taken for the last piece.
    let last = line(last, spline.slope_at_knot(last));
    format!("(CASE WHEN {h} IS NULL THEN NULL\n  {}\n  ELSE {last} END)", arms.join("\n  "))
}

/// The value below a knot and the one on it, for each knot.
fn venn_abers_sql(map: &VennAbers, h: &str) -> String {
    let below = |place: usize| match place {
        0 => map.at(f64::NEG_INFINITY).value,
        _ => map.at(0.5 * (map.at[place - 1] + map.at[place])).value,
    };
    let arms = map.at.iter().enumerate().map(|(place, at)| {
        let slack = ON_STEP * (1.0 + at.abs());
        let (from, to) = (number(at - slack), number(at + slack));
        let (before, on) = (number(below(place)), number(map.at(*at).value));
        format!("WHEN {h} < {from} THEN {before} WHEN {h} <= {to} THEN {on}")
    });
    let arms: Vec<String> = arms.collect();
    let last = number(map.at(f64::INFINITY).value);
    format!("(CASE WHEN {h} IS NULL THEN NULL\n  {}\n  ELSE {last} END)", arms.join("\n  "))
}

/// With an exponent, in the shortest form that reads back the same; in parentheses if negative.
fn number(value: f64) -> String {
    if value < 0.0 { format!("({value:e})") } else { format!("{value:e}") }
}

fn sigma(u: &str) -> String {
    format!("(exp(5e-1 * ({u} - abs({u}))) / (1e0 + exp(-abs({u}))))")
}

fn table_sql(table: &Table, h: &str) -> String {
    let Table { at, value, between } = table;
    let last = at.len() - 1;
    let arms = (0..=last).map(|place| {
        let value_here = number(value[place]);
        match (place, between) {
            (0, Between::Line) => format!("WHEN {h} <= {} THEN {value_here}", number(at[0])),
            (_, Between::Line) => {
                let (left, before) = (at[place - 1], value[place - 1]);
                let rise = (value[place] - before) / (at[place] - left);
                let (end, left) = (number(at[place]), number(left));
                format!("WHEN {h} < {end} THEN {} + {} * ({h} - {left})", number(before), number(rise))
            }
            // A step holds from its knot up to the next.
            (_, Between::Step) => match at.get(place + 1) {
                Some(next) => format!("WHEN {h} < {} THEN {value_here}", number(next - ON_STEP * (1.0 + next.abs()))),
                None => String::new(),
            },
        }
    });
    let arms: Vec<String> = arms.filter(|arm| !arm.is_empty()).collect();
    let last = number(value[last]);
    // Without this, what is null would be taken for the last value.
    format!("(CASE WHEN {h} IS NULL THEN NULL\n  {}\n  ELSE {last} END)", arms.join("\n  "))
}
