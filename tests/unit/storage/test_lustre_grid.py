"""Arithmetic of capacities, metadata rates and throughput."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.lustre import deployments, lustre_facts
from ultracluster.plan.lustre_grid import automatic_metadata_iops, metadata_values, nearest_on_grid, on_grid, scaled

GRIDS = sorted({(row.listed_gib or (), tier.step_gib) for row in deployments() for tier in row.tiers})
grids = st.sampled_from(GRIDS)


@given(grids, st.integers(1, 10**6))
def test_every_multiple_is_on_the_grid(grid: tuple[tuple[int, ...], int], factor: int) -> None:
    listed, step = grid
    assert on_grid(step * factor, listed=listed, step=step)
    assert all(on_grid(each, listed=listed, step=step) for each in listed)


@given(grids, st.integers(-(10**6), 0))
def test_nothing_negative_is_on_the_grid(grid: tuple[tuple[int, ...], int], value: int) -> None:
    listed, step = grid
    assert not on_grid(value, listed=listed, step=step)


@given(grids, st.integers(-(10**6), 10**7))
def test_the_nearest_are_valid_and_nothing_valid_lies_between(grid: tuple[tuple[int, ...], int], value: int) -> None:
    listed, step = grid
    nearest = nearest_on_grid(value, listed=listed, step=step)
    assert all(on_grid(each, listed=listed, step=step) for each in nearest)
    assert nearest[-1] > value
    below = nearest[0] if len(nearest) == 2 else 0
    assert below < value or value <= 0
    candidates = {*listed, *range(step, nearest[-1], step)} if nearest[-1] < 50 * step else set()
    assert not [each for each in candidates if below < each < nearest[-1] and each != value]


@pytest.mark.parametrize(
    ("value", "nearest"),
    [(3600, (2400, 4800)), (3000, (2400, 4800)), (1300, (1200, 2400)), (5, (1200,)), (-2400, (1200,))],
)
def test_nearest_of_the_persistent_grid(value: int, nearest: tuple[int, ...]) -> None:
    assert nearest_on_grid(value, listed=(1200,), step=2400) == nearest


@pytest.mark.parametrize(
    ("capacity", "iops"),
    [
        (1200, 1500),
        (2400, 3000),
        (4800, 6000),
        (9600, 6000),
        (12000, 12000),
        (45600, 12000),
        (48000, 24000),
        (72000, 36000),
        (384000, 192000),
        (460800, 192000),
    ],
)
def test_automatic_metadata_rate(capacity: int, iops: int) -> None:
    assert automatic_metadata_iops(capacity) == iops


@given(st.integers(1, 400), st.integers(1, 400))
def test_a_larger_file_system_never_has_a_lower_automatic_rate(first: int, second: int) -> None:
    small, large = sorted((first * 2400, second * 2400))
    assert automatic_metadata_iops(small) <= automatic_metadata_iops(large)


@given(st.integers(1, 400))
def test_the_automatic_rate_can_be_provisioned(factor: int) -> None:
    assert automatic_metadata_iops(factor * 2400) in metadata_values()


def test_metadata_values_end_at_the_maximum() -> None:
    assert metadata_values()[:5] == (1500, 3000, 6000, 12000, 24000)
    assert metadata_values()[-1] == lustre_facts().metadata_maximum
    assert metadata_values(at_least=7000)[0] == 12000


def test_rates_scale_with_capacity_and_stay_unknown_when_unknown() -> None:
    assert scaled(250, 2400) == 600
    assert scaled(50, 2400) == 120  # the example of the API reference
    assert scaled(None, 2400) is None
