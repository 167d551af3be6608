//! The fit of rows of classes, and temperature scaling of them.

use std::cell::Cell;

use super::map::ClassMap;
use super::panel::Panel;
use super::sample::{ClassSample, Units};
use crate::Error;
use crate::data::{ClassScores, Predictions};
use crate::error::number;
use crate::recalibrate::binary::formula::Bend;
use crate::recalibrate::fit::newton::{FitBound, NotFound};
use crate::recalibrate::fit::slope::{self, AtSlope};
use crate::recalibrate::fit::{Fit, Note, Parameter};
use crate::recalibrate::method::Method;
use crate::recalibrate::options::{Recalibrate, Spread};
use crate::recalibrate::verdict::folds::mixed;

/// From so many scores on, a slope is first sought on some of the rows.
const MANY: usize = 1 << 18;

/// Rows of these at least.
const FEWEST_OF_SOME: usize = 200;

/// Sums over rows that do not depend on their order: integers, in units of 2^-92.
#[derive(Debug, Clone, Copy, Default)]
struct Fixed(i128);

impl Fixed {
    /// Terms are at most 2 in size, weights at most 1, and rows fewer than 2^32.
    const UNIT: f64 = (1u128 << 92) as f64;

    fn add(&mut self, term: f64) {
        self.0 += (term * Self::UNIT) as i128;
    }

    fn value(self) -> f64 {
        self.0 as f64 / Self::UNIT
    }
}

/// Sums of all rows at a slope: two derivatives of the log-loss, squares of both, sizes of the
/// first, and the log-loss in a unit of its own.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    first: Fixed,
    second: Fixed,
    squares: Fixed,
    leverages: Fixed,
    sizes: Fixed,
    loss: Fixed,
}

/// Rows that are fitted: all, or those of some folds.
pub(crate) struct Chosen<'a> {
    pub(crate) scores: &'a ClassScores<'a>,
    pub(crate) is_chosen: &'a (dyn Fn(usize) -> bool + Sync),
    pub(crate) total: f64,
    pub(crate) effective_n: f64,
    /// Rows with weight.
    pub(crate) n: u64,
    pub(crate) counts: bool,
}

impl<'a> Chosen<'a> {
    pub(crate) fn new(
        scores: &'a ClassScores<'a>,
        is_chosen: &'a (dyn Fn(usize) -> bool + Sync),
        counts: bool,
    ) -> Self {
        let (mut total, mut squares, mut n) = (Fixed::default(), Fixed::default(), 0);
        for index in (0..scores.len()).filter(|index| is_chosen(*index)) {
            let weight = scores.weight(index);
            total.add(weight);
            squares.add(weight * weight);
            n += u64::from(weight > 0.0);
        }
        let effective =
            if counts { total.value() * scores.weight_unit } else { total.value().powi(2) / squares.value() };
        Chosen { scores, is_chosen, total: total.value(), effective_n: effective, n, counts }
    }

    /// Σ over the chosen rows at a slope in units of [`ClassScores::unit`].
    fn totals(&self, slope: f64) -> Totals {
        // Losses are at most log k + slope · 2.
        let loss_unit = 1.0 / ((self.scores.n_classes() as f64).ln() + 2.0 * slope);
        let chunks = self.scores.at_slope_of(self.is_chosen, slope, |range, terms| {
            let mut totals = Totals::default();
            for (index, terms) in range.zip(terms).filter(|(index, _)| (self.is_chosen)(*index)) {
                let weight = self.scores.weight(index);
                totals.first.add(weight * terms.first);
                totals.second.add(weight * terms.second);
                totals.squares.add(self.square(index) * terms.first * terms.first);
                totals.leverages.add(self.square(index) * terms.second * terms.second);
                totals.sizes.add(weight * terms.first.abs());
                totals.loss.add(weight * (terms.loss * loss_unit));
            }
            totals
        });
        let add = |sum: Fixed, part: Fixed| Fixed(sum.0 + part.0);
        chunks.into_iter().fold(Totals::default(), |all, part| Totals {
            first: add(all.first, part.first),
            second: add(all.second, part.second),
            squares: add(all.squares, part.squares),
            leverages: add(all.leverages, part.leverages),
            sizes: add(all.sizes, part.sizes),
            loss: add(all.loss, part.loss),
        })
    }

    /// Two derivatives of the mean log-loss, and the mean log-loss, at a slope in units of
    /// [`ClassScores::unit`].
    pub(crate) fn derivatives(&self, slope: f64) -> (f64, f64, f64) {
        let bound = (self.scores.n_classes() as f64).ln() + 2.0 * slope;
        let totals = self.totals(slope);
        let [first, second, loss] = [totals.first, totals.second, totals.loss].map(|sum| sum.value() / self.total);
        (first, second, bound * loss)
    }

    /// The standard deviation of the first derivative where labels are drawn by the softmax.
    pub(crate) fn spread(&self, slope: f64) -> f64 {
        let chunks = self.scores.at_slope_of(self.is_chosen, slope, |range, terms| {
            let mut sum = Fixed::default();
            for (index, terms) in range.zip(terms).filter(|(index, _)| (self.is_chosen)(*index)) {
                sum.add(self.square(index) * terms.second);
            }
            sum
        });
        chunks.iter().fold(Fixed::default(), |sum, part| Fixed(sum.0 + part.0)).value().sqrt() / self.total
    }

    /// The square of a weight; a weight that counts rows stands for so many squares.
    fn square(&self, index: usize) -> f64 {
        let weight = self.scores.weight(index);
        if self.counts { weight / self.scores.weight_unit } else { weight * weight }
    }

    /// Mean log-loss at a slope of the scores as they are.
    pub(crate) fn log_loss(&self, slope: f64) -> f64 {
        self.derivatives(slope / self.scores.unit).2
    }

    /// The best slope, with its standard error by the sandwich formula and the certificate.
    pub(crate) fn temperature(&self, ridge: f64) -> Result<Slope, Error> {
        let unit = self.scores.unit;
        // 2λ: not multiplied by the unit where it is 0, since the unit's square may overflow.
        let pull = if ridge > 0.0 { 2.0 * ridge / self.effective_n * unit } else { 0.0 };
        let stiffness = if ridge > 0.0 { pull * unit } else { 0.0 };
        // The slope of scores in units of `unit`: that of the scores themselves divided by it.
        let last = Cell::new((0.0, Totals::default()));
        let at = |slope: f64| {
            let totals = self.totals(slope);
            last.set((slope, totals));
            let [first, second, size] = [totals.first, totals.second, totals.sizes].map(|sum| sum.value() / self.total);
            AtSlope {
                first: first + pull * (slope * unit - 1.0),
                second: second + stiffness,
                // Terms are off by some 20 units of rounding, x = slope · distance by two more.
                error: 64.0 * f64::EPSILON * (size + second * slope + pull),
            }
        };
        self.outlook().check(ridge)?;
        // Where most probabilities are 0 and 1, the derivative is the same for all slopes: so the
        // search begins where scores have a range of about 4, and not where all are alike.
        let start = self.slope_of_some(ridge).unwrap_or((1.0 / unit).clamp(0.01, 4.0));
        let (slope, found) = slope::minimise(&at, start).map_err(NotFound::error)?;
        let root_n = self.effective_n.sqrt();
        let reach = 2.0 / found.second.sqrt();
        let bound = FitBound::near(found.distance(), reach, root_n).ok_or_else(|| NotFound.error())?;
        let (at, of_last) = last.get();
        let totals = if at == slope { of_last } else { self.totals(slope) };
        let squares = totals.squares.value() / (self.total * self.total);
        let standard_error = squares.sqrt() / found.second;
        let information = found.second - stiffness;
        // As for a binary outcome: see `Formula::spread`.
        let kappa = (squares / information).max(1.0 / self.effective_n);
        let away = slope - 1.0 / unit;
        Ok(Slope {
            value: slope * unit,
            standard_error: standard_error * unit,
            bound,
            share: information / found.second,
            unit: kappa,
            square: away * away * information,
            concentration: totals.leverages.value() / (self.total * information).powi(2) * (kappa * self.effective_n),
        })
    }

    /// The best slope of a sixteenth of the rows, which are chosen by their content: a start that
    /// saves passes over all of them. `None` where rows are few, or these have no best slope.
    fn slope_of_some(&self, ridge: f64) -> Option<f64> {
        let scores = self.scores;
        if scores.len() * scores.n_classes() < MANY || scores.len() < 16 * FEWEST_OF_SOME {
            return None;
        }
        let is_some = |index: usize| (self.is_chosen)(index) && mixed(scores.of_label(index).to_bits()) >> 60 == 0;
        let some = Chosen::new(scores, &is_some, self.counts);
        if some.n < FEWEST_OF_SOME as u64 || some.n > self.n / 8 {
            return None;
        }
        // As much of a ridge as all rows have.
        let of_some = ridge * some.effective_n / self.effective_n;
        some.temperature(of_some).ok().map(|found| found.value / scores.unit).filter(|slope| slope.is_normal())
    }

    /// What a temperature can be.
    pub(crate) fn outlook(&self) -> Outlook {
        let scores = self.scores;
        let chunks = scores.distances(self.is_chosen, |range, distances| {
            let (mut toward, mut is_wrong) = (Fixed::default(), false);
            for (index, [own, mean]) in range.zip(distances).filter(|(index, _)| (self.is_chosen)(*index)) {
                // At slope 0 all classes are alike.
                let weight = scores.weight(index);
                toward.add(weight * (mean - own));
                is_wrong |= weight > 0.0 && *own > 0.0;
            }
            (toward, is_wrong)
        });
        let toward = chunks.iter().fold(Fixed::default(), |sum, (part, _)| Fixed(sum.0 + part.0)).value();
        Outlook {
            toward: toward / self.total / scores.unit,
            is_separated: !chunks.iter().any(|(_, is_wrong)| *is_wrong),
            n: self.n,
            effective_n: self.effective_n,
        }
    }
}

/// Whether rows have a best temperature.
pub(crate) struct Outlook {
    /// By how much scores of labels are above the mean score, on average.
    toward: f64,
    /// Whether all labels have the largest score.
    is_separated: bool,
    n: u64,
    effective_n: f64,
}

impl Outlook {
    /// What has no temperature is an error.
    fn check(&self, ridge: f64) -> Result<(), Error> {
        if !(self.toward + 2.0 * ridge / self.effective_n > 0.0) {
            return Err(self.falls());
        }
        if ridge == 0.0 { self.check_separation() } else { Ok(()) }
    }

    pub(crate) fn check_separation(&self) -> Result<(), Error> {
        if !self.is_separated {
            return Ok(());
        }
        let rule = "with a label that has not the largest score where ridge is 0, since there is no finite slope else";
        Err(Error::setting("rows", rule, format!("{} rows, and none is", self.n)))
    }

    pub(crate) fn is_falling(&self) -> bool {
        !(self.toward > 0.0)
    }

    pub(crate) fn is_separated(&self) -> bool {
        self.is_separated
    }

    fn falls(&self) -> Error {
        let rule = "of scores that rise with the outcome, since the best inverse temperature is 0 else";
        Error::setting("rows", rule, format!("a mean score of {} toward the label", number(self.toward)))
    }
}

/// A fitted slope.
pub(crate) struct Slope {
    pub(crate) value: f64,
    pub(crate) standard_error: f64,
    pub(crate) bound: FitBound,
    /// The share of the information that is not of the ridge.
    pub(crate) share: f64,
    /// κ of the rule in `gain.rs`: the variance of the derivative over the information, and not
    /// below 1 / n.
    pub(crate) unit: f64,
    /// v'Hv of the rule, with v the way from a slope of 1.
    pub(crate) square: f64,
    /// 1 / the number of rows that decide the slope.
    pub(crate) concentration: f64,
}

impl Recalibrate {
    /// The map of rows of classes: identity, temperature, ensemble temperature, bias-corrected
    /// temperature, vector or matrix scaling, or with [`one_vs_rest`](Self::one_vs_rest) any map of
    /// a binary outcome for each class.
    ///
    /// # Definition
    /// With l the logarithms of the probabilities of k classes, which raw scores have by softmax,
    /// the temperature is the slope β that minimises the mean log-loss of softmax(β l). Then
    /// ```text
    /// J = Σ ω_i loss_i + (ridge / n_eff) (|scale - 1|² + |bias|² + (k - 1) |off-diagonal|²)
    /// ```
    /// is minimised over the scales, the biases and the matrix of softmax(scale · g + bias), where
    /// g = log((1 - e) softmax(β l) + e / k) with e = 1 / (n_eff + 1). The default ridge is k; the
    /// one scale of the bias-corrected temperature has none. With a ridge of 0, g is l, and the
    /// biases and the columns of the matrix sum to 0, since softmax does not see their sums. A
    /// class that no row has gets the mean of the other classes' parameters. Temperature has no
    /// ridge unless one is set, and a mixture with 1 / k ([`mixture`](Self::mixture)) for more than
    /// two classes. [`Method`] has the formulas, [`Fit::parameters`] the parameters in the order of
    /// classes.
    ///
    /// # Cost
    /// Temperature: 6 to 12 passes over the scores, which are read in place in their own precision;
    /// probabilities are copied as logarithms once. Scalings: a copy of the scores in doubles, 10
    /// to 20 passes and 1 to 3 Hessians of n d² / 2 products for d parameters. With more than 600
    /// parameters there are products with the Hessian only. Up to 250 parameters have standard
    /// errors, which take the first slope as given.
    ///
    /// # Accuracy
    /// As for [`fit`](Self::fit). The order of rows, the order of classes and the number of threads
    /// change no bit. For temperature, sums over classes are exact, and sums over rows are of
    /// integers; for scalings, rows and classes are sorted by their content first. Where each class
    /// is fitted against the rest, another order of classes may change the last digits.
    ///
    /// # Reference
    /// Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017;
    /// Alexandari, Kundaje, Shrikumar, ICML 2020 (bias-corrected temperature); Zhang, Kailkhura,
    /// Han, ICML 2020 (ensembles); Berta, Holzmüller, Jordan, Bach 2025 (the ridges and g, known as
    /// structured vector and matrix scaling).
    ///
    /// # Example
    /// Scores ln 8 ahead of two others say 0.8, and 2 of 3 labels are right: at a slope of 2/3 they
    /// are ln 4 ahead, which is 2/3.
    /// ```
    /// use calipers::Input;
    /// use calipers::recalibrate::{Method, Recalibrate};
    ///
    /// let z = [8f64.ln(), 0.0, 0.0, 0.0, 8f64.ln(), 0.0, 0.0, 0.0, 8f64.ln()];
    /// let predictions = Input::logits(&z, &[0, 1, 0]).classes(3).check()?;
    /// let fit = Recalibrate::new(Method::Temperature).fit_classes(&predictions)?;
    /// assert!((fit.map.slope - 2.0 / 3.0).abs() < 1e-14);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn fit_classes<'s>(&self, sample: impl Into<ClassSample<'s>>) -> Result<Fit<ClassMap>, Error> {
        self.check()?;
        let sample = sample.into();
        let predictions = sample.predictions;
        self.check_classes(predictions)?;
        let classes = Classes::new(self, predictions)?;
        let rows = classes.chosen(&|_| true);
        let found = classes.fit(&rows, Detail::Errors)?;
        let clusters = sample.resolved_clusters()?;
        Ok(Units { clusters: clusters.as_ref() }.known(classes.report(&rows, found)))
    }

    pub(crate) fn check_classes(&self, predictions: &Predictions<'_>) -> Result<(), Error> {
        let k = predictions.n_classes();
        Error::require(k > 1, "recalibration", "of rows of classes", "a plain column of scores")?;
        let name = format!("{:?}", self.method.name());
        if self.one_vs_rest {
            Error::require(!self.method.is_of_classes(), "method", "for a binary outcome with one_vs_rest", name)?;
        } else {
            let has_map = matches!(self.method, Method::Identity | Method::Temperature) || self.method.is_of_classes();
            let rule = "for rows of classes, or one_vs_rest must be set";
            Error::require(has_map, "method", rule, name)?;
        }
        if predictions.is_empty() { Err(Error::NoRows) } else { Ok(()) }
    }

    /// The coefficient of the ridge for k classes: k for scalings.
    pub(crate) fn ridge_of_classes(&self, k: usize) -> f64 {
        match self.method {
            Method::BiasCorrectedTemperature | Method::Vector | Method::Matrix => self.ridge.unwrap_or(k as f64),
            Method::EnsembleTemperature => self.ridge.unwrap_or(0.0),
            _ => self.ridge_in_use(),
        }
    }
}

/// How much a fit computes beside its map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Standard errors and what an interval for the gain needs.
    Errors,
    MapOnly,
}

/// Rows of classes that are fitted, as each method needs them.
pub(crate) struct Classes<'a> {
    pub(crate) options: &'a Recalibrate,
    pub(crate) predictions: &'a Predictions<'a>,
    pub(crate) scores: ClassScores<'a>,
    /// For scalings.
    pub(crate) panel: Option<Panel>,
}

/// A fitted map of classes, with what is known about the fit.
pub(crate) struct ClassFit {
    pub(crate) map: ClassMap,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) covariance: Vec<f64>,
    pub(crate) log_loss_after: f64,
    pub(crate) bound: FitBound,
    pub(crate) effective_parameters: f64,
    pub(crate) notes: Vec<Note>,
    /// For the interval of the gain of temperature; other maps have the rule for tables, which in
    /// simulations covers 95 to 100 % for scalings of 3 classes; more were not tried.
    pub(crate) spread: Option<Spread>,
}

impl<'a> Classes<'a> {
    pub(crate) fn new(options: &'a Recalibrate, predictions: &'a Predictions<'a>) -> Result<Self, Error> {
        let scores = predictions.class_scores(options.clip);
        if !(0..scores.len()).any(|index| scores.weight(index) > 0.0) {
            return Err(Error::ZeroWeights { n_rows: scores.len() as u64 });
        }
        let is_scaling = matches!(options.method, Method::BiasCorrectedTemperature | Method::Vector | Method::Matrix);
        let panel = is_scaling.then(|| Panel::new(&scores));
        Ok(Classes { options, predictions, scores, panel })
    }

    pub(crate) fn chosen<'c>(&'c self, is_chosen: &'c (dyn Fn(usize) -> bool + Sync)) -> Chosen<'c> {
        Chosen::new(&self.scores, is_chosen, self.options.counts)
    }

    /// The map of some rows.
    pub(crate) fn fit(&self, rows: &Chosen<'_>, detail: Detail) -> Result<ClassFit, Error> {
        match (&self.panel, self.options.method) {
            (Some(panel), _) => self.fit_scaling(rows, panel, detail),
            (None, Method::EnsembleTemperature) => self.fit_ensemble(rows),
            (None, Method::Identity) => self.fit_slope(rows),
            _ if self.options.one_vs_rest => self.fit_one_vs_rest(rows, detail),
            _ => self.fit_slope(rows),
        }
    }

    /// The identity and temperature.
    fn fit_slope(&self, rows: &Chosen<'_>) -> Result<ClassFit, Error> {
        let (options, k) = (self.options, self.scores.n_classes());
        let found = match options.method {
            Method::Identity => None,
            _ => Some(rows.temperature(options.ridge_of_classes(k))?),
        };
        let mixture = match (options.method, options.mixture) {
            (Method::Identity, _) => 0.0,
            (_, Some(mixture)) => mixture,
            (_, None) if k > 2 => 1.0 / (rows.effective_n + 1.0),
            _ => 0.0,
        };
        let slope = found.as_ref().map_or(1.0, |found| found.value);
        let map = ClassMap { method: options.method, slope, mixture, clip: options.clip, ..ClassMap::identity(k) };
        let spread = |found: &Slope| {
            let bend = Bend { stretch: 1.0 / found.share, ..Bend::NONE };
            let unit = found.unit;
            Spread { unit, dimension: 1.0, bend, square: found.square, concentration: found.concentration }
        };
        Ok(ClassFit {
            parameters: found.iter().map(Slope::parameter).collect(),
            covariance: found.iter().map(|found| found.standard_error.powi(2)).collect(),
            log_loss_after: mixed_loss(rows, &map),
            bound: found.as_ref().map_or(FitBound::default(), |found| found.bound),
            effective_parameters: found.as_ref().map_or(0.0, |found| found.share),
            notes: Vec::new(),
            spread: found.as_ref().map(spread),
            map,
        })
    }

    /// What users see of a fit.
    pub(crate) fn report(&self, rows: &Chosen<'_>, found: ClassFit) -> Fit<ClassMap> {
        let k = self.scores.n_classes();
        let mut occurs = vec![false; k];
        let with_weight = (0..self.scores.len()).filter(|index| self.scores.weight(*index) > 0.0);
        with_weight.for_each(|index| occurs[self.scores.labels[index] as usize] = true);
        let absent = (0..k).filter(|class| !occurs[*class]).map(|class| match self.options.one_vs_rest {
            true => Note::KeptClass { class },
            false => Note::AbsentClass { class },
        });
        Fit {
            map: found.map,
            method: self.options.method,
            parameters: found.parameters,
            covariance: found.covariance,
            log_loss_before: rows.log_loss(1.0),
            log_loss_after: found.log_loss_after,
            bound: found.bound,
            ridge: self.options.ridge_of_classes(k),
            effective_parameters: found.effective_parameters,
            notes: absent.chain(found.notes).collect(),
            n: rows.n,
            effective_n: rows.effective_n,
            n_clipped: self.scores.n_clipped,
            input: self.predictions.report().clone(),
        }
    }
}

impl Slope {
    pub(crate) fn parameter(&self) -> Parameter {
        Parameter { name: "slope", value: self.value, standard_error: Some(self.standard_error) }
    }
}

/// Mean log-loss after the map, its mixture included.
fn mixed_loss(rows: &Chosen<'_>, map: &ClassMap) -> f64 {
    if map.mixture == 0.0 {
        return rows.log_loss(map.slope);
    }
    let slope = map.slope / rows.scores.unit;
    let equal = map.mixture / map.n_classes as f64;
    // At most -ln(equal), which is below 2^10 for any mixture that a double can have.
    let unit = 2f64.powi(-10);
    let chunks = rows.scores.at_slope_of(rows.is_chosen, slope, |range, terms| {
        let mut sum = Fixed::default();
        for (index, terms) in range.zip(terms).filter(|(index, _)| (rows.is_chosen)(*index)) {
            let p = (1.0 - map.mixture) * (-terms.loss).exp() + equal;
            sum.add(rows.scores.weight(index) * (-p.ln() * unit));
        }
        sum
    });
    chunks.iter().fold(Fixed::default(), |sum, part| Fixed(sum.0 + part.0)).value() / unit / rows.total
}
