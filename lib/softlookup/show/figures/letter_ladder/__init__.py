"""The letter ladder: n-gram models of letters for growing n, what they write and what they cost."""

from collections.abc import Mapping, Sequence

from softlookup.checks import require
from softlookup.show.interactive import Interactive

_TEXTS = ("sample", "longest_copy")
_BITS = ("bits_counted", "bits_add", "bits_kneser_ney")
_MOST_ROWS, _LONGEST = 12, 400
_ALT = (
    "A slider sets n, how many letters an n-gram has. Above stands what the model writes, with its "
    "longest copied run marked; below, bars for the bits that it needs and for how much it copies."
)
_CAPTION = (
    "Move n. The sample is written by plain ratios; its marked run is the longest that it copies, "
    "letter by letter, from the counted text. The upper blue bar belongs to these ratios, the two "
    "bars for new text to smoothed models with the same counts: compare where each is shortest."
)


class LetterLadder(Interactive):
    """Samples, bits for a letter and copied shares of n-gram models, one step for each n.

    Args:
        rows: One for each n, 2 to 12 of them, n rising: ``n``, ``sample`` and ``longest_copy``, a
            run of it; ``bits_counted``, ``bits_add`` and ``bits_kneser_ney``, each at least 0;
            ``copied``, a share.
        control: The share of new real text that would pass for copied.
        n: Where the slider begins.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There are too few or too many rows, n does not rise, a sample is too long or
            does not hold its copied run, a number is out of range, or ``n`` is no row's; or as
            ``Interactive``.

    Source: Shannon 1948, section 3. Chapter: language_models#shakespeare-with-one-letter-to-eight.

    Example:
        >>> bits = {"bits_counted": 1.0, "bits_add": 2.0, "bits_kneser_ney": 2.0}
        >>> row = {"sample": "to be", "longest_copy": "to", "copied": 0.5, **bits}
        >>> LetterLadder([{"n": 1, **row}, {"n": 2, **row}], control=0.2, n=1).name
        'fig-letter-ladder'
    """

    def __init__(
        self,
        rows: Sequence[Mapping],
        *,
        control: float,
        n: int,
        name: str = "fig-letter-ladder",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        rule = f"rows must be 2 to {_MOST_ROWS}, n rising"
        sizes = [row["n"] for row in rows]
        require(2 <= len(rows) <= _MOST_ROWS and sizes == sorted(set(sizes)), rule, n=sizes)
        require(n in sizes, "n must be that of a row", n=n, rows=sizes)
        require(0 <= control <= 1, "control must be a share", control=control)
        for row in rows:
            _require_row(row)
        keys = ("n", *_TEXTS, *_BITS, "copied")
        data = {
            "rows": [{key: row[key] for key in keys} for row in rows],
            "control": control,
            "start": sizes.index(n),
        }
        super().__init__(name=name, data=data, alt=alt, caption=caption)


def _require_row(row: Mapping) -> None:
    sample, run = (row[key] for key in _TEXTS)
    rule = f"a sample must have at most {_LONGEST} letters and hold its longest copy"
    require(len(sample) <= _LONGEST and run in sample, rule, n=row["n"], longest_copy=run)
    bits = [row[key] for key in _BITS]
    require(min(bits) >= 0, "bits must be at least 0", n=row["n"], bits=bits)
    require(0 <= row["copied"] <= 1, "copied must be a share", n=row["n"], copied=row["copied"])
