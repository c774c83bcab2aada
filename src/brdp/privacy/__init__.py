"""What noise costs: exact curves, and what is built on them."""

from brdp.privacy.base import Curve
from brdp.privacy.compose import ComposedCurve, LooseBounds, compose
from brdp.privacy.curve import curve_of
from brdp.privacy.parallel import parallel
from brdp.privacy.subsample import subsample
from brdp.privacy.subsample_together import SampledTogether, sample_together

__all__ = [
    "ComposedCurve",
    "Curve",
    "LooseBounds",
    "SampledTogether",
    "compose",
    "curve_of",
    "parallel",
    "sample_together",
    "subsample",
]
