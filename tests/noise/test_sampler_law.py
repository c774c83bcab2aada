"""The law that the tables draw, read back in integers, against many-digit arithmetic: no statistics here."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from types import FrameType
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import brdp
from brdp.errors import InvalidInput, NotPossible
from brdp.noise.release import bits, exact
from brdp.noise.release.alias import TOTAL, alias, quantise
from brdp.noise.release.cells import support_of
from brdp.noise.release.fixed import BITS, EXP_ERROR, exp_minus
from brdp.noise.release.lookup import CHUNK, Drawer
from brdp.noise.release.one_table import OneTable
from brdp.noise.release.shape import Shape, node_product, shape_of
from brdp.noise.release.two_stage import TwoStage, power_blocks
from brdp.noise.sampler import TableSampler, exact_sampler_for, require_table, sampler_for

TraceFunction = Callable[[FrameType, str, Any], Any]

NOISES: list[brdp.Noise] = [
    brdp.DiscreteLaplace(0.01),
    brdp.DiscreteLaplace(0.7),
    brdp.DiscreteLaplace(4.0),
    brdp.DiscreteGaussian(0.05),
    brdp.DiscreteGaussian(3.3),
    brdp.Staircase(core=2, step=5, drop=0.8, integer=True),
    brdp.Staircase(core=0, step=1, drop=3.0, integer=True),
    brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3, rate=0.4),
    brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3, rate=1.0),
    brdp.Recycled(brdp.DiscreteLaplace(20.0), within=(-7, 2), rate=1 - 1e-6),
    brdp.Recycled(brdp.DiscreteGaussian(30.0), within=(0, 12), rate=0.9),
    brdp.Recycled(
        brdp.DiscreteGaussian(9.0), levels=[(2, 0.5), (9, 1.0), (30, 0.125), (math.inf, 0.0)]
    ),
    brdp.Recycled(
        brdp.Staircase(core=3, step=4, drop=0.3, integer=True), levels=[(6, 1.0), (math.inf, 0.1)]
    ),
    brdp.Recycled(brdp.DiscreteLaplace(2.0), within=10_000, rate=0.5),
    # nothing kept near 0: an unusual recycler, but a recycler
    brdp.Recycled.under(
        brdp.DiscreteLaplace(3.0), brdp.Recycler(edges=(-5.5, 4.5), keeps=(0.25, 0.0, 1.0))
    ),
]
# The narrowest for which two stages use polynomial blocks: reading a law back takes time.
WIDE: list[brdp.Noise] = [
    brdp.DiscreteGaussian(520.0),
    brdp.Recycled(brdp.DiscreteGaussian(530.0), within=(-300, 512), rate=0.99),
    brdp.Recycled(brdp.DiscreteLaplace(257.0), levels=[(33, 1.0), (1001, 0.3), (math.inf, 0.02)]),
    brdp.Recycled(
        brdp.Staircase(core=77, step=300, drop=1.5, integer=True), within=(-100, 801), rate=0.6
    ),
]
BOTH = [(noise, tables) for noise in NOISES for tables in (OneTable, TwoStage)]
BOTH += [(noise, TwoStage) for noise in WIDE]


def log_shape(kernel: brdp.Kernel, k: int) -> mpf:
    """Log mass up to a constant, written out as each kernel is defined."""
    if isinstance(kernel, brdp.DiscreteLaplace):
        return -abs(k) / mpf(kernel.scale)
    if isinstance(kernel, brdp.DiscreteGaussian):
        return -(mpf(k) ** 2) / (2 * mpf(kernel.sigma) ** 2)
    assert isinstance(kernel, brdp.Staircase)
    core, step = int(kernel.core), int(kernel.step)
    stair = 0 if abs(k) <= core else (abs(k) - core - 1) // step + 1
    return -stair * mpf(kernel.drop)


def true_law(noise: brdp.Noise, reach: int) -> dict[int, mpf]:
    """The law on [-reach, reach], scaled by its own sum."""
    edges = noise.recycler.edges
    keeps = [mpf(keep) for keep in noise.recycler.keeps]
    weights = {
        k: keeps[sum(k > edge for edge in edges)] * mp.exp(log_shape(noise.kernel, k))
        for k in range(-reach, reach + 1)
    }
    total = mp.fsum(weights.values())
    return {k: value / total for k, value in weights.items()}


def distance(drawn: dict[int, Fraction], law: dict[int, mpf]) -> mpf:
    keys = drawn.keys() | law.keys()
    exact = {k: mpf(v.numerator) / v.denominator for k, v in drawn.items()}
    return mp.fsum(abs(exact.get(k, mpf(0)) - law.get(k, mpf(0))) for k in keys) / 2


@pytest.mark.parametrize("noise, tables", BOTH)
def test_the_law_drawn_is_within_the_stated_total_variation(
    noise: brdp.Noise, tables: type[OneTable] | type[TwoStage]
) -> None:
    made = tables(support_of(noise))
    with mp.workdps(70):
        # 130 bits of tail on either side of any recycler edge that matters
        reach = int(1.1 * max(abs(support_of(noise).first), abs(support_of(noise).last))) + 2
        found = distance(made.law(), true_law(noise, reach))
        stated = mpf(made.total_variation.numerator) / made.total_variation.denominator
        assert found <= stated
    assert made.total_variation < Fraction(1, 1 << 100)
    assert sum(made.law().values()) == 1


@st.composite
def any_noise(draw: st.DrawFn) -> brdp.Noise:
    """Any kernel under any recycler, as far as tables of a few thousand integers go."""
    scale = draw(st.floats(min_value=1e-3, max_value=25.0))
    kernel: brdp.Kernel = draw(
        st.sampled_from(
            [
                brdp.DiscreteLaplace(scale),
                brdp.DiscreteGaussian(scale),
                brdp.Staircase(
                    core=int(scale), step=1 + int(scale / 3), drop=1 / max(0.1, scale), integer=True
                ),
            ]
        )
    )
    edges = draw(st.lists(st.integers(-40, 39), max_size=5, unique=True).map(sorted))
    weights = st.one_of(st.sampled_from([0.0, 1.0, 1e-6]), st.floats(min_value=0, max_value=1))
    keeps = draw(st.lists(weights, min_size=len(edges) + 1, max_size=len(edges) + 1))
    assume(max(keeps) > 0)
    recycler = brdp.Recycler(edges=tuple(edge + 0.5 for edge in edges), keeps=tuple(keeps))
    try:
        return brdp.Recycled.under(kernel, recycler)
    except InvalidInput:  # nothing of the kernel is kept
        reject()


@settings(max_examples=25)
@given(any_noise())
def test_any_recycler_is_drawn_within_the_stated_total_variation(noise: brdp.Noise) -> None:
    # kept once in 1e20 rounds or less is a different law in all but name
    assume(noise.expected_rounds < 1e20)
    sampler = sampler_for(noise)
    tables = sampler.tables
    assert isinstance(tables, OneTable)
    with mp.workdps(70):
        reach = int(1.2 * max(abs(v) for v in tables.integers)) + 50
        found = distance(tables.law(), true_law(noise, reach))
        stated = mpf(sampler.total_variation.numerator) / sampler.total_variation.denominator
        assert found <= stated
    assert sampler.draw(1)[0] in tables.law()


def test_control_a_scale_off_by_a_millionth_is_seen() -> None:
    with mp.workdps(70):
        law = true_law(brdp.DiscreteLaplace(4.0 * (1 + 1e-6)), 800)
        assert distance(OneTable(support_of(brdp.DiscreteLaplace(4.0))).law(), law) > mpf(2) ** -25


def test_two_stages_really_use_polynomial_blocks() -> None:
    made = TwoStage(support_of(WIDE[0]))
    assert any(basis.width > 1 and basis.nodes > 1 for basis in made.entries.bases)


def test_two_stages_really_use_the_one_law_of_exponentials() -> None:
    """On both sides of 0, each with a table of its own: the mirror image of the other's."""
    made = TwoStage(support_of(WIDE[2]))
    within = [basis for basis in made.entries.bases if basis.shape is not None]
    assert {basis.rises for basis in within} == {True, False}
    assert max(basis.width for basis in within) >= 512
    assert all(basis.nodes == 1 for basis in within)


@pytest.mark.parametrize(
    "noise",
    [brdp.DiscreteLaplace(1e6), brdp.DiscreteGaussian(1e6), brdp.DiscreteLaplace(4e6)],
    ids=repr,
)
def test_wide_laws_fit_in_64_mib(noise: brdp.Noise) -> None:
    sampler = sampler_for(noise)
    assert isinstance(sampler.tables, TwoStage)
    assert sampler.tables.size_in_bytes <= 64 << 20
    assert sampler.total_variation < Fraction(1, 1 << 100)


@pytest.mark.parametrize("tables", [OneTable, TwoStage])
@pytest.mark.parametrize(
    "kernel", [brdp.DiscreteLaplace(300.0), brdp.DiscreteGaussian(600.0)], ids=repr
)
def test_draws_follow_the_columns(
    tables: type[OneTable] | type[TwoStage], kernel: brdp.Kernel
) -> None:
    """The look-up in numpy against the same look-up in Python integers, threshold by threshold."""
    support = support_of(brdp.Recycled(kernel, within=200, rate=0.5))
    made = tables(support)
    length = 500
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**64, size=(made.WORDS_PER_DRAW, length), dtype=np.uint64)
    # on the thresholds themselves and one below, where the low word decides
    for at in range(100):
        threshold = made.table.thresholds[7 * at % made.table.columns]
        words[0, at], words[1, at] = threshold - np.array([0, at % 2], dtype=np.uint64)
    if isinstance(made, TwoStage):
        for at in range(110, 400):
            threshold = made.thresholds[37 * at % len(made.thresholds)]
            words[2, at], words[3, at] = threshold - np.array([0, at % 2], dtype=np.uint64)
    for at in range(100, 110):
        words[:, at] = np.uint64(2**64 - 1 if at % 2 else 0)
    drawn = drawn_from(made, words)
    assert drawn.tolist() == [by_hand(made, [int(w) for w in words[:, i]]) for i in range(length)]


def drawn_from(made: Drawer, words: np.ndarray) -> np.ndarray:
    from brdp.noise.release.lookup import Scratch

    values = np.empty(words.shape[1], dtype=np.int64)
    made.fill(words.reshape(-1).copy(), Scratch(words.shape[1]), values)
    return values


def joined(words: np.ndarray) -> int:
    return int(words[0]) << 64 | int(words[1])


def by_hand(made: OneTable | TwoStage, words: list[int]) -> int:
    number = words[0] << 64 | words[1]
    column = number >> (128 - made.table.order)
    side = number >= joined(made.table.thresholds[column])
    if isinstance(made, OneTable):
        return int(made.values[2 * column + side])
    entry = int(made.table.outcome[2 * column + side])
    offset = words[2] << 64 | words[3]
    at = made.entries.rows[entry] + (offset >> (64 + made.entries.shifts[entry]))
    side = offset >= joined(made.thresholds[at])
    return made.entries.starts[entry] + int(made.offset[2 * at + side])


def test_alias_tables_keep_every_count() -> None:
    rng = np.random.default_rng(2)
    for size in (1, 2, 3, 5, 8, 100, 257):
        for concentration in (0.01, 1.0, 100.0):
            masses = [int(m * 2**100) + 1 for m in rng.gamma(concentration, size=size)]
            counts = quantise(masses).counts
            found = alias(counts).counts()
            assert found[:size] == counts
            assert not any(found[size:])
    even = [TOTAL // 8] * 8
    assert alias(even).counts() == even
    assert alias([TOTAL]).counts() == [TOTAL, 0]


def test_exponentials_are_within_their_error() -> None:
    rng = np.random.default_rng(3)
    with mp.workdps(120):
        for _ in range(300):
            x = Fraction(float(10 ** rng.uniform(-12, 2.6))) / Fraction(float(rng.uniform(0.1, 10)))
            true = mp.exp(-mpf(x.numerator) / x.denominator) * mpf(2) ** BITS
            assert abs(exp_minus(x) - true) <= EXP_ERROR
    assert exp_minus(Fraction(0)) == 1 << BITS
    assert exp_minus(Fraction(10**30)) == 0


@pytest.mark.parametrize(
    "kernel",
    [
        brdp.DiscreteLaplace(50.3),
        brdp.DiscreteGaussian(41.7),
        brdp.Staircase(core=3, step=7, drop=0.21, integer=True),
    ],
    ids=repr,
)
def test_walks_and_tails_are_within_their_errors(kernel: brdp.Kernel) -> None:
    shape: Shape = shape_of(kernel)
    with mp.workdps(120):
        unit = mpf(2) ** BITS
        values = shape.walk(Fraction(0), Fraction(1), 2000)
        true = [mp.exp(log_shape(kernel, k)) * unit for k in range(6000)]
        off = max(abs(v - t) for v, t in zip(values, true, strict=False))
        assert off <= shape.error(2000)
        for last in (0, 10, 500, 1500):
            beyond = mp.fsum(true[last + 1 :])
            stated = shape.tail(last)
            assert beyond <= mpf(stated.numerator) / stated.denominator


def test_node_products_are_bounded() -> None:
    for nodes in (2, 5, 16):
        at = np.linspace(0, 1, 20_001)[:, None]
        product = np.max(np.abs(np.prod(at - (2 * np.arange(nodes) + 1) / (2 * nodes), axis=1)))
        assert product <= float(node_product(nodes)) * (1 + 1e-9)
        assert product >= float(node_product(nodes)) / 2  # and the bound is not idle


def test_blocks_cover_each_integer_once() -> None:
    for first, last in ((0, 1), (5, 1000), (17, 17), (3, 2), (100, 1123)):
        covered = [
            k
            for run in power_blocks(first, last, widest=64, narrowest=16)
            for k in range(run.start, run.start + run.width * run.count)
        ]
        assert covered == list(range(first, last + 1))


@pytest.mark.parametrize("size", [0, 1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7])
def test_any_number_of_draws(size: int) -> None:
    for noise in (brdp.DiscreteGaussian(1e4), brdp.DiscreteLaplace(1e5)):
        values = sampler_for(noise).draw(size)
        assert values.shape == (size,)
        assert values.dtype == np.int64
        # a value is left at its initial memory in no place: all are within the support, most not 0
        assert np.all(np.abs(values) < 1e8)
        assert size < 10 or np.mean(values == 0) < 0.1


def test_samplers_are_kept_by_value() -> None:
    first = sampler_for(brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3, rate=0.4))
    again = sampler_for(brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3.0, rate=0.4))
    other = sampler_for(brdp.Recycled(brdp.DiscreteLaplace(4.0), within=4, rate=0.4))
    assert first is again
    assert first is not other


def test_noise_on_the_reals_is_refused() -> None:
    for make in (sampler_for, exact_sampler_for):
        for noise in (
            brdp.Laplace(1.0),
            brdp.Recycled(brdp.Gaussian(1.0), within=1, rate=0.5),
            brdp.Staircase(core=1, step=2, drop=1.0),
        ):
            with pytest.raises(InvalidInput, match="on the integers"):
                make(noise)


@pytest.mark.parametrize(
    "noise",
    [
        brdp.DiscreteLaplace(1e12),
        brdp.DiscreteLaplace(1e75),
        brdp.DiscreteGaussian(1e15),
        brdp.Staircase(core=0, step=1, drop=1e-9, integer=True),
    ],
    ids=repr,
)
def test_noise_too_wide_is_refused_at_once(noise: brdp.Noise) -> None:
    for ask in (sampler_for, require_table):
        with pytest.raises(NotPossible, match="coarser resolution"):
            ask(noise)


def test_what_has_room_is_known_without_building() -> None:
    """The quick answer and the tables agree, on either side of the limit."""
    agreed = set()
    for noise in (
        brdp.DiscreteLaplace(3.0),
        brdp.DiscreteLaplace(1e6),
        brdp.DiscreteGaussian(2e7),
        brdp.DiscreteLaplace(3e9),
        brdp.Recycled(brdp.DiscreteGaussian(1e5), within=12_345, rate=0.5),
    ):
        answers = []
        for ask in (require_table, TableSampler):
            try:
                ask(noise)
                answers.append(True)
            except NotPossible:
                answers.append(False)
        assert answers[0] == answers[1], noise
        agreed.add(answers[0])
    assert agreed == {True, False}


def test_a_loop_without_end_is_refused() -> None:
    with pytest.raises(InvalidInput, match="rounds"):
        exact_sampler_for(brdp.Recycled(brdp.DiscreteLaplace(1e9), within=0, rate=1.0))


@pytest.mark.parametrize(
    "noise",
    [
        brdp.Recycled(brdp.DiscreteLaplace(4.3), within=(-3, 5), rate=0.7),
        brdp.Recycled(brdp.DiscreteGaussian(2.7), levels=[(1, 1.0), (6, 0.3), (math.inf, 0.1)]),
        brdp.Staircase(core=3, step=5, drop=0.7, integer=True),
    ],
    ids=repr,
)
def test_no_float_takes_part_in_an_exact_draw(noise: brdp.Noise) -> None:
    """Every argument and local variable of every function of ours that a draw runs, line by line."""
    sampler = exact_sampler_for(noise)
    floats: list[str] = []
    lines = 0

    def watch(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal lines
        if "noise/release" in frame.f_code.co_filename:
            lines += 1
            found = [*frame.f_locals.items(), ("what it returns", argument)]
            floats.extend(name for name, value in found if isinstance(value, float | np.floating))
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        sampler.draw(200)
    finally:
        sys.settrace(before)
    assert lines > 10_000
    assert floats == []


def test_an_exact_draw_that_is_refused_nearly_always_is_not_begun() -> None:
    """A staircase whose stairs are a billion times wider than its core, offered place by place."""
    with pytest.raises(InvalidInput, match="rounds"):
        exact_sampler_for(brdp.Staircase(core=0, step=1 << 30, drop=700.0, integer=True))


@pytest.mark.parametrize("core, step, drop", [(0, 9, 2.0), (7, 1, 0.1), (3, 4, 0.5)])
def test_the_offers_of_a_staircase_are_as_many_as_stated(
    core: int, step: int, drop: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20,000 draws, each of geometrically many offers: their mean within 6 standard deviations (2e-9)."""
    offered = []
    real = exact.geometric
    monkeypatch.setattr(exact, "geometric", lambda *given: offered.append(1) or real(*given))
    draw = exact.exact_draw_of(brdp.Staircase(core=core, step=step, drop=drop, integer=True))
    integers = bits.Integers(bits.source())
    for _ in range(20_000):
        draw(integers)
    deviation = math.sqrt(draw.offers * (draw.offers - 1) / 20_000)
    assert abs(len(offered) / 20_000 - draw.offers) < 6 * deviation


@pytest.mark.parametrize(
    "noise",
    [
        brdp.Recycled(brdp.DiscreteGaussian(1.0), levels=[(bound, 0.0), (math.inf, 1.0)])
        for bound in (12, 20, 37)
    ],
    ids=repr,
)
def test_noise_that_is_hardly_ever_kept_is_refused(noise: brdp.Noise) -> None:
    for ask in (sampler_for, require_table):
        with pytest.raises(NotPossible, match="at least once"):
            ask(noise)
    with pytest.raises(InvalidInput, match="at least once"):
        exact_sampler_for(noise)


@pytest.mark.parametrize(
    "noise",
    [
        brdp.DiscreteLaplace(1e19),
        brdp.DiscreteGaussian(1e75),
        brdp.Staircase(core=2**50, step=2**50, drop=1e-3, integer=True),
        brdp.Recycled(brdp.DiscreteLaplace(1e17), within=5, rate=0.9),
    ],
    ids=repr,
)
def test_exact_noise_that_64_bits_might_not_hold_is_refused(noise: brdp.Noise) -> None:
    with pytest.raises(InvalidInput, match="64 bits"):
        exact_sampler_for(noise)


@pytest.mark.parametrize(
    "noise", [brdp.DiscreteLaplace(1e-75), brdp.DiscreteGaussian(1e-75)], ids=repr
)
def test_noise_of_next_to_no_width_is_0(noise: brdp.Noise) -> None:
    for make in (sampler_for, exact_sampler_for):
        assert make(noise).draw(5).tolist() == [0] * 5


def test_a_kernel_of_ones_own_needs_a_shape() -> None:
    class Own(brdp.Kernel):
        lattice = True
        log_concave = True

        def log_pdf(self, x):  # type: ignore[no-untyped-def]
            return np.zeros_like(x)

        log_mass = ppf = upper_moments = log_pdf

    with pytest.raises(InvalidInput, match="release shape"):
        sampler_for(Own())
    with pytest.raises(InvalidInput, match="exact draw"):
        exact_sampler_for(Own())


def test_mpmath_is_the_judge() -> None:
    # the references above are worth something only if exp is taken at the digits asked for
    with mp.workdps(70):
        assert mpmath.nstr(mp.exp(mpf(1)), 30) == "2.71828182845904523536028747135"
