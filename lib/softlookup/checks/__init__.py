"""What a caller may pass, written once: in the annotation of the argument.

Read ``ranges`` first, the numbers that an annotation can ask for; then ``rules`` and ``tensors``,
which refuse in words what breaks a rule; then ``annotations``, which reads the rules, and ``door``:
its decorator ``checked`` stands above each public function and class. ``require`` is for what no
annotation can say: how two arguments depend on each other, or what a text must hold.
"""

from softlookup.checks.door import checked
from softlookup.checks.ranges import (
    Count,
    Finite,
    Ids,
    NotNegative,
    Positive,
    Range,
    Rate,
    Share,
    Size,
)
from softlookup.checks.require import (
    require,
    require_choice,
    require_distinct,
    require_dtype,
    require_float,
    require_ids,
    require_int,
    require_known_ids,
    require_mask,
    require_pair_mask,
    require_rows,
    require_same_dtype,
    require_text,
    require_tokens,
)

__all__ = [
    "Count",
    "Finite",
    "Ids",
    "NotNegative",
    "Positive",
    "Range",
    "Rate",
    "Share",
    "Size",
    "checked",
    "require",
    "require_choice",
    "require_distinct",
    "require_dtype",
    "require_float",
    "require_ids",
    "require_int",
    "require_known_ids",
    "require_mask",
    "require_pair_mask",
    "require_rows",
    "require_same_dtype",
    "require_text",
    "require_tokens",
]
