//! Segments of rows, assessed together: many groups, of which some look bad by chance.

use super::worst::of_overlapping;
use super::{Adjust, Assess, Assessment, FindWorst, Standing, Worst};
use crate::Error;
use crate::data::{BinaryView, Description, Sample};
use crate::measure::{Estimate, Measure};
use crate::numerics::parallel;

/// Segments of the rows of a view, such as one for each country. They may overlap.
///
/// # Example
/// Of three segments the second comes true half as often as predicted.
/// ```
/// use calipers::inference::{Adjust, Segments};
/// use calipers::{Assess, Input, LsEce};
///
/// let is_true = |row: u32| row % 10 < if row / 300 == 1 { 2 } else { 4 };
/// let labels: Vec<i64> = (0..900).map(|row| i64::from(is_true(row))).collect();
/// let predictions = Input::probabilities(&[0.4; 900], &labels).check()?;
/// let numbers: Vec<u32> = (0..900).map(|row| row / 300).collect();
/// let view = predictions.binary()?;
/// let segments = Segments::numbered(&view, &numbers, 3)?;
/// let measure = LsEce::new().sigma(0.2);
/// let found = segments.assess(&Assess::new(&measure).n_resamples(200), Adjust::Holm)?;
/// assert!(found.worst.is_some_and(|worst| worst.place == 1 && worst.p_value < 0.01));
/// assert!(found.segments[1].p_adjusted.is_some_and(|p| p < 1e-4));
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    view: &'a BinaryView<'a>,
    clusters: Option<&'a [u32]>,
    rows: Vec<Vec<usize>>,
}

/// What is known of one segment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Segment<T> {
    /// Rows, mean probability, outcome rate and AUC.
    pub description: Description,
    /// Of the measure; an error where it has no value on these rows.
    pub found: Result<T, Error>,
    /// The p-value adjusted for the number of segments; `None` without one.
    pub p_adjusted: Option<f64>,
    /// The place by evidence: 1 for the segment with the most.
    pub rank: usize,
}

/// All segments, assessed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AssessedSegments {
    /// In the order in which they came.
    pub segments: Vec<Segment<Assessment>>,
    /// The segment that is furthest above its noise floor; `None` where no segment has one.
    pub worst: Option<Worst>,
    /// How p-values were adjusted.
    pub adjust: Adjust,
    /// The level of intervals; an adjusted p-value of at most 1 - level is significant.
    pub level: f64,
}

impl<'a> Segments<'a> {
    /// One segment for each number below `n_segments`; each row is in the one of its number.
    pub fn numbered(view: &'a BinaryView<'a>, numbers: &[u32], n_segments: usize) -> Result<Self, Error> {
        if numbers.len() != view.len() {
            return Err(Error::LengthMismatch { what: "groups", got: numbers.len(), expected: view.len() });
        }
        let mut rows = vec![Vec::new(); n_segments];
        for (row, number) in numbers.iter().enumerate() {
            rows.get_mut(*number as usize).ok_or(Error::NoRows)?.push(row);
        }
        Ok(Segments { view, clusters: None, rows })
    }

    /// More segments of the same rows, which then overlap.
    pub fn and(mut self, other: Segments<'a>) -> Self {
        self.rows.extend(other.rows);
        self
    }

    /// Rows that depend on each other, as [`Sample::clusters`] has them.
    pub fn clusters(self, clusters: &'a [u32]) -> Self {
        Segments { clusters: Some(clusters), ..self }
    }

    /// The value of each segment. Segments without rows are an error.
    pub fn measure(&self, measure: &dyn Measure) -> Result<Vec<Segment<Estimate>>, Error> {
        let mut found = self.each(measure, |_, sample| sample.estimate(measure))?;
        let worse = measure.spec().larger_is_worse();
        rank(&mut found, |estimate| (0.0, if worse { estimate.value } else { 0.0 }));
        Ok(found)
    }

    /// Assesses each segment as one of all, and finds the worst.
    ///
    /// Where sigma is chosen automatically, each segment has its own. The worst of overlapping
    /// segments takes as long as the measure itself for each resample, and none is found for them
    /// where rows depend on each other.
    pub fn assess(&self, assess: &Assess<'_>, adjust: Adjust) -> Result<AssessedSegments, Error> {
        assess.check()?;
        let (measure, n_resamples, random_state) = (assess.measure, assess.n_resamples, assess.random_state);
        let one = assess.n_tests(adjust.n_tests(self.rows.len()));
        let overlap = self.overlap();
        let both = self.each(measure, |place, sample| {
            let found = one.run(sample)?;
            let standing = match overlap || found.floor.is_none() {
                true => None,
                false => Standing::new(sample, measure, place, n_resamples, random_state)?,
            };
            Ok((found, standing))
        })?;
        let mut worst = FindWorst::default();
        let mut segments = Vec::with_capacity(both.len());
        for (place, Segment { description, found, rank, .. }) in both.into_iter().enumerate() {
            let found = found.map(|(assessment, standing)| {
                standing.iter().for_each(|standing| worst.add(place, standing));
                assessment
            });
            segments.push(Segment { description, found, p_adjusted: None, rank });
        }
        let p_values: Vec<Option<f64>> =
            segments.iter().map(|segment| segment.found.as_ref().ok()?.p_value()).collect();
        segments.iter_mut().zip(adjust.adjusted_known(&p_values)).for_each(|(segment, p)| segment.p_adjusted = p);
        rank(&mut segments, Assessment::evidence);
        let worst = match overlap && self.clusters.is_none() {
            true => self.worst_of_overlapping(assess, &segments)?,
            false => worst.worst(),
        };
        Ok(AssessedSegments { segments, worst, adjust, level: assess.level })
    }

    fn worst_of_overlapping(
        &self,
        assess: &Assess<'_>,
        segments: &[Segment<Assessment>],
    ) -> Result<Option<Worst>, Error> {
        let known = || {
            let all = self.rows.iter().zip(segments).enumerate();
            all.filter_map(|(place, (rows, segment))| Some((place, rows, segment.found.as_ref().ok()?)))
        };
        // At the sigma that each segment has, by the measure that decides.
        let resolved: Vec<Option<Box<dyn Measure>>> =
            known().map(|(_, _, found)| assess.measure.resolved_as(&found.estimate)).collect();
        let measures: Vec<&dyn Measure> =
            resolved.iter().map(|resolved| resolved.as_deref().unwrap_or(assess.measure)).collect();
        let decided: Vec<Option<Box<dyn Measure>>> = measures.iter().map(|measure| measure.decided_by()).collect();
        let measures = decided.iter().zip(measures).map(|(decided, measure)| decided.as_deref().unwrap_or(measure));
        let with_measures: Vec<(&[usize], &dyn Measure)> =
            known().zip(measures).map(|((_, rows, _), measure)| (&rows[..], measure)).collect();
        let places: Vec<usize> = known().map(|(place, ..)| place).collect();
        let worst = of_overlapping(self.view, &with_measures, assess.n_resamples, assess.random_state)?;
        Ok(worst.map(|worst| Worst { place: places[worst.place], ..worst }))
    }

    /// Whether a row is in two segments.
    fn overlap(&self) -> bool {
        let mut seen = vec![false; self.view.len()];
        self.rows.iter().flatten().any(|row| std::mem::replace(&mut seen[*row], true))
    }

    /// What is found of each segment, on all cores.
    fn each<T: Send>(
        &self,
        measure: &dyn Measure,
        find: impl Fn(usize, Sample<'_>) -> Result<T, Error> + Sync,
    ) -> Result<Vec<Segment<T>>, Error> {
        let all = self.view.rows();
        let segment = |place: usize| {
            let rows = &self.rows[place];
            if rows.is_empty() {
                return Err(Error::NoRows);
            }
            let weights: Option<Vec<f64>> =
                self.view.is_weighted().then(|| rows.iter().map(|row| all.weights[*row]).collect());
            let view = self.view.with_some(&all, rows, weights.as_deref());
            let sample = Sample::from(&view).confidences(self.view.has_confidences());
            let clusters: Option<Vec<u32>> =
                self.clusters.map(|clusters| rows.iter().map(|row| clusters[*row]).collect());
            let sample = clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters));
            let (description, found) = (sample.describe(measure.link())?, find(place, sample));
            Ok(Segment { description, found, p_adjusted: None, rank: 0 })
        };
        parallel::map(self.rows.len(), segment).into_iter().collect()
    }
}

/// How many segments a sentence names.
const MOST_LISTED: usize = 10;

/// Ranks segments by evidence; those that could not be measured come last.
fn rank<T>(segments: &mut [Segment<T>], evidence: impl Fn(&T) -> (f64, f64)) {
    let key = |segment: &Segment<T>| segment.found.as_ref().map_or((f64::INFINITY, 0.0), &evidence);
    let keys: Vec<(f64, f64)> = segments.iter().map(key).collect();
    let mut order: Vec<usize> = (0..segments.len()).collect();
    order.sort_by(|a, b| keys[*a].0.total_cmp(&keys[*b].0).then(keys[*b].1.total_cmp(&keys[*a].1)));
    order.into_iter().enumerate().for_each(|(rank, place)| segments[place].rank = rank + 1);
}

impl Assessment {
    /// The p-value, where a larger value is worse and there is a noise floor.
    pub fn p_value(&self) -> Option<f64> {
        self.floor.as_ref().map(|floor| floor.p_value)
    }

    /// How strong the evidence of miscalibration is, for a ranking: first the p-value, the smaller
    /// the stronger, then by how many standard deviations the value is above its noise floor.
    pub fn evidence(&self) -> (f64, f64) {
        let deciding = self.deciding();
        let above =
            |floor: &super::NoiseFloor| (deciding.estimate.value - floor.mean) / floor.deviation.max(f64::MIN_POSITIVE);
        (self.p_value().unwrap_or(1.0), deciding.floor.as_ref().map_or(0.0, above))
    }
}

impl AssessedSegments {
    /// The segments with evidence of miscalibration after adjustment, the strongest first.
    pub fn off(&self) -> Vec<usize> {
        let is_off = |segment: &Segment<Assessment>| segment.p_adjusted.is_some_and(|p| p <= 1.0 - self.level + 1e-12);
        let mut off: Vec<usize> = (0..self.segments.len()).filter(|place| is_off(&self.segments[*place])).collect();
        off.sort_by_key(|place| self.segments[*place].rank);
        off
    }

    /// The direction of the segment at this place and by how much, if there is evidence of
    /// miscalibration after adjustment.
    pub fn direction(&self, place: usize) -> Option<String> {
        let segment = &self.segments[place];
        segment.p_adjusted.filter(|p| *p <= 1.0 - self.level + 1e-12)?;
        segment.found.as_ref().ok()?.parts.as_ref()?.direction_in_words()
    }

    /// The worst segment, and those that are miscalibrated, in plain sentences. `names` are those
    /// of the segments, `by` is what they are segments by.
    pub fn sentence(&self, names: &[&str], by: &str) -> String {
        let title =
            self.segments.iter().find_map(|segment| Some(segment.found.as_ref().ok()?.deciding().estimate.title()));
        let worst =
            self.worst.map(|worst| worst.sentence(names[worst.place], by, title.unwrap_or_default(), self.level));
        let name = |place: &usize| {
            let direction = self.direction(*place).map_or(String::new(), |words| format!(" ({words})"));
            format!("{}{direction}", names[*place])
        };
        let (off, n) = (self.off(), self.segments.len());
        let found = match &off[..] {
            [] => format!("None of the {n} groups shows evidence of miscalibration after adjusting for their number."),
            [one] => format!("1 of {n} groups is miscalibrated after adjusting for their number: {}.", name(one)),
            several => {
                let listed: Vec<String> = several.iter().take(MOST_LISTED).map(name).collect();
                let more = several.len() - listed.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!(
                    "{} of {n} groups are miscalibrated after adjusting for their number: {}{more}.",
                    several.len(),
                    listed.join(", ")
                )
            }
        };
        worst.into_iter().chain([found]).collect::<Vec<_>>().join(" ")
    }
}
