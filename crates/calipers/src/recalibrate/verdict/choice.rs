//! What [`Choose`](super::Choose) returns.

use super::improvement::{Improvement, lowered, title};
use crate::inference::{digits, signed};
use crate::measures::ProperScore;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::fit::Fit;
use crate::recalibrate::method::Method;

/// A candidate of a choice.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// Its name, as it was given.
    pub name: String,
    /// The method; `None` where there is none of that name.
    pub method: Option<Method>,
    /// Mean loss out of fold; `None` without a fit.
    pub loss: Option<f64>,
    /// By how much that is above the loss of the best candidate.
    pub difference: Option<f64>,
    /// The standard error of the difference.
    pub standard_error: Option<f64>,
    /// Why it has no fit.
    pub reason: Option<String>,
}

/// The choice of a method, with what it rests on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Choice<M = BinaryMap> {
    /// The method to use; the identity where none is better by enough.
    pub chosen: Method,
    /// The method with the smallest loss out of fold.
    pub best: Method,
    /// All candidates, in the order in which they were listed.
    pub table: Vec<Candidate>,
    /// What would be chosen without each of the folds: all the same where the choice is clear.
    pub outer: Vec<Method>,
    /// The gain in log-loss of the whole procedure on rows that it has not seen: in each fold by
    /// the choice that is made without it.
    pub nested_gain: f64,
    /// The loss by which candidates were compared.
    pub score: ProperScore,
    /// By how many standard errors of the difference the best method would have to be better than
    /// the chosen one to replace it.
    pub tolerance: f64,
    /// The map that was chosen, fitted to all rows, and what it gains: the gain is the nested one,
    /// and 0 where the choice is the identity.
    pub improvement: Improvement<M>,
}

impl<M> Choice<M> {
    /// The fit of the chosen method to all rows.
    pub fn fit(&self) -> &Fit<M> {
        &self.improvement.fit
    }

    /// The choice and the verdict in plain sentences.
    pub fn sentence(&self) -> String {
        let fitted = self.table.iter().filter(|candidate| candidate.loss.is_some());
        let fitted = listed(&fitted.map(|candidate| candidate.name.as_str()).collect::<Vec<_>>());
        let of = |method: Method| self.table.iter().find(|candidate| candidate.method == Some(method));
        let failed: Vec<String> = self
            .table
            .iter()
            .filter_map(|candidate| Some(format!("{} ({})", candidate.name, candidate.reason.as_ref()?)))
            .collect();
        let without = match failed.len() {
            0 => String::new(),
            _ => format!(" Without a fit: {}.", failed.join("; ")),
        };
        let score = match self.score {
            ProperScore::Log => "log-loss",
            ProperScore::Brier => "Brier score",
        };
        let behind = of(self.chosen).and_then(|candidate| Some((candidate.difference?, candidate.standard_error?)));
        let behind = match behind {
            Some((difference, standard_error)) if self.best != self.chosen => {
                let digits = digits(standard_error);
                // Of the identity, it begins a sentence.
                let best = match self.chosen {
                    Method::Identity => title(self.best).to_owned(),
                    _ => lowered(title(self.best)),
                };
                let enough = match self.tolerance {
                    0.5 => "half a standard error".to_owned(),
                    tolerance => format!("{tolerance} standard errors"),
                };
                format!(
                    "{best} has a smaller {score} out of fold, but not by {enough} ({} ± {})",
                    signed(difference, digits),
                    signed(standard_error, digits)
                )
            }
            _ if self.chosen == Method::Identity => format!("none has a smaller {score} out of fold"),
            _ => format!("it has the smallest {score} out of fold"),
        };
        if self.chosen == Method::Identity {
            // The interval of what changes nothing has no width.
            let digits = digits(self.improvement.floor.map_or(0.0, |floor| floor.deviation));
            let evidence = self.improvement.evidence(digits);
            let leave = format!("Leave the predictions as they are: of {fitted},");
            return match self.best == Method::Identity {
                true => format!("{leave} {behind}.{without}{evidence}"),
                false => format!("{leave} none is clearly better. {behind}.{without}{evidence}"),
            };
        }
        let title = title(self.chosen);
        format!("{title} is chosen among {fitted}: {behind}.{without} {}", self.improvement.sentence())
    }
}

/// `identity, platt and spline`.
fn listed(names: &[&str]) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}
