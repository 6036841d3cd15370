"""A label's letters: what is set in italics, what is raised or lowered, and how wide it is.

A single letter is a variable and set in italics, unless a zero-width space stands behind it; ``_``
lowers what follows, ``^`` raises it: ``h_{t−1}``, ``d_model``, ``W^Q``.
"""

import html
import re
from dataclasses import dataclass

MAIN = 15  # pixels: a label's first line
SMALL = 13  # its other lines, and what stands on arrows
SCRIPT = 11.6  # what is lowered or raised
LEADING = 1.3  # from line to line, as a multiple of the letters' size

_SCRIPTS = re.compile(r"([_^])(\{[^{}]*\}|[^\W_]+|\S)")
_VARIABLE = re.compile(r"(?<![^\W_])(?<!<)(?!I\b|a [^\W\d_]{2})([^\W\d_])(?![^\W_]|\u200b)")
_SERIF = "var(--sl-serif, Georgia, 'Times New Roman', serif)"

# How wide a letter is, as a share of its size: Helvetica's and Arial's widths. The site's own sans
# is narrower, so what fits by this table fits in both.
_WIDTHS = (
    ("ijl'|", 0.23),
    ("ft.,:;!I /\\()[]", 0.3),
    ('r-{}"', 0.34),
    ("ckszxyvJ*°", 0.5),
    ("ABEKPSVXYΔΣ&", 0.67),
    ("CDHNRUw", 0.72),
    ("GOQm", 0.8),
    ("M%", 0.86),
    ("W…→←↑↓", 1.0),
    ("×+−=<>≤≥·–", 0.58),
)
_WIDTH = {letter: width for letters, width in _WIDTHS for letter in letters}
_USUAL = 0.556


@dataclass(frozen=True)
class Run:
    """Letters of one kind.

    Attributes:
        text: The letters.
        level: 0 on the line, 1 raised, -1 lowered.
        italic: Whether they are a variable's.
    """

    text: str
    level: int
    italic: bool


def runs(line: str) -> list[Run]:
    """The line cut into letters of one kind each."""
    found, end = [], 0
    for script in _SCRIPTS.finditer(line):
        found += _variables(line[end : script.start()], 0)
        found += _variables(script[2].strip("{}"), 1 if script[1] == "^" else -1)
        end = script.end()
    return found + _variables(line[end:], 0)


def _variables(text: str, level: int) -> list[Run]:
    parts = _VARIABLE.split(text)
    return [Run(part, level, k % 2 == 1) for k, part in enumerate(parts) if part]


def line_width(line: str, size: float) -> float:
    """How wide a line is, in pixels."""
    return sum(
        (SCRIPT if run.level else size) * sum(_WIDTH.get(letter, _USUAL) for letter in run.text)
        for run in runs(line)
    )


@dataclass(frozen=True)
class Block:
    """Lines one below the other.

    Attributes:
        lines: Each line with the size of its letters.
    """

    lines: tuple[tuple[str, float], ...]

    @property
    def width(self) -> float:
        """That of the longest line."""
        return max((line_width(line, size) for line, size in self.lines), default=0.0)

    @property
    def height(self) -> float:
        """That of all lines."""
        return LEADING * sum(size for _, size in self.lines)


def block(label: str, size: float = MAIN) -> Block:
    """A label cut into lines: what stands after " | " is small."""
    large, *small = label.split(" | ")
    lines = [(line.strip(), size) for line in large.split("\n")]
    lines += [(line.strip(), SMALL) for part in small for line in part.split("\n")]
    return Block(tuple(lines) if label else ())


def block_svg(lines: Block, x: float, y: float) -> str:
    """The lines as SVG, in the middle of the height ``y`` and with their middle at ``x``."""
    top = y - lines.height / 2
    out = []
    for line, size in lines.lines:
        baseline = top + LEADING * size / 2 + 0.34 * size
        out.append(
            f'<text x="{x:g}" y="{baseline:.1f}" font-size="{size:g}" text-anchor="middle">'
            f"{_spans(line)}</text>"
        )
        top += LEADING * size
    return "".join(out)


def _spans(line: str) -> str:
    out, height = [], 0.0
    for run in runs(line):
        shift = -5.0 * run.level if run.level > 0 else -4.0 * run.level
        attributes = f' dy="{shift - height:g}"' if shift != height else ""
        height = shift
        if run.level:
            attributes += f' font-size="{SCRIPT}"'
        if run.italic:
            attributes += f' font-style="italic" font-family="{_SERIF}"'
        text = html.escape(run.text, quote=False)
        out.append(f"<tspan{attributes}>{text}</tspan>" if attributes else text)
    return "".join(out)
