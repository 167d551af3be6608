//! The options of a fit, and the fit of binary outcomes.

use super::binary::bins::{self, Bins};
use super::binary::formula::{Bend, Fitter, Formula, both};
use super::binary::linear::{Design, MOST, logistic_loss};
use super::binary::map::BinaryMap;
use super::binary::rows::{Atom, Atoms, Ordered};
use super::binary::smoothing::SplineFit;
use super::binary::table::{Between, Table};
use super::binary::venn_abers::VennAbers;
use super::fit::{Fit, Note, Parameter};
use super::method::Method;
use crate::Error;
use crate::data::{Binary, BinaryView, Sample};
use crate::inference::Clusters;
use crate::numerics::cholesky::Symmetric;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::setters::setters;

/// Fits a recalibration map: from predictions with outcomes to a [`Fit`].
///
/// # Definition
/// Formulas ([`Method`]) minimise the mean log-loss with a ridge toward the identity,
/// ```text
/// J(θ) = Σ ω_i [ log(1 + e^u_i) - y_i u_i ] + (ridge / n_eff) Σ_j (θ_j - identity_j)²
/// ```
/// where u is the recalibrated logit, ω_i = w_i / Σ w and n_eff = (Σ w)² / Σ w². The default ridge
/// of Platt and beta, 2, is a normal prior of standard deviation 1/2 on each parameter about the
/// identity, whatever the number of rows; shift and temperature have none. Slopes must not be
/// negative, and the constrained optimum is exact: each set of slopes that may be 0 is tried, and
/// the one that meets the conditions of optimality is returned. A spline has up to 12 knots at
/// equally spaced shares of the weight from 2 to 98 %, and the penalty (smoothing / n_eff) range³ ∫
/// u''(h)² dh beside the ridge on the chord between its outer knots; `smoothing.rs` has how the
/// smoothing is chosen. Where it would fall, it is raised. Isotonic maps pool ties and adjacent
/// violators, and mix in 1/2 with the share 1 / (n_eff + 1), so that no probability becomes 0 or 1.
/// Venn-Abers prediction and bins are never 0 or 1. `venn_abers.rs` and `bins.rs` have what can be
/// said of them for every model.
///
/// # Assumptions
/// Rows that the model was not trained on. Standard errors need independent rows, or clusters
/// ([`Sample::clusters`]).
///
/// # Cost
/// Shift, temperature, Platt and beta take two passes over rows from 65,536 rows on, without a
/// sort, and isotonic maps of rows without weights one sort of 64 bits for each row. Else it is one
/// sort of the rows, then 4 to 10 passes over the different scores.
///
/// # Accuracy
/// [`FitBound`](super::FitBound) has the proven distance from the optimum, rounding included. Order
/// of rows and number of threads change no bit; a weight of 3 in place of three equal rows changes
/// none with [`counts`](Self::counts). Where there is no optimum, or none can be proven to be near,
/// there is an error and never the identity in its place.
///
/// # Reference
/// Cox 1958 and Platt 1999 (logistic); Kull, Silva Filho, Flach, "Beta calibration", AISTATS 2017;
/// Zadrozny, Elkan 2001 and 2002 (bins, isotonic); Oron, Flournoy 2017 (centred isotonic); Guo et
/// al., ICML 2017 (temperature).
///
/// # Example
/// Logits ±ln 3 predict 3/4 and 1/4, outcome rates are 2/3 and 1/3: a slope of ln 2 / ln 3.
/// ```
/// use calipers::Input;
/// use calipers::recalibrate::{Method, Recalibrate};
///
/// let p = [0.75, 0.75, 0.75, 0.25, 0.25, 0.25];
/// let predictions = Input::probabilities(&p, &[1, 1, 0, 1, 0, 0]).check()?;
/// let fit = Recalibrate::new(Method::Temperature).fit(&predictions.binary()?)?;
/// assert!((fit.parameters[0].value - 2f64.ln() / 3f64.ln()).abs() < 1e-14);
/// assert!((fit.map.apply_probability(0.75) - 2.0 / 3.0).abs() < 1e-14);
/// assert!(fit.bound.standard_errors < 1e-12);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Recalibrate {
    pub(crate) method: Method,
    pub(crate) ridge: Option<f64>,
    pub(crate) mixture: Option<f64>,
    pub(crate) clip: f64,
    pub(crate) between: Between,
    pub(crate) n_bins: usize,
    pub(crate) smoothing: Option<f64>,
    pub(crate) counts: bool,
    pub(crate) one_vs_rest: bool,
}

impl Default for Recalibrate {
    fn default() -> Self {
        Recalibrate::new(Method::default())
    }
}

impl Recalibrate {
    /// The default ridge and mixture of the method, a clip of 1e-12, 10 bins, weights that are not
    /// counts.
    pub fn new(method: Method) -> Self {
        Recalibrate {
            method,
            ridge: None,
            mixture: None,
            clip: 1e-12,
            between: Between::Line,
            n_bins: 10,
            smoothing: None,
            counts: false,
            one_vs_rest: false,
        }
    }

    setters! {
        /// The family of maps.
        method: Method;

        /// Coefficient of the ridge toward the identity; 0 for the maximum of the likelihood.
        /// Tables have none.
        ridge: some f64;

        /// The share of equal probabilities that is mixed in; unless set, 1 / (n_eff + 1) for
        /// isotonic maps and for temperatures of more than two classes, and else 0.
        mixture: some f64;

        /// Probabilities are clipped to [clip, 1 - clip], since 0 and 1 have no finite logit. Raw
        /// scores are taken as they are.
        clip: f64;

        /// What an isotonic map is between its knots.
        between: Between;

        /// Coefficient of the penalty on the curvature of a spline; unless set, it is chosen by the
        /// log-loss of five folds.
        smoothing: some f64;

        /// The number of bins; fewer where ties leave some empty.
        n_bins: usize;

        /// Whether a weight is a number of equal rows; always for Venn-Abers prediction. Then n_eff
        /// is the sum of weights, and the fit is that of the repeated rows.
        counts: bool;

        /// Whether rows of classes get a map of a binary outcome for each class against the rest,
        /// whose probabilities are then divided by their sum.
        one_vs_rest: bool;
    }

    /// The map that these rows support best, or the rows that a sketch has counted, for which a
    /// note says how far that is from the fit of the rows. For rows of more than two classes see
    /// [`fit_classes`](Self::fit_classes).
    pub fn fit<'s>(&self, sample: impl Into<Sample<'s>>) -> Result<Fit<BinaryMap>, Error> {
        self.check()?;
        let sample = sample.into();
        let clusters = sample.resolved_clusters()?;
        match sample.binary("recalibration")? {
            Binary::Rows(view) => {
                if clusters.is_none()
                    && let Some(found) = self.fit_unsorted(view)
                {
                    return Ok(self.reported_unsorted(view, found).0);
                }
                let ordered = self.ordered(view)?;
                Ok(self.fit_ordered(view, &ordered, clusters.as_ref())?.0)
            }
            Binary::Sketch(sketch) => self.fit_sketch(sketch),
        }
    }

    /// The rows of a view as this fit takes them.
    pub(crate) fn ordered(&self, view: &BinaryView<'_>) -> Result<Ordered, Error> {
        Ordered::new(view, self.clip, self.counts || self.method == Method::VennAbers)
    }

    /// Whether the options are in their ranges.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let ridge = self.ridge.unwrap_or(0.0);
        Error::require(ridge >= 0.0 && ridge.is_finite(), "ridge", "finite and not negative", ridge)?;
        let mixture = self.mixture.unwrap_or(0.0);
        Error::require((0.0..1.0).contains(&mixture), "mixture", "in [0, 1)", mixture)?;
        let smoothing = self.smoothing.unwrap_or(0.0);
        let rule = "finite and not negative";
        Error::require(smoothing >= 0.0 && smoothing.is_finite(), "smoothing", rule, smoothing)?;
        Error::require(self.n_bins > 0, "n_bins", "at least 1", self.n_bins)?;
        Error::require(self.clip > 0.0 && self.clip < 0.5, "clip", "above 0 and below 1/2", self.clip)
    }

    pub(crate) fn ridge_in_use(&self) -> f64 {
        if self.method.is_table() { 0.0 } else { self.ridge.unwrap_or(self.method.default_ridge()) }
    }

    /// The fit with its report, and with what an interval for its gain needs.
    pub(crate) fn fit_ordered(
        &self,
        view: &BinaryView<'_>,
        ordered: &Ordered,
        clusters: Option<&Clusters>,
    ) -> Result<(Fit<BinaryMap>, Fitted), Error> {
        let atoms = ordered.pooled(|_| true);
        // The same fit as without sorted rows, to the bit.
        if clusters.is_none()
            && let Some(found) = self.fit_unsorted(view)
        {
            let formula = found.fitted.formula.as_ref().zip(found.scatter.as_ref());
            let spread = formula.map(|(formula, scatter)| formula.spread(scatter, &atoms));
            let (fit, mut fitted) = self.reported_unsorted(view, found);
            fitted.spread = spread;
            return Ok((fit, fitted));
        }
        let design = Design::new(self.method, &atoms);
        let mut fitted = self.fit_atoms(&design, &atoms)?;
        let scatter = fitted.formula.as_ref().map(|formula| match clusters {
            None => formula.scatter(&design, &atoms),
            Some(clusters) => clustered_scatter(formula, ordered, clusters, view.len(), atoms.total()),
        });
        let about = self.about(view, ordered.clipped);
        Ok((self.reported(&atoms, &mut fitted, scatter, about), fitted))
    }

    /// The map of pooled rows, whose features are given.
    pub(crate) fn fit_atoms(&self, design: &Design, atoms: &Atoms) -> Result<Fitted, Error> {
        let clip = self.clip;
        let rule = "a method for a binary outcome";
        Error::require(!self.method.is_of_classes(), "method", rule, format!("{:?}", self.method.name()))?;
        if self.method == Method::Identity {
            let map = BinaryMap { clip, ..BinaryMap::identity() };
            return Ok(Fitted { map, formula: None, effective_parameters: 0.0, spread: None, notes: Vec::new() });
        }
        atoms.check_outcomes()?;
        let is_isotonic = matches!(self.method, Method::Isotonic | Method::CentredIsotonic);
        let mixture = self.mixture.unwrap_or(if is_isotonic { 1.0 / (atoms.effective_n + 1.0) } else { 0.0 });
        let mut map = BinaryMap { method: self.method, mixture, clip, ..BinaryMap::identity() };
        let table = |map: BinaryMap, n_steps: usize, notes: Vec<Note>| {
            Ok(Fitted { map, formula: None, effective_parameters: n_steps as f64, spread: None, notes })
        };
        match self.method {
            Method::VennAbers => {
                let venn_abers = VennAbers::fit(atoms)?;
                let n_steps = venn_abers.n_steps();
                map.venn_abers = Some(venn_abers);
                table(map, n_steps, Vec::new())
            }
            Method::Bins => {
                let Bins { table: of_bins, within } = Bins::fit(atoms, self.n_bins);
                let n_steps = of_bins.at.len();
                map.table = Some(of_bins);
                let note = within.map(|distance| Note::BinsWithin { distance, level: bins::LEVEL });
                table(map, n_steps, note.into_iter().collect())
            }
            Method::Isotonic | Method::CentredIsotonic => {
                let (of_blocks, n_steps) = Table::fit(self.method, atoms, self.between);
                map.table = Some(of_blocks);
                table(map, n_steps, Vec::new())
            }
            Method::Spline => {
                let ridge = self.ridge_in_use();
                let SplineFit { formula, spline, notes } = SplineFit::new(design, atoms, ridge, self.smoothing)?;
                map.parameters = spline.value.clone();
                map.spline = Some(spline);
                let effective_parameters = formula.effective_parameters();
                Ok(Fitted { map, effective_parameters, formula: Some(formula), spread: None, notes })
            }
            _ => {
                let formula = Fitter { method: self.method, ridge: self.ridge_in_use() }.fit(design, atoms)?;
                map.parameters = formula.theta.clone();
                let effective_parameters = formula.effective_parameters();
                Ok(Fitted { map, effective_parameters, formula: Some(formula), spread: None, notes: Vec::new() })
            }
        }
    }
}

/// A map with the fit that it comes from.
#[derive(Debug, Clone)]
pub(crate) struct Fitted {
    pub(crate) map: BinaryMap,
    /// Of maps that are formulas.
    pub(crate) formula: Option<Formula>,
    pub(crate) effective_parameters: f64,
    /// Of formulas: how uncertain the fit is.
    pub(crate) spread: Option<Spread>,
    /// What the method itself has to say.
    pub(crate) notes: Vec<Note>,
}

impl Fitted {
    /// Covariances of the parameters of the map, for the scatter of the gradients of its formula; 0
    /// for those that are held.
    pub(crate) fn covariance(&self, scatter: &Symmetric) -> Symmetric {
        let Some(formula) = &self.formula else { return Symmetric::zero(0) };
        let of_free = formula.factor.sandwich(scatter);
        let d = formula.theta.len();
        let mut all = Symmetric::zero(d);
        for (i, &a) in formula.free.iter().enumerate() {
            formula.free[..=i].iter().enumerate().for_each(|(j, &b)| all.add(a, b, of_free.get(i, j)));
        }
        // The parameters of a spline are its values at the knots, and not those of its basis.
        let Some(spline) = &self.map.spline else { return all };
        let rows: Vec<[f64; MOST]> = spline.knots.iter().map(|knot| formula.basis.features(*knot)).collect();
        let mut at_knots = Symmetric::zero(rows.len());
        for (a, row) in rows.iter().enumerate() {
            let along: Vec<f64> = (0..d).map(|j| (0..d).map(|i| row[i] * all.get(i, j)).sum()).collect();
            for (b, other) in rows[..=a].iter().enumerate() {
                at_knots.add(a, b, along.iter().zip(other).map(|(along, other)| along * other).sum());
            }
        }
        at_knots
    }

    /// The parameters of the map with their standard errors.
    pub(crate) fn parameters(&self, covariance: &Symmetric) -> Vec<Parameter> {
        let Some(formula) = &self.formula else { return Vec::new() };
        let is_known = |place: usize| self.map.spline.is_some() || formula.free.contains(&place);
        let parameter = |(place, (name, value)): (usize, (&&'static str, &f64))| Parameter {
            name,
            value: *value,
            standard_error: is_known(place).then(|| covariance.get(place, place).max(0.0).sqrt()),
        };
        self.map.method.parameter_names().iter().zip(&self.map.parameters).enumerate().map(parameter).collect()
    }
}

/// What the interval of the gain needs to know about a formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// κ: 1 / n for independent rows of a family that contains the truth, and not below.
    pub(crate) unit: f64,
    /// d: the number of parameters.
    pub(crate) dimension: f64,
    pub(crate) bend: Bend,
    /// v'Hv for the way v from the identity to the fit; 0 where it is not known.
    pub(crate) square: f64,
    /// 1 / the number of rows that decide the fit.
    pub(crate) concentration: f64,
}

/// Mean log-loss of a map.
pub(crate) fn mean_loss(map: &BinaryMap, atoms: &Atoms) -> f64 {
    if !map.method.is_table() && map.mixture == 0.0 {
        return logistic_loss(atoms, |h| map.predictor(h));
    }
    let loss = |atom: &Atom| {
        let [negative, positive] = map.losses(atom.h);
        // A weight of 0 beside an infinite loss is none.
        let part = |weight: f64, loss: f64| if weight > 0.0 { weight * loss } else { 0.0 };
        part(atom.weights[0], negative) + part(atom.weights[1], positive)
    };
    let [sum] = parallel::sums(atoms.atoms.len(), |range, sums| {
        atoms.atoms[range].iter().for_each(|atom| sums[0].add(loss(atom)));
    });
    sum / atoms.total()
}

/// Σ_c (Σ_{i in c} ω_i g_i)(…)', with the factor C / (C - 1).
fn clustered_scatter(
    formula: &Formula,
    ordered: &Ordered,
    clusters: &Clusters,
    n_rows: usize,
    total: f64,
) -> Symmetric {
    let d = formula.free.len();
    let mut gradients = vec![0.0; n_rows * d];
    for row in &ordered.rows {
        let features = formula.basis.features(row.h());
        let (p, complement) = both(formula.basis.predictor(row.h(), &formula.theta));
        let residual = row.weight() / total * if row.outcome() { -complement } else { p };
        for (i, &place) in formula.free.iter().enumerate() {
            gradients[row.index as usize * d + i] = residual * features[place];
        }
    }
    let mut scatter = Symmetric::zero(d);
    let n_clusters = clusters.len() as f64;
    for cluster in 0..clusters.len() {
        let mut sum = vec![Sum::default(); d];
        for &row in clusters.rows_of(cluster) {
            sum.iter_mut().zip(&gradients[row * d..(row + 1) * d]).for_each(|(sum, gradient)| sum.add(*gradient));
        }
        let sum: Vec<f64> = sum.into_iter().map(Sum::value).collect();
        for i in 0..d {
            (0..=i).for_each(|j| scatter.add(i, j, n_clusters / (n_clusters - 1.0) * sum[i] * sum[j]));
        }
    }
    scatter
}
