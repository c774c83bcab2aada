"""Noise: what every law has, whether a kernel alone or a kernel under a recycler."""

from __future__ import annotations

import abc
import contextlib
import math
from numbers import Real
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.noise.recycler import Recycler

if TYPE_CHECKING:
    from brdp.privacy.base import Curve

Floats = NDArray[np.float64]


class Noise(abc.ABC):
    """Additive noise, described; nothing here draws for a release or speaks of privacy.

    Every noise is a kernel under a recycler; a kernel alone is under the recycler that keeps everything.
    Values are frozen and hashable, so that curves and plans can be cached by them.
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def lattice(self) -> bool:
        """Whether the noise lives on the integers (then `pdf` is a probability mass)."""

    @property
    @abc.abstractmethod
    def kernel(self) -> Kernel:
        """The noise before recycling."""

    @property
    @abc.abstractmethod
    def recycler(self) -> Recycler:
        """What is kept of the kernel, and where."""

    @abc.abstractmethod
    def log_pdf(self, x: ArrayLike) -> Floats:
        """Log density, or log probability mass on the integers."""

    @abc.abstractmethod
    def log_mass(self, low: ArrayLike, high: ArrayLike) -> Floats:
        """log P(low <= N <= high), relatively accurate deep in the tails and for narrow intervals."""

    @abc.abstractmethod
    def ppf(self, u: ArrayLike) -> Floats:
        """Quantiles: the least x with cdf(x) >= u."""

    @property
    @abc.abstractmethod
    def mean(self) -> float:
        """The expected noise; 0 unless the recycler's bounds are asymmetric."""

    @property
    @abc.abstractmethod
    def std(self) -> float:
        """The standard deviation."""

    @property
    @abc.abstractmethod
    def expected_rounds(self) -> float:
        """How many draws of the kernel one release takes on average."""

    @abc.abstractmethod
    def sample(self, size: int, rng: np.random.Generator | None = None) -> Floats:
        """Draw `size` values by the literal loop, for numerical work.

        Floating-point noise leaks through its low bits and numpy's generator can be predicted: never
        release what comes from here.
        """

    @final
    def pdf(self, x: ArrayLike) -> Floats:
        """Density, or probability mass on the integers."""
        return np.exp(self.log_pdf(_validate.numbers(x=x)))

    @final
    def pmf(self, x: ArrayLike) -> Floats:
        """Probability mass; only noise on the integers has one."""
        if not self.lattice:
            raise InvalidInput("pmf", expected="noise on the integers", got=self, remedy="Use pdf.")
        return self.pdf(x)

    @final
    def cdf(self, x: ArrayLike) -> Floats:
        """P(N <= x)."""
        return np.exp(self.log_mass(-np.inf, _validate.numbers(x=x)))

    @final
    def acceptance(self, *, within: float | tuple[float, float]) -> float:
        """The probability that the noise is within `within` (a bound, or a pair low <= 0 <= high)."""
        low, high = interval(within)
        return min(1.0, float(np.exp(self.log_mass(low, high))))

    @final
    def privacy(self, sensitivity: float = 1.0) -> Curve:
        """Return the exact privacy curve of adding this noise to a query of that sensitivity.

        Guarantee: `curve.delta(epsilon=e)` is an upper bound, exact but for outward rounding, on the
        smallest delta for which the release is (e, delta)-differentially private for every pair of
        inputs on which the query differs by at most `sensitivity`. Proof: docs/theory/curve.md.
        """
        # The one upward import of the package order: the contract wants noise.privacy(...).
        from brdp.privacy.curve import curve_of

        return curve_of(self, sensitivity=sensitivity)


class Kernel(Noise):
    """An even law that falls on both sides of 0: the protocol for a kernel of your own.

    Subclass it as a frozen dataclass and give `lattice`, `log_concave`, `log_pdf`, `log_mass`, `ppf` and
    `upper_moments`; the rest follows.
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def log_concave(self) -> bool:
        """Whether log_pdf is concave, so that the privacy loss falls steadily along the line."""

    @abc.abstractmethod
    def upper_moments(self, low: float) -> tuple[float, float]:
        """E[N; N >= low] and E[N^2; N >= low] for low >= 0 (an integer on the lattice)."""

    @property
    @final
    def kernel(self) -> Kernel:
        return self

    @property
    @final
    def recycler(self) -> Recycler:
        return KEEP_ALL

    @property
    @final
    def mean(self) -> float:
        return 0.0

    @property
    @final
    def std(self) -> float:
        _, above = self.upper_moments(1.0 if self.lattice else 0.0)
        return float(np.sqrt(2 * above))

    @property
    @final
    def expected_rounds(self) -> float:
        return 1.0

    @final
    def sample(self, size: int, rng: np.random.Generator | None = None) -> Floats:
        size = _validate.whole(size=size, least=0)
        generator = generator_of(rng)
        # 1 - random() lies in (0, 1]: halving it and drawing the sign apart keeps both tails alike
        magnitude = -self.ppf((1.0 - generator.random(size)) / 2)
        if not self.lattice:
            return np.where(generator.random(size) < 0.5, -magnitude, magnitude)
        # on the lattice 0 belongs to both halves, so the sign cannot be drawn apart
        return self.ppf(1.0 - generator.random(size))


KEEP_ALL = Recycler(edges=(), keeps=(1.0,))


def generator_of(rng: object) -> np.random.Generator:
    """Numpy's generator: the one given, or one that nobody seeded."""
    if rng is None:
        return np.random.default_rng()
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput(
            "rng",
            expected="a numpy generator",
            got=rng,
            remedy="Use numpy.random.default_rng(seed).",
        )
    return rng


def interval(within: Any) -> tuple[float, float]:
    """Read an error bound: a number theta means (-theta, theta), a pair is taken as it is."""
    remedy = "Give a bound such as 3.0, or a pair (low, high) around 0."
    if isinstance(within, tuple | list):
        if len(within) != 2:
            raise InvalidInput("within", expected="a pair (low, high)", got=within, remedy=remedy)
        low, high = (_not_nan(bound) for bound in within)
    else:
        high = _not_nan(within)
        low = -high
    if not low <= 0 <= high:
        raise InvalidInput(
            "within", expected="bounds with low <= 0 <= high", got=within, remedy=remedy
        )
    return low, high


def _not_nan(bound: object) -> float:
    number = math.nan
    if not isinstance(bound, bool) and isinstance(bound, Real):
        with contextlib.suppress(OverflowError):
            number = float(bound)
    if math.isnan(number):
        raise InvalidInput("within", expected="a number", got=bound)
    return number
