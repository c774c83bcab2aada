"""Plans: as good as stated, and never over the budget by a computation in many digits."""

from __future__ import annotations

import itertools
import math

import pytest
from mpmath import mp, mpf

import brdp
from brdp.errors import InvalidInput, NotPossible
from tests.planning.twin import twin_of
from tests.reference import calibrate, curve

# 200 settings: epsilon, sensitivity, within, delta.
GRID = list(
    itertools.product(
        (0.1, 0.5, 1.0, 2.0, 4.0),
        (1.0, 5.0),
        (0.5, 1.0, 3.0, 10.0),
        (1e-2, 1e-4, 1e-5, 1e-8, 1e-12),
    )
)


def true_delta(noise: brdp.Noise, sensitivity: float, epsilon: float) -> mpf:
    return curve.delta(twin_of(noise), sensitivity, epsilon)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "at_least"),
    [(1, 1, 0.3990), (2, 1, 0.7661), (3, 1, 0.9127), (3, 5, 0.6468)],
)
def test_recycled_gaussian_reaches_what_exact_accounting_allows(epsilon, sensitivity, at_least):
    plan = brdp.plan(
        sensitivity=sensitivity, within=1, epsilon=epsilon, delta=1e-5, kernel="gaussian"
    )
    assert plan.recycles
    assert plan.acceptance >= at_least


@pytest.mark.parametrize("epsilon", [1, 2, 3])
def test_auto_reaches_the_limit_of_any_additive_noise(epsilon):
    """theory.md section 7: the limit at delta = 0, for within 1 and sensitivity 5."""
    a = math.exp(-epsilon)
    limit = 1 / (1 + 5 * a / (1 - a))
    plan = brdp.plan(sensitivity=5, within=1, epsilon=epsilon, delta=1e-5)
    assert plan.acceptance >= 0.9995 * limit


def test_a_count_within_one_at_epsilon_one():
    plan = brdp.plan(sensitivity=1, within=1, epsilon=1, delta=1e-5, integer=True)
    assert plan.acceptance >= 0.802
    pure = brdp.plan(sensitivity=1, within=1, epsilon=1, delta=0, integer=True)
    exact = 1 - 2 * math.exp(-2) / (1 + math.exp(-1))
    assert pure.acceptance == pytest.approx(exact, rel=1e-10)


def plain_laplace(epsilon: float, sensitivity: float, within: float, delta: float) -> float:
    return -math.expm1(-within * (epsilon - 2 * math.log1p(-delta)) / sensitivity)


def plain_gaussian(epsilon: float, sensitivity: float, within: float, delta: float) -> float:
    sigma = float(
        calibrate.gaussian(epsilon=str(epsilon), delta=str(delta), sensitivity=sensitivity).sigma
    )
    return math.erf(within / (sigma * math.sqrt(2)))


@pytest.mark.parametrize("delta", sorted({setting[3] for setting in GRID}))
def test_no_plan_on_the_grid_is_over_budget_or_below_plain_noise(delta):
    """All 200 settings. Plain scales are found here, by closed form and in many digits."""
    for epsilon, sensitivity, within, _ in (setting for setting in GRID if setting[3] == delta):
        plan = brdp.plan(sensitivity=sensitivity, within=within, epsilon=epsilon, delta=delta)
        assert true_delta(plan.noise, sensitivity, epsilon) <= mpf(delta)
        # certified scales end on the private side, so an ulp or two of acceptance is given up
        plain = max(
            law(epsilon, sensitivity, within, delta) for law in (plain_laplace, plain_gaussian)
        )
        assert plan.acceptance >= plain * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("delta", sorted({setting[3] for setting in GRID}))
def test_no_alternative_on_the_grid_is_over_budget(delta, integer):
    for epsilon, sensitivity, within, _ in (setting for setting in GRID if setting[3] == delta):
        if integer and within < 1:
            continue
        plan = brdp.plan(
            sensitivity=sensitivity, within=within, epsilon=epsilon, delta=delta, integer=integer
        )
        for alternative in plan.alternatives:
            assert true_delta(alternative.noise, sensitivity, epsilon) <= mpf(delta), alternative


@pytest.mark.parametrize("setting", GRID[::17])
def test_alternatives_on_a_part_of_the_grid_are_not_over_budget(setting):
    epsilon, sensitivity, within, delta = setting
    plan = brdp.plan(sensitivity=sensitivity, within=within, epsilon=epsilon, delta=delta)
    assert {a.kernel for a in plan.alternatives} == {"laplace", "gaussian", "staircase"}
    for alternative in plan.alternatives:
        assert true_delta(alternative.noise, sensitivity, epsilon) <= mpf(delta), alternative
        assert alternative.noise.acceptance(within=within) == alternative.acceptance


def test_the_twin_would_notice_a_plan_that_overspends():
    """The control: the same noise at a tenth of a per mille less epsilon must be over its budget."""
    plan = brdp.plan(sensitivity=1, within=1, epsilon=1, delta=1e-5, kernel="gaussian")
    assert true_delta(plan.noise, 1, 0.9999) > mpf("1e-5")


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("kernel", ["auto", "laplace", "gaussian", "staircase"])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_least_epsilon_for_a_confidence(confidence, kernel, integer):
    plan = brdp.plan(
        sensitivity=2, within=3, confidence=confidence, delta=1e-6, kernel=kernel, integer=integer
    )
    assert plan.acceptance >= confidence
    assert true_delta(plan.noise, 2, plan.epsilon) <= mpf("1e-6")
    # and it is the least: a little less budget gives too little acceptance
    less = brdp.plan(
        sensitivity=2,
        within=3,
        epsilon=0.9995 * plan.epsilon,
        delta=1e-6,
        kernel=kernel,
        integer=integer,
    )
    assert less.acceptance < confidence + 1e-6


@pytest.mark.parametrize(("delta", "at_least"), [(1e-12, 0.5801), (1e-13, 0.5648), (1e-15, 0.537)])
def test_small_deltas_recycle_a_gaussian_too(delta, at_least):
    """Where most of what a rough search likes is infeasible; a plain Gaussian has 0.35 here, and less."""
    plan = brdp.plan(sensitivity=1, within=3, epsilon=1, delta=delta, kernel="gaussian")
    assert plan.acceptance >= at_least
    assert true_delta(plan.noise, 1, 1) <= mpf(delta)


def test_every_kernel_says_what_it_gives_recycled_on_a_part_of_the_grid():
    for epsilon, sensitivity, within, delta in GRID[::7]:
        plan = brdp.plan(sensitivity=sensitivity, within=within, epsilon=epsilon, delta=delta)
        said = {(a.kernel, a.recycled): a.acceptance for a in plan.alternatives}
        assert said["gaussian", True] >= said["gaussian", False]
        assert said["laplace", True] >= said["laplace", False] * (1 - 1e-3)


def test_pure_plans_are_pure_and_leave_the_gaussian_out():
    for integer in (False, True):
        plan = brdp.plan(sensitivity=3, within=4, epsilon=0.7, delta=0, integer=integer)
        assert plan.noise.privacy(sensitivity=3).epsilon(delta=0) <= 0.7
        assert "gaussian" not in {a.kernel for a in plan.alternatives}
        with mp.workdps(30):
            # the largest loss is epsilon less a few ulps: just above it nothing is left
            assert true_delta(plan.noise, 3, 0.7) == 0


def test_where_recycling_does_not_help_there_is_none_and_the_plan_says_so():
    plan = brdp.plan(sensitivity=1, within=1, epsilon=1, delta=1e-5)
    assert not plan.recycles
    assert isinstance(plan.noise, brdp.Laplace)
    assert "recycling does not help" in str(plan)
    recycled = brdp.plan(sensitivity=1, within=1, epsilon=1, delta=1e-5, kernel="gaussian")
    assert "recycling does not help" not in str(recycled)


def test_a_bound_inside_the_asked_one_helps_a_gaussian():
    plan = brdp.plan(sensitivity=1, within=3.3, epsilon=1, delta=1e-2, kernel="gaussian")
    at_the_bound = 0.92318  # the best with the recycler's bound at 3.3, by a grid of 400 scales
    assert plan.acceptance > at_the_bound + 0.02
    assert plan.noise.recycler.edges[1] < 3.3


def test_a_cost_without_an_epsilon_is_infinite_and_leaves_the_other_kernels():
    """Gaussian noise has no epsilon at delta 0: a cost that asks for one leaves it out, and does not fail."""
    plan = brdp.plan(sensitivity=1, within=3, epsilon=1, delta=1e-5, cost=pure_cost)
    assert isinstance(plan.noise, brdp.Laplace | brdp.Staircase)
    assert "gaussian" not in {a.kernel for a in plan.alternatives}
    assert plan.noise.privacy(sensitivity=1).epsilon(delta=0) <= 1


def pure_cost(curve: brdp.Curve) -> float:
    return curve.epsilon(delta=0)


def test_pure_releases_compose_to_a_pure_epsilon():
    total = brdp.compose({brdp.Laplace(3).privacy(): 3, brdp.Laplace(2).privacy(): 1})
    assert 1.5 <= total.epsilon(delta=0) <= 1.5 * (1 + 1e-14)


def test_plans_are_values():
    one, two = (brdp.plan(sensitivity=1, within=2, epsilon=1, delta=1e-6) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)


GOOD = {"sensitivity": 1, "within": 3, "epsilon": 1.0, "delta": 1e-5}


@pytest.mark.parametrize(
    ("bad", "argument"),
    [
        ({"sensitivity": 0}, "sensitivity"),
        ({"sensitivity": -1}, "sensitivity"),
        ({"sensitivity": math.nan}, "sensitivity"),
        ({"sensitivity": True}, "sensitivity"),
        ({"sensitivity": 1.5, "integer": True}, "sensitivity"),
        ({"within": 0}, "within"),
        ({"within": math.inf}, "within"),
        ({"within": 0.5, "integer": True}, "within"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": 0, "kernel": "gaussian"}, "delta"),
        ({"epsilon": None}, "epsilon"),
        ({"confidence": 0.9}, "epsilon"),
        ({"epsilon": None, "confidence": 1}, "confidence"),
        ({"epsilon": None, "confidence": 0}, "confidence"),
        ({"kernel": "cauchy"}, "kernel"),
        ({"count": 0}, "count"),
        ({"count": 1.5}, "count"),
        ({"count": 2, "cost": lambda curve: 1.0}, "cost"),
        ({"cost": 3}, "cost"),
        ({"cost": lambda curve: math.nan}, "cost"),
        ({"cost": lambda curve: -curve.epsilon(delta=1e-5)}, "cost"),
        ({"integer": "no"}, "integer"),
    ],
)
def test_bad_input_names_the_argument_and_what_would_be_right(bad, argument):
    with pytest.raises(InvalidInput) as caught:
        brdp.plan(**(GOOD | bad))
    message = str(caught.value)
    assert message.startswith(argument)
    assert "expected" in message
    assert "got" in message


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: brdp.Recycled(brdp.Gaussian(1), within=1, rate=1.1), "rate"),
        (lambda: brdp.Recycled(brdp.Gaussian(1), within=1, rate=math.nan), "rate"),
        (lambda: brdp.Recycled(brdp.Gaussian(1), within=(1, 2), rate=0.5), "within"),
        (lambda: brdp.Recycled(brdp.Gaussian(1), within=math.nan, rate=0.5), "within"),
        (lambda: brdp.Recycled(brdp.Gaussian(1), within=-1, rate=0.5), "within"),
        (lambda: brdp.Recycled(brdp.Gaussian(1), within=0, rate=1), "within"),
        (lambda: brdp.Recycled(brdp.Gaussian(1), within=1), "within"),
        (lambda: brdp.Recycled(brdp.Gaussian(1), levels=[(2, 1), (1, 0.5)]), "levels"),
        (lambda: brdp.Recycled(brdp.Gaussian(1), levels=[(1, 1), (math.inf, -0.5)]), "levels"),
        (lambda: brdp.Recycled(brdp.Gaussian(1), levels=[(1, math.nan), (math.inf, 1)]), "levels"),
        (lambda: brdp.Recycled(brdp.DiscreteLaplace(1), within=0.5, rate=0.5), "within"),
        (lambda: brdp.Recycled(brdp.DiscreteLaplace(1), within=(-3, 0.5), rate=0.5), "within"),
        (lambda: brdp.Recycled("gaussian", within=1, rate=0.5), "kernel"),
        (lambda: brdp.Gaussian(0), "sigma"),
        (lambda: brdp.Laplace(math.inf), "scale"),
        (lambda: brdp.DiscreteLaplace(-1), "scale"),
        (lambda: brdp.DiscreteGaussian(math.nan), "sigma"),
        (lambda: brdp.Staircase(core=0.5, step=1, drop=1, integer=True), "core"),
        (lambda: brdp.Staircase(core=1, step=0, drop=1), "step"),
        (lambda: brdp.Staircase(core=1, step=1, drop=0), "drop"),
        (lambda: brdp.Gaussian(1).privacy(sensitivity=0), "sensitivity"),
        (lambda: brdp.DiscreteLaplace(1).privacy(sensitivity=0.5), "sensitivity"),
        (lambda: brdp.Gaussian(1).privacy().delta(epsilon=-1), "epsilon"),
        (lambda: brdp.Gaussian(1).privacy().delta(epsilon=math.nan), "epsilon"),
        (lambda: brdp.Gaussian(1).privacy().epsilon(delta=1), "delta"),
        (lambda: brdp.Gaussian(1).privacy().epsilon(delta=0), "delta"),
        (lambda: brdp.DiscreteGaussian(3).privacy().epsilon(delta=0), "delta"),
        (lambda: brdp.Gaussian(1).privacy().compose(3).epsilon(delta=0), "delta"),
        (lambda: brdp.Gaussian(1).privacy().renyi(order=1), "order"),
        (lambda: brdp.Gaussian(1).pmf(0), "pmf"),
        (lambda: brdp.Gaussian(1).pdf("a"), "x"),
        (lambda: brdp.Gaussian(1).ppf(1.5), "u"),
        (lambda: brdp.Recycled(brdp.Laplace(1), within=1, rate=0.5).ppf([0.5, math.nan]), "u"),
        (lambda: brdp.Gaussian(1).sample(-1), "size"),
        (lambda: brdp.Gaussian(1).sample(3, rng=5), "rng"),
    ],
)
def test_bad_noise_and_curve_input(make, argument):
    with pytest.raises(InvalidInput) as caught:
        make()
    assert str(caught.value).startswith(argument)


def test_rising_weights_on_the_line_are_refused():
    with pytest.raises(NotPossible, match="rises on the way out"):
        brdp.Recycled(brdp.Gaussian(3), levels=[(1, 0.5), (math.inf, 1)]).privacy()


def test_full_recycling_below_the_boundary_mass_costs_infinity():
    """With rate 1 the edge of the bounds tells neighbours apart: no epsilon holds below its mass."""
    noise = brdp.Recycled(brdp.Gaussian(1), within=2, rate=1)
    with pytest.raises(InvalidInput, match=r"^delta: expected at least 0\.1424.* got 1e-05"):
        noise.privacy().epsilon(delta=1e-5)
    assert noise.privacy().epsilon_bounds(delta=1e-5)[1] == math.inf
    assert noise.privacy().compose(3).epsilon(delta=1e-5) == math.inf
    edge = noise.cdf(-1.0)
    assert noise.privacy().epsilon(delta=float(edge) * 1.0001) < math.inf
