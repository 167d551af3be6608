"""Attributes that several results share, as their docstrings have them.

n : int
    Rows measured.
n_clipped : int
    Probabilities that were moved off 0 or 1 so that their logit is finite.
left_out : dict
    Rows that ``invalid="count"`` left out, by kind.
settings : dict
    Every option that was used, with its value.
sentence : str
    The result in words.
test : str
    Name of the test.
statistic : float
    The value that is compared with chance; each test defines its own.
p_value : float
    Probability of a statistic at least as extreme if predictions are calibrated.
degrees_of_freedom : float or None
    Degrees of freedom of the chi-square distribution, for tests that have one.
probabilities : array
    The distinct probabilities, ascending.
band : Band or None
    How far chance moves the curve, if that was requested.
bins : array of int
    The numbers of bins B, ascending.
ece_uniform : array
    ECE with B bins of equal width.
ls_ece : array
    LS-ECE at sigma = 1/B.
ls_ece_bounds : array
    Bounds on the numerical error of LS-ECE.
brittle_with : tuple of {"uniform", "quantile"}
    The strategies with which ECE is brittle.
range_uniform : tuple or None
    Least and greatest ECE with bins of equal width, over 10 to 100 bins.
range_quantile : tuple or None
    The same with bins of equal mass.
range_ls_ece : tuple or None
    Least and greatest LS-ECE over the same 1/sigma.
sampling_noise_uniform : float
    Mean range of ECE with bins of equal width that a perfectly calibrated model would get on the
    same data by chance alone.
sampling_noise_quantile : float or None
    The same with bins of equal mass.
level : float
    Level of the intervals.
n_runs : int
    Runs.
n_failed : int
    Runs whose rows could not be used; the values are of the others.
"""
