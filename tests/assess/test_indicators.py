import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear.assess.indicators import (
    best_value,
    constrained_indicator,
    last_value,
    noisy_indicator,
    noisy_window,
)
from polarbear.assess.runtimes import first_hits

sequences = st.lists(st.floats(-100, 100), min_size=1, max_size=60)


@given(sequences, st.lists(st.floats(-100, 100), max_size=5))
def test_last_and_best_value_have_the_same_first_hitting_times(values, targets):
    times = np.arange(1, len(values) + 1)
    assert (
        first_hits(times, last_value(values), targets).tolist()
        == first_hits(times, best_value(values), targets).tolist()
    )


class TestNoisy:
    def test_window_holds_what_the_paper_says(self):
        """100 %, 40 %, 11 % and 2 % from 1, 10, 100 and 1000 values, and 1061 values of 10^20."""
        assert noisy_window([1, 10, 100]).tolist() == [1, 4, 11]
        assert round(100 * noisy_window(1000) / 1000) == 2
        assert noisy_window(1e20) == 1061

    @given(sequences)
    def test_is_the_worst_of_the_latest(self, values):
        found = noisy_indicator(values)
        for t in range(1, len(values) + 1):
            width = int(np.ceil(np.log(t + 3) ** 2 / 2))
            assert found[t - 1] == max(values[t - width : t] if t >= width else values[:t])

    def test_long_sequences_leave_out_the_worst_hundredth(self):
        values = np.random.default_rng(1).permutation(1_600_000).astype(float)
        found = noisy_indicator(values)
        for t in (10, 1_300_000, 1_500_000, 1_600_000):
            latest = np.sort(values[t - int(noisy_window(t)) : t])[::-1]
            assert found[t - 1] == latest[int(np.ceil(latest.size / 100)) - 1]
        assert noisy_window(1_600_000) > 100, "otherwise this tests the worst alone"

    def test_a_lucky_value_does_not_lower_it(self):
        values = np.full(50, 3.0)
        values[30] = 0.0
        assert noisy_indicator(values).tolist() == [3.0] * 50

    def test_no_values(self):
        assert noisy_indicator([]).size == 0


class TestConstrained:
    def test_by_hand(self):
        found = constrained_indicator([5.0, 1.0, 0.0], [[-1.0, 0.0], [2.0, 0.5], [0.0, -3.0]], 1.0, weights=[1.0, 4.0])
        assert found.tolist() == [4.0, 4.0, 0.0]

    def test_infinite_weight_forbids_infeasible_solutions_alone(self):
        found = constrained_indicator([2.0, 2.0], [[0.0], [1e-9]], 1.0, weights=np.inf)
        assert found.tolist() == [1.0, np.inf]

    @given(st.floats(-10, 10), st.lists(st.floats(-5, 5), min_size=1, max_size=4))
    def test_is_zero_only_at_feasible_values_not_above_the_optimum(self, value, constraints):
        found = constrained_indicator([value], [constraints], 0.0)[0]
        assert (found == 0) == (value <= 0 and max(constraints) <= 0)

    def test_refusals(self):
        with pytest.raises(ValueError, match=r"they must be \(2, constraints\)"):
            constrained_indicator([1.0, 2.0], [[1.0]], 0.0)
        with pytest.raises(ValueError, match="they must be positive"):
            constrained_indicator([1.0], [[1.0]], 0.0, weights=0.0)
        with pytest.raises(ValueError, match="none of them NaN"):
            best_value([1.0, np.nan])
