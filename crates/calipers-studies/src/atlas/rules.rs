//! The rules of the study, as they were fixed before any result was looked at: which files count,
//! what is computed, and from which value on a finding is called what.
//!
//! The page prints the text below, and the code uses the constants. A change of either after the
//! first run is a change of the study and belongs in the list at the end of the page.

/// The numbers of bins over which ECE is looked at.
pub(super) const BINS: [usize; 20] = {
    let mut bins = [0; 20];
    let mut place = 0;
    while place < bins.len() {
        bins[place] = 5 * (place + 1);
        place += 1;
    }
    bins
};

/// The number of bins of ECE where there is one: that of most publications.
pub(super) const USUAL_BINS: usize = 15;

/// The numbers of bins of the paper's experiments from which its claims are judged.
pub(super) const PAPER_BINS: [usize; 10] = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

/// Draws of outcomes from the predictions, which show what chance does.
pub(super) const N_DRAWS: usize = 400;

/// Further draws for each model, which stand for calibrated models: they are judged like real ones.
pub(super) const N_SIMULATED: usize = 20;

/// The level of every test.
pub(super) const LEVEL: f64 = 0.05;

/// Tests of a model in question a, for Holm's rule.
pub(super) const N_TESTS: f64 = 3.0;

/// One percentage point: a difference that would change what a reader concludes.
pub(super) const MATTERS: f64 = 0.01;

/// "Nearly the same" in the paper's sense: what ECE may move over the paper's numbers of bins.
pub(super) const NEARLY_THE_SAME: f64 = 0.005;

/// "Tracks closely" and "near-identical" in the paper's sense.
pub(super) const CLOSE: f64 = 0.01;

/// A claim of the paper holds from this share of models on, and with conditions from the second.
pub(super) const HOLDS: f64 = 0.95;
pub(super) const HOLDS_WITH_CONDITIONS: f64 = 0.5;

/// Resamples of rows for the significance of differences between models.
pub(super) const N_RESAMPLES: usize = 100;

/// Two standard errors, two-sided 5 %.
pub(super) const SIGNIFICANT: f64 = 1.959_963_984_540_054;

/// What sigma is multiplied with in question g.
pub(super) const SIGMA_FACTORS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// The least number of rows in a range of confidence for its gap to be counted.
pub(super) const LEAST_ROWS_IN_RANGE: u64 = 100;

/// Ranges of confidence in question f: the first starts at 0.
pub(super) const CONFIDENCE_ENDS: [f64; 5] = [0.5, 0.7, 0.9, 0.99, 1.0];

/// Draws of sets of rows for the interval of a share.
pub(super) const N_INTERVAL_DRAWS: usize = 2_000;

/// Classes of sizes: fewer than 1,000 rows, fewer than 10,000, and the rest.
pub(super) const SIZES: [u64; 2] = [1_000, 10_000];

/// Classes of distinct probabilities: fewer than 100, fewer than 1,000, and the rest.
pub(super) const DISTINCT: [u64; 2] = [100, 1_000];

/// The least number of sets for an interval: fewer draws of sets tell nothing about others.
pub(super) const LEAST_SETS: usize = 5;

/// What was changed after the first run of all files, and why.
pub(super) const CHANGES: [&str; 3] = [
    "Question d compared ECE with the debiased ECE by its default settings, the root of the mean squared gap over bins of \
     equal mass, which is larger than a mean absolute gap. It now has the bins and the norm of the ECE beside it.",
    "Shares and medians of fewer than five sets had intervals, which were as narrow as one set is alike. They have none now.",
    "The criterion for uniform noise was in the program, and not in these words.",
];

/// The rules in words: a heading and its text.
pub(super) const TEXT: [(&str, &str); 9] = [
    (
        "Which files count",
        "A model counts once, with its test part: a file whose part is called `val` or `test2` in the manifest is \
         left out, since it has other rows of a model that is counted already. For more than two classes, the \
         prediction is the confidence in the top class and the outcome is whether that class is right, as in the \
         paper. For two classes it is the probability of label 1. Files with the same entry `rows` in the manifest \
         are a set: they share their rows, or are of the same benchmark, and are not independent of each other. So a \
         share of models has an interval from drawing sets, not models, with replacement (95 %, percentiles of 2,000 \
         draws). Where the share is 0 or 1, the interval is that of Clopper and Pearson with the number of sets in \
         place of the number of models. Beside each share of models stands the mean over sets, in which every set \
         counts the same. Where the manifest cautions \
         that rows depend on each other, outcomes are not drawn, so the file is left out of questions a and d; standard \
         errors and resamples are by cluster if the manifest names a cluster column, and else the file is left out of \
         everything that has to do with chance.",
    ),
    (
        "a. Bins",
        "ECE is computed with 5, 10, ..., 100 bins of equal width, and with as many of equal mass. Three distances are \
         tested: the range over bins of equal width, the range over bins of equal mass, and the largest difference \
         between the two kinds at the same number of bins. Chance is what a perfectly calibrated model with the same \
         predictions does: outcomes are drawn from the predictions 400 times, and the p-value of a distance is (1 + \
         number of draws that reach it) / 401. A model is *brittle* if the smallest of the three p-values is at most \
         0.05 / 3 (the first step of Holm's rule), and brittle *by a point* if, besides, the largest of those distances whose p-value is that \
         small is above 0.01. As a check, 20 further draws for each model are judged by the same rule: of these \
         calibrated models at most 5 % may be called brittle.",
    ),
    (
        "b. ECE, LS-ECE and smECE",
        "ECE has 15 bins of equal width. LS-ECE is taken at the matched sigma of 1/15 and at the automatic sigma. \
         Differences from ECE are given in absolute terms, and in units of the standard error of ECE (delta method: \
         the standard deviation of the signed residuals over the square root of n). A difference matters above 0.01.",
    ),
    (
        "c. Ranking",
        "For every two models whose labels agree row by row, and every two measures of the catalogue: Kendall's tau-b \
         between the rankings by the two measures within a set of at least three models, averaged over sets; and the \
         share of pairs of models whose significant order flips, which means that one measure calls the first model \
         better and the other the second, each with a difference of more than 1.96 standard errors. Standard errors \
         are from 100 resamples of the rows (or clusters), the same for all models of a set. Scores and errors rank by \
         their value, coefficients by their distance from the ideal. Of the measures that the catalogue calls slow only \
         smECE is resampled; the others have a ranking without significance.",
    ),
    (
        "d. Noise",
        "The noise floor of ECE with 15 bins is its mean over the 400 draws of question a. The ECE of a model is *not \
         above its floor* if its p-value among these draws is above 0.05. The share of noise is the floor over the \
         value, at most 1. Beside the plain value stands the debiased ECE (Kumar, Liang and Ma 2019) with the same bins and \
         mean absolute gaps.",
    ),
    (
        "e. Ties",
        "A row is tied if another row has the same probability. The jump is what splitting all ties by the smallest \
         amount can add to the ECE in which every distinct probability is a bin of its own.",
    ),
    (
        "f. Direction",
        "Overconfidence is the mean confidence less the share of right predictions; for two classes the predicted \
         class is the likelier one. A model is over- or underconfident if that is off 0 by more than 1.96 standard \
         errors. Its place is seen in five ranges of confidence (up to 0.5, 0.7, 0.9, 0.99 and 1), each counted where \
         it has at least 100 rows.",
    ),
    (
        "g. Sigma and the shape of the noise",
        "LS-ECE at a quarter, a half, twice and four times the automatic sigma, and at the automatic sigma with \
         uniform, Laplace, logistic and Epanechnikov noise of the same standard deviation as the Gaussian. A change \
         matters above 0.01.",
    ),
    (
        "The paper's claims",
        "Each claim of Section 6 is judged by the share of models for which it is true: it *holds* from 95 % on, *holds \
         with conditions* from 50 % on, and else *does not hold*. \"Nearly the same\" is a range of at most 0.005 over \
         10, 20, ..., 100 bins; \"tracks closely\" and \"near-identical\" is a difference of at most 0.01 at every one \
         of these numbers of bins, with sigma the inverse of the number of bins. A set of models agrees on the best one if \
         the same model is best at every number of bins. Uniform noise leads to the same answer on tracking if a model \
         tracks closely with both noises or with neither.",
    ),
];
