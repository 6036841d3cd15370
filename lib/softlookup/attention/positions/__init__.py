"""Where am I? Codes that tell attention the place of each token, and the distance of two.

Read in this order:

- ``bits``: a place as a binary number
- ``pairs`` and ``sinusoids``: a place as waves of many lengths, each a pair of numbers
- ``learned``: a row of numbers for each place, learned
- ``rotary``: queries and keys turned by their place
- ``relative``: a trained key, or a trained price, for each distance
- ``alibi``: a fixed price for each step of distance
- ``stretched``: a trained rotary model on longer texts
"""

from softlookup.attention.positions.alibi import alibi_bias, alibi_slopes
from softlookup.attention.positions.bits import bit_positions
from softlookup.attention.positions.learned import LearnedPositions
from softlookup.attention.positions.pairs import frequencies, pairing_permutation, period
from softlookup.attention.positions.relative import (
    BucketBias,
    RelativeKeys,
    clipped_distances,
    distance_buckets,
)
from softlookup.attention.positions.rotary import Rotary
from softlookup.attention.positions.sinusoids import shift_rotation, sinusoidal, sinusoidal_at
from softlookup.attention.positions.stretched import (
    StretchedRotary,
    stretched_frequencies,
    yarn_gain,
)

__all__ = [
    "BucketBias",
    "LearnedPositions",
    "RelativeKeys",
    "Rotary",
    "StretchedRotary",
    "alibi_bias",
    "alibi_slopes",
    "bit_positions",
    "clipped_distances",
    "distance_buckets",
    "frequencies",
    "pairing_permutation",
    "period",
    "shift_rotation",
    "sinusoidal",
    "sinusoidal_at",
    "stretched_frequencies",
    "yarn_gain",
]
