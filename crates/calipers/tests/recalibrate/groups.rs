//! Maps by group: against direct minimisation of their objective, and what pooling is worth.

use calipers::Input;
use calipers::recalibrate::{CrossFit, GroupedFit, Groups, HeldOut, Method, Note, Pooling, Recalibrate, Verdict};

use crate::fixtures::Uniforms;

const METHODS: [Method; 4] = [Method::Shift, Method::Temperature, Method::Platt, Method::Beta];

/// Rows of groups: logits, outcomes, weights and names.
#[derive(Default, Clone)]
struct Rows {
    logits: Vec<f64>,
    labels: Vec<u8>,
    weights: Vec<f64>,
    groups: Vec<String>,
    /// Slope and shift of each group.
    truth: Vec<(f64, f64)>,
}

impl Rows {
    /// Outcomes of probability σ((1 + slope_g) h + shift_g), where slopes and shifts are normal.
    fn drawn(sizes: &[usize], slope: f64, shift: f64, seed: u64) -> Self {
        let mut uniforms = Uniforms(seed);
        let mut rows = Rows::default();
        for (group, size) in sizes.iter().enumerate() {
            let (slope, shift) = (1.0 + slope * uniforms.normal(), shift * uniforms.normal());
            rows.truth.push((slope, shift));
            for _ in 0..*size {
                let h = 1.5 * uniforms.normal();
                let p = 1.0 / (1.0 + (-(slope * h + shift)).exp());
                rows.logits.push(h);
                rows.labels.push(u8::from(uniforms.next() < p));
                rows.weights.push(1.0 + f64::from((rows.logits.len() % 3) as u8));
                rows.groups.push(format!("g{group}"));
            }
        }
        rows
    }

    fn fit(&self, recalibrate: &Recalibrate, weighted: bool) -> GroupedFit {
        let input = Input::logits(&self.logits, &self.labels);
        let input = if weighted { input.weights(&self.weights) } else { input };
        let predictions = input.check().unwrap();
        recalibrate.fit_groups(&predictions.binary().unwrap(), &Groups::new(&self.groups)).unwrap()
    }

    /// In another order.
    fn permuted(&self, seed: u64) -> Self {
        let mut uniforms = Uniforms(seed);
        let mut places: Vec<usize> = (0..self.logits.len()).collect();
        (1..places.len()).rev().for_each(|i| places.swap(i, (uniforms.next() * (i as f64 + 1.0)) as usize));
        Rows {
            logits: places.iter().map(|&i| self.logits[i]).collect(),
            labels: places.iter().map(|&i| self.labels[i]).collect(),
            weights: places.iter().map(|&i| self.weights[i]).collect(),
            groups: places.iter().map(|&i| self.groups[i].clone()).collect(),
            truth: self.truth.clone(),
        }
    }
}

fn log_sigma(h: f64) -> f64 {
    if h < 0.0 { h - h.exp().ln_1p() } else { -(-h).exp().ln_1p() }
}

fn features(method: Method, h: f64) -> (f64, Vec<f64>) {
    match method {
        Method::Shift => (h, vec![1.0]),
        Method::Temperature => (0.0, vec![h]),
        Method::Platt => (0.0, vec![h, 1.0]),
        _ => (0.0, vec![log_sigma(h), -log_sigma(-h), 1.0]),
    }
}

/// The objective as it is defined, of the common parameters and those of each group in one list.
/// A parameter without spread has one value for all groups.
struct Objective {
    rows: Vec<(usize, f64, Vec<f64>, bool, f64)>,
    identity: Vec<f64>,
    n_slopes: usize,
    spread: Vec<f64>,
    effective_n: f64,
    ridge: f64,
    n_groups: usize,
}

impl Objective {
    fn new(rows: &Rows, weighted: bool, method: Method, ridge: f64, spread: &[f64]) -> Self {
        let groups = Groups::new(&rows.groups);
        let weight = |row: usize| if weighted { rows.weights[row] } else { 1.0 };
        let total: f64 = (0..rows.logits.len()).map(weight).sum();
        let squares: f64 = (0..rows.logits.len()).map(|row| weight(row).powi(2)).sum();
        let (identity, n_slopes) = match method {
            Method::Shift => (vec![0.0], 0),
            Method::Temperature => (vec![1.0], 1),
            Method::Platt => (vec![1.0, 0.0], 1),
            _ => (vec![1.0, 1.0, 0.0], 2),
        };
        let row = |row: usize| {
            let (offset, features) = features(method, rows.logits[row]);
            (groups.numbers()[row] as usize, offset, features, rows.labels[row] == 1, weight(row) / total)
        };
        Objective {
            rows: (0..rows.logits.len()).map(row).collect(),
            identity,
            n_slopes,
            spread: spread.to_vec(),
            effective_n: total * total / squares,
            ridge,
            n_groups: groups.len(),
        }
    }

    fn d(&self) -> usize {
        self.identity.len()
    }

    /// Where parameter j of a group is in the list.
    fn place(&self, group: usize, j: usize) -> usize {
        if self.spread[j] > 0.0 { (1 + group) * self.d() + j } else { j }
    }

    fn value_and_gradient(&self, all: &[f64]) -> (f64, Vec<f64>) {
        let mut value = 0.0;
        let mut gradient = vec![0.0; all.len()];
        for (group, offset, features, outcome, share) in &self.rows {
            let u = offset + (0..self.d()).map(|j| features[j] * all[self.place(*group, j)]).sum::<f64>();
            value -= share * log_sigma(if *outcome { u } else { -u });
            let residual = share * (1.0 / (1.0 + (-u).exp()) - if *outcome { 1.0 } else { 0.0 });
            (0..self.d()).for_each(|j| gradient[self.place(*group, j)] += residual * features[j]);
        }
        for j in 0..self.d() {
            let away = all[j] - self.identity[j];
            value += self.ridge / self.effective_n * away * away;
            gradient[j] += 2.0 * self.ridge / self.effective_n * away;
            for group in (0..self.n_groups).filter(|_| self.spread[j] > 0.0) {
                let place = self.place(group, j);
                let (away, precision) = (all[place] - all[j], 1.0 / (self.effective_n * self.spread[j].powi(2)));
                value += 0.5 * precision * away * away;
                gradient[place] += precision * away;
                gradient[j] -= precision * away;
            }
        }
        (value, gradient)
    }

    /// Accelerated projected gradient descent with restarts, in coordinates that the precisions and
    /// the features do not stretch.
    fn solve(&self) -> Vec<f64> {
        let n = (1 + self.n_groups) * self.d();
        let mut curvature = vec![2.0 * self.ridge / self.effective_n + 1e-9; n];
        for (group, _, features, _, share) in &self.rows {
            for j in 0..self.d() {
                let size: f64 = features.iter().map(|f| f.abs()).sum();
                curvature[self.place(*group, j)] += 0.25 * share * features[j].abs() * size;
            }
        }
        for j in (0..self.d()).filter(|j| self.spread[*j] > 0.0) {
            let precision = 1.0 / (self.effective_n * self.spread[j].powi(2));
            curvature[j] += 2.0 * precision * self.n_groups as f64;
            (0..self.n_groups).for_each(|group| curvature[(1 + group) * self.d() + j] += 2.0 * precision);
        }
        let is_slope = |place: usize| place % self.d() < self.n_slopes;
        let mut theta: Vec<f64> = (0..n).map(|place| self.identity[place % self.d()]).collect();
        let (mut ahead, mut momentum, mut last) = (theta.clone(), 1.0f64, f64::INFINITY);
        for _ in 0..60_000 {
            let (_, gradient) = self.value_and_gradient(&ahead);
            let step = |place: usize| {
                let next = ahead[place] - gradient[place] / curvature[place];
                if is_slope(place) { next.max(0.0) } else { next }
            };
            let next: Vec<f64> = (0..n).map(step).collect();
            let (value, _) = self.value_and_gradient(&next);
            let then = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let share = if value > last { 0.0 } else { (momentum - 1.0) / then };
            ahead = (0..n).map(|place| next[place] + share * (next[place] - theta[place])).collect();
            momentum = if value > last { 1.0 } else { then };
            let moved = (0..n).map(|place| (next[place] - theta[place]).abs()).fold(0.0, f64::max);
            (theta, last) = (next, value);
            if moved < 1e-13 && share > 0.0 {
                break;
            }
        }
        theta
    }
}

/// All parameters of a fit, in the order of the objective.
fn listed(found: &GroupedFit) -> Vec<f64> {
    let of_groups = found.fit.map.maps.iter().flat_map(|map| map.parameters.clone());
    found.fit.map.pooled.parameters.iter().copied().chain(of_groups).collect()
}

#[test]
fn maps_by_group_minimise_their_objective() {
    let sizes = [[60, 25, 8, 3].as_slice(), &[40, 40, 40], &[200, 5, 5, 5, 5, 1]];
    for (case, sizes) in sizes.iter().enumerate() {
        for method in METHODS {
            for weighted in [false, true] {
                let rows = Rows::drawn(sizes, 0.4, 0.7, 10 + case as u64);
                let recalibrate = Recalibrate::new(method);
                let found = rows.fit(&recalibrate, weighted);
                let spread = &found.fit.map.spread;
                let objective = Objective::new(&rows, weighted, method, found.fit.ridge, spread);
                let slow = objective.solve();
                let fast = listed(&found);
                for (place, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
                    // Common ones stand once in the list of the slow solver.
                    let j = place % spread.len();
                    if place >= spread.len() && spread[j] == 0.0 {
                        continue;
                    }
                    assert!((fast - slow).abs() < 2e-6, "{case} {method:?} {weighted} {place}: {fast} {slow}");
                }
                let (own, least) = (objective.value_and_gradient(&fast).0, objective.value_and_gradient(&slow).0);
                assert!(own <= least + 1e-13, "{case} {method:?}: {own} {least}");
                assert!(found.fit.bound.standard_errors < 1e-6, "{:?}", found.fit.bound);
            }
        }
    }
}

#[test]
fn groups_of_equal_maps_have_one() {
    let mut n_alike = 0;
    for (method, seed) in METHODS.into_iter().flat_map(|method| (0..10).map(move |seed| (method, seed))) {
        let rows = Rows::drawn(&[300, 100, 50, 20], 0.0, 0.0, seed);
        let found = rows.fit(&Recalibrate::new(method), false);
        if found.fit.map.spread.iter().any(|spread| *spread > 0.0) {
            continue;
        }
        n_alike += 1;
        assert!(found.fit.notes.contains(&Note::GroupsAlike { n_groups: 4 }));
        let predictions = Input::logits(&rows.logits, &rows.labels).check().unwrap();
        let one = Recalibrate::new(method).fit(&predictions.binary().unwrap()).unwrap();
        for map in &found.fit.map.maps {
            assert_eq!(map, &found.fit.map.pooled);
            map.parameters.iter().zip(&one.map.parameters).for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
        }
        assert!(found.groups.iter().all(|group| group.own_share == 0.0));
    }
    println!("{n_alike} of 40");
    assert!(n_alike >= 12, "{n_alike}");
}

#[test]
fn few_rows_lean_on_the_pool_and_one_outcome_is_no_obstacle() {
    let mut rows = Rows::drawn(&[2000, 2000, 2000, 20], 0.3, 1.0, 5);
    // A group without outcome 1, and one with a single row.
    for _ in 0..6 {
        rows.logits.push(0.5);
        rows.labels.push(0);
        rows.weights.push(1.0);
        rows.groups.push("z_one_outcome".to_owned());
    }
    rows.logits.push(-0.5);
    rows.labels.push(1);
    rows.weights.push(1.0);
    rows.groups.push("z_one_row".to_owned());
    let found = rows.fit(&Recalibrate::new(Method::Platt), false);
    let share = |name: &str| found.groups.iter().find(|group| group.name == name).unwrap().own_share;
    assert!(share("g0") > 0.95, "{}", share("g0"));
    assert!(share("z_one_row") < 0.3 && share("z_one_row") < share("g3"), "{:?}", found.groups);
    let maps = &found.fit.map;
    let shifted = maps.of("z_one_outcome").apply(0.0);
    assert!(shifted < maps.pooled.apply(0.0), "six outcomes of 0 lower the map");
    assert!(shifted > 0.05, "and not to 0: {shifted}");
    assert_eq!(maps.of("unknown"), &maps.pooled);
    assert!(maps.place("unknown").is_none());
}

#[test]
fn a_group_whose_scores_fall_is_held_at_a_slope_of_0() {
    let mut rows = Rows::drawn(&[400, 400, 400], 0.0, 0.0, 8);
    for row in 800..1200 {
        rows.labels[row] = u8::from(rows.logits[row] < 0.0);
    }
    for method in [Method::Temperature, Method::Platt] {
        let found = rows.fit(&Recalibrate::new(method), false);
        assert!(found.fit.map.of("g2").parameters[0] >= 0.0);
        assert!(found.fit.map.of("g0").parameters[0] > 0.5);
        let spread = &found.fit.map.spread;
        let slow = Objective::new(&rows, false, method, found.fit.ridge, spread).solve();
        listed(&found).iter().zip(&slow).enumerate().for_each(|(place, (fast, slow))| {
            if place < spread.len() || spread[place % spread.len()] > 0.0 {
                assert!((fast - slow).abs() < 1e-5, "{method:?} {place}: {fast} {slow}");
            }
        });
        let held = Note::GroupsHeldAtZero { n_groups: 1, parameter: "slope" };
        assert_eq!(found.fit.notes.contains(&held), found.fit.map.of("g2").parameters[0] == 0.0);
    }
}

#[test]
fn order_of_rows_and_names_of_groups_change_no_bit() {
    let rows = Rows::drawn(&[80, 40, 20, 7, 3], 0.4, 0.8, 21);
    let renamed = |name: &String| format!("{}", 9 - name[1..].parse::<u32>().unwrap());
    for method in METHODS {
        let found = rows.fit(&Recalibrate::new(method), true);
        let other = rows.permuted(4).fit(&Recalibrate::new(method), true);
        assert_eq!(found.fit.map, other.fit.map);
        let mut rows = rows.permuted(5);
        rows.groups = rows.groups.iter().map(renamed).collect();
        let other = rows.fit(&Recalibrate::new(method), true);
        assert_eq!(found.fit.map.pooled, other.fit.map.pooled);
        assert_eq!(found.fit.map.spread, other.fit.map.spread);
        for (name, map) in found.fit.map.names.iter().zip(&found.fit.map.maps) {
            assert_eq!(map, other.fit.map.of(&renamed(name)));
        }
    }
}

#[test]
fn counts_are_repeated_rows() {
    let rows = Rows::drawn(&[60, 30, 10], 0.4, 0.8, 2);
    let mut repeated = Rows::default();
    for row in 0..rows.logits.len() {
        for _ in 0..rows.weights[row] as usize {
            repeated.logits.push(rows.logits[row]);
            repeated.labels.push(rows.labels[row]);
            repeated.weights.push(1.0);
            repeated.groups.push(rows.groups[row].clone());
        }
    }
    let recalibrate = Recalibrate::new(Method::Platt).counts(true);
    let (counted, single) = (rows.fit(&recalibrate, true), repeated.fit(&recalibrate, false));
    for (a, b) in listed(&counted).iter().zip(listed(&single)) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}

/// The marginal likelihood of shifts that are normal among groups, by sums over a grid: its
/// maximum.
fn most_likely_spread(rows: &Rows, names: usize) -> f64 {
    let groups = Groups::new(&rows.groups);
    let log_likelihood = |group: usize, shift: f64| {
        let own = |row: &usize| groups.numbers()[*row] as usize == group;
        let term = |row: usize| {
            let u = rows.logits[row] + shift;
            log_sigma(if rows.labels[row] == 1 { u } else { -u })
        };
        (0..rows.logits.len()).filter(own).map(term).sum::<f64>()
    };
    let at = |step: usize| -4.0 + 0.05 * step as f64;
    let table: Vec<Vec<f64>> =
        (0..names).map(|group| (0..=160).map(|step| log_likelihood(group, at(step))).collect()).collect();
    let marginal = |mean: f64, spread: f64| {
        let of_group = |losses: &Vec<f64>| {
            let most = losses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let density = |step: usize| (-0.5 * ((at(step) - mean) / spread).powi(2)).exp() / spread;
            (0..=160).map(|step| (losses[step] - most).exp() * density(step)).sum::<f64>().ln()
        };
        table.iter().map(of_group).sum::<f64>()
    };
    let mut best = (0.0, f64::NEG_INFINITY);
    for spread in (1..60).map(|step| 0.03 * f64::from(step)) {
        for mean in (-10..=10).map(|step| 0.05 * f64::from(step)) {
            let value = marginal(mean, spread);
            if value > best.1 {
                best = (spread, value);
            }
        }
    }
    best.0
}

#[test]
fn the_spread_is_near_that_of_the_largest_marginal_likelihood() {
    for (spread, seed) in [(0.5, 1), (1.0, 2), (0.3, 3)] {
        let rows = Rows::drawn(&[40; 40], 0.0, spread, seed);
        let slow = most_likely_spread(&rows, 40);
        let fast = rows.fit(&Recalibrate::new(Method::Shift), false).fit.map.spread[0];
        assert!((fast - slow).abs() < 0.1 * slow + 0.03, "{fast} {slow}");
    }
}

/// Mean excess of the expected log-loss over the truth: of one map, of partially pooled maps and of
/// one map a group, over samples.
fn excess(sizes: &[usize], slope: f64, shift: f64, n_runs: u64) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for run in 0..n_runs {
        let seed = 1000 + 7 * run;
        let rows = Rows::drawn(sizes, slope, shift, seed);
        let recalibrate = Recalibrate::new(Method::Platt);
        let found = rows.fit(&recalibrate, false);
        let predictions = Input::logits(&rows.logits, &rows.labels).check().unwrap();
        let one = recalibrate.fit(&predictions.binary().unwrap()).unwrap().map;
        let total: usize = sizes.iter().sum();
        let mut start = 0;
        for (group, size) in sizes.iter().enumerate() {
            let own = start..start + size;
            let predictions = Input::logits(&rows.logits[own.clone()], &rows.labels[own.clone()]).check().unwrap();
            let alone = recalibrate.fit(&predictions.binary().unwrap()).map_or_else(|_| one.clone(), |fit| fit.map);
            let (slope, shift) = rows.truth[group];
            let maps = [&one, found.fit.map.of(&format!("g{group}")), &alone];
            for (sum, map) in sums.iter_mut().zip(maps) {
                let divergence = |h: f64| {
                    let u = slope * h + shift;
                    let p = 1.0 / (1.0 + (-u).exp());
                    let [negative, positive] = map.losses(h);
                    p * (positive + log_sigma(u)) + (1.0 - p) * (negative + log_sigma(-u))
                };
                let grid = (-40..=40).map(|step| 0.1 * f64::from(step));
                let weights = grid.map(|h| ((-0.5 * h * h).exp(), divergence(1.5 * h)));
                let (top, bottom) = weights.fold((0.0, 0.0), |(top, bottom), (w, d)| (top + w * d, bottom + w));
                *sum += top / bottom * *size as f64 / total as f64 / n_runs as f64;
            }
            start = own.end;
        }
    }
    sums
}

#[test]
fn partial_pooling_is_never_much_worse_than_the_better_of_one_map_and_one_a_group() {
    let uneven = [400, 200, 100, 50, 50, 20, 20, 10, 10, 5];
    for sizes in [uneven.as_slice(), &[100; 10], &[2000; 4], &[30; 30]] {
        for (slope, shift) in [(0.0, 0.0), (0.0, 0.3), (0.2, 0.2), (0.4, 1.0)] {
            let [one, partial, separate] = excess(sizes, slope, shift, 12);
            let better = one.min(separate);
            let n: usize = sizes.iter().sum();
            println!("{} groups of {n} rows, {slope} {shift}: {one:.6} {partial:.6} {separate:.6}", sizes.len());
            assert!(
                partial <= 1.15 * better + 0.5 / n as f64,
                "{sizes:?} {slope} {shift}: {one:.6} {partial:.6} {separate:.6}"
            );
        }
    }
}

#[test]
fn the_gain_of_groups_is_that_of_new_rows() {
    let sizes = [200, 150, 100, 50, 50, 50];
    let (mut n_held, n_runs) = (0, 40);
    for run in 0..n_runs {
        let seed = 50 + 11 * run;
        let rows = Rows::drawn(&sizes, 0.2, 0.3, seed);
        let predictions = Input::logits(&rows.logits, &rows.labels).check().unwrap();
        let cross_fit = CrossFit::new(Recalibrate::new(Method::Platt));
        let found = cross_fit.run_groups(&predictions.binary().unwrap(), &Groups::new(&rows.groups)).unwrap();
        // The expected gain of these very maps, by the truth of each group.
        let (mut gain, total) = (0.0, sizes.iter().sum::<usize>() as f64);
        for (group, size) in sizes.iter().enumerate() {
            let (slope, shift) = rows.truth[group];
            let map = found.improvement.fit.map.of(&format!("g{group}"));
            let (mut top, mut bottom) = (0.0, 0.0);
            for h in (-40..=40).map(|step| 0.1 * f64::from(step)) {
                let (weight, h) = ((-0.5f64 * h * h).exp(), 1.5 * h);
                let p = 1.0 / (1.0 + (-(slope * h + shift)).exp());
                let [negative, positive] = map.losses(h);
                top += weight * (p * (-log_sigma(h) - positive) + (1.0 - p) * (-log_sigma(-h) - negative));
                bottom += weight;
            }
            gain += top / bottom * *size as f64 / total;
        }
        let interval = found.improvement.interval;
        n_held += usize::from(interval.lower <= gain && gain <= interval.upper);
    }
    let share = n_held as f64 / n_runs as f64;
    assert!((0.85..=1.0).contains(&share), "{share}");
}

#[test]
fn groups_that_differ_are_told_from_one_map() {
    let rows = Rows::drawn(&[300, 300, 300, 300], 0.1, 1.2, 31);
    let predictions = Input::logits(&rows.logits, &rows.labels).check().unwrap();
    let (view, groups) = (predictions.binary().unwrap(), Groups::new(&rows.groups));
    let found = CrossFit::new(Recalibrate::new(Method::Platt)).left(true).run_groups(&view, &groups).unwrap();
    assert_eq!(found.improvement.verdict, Verdict::Helps);
    let names: Vec<Pooling> = found.table.iter().map(|row| row.pooling).collect();
    assert_eq!(names, Pooling::ALL);
    let one = found.table[1];
    assert!(one.difference > 3.0 * one.standard_error, "{one:?}");
    assert!((found.table[2].log_loss - found.improvement.log_loss_after).abs() < 1e-12);
    assert!((found.table[0].log_loss - found.improvement.log_loss_before).abs() < 1e-12);
    let sentence = found.sentence();
    assert!(sentence.starts_with("Platt scaling by group, partially pooled, helps: log-loss is "), "{sentence}");
    assert!(sentence.contains("One map for all rows is worse by "), "{sentence}");
    // On the rows of another sample the same maps help, too.
    let new = rows.permuted(3);
    let predictions = Input::logits(&new.logits, &new.labels).check().unwrap();
    let map = &found.improvement.fit.map;
    let view = predictions.binary().unwrap();
    let gain = HeldOut::new(map).run_groups(&view, &Groups::new(&new.groups)).unwrap();
    let in_sample = found.improvement.fit.log_loss_before - found.improvement.fit.log_loss_after;
    assert!((gain.gain - in_sample).abs() < 1e-12);
}

#[test]
fn clusters_are_held_out_whole() {
    let rows = Rows::drawn(&[300, 300], 0.1, 1.0, 12);
    let clusters: Vec<u32> = (0..600).map(|row| row / 10).collect();
    let predictions = Input::logits(&rows.logits, &rows.labels).check().unwrap();
    let view = predictions.binary().unwrap();
    let sample = calipers::Sample::from(&view).clusters(&clusters);
    let cross_fit = CrossFit::new(Recalibrate::new(Method::Shift));
    let found = cross_fit.run_groups(sample, &Groups::new(&rows.groups)).unwrap();
    assert_eq!(found.improvement.n_clusters, Some(60));
}

#[test]
fn errors_name_the_rule() {
    let predictions = Input::logits(&[0.5, -0.5, 1.0], &[1, 0, 1]).check().unwrap();
    let view = predictions.binary().unwrap();
    let message = |method: Method, groups: &[&str]| {
        Recalibrate::new(method).fit_groups(&view, &Groups::new(groups)).unwrap_err().to_string()
    };
    assert_eq!(
        message(Method::Isotonic, &["a", "b", "a"]),
        "method must be \"shift\", \"temperature\", \"platt\" or \"beta\" for maps by group, got \"isotonic\""
    );
    assert_eq!(message(Method::Platt, &["a", "b"]), "groups must have one value for each row, got 2 values for 3 rows");
    let one = Input::logits(&[0.5, -0.5], &[1, 1]).check().unwrap();
    let error = Recalibrate::new(Method::Platt).fit_groups(&one.binary().unwrap(), &Groups::new(&["a", "b"]));
    assert_eq!(error.unwrap_err().to_string(), "rows must be of both outcomes, got 2 rows of outcome 1");
    let error = Groups::numbered(&["a", "a"], &[0, 1]).unwrap_err();
    assert_eq!(error.to_string(), "groups must be of different names, got \"a\" twice");
    let error = Groups::numbered(&["a"], &[0, 1]).unwrap_err();
    assert_eq!(error.to_string(), "groups must be numbers below 1, got 1");
}
