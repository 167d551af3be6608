//! The fit of maps by group.

use super::joint::{Found, Group, Joint, Own};
use super::maps::{GroupMaps, Groups};
use super::pooling::{Likelihood, Quadratic};
use crate::Error;
use crate::data::{Binary, Sample};
use crate::numerics::cholesky::{Cholesky, Symmetric};
use crate::numerics::sum::Sum;
use crate::recalibrate::binary::linear::Design;
use crate::recalibrate::binary::logits::Clipped;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::rows::{Atom, Atoms, Ordered};
use crate::recalibrate::fit::newton::NotFound;
use crate::recalibrate::fit::{Fit, Note, Parameter};
use crate::recalibrate::method::Method;
use crate::recalibrate::options::{Recalibrate, mean_loss};

/// Maps by group, with what is known about the fit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GroupedFit {
    /// The maps and what is known of all rows. Parameters are those that the groups have in common,
    /// with standard errors of the model: they take the rows as independent, and the log-loss after
    /// is that of each row by the map of its group.
    pub fit: Fit<GroupMaps>,
    /// Each group, in the order of [`GroupMaps::names`].
    pub groups: Vec<GroupFit>,
}

/// The map of one group, with what is known about it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GroupFit {
    /// Its name.
    pub name: String,
    /// The parameters of its map, with standard errors of the model.
    pub parameters: Vec<Parameter>,
    /// The share of the map that the group's own rows decide: 0 where it is the pooled one, 1 where
    /// the other groups count for nothing.
    pub own_share: f64,
    /// Mean log-loss of its rows before.
    pub log_loss_before: f64,
    /// Mean log-loss of the same rows after: in sample.
    pub log_loss_after: f64,
    /// Rows with weight.
    pub n: u64,
    /// (Σw)² / Σw², or Σw where weights count rows.
    pub effective_n: f64,
}

impl Recalibrate {
    /// A map for each group, partially pooled: drawn to what all groups have in common, as far as
    /// the rows say.
    ///
    /// # Definition
    /// ```text
    /// J(θ, β) = Σ_i ω_i loss_i(β_g(i)) + (1 / n_eff) [ ridge |θ - identity|² + Σ_g Σ_j (β_gj - θ_j)² / (2 τ_j²) ]
    /// ```
    /// θ is the map of a group without rows, β_g that of group g and τ_j how much parameter j
    /// differs among groups, which is estimated from the rows by restricted maximum likelihood. A τ
    /// of 0 makes the parameter common to all groups. So a group of few rows, or of one outcome,
    /// has nearly the pooled map, and one of many rows its own.
    ///
    /// # Assumptions
    /// Rows that the model was not trained on, and groups that are alike: which of them deviates is
    /// not known before.
    ///
    /// # Cost
    /// Some rounds of fits to all groups. With thousands of groups the spreads take most of the
    /// time, which grows with the number of groups.
    ///
    /// # Accuracy
    /// For the spreads τ of the result, [`Fit::bound`] has the proven distance from
    /// the minimum of J.
    ///
    /// # Reference
    /// Breslow, Clayton, "Approximate inference in generalized linear mixed models", JASA 1993.
    ///
    /// # Example
    /// ```
    /// use calipers::Input;
    /// use calipers::recalibrate::{Groups, Method, Recalibrate};
    ///
    /// // Predictions of 1/2; outcomes of 1 are frequent in one group and rare in the other.
    /// let labels: Vec<u8> = (0..400).map(|row| u8::from(row % 10 < if row < 200 { 8 } else { 3 })).collect();
    /// let groups: Vec<&str> = (0..400).map(|row| if row < 200 { "a" } else { "b" }).collect();
    /// let p = vec![0.5; 400];
    /// let predictions = Input::probabilities(&p, &labels).check()?;
    /// let shift = Recalibrate::new(Method::Shift);
    /// let maps = shift.fit_groups(&predictions.binary()?, &Groups::new(&groups))?.fit.map;
    /// assert!(maps.of("a").apply(0.0) > 0.75 && maps.of("b").apply(0.0) < 0.35);
    /// // A group that is not known gets what both have in common.
    /// assert!((maps.of("c").apply(0.0) - 0.55).abs() < 0.02);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn fit_groups<'s>(&self, sample: impl Into<Sample<'s>>, groups: &Groups) -> Result<GroupedFit, Error> {
        self.check_groups()?;
        let sample = sample.into();
        let Binary::Rows(view) = sample.binary("recalibration by group")? else {
            return Err(Error::setting("recalibration by group", "of rows", "a sketch"));
        };
        let ordered = self.ordered(view)?;
        let atoms = ordered.pooled(|_| true);
        let parts = Parts::new(&ordered, groups, view.len(), |_| true)?;
        let solved = self.solve_groups(&atoms, &parts)?;
        let mut found = self.grouped(&atoms, &parts, &solved, groups.names());
        if let Some(row) = ordered.clipped.first_contradicted {
            let n_rows = ordered.clipped.n_contradicted;
            found.fit.notes.insert(0, Note::Contradicted { n_rows, row, clip: self.clip });
        }
        found.fit.n_clipped = ordered.clipped.n;
        found.fit.input = view.report().clone();
        Ok(found)
    }

    pub(super) fn check_groups(&self) -> Result<(), Error> {
        self.check()?;
        let is_formula = matches!(self.method, Method::Shift | Method::Temperature | Method::Platt | Method::Beta);
        let rule = "\"shift\", \"temperature\", \"platt\" or \"beta\" for maps by group";
        Error::require(is_formula, "method", rule, format!("{:?}", self.method.name()))
    }

    /// Spreads and maps of groups, given all rows together.
    pub(super) fn solve_groups(&self, atoms: &Atoms, parts: &Parts) -> Result<Solved, Error> {
        let pooled = self.fit_atoms(&Design::new(self.method, atoms), atoms)?.map;
        let groups: Vec<Group> = parts.atoms.iter().map(|atoms| Group::new(self.method, atoms.clone())).collect();
        let joint = |spread: &[f64]| Joint {
            method: self.method,
            groups: &groups,
            effective_n: atoms.effective_n,
            total: atoms.total(),
            ridge: self.ridge_in_use(),
            spread: spread.to_vec(),
        };
        let alike = vec![0.0; pooled.parameters.len()];
        let at_pooled = |group| joint(&alike).with_hessian(group, &pooled.parameters);
        let own = groups.iter().map(at_pooled).collect::<Result<Vec<Own>, _>>().map_err(NotFound::error)?;
        // One group is its own pool.
        let mut spread = match groups.len() {
            1 => alike.clone(),
            _ => self.likelihood(&pooled.parameters, &own).spreads(),
        };
        let mut found = joint(&spread).minimise(&pooled.parameters).map_err(NotFound::error)?;
        for _ in 0..MOST_ROUNDS {
            if spread == alike {
                break;
            }
            let next = self.likelihood(&found.theta, &found.own).spreads();
            if spread.iter().zip(&next).all(|(old, new)| (old - new).abs() <= CLOSE * (old + new)) {
                break;
            }
            found = joint(&next).minimise(&found.theta).map_err(NotFound::error)?;
            spread = next;
        }
        let variances = found.factor.inverse();
        let mut common = Symmetric::zero(spread.len());
        for (i, &a) in found.free.iter().enumerate() {
            let of = |(j, &b): (usize, &usize)| common.add(a, b, variances.get(i, j) / atoms.effective_n);
            found.free[..=i].iter().enumerate().for_each(of);
        }
        let joint = joint(&spread);
        let covariances = found.own.iter().map(|own| joint.covariance(own, &common)).collect();
        let own_share = |own: &Own| joint.own_share(own);
        let own_shares = found.own.iter().map(own_share).collect();
        Ok(Solved { pooled, spread, common, covariances, own_shares, found })
    }

    fn likelihood(&self, common: &[f64], own: &[Own]) -> Likelihood {
        let quadratic = |own: &Own| {
            let away: Vec<f64> = own.theta.iter().zip(common).map(|(own, common)| own - common).collect();
            Quadratic::new(&own.hessian, &own.gradient, &away)
        };
        let to_identity = self.method.identity().iter().zip(common).map(|(identity, common)| identity - common);
        Likelihood {
            groups: own.iter().map(quadratic).collect(),
            ridge: 2.0 * self.ridge_in_use(),
            to_identity: to_identity.collect(),
        }
    }

    /// A map of this method.
    pub(super) fn map_of(&self, parameters: &[f64]) -> BinaryMap {
        BinaryMap {
            method: self.method,
            parameters: parameters.to_vec(),
            mixture: self.mixture.unwrap_or(0.0),
            clip: self.clip,
            ..BinaryMap::identity()
        }
    }

    fn grouped(&self, atoms: &Atoms, parts: &Parts, solved: &Solved, names: &[String]) -> GroupedFit {
        let Solved { spread, common, covariances, own_shares, found, .. } = solved;
        let identity = BinaryMap { clip: self.clip, ..BinaryMap::identity() };
        let group = |place: usize| {
            let (own, atoms) = (&found.own[place], &parts.atoms[place]);
            let is_known = |parameter: usize| match spread[parameter] > 0.0 {
                true => own.free.contains(&parameter),
                false => found.free.contains(&parameter),
            };
            GroupFit {
                name: names[parts.numbers[place] as usize].clone(),
                parameters: self.parameters(&own.theta, &covariances[place], is_known),
                own_share: own_shares[place],
                log_loss_before: mean_loss(&identity, atoms),
                log_loss_after: mean_loss(&self.map_of(&own.theta), atoms),
                n: atoms.n,
                effective_n: atoms.effective_n,
            }
        };
        let mut places: Vec<usize> = (0..parts.atoms.len()).collect();
        places.sort_unstable_by_key(|place| parts.numbers[*place]);
        let groups: Vec<GroupFit> = places.iter().map(|place| group(*place)).collect();
        let mean = |of: &dyn Fn(usize) -> f64| {
            let weighted = (0..parts.atoms.len()).map(|place| of(place) * parts.atoms[place].total());
            weighted.collect::<Sum>().value() / atoms.total()
        };
        let after = |place: usize| mean_loss(&self.map_of(&found.own[place].theta), &parts.atoms[place]);
        let effective = |(own, covariance): (&Own, &Symmetric)| {
            let entry = |i: usize, j: usize| covariance.get(i, j) * own.hessian.get(i, j);
            (0..spread.len()).map(|i| (0..spread.len()).map(|j| entry(i, j)).sum::<f64>()).sum::<f64>()
        };
        let d = spread.len();
        let fit = Fit {
            method: self.method,
            parameters: self.parameters(&found.theta, common, |parameter| found.free.contains(&parameter)),
            covariance: (0..d * d).map(|entry| common.get(entry / d, entry % d)).collect(),
            log_loss_before: mean_loss(&identity, atoms),
            log_loss_after: mean(&after),
            bound: found.bound,
            ridge: self.ridge_in_use(),
            effective_parameters: found.own.iter().zip(covariances).map(effective).sum(),
            notes: self.notes(parts, solved),
            n: atoms.n,
            effective_n: atoms.effective_n,
            n_clipped: 0,
            input: crate::InputReport::default(),
            map: GroupMaps {
                by: None,
                pooled: self.map_of(&found.theta),
                names: groups.iter().map(|group| group.name.clone()).collect(),
                maps: places.iter().map(|place| self.map_of(&found.own[*place].theta)).collect(),
                spread: spread.clone(),
            },
        };
        GroupedFit { fit, groups }
    }

    fn parameters(&self, theta: &[f64], covariance: &Symmetric, is_known: impl Fn(usize) -> bool) -> Vec<Parameter> {
        let parameter = |(place, (name, value)): (usize, (&&'static str, &f64))| Parameter {
            name,
            value: *value,
            standard_error: is_known(place).then(|| covariance.get(place, place).max(0.0).sqrt()),
        };
        self.method.parameter_names().iter().zip(theta).enumerate().map(parameter).collect()
    }

    fn notes(&self, parts: &Parts, solved: &Solved) -> Vec<Note> {
        let n_groups = parts.atoms.len();
        let mut notes = Vec::new();
        if n_groups > 1 && solved.spread.iter().all(|spread| *spread == 0.0) {
            notes.push(Note::GroupsAlike { n_groups });
        }
        for (place, parameter) in self.method.parameter_names().iter().enumerate().take(self.method.n_slopes()) {
            let is_held = |own: &&Own| solved.spread[place] > 0.0 && !own.free.contains(&place);
            match solved.found.own.iter().filter(is_held).count() {
                0 => {}
                n_held => notes.push(Note::GroupsHeldAtZero { n_groups: n_held, parameter }),
            }
            if !solved.found.free.contains(&place) {
                notes.push(Note::HeldAtZero { parameter });
            }
        }
        notes
    }
}

/// Rounds of maps and spreads at most; most often four are enough.
const MOST_ROUNDS: u32 = 20;

/// By how much spreads may differ, as a share of their sum: their own uncertainty is far larger.
const CLOSE: f64 = 5e-4;

/// The maps of groups, in the order of [`Parts`].
pub(super) struct Solved {
    /// The map of all rows together, as if there were no groups.
    pub(super) pooled: BinaryMap,
    spread: Vec<f64>,
    common: Symmetric,
    covariances: Vec<Symmetric>,
    own_shares: Vec<f64>,
    found: Found,
}

impl Solved {
    /// The parameters of each group by its number; those in common for one without rows.
    pub(super) fn by_number(&self, parts: &Parts, n_groups: usize) -> Vec<&[f64]> {
        let mut all = vec![self.found.theta.as_slice(); n_groups];
        for (own, number) in self.found.own.iter().zip(&parts.numbers) {
            all[*number as usize] = &own.theta;
        }
        all
    }
}

/// Rows by group, in an order that depends on the rows alone and not on names or numbers.
pub(super) struct Parts {
    pub(super) atoms: Vec<Atoms>,
    /// The number of each group.
    pub(super) numbers: Vec<u32>,
}

impl Parts {
    /// Of the rows whose place in the order is chosen; without the groups that have none.
    pub(super) fn new(
        ordered: &Ordered,
        groups: &Groups,
        n_rows: usize,
        chosen: impl Fn(usize) -> bool,
    ) -> Result<Self, Error> {
        let numbers = groups.numbers();
        if numbers.len() != n_rows {
            return Err(Error::LengthMismatch { what: "groups", got: numbers.len(), expected: n_rows });
        }
        let mut rows = vec![Vec::new(); groups.len()];
        for (place, row) in ordered.rows.iter().enumerate().filter(|(place, _)| chosen(*place)) {
            rows[numbers[row.index as usize] as usize].push((place, *row));
        }
        let of_group = |(number, rows): (usize, Vec<_>)| {
            let rows = rows.into_iter().map(|(_, row): (usize, _)| row).collect();
            let part = Ordered { rows, counts: ordered.counts, clipped: Clipped::default() };
            (part.pooled(|_| true), number as u32)
        };
        let some = rows.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
        let mut parts: Vec<(Atoms, u32)> = some.map(of_group).collect();
        parts.sort_by(|(a, _), (b, _)| a.n.cmp(&b.n).then_with(|| compared(&a.atoms, &b.atoms)));
        let (atoms, numbers) = parts.into_iter().unzip();
        Ok(Parts { atoms, numbers })
    }
}

/// The order of rows of the same number.
fn compared(a: &[Atom], b: &[Atom]) -> std::cmp::Ordering {
    let key = |atom: &Atom| [atom.h, atom.weights[0], atom.weights[1]];
    let pairs = a.iter().zip(b).flat_map(|(a, b)| key(a).into_iter().zip(key(b)));
    pairs.map(|(a, b)| a.total_cmp(&b)).find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

impl Joint<'_> {
    /// The share of a group's free parameters that its own rows decide.
    fn own_share(&self, own: &Own) -> f64 {
        if own.free.is_empty() {
            return 0.0;
        }
        match Cholesky::new(&self.of_group(own)) {
            Some(factor) => factor.trace_of_ratio(&own.hessian.part(&own.free)) / own.free.len() as f64,
            None => 0.0,
        }
    }
}
