//! Maps of a binary outcome as SQL expressions.
//!
//! Numbers have an exponent, so that every dialect reads them as doubles and not as decimals. No
//! part overflows: exponentials are of numbers that are not positive, since
//! ```text
//! σ(u) = e^min(u, 0) / (1 + e^-|u|)        min(u, 0) = (u - |u|) / 2
//! ```

use super::binary::map::BinaryMap;
use super::binary::table::{Between, Table};
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
    /// null. Formulas are one line, tables a `CASE` with a line for each knot.
    ///
    /// Its values differ from those of [`apply`](Self::apply) by at most 1e-12. Venn-Abers maps and
    /// splines have no expression.
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
            _ => {
                let rule = "a formula or a table with one value at each knot, since SQL has no expression for others";
                return Err(Error::setting("method", rule, format!("{:?}", self.method.name())));
            }
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
