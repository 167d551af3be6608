//! What is computed of predictions, of rows and of sketches alike.

use std::sync::Arc;

use calipers::{BinnedEce, Error, Estimate, InputReport, LsEce, Measure, Sample};

use crate::commands::analysis::floor::{Floored, Floors};

/// One or more measures of the same rows.
pub(crate) trait Analysis: Sync + Sized {
    type Output: Send;

    fn run(&self, sample: Sample<'_>) -> Result<Self::Output, Error>;

    /// The same for so many groups of the rows that gave this output: at the sigma of all, since
    /// what is compared has one.
    fn for_groups(&self, all: &Self::Output, n_groups: usize) -> Self;
}

/// LS-ECE and ECE: what is measured unless measures are named. Both must have a value.
pub(crate) struct LsEceAndEce {
    pub(crate) ls_ece: LsEce,
    pub(crate) ece: BinnedEce,
    pub(crate) floors: Floors,
}

/// The output of [`LsEceAndEce`].
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) ls_ece: Floored,
    pub(crate) ece: Floored,
}

impl Analysis for LsEceAndEce {
    type Output = Figures;

    fn run(&self, sample: Sample<'_>) -> Result<Figures, Error> {
        Ok(Figures { ls_ece: self.floors.figure(&self.ls_ece, sample)?, ece: self.floors.figure(&self.ece, sample)? })
    }

    fn for_groups(&self, all: &Figures, n_groups: usize) -> Self {
        LsEceAndEce {
            ls_ece: at_sigma_of(&self.ls_ece, &all.ls_ece.estimate),
            ece: self.ece.clone(),
            floors: self.floors.for_groups(n_groups),
        }
    }
}

/// Measures by name, at least one; those that refuse the rows do not stand in the way of the
/// others.
pub(crate) struct Named {
    pub(crate) selected: Vec<Selected>,
    pub(crate) floors: Floors,
}

/// A measure that was selected by name.
#[derive(Clone)]
pub(crate) struct Selected {
    /// What it is with the options in force, in one line.
    pub(crate) definition: String,
    pub(crate) measure: Arc<dyn Measure>,
}

impl Selected {
    /// The name of the measure.
    pub(crate) fn name(&self) -> &'static str {
        self.measure.spec().name
    }

    /// The measure for groups of the rows that gave this value: at the same sigma, since what is
    /// compared has one.
    pub(crate) fn for_groups_of(&self, all: Option<&Estimate>) -> Self {
        let resolved = all.and_then(|all| self.measure.resolved_as(all));
        Selected { measure: resolved.map_or_else(|| self.measure.clone(), Arc::from), ..self.clone() }
    }
}

/// The output of [`Named`], in which at least one measure has a figure.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) n: u64,
    pub(crate) input: InputReport,
    pub(crate) figures: Vec<Figure>,
}

/// A figure or why there is none.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) definition: String,
    pub(crate) outcome: Result<Floored, Error>,
}

impl Analysis for Named {
    type Output = Answers;

    fn run(&self, sample: Sample<'_>) -> Result<Answers, Error> {
        let figure = |selected: &Selected| Figure {
            name: selected.name(),
            definition: selected.definition.clone(),
            outcome: self.floors.figure(&*selected.measure, sample),
        };
        let figures: Vec<Figure> = self.selected.iter().map(figure).collect();
        let answered = figures.iter().find_map(|figure| figure.outcome.as_ref().ok());
        let refused = figures.iter().find_map(|figure| figure.outcome.as_ref().err());
        match (answered, refused) {
            (Some(Floored { estimate, .. }), _) => {
                Ok(Answers { n: estimate.n, input: estimate.input.clone(), figures })
            }
            (None, Some(refused)) => Err(refused.clone()),
            (None, None) => Err(Error::NoRows),
        }
    }

    fn for_groups(&self, all: &Answers, n_groups: usize) -> Self {
        let selected = self.selected.iter().zip(&all.figures).map(|(selected, figure)| {
            let of_all = figure.outcome.as_ref().ok().map(|floored| &floored.estimate);
            selected.for_groups_of(of_all)
        });
        Named { selected: selected.collect(), floors: self.floors.for_groups(n_groups) }
    }
}

fn at_sigma_of(ls_ece: &LsEce, all: &Estimate) -> LsEce {
    match all.settings.number("sigma") {
        Some(sigma) => ls_ece.clone().sigma(sigma),
        None => ls_ece.clone(),
    }
}
