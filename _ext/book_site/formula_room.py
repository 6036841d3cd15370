"""Room for formulas: about as much as each takes, kept until it is set.

A formula arrives as TeX and is set in the browser. Were its room not kept, the lines around it
would break anew when it is set. The estimate counts letters; what it misses moves little.
"""

import re

from bs4 import BeautifulSoup

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_&]|\s+|.", re.S)
WORDS = re.compile(
    r"\\(?:text|textit|textbf|mathrm|mathbf|mathit|mathcal|mathbb|boldsymbol|operatorname|mathsf"
    r"|displaystyle|left|right|big|Big|bigl|bigr)\b\*?"
)
SPACES = {
    "\\mid": 0.83,
    "\\,": 0.17,
    "\\;": 0.28,
    "\\:": 0.22,
    "\\!": -0.17,
    "\\ ": 0.25,
    "\\quad": 1,
    "\\qquad": 2,
}
NAMES = ("log", "exp", "max", "min", "cos", "sin", "tanh", "lim", "arg", "ln", "det", "Pr", "dim")
RELATION = re.compile(r"[=<>]|\\(?:l|g|n)eq?|\\(?:approx|sim|to|in|mapsto|propto|[lg]{2}|equiv)")
OPERATOR = re.compile(r"[+\-−*]|\\(?:times|cdot|pm|circ|odot|oplus|cup)")
SMALL = 0.72  # of what is raised or lowered
TALL = re.compile(r"\\(?:d?frac|sum|prod|int|binom|underbrace|overbrace|sqrt)\b")
ROW, TALL_ROW = 1.6, 2.7  # in units of the letters' size


def width(tex: str) -> float:
    """About how wide a formula is, in units of the letters' size.

    Args:
        tex: The formula without the marks around it.
    """
    tokens = TOKEN.findall(WORDS.sub(" ", tex))
    found, _ = _row(tokens, 0)
    return round(1.03 * found, 2)


def _row(tokens: list[str], at: int) -> tuple[float, int]:
    """The width from a token up to the end of its group, and where that is."""
    total = 0.0
    while at < len(tokens) and tokens[at] != "}":
        token = tokens[at]
        if token in "^_":
            part, at = _one(tokens, at + 1)
            total += SMALL * part
        elif token in (r"\frac", r"\dfrac", r"\tfrac", r"\binom"):
            above, at = _one(tokens, at + 1)
            below, at = _one(tokens, at)
            total += max(above, below) + 0.25
        else:
            part, at = _one(tokens, at)
            total += part
    return total, at


def _one(tokens: list[str], at: int) -> tuple[float, int]:
    """The width of one group or letter, and where the next begins."""
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    if at >= len(tokens) or tokens[at] == "}":
        return 0.0, at
    if tokens[at] == "{":
        part, end = _row(tokens, at + 1)
        return part, end + 1
    return _letter(tokens[at]), at + 1


def _letter(token: str) -> float:
    if token in SPACES:
        return SPACES[token]
    if RELATION.fullmatch(token):
        return 1.33
    if OPERATOR.fullmatch(token):
        return 1.22
    if token[0] == "\\" and token[1:] in NAMES:
        return 0.5 * len(token) - 0.3
    if token in "&^_":
        return 0.0
    if token[0] == "\\" and len(token) > 1 and not token[1].isalpha():
        return 0.5 if token != "\\\\" else 0.0
    if token.isupper():
        return 0.85
    return 0.4 if token in "()[]|,.;:!il" else 0.55


def height(tex: str) -> float:
    """About how tall a displayed formula is, in units of the letters' size."""
    rows = re.split(r"\\\\", tex)
    return round(sum(TALL_ROW if TALL.search(row) else ROW for row in rows), 1)


def keep_room(soup: BeautifulSoup) -> None:
    """Note the room of each formula in its style."""
    for formula in soup.select("span.math"):
        formula["style"] = f"--room: {width(formula.get_text()[2:-2])}em"
    for formula in soup.select("div.math"):
        formula["style"] = f"--room: {height(formula.get_text())}em"
