"""The table of notation: the chapters' formulas and the library's types keep to it."""

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import nbformat
import pytest

import registry
import softlookup
from softlookup import attention

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(softlookup.__file__).parent
PAGE = registry.numbered(registry.by_name()["notation"].markdown())
CHAPTERS = {page.number: page.path for page in registry.chapters()}
MACHINERY = {"show", "exercises"}  # their axes are for a single figure or exercise
FORMULA = re.compile(r"\$\$(.*?)\$\$|\$([^$\n]+)\$", re.DOTALL)
GREEK = re.findall(
    r"\w+",
    "alpha beta gamma delta epsilon varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma "
    "tau phi varphi chi psi omega Gamma Delta Theta Lambda Pi Sigma Phi Psi Omega ell",
)
LETTER = re.compile(
    r"\\math(?:cal|bb)\s*\{?\s*[A-Za-z]|\\(?:"
    + "|".join(GREEK)
    + r")(?![a-zA-Z])|\\[a-zA-Z]+|[a-zA-Z]"
)


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading of the page of notation."""
    body = PAGE.split(f"# {heading}\n", 1)[1].split("\n#", 1)[0]
    rows = re.findall(r"^\|(.*)\|$", body, re.MULTILINE)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)] for row in rows[2:]]


SYMBOLS = table("Symbols")
AXES = table("Axes in the code")


def formulas(text: str) -> list[str]:
    """The formulas in a Markdown text."""
    return [display or inline for display, inline in FORMULA.findall(text)]


def letters(formula: str) -> set[str]:
    """The letters of a formula that stand for something; words and signs are left out."""
    word = r"\\(?:text|mathrm|operatorname|mathtt|begin|end)\*?\{[^{}]*\}|_\{[a-z]{3,}\}"
    bare = re.sub(word, " ", formula)
    found = (re.sub(r"[{\s]", "", name) for name in LETTER.findall(bare))
    return {
        name
        for name in found
        if not name.startswith("\\")
        or name[1:] in GREEK
        or name.startswith(("\\mathcal", "\\mathbb"))
    }


@functools.cache
def markdown(path: Path) -> list[str]:
    """The text cells of a notebook."""
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def code(path: Path) -> str:
    """The code cells of a notebook, one after the other."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def fold_outs(path: Path) -> list[str]:
    """The fold-outs that map the lectures' letters to ours."""
    return [text for text in markdown(path) if ":class: dropdown, letters" in text]


def own_formulas(path: Path) -> list[str]:
    """The formulas of a chapter that are its own: none of a slide's."""
    text = "\n\n".join(text for text in markdown(path) if text not in fold_outs(path))
    text = re.sub(r"^:::\{admonition\} Slide under.*?^:::$", "", text, flags=re.S | re.M)
    return formulas(re.sub(r"“[^”]*”", "", text))


def chapters_of(maths: str) -> set[int]:
    """The chapters in which a row holds: those that it names, or all."""
    place = re.search(r"in chapters? ([\d, and]+)", maths)
    return set(map(int, re.findall(r"\d+", place[1]))) if place else set(CHAPTERS)


@functools.cache
def known_letters(number: int) -> set[str]:
    """The letters that the table explains for a chapter."""
    return {
        letter
        for _, maths, *_ in SYMBOLS
        if number in chapters_of(maths)
        for formula in formulas(maths)
        for letter in letters(formula)
    }


def plain(formula: str) -> str:
    """A formula without what does not change its meaning: spaces, braces, fonts of words."""
    fonts = r"\\(?:text|mathrm|operatorname|mathtt)(?=\{)|\\[,;!]|\\(?:big|Big)[lr]?"
    bars = re.sub(r"\\[lr]vert", "|", re.sub(r"\\[lr]?Vert|\\\|", "‖", formula))
    return re.sub(r"[{}\s]|\^\\top$", "", re.sub(fonts, "", bars))


def named(formula: str) -> str:
    """What a formula names: what stands before its first sign; all indices are `_i`."""
    first = re.split(r"=|\\in\b|\\times|\\dots|(?<=.)\(|,", plain(formula))[0].strip("()")
    return re.sub(r"(?<![dn])_(?:[ijklmrt]+|\d)$", "_i", first)


def axis_names(annotation: str) -> set[str]:
    """The names of the axes in a shape; `{self.config.d_model}` is the axis `d_model`.

    A name with `_` in front ties nothing to it, and is left out.
    """
    lengths = re.sub(r"(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", annotation)
    return {name for name in re.findall(r"[A-Za-z_]\w*", lengths) if not name.startswith("_")}


def shape(node: ast.AST) -> str:
    """The shape that a type such as `Float[Tensor, "n d"]` writes; empty for other code."""
    match node:
        case ast.Subscript(
            value=ast.Name(id=kind), slice=ast.Tuple(elts=[_, ast.Constant(value=str(text))])
        ) if hasattr(jaxtyping, kind):
            return text
    return ""


def axes_in(source: str) -> set[str]:
    """The axes that the types of a module name."""
    return {name for node in ast.walk(ast.parse(source)) for name in axis_names(shape(node))}


def modules() -> list[Path]:
    """The library's modules but those of its machinery."""
    found = sorted(LIBRARY.rglob("*.py"))
    return [path for path in found if path.relative_to(LIBRARY).parts[0] not in MACHINERY]


def docstrings() -> Iterator[tuple[str, str]]:
    """What documents a module, a class or a function of the library, with its place."""
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                name = getattr(node, "name", "module")
                text = (ast.get_docstring(node) or "").partition("Example:")[0]
                yield (
                    f"{path.relative_to(LIBRARY)}: {name}",
                    " ".join(text.split()),
                )


def names_in(cell: str) -> list[str]:
    """What stands in a cell of a table as code."""
    return re.findall(r"`([^`]+)`", cell)


def test_each_axis_in_a_type_of_the_library_stands_in_the_table():
    known = {name for row in AXES for name in names_in(row[0])}
    unknown = {
        f"{path.relative_to(LIBRARY)}: {name}"
        for path in modules()
        for name in axes_in(path.read_text(encoding="utf-8")) - known
    }
    assert not unknown, "add the axis to chapters/notation.md, or use a name that stands there"


def test_each_axis_of_the_table_is_used():
    used = {name for path in modules() for name in axes_in(path.read_text(encoding="utf-8"))}
    unused = {name for row in AXES for name in names_in(row[0])} - used
    assert not unused


@pytest.mark.parametrize("number", CHAPTERS)
def test_each_letter_of_a_chapters_formulas_stands_in_the_table(number):
    known = known_letters(number)
    unknown = {
        letter: formula
        for formula in own_formulas(CHAPTERS[number])
        for letter in letters(formula) - known
    }
    assert not unknown, "add a row to chapters/notation.md, or use the letter that stands there"


@pytest.mark.parametrize("number", CHAPTERS)
def test_the_fold_out_of_a_chapter_names_things_as_the_table_does(number):
    known = {named(part) for _, maths, *_ in SYMBOLS if number in chapters_of(maths)
             for part in formulas(maths)}  # fmt: skip
    (fold_out,) = fold_outs(CHAPTERS[number])
    rows = re.findall(r"^\|(.*)\|$", fold_out, re.MULTILINE)[2:]
    ours = [re.split(r"(?<!\\)\|", row)[2] for row in rows]
    unknown = {named(part) for cell in ours for part in formulas(cell)} - known
    assert rows
    assert not unknown


@pytest.mark.parametrize(("place", "text"), [(p, t) for p, t in docstrings() if formulas(t)])
def test_each_letter_of_a_docstrings_formulas_stands_in_the_table(place, text):
    pages = {page.name: page.number for page in registry.chapters()}
    numbers = [pages[page] for page in re.findall(r"Chapter: (\w+)#", text) if page in pages]
    known = set().union(*(known_letters(number) for number in numbers or CHAPTERS))
    unknown = {f: letters(f) - known for f in formulas(text) if letters(f) - known}
    assert not unknown, "add a row to chapters/notation.md, or use the letter that stands there"


def test_each_row_of_the_table_is_used():
    chapters = [*map(own_formulas, CHAPTERS.values()), *map(fold_outs, CHAPTERS.values())]
    library = [formulas(text) for _, text in docstrings()]
    maths = plain(" ".join(formula for part in [*chapters, *library] for formula in part))
    programs = "\n".join(path.read_text(encoding="utf-8") for path in LIBRARY.rglob("*.py"))
    programs += "\n".join(map(code, CHAPTERS.values()))
    words = set(re.findall(r"\w+", programs))
    unused = [
        part
        for _, symbols, identifiers, *_ in SYMBOLS
        for part in [
            *(
                part
                for part in formulas(symbols)
                if re.split(r"=|\\in\b", plain(part))[0] not in maths
            ),
            *(part for part in names_in(identifiers) if not axis_names(part) <= words),
        ]
    ]
    assert not unused


@pytest.mark.parametrize("function", ["attention_scores", "attention_weights", "attention"])
def test_types_of_attention_are_the_shapes_of_the_page(function):
    rows = {re.sub(r"[$ ]", "", row[0]): plain(row[1].strip("$")) for row in table("Shapes")}
    shapes = {letter: shape.split(r"\times") for letters, shape in rows.items()
              for letter in letters.split(",")}  # fmt: skip
    parameters = inspect.signature(getattr(attention, function)).parameters
    for name, letter in {"query": "Q", "key": "K", "value": "V"}.items():
        if name in parameters:
            assert parameters[name].annotation.dim_str.split() == ["*batch", *shapes[letter]]


def test_no_quantity_has_two_rows():
    quantities = [row[0] for row in SYMBOLS]
    assert len(SYMBOLS) > 80
    assert len(set(quantities)) == len(quantities)


def test_a_planted_axis_and_a_planted_letter_are_found():
    planted = 'def f(x: Float[Tensor, "*batch #n_q m_k"]) -> Bool[Tensor, "{size}"]: ...'
    assert axes_in(planted) == {"batch", "n_q", "m_k", "size"}
    assert letters(r"\text{softmax}\Big(\frac{\xi_{ij}}{\mathcal{W}}\Big)\,q") == {
        r"\xi", "i", "j", r"\mathcalW", "q"
    }  # fmt: skip
    assert r"\xi" not in known_letters(11)
    assert named(r"\kappa(q, k) = e^{s}") == r"\kappa"
    assert named("a_{tj}") == named("a_i") != named("d_k")
    assert chapters_of("$M$, in chapters 2 and 4") == {2, 4}
