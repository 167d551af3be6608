//! The maps of all groups together, for given spreads: Newton's method for what the groups have in
//! common, around a fit of each group.

use std::sync::Mutex;

use crate::numerics::cholesky::{Cholesky, Symmetric};
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::recalibrate::binary::linear::{Design, MOST, Penalised};
use crate::recalibrate::binary::rows::Atoms;
use crate::recalibrate::fit::newton::{self, FitBound, Local, NotFound, Objective, dot};
use crate::recalibrate::method::Method;

/// The rows of one group, and what every fit to them starts from.
pub(super) struct Group {
    pub(super) atoms: Atoms,
    pub(super) design: Design,
}

impl Group {
    pub(super) fn new(method: Method, atoms: Atoms) -> Self {
        let design = Design::new(method, &atoms);
        Group { atoms, design }
    }
}

/// A group's parameters at some common ones, with the derivatives of its log-likelihood there.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub(super) theta: Vec<f64>,
    /// Parameters of its own that no constraint holds at 0.
    pub(super) free: Vec<usize>,
    /// Of the loss in all parameters, in units of the whole log-likelihood.
    pub(super) gradient: Vec<f64>,
    pub(super) hessian: Symmetric,
    /// What the group adds to the objective.
    value: f64,
    bound: FitBound,
    gradient_error: Vec<f64>,
}

/// J of the module, as a function of the common parameters alone: each group is at its best.
pub(super) struct Joint<'a> {
    pub(super) method: Method,
    pub(super) groups: &'a [Group],
    /// Effective number of all rows.
    pub(super) effective_n: f64,
    /// Weight of all rows.
    pub(super) total: f64,
    pub(super) ridge: f64,
    /// How much each parameter differs among groups; those of 0 are common to all.
    pub(super) spread: Vec<f64>,
}

/// The minimum of J.
pub(super) struct Found {
    pub(super) theta: Vec<f64>,
    pub(super) free: Vec<usize>,
    pub(super) own: Vec<Own>,
    pub(super) bound: FitBound,
    /// Factor of the Hessian of J in the free common parameters, in units of one row.
    pub(super) factor: Cholesky,
}

impl Joint<'_> {
    fn d(&self) -> usize {
        self.spread.len()
    }

    /// Parameters that each group has its own of.
    fn varying(&self) -> Vec<usize> {
        (0..self.d()).filter(|&place| self.spread[place] > 0.0).collect()
    }

    fn precision(&self, place: usize) -> f64 {
        1.0 / (self.spread[place] * self.spread[place])
    }

    /// What one unit of the mean loss of a group is in units of the whole log-likelihood.
    pub(super) fn share(&self, group: &Group) -> f64 {
        self.effective_n * group.atoms.total() / self.total
    }

    /// The minimum of J from some common parameters on.
    pub(super) fn minimise(&self, start: &[f64]) -> Result<Found, NotFound> {
        let n_slopes = self.method.n_slopes();
        let common: Vec<usize> = (0..n_slopes).filter(|&place| self.spread[place] == 0.0).collect();
        // Which common slopes are held at 0. Those that vary are means of slopes that do not fall.
        for held in subsets(&common) {
            let free: Vec<usize> = (0..self.d()).filter(|place| !held.contains(place)).collect();
            let profile = Profile::new(self, &free, start);
            let start: Vec<f64> = free.iter().map(|&place| start[place]).collect();
            let Ok(found) = newton::minimise(&profile, &start) else { continue };
            let theta = profile.whole(&found.theta);
            let own = profile.own(&theta)?;
            // Letting a slope go must not lower J.
            let gradient = |place: usize| own.iter().map(|own| own.gradient[place]).collect::<Sum>().value();
            let pull = |place: usize| 2.0 * self.ridge * (theta[place] - self.method.identity()[place]);
            let error = |place: usize| own.iter().map(|own| own.gradient_error[place]).sum::<f64>();
            let wants_out = |&place: &usize| gradient(place) + pull(place) < -error(place);
            if common.iter().any(|&place| theta[place] < 0.0) || held.iter().any(wants_out) {
                continue;
            }
            let nats = |own: &Own, group: &Group| own.bound.nats * group.atoms.total() / self.total;
            let of_groups: f64 = own.iter().zip(self.groups).map(|(own, group)| nats(own, group)).sum();
            let errors = own.iter().map(|own| own.bound.standard_errors).fold(0.0, f64::max);
            let bound =
                FitBound { standard_errors: found.bound.standard_errors + errors, nats: found.bound.nats + of_groups };
            return Ok(Found { theta, free, own, bound, factor: found.factor });
        }
        Err(NotFound)
    }

    /// The fit of a group to its rows, for common parameters.
    fn fit_group(&self, group: &Group, common: &[f64], start: &[f64]) -> Result<Own, NotFound> {
        let varying = self.varying();
        let slopes: Vec<usize> = varying.iter().copied().filter(|&place| place < self.method.n_slopes()).collect();
        for held in subsets(&slopes) {
            if let Some(own) = self.with_held(group, common, start, &varying, &held)? {
                return Ok(own);
            }
        }
        Err(NotFound)
    }

    fn with_held(
        &self,
        group: &Group,
        common: &[f64],
        start: &[f64],
        varying: &[usize],
        held: &[usize],
    ) -> Result<Option<Own>, NotFound> {
        let share = self.share(group);
        let free: Vec<usize> = varying.iter().copied().filter(|place| !held.contains(place)).collect();
        let mut fixed = [0.0; MOST];
        (0..self.d()).filter(|place| !varying.contains(place)).for_each(|place| fixed[place] = common[place]);
        let penalty = |place: usize| 0.5 * self.precision(place) / share;
        let objective = Penalised {
            design: &group.design,
            atoms: &group.atoms,
            free: &free,
            fixed,
            centre: common,
            ridge: free.iter().map(|&place| penalty(place)).collect(),
        };
        let (theta, bound) = match free.is_empty() {
            true => (Vec::new(), FitBound::default()),
            false => {
                let start: Vec<f64> = free.iter().map(|&place| start[place]).collect();
                let found = newton::minimise(&objective, &start)?;
                (found.theta, found.bound)
            }
        };
        let whole = objective.whole(&theta);
        if varying.iter().any(|&place| place < self.method.n_slopes() && whole[place] < 0.0) {
            return Ok(None);
        }
        let local = objective.unpenalised(&theta);
        let wants_out = |&place: &usize| {
            local.gradient[place] + 2.0 * penalty(place) * (whole[place] - common[place]) < -local.gradient_error[place]
        };
        if held.iter().any(wants_out) {
            return Ok(None);
        }
        let square = |&place: &usize| 0.5 * self.precision(place) * (whole[place] - common[place]).powi(2);
        let mut hessian = local.hessian.clone();
        hessian.lower.iter_mut().for_each(|entry| *entry *= share);
        Ok(Some(Own {
            theta: whole[..self.d()].to_vec(),
            free,
            value: share * local.value + varying.iter().map(square).sum::<f64>(),
            gradient: local.gradient.iter().map(|gradient| share * gradient).collect(),
            gradient_error: local.gradient_error.iter().map(|error| share * error).collect(),
            hessian,
            bound,
        }))
    }

    /// Covariances of a group's parameters: those that come from its own rows, and those that it
    /// has from the common ones, whose covariances are given in full.
    pub(super) fn covariance(&self, own: &Own, common: &Symmetric) -> Symmetric {
        let d = self.d();
        let Some(factor) = Cholesky::new(&self.of_group(own)) else { return common.clone() };
        // The derivative of the group's parameters by the common ones.
        let crossed = self.crossed(own);
        let mut by_common = vec![vec![0.0; d]; d];
        (0..d).filter(|place| self.spread[*place] == 0.0).for_each(|place| by_common[place][place] = 1.0);
        for column in 0..d {
            let slopes = factor.solve(&crossed.iter().map(|row| -row[column]).collect::<Vec<f64>>());
            own.free.iter().zip(slopes).for_each(|(&place, slope)| by_common[place][column] = slope);
        }
        let mut all = Symmetric::zero(d);
        for i in 0..d {
            let along: Vec<f64> = (0..d).map(|k| (0..d).map(|l| by_common[i][l] * common.get(l, k)).sum()).collect();
            (0..=i).for_each(|j| all.add(i, j, dot(&along, &by_common[j])));
        }
        for (i, &a) in own.free.iter().enumerate() {
            let mut unit = vec![0.0; own.free.len()];
            unit[i] = 1.0;
            let column = factor.solve(&unit);
            own.free[..=i].iter().enumerate().for_each(|(j, &b)| all.add(a, b, column[j]));
        }
        all
    }

    /// The Hessian in the free parameters of a group.
    pub(super) fn of_group(&self, own: &Own) -> Symmetric {
        let mut part = own.hessian.part(&own.free);
        own.free.iter().enumerate().for_each(|(i, &place)| part.add(i, i, self.precision(place)));
        part
    }

    /// Mixed derivatives: a row for each free parameter of a group, a column for each common one.
    fn crossed(&self, own: &Own) -> Vec<Vec<f64>> {
        let entry = |row: usize, column: usize| match () {
            _ if self.spread[column] == 0.0 => own.hessian.get(row, column),
            _ if row == column => -self.precision(row),
            _ => 0.0,
        };
        own.free.iter().map(|&row| (0..self.d()).map(|column| entry(row, column)).collect()).collect()
    }

    /// What a group adds to the Hessian of the common parameters: a Schur complement.
    fn complement(&self, own: &Own) -> Option<Symmetric> {
        let d = self.d();
        let mut all = Symmetric::zero(d);
        for i in 0..d {
            if self.spread[i] > 0.0 {
                all.add(i, i, self.precision(i));
                continue;
            }
            (0..=i).filter(|&j| self.spread[j] == 0.0).for_each(|j| all.add(i, j, own.hessian.get(i, j)));
        }
        if own.free.is_empty() {
            return Some(all);
        }
        let factor = Cholesky::new(&self.of_group(own))?;
        let crossed = self.crossed(own);
        let white: Vec<Vec<f64>> = (0..d)
            .map(|column| {
                let mut column: Vec<f64> = crossed.iter().map(|row| row[column]).collect();
                factor.whiten(&mut column);
                column
            })
            .collect();
        for i in 0..d {
            (0..=i).for_each(|j| all.add(i, j, -dot(&white[i], &white[j])));
        }
        Some(all)
    }
}

/// All subsets of at most two slopes, the smallest first.
fn subsets(slopes: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    all.extend(slopes.iter().map(|slope| vec![*slope]));
    if slopes.len() > 1 {
        all.push(slopes.to_vec());
    }
    all
}

/// J with every group at its best, in the free common parameters.
struct Profile<'a> {
    joint: &'a Joint<'a>,
    free: &'a [usize],
    ridge: Vec<f64>,
    /// Where groups were last, from where their next fits start.
    last: Mutex<Vec<Vec<f64>>>,
}

impl<'a> Profile<'a> {
    fn new(joint: &'a Joint<'a>, free: &'a [usize], start: &[f64]) -> Self {
        let ridge = vec![joint.ridge / joint.effective_n; free.len()];
        Profile { joint, free, ridge, last: Mutex::new(vec![start.to_vec(); joint.groups.len()]) }
    }

    fn whole(&self, theta: &[f64]) -> Vec<f64> {
        let mut whole = vec![0.0; self.joint.d()];
        self.free.iter().zip(theta).for_each(|(&place, theta)| whole[place] = *theta);
        whole
    }

    /// The fits of all groups.
    fn own(&self, common: &[f64]) -> Result<Vec<Own>, NotFound> {
        let start = self.last.lock().map_or_else(|_| Vec::new(), |last| last.clone());
        let fit = |group: usize| {
            let start = start.get(group).map_or(common, Vec::as_slice);
            self.joint.fit_group(&self.joint.groups[group], common, start)
        };
        let own: Vec<Own> = parallel::map(self.joint.groups.len(), fit).into_iter().collect::<Result<_, _>>()?;
        if let Ok(mut last) = self.last.lock() {
            *last = own.iter().map(|own| own.theta.clone()).collect();
        }
        Ok(own)
    }
}

impl Objective for Profile<'_> {
    fn at(&self, theta: &[f64]) -> Local {
        let joint = self.joint;
        let (d, n) = (joint.d(), joint.effective_n);
        let whole = self.whole(theta);
        let nowhere = || Local {
            value: f64::INFINITY,
            gradient: vec![0.0; self.free.len()],
            gradient_error: vec![0.0; self.free.len()],
            hessian: Symmetric::zero(self.free.len()),
        };
        let Ok(own) = self.own(&whole) else { return nowhere() };
        let mut value = Sum::default();
        let mut gradient = vec![Sum::default(); d];
        let mut error = vec![0.0; d];
        let mut hessian = vec![Sum::default(); d * (d + 1) / 2];
        for (own, group) in own.iter().zip(joint.groups) {
            value.add(own.value);
            // Of standard errors by the rows of the group to those in the units of all rows.
            let unit = (joint.share(group) / group.atoms.effective_n).sqrt();
            let Some(complement) = joint.complement(own) else { return nowhere() };
            hessian.iter_mut().zip(&complement.lower).for_each(|(sum, entry)| sum.add(*entry));
            // How far the group's own parameters may be from their best, times the precision.
            let near = Cholesky::new(&joint.of_group(own)).map(|factor| factor.inverse_diagonal());
            for place in 0..d {
                if joint.spread[place] == 0.0 {
                    gradient[place].add(own.gradient[place]);
                    error[place] += own.gradient_error[place];
                    continue;
                }
                let precision = joint.precision(place);
                gradient[place].add(precision * (whole[place] - own.theta[place]));
                let size = whole[place].abs() + own.theta[place].abs();
                let own_place = own.free.iter().position(|free| *free == place);
                let variance = near.as_ref().zip(own_place).map_or(0.0, |(near, own)| near[own]);
                let off = own.bound.standard_errors * unit * variance.sqrt();
                error[place] += precision * (2.0 * f64::EPSILON * size + off);
            }
        }
        let ridge = joint.ridge;
        let away = |place: usize| whole[place] - joint.method.identity()[place];
        self.free.iter().for_each(|&place| value.add(ridge * away(place) * away(place)));
        let hessian = Symmetric { n: d, lower: hessian.iter().map(|sum| sum.value() / n).collect() };
        let mut local = Local {
            value: value.value() / n,
            gradient: self
                .free
                .iter()
                .map(|&place| (gradient[place].value() + 2.0 * ridge * away(place)) / n)
                .collect(),
            gradient_error: self.free.iter().map(|&place| error[place] / n).collect(),
            hessian: hessian.part(self.free),
        };
        (0..self.free.len()).for_each(|i| local.hessian.add(i, i, 2.0 * ridge / n));
        local
    }

    /// Over the rows of all groups, with the inverse of the Hessian in all parameters.
    fn reach(&self, hessian: &Cholesky) -> f64 {
        let joint = self.joint;
        let (d, n) = (joint.d(), joint.effective_n);
        let mut common = Symmetric::zero(d);
        for (i, &a) in self.free.iter().enumerate() {
            let mut unit = vec![0.0; self.free.len()];
            unit[i] = 1.0;
            let column = hessian.solve(&unit);
            self.free[..=i].iter().enumerate().for_each(|(j, &b)| common.add(a, b, column[j] / n));
        }
        let Ok(last) = self.last.lock().map(|last| last.clone()) else { return f64::INFINITY };
        let of_group = |number: usize| {
            let group = &joint.groups[number];
            // Here the common parameters are at their best, too, so that the group stays there.
            let Ok(own) = joint.with_hessian(group, &last[number]) else { return f64::INFINITY };
            let covariance = joint.covariance(&own, &common);
            let form = |row: usize| {
                let features = group.design.row(row);
                let along = |i: usize| (0..d).map(|j| covariance.get(i, j) * features[j]).sum::<f64>();
                (0..d).map(|i| features[i] * along(i)).sum::<f64>()
            };
            (0..group.atoms.atoms.len()).map(form).fold(0.0, f64::max)
        };
        (n * parallel::map(joint.groups.len(), of_group).into_iter().fold(0.0, f64::max)).sqrt()
    }

    fn ridge(&self) -> &[f64] {
        &self.ridge
    }

    fn effective_n(&self) -> f64 {
        self.joint.effective_n
    }
}

impl Joint<'_> {
    /// The derivatives of a group at parameters of its own.
    pub(super) fn with_hessian(&self, group: &Group, theta: &[f64]) -> Result<Own, NotFound> {
        let share = self.share(group);
        let mut fixed = [0.0; MOST];
        fixed[..self.d()].copy_from_slice(theta);
        let objective = Penalised {
            design: &group.design,
            atoms: &group.atoms,
            free: &[],
            fixed,
            centre: self.method.identity(),
            ridge: Vec::new(),
        };
        let local = objective.unpenalised(&[]);
        if !local.value.is_finite() {
            return Err(NotFound);
        }
        let mut hessian = local.hessian.clone();
        hessian.lower.iter_mut().for_each(|entry| *entry *= share);
        // A slope at 0 may be held there; counting it as free is on the safe side.
        Ok(Own {
            theta: theta.to_vec(),
            free: self.varying(),
            value: share * local.value,
            gradient: local.gradient.iter().map(|gradient| share * gradient).collect(),
            gradient_error: local.gradient_error.iter().map(|error| share * error).collect(),
            hessian,
            bound: FitBound::default(),
        })
    }
}
