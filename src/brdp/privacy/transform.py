"""E_P[exp(s * loss)] at complex s, in closed form, for many laws of one kind at once."""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from brdp.noise.base import Floats
from brdp.privacy.circle import Exponentials, Moments, around
from brdp.privacy.loss import AtomicLoss, LossLaw
from brdp.privacy.loss_pieces import GaussianLoss, LaplaceLoss, PieceLoss
from brdp.privacy.majorant import Fading, Majorant

Complexes = NDArray[np.complex128]

UNIT = 2.0**-53
# The Faddeeva function's documented relative accuracy.
WOFZ_ERROR = 1e-13
# Terms so much lighter than the heaviest (in logs) are left out of sums, which are taken in chunks.
NEGLIGIBLE, CHUNK = 80.0, 512
# Frequencies at a time.
BLOCK = 1 << 14
# Products of matrices with fewer terms are small.
SMALL = 1 << 20
# Runs of frequencies this long are worth their tables.
LONG = 32


class Transform(abc.ABC):
    """The transforms of several laws; arrays have one row a law."""

    __slots__ = ()

    @abc.abstractmethod
    def __init__(self, laws: Sequence[Any]) -> None:
        """Lay out laws of this transform's kind, one a row."""

    @abc.abstractmethod
    def log_moments(self, s: Complexes) -> tuple[Complexes, Floats]:
        """log E_P[exp(s * loss); loss finite], and its absolute error; s has one row, or one a law."""

    @abc.abstractmethod
    def tails(self, tilt: float, frequency: Floats) -> Floats:
        """Upper bounds of |E[exp(s loss)]| / E[exp(tilt loss)] at s = tilt + i t for all t >= frequency."""

    def along(self, tilt: float, frequencies: Floats) -> Moments | None:
        """The first law's moments at very many even frequencies from 0 on; None where that takes too long."""
        s = np.asarray(tilt + 1j * frequencies, dtype=np.complex128)
        log_scale = float(self.log_moments(s[None, :1])[0].real[0, 0])
        values, errors = np.empty(len(s), dtype=np.complex128), np.empty(len(s))
        for start in range(0, len(s), BLOCK):
            part = slice(start, start + BLOCK)
            logs, wrong = self.log_moments(s[None, part])
            with np.errstate(over="ignore", invalid="ignore"):
                found = np.exp(logs[0] - log_scale)
            # no modulus is above that of real order
            known = np.isfinite(found) & (wrong[0] < 0.5)
            values[part] = np.where(known, found, 0.0)
            errors[part] = np.where(known, np.abs(values[part]) * np.expm1(wrong[0]), 1.0)
        return Moments(values, errors + 8 * UNIT * (1 + abs(log_scale)), log_scale)

    def fading(self, counts: Floats, tilt: float) -> Fading:
        """What bounds the moments from a frequency on, for laws released so often."""
        return Majorant(self, counts, tilt)


@final
class GaussianTransform(Transform):
    """Gaussian kernels: the tail integrals at the edges of the pieces, and one whole normal law."""

    __slots__ = ("edges", "left", "log_total", "right", "shape", "step")

    def __init__(self, laws: Sequence[GaussianLoss]) -> None:
        each = [_edges(law) for law in laws]
        # one row a law, short rows filled up with edges that bear nothing
        most = max(1, *(len(edges) for edges, _, _ in each))
        self.step = np.array([law.shift / law.sigma for law in laws])[:, None, None]
        self.log_total = np.array([law.log_total for law in laws])[:, None]
        shape = (len(laws), most)
        self.edges = np.zeros((*shape, 1))
        # (log keep, log ratio) of the pieces left and right of each edge
        self.left, self.right = np.zeros((2, *shape, 1, 2))
        self.left[..., 0] = self.right[..., 0] = -np.inf
        for row, (law, (edges, left, right)) in enumerate(zip(laws, each, strict=True)):
            self.edges[row, : len(edges), 0] = edges / law.sigma
            self.left[row, : len(edges), 0] = left
            self.right[row, : len(edges), 0] = right
            # what fills up stands far out, and a law without edges needs its one piece
            self.edges[row, len(edges) :, 0] = 1e9
            self.left[row, len(edges) :, 0] = right[-1] if len(edges) else _only_piece(law)
            self.right[row, len(edges) :, 0] = (-np.inf, 0.0)
        self.shape = shape

    def log_moments(self, s: Complexes) -> tuple[Complexes, Floats]:
        s = s[:, None, :]
        d, y = self.step, self.edges
        centre = y + s.real * d
        up = np.where(centre >= 0, 1.0, -1.0)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            w = special.wofz(up * 1j * (y + s * d) / math.sqrt(2))
            base = -0.5 * y * y - s * d * y + 0.5 * s * d * d - math.log(2)
            logs = [_weight(side, s) + base for side in (self.right, self.left)]
            whole = self._whole(s, centre)
            exponents = np.concatenate([*logs, whole], axis=1)
            real = np.where(np.isnan(exponents.real), -np.inf, exponents.real)
            top = real.max(axis=1, keepdims=True)
            terms = np.where(real > -np.inf, np.exp(exponents - top), 0.0)
        edges = y.shape[1]
        factors = np.concatenate([up * w, -up * w, np.ones_like(whole)], axis=1)
        values = terms * factors
        total = values.sum(axis=1)
        sizes = np.abs(values)
        # every exponent is a sum of products; each may be larger than what is left of them
        added = 0.5 * y * y + np.abs(s) * d * (np.abs(y) + 0.5 * d)
        added = [
            added
            + np.abs(np.where(np.isinf(side[..., 0]), 0.0, side[..., 0]))
            + np.abs(s) * np.abs(side[..., 1])
            for side in (self.right, self.left)
        ]
        whole_added = 0.5 * np.abs(s) * np.abs(s + 1) * d * d + self._largest_weight(s)
        bends = np.concatenate([*added, whole_added], axis=1)
        bends = np.where(sizes > 0, bends + np.abs(top), 0.0)
        wrong = np.full(exponents.shape[1], WOFZ_ERROR)
        wrong[2 * edges :] = 0.0
        error = (sizes * (8 * UNIT + 4 * UNIT * bends + wrong[:, None])).sum(axis=1)
        return _log(total, error, top[:, 0, :] - self.log_total)

    def _largest_weight(self, s: Complexes) -> Floats:
        """How large the logs are that _whole adds."""
        sides = np.concatenate([self.left, self.right], axis=1)
        logs = np.abs(np.where(np.isinf(sides[..., 0]), 0.0, sides[..., 0])) + np.abs(s) * np.abs(
            sides[..., 1]
        )
        return np.asarray(logs.max(axis=1, keepdims=True))

    def _whole(self, s: Complexes, centre: Floats) -> Complexes:
        """The whole normal law under the weights of the piece in which the tilted law has its mean."""
        d = self.step
        # the first edge at or right of the mean has that piece on its left; past the last, on its right
        past = (centre < 0).sum(axis=1, keepdims=True)
        last = self.edges.shape[1] - 1
        at = np.minimum(past, last)
        rows = np.broadcast_to(np.arange(len(self.edges))[:, None, None], at.shape)
        left, right = self.left[rows, at, 0], self.right[rows, at, 0]
        weights = np.where((past > last)[..., None], right, left)
        whole: Complexes = _weight(weights, s) + 0.5 * s * (s + 1) * d * d
        return whole

    def tails(self, tilt: float, frequency: Floats) -> Floats:
        d, y = self.step, self.edges
        t = frequency[:, None, :]
        s = np.full((1, 1), tilt, dtype=np.complex128)
        log_scale = self.log_moments(s)[0].real + self.log_total
        centre = y + tilt * d
        with np.errstate(divide="ignore", over="ignore"):
            size = np.hypot(centre, t * d) / math.sqrt(2)
            w = np.minimum(1.0, (1 + np.minimum(1.0, 0.858 / size)) / (math.sqrt(math.pi) * size))
            base = -0.5 * y * y - tilt * d * y + 0.5 * tilt * d * d - math.log(2)
            weight = np.logaddexp(
                *(side[..., 0] + tilt * side[..., 1] for side in (self.right, self.left))
            )
            edges = np.exp(weight + base - log_scale[:, None, :]) * w
            whole = self._whole(s[:, None, :], centre)
            smooth = np.exp(whole.real - 0.5 * (t * d) ** 2 - log_scale[:, None, :])
        total: Floats = (edges.sum(axis=1) + smooth[:, 0, :]) * (1 + 1e-9)
        return total


@final
class LaplaceTransform(Transform):
    """Laplace kernels: atoms, and exponentials between 0 and the shift."""

    __slots__ = ("atoms", "log_total", "masses", "most", "slopes")

    def __init__(self, laws: Sequence[LaplaceLoss]) -> None:
        atoms = [law.atoms for law in laws]
        most = max(len(losses) for losses, _ in atoms)
        self.atoms, self.masses = np.zeros((2, len(laws), most, 1))
        self.masses -= np.inf
        slopes = [law.sloped for law in laws]
        ends = max(int(sloped.sum()) for sloped in slopes)
        # log keep, log ratio, start, width of each sloped piece
        self.slopes = np.zeros((len(laws), ends, 1, 4))
        self.slopes[..., 0] = -np.inf
        self.most = np.array([law.most for law in laws])[:, None, None]
        self.log_total = np.array([law.log_total for law in laws])[:, None, None]
        for row, (law, (losses, masses), sloped) in enumerate(
            zip(laws, atoms, slopes, strict=True)
        ):
            self.atoms[row, : len(losses), 0], self.masses[row, : len(losses), 0] = losses, masses
            pieces = law.pieces
            columns = (
                pieces.log_keep[sloped],
                pieces.log_ratio[sloped],
                pieces.low[sloped] / law.scale,
                pieces.width[sloped] / law.scale,
            )
            self.slopes[row, : int(sloped.sum()), 0] = np.stack(columns, axis=-1)

    def log_moments(self, s: Complexes) -> tuple[Complexes, Floats]:
        s = s[:, None, :]
        keep, ratio, start, width = np.moveaxis(self.slopes, -1, 0)
        rate = 1 + 2 * s
        with np.errstate(under="ignore"):
            flat = self.masses + s * self.atoms
            # the integral of exp(-rate x) / 2 over the piece; what is lost near rate 0 is not needed
            sloped = keep + s * (ratio + self.most) - rate * start - math.log(2) - self.log_total
            exponents = np.concatenate([flat, sloped], axis=1)
            factors = np.concatenate([np.ones_like(flat), -np.expm1(-rate * width) / rate], axis=1)
            top = exponents.real.max(axis=1, keepdims=True)
            terms = np.where(exponents.real > -np.inf, np.exp(exponents - top), 0.0)
        values = terms * factors
        size = np.abs(s)
        added = np.abs(np.where(np.isinf(self.masses), 0.0, self.masses))
        flats = added + size * np.abs(self.atoms)
        slopes = np.abs(np.where(np.isinf(keep), 0.0, keep)) + np.abs(self.log_total) + 1
        slopes = slopes + size * (np.abs(ratio) + self.most) + np.abs(rate) * start
        finite = np.concatenate([flats, slopes], axis=1)
        finite = np.where(terms != 0, finite + np.abs(top), 0.0)
        error = (np.abs(values) * (16 * UNIT + 4 * UNIT * finite)).sum(axis=1)
        return _log(values.sum(axis=1), error, top[:, 0, :])

    def tails(self, tilt: float, frequency: Floats) -> Floats:
        log_scale = self.log_moments(np.full((1, 1), tilt, dtype=np.complex128))[0].real
        t = frequency[:, None, :]
        keep, ratio, start, width = np.moveaxis(self.slopes, -1, 0)
        rate = 1 + 2 * tilt
        with np.errstate(under="ignore"):
            flat = np.exp(self.masses + tilt * self.atoms - log_scale[:, None, :]).sum(axis=1)
            sloped = keep + tilt * (ratio + self.most) - rate * start - math.log(2)
            ends = np.exp(sloped - self.log_total - log_scale[:, None, :]) * (
                1 + np.exp(-rate * width)
            )
            total: Floats = flat + (ends / np.abs(rate + 2j * t)).sum(axis=1)
        return total * (1 + 1e-9)


@final
class AtomicTransform(Transform):
    """Sums over the atoms; they never fade, so others must."""

    __slots__ = ("laws",)

    def __init__(self, laws: Sequence[LossLaw]) -> None:
        self.laws = laws

    def log_moments(self, s: Complexes) -> tuple[Complexes, Floats]:
        rows = [
            sum_of_exponentials(*law.atoms, s[min(row, len(s) - 1)])
            for row, law in enumerate(self.laws)
        ]
        return np.array([value for value, _ in rows]), np.array([error for _, error in rows])

    def along(self, tilt: float, frequencies: Floats) -> Moments | None:
        losses, log_masses = self.laws[0].atoms
        if not len(losses):
            return None
        law = Exponentials(losses, log_masses, np.zeros(len(losses)), -math.inf)
        return around(law, tilt, frequencies)

    def tails(self, tilt: float, frequency: Floats) -> Floats:
        return np.ones((len(self.laws), frequency.shape[1]))


def transform_of(law: LossLaw) -> type[Transform] | None:
    """The kind of transform of a law; None where it has none."""
    if isinstance(law, GaussianLoss):
        return GaussianTransform
    if isinstance(law, LaplaceLoss):
        return LaplaceTransform
    if isinstance(law, AtomicLoss):
        return AtomicTransform
    return None


def sum_of_exponentials(
    losses: Floats, log_masses: Floats, s: Complexes, *, loss_errors: Floats | None = None
) -> tuple[Complexes, Floats]:
    """log of the sum of exp(log_mass + s * loss) for a row of s, and its absolute error.

    On a line Re s = c, frequencies in arithmetic progression take two short tables and a product of
    matrices: exp(i (a + b) x) = exp(i a x) exp(i b x).
    """
    total, error, top = np.empty(len(s), dtype=np.complex128), np.empty(len(s)), np.empty(len(s))
    rest = np.ones(len(s), dtype=bool)
    for run in _runs(s):
        total[run], error[run], top[run] = _along(losses, log_masses, s[run])
        rest[run] = False
    total[rest], error[rest], top[rest] = _apart(losses, log_masses, s[rest])
    if loss_errors is not None:
        levels, level = np.unique(s.real, return_inverse=True)
        for i, order in enumerate(levels):
            mine = level == i
            with np.errstate(over="ignore"):
                moduli = np.exp(log_masses + order * losses - top[mine].max())
            error[mine] += np.abs(s[mine]) * float(moduli @ loss_errors)
    logs, errors = _log(total[None], error[None], top[None])
    return logs[0], errors[0]


def _runs(s: Complexes) -> list[slice]:
    """Long stretches of even distances on a line Re s = c."""
    if len(s) < LONG or np.ptp(s.real) > 0:
        return []
    # rounded multiples of a step differ by a few units of the multiple
    bent = np.abs(np.diff(s.imag, 2)) > 4 * UNIT * np.abs(s.imag).max()
    cuts = [0, *(np.flatnonzero(bent) + 2).tolist(), len(s)]
    return [slice(a, b) for a, b in itertools.pairwise(cuts) if b - a >= LONG]


def _apart(losses: Floats, log_masses: Floats, s: Complexes) -> tuple[Complexes, Floats, Floats]:
    """The sums at single points, scaled by exp(top), with their errors."""
    total, error, top = np.empty(len(s), dtype=np.complex128), np.empty(len(s)), np.empty(len(s))
    real = not s.imag.any()
    # blocks that fit the cache
    block = max(1, (1 << 15) // max(1, len(losses)))
    for start in range(0, len(s), block):
        part = slice(start, start + block)
        exponents = log_masses + (s.real if real else s)[part, None] * losses
        top[part] = exponents.real.max(axis=-1)
        terms = np.exp(exponents - np.where(top[part, None] > -np.inf, top[part, None], 0.0))
        total[part] = terms.sum(axis=-1)
        sizes = np.abs(terms)
        added = np.abs(log_masses) + np.abs(s[part, None]) * np.abs(losses)
        added = np.where(sizes > 0, added + np.abs(top[part, None]), 0.0)
        error[part] = (sizes * (40 * UNIT + 6 * UNIT * added)).sum(axis=-1)
    return total, error, top


def _along(losses: Floats, log_masses: Floats, s: Complexes) -> tuple[Complexes, Floats, Floats]:
    """The sums of one run, scaled by exp(top), with their errors."""
    tilt, frequency = float(s[0].real), s.imag
    logs = log_masses + tilt * losses
    top = float(logs.max())
    if not math.isfinite(top):
        return np.zeros(len(s), dtype=np.complex128), np.zeros(len(s)), np.full(len(s), -np.inf)
    heavy = logs > top - NEGLIGIBLE
    sizes = (np.abs(log_masses) + abs(tilt) * np.abs(losses))[heavy] + abs(top)
    x, weights = losses[heavy], np.exp(logs[heavy] - top)
    step = frequency[1] - frequency[0] if len(s) > 1 else 0.0
    rows = math.ceil(math.sqrt(len(s)))
    giant = frequency[0] + step * rows * np.arange(-(-len(s) // rows))
    baby = step * np.arange(rows)
    total = np.zeros((len(giant), len(baby)), dtype=np.complex128)
    for start in range(0, len(x), CHUNK):
        part = slice(start, start + CHUNK)
        left = np.exp(1j * giant[:, None] * x[part]) * weights[part]
        right = np.exp(1j * baby[:, None] * x[part])
        # threads are not worth their start for small ones
        small = total.size * right.shape[1] < SMALL
        total += np.einsum("ik,jk->ij", left, right) if small else left @ right.T
    mass, moment = float(weights.sum()), float((weights * np.abs(x)).sum())
    chunks = -(-len(x) // CHUNK)
    # each sum in turn, the exponential's argument, and the frequency taken apart
    error = (min(CHUNK, len(x)) + chunks + 30) * mass + 6 * float((weights * sizes).sum())
    errors = UNIT * (error + 8 * moment * np.abs(frequency))
    errors = errors + len(losses) * math.exp(-NEGLIGIBLE)
    return total.ravel()[: len(s)], errors, np.full(len(s), top)


def _log(total: Complexes, error: Floats, top: Floats) -> tuple[Complexes, Floats]:
    """log of top-scaled sums, and the error of that log; infinite where nothing is known."""
    size = np.abs(total)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = error / size
        wrong = np.where(share < 0.5, -np.log1p(-np.minimum(share, 0.5)), np.inf)
        logs = np.asarray(np.log(total) + top, dtype=np.complex128)
    return logs, wrong + 4 * UNIT * (1 + np.abs(top))


def _weight(side: Floats, s: Complexes) -> Complexes:
    """log of keep * exp(s * ratio), -inf where there is nothing."""
    keep = side[..., 0]
    kept = np.where(keep > -np.inf, keep, 0.0) + s * side[..., 1]
    weight: Complexes = np.where(keep > -np.inf, kept, complex(-np.inf, 0.0))
    return weight


def _edges(law: PieceLoss) -> tuple[Floats, Floats, Floats]:
    """Finite edges of the pieces that P and Q share, with (log keep, log ratio) on either side."""
    pieces = law.pieces
    shared = pieces.log_ratio < np.inf
    low, high = pieces.low[shared], pieces.high[shared]
    weights = np.stack([pieces.log_keep, pieces.log_ratio], axis=-1)[shared]
    finite = np.unique(np.concatenate([low, high]))
    finite = finite[np.isfinite(finite)]
    left, right = np.zeros((2, len(finite), 2))
    left[:, 0] = right[:, 0] = -np.inf
    for start, end, weight in zip(low, high, weights, strict=True):
        if np.isfinite(start):
            right[np.searchsorted(finite, start)] = weight
        if np.isfinite(end):
            left[np.searchsorted(finite, end)] = weight
    return finite, left, right


def _only_piece(law: PieceLoss) -> tuple[float, float]:
    return float(law.pieces.log_keep[0]), float(law.pieces.log_ratio[0])
