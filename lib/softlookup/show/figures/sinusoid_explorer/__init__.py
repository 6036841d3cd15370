"""The sinusoid explorer: columns of the sinusoidal codes as curves, and the slide's table live."""

from softlookup.show.interactive import Interactive

_LONGEST = 50
_PRINTED = (
    (0.818, -0.061, -0.635, 0.991),
    (0.576, 0.998, -0.773, 0.134),
    (0.615, -0.918, 0.473, 0.838),
    (0.789, -0.396, -0.881, 0.546),
)  # lecture 003, d = 50: a row a column of the code, a column for each of p0 to p3
_ROBOT = (
    (0.0, 0.84, 0.91, 0.14),
    (1.0, 0.54, -0.42, -0.99),
    (0.0, 0.10, 0.20, 0.30),
    (1.0, 1.0, 0.98, 0.96),
)  # lecture 003, d = 4 and n = 100: the same way round
_TABLES = (
    {
        "name": "p0 to p3, d = 50",
        "d": 50,
        "base": 10000,
        "first": 4,
        "positions": [2, 13, 8, 3],
        "printed": _PRINTED,
        "digits": 3,
    },
    {
        "name": "I am a robot, d = 4",
        "d": 4,
        "base": 100,
        "first": 0,
        "positions": [0, 1, 2, 3],
        "printed": _ROBOT,
        "digits": 2,
    },
    {
        "name": "the last columns",
        "d": 50,
        "base": 10000,
        "first": 46,
        "positions": [2, 13, 8, 50],
        "printed": None,
        "digits": 5,
    },
)
_ALT = (
    "Four columns of the sinusoidal codes as curves over the positions, two pairs of sine and "
    "cosine, with four positions marked; beside them the codes as a table. With d = 50, columns 4 "
    "to 7 and positions 2, 13, 8 and 3 the table is the one that lecture 003 prints."
)
_CAPTION = (
    "The sinusoid explorer. A code is what a vertical line meets: four of its numbers stand in "
    "the table. The smaller d, the more neighbouring pairs differ in speed."
)


class SinusoidExplorer(Interactive):
    r"""Four columns of $PE(t)$ over $t$ from 0 to 50, four positions, and their codes.

    It starts with the setting that reproduces the table of lecture 003, and compares every number
    with the slide's.

    Args:
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: As ``Interactive``.

    Source: lecture 003, "Positional Encoding" and "Positional Encoding Dimension Dependency".
    Chapter: positions#sinusoids.

    Example:
        >>> SinusoidExplorer().name
        'fig-positions-explorer'
    """

    def __init__(
        self, *, name: str = "fig-positions-explorer", alt: str = _ALT, caption: str = _CAPTION
    ) -> None:
        super().__init__(
            name=name,
            data={"tables": _TABLES, "longest": _LONGEST},
            alt=alt,
            caption=caption,
        )
