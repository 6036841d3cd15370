"""Formulas for a reader without JavaScript: MathML beside the TeX that MathJax sets.

It stands in a `noscript`, so that with a script nothing is read, drawn or counted twice. Docutils
translates; what it lacks is rewritten first.
"""

import re
from contextlib import suppress

from bs4 import BeautifulSoup
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml

REWRITTEN = (
    (re.compile(r"\\([td]?frac)\s*(\d)\s*(\d)"), r"\\\1{\2}{\3}"),
    (re.compile(r"\\dots(?![a-zA-Z])"), r"\\ldots "),
    (re.compile(r"\\[bB]igg?[lrm]?(?![a-zA-Z])"), ""),
    (re.compile(r"\\(?:begin|end)\{split\}|\\textstyle(?![a-zA-Z])"), ""),
    (re.compile(r"\{gathered\}"), "{aligned}"),
    (re.compile(r"\\\\\[[^\]]*pt\]"), r"\\\\"),
    (re.compile(r"\\textit(?![a-zA-Z])"), r"\\text"),
    (re.compile("°"), r"^\\circ "),
)
"""Commands that docutils does not know, and how it can be told the same."""
NEEDLESS = re.compile(r' (?:xmlns="[^"]*"|stretchy="false")')


def mathml(tex: str, *, block: bool) -> str:
    """A formula as MathML.

    Args:
        tex: The formula, without the signs around it.
        block: Whether it stands on lines of its own.

    Raises:
        MathError: Docutils cannot read it.
    """
    for pattern, told in REWRITTEN:
        tex = pattern.sub(told, tex)
    found = NEEDLESS.sub("", tex2mathml(tex, as_block=block))
    return re.sub(r">\s+<", "><", found).strip()


def add_mathml(soup: BeautifulSoup) -> None:
    """Put each formula's MathML behind its TeX; one that docutils cannot read stays TeX alone."""
    for formula in soup.select(".math"):
        written = re.fullmatch(r"\s*\\([(\[])(.*)\\[)\]]\s*", formula.get_text(), re.DOTALL)
        if written:
            with suppress(MathError):
                told = mathml(written[2].strip(), block=written[1] == "[")
                silent = soup.new_tag("noscript")
                silent.append(BeautifulSoup(told, "html.parser"))
                formula.append(silent)
