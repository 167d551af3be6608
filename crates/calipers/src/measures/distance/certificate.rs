//! Bounds on the chain program from both sides, whatever the solver did.
//!
//! For any numbers F_0 = 0, F_1, ..., F_n = 0 let g_i = c_i + F_{i-1} - F_i. Then for every
//! feasible w
//!
//! ```text
//! Σ c_i w_i = Σ g_i w_i + Σ F_i (w_i - w_{i+1}) <= Σ |g_i| + Σ |F_i| (x_{i+1} - x_i)
//! ```
//!
//! F is a flow along the chain and g what flows in and out. The two sides are equal where F_i is 0
//! but on steps that w takes in full, with their sign, and g_i is 0 but where w_i is 1 or -1, with
//! that sign. Such a flow is looked for here.

use super::chain::Solution;
use crate::numerics::sum::Sum;

/// So near to ±1 a value counts as such, and a step so near to its limit as taken in full. It only
/// matters to which flow is chosen, not to what is proven of it.
const NEAR: f64 = 1e-13;

/// How w goes from one point to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// By less than allowed.
    Free,
    Down,
    Up,
    /// By so little that it does not matter.
    Either,
}

/// What w attains, and how far that can be from the maximum, rounding included.
pub(super) fn enclose(x: &[f64], c: &[f64], solution: &Solution) -> (f64, f64) {
    let absolute = c.iter().map(|c| c.abs()).collect::<Sum>().value();
    let attained = c.iter().zip(&solution.values).map(|(c, w)| c * w).collect::<Sum>().value();
    let rounding = absolute * (solution.error + 4.0 * f64::EPSILON);
    let flow = flow(x, c, solution);
    let mut cost = Sum::default();
    let mut before = 0.0;
    for (i, (&c, &after)) in c.iter().zip(&flow).enumerate() {
        cost.add(inflow(c, before, after));
        if let Some(next) = x.get(i + 1) {
            cost.add(after.abs() * (next - x[i]));
        }
        before = after;
    }
    let upper = cost.value() * (1.0 + 8.0 * f64::EPSILON);
    (attained, rounding + (upper - attained).max(0.0))
}

/// |c + before - after|, rounded up: where the flow is simply added up, that is the rounding error of the addition.
fn inflow(c: f64, before: f64, after: f64) -> f64 {
    let sum = c + before;
    let part = sum - before;
    let lost = (before - (sum - part)) + (c - part);
    ((sum - after) + lost).abs() * (1.0 + 4.0 * f64::EPSILON)
}

/// The flow: `flow[i]` is F from i to i + 1, the last is 0.
fn flow(x: &[f64], c: &[f64], solution: &Solution) -> Vec<f64> {
    let values = &solution.values;
    let near = NEAR.max(2.0 * solution.error);
    let step = |i: usize| {
        let (length, fall) = (x[i + 1] - x[i], values[i] - values[i + 1]);
        match () {
            _ if length <= near => Step::Either,
            _ if fall >= length - near => Step::Down,
            _ if fall <= near - length => Step::Up,
            _ => Step::Free,
        }
    };
    let mut flow = vec![0.0; c.len()];
    let mut steps = Vec::new();
    let mut first = 0;
    for i in 0..c.len() {
        let taken = if i + 1 < c.len() { step(i) } else { Step::Free };
        if taken != Step::Free {
            steps.push(taken);
        } else {
            piece(&c[first..=i], &values[first..=i], &steps, near, &mut flow[first..=i]);
            steps.clear();
            first = i + 1;
        }
    }
    flow
}

/// Where a stretch of steps in full begins, right after a value of ±1, and what is known of the
/// flow there.
#[derive(Debug)]
struct Stretch {
    at: usize,
    /// The flows that its steps allow, and that can be reached from before.
    allowed: (f64, f64),
    /// What flows in over the stretch, with that of the value that ends it.
    gain: f64,
}

/// The flow of a piece whose steps are all taken in full, and whose neighbours do without: nothing
/// flows in or out at its ends.
///
/// At a value of 1 something may come in, at -1 something may go out. So the flow that a stretch
/// begins with is confined to an interval from its own steps and from the interval before; forward
/// for the intervals, backward for one flow in each.
fn piece(c: &[f64], values: &[f64], steps: &[Step], near: f64, flow: &mut [f64]) {
    let n = c.len();
    if n == 1 {
        return;
    }
    let anchors: Vec<usize> = (0..n).filter(|&i| values[i].abs() >= 1.0 - near).collect();
    let Some(&last) = anchors.last() else { return add_up(c, 0.0, 0, n - 1, flow) };
    let mut stretches: Vec<Stretch> = Vec::with_capacity(anchors.len());
    // The flow that reaches the anchor if nothing came in there.
    let mut reached = {
        let gain = c[..=anchors[0]].iter().copied().collect::<Sum>().value();
        (gain, gain)
    };
    for (k, &at) in anchors.iter().enumerate() {
        let end = anchors.get(k + 1).copied().unwrap_or(n - 1);
        let (mut allowed, mut gain) = ((f64::NEG_INFINITY, f64::INFINITY), Sum::default());
        for i in at..end {
            match steps[i] {
                Step::Down => allowed.0 = allowed.0.max(-gain.value()),
                Step::Up => allowed.1 = allowed.1.min(-gain.value()),
                Step::Either | Step::Free => {}
            }
            gain.add(c[i + 1]);
        }
        if values[at] > 0.0 {
            allowed.1 = allowed.1.min(reached.1);
        } else {
            allowed.0 = allowed.0.max(reached.0);
        }
        if at == last {
            // What begins here must end with nothing.
            let rest = if end > at { -gain.value() } else { 0.0 };
            allowed = (rest, rest);
        } else if !(allowed.0 <= allowed.1) {
            let middle = 0.5 * (allowed.0 + allowed.1);
            allowed = (middle, middle);
        }
        let gain = gain.value();
        reached = (allowed.0 + gain, allowed.1 + gain);
        stretches.push(Stretch { at, allowed, gain });
    }
    let mut wanted = 0.0;
    let mut end = n - 1;
    for (k, stretch) in stretches.iter().enumerate().rev() {
        let begin = wanted_in(wanted, stretch.allowed);
        flow[stretch.at] = begin;
        add_up(c, begin, stretch.at + 1, end, flow);
        if k > 0 {
            wanted = begin - stretches[k - 1].gain;
        }
        end = stretch.at;
    }
    add_up(c, 0.0, 0, anchors[0], flow);
}

fn wanted_in(wanted: f64, (lower, upper): (f64, f64)) -> f64 {
    wanted.max(lower).min(upper)
}

/// The flow on the steps from `first` up to `end`, where nothing comes in but c.
fn add_up(c: &[f64], begin: f64, first: usize, end: usize, flow: &mut [f64]) {
    let mut sum = begin;
    for i in first..end {
        sum += c[i];
        flow[i] = sum;
    }
}
