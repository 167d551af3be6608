//! All values of a model.

use std::sync::Arc;

use calipers::{
    BinaryView, Compat, Error, Gaussian, LsEce, LsEceSampled, Measure, Noise, SmoothEce, SmoothMethod, Sweep, Uniform,
};

use super::{Group, LsEces, Measured, Point, bins, n_samples};
use crate::Setting;
use crate::replicates::{replicates, seed_of};
use crate::summary::extent;

impl Measured {
    pub(super) fn smooth_ece(&self) -> f64 {
        self.sweep.smooth_ece.as_ref().map_or(f64::NAN, |estimate| estimate.value)
    }

    /// From 10 bins on: of one bin, ECE is the gap of two means.
    pub(super) fn judged(&self) -> impl Iterator<Item = &Point> + Clone {
        self.points.iter().filter(|point| point.n_bins >= 10)
    }

    /// Least and greatest ECE from 10 to 100 bins.
    pub(super) fn range_ece(&self) -> (f64, f64) {
        extent(self.judged().map(|point| point.ece))
    }

    /// The same of LS-ECE with Gaussian noise.
    pub(super) fn range_ls_ece(&self) -> (f64, f64) {
        extent(self.judged().map(|point| point.gaussian.integral))
    }
}

pub(super) fn group(group: &Group<'_>, setting: &Setting) -> Result<Vec<Measured>, Error> {
    let names: Vec<&str> = group.models.iter().map(|model| model.name.as_str()).collect();
    let shorts = without(&names, shared(&names));
    let models = group.models.iter().zip(shorts).enumerate().map(|(place, (model, short))| {
        let sweep = Sweep::new()
            .bins(bins(setting))
            .compat(Compat::Netcal)
            .random_state(setting.random_state)
            .run(&model.view)?;
        let uniform: Arc<dyn Noise> = Arc::new(Uniform);
        // The sweep has the integrals with Gaussian noise.
        let points = replicates(sweep.points.len() as u64, |index| {
            let point = &sweep.points[index as usize];
            let sigma = 1.0 / point.n_bins as f64;
            let integral = LsEce::new().sigma(sigma).noise(uniform.clone()).estimate(&model.view)?;
            let place = (place * 1_000_000 + point.n_bins) as u64;
            Ok(Point {
                n_bins: point.n_bins,
                ece: point.ece_uniform.value,
                gaussian: ls_eces(&point.ls_ece, &model.view, sigma, Arc::new(Gaussian), (setting, 20, place))?,
                uniform: ls_eces(&integral, &model.view, sigma, uniform.clone(), (setting, 21, place))?,
            })
        })?;
        let relplot = SmoothEce::new().method(SmoothMethod::Relplot).estimate(&model.view)?.value;
        Ok(Measured { name: model.name.clone(), short, sweep, relplot, points })
    });
    models.collect()
}

/// `stream` and `place` are of the seed: of each noise, model and number of bins another.
fn ls_eces(
    integral: &calipers::Estimate,
    view: &BinaryView<'_>,
    sigma: f64,
    noise: Arc<dyn Noise>,
    (setting, stream, place): (&Setting, u64, u64),
) -> Result<LsEces, Error> {
    let sampling = LsEceSampled::new(sigma).noise(noise).n_samples(n_samples(setting));
    let sampled = sampling.random_state(seed_of(setting.random_state, stream, place)).estimate(view)?;
    Ok(LsEces {
        integral: integral.value,
        bound: integral.numerical_bound,
        sampled: sampled.value,
        standard_error: sampled.standard_error.unwrap_or(0.0),
    })
}

/// How many words at the start and at the end all names have, where words end with `_` or start
/// with it; each keeps at least one.
fn shared(names: &[&str]) -> (usize, usize) {
    let words: Vec<Vec<&str>> = names.iter().map(|name| name.split('_').collect()).collect();
    let fewest = words.iter().map(Vec::len).min().unwrap_or(0);
    if words.len() < 2 || fewest < 2 {
        return (0, 0);
    }
    let alike =
        |place: &dyn Fn(&Vec<&str>) -> usize| words.iter().all(|own| own[place(own)] == words[0][place(&words[0])]);
    let start = (0..fewest - 1).take_while(|k| alike(&|_| *k)).count();
    let end = (0..fewest - 1 - start).take_while(|k| alike(&|own| own.len() - 1 - k)).count();
    (start, end)
}

fn without(names: &[&str], (start, end): (usize, usize)) -> Vec<String> {
    let short = |name: &&str| {
        let words: Vec<&str> = name.split('_').collect();
        words[start..words.len() - end].join("_")
    };
    names.iter().map(short).collect()
}

/// What all names have and short ones lack, in words: `imagenet_val_ and _top1`.
pub(super) fn common(models: &[Measured]) -> Option<String> {
    let first = models.first()?;
    let (start, end) = shared(&models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>());
    let words: Vec<&str> = first.name.split('_').collect();
    let parts = [
        (start > 0).then(|| words[..start].join("_") + "_"),
        (end > 0).then(|| format!("_{}", words[words.len() - end..].join("_"))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_the_words_that_all_have_and_keep_one() {
        let cases: [(&[&str], &[&str]); 5] = [
            (&["in_val_a_top1", "in_val_b_c_top1"], &["a", "b_c"]),
            (&["only_one"], &["only_one"]),
            (&["a", "a_b"], &["a", "a_b"]),
            (&["x_a", "x_a_b"], &["a", "a_b"]),
            (&["a_x", "a_x_x"], &["x", "x_x"]),
        ];
        for (names, short) in cases {
            assert_eq!(without(names, shared(names)), short, "{names:?}");
        }
    }
}
