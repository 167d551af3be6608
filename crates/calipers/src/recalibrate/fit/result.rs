//! What a fit returns.

use std::fmt;

use super::newton::{FitBound, dot};
use crate::InputReport;
use crate::error::number;
use crate::link::{Link, Logistic, Probit};
use crate::recalibrate::binary::linear::Basis;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::method::Method;

/// A fitted map, with what is known about the fit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Fit<M> {
    /// The map.
    pub map: M,
    /// Its family.
    pub method: Method,
    /// The parameters of a formula; none of a table. Several of one name are those of the classes,
    /// in their order.
    pub parameters: Vec<Parameter>,
    /// Covariances of the parameters, row after row; empty where they are not computed.
    pub covariance: Vec<f64>,
    /// Mean log-loss of these rows before. For probabilities of 0 and 1 it is that of the clip.
    pub log_loss_before: f64,
    /// Mean log-loss of the same rows after: in sample, so it is better than that of new rows.
    /// [`CrossFit`](crate::recalibrate::CrossFit) estimates what new rows gain.
    pub log_loss_after: f64,
    /// How far the parameters are from the optimum at most, which for a sketch is that of its rows;
    /// 0 for tables, which are exact.
    pub bound: FitBound,
    /// The coefficient of the ridge that was used.
    pub ridge: f64,
    /// What the rows decide: the number of parameters less the share that the ridge decides, or the
    /// number of steps of a table.
    pub effective_parameters: f64,
    /// What a reader should know.
    pub notes: Vec<Note>,
    /// Rows with weight.
    pub n: u64,
    /// (Σw)² / Σw², or Σw where weights count rows.
    pub effective_n: f64,
    /// Probabilities that were clipped.
    pub n_clipped: u64,
    /// What was read, rounded and left out.
    pub input: InputReport,
}

/// One parameter of a formula.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// By the sandwich formula, which holds if the family does not contain the truth, too; `None`
    /// where a constraint holds the parameter at 0.
    pub standard_error: Option<f64>,
}

/// A remark about a fit. Its text is a sentence.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// The rarer outcome has few rows.
    FewEvents {
        /// Effective rows of the rarer outcome.
        n_events: f64,
        /// The share of the information that comes from the ridge.
        ridge_share: f64,
    },
    /// Few different scores.
    FewScores {
        /// How many.
        n_scores: usize,
    },
    /// A slope is held at 0: there the scores fall where they should rise.
    HeldAtZero {
        /// The parameter.
        parameter: &'static str,
    },
    /// The rows do not show that groups differ, so that all have one map.
    GroupsAlike {
        /// How many groups.
        n_groups: usize,
    },
    /// A slope of some groups is held at 0: their scores fall where they should rise.
    GroupsHeldAtZero {
        /// How many groups.
        n_groups: usize,
        /// The parameter.
        parameter: &'static str,
    },
    /// The fit is of the cells of a sketch.
    FromCells {
        /// Occupied cells.
        n_cells: usize,
        /// The width of the widest, in logits.
        width: f64,
        /// How far a parameter is at most from that of the fit to the rows; `None` for tables,
        /// which are those of scores rounded to their cells.
        distance: Option<f64>,
    },
    /// A spline fell between its knots, and was made smoother until it did not.
    Smoothed {
        /// The smoothing that was set or chosen.
        chosen: f64,
        /// The smoothing of the map.
        smoothing: f64,
    },
    /// A spline fell between its knots whatever its smoothing: it is a straight line.
    Straightened,
    /// The rate of outcome 1 among new rows of a bin is near the bin's value, for all bins at once.
    BinsWithin {
        /// By how much they differ at most.
        distance: f64,
        /// The share of samples for which this holds, at least.
        level: f64,
    },
    /// A class that no row has. Its probabilities are recalibrated like those of the others.
    AbsentClass {
        /// The class, from 0.
        class: usize,
    },
    /// A class that no row has, where each class has a map of its own.
    KeptClass {
        /// The class, from 0.
        class: usize,
    },
    /// Classes that few rows have.
    RareClasses {
        /// How many.
        n_classes: usize,
        /// The first of them, from 0.
        class: usize,
        /// Its rows.
        n_rows: u64,
    },
    /// Every label has the largest score, so that no first temperature is the best one.
    NoFirstSlope {
        /// The slope that is used: the one with the ridge.
        slope: f64,
    },
    /// Probabilities of 0 or 1 for what did not happen.
    Contradicted {
        /// How many rows.
        n_rows: u64,
        /// The first of them.
        row: u64,
        /// What they were clipped to.
        clip: f64,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::FewEvents { n_events, ridge_share } => write!(
                f,
                "Few rows of the rarer outcome ({}): {} % of the information comes from the ridge.",
                number((10.0 * n_events).round() / 10.0),
                (100.0 * ridge_share).round()
            ),
            Note::FewScores { n_scores } => write!(
                f,
                "The number of different scores is {n_scores}: the map is known there, and a guess between them."
            ),
            Note::HeldAtZero { parameter } => {
                write!(f, "{parameter} is held at 0: the scores fall there where they should rise with the outcome.")
            }
            Note::GroupsAlike { n_groups } => {
                write!(f, "The rows do not show that the {n_groups} groups differ: all have the pooled map.")
            }
            Note::GroupsHeldAtZero { n_groups, parameter } => {
                let groups = if *n_groups == 1 { "1 group".to_owned() } else { format!("{n_groups} groups") };
                write!(
                    f,
                    "{parameter} is held at 0 for {groups}: the scores fall there where they should rise with the \
                     outcome."
                )
            }
            Note::FromCells { n_cells, width, distance: Some(distance) } => write!(
                f,
                "The rows were counted in {n_cells} cells of at most {width:.1e} logits: parameters are within \
                 {distance:.1e} of those that the rows give."
            ),
            Note::FromCells { n_cells, width, distance: None } => {
                write!(f, "The scores of the rows were rounded to {n_cells} cells of at most {width:.1e} logits.")
            }
            Note::Smoothed { chosen, smoothing } => write!(
                f,
                "The spline falls between its knots with a smoothing of {}; with {} it does not.",
                number(*chosen),
                number(*smoothing)
            ),
            Note::Straightened => {
                write!(f, "The spline falls between its knots whatever its smoothing, so the map is a straight line.")
            }
            Note::BinsWithin { distance, level } => write!(
                f,
                "With probability {}, the outcome rates of all bins on new rows are within {} of their values; this \
                 needs independent rows and nothing else.",
                number(*level),
                number((1000.0 * distance).ceil() / 1000.0)
            ),
            Note::AbsentClass { class } => {
                write!(f, "No row has class {class}: its probabilities are changed like those of the other classes.")
            }
            Note::KeptClass { class } => {
                write!(f, "No row has class {class}: its probability stays, but for the division by the sum.")
            }
            Note::RareClasses { n_classes: 1, class, n_rows } => {
                write!(f, "Class {class} has {n_rows} {}: the ridge decides most about it.", rows_of(*n_rows))
            }
            Note::RareClasses { n_classes, class, n_rows } => write!(
                f,
                "{n_classes} classes have fewer than 5 rows, the first of them class {class} with {n_rows} {}: the \
                 ridge decides most about them.",
                rows_of(*n_rows)
            ),
            Note::NoFirstSlope { slope } => write!(
                f,
                "Every label has the largest score, so that no first temperature is best; the slope {} is that of the \
                 ridge.",
                number(*slope)
            ),
            Note::Contradicted { n_rows: 1, row, clip } => {
                write!(f, "Row {row} has probability 0 of what happened; it is clipped to {}.", number(*clip))
            }
            Note::Contradicted { n_rows, row, clip } => write!(
                f,
                "{n_rows} rows have probability 0 of what happened, the first in row {row}; they are clipped to {}.",
                number(*clip)
            ),
        }
    }
}

fn rows_of(n: u64) -> &'static str {
    if n == 1 { "row" } else { "rows" }
}

/// A recalibrated probability with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Band {
    /// The value of the map.
    pub value: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl Fit<BinaryMap> {
    /// The map at a logit, with an interval for the value that infinitely many rows would give it.
    /// `None` for tables, whose uncertainty is not normal; for Venn-Abers prediction see
    /// [`BinaryMap::interval`].
    ///
    /// # Definition
    /// ```text
    /// σ(u ± z √(φ' C φ))      u = φ' θ the recalibrated logit, C the sandwich covariance of θ
    /// ```
    /// It is pointwise: each interval holds its value in a share `level` of samples, all together
    /// in fewer.
    pub fn band(&self, logit: f64, level: f64) -> Option<Band> {
        self.map.band(&self.covariance, logit, level)
    }

    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<f64> {
        self.parameters.iter().find(|parameter| parameter.name == name).map(|parameter| parameter.value)
    }
}

impl BinaryMap {
    /// [`Fit::band`] of a map whose covariance is known, such as that of a
    /// [`FitRecord`](crate::recalibrate::FitRecord). `None` where it is not that of the parameters,
    /// too.
    pub fn band(&self, covariance: &[f64], logit: f64, level: f64) -> Option<Band> {
        if self.method.is_table() {
            return None;
        }
        let features = match &self.spline {
            Some(spline) => spline.shares(logit),
            None => Basis::Plain(self.method).features(logit)[..self.parameters.len()].to_vec(),
        };
        let d = features.len();
        if covariance.len() != d * d {
            return None;
        }
        let along: Vec<f64> = (0..d).map(|i| dot(&covariance[i * d..(i + 1) * d], &features)).collect();
        let tail = 0.5 * (1.0 - level);
        let half = Probit.inverse(1.0 - tail, tail) * dot(&along, &features).max(0.0).sqrt();
        let u = self.predictor(logit);
        let at = |u: f64| self.mixed(Logistic.response(u));
        Some(Band { value: self.apply(logit), lower: at(u - half), upper: at(u + half) })
    }
}
