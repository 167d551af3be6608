//! Groups of rows, each with a map of its own.

use calipers::recalibrate::{BinaryMap, GroupMaps, GroupRecord, Groups, Map, MapFile};
use calipers::{BinaryView, Error, Sample};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::inference::{Clusters, of_rows};
use crate::options::Options;
use crate::pool::{self, Length};
use crate::results::dict;

/// The names of groups and the numbers of rows, as Python's `NumberedGroups` has them.
#[derive(FromPyObject)]
pub(crate) struct NumberedGroups<'py> {
    names: Vec<String>,
    numbers: PyReadonlyArray1<'py, u32>,
}

impl<'py> NumberedGroups<'py> {
    /// Those of a question, if it has any.
    pub(crate) fn read(options: &Options<'py>) -> Result<Option<Self>, Failure> {
        Ok(options.get("groups")?.extract()?)
    }

    /// The groups of all rows.
    pub(crate) fn all(&self) -> Result<Groups, Failure> {
        Ok(Groups::numbered(&self.names, self.numbers.as_slice().map_err(PyErr::from)?)?)
    }

    /// What the core finds for the groups of rows of a binary outcome.
    pub(crate) fn ask<T: Send>(
        &self,
        py: Python<'py>,
        columns: &Columns<'py>,
        options: &Options<'py>,
        question: impl FnOnce(Sample<'_>, &Groups) -> Result<T, Error> + Send,
    ) -> Result<T, Failure> {
        let clusters = Clusters::new(options)?;
        let clusters = clusters.numbers()?;
        let input = columns.input(options)?;
        let groups = self.all()?;
        pool::run(py, Length::of(options, input.n_scores())?, || {
            let predictions = input.check()?;
            let k = predictions.n_classes();
            if k > 2 {
                let rule = "left out for more than two classes".to_owned();
                return Err(Error::InvalidSetting { name: "groups", rule, value: format!("{k} classes") });
            }
            let numbers = of_rows("groups", &predictions, groups.numbers())?;
            let kept = Groups::numbered(groups.names(), &numbers)?;
            let clusters = clusters.map(|clusters| of_rows("clusters", &predictions, clusters)).transpose()?;
            let view = predictions.binary()?;
            let sample = Sample::from(&view);
            question(clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters)), &kept)
        })
    }
}

/// The recalibrated probabilities of rows, of one column or of two, by the maps of their groups.
pub(crate) fn applied(
    maps: &GroupMaps,
    view: &BinaryView<'_>,
    groups: Option<&Groups>,
    n_columns: usize,
) -> Result<Vec<f64>, Error> {
    let by_number: Vec<&BinaryMap> =
        groups.map_or_else(Vec::new, |groups| groups.names().iter().map(|name| maps.of(name)).collect());
    let numbers = groups.map_or(&[][..], Groups::numbers);
    if numbers.len() != view.len() {
        return Err(Error::LengthMismatch { what: "groups", got: numbers.len(), expected: view.len() });
    }
    let row = |(logit, number): (f64, &u32)| {
        let (positive, negative) = by_number[*number as usize].both(logit);
        if n_columns == 1 { vec![positive] } else { vec![negative, positive] }
    };
    Ok(maps.pooled.logits(view).into_iter().zip(numbers).flat_map(row).collect())
}

/// What is known of each group; `None` unless there are groups.
pub(crate) fn listed<'py>(py: Python<'py>, file: &MapFile) -> PyResult<Option<Vec<Bound<'py, PyDict>>>> {
    let Map::Groups(maps) = &file.map else { return Ok(None) };
    let of_fit = file.fit.as_ref().map_or(&[][..], |fit| &fit.groups);
    let names = maps.method().parameter_names();
    let one = |(place, name): (usize, &String)| {
        let record: Option<&GroupRecord> = of_fit.get(place);
        let (parameters, standard_errors) = (PyDict::new(py), PyDict::new(py));
        for (parameter, (own, value)) in names.iter().zip(&maps.maps[place].parameters).enumerate() {
            parameters.set_item(own, value)?;
            let error = record.and_then(|record| record.standard_errors.get(parameter).copied().flatten());
            standard_errors.set_item(own, error)?;
        }
        Ok(dict!(py;
            name: name.clone(),
            parameters: parameters,
            standard_errors: standard_errors,
            own_share: record.map(|record| record.own_share),
            n: record.map(|record| record.n),
        ))
    };
    maps.names.iter().enumerate().map(one).collect::<PyResult<Vec<_>>>().map(Some)
}
