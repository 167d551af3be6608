//! The marks of a scatter chart: their outlines and their sizes.

use std::f64::consts::PI;

use super::layout::Pixels;

/// The radii of circles with the fewest and with the most rows.
pub(super) const RADII: (f64, f64) = (2.5, 8.5);

/// The outline of a mark. All outlines of the same number of rows have the same area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Circle,
    Square,
    Diamond,
    Triangle,
}

/// One mark.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    /// The place of the mark in the caller's list, for the script of the page.
    pub(crate) place: usize,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) n: u64,
    /// Marks with the class `k3` have the fourth colour of the page's style.
    pub(crate) colour: usize,
    pub(crate) shape: Shape,
    /// What a browser shows on hover where no script runs.
    pub(crate) title: String,
}

/// The radius of a circle for a number of rows.
///
/// The area is proportional to a power of the number: 1 if the numbers are near to each other, and
/// less if the smallest mark were too small to see otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Radius {
    least: f64,
    /// The power of the radius, which is half of that of the area.
    power: f64,
}

impl Radius {
    pub(super) fn new(numbers: impl Iterator<Item = u64> + Clone) -> Self {
        let numbers = || numbers.clone().map(|n| n.max(1) as f64);
        let (least, most) = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(1.0, f64::max));
        let least = least.min(most);
        let widest = (RADII.1 / RADII.0).ln();
        let ratio = (most / least).ln();
        Radius { least, power: if ratio > 0.0 { (widest / ratio).min(0.5) } else { 0.5 } }
    }

    pub(super) fn of(self, n: u64) -> f64 {
        RADII.0 * (n.max(1) as f64 / self.least).powf(self.power)
    }
}

impl Shape {
    /// All shapes, the most usual first.
    pub(crate) const ALL: [Shape; 4] = [Shape::Circle, Shape::Square, Shape::Diamond, Shape::Triangle];

    /// The outline around a centre, with the area of a circle of this radius.
    pub(crate) fn outline(self, x: f64, y: f64, r: f64) -> String {
        let polygon = |corners: &[(f64, f64)]| {
            let corners = corners.iter().map(|(dx, dy)| format!("{} {}", Pixels(x + dx), Pixels(y + dy)));
            format!("M{}Z", corners.collect::<Vec<_>>().join("L"))
        };
        match self {
            Shape::Circle => {
                let (r, from, across) = (Pixels(r), Pixels(x - r), Pixels(2.0 * r));
                let y = Pixels(y);
                format!("M{from} {y}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0 -{across} 0Z")
            }
            Shape::Square => {
                // Sides of r √π.
                let half = r * PI.sqrt() / 2.0;
                polygon(&[(-half, -half), (half, -half), (half, half), (-half, half)])
            }
            Shape::Diamond => {
                // The same square on a corner.
                let half = r * (PI / 2.0).sqrt();
                polygon(&[(0.0, -half), (half, 0.0), (0.0, half), (-half, 0.0)])
            }
            Shape::Triangle => {
                // An equilateral triangle with side a has the area a² √3 / 4.
                let side = r * (4.0 * PI / 3f64.sqrt()).sqrt();
                let height = side * 3f64.sqrt() / 2.0;
                polygon(&[(0.0, -2.0 * height / 3.0), (side / 2.0, height / 3.0), (-side / 2.0, height / 3.0)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The area inside an outline of straight lines, by the shoelace formula.
    fn area(outline: &str) -> f64 {
        let corners = outline.trim_matches(['M', 'Z']).split('L').map(|corner| {
            let (x, y) = corner.split_once(' ').unwrap();
            (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
        });
        let corners: Vec<(f64, f64)> = corners.collect();
        let next = corners.iter().cycle().skip(1);
        corners.iter().zip(next).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum::<f64>().abs() / 2.0
    }

    #[test]
    fn shapes_of_one_size_have_one_area() {
        for shape in [Shape::Square, Shape::Diamond, Shape::Triangle] {
            // Coordinates have two decimals.
            assert!((area(&shape.outline(3.0, 4.0, 10.0)) - 100.0 * PI).abs() < 0.5, "{shape:?}");
        }
    }

    #[test]
    fn areas_are_proportional_to_rows_unless_small_marks_would_be_invisible() {
        let radius = |numbers: &[u64]| Radius::new(numbers.iter().copied());
        let near = radius(&[100, 400, 900]);
        assert!((near.of(400) / near.of(100) - 2.0).abs() < 1e-12);
        let far = radius(&[10, 10_000_000]);
        assert_eq!(far.of(10), RADII.0);
        assert!((far.of(10_000_000) - RADII.1).abs() < 1e-9);
        for numbers in [&[][..], &[0], &[7], &[7, 7], &[u64::MAX, 0]] {
            let radius = radius(numbers);
            for n in numbers {
                assert!((RADII.0 - 1e-9..=RADII.1 + 1e-9).contains(&radius.of(*n)), "{numbers:?}");
            }
        }
    }
}
