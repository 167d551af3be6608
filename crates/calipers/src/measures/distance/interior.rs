//! The linear program of the lower distance on given nodes, by an interior-point method on its
//! chain.
//!
//! ```text
//! max Σ_k a_k f0_k + b_k f1_k      |f_k - f_{k+1}| <= d_k for both f,   (1 - u_k) f0_k + u_k f1_k <= 0
//! ```
//!
//! Every Newton step is a system of 2 x 2 blocks on a chain: O(nodes). The method is Mehrotra's,
//! from a start that is feasible on both sides. What it finds is not trusted by its caller, so
//! nothing is proven here.

use crate::watch;

/// What the program is about.
#[derive(Debug)]
pub(super) struct Program {
    /// Nodes, ascending, from 0 to 1.
    pub(super) nodes: Vec<f64>,
    /// Share of the weight with outcome 0, and with outcome 1, at each node; both have some weight
    /// in all.
    pub(super) shares: Vec<[f64; 2]>,
}

/// Where the sum of all products of slacks and multipliers, which is the gap of the two sides, can
/// be trusted no more.
const GAP: f64 = 1e-14;
const MOST_STEPS: usize = 80;

/// Slacks or multipliers, or changes of them.
#[derive(Debug, Clone)]
struct Inequalities {
    /// For each step: f0 up, f0 down, f1 up, f1 down.
    edges: Vec<[f64; 4]>,
    nodes: Vec<f64>,
}

impl Inequalities {
    fn zip(&self, other: &Self, of: impl Fn(f64, f64) -> f64) -> Self {
        let edges = self.edges.iter().zip(&other.edges).map(|(a, b)| std::array::from_fn(|i| of(a[i], b[i])));
        let nodes = self.nodes.iter().zip(&other.nodes).map(|(a, b)| of(*a, *b));
        Inequalities { edges: edges.collect(), nodes: nodes.collect() }
    }

    fn fold(&self, other: &Self, start: f64, of: impl Fn(f64, f64, f64) -> f64) -> f64 {
        let edges = self.edges.iter().flatten().zip(other.edges.iter().flatten());
        edges.chain(self.nodes.iter().zip(&other.nodes)).fold(start, |sum, (a, b)| of(sum, *a, *b))
    }

    fn dot(&self, other: &Self) -> f64 {
        self.fold(other, 0.0, |sum, a, b| sum + a * b)
    }

    /// The longest step along `change` that leaves everything positive, at most 1.
    fn longest(&self, change: &Self, share: f64) -> f64 {
        let longest =
            self.fold(change, f64::INFINITY, |longest, a, b| if b < 0.0 { longest.min(-a / b) } else { longest });
        (share * longest).min(1.0)
    }

    fn len(&self) -> usize {
        4 * self.edges.len() + self.nodes.len()
    }
}

impl Program {
    fn lengths(&self) -> impl Iterator<Item = f64> + '_ {
        self.nodes.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// The left sides of all inequalities.
    fn apply(&self, f: &[[f64; 2]]) -> Inequalities {
        let edges = f.windows(2).map(|pair| {
            let (zero, one) = (pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]);
            [zero, -zero, one, -one]
        });
        let nodes = self.nodes.iter().zip(f).map(|(u, f)| (1.0 - u) * f[0] + u * f[1]);
        Inequalities { edges: edges.collect(), nodes: nodes.collect() }
    }

    /// The transpose of [`apply`](Self::apply).
    fn transpose(&self, z: &Inequalities) -> Vec<[f64; 2]> {
        let mut sums: Vec<[f64; 2]> = self.nodes.iter().zip(&z.nodes).map(|(u, z)| [(1.0 - u) * z, u * z]).collect();
        for (k, z) in z.edges.iter().enumerate() {
            for chain in 0..2 {
                let upward = z[2 * chain] - z[2 * chain + 1];
                sums[k][chain] -= upward;
                sums[k + 1][chain] += upward;
            }
        }
        sums
    }

    /// A feasible mass at every node: half of an even one, the rest at the ends so that shares come
    /// out right.
    fn start_masses(&self) -> Vec<f64> {
        let even = vec![1.0 / self.nodes.len() as f64; self.nodes.len()];
        self.complete(&even, 0.5)
    }

    /// `masses` times the largest factor up to `most` for which something not negative is left for
    /// the ends: at 0 and at 1 it makes the shares of both outcomes right.
    pub(super) fn complete(&self, masses: &[f64], most: f64) -> Vec<f64> {
        let (mut wanted, mut found) = ([0.0; 2], [0.0; 2]);
        for ((share, u), mass) in self.shares.iter().zip(&self.nodes).zip(masses) {
            wanted = [wanted[0] + share[0], wanted[1] + share[1]];
            found = [found[0] + (1.0 - u) * mass, found[1] + u * mass];
        }
        let factor = (wanted[0] / found[0]).min(wanted[1] / found[1]).min(1.0) * most;
        let mut all: Vec<f64> = masses.iter().map(|mass| factor * mass).collect();
        let last = all.len() - 1;
        all[0] += (wanted[0] - factor * found[0]).max(0.0);
        all[last] += (wanted[1] - factor * found[1]).max(0.0);
        all
    }

    /// Multipliers of the steps that go with masses: the flow of what lies before them, and a
    /// little both ways.
    fn multipliers(&self, masses: Vec<f64>) -> Inequalities {
        let mut flow = [0.0; 2];
        let edges = (0..self.nodes.len() - 1).map(|k| {
            flow[0] += self.shares[k][0] - (1.0 - self.nodes[k]) * masses[k];
            flow[1] += self.shares[k][1] - self.nodes[k] * masses[k];
            let both = |flow: f64| [0.1 + (-flow).max(0.0), 0.1 + flow.max(0.0)];
            let (zero, one) = (both(flow[0]), both(flow[1]));
            [zero[0], zero[1], one[0], one[1]]
        });
        Inequalities { edges: edges.collect(), nodes: masses }
    }

    /// Improves functions f0, f1 and masses step by step; `judge` sees every pair, keeps what it
    /// likes and returns whether to stop. Where rounding dominates, steps can do harm, so the last
    /// need not be the best.
    pub(super) fn solve(&self, mut judge: impl FnMut(&[[f64; 2]], &[f64]) -> bool) {
        let mut f = vec![[-0.5; 2]; self.nodes.len()];
        let mut slacks = Inequalities {
            edges: self.lengths().map(|length| [length; 4]).collect(),
            nodes: vec![0.5; self.nodes.len()],
        };
        let mut z = self.multipliers(self.start_masses());
        let limits = Inequalities { edges: slacks.edges.clone(), nodes: vec![0.0; self.nodes.len()] };
        let count = slacks.len() as f64;
        for _ in 0..MOST_STEPS {
            watch::check();
            let gap = z.dot(&slacks);
            if !(gap > GAP) {
                break;
            }
            let system = System::new(self, &slacks, &z);
            let left = self.apply(&f);
            let missing = limits.zip(&left, |limit, left| limit - left).zip(&slacks, |rest, slack| rest - slack);
            let step = |target: &Inequalities| system.step(self, target, &missing, &slacks, &z);
            // Straight at the solution, to see how far one gets; then with what is left of the gap
            // and its curvature.
            let straight = step(&z.zip(&slacks, |z, slack| -z * slack));
            let (by_slack, by_z) = (slacks.longest(&straight.slacks, 1.0), z.longest(&straight.z, 1.0));
            let after = z
                .zip(&straight.z, |z, change| z + by_z * change)
                .dot(&slacks.zip(&straight.slacks, |slack, change| slack + by_slack * change));
            let target = gap / count * (after / gap).powi(3);
            let curvature = straight.slacks.zip(&straight.z, |a, b| a * b);
            let products = z.zip(&slacks, |z, slack| target - z * slack).zip(&curvature, |a, b| a - b);
            let change = step(&products);
            let (by_slack, by_z) = (slacks.longest(&change.slacks, 0.995), z.longest(&change.z, 0.995));
            if !(by_slack.is_finite() && by_z.is_finite() && by_slack.max(by_z) > 1e-9) {
                break;
            }
            slacks = slacks.zip(&change.slacks, |slack, change| slack + by_slack * change);
            z = z.zip(&change.z, |z, change| z + by_z * change);
            for (f, change) in f.iter_mut().zip(&change.f) {
                *f = [f[0] + by_slack * change[0], f[1] + by_slack * change[1]];
            }
            if judge(&f, &z.nodes) {
                break;
            }
        }
    }
}

/// A Newton step.
struct Change {
    f: Vec<[f64; 2]>,
    slacks: Inequalities,
    z: Inequalities,
}

/// The factorised system: node by node, what is left of a node after those before it are
/// eliminated.
struct System {
    /// Springs between a node and the next, for both chains.
    springs: Vec<[f64; 2]>,
    /// The block of a node, as [00, 01, 11], with the springs to the next, and its determinant.
    blocks: Vec<([f64; 3], f64)>,
}

impl System {
    /// A chain of springs in two layers. What a node hands on through its springs P of its own
    /// stiffness R is their parallel sum P (P + R)^-1 R, written so that nothing cancels however
    /// stiff springs are.
    fn new(program: &Program, slacks: &Inequalities, z: &Inequalities) -> Self {
        let n = program.nodes.len();
        let ratio = z.zip(slacks, |z, slack| z / slack);
        let springs: Vec<[f64; 2]> = ratio.edges.iter().map(|of| [of[0] + of[1], of[2] + of[3]]).collect();
        let mut blocks = Vec::with_capacity(n);
        // Stiffness that reaches a node from before: entries and determinant.
        let (mut r, mut determinant) = ([0.0f64; 3], 0.0f64);
        for k in 0..n {
            let (v, q) = ([1.0 - program.nodes[k], program.nodes[k]], ratio.nodes[k]);
            determinant += q * (v[0] * v[0] * r[2] - 2.0 * v[0] * v[1] * r[1] + v[1] * v[1] * r[0]).max(0.0);
            r = [r[0] + q * v[0] * v[0], r[1] + q * v[0] * v[1], r[2] + q * v[1] * v[1]];
            let Some(&[p0, p1]) = springs.get(k) else {
                blocks.push((r, determinant));
                break;
            };
            let whole = p0 * p1 + p0 * r[2] + p1 * r[0] + determinant;
            blocks.push(([r[0] + p0, r[1], r[2] + p1], whole));
            r = [
                p0 / whole * (r[0] * p1 + determinant),
                p0 / whole * p1 * r[1],
                p1 / whole * (r[2] * p0 + determinant),
            ];
            determinant *= p0 / whole * p1;
        }
        System { springs, blocks }
    }

    fn solve_block(&self, k: usize, y: [f64; 2]) -> [f64; 2] {
        let (b, determinant) = self.blocks[k];
        [(b[2] * y[0] - b[1] * y[1]) / determinant, (b[0] * y[1] - b[1] * y[0]) / determinant]
    }

    fn solve(&self, mut y: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
        let n = y.len();
        for k in 0..n - 1 {
            let x = self.solve_block(k, y[k]);
            let spring = self.springs[k];
            y[k + 1] = [y[k + 1][0] + spring[0] * x[0], y[k + 1][1] + spring[1] * x[1]];
        }
        y[n - 1] = self.solve_block(n - 1, y[n - 1]);
        for k in (0..n - 1).rev() {
            let (spring, next) = (self.springs[k], y[k + 1]);
            y[k] = self.solve_block(k, [y[k][0] + spring[0] * next[0], y[k][1] + spring[1] * next[1]]);
        }
        y
    }

    /// The step that brings every product of slack and multiplier up by `products`, and slacks to
    /// where they belong.
    fn step(
        &self,
        program: &Program,
        products: &Inequalities,
        missing: &Inequalities,
        slacks: &Inequalities,
        z: &Inequalities,
    ) -> Change {
        let own =
            products.zip(&z.zip(missing, |z, missing| z * missing), |a, b| a - b).zip(slacks, |a, slack| a / slack);
        let pulled = program.transpose(&z.zip(&own, |z, own| z + own));
        let right = program
            .shares
            .iter()
            .zip(pulled)
            .map(|(share, influence)| [share[0] - influence[0], share[1] - influence[1]]);
        let f = self.solve(right.collect());
        let moved = program.apply(&f);
        let change = missing.zip(&moved, |missing, moved| missing - moved);
        let ratio = z.zip(slacks, |z, slack| z / slack);
        let by_f = ratio.zip(&moved, |ratio, moved| ratio * moved);
        Change { f, slacks: change, z: own.zip(&by_f, |own, by_f| own + by_f) }
    }
}
