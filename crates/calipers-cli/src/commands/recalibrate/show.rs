//! `calipers recalibrate show`: what is in the file of a map.

use std::path::PathBuf;

use anyhow::{Result, bail};
use calipers::recalibrate::{Dialect, Map, SqlInput};
use clap::Args;

use super::{map_file, table};
use crate::args::values::one_of;
use crate::render::number;
use crate::render::screen::Screen;

/// Print a map: its formula, its parameters with standard errors, and what it gains; or as SQL
#[derive(Debug, Args)]
#[command(after_help = include_str!("../help/recalibrate_show.txt"))]
pub(super) struct ShowArgs {
    /// The map that `calipers recalibrate fit` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print an SQL expression that applies the map to a column
    #[arg(long, help_heading = "SQL", conflicts_with = "json")]
    sql: bool,

    /// The column of the SQL expression
    #[arg(long, value_name = "NAME", default_value = "p", help_heading = "SQL")]
    column: String,

    /// The column has logits instead of probabilities
    #[arg(long, help_heading = "SQL")]
    from_logits: bool,

    /// How names of columns are quoted: ansi for DuckDB, PostgreSQL, SQLite and Snowflake, spark
    /// for Spark, Databricks, BigQuery and MySQL
    #[arg(long, value_name = "NAME", default_value = "ansi", help_heading = "SQL", value_parser = one_of::<Dialect>(Dialect::NAMES))]
    dialect: Dialect,

    /// Print the file as it would be written
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(super) fn run(args: &ShowArgs, screen: &Screen) -> Result<String> {
    let file = map_file::read(&args.file)?;
    if args.json {
        return Ok(file.to_json());
    }
    if args.sql {
        let input = if args.from_logits { SqlInput::Logit } else { SqlInput::Probability };
        return match &file.map {
            Map::Binary(map) => Ok(map.to_sql(&args.column, input, args.dialect)? + "\n"),
            Map::Groups(maps) => Ok(maps.to_sql(&args.column, input, args.dialect)? + "\n"),
            map => bail!(
                "{}: SQL is for maps of a binary outcome, and this one has {} classes",
                args.file.display(),
                map.n_classes()
            ),
        };
    }
    let map = &file.map;
    let mut text = format!("{}: {}\n", map.method().name(), map.formula());
    let parameters = map.parameters();
    if !parameters.is_empty() {
        let errors = file.fit.as_ref().map_or_else(Vec::new, |fit| fit.standard_errors.clone());
        let errors = (0..parameters.len()).map(|place| errors.get(place).copied().flatten());
        let parameters = parameters.iter().map(|(name, value)| (name.as_str(), *value));
        text += &format!("\n{}", table::of_parameters(parameters, errors).draw(screen));
    }
    if let Map::Binary(binary) = map
        && let Some(table) = &binary.table
    {
        let (first, last) = (table.at[0], table.at[table.at.len() - 1]);
        let [first, last] = [first, last].map(number::significant);
        text += &format!(
            "\n{} knots from logit {first} to {last}, between them: {}\n",
            table.at.len(),
            table.between.name()
        );
    }
    let mut notes = Vec::new();
    if let Map::Groups(maps) = map {
        let of_fit = file.fit.as_ref().map_or(&[][..], |fit| &fit.groups);
        text += &format!("\n{}", table::of_groups(maps, of_fit).draw(screen));
        let by = maps.by.as_ref().map_or(String::new(), |by| format!(" of {}", crate::printable(by)));
        notes.push(format!("a map for each of {} groups{by}; any other gets the pooled one above", maps.names.len()));
    }
    if let Some(fit) = &file.fit {
        let [before, after] = [fit.log_loss_before, fit.log_loss_after].map(number::significant);
        notes.push(format!("fitted to {} rows; log-loss of these rows from {before} to {after}", number::count(fit.n)));
    }
    if let Some(gain) = &file.improvement {
        let ends = gain.interval.into();
        let (value, interval) = (table::gain(gain.gain, &ends), table::interval(&ends));
        let (verdict, level) = (gain.verdict.name(), 100.0 * gain.interval.level);
        notes.push(format!("on new rows: {verdict}, a gain of {value}, {level} % interval {interval}"));
    }
    let labels: Vec<String> = file.labels.iter().map(ToString::to_string).collect();
    if !labels.is_empty() {
        notes.push(format!("classes: {}", crate::printable(&labels.join(", "))));
    }
    notes.push(match map {
        Map::Binary(_) | Map::Groups(_) => "h: the logit of a probability. sigma(u) = 1 / (1 + exp(-u))".to_owned(),
        _ => "z: the logarithms of the probabilities of all classes, or raw scores".to_owned(),
    });
    notes.push(format!(
        "mixture {}: the share of equal probabilities that is mixed in",
        number::significant(map.mixture())
    ));
    notes.push(format!("clip {:e}: probabilities stay so far from 0 and 1", map.clip()));
    notes.push(format!("fingerprint {}: a digest of all that decides the values of the map", map.fingerprint()));
    let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
    Ok(text + "\n" + &screen.notes(&notes))
}
