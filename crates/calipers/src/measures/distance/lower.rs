//! Lower distance to calibration: a program on two coupled chains, solved on nodes and enclosed for
//! the data.

use super::interior::Program;
use crate::inference::{Clusters, Resampler};
use crate::measure::resolved_resampler;
use crate::measures::prelude::*;

/// Where the two sides are so near, nothing more is gained.
const ENOUGH: f64 = 1e-12;

/// Where so many steps have gained nothing, none will.
const MOST_IDLE: u32 = 6;

/// Nodes of resamples, whose values are within 0.0002 of those on all nodes in
/// `tests/floors/agreement.rs`.
const DRAW_NODES: usize = 512;

measure! {
    /// Lower distance to calibration: how far probabilities must be moved, on average, until they
    /// are calibrated.
    ///
    /// # Definition
    /// ```text
    /// lower dCE = min E|p - u|   over joint distributions of (p, u, y) in which (p, y) is distributed as the rows and E[y | u] = u
    /// ```
    /// Rows of one probability and outcome may be moved to several places, which is what makes it
    /// lower than the distance to the nearest calibrated function, and what makes it computable.
    ///
    /// # Assumptions
    /// Independent rows. Never below |mean residual|; between half and twice the smooth calibration
    /// error; at most the ECE of the pooled rows.
    ///
    /// # Cost
    /// O(n log n) time for a sort, then some 30 steps of an interior-point method on `n_nodes`
    /// nodes (16384 unless set), each O(nodes), and one pass over the rows. Exact solutions known
    /// before take O(n²) or more.
    ///
    /// # Accuracy
    /// Numerical: the value is the middle of a lower and an upper bound that hold whatever the
    /// solver did; `numerical_bound` is half their distance: about 10^-12 to 10^-8 where
    /// miscalibration is clear, up to 10^-5 where n is large and rows are nearly calibrated.
    ///
    /// *Upper.* A calibrated u has some mass m at each node u_k, of which u_k m has outcome 1. On
    /// the line, to move the rows there costs ∫ |F_1 - M_1| + |F_0 - M_0|, F_y and M_y the
    /// cumulated shares of outcome y before and after. This is computed for the rows, not for
    /// nodes.
    ///
    /// *Lower.* Let f0, f1 change no faster than their argument, and (1 - u) f0(u) + u f1(u) <= h
    /// for all u in [0, 1]. Then for every calibrated u
    /// ```text
    /// E|p - u| >= E[f_y(p) - f_y(u)] = E[f_y(p)] - E[(1 - u) f0(u) + u f1(u)] >= E[f_y(p)] - h
    /// ```
    /// f0 and f1 are linear between nodes, so that the constraint is a parabola there, whose
    /// maximum is known: its excess over the nodes is of second order in their distance.
    ///
    /// Statistical: biased up; of order n^(-1/2) where calibrated.
    ///
    /// # Reference
    /// Blasiok, Gopalan, Hu, Nakkiran, "A unifying theory of distance from calibration", STOC 2023.
    ///
    /// # Example
    /// 0.4 had outcome 1 and 0.6 had outcome 0: predicting 0.5 twice is calibrated and 0.1 away.
    /// ```
    /// use calipers::{Measure, Input, LowerDistance};
    ///
    /// let predictions = Input::probabilities(&[0.4, 0.6], &[1, 0]).check()?;
    /// let distance = LowerDistance::new().estimate(&predictions.binary()?)?;
    /// assert!((distance.value - 0.1).abs() <= distance.numerical_bound && distance.numerical_bound < 1e-7);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct LowerDistance {
        /// With 16384 nodes.
        new;

        /// So many nodes: half of them evenly on [0, 1], half at probabilities of the rows. More
        /// make the bound smaller.
        n_nodes: usize = 16384;

        link: Link;
    }
}

entry! { LOWER = LowerDistance::new();
    Spec::error("lower_distance_to_calibration", "least mean |p - u| to any u for which E[y|u] = u")
        .title("lower distance to calibration")
        .family(Family::Distance)
        .reference("Blasiok, Gopalan, Hu, Nakkiran, STOC 2023")
        .range(0.0, 1.0)
        .options(&[OptionSpec::count("n_nodes", 16_384, "Values of u that are looked at."), LINK])
}

impl Measure for LowerDistance {
    described! { LOWER.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        check_range("n_nodes", self.n_nodes as f64, 16.0..=1e6, "from 16 to 1000000")?;
        let pooled = Pooled::new(view, &*self.link)?;
        let (mut lower, mut upper) = enclose(&pooled.groups, self.n_nodes);
        // Where all rows are nodes the enclosure should be tight, but on some nodes the solver
        // stops early. What it proves on others holds as well.
        let all_are_nodes = pooled.groups.len() <= self.n_nodes / 2;
        for n_nodes in [self.n_nodes / 2, 2 * self.n_nodes] {
            if all_are_nodes && upper - lower > STALLED {
                let (other_lower, other_upper) = enclose(&pooled.groups, n_nodes);
                (lower, upper) = (lower.max(other_lower), upper.min(other_upper));
            }
        }
        let value = 0.5 * (lower + upper);
        let bound = 0.5 * (upper - lower).max(0.0) + pooled.residual_error() + pooled.score_error();
        let estimate = Estimate::new(self.spec(), value, bound).of(view);
        Ok(estimate.with("n_nodes", self.n_nodes as u64).with("link", self.link.name()))
    }

    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        Ok(Some(Cells::new(1024)))
    }

    /// On fewer nodes, for value and draws alike.
    fn resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let coarse = (self.n_nodes > DRAW_NODES).then(|| self.clone().n_nodes(DRAW_NODES));
        resolved_resampler(self, coarse, view, clusters)
    }
}

/// An enclosure of few rows that is wider than this is tried again.
const STALLED: f64 = 1e-7;

/// Bounds from both sides, rounding included.
fn enclose(groups: &[Group], n_nodes: usize) -> (f64, f64) {
    let total = |part: fn(&Group) -> f64| groups.iter().map(part).collect::<Sum>().value();
    // E|p - u| >= |E p - E u|, and E u = E y.
    let mean = total(Group::residual).abs();
    // Also of functions that change a unit of rounding faster than allowed from node to node.
    let rounding = (64 + n_nodes) as f64 * f64::EPSILON;
    if total(|group| group.negative) == 0.0 || total(|group| group.positive) == 0.0 {
        // Only 0, or only 1, is calibrated.
        return (mean - rounding, mean + rounding);
    }
    let program = split(groups, nodes(groups, n_nodes));
    let (functions, masses) = solve(&program);
    let upper = cost(groups, &program, &masses);
    let lower = gain(groups, &program, &functions);
    (lower.max(mean) - rounding, upper.max(mean) + rounding)
}

/// The best functions and the best masses that the solver passes, judged by what they prove of the
/// shares on the nodes.
fn solve(program: &Program) -> (Vec<[f64; 2]>, Vec<f64>) {
    let on_nodes: Vec<Group> = std::iter::zip(&program.nodes, &program.shares)
        .map(|(&p, share)| Group { p, negative: share[0], positive: share[1], n: 1 })
        .collect();
    let (mut best_functions, mut best_masses) = (vec![[-1.0; 2]; on_nodes.len()], vec![0.0; on_nodes.len()]);
    let (mut lower, mut upper, mut n_idle) = (f64::NEG_INFINITY, f64::INFINITY, 0);
    program.solve(|functions, masses| {
        let before = upper - lower;
        let (of_functions, of_masses) = (gain(&on_nodes, program, functions), cost(&on_nodes, program, masses));
        if of_functions > lower {
            (lower, best_functions) = (of_functions, functions.to_vec());
        }
        if of_masses < upper {
            (upper, best_masses) = (of_masses, masses.to_vec());
        }
        n_idle = if upper - lower < 0.9 * before { 0 } else { n_idle + 1 };
        upper - lower < ENOUGH || n_idle > MOST_IDLE
    });
    (best_functions, best_masses)
}

/// Half evenly, half at probabilities of the rows: at all of them if they are so few, otherwise at
/// such that have the same share of the weight between them.
fn nodes(groups: &[Group], n_nodes: usize) -> Vec<f64> {
    let n_even = n_nodes / 2;
    let spacing = 1.0 / n_even as f64;
    let mut of_rows = Vec::with_capacity(n_even.min(groups.len()));
    let (mut share, mut n_taken) = (0.0, 0.0);
    for group in groups {
        share += group.weight();
        if groups.len() <= n_even || share * n_even as f64 > n_taken {
            n_taken = (share * n_even as f64).floor() + 1.0;
            of_rows.push(group.p);
        }
    }
    let mut nodes = vec![0.0];
    let mut of_rows = of_rows.into_iter().peekable();
    for k in 1..=n_even {
        let even = k as f64 * spacing;
        // Nodes of rows need some distance between them: those that are nearer are as good as one.
        while let Some(p) = of_rows.next_if(|p| *p <= even) {
            if p - nodes[nodes.len() - 1] > 1e-9 && 1.0 - p > 1e-9 {
                nodes.push(p);
            }
        }
        let near =
            even - nodes[nodes.len() - 1] < 0.1 * spacing || of_rows.peek().is_some_and(|p| p - even < 0.1 * spacing);
        if k < n_even && !near {
            nodes.push(even);
        }
    }
    nodes.push(1.0);
    nodes
}

/// Every group on the two nodes around it, so that its mean stays.
fn split(groups: &[Group], nodes: Vec<f64>) -> Program {
    let mut shares = vec![[0.0; 2]; nodes.len()];
    let mut k = 0;
    for group in groups {
        while k + 2 < nodes.len() && nodes[k + 1] <= group.p {
            k += 1;
        }
        let right = (group.p - nodes[k]) / (nodes[k + 1] - nodes[k]);
        for (node, part) in [(k, 1.0 - right), (k + 1, right)] {
            shares[node][0] += part * group.negative;
            shares[node][1] += part * group.positive;
        }
    }
    Program { nodes, shares }
}

/// What it costs to move the rows to the masses, made calibrated: an upper bound.
fn cost(groups: &[Group], program: &Program, masses: &[f64]) -> f64 {
    let masses: Vec<f64> = masses.iter().map(|mass| mass.max(0.0)).collect();
    let masses = program.complete(&masses, 1.0);
    let (mut negative, mut positive, mut cost) = (Sum::default(), Sum::default(), Sum::default());
    let mut rows = groups.iter().peekable();
    let mut x = 0.0;
    for (&u, mass) in program.nodes.iter().zip(&masses) {
        while let Some(group) = rows.next_if(|group| group.p <= u) {
            cost.add((negative.value().abs() + positive.value().abs()) * (group.p - x));
            x = group.p;
            negative.add(group.negative);
            positive.add(group.positive);
        }
        cost.add((negative.value().abs() + positive.value().abs()) * (u - x));
        x = u;
        negative.add(-(1.0 - u) * mass);
        positive.add(-u * mass);
    }
    // What the shares fall short by, at most over the whole line.
    cost.value() + negative.value().abs() + positive.value().abs()
}

/// The value of the functions after they are made feasible: a lower bound.
fn gain(groups: &[Group], program: &Program, functions: &[[f64; 2]]) -> f64 {
    let mut functions = functions.to_vec();
    let nodes = &program.nodes;
    let n = nodes.len();
    // The largest functions below them that change no faster than u.
    let shorter = 1.0 - 4.0 * f64::EPSILON;
    for k in 1..n {
        let length = (nodes[k] - nodes[k - 1]) * shorter;
        functions[k] = std::array::from_fn(|chain| functions[k][chain].min(functions[k - 1][chain] + length));
    }
    for k in (1..n).rev() {
        let length = (nodes[k] - nodes[k - 1]) * shorter;
        functions[k - 1] = std::array::from_fn(|chain| functions[k - 1][chain].min(functions[k][chain] + length));
    }
    let constraint = |k: usize| (1.0 - nodes[k]) * functions[k][0] + nodes[k] * functions[k][1];
    let mut excess = constraint(n - 1);
    for k in 0..n - 1 {
        let length = nodes[k + 1] - nodes[k];
        // A parabola with second derivative 2 (f1' - f0'), above its chord by an eighth of that
        // times length².
        let falling = (functions[k + 1][0] - functions[k][0]) - (functions[k + 1][1] - functions[k][1]);
        excess = excess.max(constraint(k).max(constraint(k + 1)) + 0.25 * length * falling.max(0.0));
    }
    let mut sum = Sum::default();
    let mut k = 0;
    for group in groups {
        while k + 2 < n && nodes[k + 1] <= group.p {
            k += 1;
        }
        let right = (group.p - nodes[k]) / (nodes[k + 1] - nodes[k]);
        let at = |chain: usize| (1.0 - right) * functions[k][chain] + right * functions[k + 1][chain];
        sum.add(group.negative * at(0));
        sum.add(group.positive * at(1));
    }
    sum.value() - excess
}
