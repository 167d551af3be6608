//! Maps by group: their fit, and the column that tells groups apart.

use anyhow::{Context, Result, bail};
use calipers::recalibrate::{
    FitRecord, GainRecord, GroupFit, GroupedImprovement, Map, MapFile, Method, Parameter, PoolingLoss,
};
use calipers::{Predictions, Sample};
use serde_json::{Value, json};

use super::method::{MapArgs, Requested};
use super::model::{Found, Model};
use crate::args::InputArgs;
use crate::args::significance::ResampleArgs;
use crate::dataset::groups::By;
use crate::render::grid::{Cell, Grid};
use crate::render::number;
use crate::render::screen::Screen;

/// Groups that are printed at most; all are in the file.
const MOST_SHOWN: usize = 40;

/// What is known of groups beside their maps.
#[derive(Debug, Clone)]
pub(super) struct OfGroups {
    groups: Vec<GroupFit>,
    table: Vec<PoolingLoss>,
    spread: Vec<f64>,
}

/// A map for each group, and what that gains.
pub(super) fn fit(
    model: &Model,
    predictions: &Predictions<'_>,
    method: Requested,
    (map, resample): (&MapArgs, &ResampleArgs),
    by: &By,
) -> Result<Found> {
    let batch = &model.dataset.content;
    if predictions.n_classes() > 2 {
        bail!(
            "{}: --by is for a binary outcome, and the rows have {} classes",
            model.file.shown(),
            predictions.n_classes()
        );
    }
    let method = match method {
        Requested::Auto => Method::Beta,
        Requested::Named(method) => method,
    };
    let run = || -> Result<GroupedImprovement> {
        let view = batch.view(predictions)?;
        let clusters = batch.cluster_numbers(predictions)?;
        let sample = Sample::from(&view);
        let sample = clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters));
        // proof: the column was named
        let groups = batch.groups(predictions)?.context("--by names no column")?;
        Ok(map.cross_fit(method, resample).run_groups(sample, &groups)?)
    };
    let found = run().with_context(|| model.file.shown())?;
    let sentence = found.sentence();
    let GroupedImprovement { mut improvement, groups, table, .. } = found;
    let spread = improvement.fit.map.spread.clone();
    improvement.fit.map = improvement.fit.map.by(by.to_string());
    let file = MapFile::new(improvement.fit.map.clone())
        .fit(FitRecord::from(&improvement.fit).groups(&groups))
        .improvement(GainRecord::from(&improvement));
    let of_groups = Some(OfGroups { groups, table, spread });
    Ok(Found { file, sentence, of_groups, ..Found::new(&improvement) })
}

/// The input with the columns that tell the groups of a map apart: those that are named, or those
/// that the map was fitted by.
pub(super) fn input_of(map: &Map, args: &InputArgs, verb: &str) -> Result<InputArgs> {
    let by = by_of(map, args, verb)?;
    Ok(InputArgs { by, ..args.clone() })
}

/// The columns of groups; none unless the map is by group.
pub(super) fn by_of(map: &Map, args: &InputArgs, verb: &str) -> Result<Vec<String>> {
    match (map, &args.by[..]) {
        (Map::Groups(maps), []) => match &maps.by {
            Some(by) => Ok(By::of_text(by).names().to_vec()),
            None => bail!("the map is by group: name the column of groups with --by"),
        },
        (Map::Groups(_), by) => Ok(by.to_vec()),
        (_, []) => Ok(Vec::new()),
        (_, [..]) => bail!("{verb} does not accept --by: the map is the same for all groups"),
    }
}

impl OfGroups {
    /// The groups, what they have in common, and ways to use them.
    pub(super) fn tables(&self, common: &[Parameter], screen: &Screen) -> String {
        let shown = &self.groups[..self.groups.len().min(MOST_SHOWN)];
        let mut text = of_maps(common, shown, &self.spread).draw(screen);
        if self.groups.len() > shown.len() {
            text += &screen.notes(&format!("{} more groups are in the file\n", self.groups.len() - shown.len()));
        }
        let mut grid = Grid::with_whole_names();
        grid.names("maps", self.table.iter().map(|row| row.pooling.name()));
        let errors = self.table.iter().map(|row| row.standard_error).filter(|error| *error > 0.0);
        let least = errors.map(number::decimals).max().unwrap_or(4);
        grid.numbers("log-loss", self.table.iter().map(|row| format!("{:.least$}", row.log_loss)));
        let difference = |row: &PoolingLoss| match row.standard_error > 0.0 {
            true => Cell::from(format!("{:+.least$} ± {:.least$}", row.difference + 0.0, row.standard_error)),
            false => Cell::dash(),
        };
        grid.numbers("worse by", self.table.iter().map(difference));
        text + "\n" + &grid.draw(screen)
    }

    pub(super) fn to_json(&self) -> (Value, Value) {
        let parameters = |group: &GroupFit| {
            let one = |parameter: &Parameter| {
                json!({
                    "name": parameter.name,
                    "value": parameter.value,
                    "standard_error": parameter.standard_error,
                })
            };
            group.parameters.iter().map(one).collect::<Vec<Value>>()
        };
        let group = |group: &GroupFit| {
            json!({
                "group": group.name,
                "n": group.n,
                "own_share": group.own_share,
                "log_loss_before": group.log_loss_before,
                "log_loss_after": group.log_loss_after,
                "parameters": parameters(group),
            })
        };
        let pooling = |row: &PoolingLoss| {
            json!({
                "pooling": row.pooling.name(),
                "log_loss_out_of_fold": row.log_loss,
                "difference": row.difference,
                "standard_error": row.standard_error,
            })
        };
        (
            self.groups.iter().map(group).collect::<Vec<Value>>().into(),
            self.table.iter().map(pooling).collect::<Vec<Value>>().into(),
        )
    }
}

/// A line for each group, and for what they have in common.
fn of_maps(common: &[Parameter], groups: &[GroupFit], spread: &[f64]) -> Grid {
    let mut grid = Grid::with_whole_names();
    let others = ["any other", "spread"].map(str::to_owned);
    let names = groups.iter().map(|group| if group.name.is_empty() { "(none)".to_owned() } else { group.name.clone() });
    grid.names("group", names.chain(others));
    let count = |group: &GroupFit| Cell::from(number::count(group.n));
    grid.numbers("rows", groups.iter().map(count).chain([Cell::dash(), Cell::dash()]));
    let share = |group: &GroupFit| Cell::from(format!("{:.0} %", 100.0 * group.own_share));
    grid.numbers("own share", groups.iter().map(share).chain([Cell::dash(), Cell::dash()]));
    for (place, parameter) in common.iter().enumerate() {
        let value = |own: &Parameter| match own.standard_error {
            Some(error) => {
                let decimals = number::decimals(error);
                Cell::from(format!("{:.decimals$} ± {error:.decimals$}", own.value))
            }
            None => Cell::from(number::significant(own.value)),
        };
        let all = groups.iter().filter_map(|group| group.parameters.get(place)).chain([parameter]).map(value);
        let spread = spread.get(place).map_or_else(Cell::dash, |spread| number::significant(*spread).into());
        grid.numbers(parameter.name, all.chain([spread]));
    }
    grid
}
