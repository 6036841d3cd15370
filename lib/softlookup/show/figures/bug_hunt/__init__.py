"""The bug hunt: functions with one wrong line each; press the line, or ask the tests first."""

from collections.abc import Mapping, Sequence

from softlookup.checks import require
from softlookup.show.interactive import Interactive

_KEYS = ("name", "lines", "wrong", "right", "why", "where", "tests")
_ALT = (
    "A function of a few lines, one of them wrong. Pressing a line tells whether it is the one; "
    "a list shows which tests fail on a model made with the function, and what they saw."
)
_CAPTION = (
    "The bug hunt. Press the line that is wrong. The tests say what breaks in a whole model made "
    "with this function, and what they saw."
)


class BugHunt(Interactive):
    """Functions with one wrong line each, and what tests say of a model made with them.

    Args:
        bugs: For each function a mapping: its ``name``, its ``lines``, the index of the ``wrong``
            one, the ``right`` one, ``why``, ``where`` the like was seen ("" for nowhere), and
            ``tests``, pairs of a test's name and what it saw go wrong, or None.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There is no function, one has not these keys, or its wrong line does not exist;
            or as ``Interactive``.

    Chapter: bugs#twelve-functions

    Example:
        >>> bug = {"name": "f", "lines": ["def f(x):", "    return x"], "wrong": 1, "where": ""}
        >>> bug |= {"right": "return -x", "why": "The sign.", "tests": [["shapes", None]]}
        >>> BugHunt([bug]).name
        'fig-bug-hunt'
    """

    def __init__(
        self,
        bugs: Sequence[Mapping[str, object]],
        *,
        name: str = "fig-bug-hunt",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        require(len(bugs) > 0, "there must be at least one function", n_bugs=len(bugs))
        for bug in bugs:
            rule = f"each function needs {', '.join(_KEYS)}"
            require(sorted(bug) == sorted(_KEYS), rule, found=sorted(bug))
            n, wrong = len(bug["lines"]), bug["wrong"]
            rule = "wrong must be the index of a line"
            require(isinstance(wrong, int) and 0 <= wrong < n, rule, wrong=wrong, n_lines=n)
        super().__init__(
            name=name,
            data={"bugs": [dict(bug) for bug in bugs]},
            alt=alt,
            caption=caption,
        )
