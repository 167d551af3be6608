//! What is reported about a fit of a binary outcome, beside its map.

use super::newton::FitBound;
use super::result::{Fit, Note};
use crate::InputReport;
use crate::data::BinaryView;
use crate::numerics::cholesky::Symmetric;
use crate::recalibrate::binary::logits::Clipped;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::rows::Atoms;
use crate::recalibrate::binary::unsorted::Unsorted;
use crate::recalibrate::method::Method;
use crate::recalibrate::options::{Fitted, Recalibrate, mean_loss};

/// What is reported about the rows of a fit.
pub(crate) struct Summary {
    pub(crate) n: u64,
    pub(crate) effective_n: f64,
    /// Weights of both outcomes.
    pub(crate) totals: [f64; 2],
    /// Different scores; where they are many, a smaller number that is not few.
    pub(crate) n_scores: usize,
    pub(crate) log_loss_before: f64,
    pub(crate) log_loss_after: f64,
}

/// What a report says about the rows beside the fit.
pub(crate) struct About {
    pub(crate) notes: Vec<Note>,
    pub(crate) n_clipped: u64,
    pub(crate) input: InputReport,
}

impl Recalibrate {
    /// A fit to rows that were not sorted, with its report.
    pub(crate) fn reported_unsorted(&self, view: &BinaryView<'_>, found: Unsorted) -> (Fit<BinaryMap>, Fitted) {
        let Unsorted { mut fitted, scatter, summary, clipped } = found;
        let about = self.about(view, clipped);
        (self.report(&summary, &mut fitted, scatter, about), fitted)
    }

    pub(crate) fn about(&self, view: &BinaryView<'_>, clipped: Clipped) -> About {
        let Clipped { n, n_contradicted, first_contradicted } = clipped;
        let note = |row: u64| Note::Contradicted { n_rows: n_contradicted, row, clip: self.clip };
        let notes = first_contradicted.map(note).into_iter().collect();
        About { notes, n_clipped: n, input: view.report().clone() }
    }

    /// A fit with its report. The scatter of the gradients is that of a formula.
    pub(crate) fn reported(
        &self,
        atoms: &Atoms,
        fitted: &mut Fitted,
        scatter: Option<Symmetric>,
        about: About,
    ) -> Fit<BinaryMap> {
        if let Some((formula, scatter)) = fitted.formula.as_ref().zip(scatter.as_ref()) {
            // The smoothing of splines is chosen by their rows, which the rule for formulas
            // ignores.
            fitted.spread = (self.method != Method::Spline).then(|| formula.spread(scatter, atoms));
        }
        let identity = BinaryMap { clip: self.clip, ..BinaryMap::identity() };
        let summary = Summary {
            n: atoms.n,
            effective_n: atoms.effective_n,
            totals: atoms.totals,
            n_scores: atoms.atoms.len(),
            log_loss_before: mean_loss(&identity, atoms),
            log_loss_after: mean_loss(&fitted.map, atoms),
        };
        self.report(&summary, fitted, scatter, about)
    }

    /// The same for rows of which only a summary is known.
    fn report(
        &self,
        summary: &Summary,
        fitted: &mut Fitted,
        scatter: Option<Symmetric>,
        about: About,
    ) -> Fit<BinaryMap> {
        let mut notes = about.notes;
        if let Some(formula) = &fitted.formula {
            let of_line = Method::Platt.parameter_names();
            let names = if self.method == Method::Spline { of_line } else { self.method.parameter_names() };
            let held = (0..formula.theta.len()).filter(|place| !formula.free.contains(place));
            notes.extend(held.map(|place| Note::HeldAtZero { parameter: names[place] }));
        }
        notes.append(&mut fitted.notes);
        self.note_scarcity(summary, fitted, &mut notes);
        let covariance = scatter.map_or(Symmetric::zero(0), |scatter| fitted.covariance(&scatter));
        let d = covariance.n;
        Fit {
            method: self.method,
            parameters: fitted.parameters(&covariance),
            covariance: (0..d * d).map(|entry| covariance.get(entry / d, entry % d)).collect(),
            log_loss_before: summary.log_loss_before,
            log_loss_after: summary.log_loss_after,
            bound: fitted.formula.as_ref().map_or(FitBound::default(), |formula| formula.bound),
            ridge: self.ridge_in_use(),
            effective_parameters: fitted.effective_parameters,
            notes,
            n: summary.n,
            effective_n: summary.effective_n,
            n_clipped: about.n_clipped,
            input: about.input,
            map: fitted.map.clone(),
        }
    }

    fn note_scarcity(&self, rows: &Summary, fitted: &Fitted, notes: &mut Vec<Note>) {
        if self.method == Method::Identity {
            return;
        }
        let n_events = rows.effective_n * rows.totals[0].min(rows.totals[1]) / (rows.totals[0] + rows.totals[1]);
        if n_events < 5.0 || rows.effective_n < 20.0 {
            let n_parameters = fitted.formula.as_ref().map_or(0, |formula| formula.free.len()) as f64;
            let ridge_share = if n_parameters > 0.0 { 1.0 - fitted.effective_parameters / n_parameters } else { 0.0 };
            notes.push(Note::FewEvents { n_events, ridge_share: ridge_share.clamp(0.0, 1.0) });
        }
        if rows.n_scores <= 3 {
            notes.push(Note::FewScores { n_scores: rows.n_scores });
        }
    }
}
