"""Where am I? Codes that tell attention the place of each token, and the distance of two."""

from softlookup.positions.alibi import alibi_bias, alibi_slopes
from softlookup.positions.bits import bit_positions
from softlookup.positions.learned import LearnedPositions
from softlookup.positions.pairs import frequencies, pairing_permutation, period
from softlookup.positions.rotary import Rotary
from softlookup.positions.sinusoids import shift_rotation, sinusoidal, sinusoidal_at

__all__ = [
    "LearnedPositions",
    "Rotary",
    "alibi_bias",
    "alibi_slopes",
    "bit_positions",
    "frequencies",
    "pairing_permutation",
    "period",
    "shift_rotation",
    "sinusoidal",
    "sinusoidal_at",
]
