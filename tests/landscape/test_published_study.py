"""The published features of MA-BBOB's functions: the same distribution, and the same order of functions, by other code.

They are means over five Sobol' designs of 1,000 · d points, of values that are turned upside down and mapped to [0, 1].
"""

import numpy as np
import pytest
from scipy.stats import ks_2samp, qmc, spearmanr

from polarbear.landscape import SETS, Design, features
from polarbear.problems import BBOBProblem, MABBOBProblem
from tests.landscape.published import rows

BLOCKS = 10
"""With ten blocks a variable, linear models of cells are the published ones."""
EXCLUDED = {"ela_distr.number_of_peaks"} | {
    f"pca.expl_var.{kind}_{of}" for kind in ("cov", "cor") for of in ("x", "init")
}
"""The other program adds height and width of a peak; numbers of components are equal for nearly all functions."""
OF_POINTS = {"pca.expl_var_PC1.cov_x", "pca.expl_var_PC1.cor_x"}
SPACING = {"nbc.nn_nb.mean_ratio", "nbc.dist_ratio.coeff_var", "pca.expl_var_PC1.cov_init"}
"""How evenly the points are spaced adds to these, the same for all functions; our Sobol' points are scrambled."""
HEAVY_TAILED = {"limo.ratio_mean", "limo.ratio_sd"}
"""Made by the few cells whose model has a coefficient near 0, so that designs do not agree on the order."""


def _columns(file):
    return np.array([[float(number) for number in list(row.values())[1:]] for row in rows(f"ma_bbob_study/{file}")])


def _problems(identifiers, dimension):
    weights, numbers, optima = (_columns(f"{file}.csv.gz") for file in ("weights", "iids", "opt_locs"))
    for identifier in identifiers:
        first, second, *_ = identifier.split("_")
        if first.startswith("F"):
            yield BBOBProblem(int(first[1:]), int(second[1:]), dimension).build()
        else:
            k = int(first)
            yield MABBOBProblem(weights[k], numbers[k].astype(int).tolist(), optima[k, :dimension]).build()


def compared(dimension, every, designs, *, upside_down=True):
    """Our features and the published ones of every so-manieth function, by name."""
    table = [row for row in rows("ma_bbob_study/full_ela_5ids.csv.gz") if row["dim"] == str(dimension)][::every]
    problems = list(_problems([row["fid"] for row in table], dimension))
    sets = [name for name in SETS if not name.startswith("cm_") and name != "fitness_distance"]
    found = []
    for seed in range(designs):
        points = qmc.scale(qmc.Sobol(dimension, rng=seed).random_base2(13)[: 1000 * dimension], -5, 5)
        values = np.array([problem(points) for problem in problems])
        design = Design(points, -5, 5, blocks=BLOCKS if dimension == 2 else None)
        found.append(features(design, -values if upside_down else values, sets, normalize="min-max"))
    columns = {}
    for name in found[0]:
        ours = np.mean([each[name] for each in found], axis=0)
        published = np.array([float(row[name] or "nan") for row in table])
        known = np.isfinite(ours) & np.isfinite(published)
        if known.mean() > 0.8 and name not in EXCLUDED | OF_POINTS:
            columns[name] = ours[known], published[known]
    return columns


def agreement(ours, published):
    """Rank correlation, or Pearson's if that is larger."""
    return max(spearmanr(ours, published).statistic, np.corrcoef(ours, published)[0, 1])


@pytest.mark.parametrize(
    ("dimension", "every", "designs", "features_compared"),
    [(2, 20, 3, 60), pytest.param(5, 60, 2, 48, marks=pytest.mark.slow)],
)
def test_features_are_distributed_and_ordered_as_published(dimension, every, designs, features_compared):
    columns = compared(dimension, every, designs)
    assert len(columns) == features_compared
    agreements = {name: agreement(*pair) for name, pair in columns.items() if name not in HEAVY_TAILED}
    assert min(agreements.values()) > 0.8, min(agreements, key=agreements.get)
    assert np.median(list(agreements.values())) > 0.98
    for name, pair in columns.items():
        assert ks_2samp(*pair).pvalue > 0.1 or name in SPACING, name


def test_landscapes_the_right_way_up_are_others():
    """So the comparison tells what is upside down."""
    columns = compared(2, 20, 1, upside_down=False)
    assert spearmanr(*columns["ela_distr.skewness"]).statistic < -0.9
    for name in ("disp.ratio_mean_02", "ela_level.mmce_qda_10"):
        assert agreement(*columns[name]) < 0.7, name
