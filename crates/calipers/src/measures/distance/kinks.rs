//! The kinks of a concave function on one side of its maximum, nearest first, of which many can
//! change sides at once.

/// A point where the slope falls by `drop`. Its distance from 0 in the direction of its side is
/// base + x, x being the present point of the chain: kinks move away from the maximum as x grows,
/// and bases stay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kink {
    pub(super) base: f64,
    pub(super) drop: f64,
}

/// So many kinks are passed one by one in a step before the rest is passed at once.
const ONE_BY_ONE: usize = 4;

/// No node.
const NIL: u32 = u32::MAX;

/// The two sides. New kinks are on stacks, from which some are passed one by one; the others are in
/// trees that split and join, because on calibrated rows a step passes about √n of them. A kink
/// goes from a stack to a tree at most once, so a step is O(log n).
#[derive(Debug)]
pub(super) struct Kinks {
    near: [Vec<Kink>; 2],
    far: [u32; 2],
    nodes: Vec<Node>,
    /// Of a xorshift generator, for the balance of the trees.
    state: u64,
}

/// A node of a treap: ascending bases, aggregated drops, and a change that its children do not know
/// of yet.
#[derive(Debug, Clone, Copy)]
struct Node {
    kink: Kink,
    sum: f64,
    children: [u32; 2],
    priority: u32,
    /// Children are to be mirrored: base becomes -base, before `add` is added.
    flip: bool,
    add: f64,
}

impl Kinks {
    pub(super) fn new() -> Self {
        let state = 0x9e37_79b9_7f4a_7c15;
        Kinks { near: [Vec::new(), Vec::new()], far: [NIL; 2], nodes: Vec::new(), state }
    }

    /// The flat around the maximum: how far it reaches on a side, in the direction of that side.
    pub(super) fn reach(&self, side: usize, x: f64) -> f64 {
        let nearest = self.near[side].last().map(|kink| kink.base);
        nearest.or_else(|| self.first(self.far[side])).map_or(1.0, |base| (base + x).min(1.0))
    }

    /// Moves the maximum to where a new slope `rising` > 0 is used up by the kinks ahead on `side`;
    /// those passed are behind it then. Returns its place, in the direction of the side.
    ///
    /// A kink at place u is stored as u - x ahead and as -u - x behind.
    pub(super) fn climb(&mut self, side: usize, x: f64, rising: f64) -> f64 {
        let (ahead, behind) = (side, 1 - side);
        let mut rest = rising;
        for _ in 0..ONE_BY_ONE {
            let Some(kink) = self.near[ahead].pop() else { break };
            let place = kink.base + x;
            if place >= 1.0 {
                return self.stop_at_end(side, x, rest);
            }
            if kink.drop > rest {
                self.near[ahead].push(Kink { drop: kink.drop - rest, ..kink });
                self.near[behind].push(Kink { base: -place - x, drop: rest });
                return place;
            }
            rest -= kink.drop;
            self.near[behind].push(Kink { base: -place - x, drop: kink.drop });
        }
        if self.near[ahead].is_empty() && self.far[ahead] == NIL {
            return self.stop_at_end(side, x, rest);
        }
        self.bury(ahead);
        self.bury(behind);
        let (passed, kept) = self.split(self.far[ahead], rest, 1.0 - x);
        if passed != NIL {
            rest = (rest - self.nodes[passed as usize].sum).max(0.0);
            self.change(passed, true, -2.0 * x);
            self.far[behind] = self.join(passed, self.far[behind]);
        }
        self.far[ahead] = kept;
        match self.first(kept) {
            Some(base) if base + x < 1.0 => {
                self.shorten_first(kept, rest);
                let place = base + x;
                self.near[behind].push(Kink { base: -place - x, drop: rest });
                place
            }
            _ => self.stop_at_end(side, x, rest),
        }
    }

    /// The maximum is at the end of the side, and kinks further out are outside.
    fn stop_at_end(&mut self, side: usize, x: f64, rest: f64) -> f64 {
        self.near[side].clear();
        self.far[side] = NIL;
        self.near[1 - side].push(Kink { base: -1.0 - x, drop: rest });
        1.0
    }

    /// From the stack to the tree.
    fn bury(&mut self, side: usize) {
        let mut near = std::mem::take(&mut self.near[side]);
        let mut root = self.far[side];
        // From the farthest on, each in front of all.
        for kink in near.drain(..) {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            let priority = (self.state >> 32) as u32;
            let node = Node { kink, sum: kink.drop, children: [NIL; 2], priority, flip: false, add: 0.0 };
            self.nodes.push(node);
            root = self.join(self.nodes.len() as u32 - 1, root);
        }
        self.far[side] = root;
        self.near[side] = near;
    }

    fn change(&mut self, at: u32, flip: bool, add: f64) {
        if at == NIL {
            return;
        }
        let node = &mut self.nodes[at as usize];
        if flip {
            node.kink.base = -node.kink.base;
            node.children.swap(0, 1);
            (node.flip, node.add) = (!node.flip, -node.add);
        }
        node.kink.base += add;
        node.add += add;
    }

    fn hand_down(&mut self, at: u32) -> Node {
        let node = self.nodes[at as usize];
        for child in node.children {
            self.change(child, node.flip, node.add);
        }
        let node = &mut self.nodes[at as usize];
        (node.flip, node.add) = (false, 0.0);
        *node
    }

    fn sum(&self, at: u32) -> f64 {
        if at == NIL { 0.0 } else { self.nodes[at as usize].sum }
    }

    fn set_child(&mut self, at: u32, which: usize, child: u32) {
        self.nodes[at as usize].children[which] = child;
        let node = self.nodes[at as usize];
        self.nodes[at as usize].sum = self.sum(node.children[0]) + node.kink.drop + self.sum(node.children[1]);
    }

    /// The first kinks whose drops sum to at most `rest` and whose bases are below `end`, and the
    /// others.
    fn split(&mut self, at: u32, rest: f64, end: f64) -> (u32, u32) {
        if at == NIL {
            return (NIL, NIL);
        }
        let node = self.hand_down(at);
        let with = self.sum(node.children[0]) + node.kink.drop;
        if with <= rest && node.kink.base < end {
            let (passed, kept) = self.split(node.children[1], rest - with, end);
            self.set_child(at, 1, passed);
            (at, kept)
        } else {
            let (passed, kept) = self.split(node.children[0], rest, end);
            self.set_child(at, 0, kept);
            (passed, at)
        }
    }

    fn join(&mut self, first: u32, second: u32) -> u32 {
        if first == NIL {
            return second;
        }
        if second == NIL {
            return first;
        }
        if self.nodes[first as usize].priority > self.nodes[second as usize].priority {
            let node = self.hand_down(first);
            let joined = self.join(node.children[1], second);
            self.set_child(first, 1, joined);
            first
        } else {
            let node = self.hand_down(second);
            let joined = self.join(first, node.children[0]);
            self.set_child(second, 0, joined);
            second
        }
    }

    /// Takes `less` off the drop of the first kink of a tree.
    fn shorten_first(&mut self, root: u32, less: f64) {
        let mut at = root;
        loop {
            let first = self.hand_down(at).children[0];
            let node = &mut self.nodes[at as usize];
            node.sum = (node.sum - less).max(0.0);
            if first == NIL {
                node.kink.drop = (node.kink.drop - less).max(0.0);
                break;
            }
            at = first;
        }
    }

    /// The base of the first kink of a tree.
    fn first(&self, root: u32) -> Option<f64> {
        let (mut at, mut found) = (root, None);
        // Changes on the way down, of which nodes below do not know yet.
        let (mut sign, mut add) = (1.0, 0.0);
        while at != NIL {
            let node = self.nodes[at as usize];
            found = Some(sign * node.kink.base + add);
            at = node.children[usize::from(sign < 0.0)];
            add += sign * node.add;
            sign *= if node.flip { -1.0 } else { 1.0 };
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_once_are_as_one_by_one() {
        // A fan of small kinks, and then swings over all of it: more than go one by one. Beside it
        // the same by a sorted list.
        let mut kinks = Kinks::new();
        let mut plain: Vec<(f64, f64)> = Vec::new();
        let (mut x, mut maximum, mut n_far) = (0.0, 0.0, 0);
        for k in 0..900u32 {
            let step = 1e-4;
            x += step;
            plain.iter_mut().for_each(|kink| kink.0 += if kink.0 <= maximum { -step } else { step });
            // The maximum itself was a kink, cut in two: its left part went left.
            let rising = if k < 500 { 1e-3 } else { 0.3 };
            let side = usize::from(k < 500 || k % 2 == 0);
            let place = kinks.climb(side, x, rising);
            let sign = if side == 1 { 1.0 } else { -1.0 };
            // Ahead in the direction of the side, nearest first.
            let is_ahead = |kink: &(f64, f64)| if side == 1 { kink.0 > maximum } else { kink.0 <= maximum };
            let mut ahead: Vec<(f64, f64)> = plain.iter().copied().filter(is_ahead).collect();
            plain.retain(|kink| !is_ahead(kink));
            ahead.sort_by(|a, b| (sign * a.0).total_cmp(&(sign * b.0)));
            let mut rest = rising;
            let mut passed = 0;
            while passed < ahead.len() && sign * ahead[passed].0 < 1.0 && ahead[passed].1 <= rest {
                rest -= ahead[passed].1;
                passed += 1;
            }
            let expected = ahead.get(passed).map_or(1.0, |kink| (sign * kink.0).min(1.0));
            assert!((place - expected).abs() < 1e-9, "step {k}: {place} against {expected}");
            // Left parts are at or below the maximum, right parts just above.
            let (tiny, at) = (1e-13, sign * expected);
            if expected < 1.0 {
                ahead[passed].1 -= rest;
                ahead[passed].0 = if side == 1 { at + tiny } else { at };
            } else {
                ahead.truncate(passed);
            }
            ahead.push((if side == 1 { at } else { at + tiny }, rest));
            plain.extend(ahead);
            maximum = at;
            n_far = n_far.max(kinks.nodes.len());
        }
        assert!(n_far > 100, "trees were used");
    }
}
