//! Two samples side by side in the order of their scores, and logistic fits to them.

use crate::Error;
use crate::data::{BinaryView, Rows, Sample};
use crate::link::{Link, Logistic};
use crate::measures::Group;
use crate::numerics::cholesky::{Cholesky, Symmetric};
use crate::recalibrate::SplineBasis;

/// Places in which each sample is counted, at most: a function of the score is as good as constant
/// within a thousandth of the rows.
const MOST_PLACES: usize = 1 << 10;

/// Scores of so many different values are taken one by one.
const FEW_SCORES: usize = 12;

/// The share of the weight beyond each of the outer knots.
const OUTSIDE: f64 = 0.02;

/// On parameters of features whose mean square is 1, for n rows of information: it only keeps those
/// finite that the rows do not determine.
const RIDGE: f64 = 1e-3;

/// Probabilities nearer to 0 or 1 have the same logit as this.
const CLIP: f64 = 1e-12;

/// The rows of one sample at one place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Their mean logit.
    pub(super) h: f64,
    pub(super) is_after: bool,
    /// Weights are such that a sample's sum is its effective number of rows.
    pub(super) weight: f64,
    /// The weight with outcome 1.
    pub(super) positive: f64,
    /// Σ w² over the rows: what their noise is, times r (1 - r).
    pub(super) squares: f64,
    /// About as many rows of equal weight have as much noise.
    pub(super) trials: u64,
}

/// Both samples in the order of their scores.
pub(super) struct Pooled {
    pub(super) places: Vec<Place>,
    curves: Curves,
}

impl Pooled {
    /// The samples before and after, with their effective numbers of rows.
    pub(super) fn new(samples: [&Sample<'_>; 2], effective_rows: [f64; 2]) -> Result<Self, Error> {
        let mut places = Vec::new();
        for (number, sample) in samples.into_iter().enumerate() {
            let (effective_rows, is_after) = (effective_rows[number], number == 1);
            match sample.view().filter(|view| view.is_weighted()) {
                Some(view) => places.extend(of_weighted(view, is_after, effective_rows)),
                None => {
                    let groups = sample.groups(&Logistic)?;
                    let n = groups.iter().map(|group| group.n).sum::<u64>() as f64;
                    let share = (effective_rows / n).min(1.0);
                    places.extend(groups.iter().map(|group| Place::new(group, is_after, effective_rows, share)));
                }
            }
        }
        places.sort_by(|a, b| a.h.total_cmp(&b.h).then(a.is_after.cmp(&b.is_after)));
        let places = if places.len() > 2 * MOST_PLACES { merged(&places) } else { places };
        let curves = Curves::new(&places);
        Ok(Pooled { places, curves })
    }

    /// The features of every place: functions of the score alone.
    pub(super) fn features(&self) -> Features {
        Features::new(&self.places, self.curves.n_features(), |place, into| self.curves.at(place.h, into))
    }

    /// The same, and one more that is 1 after and 0 before.
    pub(super) fn features_with_sample(&self) -> Features {
        let n = self.curves.n_features();
        Features::new(&self.places, n + 1, |place, into| {
            self.curves.at(place.h, into);
            into[n] = f64::from(u8::from(place.is_after));
        })
    }

    /// The features of a row: those of `features`, or with the sample as the last of them.
    pub(super) fn features_of(&self, row: &Row, features: &Features) -> Vec<f64> {
        let mut at = vec![0.0; features.n];
        let n = self.curves.n_features();
        self.curves.at(row.h, &mut at[..n]);
        if let Some(sample) = at.get_mut(n) {
            *sample = f64::from(u8::from(row.is_after));
        }
        at.iter_mut().zip(&features.scales).for_each(|(feature, scale)| *feature *= scale);
        at
    }

    /// ln(density after / density before) as a function of the score, by logistic regression of the
    /// sample on the score.
    pub(super) fn log_density_ratio(&self) -> impl Fn(f64) -> f64 {
        let after = |place: &Place| if place.is_after { place.weight } else { 0.0 };
        let total = self.places.iter().map(|place| place.weight).sum::<f64>();
        let total_after = self.places.iter().map(after).sum::<f64>();
        let prior = (total_after / (total - total_after)).ln();
        let features = self.features();
        let positives: Vec<f64> = self.places.iter().map(after).collect();
        let fitted = features.fit(&self.places, &positives);
        move |h: f64| {
            let mut at = vec![0.0; features.n];
            self.curves.at(h, &mut at);
            let terms = at.iter().zip(&features.scales).zip(&fitted.theta);
            terms.map(|((feature, scale), theta)| feature * scale * theta).sum::<f64>() - prior
        }
    }
}

impl Place {
    /// `effective_rows` are those of all of the sample, and `share` is how much of a row each of
    /// its rows is worth: a sketch knows the weights of its rows only in sum.
    fn new(group: &Group, is_after: bool, effective_rows: f64, share: f64) -> Self {
        let (weight, worth) = (group.weight() * effective_rows, (group.n as f64 * share).max(1.0));
        let positive = group.positive * effective_rows;
        let (squares, trials) = (weight * weight / worth, worth.round() as u64);
        Place { h: logit(group.p), is_after, weight, positive, squares, trials }
    }
}

/// A row of one sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) h: f64,
    pub(super) is_after: bool,
    /// As that of a [`Place`].
    pub(super) weight: f64,
    pub(super) outcome: bool,
}

/// All rows of a sample, in their order.
pub(super) fn rows_of(view: &BinaryView<'_>, is_after: bool, effective_rows: f64) -> Vec<Row> {
    let mut rows = Rows::default();
    view.read_probabilities(0..view.len(), &Logistic, &mut rows);
    let unit = effective_rows / rows.weights.iter().sum::<f64>();
    let row = |((p, weight), outcome): ((&f64, &f64), &bool)| Row {
        h: logit(*p),
        is_after,
        weight: weight * unit,
        outcome: *outcome,
    };
    rows.scores.iter().zip(&rows.weights).zip(&rows.outcomes).map(row).collect()
}

/// The places of rows whose weights differ: those of one score are worth fewer rows than they are.
fn of_weighted(view: &BinaryView<'_>, is_after: bool, effective_rows: f64) -> Vec<Place> {
    let mut rows = rows_of(view, is_after, effective_rows);
    rows.retain(|row| row.weight > 0.0);
    // By weight and outcome, too, so that the order of rows changes no sum.
    let place = |row: &Row| (row.h, row.weight, row.outcome);
    rows.sort_by(|a, b| {
        let (a, b) = (place(a), place(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
    });
    let sums = |rows: &[Row]| {
        let mut sums = Sums::default();
        for Row { h, weight, outcome, .. } in rows {
            sums.weight += weight;
            sums.positive += if *outcome { *weight } else { 0.0 };
            sums.weighted_logit += weight * h;
            sums.squares += weight * weight;
        }
        Place { h: rows[0].h, ..sums.place(is_after)? }.into()
    };
    rows.chunk_by(|a, b| a.h == b.h).filter_map(sums).collect()
}

/// The logit of a probability, clipped.
pub(super) fn logit(p: f64) -> f64 {
    let p = p.clamp(CLIP, 1.0 - CLIP);
    Logistic.inverse(p, 1.0 - p)
}

/// Neighbours of one sample together, as many as make a thousandth of the weight.
fn merged(places: &[Place]) -> Vec<Place> {
    let total: f64 = places.iter().map(|place| place.weight).sum();
    let share = total / MOST_PLACES as f64;
    let mut all = Vec::with_capacity(2 * MOST_PLACES + 2);
    let (mut sums, mut below) = ([Sums::default(); 2], 0.0);
    let mut next = share;
    for place in places {
        if below >= next {
            all.extend(sums.iter().zip([false, true]).filter_map(|(sums, is_after)| sums.place(is_after)));
            sums = [Sums::default(); 2];
            next = share * ((below / share).floor() + 1.0);
        }
        sums[usize::from(place.is_after)].add(place);
        below += place.weight;
    }
    all.extend(sums.iter().zip([false, true]).filter_map(|(sums, is_after)| sums.place(is_after)));
    all.sort_by(|a, b| a.h.total_cmp(&b.h).then(a.is_after.cmp(&b.is_after)));
    all
}

/// Sums over places of one sample.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    weight: f64,
    positive: f64,
    weighted_logit: f64,
    /// Σ w² over rows.
    squares: f64,
}

impl Sums {
    fn add(&mut self, place: &Place) {
        self.weight += place.weight;
        self.positive += place.positive;
        self.weighted_logit += place.weight * place.h;
        self.squares += place.squares;
    }

    fn place(&self, is_after: bool) -> Option<Place> {
        let Sums { weight, positive, weighted_logit, squares } = *self;
        let trials = (weight * weight / squares).round().max(1.0) as u64;
        (weight > 0.0).then_some(Place { h: weighted_logit / weight, is_after, weight, positive, squares, trials })
    }
}

/// Functions of the score that a smooth curve is a sum of: one for each score where there are few,
/// else a natural spline.
enum Curves {
    Constant,
    Line,
    Spline { basis: SplineBasis, range: (f64, f64) },
}

impl Curves {
    fn new(places: &[Place]) -> Self {
        let mut scores: Vec<f64> = places.iter().map(|place| place.h).collect();
        scores.dedup();
        let knots = if scores.len() <= FEW_SCORES { scores } else { quantiles(places) };
        match knots[..] {
            [] | [_] => Curves::Constant,
            [_, _] => Curves::Line,
            [first, .., last] => {
                // Far beyond the knots there are few rows, and one of them should not decide on the
                // slope.
                let range = (2.0 * first - last, 2.0 * last - first);
                Curves::Spline { basis: SplineBasis::with_knots(knots), range }
            }
        }
    }

    fn n_features(&self) -> usize {
        match self {
            Curves::Constant => 1,
            Curves::Line => 2,
            Curves::Spline { basis, .. } => basis.n_parameters(),
        }
    }

    fn at(&self, h: f64, into: &mut [f64]) {
        match self {
            Curves::Constant => into[0] = 1.0,
            Curves::Line => {
                into[0] = h;
                into[1] = 1.0;
            }
            Curves::Spline { basis, range } => {
                basis.features(h.clamp(range.0, range.1), &mut into[..basis.n_parameters()]);
            }
        }
    }
}

/// Different scores at equally spaced shares of the weight, more with more rows.
fn quantiles(places: &[Place]) -> Vec<f64> {
    let total: f64 = places.iter().map(|place| place.weight).sum();
    let n_knots = 2 + total.cbrt().ceil().clamp(1.0, 10.0) as usize;
    let share = |k: usize| OUTSIDE + (1.0 - 2.0 * OUTSIDE) * k as f64 / (n_knots - 1) as f64;
    let (mut knots, mut below): (Vec<f64>, f64) = (Vec::new(), 0.0);
    for place in places {
        below += place.weight;
        while knots.len() < n_knots && below * (1.0 + 1e-12) >= share(knots.len()) * total {
            knots.push(place.h);
        }
    }
    let range = knots[knots.len() - 1] - knots[0];
    knots.dedup_by(|next, last| *next - *last <= 1e-3 * range);
    knots
}

/// A matrix with a row for each place, whose columns have a mean square of 1.
pub(super) struct Features {
    pub(super) n: usize,
    rows: Vec<f64>,
    /// What each column was multiplied by.
    pub(super) scales: Vec<f64>,
}

/// A logistic fit.
pub(super) struct Fitted {
    pub(super) theta: Vec<f64>,
    /// The probability of outcome 1 at every place.
    pub(super) probabilities: Vec<f64>,
    /// The factor of the Hessian; `None` where rounding leaves none.
    pub(super) factor: Option<Cholesky>,
}

impl Features {
    fn new(places: &[Place], n: usize, at: impl Fn(&Place, &mut [f64])) -> Self {
        let mut rows = vec![0.0; n * places.len()];
        places.iter().zip(rows.chunks_exact_mut(n)).for_each(|(place, row)| at(place, row));
        let total: f64 = places.iter().map(|place| place.weight).sum();
        let mut scales = vec![0.0; n];
        for (place, row) in places.iter().zip(rows.chunks_exact(n)) {
            scales.iter_mut().zip(row).for_each(|(scale, feature)| *scale += place.weight * feature * feature / total);
        }
        scales.iter_mut().for_each(|scale| *scale = if *scale > 0.0 { scale.sqrt().recip() } else { 0.0 });
        for row in rows.chunks_exact_mut(n) {
            row.iter_mut().zip(&scales).for_each(|(feature, scale)| *feature *= scale);
        }
        Features { n, rows, scales }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.rows.chunks_exact(self.n)
    }

    /// Σ weight · row row', and a little on the diagonal.
    pub(super) fn gram(&self, weights: impl Iterator<Item = f64>, ridge: f64) -> Symmetric {
        let mut gram = Symmetric::zero(self.n);
        for (row, weight) in self.rows().zip(weights) {
            for i in 0..self.n {
                (0..=i).for_each(|j| gram.add(i, j, weight * row[i] * row[j]));
            }
        }
        (0..self.n).for_each(|i| gram.add(i, i, ridge));
        gram
    }

    /// The logistic regression of outcomes, whose weights are `positives`, by Newton's method.
    pub(super) fn fit(&self, places: &[Place], positives: &[f64]) -> Fitted {
        let mut fitted = Fitted { theta: vec![0.0; self.n], probabilities: vec![0.5; places.len()], factor: None };
        for _ in 0..60 {
            let spreads =
                places.iter().zip(&fitted.probabilities).map(|(place, p)| (place.weight * p * (1.0 - p)).max(1e-300));
            let Some(factor) = Cholesky::new(&self.gram(spreads, RIDGE)) else { break };
            let mut gradient: Vec<f64> = fitted.theta.iter().map(|theta| -RIDGE * theta).collect();
            for (((row, place), p), positive) in self.rows().zip(places).zip(&fitted.probabilities).zip(positives) {
                let residual = positive - place.weight * p;
                gradient.iter_mut().zip(row).for_each(|(sum, feature)| *sum += feature * residual);
            }
            let step = factor.solve(&gradient);
            let along = |row: &[f64]| row.iter().zip(&step).map(|(feature, step)| feature * step).sum::<f64>();
            let largest = self.rows().map(|row| along(row).abs()).fold(0.0, f64::max);
            // Far from the solution a step may be too long.
            let share = (5.0 / largest).min(1.0);
            fitted.theta.iter_mut().zip(&step).for_each(|(theta, step)| *theta += share * step);
            fitted.factor = Some(factor);
            for (p, row) in fitted.probabilities.iter_mut().zip(self.rows.chunks_exact(self.n)) {
                let u: f64 = row.iter().zip(&fitted.theta).map(|(feature, theta)| feature * theta).sum();
                *p = Logistic.response(u);
            }
            if largest < 1e-10 {
                break;
            }
        }
        fitted
    }
}
