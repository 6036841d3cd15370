"""Teaching cells compute and show; check cells say in words what they check, and assert it."""

import ast
from pathlib import Path

import pytest
from docutils import nodes
from playwright.sync_api import Browser
from site_checks import open_page, watched
from test_map import asserts, cells, tree

import registry
from book_site.checks import check_words, fold, words_and_code

FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
AXES = {"ax", "axes", "axis", "fig", "figure", "matplotlib", "plt", "pyplot"}
DRAWING = {
    "add_artist", "add_patch", "add_subplot", "annotate", "axhline", "axvline", "barh", "boxplot",
    "contour", "contourf", "errorbar", "fill_between", "imshow", "legend", "loglog", "matshow",
    "pcolormesh", "quiver", "semilogx", "semilogy", "set_title", "set_xlabel",
    "set_xticks", "set_ylabel", "set_yticks", "stackplot", "stem", "subplots", "tick_params",
}  # fmt: skip
"""What only Matplotlib's axes and figures do, whatever their names; `plot` is a word of others."""


def root(node: ast.expr) -> str:
    """The name that a chain of attributes, calls and places begins with: `ax` in `ax[0].spines`."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def draws(source: str) -> bool:
    """Whether a cell calls Matplotlib itself; passing an axis to a function is not that."""
    return any(
        node.attr in DRAWING or root(node.value) in AXES
        for node in ast.walk(tree(source))
        if isinstance(node, ast.Attribute)
    )


def faults(cell: dict) -> list[str]:
    """What is wrong with one code cell."""
    source, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
    found = []
    if "check" in tags:
        words, code = words_and_code(source)
        if not words:
            found.append("a check begins with a comment, '# Checked: ' and what in words")
        if not asserts(code):
            found.append("a check asserts something")
        if hiding := {"solution", *FOLDED} & set(tags):
            found.append(f"a check folds by itself: no tag {', '.join(sorted(hiding))}")
    elif asserts(source):
        found.append("asserts belong into a cell of their own, tagged check")
    if draws(source) and not FOLDED & set(tags):
        found.append("plotting folds: use a function of softlookup.show, or tag it hide-input")
    return found


@pytest.mark.parametrize("page", registry.notebooks(), ids=lambda page: page.name)
def test_each_cell_teaches_or_checks(page):
    found = {
        cell["id"]: told
        for cell in cells(page.path)
        if cell["cell_type"] == "code" and (told := faults(cell))
    }
    assert not found


def code_cell(source: str, *tags: str) -> dict:
    return {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)}}


WORDS = "# Checked: one is one\n"


@pytest.mark.parametrize(
    "cell",
    [
        code_cell("x = 1\nprint(x)"),
        code_cell(WORDS + "assert 1 == 1", "check"),
        code_cell("# Checked: $x$ equals\n# `y`\n\nassert_equal(x, y)", "check"),
        code_cell("figure, ax = plt.subplots()\nax.plot(x)", "hide-input"),
        code_cell("figure, ax = plt.subplots()\nax.plot(x)", "hide-cell", "solution"),
        code_cell("show_figure(heatmap(weights), alt=alt, caption=caption)"),
        code_cell("optimizer.step()\nsums.scatter(-1, ids, 1.0)\nprint(page.text)"),
        code_cell("%time run()\nexercises.check_yours(mine)"),
    ],
)
def test_what_is_sound_passes(cell):
    assert faults(cell) == []


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        (code_cell("x = 1\nassert x == 1"), "asserts belong"),
        (code_cell("for x in y:\n    if x:\n        assert x"), "asserts belong"),
        (code_cell("torch.testing.assert_close(x, y)"), "asserts belong"),
        (code_cell("assert_equal(x, y)"), "asserts belong"),
        (code_cell("np.testing.assert_allclose(x, y)"), "asserts belong"),
        (code_cell(WORDS + "assert x", "hide-input"), "asserts belong"),
        (code_cell("assert x", "hide-cell", "solution"), "asserts belong"),
        (code_cell("%pip install it\nassert x"), "asserts belong"),
        (code_cell("assert x", "check"), "in words"),
        (code_cell("# one is one\nassert x", "check"), "in words"),
        (code_cell("# Checked:\nassert x", "check"), "in words"),
        (code_cell("x = 1\n" + WORDS + "assert x", "check"), "in words"),
        (code_cell(WORDS + "print(1 == 1)", "check"), "asserts something"),
        (code_cell("# Checked: assert\n", "check"), "asserts something"),
        (code_cell(WORDS + "assert x", "check", "hide-input"), "no tag hide-input"),
        (code_cell(WORDS + "assert x", "check", "solution"), "no tag solution"),
        (code_cell("plt.plot(x)"), "plotting folds"),
        (code_cell("ax.plot(x)"), "plotting folds"),
        (code_cell("axes[0].set(title='x')"), "plotting folds"),
        (code_cell("ax.spines[:].set_visible(False)"), "plotting folds"),
        (code_cell("left.set_xlabel('x')"), "plotting folds"),
        (code_cell("show_figure(plt.gcf(), alt=alt)"), "plotting folds"),
        (code_cell("figure, (left, right) = pyplot.subplots(1, 2)"), "plotting folds"),
        (code_cell(WORDS + "assert plt.plot(x)", "check"), "plotting folds"),
    ],
)
def test_each_planted_fault_is_told(cell, fault):
    (told,) = faults(cell)
    assert fault in told


# In the page -----------------------------------------------------------------------------------

SOURCE = "# Checked: equals the `loop` to $10^{-12}$;\n# twice\nassert x  # why\nassert y"


def built_cell(source: str = SOURCE, output: str = "", exec_count: int | None = 1):
    """A cell as myst-nb hands it on, with one output of the given kind."""
    blocks = [nodes.container("", nodes.literal_block(source, source), classes=["cell_input"])]
    if output:
        shown = nodes.literal_block("text", "text", classes=["output", output])
        blocks.append(nodes.container("", shown, classes=["cell_output"]))
    return nodes.container("", *blocks, nb_element="cell_code", exec_count=exec_count)


def test_the_words_are_the_line_and_the_code_lies_below():
    cell = built_cell(output="stream")
    folded = fold(cell)
    assert cell.children == [folded]
    line, code, output = folded.children
    assert isinstance(line, check_words)
    assert line[-1].astext() == "Checked: equals the loop to 10^{-12}; twice"
    assert [node.astext() for node in line.findall(nodes.literal)] == ["loop"]
    assert [node.astext() for node in line.findall(nodes.math)] == ["10^{-12}"]
    assert code.astext() == "assert x  # why\nassert y"
    assert code.children[0].rawsource == code.astext()  # which is what Pygments colours
    assert output.astext() == "text"


@pytest.mark.parametrize(
    ("state", "passed"),
    [
        ({}, True),
        ({"output": "stream"}, True),
        ({"output": "traceback"}, False),
        ({"exec_count": None}, False),
    ],
)
def test_the_mark_stands_only_where_the_cell_ended_without_an_error(state, passed):
    marks = [node.astext() for node in fold(built_cell(**state)).findall(nodes.raw)]
    assert len(marks) == passed
    assert all("Passed when this page was built." in mark for mark in marks)


@pytest.mark.parametrize("source", ["assert x", "# assert\nassert x", "", "# Checked:\nassert x"])
def test_a_cell_without_words_stays_as_it_is(source):
    cell = built_cell(source)
    assert fold(cell) is None
    assert cell.astext() == source


def checks_of(page: registry.Page) -> list[str]:
    """The ids of a page's check cells."""
    tagged = [cell for cell in cells(page.path) if "check" in cell["metadata"].get("tags", [])]
    return [cell["id"] for cell in tagged]


WITH_CHECKS = [page for page in registry.notebooks() if checks_of(page)]
"""`test_page_is_sound` looks whether each check passed and is one closed line."""
OPEN = "(key) => document.getElementById(key).open"


@pytest.mark.browser
def test_a_check_opens_by_keyboard_and_by_a_link_and_is_closed_on_paper(
    site: Path, browser: Browser
):
    page = max(WITH_CHECKS, key=lambda page: len(checks_of(page)))
    first, *_, last = [f"check-{key}" for key in checks_of(page)]
    address = (site / f"{page.docname}.html").as_uri()
    with watched(browser, reduced_motion="reduce") as (tab, faults, _):
        tab.goto(f"{address}#{last}")
        tab.wait_for_function(OPEN, arg=last)  # by a link from another page
        assert not tab.evaluate(OPEN, first)
        tab.locator(f"#{first} > summary").focus()
        tab.keyboard.press("Enter")
        assert tab.evaluate(OPEN, first)
        tab.keyboard.press("Enter")
        assert not tab.evaluate(OPEN, first)
        tab.evaluate("(key) => { location.hash = key; }", first)  # by a link on the page
        tab.wait_for_function(OPEN, arg=first)
        assert tab.locator(f"#{first} pre").is_visible()
        tab.emulate_media(media="print")
        assert tab.locator(f"#{first} summary").is_visible()
        assert not tab.locator(f"#{first} pre").is_visible()
        assert not faults


@pytest.mark.browser
def test_paper_opens_what_is_folded_but_no_check(site: Path, browser: Browser):
    page = max(WITH_CHECKS, key=lambda page: len(checks_of(page)))
    states = """() => [...document.querySelectorAll('article details')].map((box) => [
        box.classList.contains('check'), box.open])"""
    with watched(browser) as (tab, _faults, _):
        open_page(tab, site / f"{page.docname}.html")
        tab.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        found = {tuple(state) for state in tab.evaluate(states)}
    assert found == {(True, False), (False, True)}


@pytest.mark.browser
def test_without_a_script_a_check_is_a_line_that_opens(site: Path, browser: Browser):
    page = max(WITH_CHECKS, key=lambda page: len(checks_of(page)))
    key = f"check-{checks_of(page)[0]}"
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto((site / f"{page.docname}.html").as_uri())
    code = tab.locator(f"#{key} pre")
    assert not code.is_visible()
    tab.locator(f"#{key} > summary").click()
    assert code.is_visible()
    context.close()
