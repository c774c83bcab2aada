"""What noise costs: exact curves, and what is built on them."""

from brdp.privacy.base import Curve
from brdp.privacy.curve import curve_of

__all__ = ["Curve", "curve_of"]
