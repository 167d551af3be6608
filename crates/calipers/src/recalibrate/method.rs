//! The families of maps.

use crate::names::names;

/// A family of recalibration maps. Every one contains the identity, or comes as near to it as the
/// rows say.
///
/// With h the logit of a probability and σ the logistic function, the maps of a binary outcome are:
/// ```text
/// identity            σ(h)
/// shift               σ(h + shift)
/// temperature         σ(slope h)                                      slope = 1 / temperature
/// platt               σ(slope h + intercept)                          slope >= 0
/// beta                σ(a log σ(h) - b log σ(-h) + c)                 a, b >= 0
/// spline              σ(natural cubic spline of h)                    rising
/// isotonic            the rising steps nearest to the outcomes, joined by straight lines in h
/// centred_isotonic    each step at the mean h of its rows, joined by straight lines
/// venn_abers          p1 / (1 - p0 + p1), where p0 and p1 are isotonic fits with one row more
/// bins                (s + 1/2) / (m + 1) in bins of equal mass, with s of m rows of outcome 1
/// ```
/// With l the logarithms of the probabilities of k classes, the maps of classes are:
/// ```text
/// temperature                   softmax(slope l)
/// bias_corrected_temperature    softmax(scale g + bias_j)              one scale for all classes
/// vector                        softmax(scale_j g_j + bias_j)          a scale for each class j
/// matrix                        softmax(Σ_i matrix_ji g_i + bias_j)
/// ensemble_temperature          w0 softmax(slope l) + w1 softmax(l) + w2 / k
/// ```
/// where g = log((1 - e) softmax(slope l) + e / k) are the logarithms after a temperature that is
/// fitted first, with e = 1 / (n_eff + 1); without a ridge g is l.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Method {
    /// Probabilities as they are: the candidate that every other one is measured against.
    Identity,
    /// One number is added to all logits: calibration in the large.
    Shift,
    /// All logits are divided by one number. Works for any number of classes.
    Temperature,
    /// A straight line in logits, as in Cox's regression and Platt's scaling.
    Platt,
    /// Beta calibration: a slope for low and one for high probabilities, and an intercept.
    #[default]
    Beta,
    /// A natural cubic spline in logits, with a penalty on curvature: for many rows.
    Spline,
    /// Isotonic regression.
    Isotonic,
    /// Centred isotonic regression, which keeps different probabilities apart wherever the steps
    /// differ.
    CentredIsotonic,
    /// Venn-Abers prediction: a probability with an interval that is valid for independent rows of
    /// any distribution.
    VennAbers,
    /// Bins of equal mass.
    Bins,
    /// A temperature and a bias for each class: for classes that became more or less frequent.
    BiasCorrectedTemperature,
    /// Vector scaling: a slope and a bias for each class.
    Vector,
    /// Matrix scaling: every score counts for every class.
    Matrix,
    /// A mixture of the probabilities after a temperature, the probabilities as they are, and equal
    /// ones.
    EnsembleTemperature,
}

names! { Method, "method";
    Identity = "identity",
    Shift = "shift",
    Temperature = "temperature",
    Platt = "platt",
    Beta = "beta",
    Spline = "spline",
    Isotonic = "isotonic",
    CentredIsotonic = "centred_isotonic",
    VennAbers = "venn_abers",
    Bins = "bins",
    BiasCorrectedTemperature = "bias_corrected_temperature",
    Vector = "vector",
    Matrix = "matrix",
    EnsembleTemperature = "ensemble_temperature",
}

impl Method {
    /// The names of its parameters; none for the identity and for tables. A spline has as many of
    /// its names as it has knots: its parameters are the recalibrated logits there. Of methods for
    /// classes, each name stands for one parameter of each class or pair of classes.
    pub fn parameter_names(self) -> &'static [&'static str] {
        match self {
            Method::Shift => &["shift"],
            Method::Temperature => &["slope"],
            Method::Platt => &["slope", "intercept"],
            Method::Beta => &["a", "b", "c"],
            Method::Spline => &[
                "at_knot_1",
                "at_knot_2",
                "at_knot_3",
                "at_knot_4",
                "at_knot_5",
                "at_knot_6",
                "at_knot_7",
                "at_knot_8",
                "at_knot_9",
                "at_knot_10",
                "at_knot_11",
                "at_knot_12",
            ],
            Method::BiasCorrectedTemperature | Method::Vector => &["scale", "bias"],
            Method::Matrix => &["matrix", "bias"],
            Method::EnsembleTemperature => &["slope", "weight"],
            _ => &[],
        }
    }

    /// Whether it is a table of values rather than a formula.
    pub fn is_table(self) -> bool {
        matches!(self, Method::Isotonic | Method::CentredIsotonic | Method::VennAbers | Method::Bins)
    }

    /// Whether it is for rows of classes only.
    pub fn is_of_classes(self) -> bool {
        matches!(self, Method::BiasCorrectedTemperature | Method::Vector | Method::Matrix | Method::EnsembleTemperature)
    }

    /// The parameters of the identity map of a binary outcome, as they are fitted: for splines
    /// slope, intercept and one for each inner knot, of which there may be fewer.
    pub(crate) fn identity(self) -> &'static [f64] {
        match self {
            Method::Shift => &[0.0],
            Method::Temperature => &[1.0],
            Method::Platt => &[1.0, 0.0],
            Method::Beta => &[1.0, 1.0, 0.0],
            Method::Spline => &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            _ => &[],
        }
    }

    /// How many of the first parameters must not be negative, so that the map does not fall.
    pub(crate) fn n_slopes(self) -> usize {
        match self {
            Method::Temperature | Method::Platt | Method::Spline => 1,
            Method::Beta => 2,
            _ => 0,
        }
    }

    /// The ridge where none is set: none for maps of one parameter, which cannot fit noise far.
    pub(crate) fn default_ridge(self) -> f64 {
        if matches!(self, Method::Platt | Method::Beta | Method::Spline) { 2.0 } else { 0.0 }
    }
}
