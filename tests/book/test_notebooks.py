"""The chapters as documents: their anatomy, their cells, what they print."""

import ast
import html
import importlib
import json
import pkgutil
import re
from pathlib import Path

import nbformat
import pytest
import yaml

import execute
import registry
import softlookup
from softlookup.data.downloads import cache_folder as softlookup_cache_folder

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = [page.path for page in registry.notebooks()]
CHAPTERS = [page.path for page in registry.chapters()]
MACHINERY = tuple(
    f"softlookup.{name}" for name in ("exercises", "show", "recorded", "data", "checks")
)
FORBIDDEN = {
    "a path of the machine": r"(?<![\w.])/(home|root|tmp|usr|work|Users|var|opt)/|\.venv",
    "an address in memory": r"\b0x[0-9a-f]{6,}",
    "a web address": r"https?://",
    "a time": r"\b\d{1,2}:\d{2}:\d{2}\b|\b\d{4}-\d\d-\d\dT",
    "a number of more than four digits after the point": r"\d\.\d{5,}",
    "a progress bar": r"\d+%\|",
    "a warning": r"Warning\b.*:",
}


def stem(path: Path) -> str:
    """A notebook's name, for the test's."""
    return path.stem


def read(path: Path) -> nbformat.NotebookNode:
    """A notebook as committed."""
    return nbformat.read(path, as_version=4)


def executed(path: Path) -> nbformat.NotebookNode:
    """A notebook with the outputs that the book shows."""
    notebook = execute.kept(path)
    if notebook is None:
        pytest.skip("not executed yet: run `make book`")
    return notebook


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    """The code cells."""
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def tree(cell: nbformat.NotebookNode) -> ast.Module:
    """The syntax tree of a cell, IPython's lines left out."""
    lines = [re.sub(r"^(\s*)[%!].*", r"\1pass", line) for line in cell.source.splitlines()]
    return ast.parse("\n".join(lines))


def calls(path: Path, name: str) -> list[ast.Call]:
    """The calls of one function, by its bare name, in the cells of a notebook."""
    return [
        node
        for cell in code_cells(path)
        for node in ast.walk(tree(cell))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def library_names() -> dict[str, str]:
    """The functions and classes that the library's concept modules export, with their module."""
    names = {}
    for found in pkgutil.walk_packages(softlookup.__path__, "softlookup."):
        if found.name.startswith(MACHINERY):
            continue
        module = importlib.import_module(found.name)
        for name, thing in vars(module).items():
            own = getattr(thing, "__module__", "") == found.name
            if own and not name.startswith("_") and callable(thing):
                names[name] = found.name
    return names


def definitions(cell: nbformat.NotebookNode) -> set[str]:
    """The names that a cell defines by def, class or assignment."""
    found = set()
    for node in ast.walk(tree(cell)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_notebook_is_valid_and_committed_without_outputs(path):
    notebook = read(path)
    nbformat.validate(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))
    assert not [cell.id for cell in notebook.cells if cell.get("outputs")]
    assert not [cell.id for cell in notebook.cells if cell.get("execution_count")]
    unreadable = [key for key in ids if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f-]*)?", key)]
    assert not unreadable, "give cells readable ids: they are kept for good"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_first_code_cell_installs_on_colab_from_the_books_own_address(path):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    address = config["repository"]["url"]
    cell = code_cells(path)[0]
    assert cell.source == (
        f'import sys\n\nif "google.colab" in sys.modules:\n    %pip install -q "git+{address}"'
    )
    assert cell.metadata.get("tags") == ["remove-cell"]


def test_every_address_of_the_repository_is_the_configured_one():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    address = config["repository"]["url"]
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", address)
    slug = address.removeprefix("https://github.com/")
    texts = [ROOT / "CITATION.cff", ROOT / "README.md", ROOT / "intro.md", *NOTEBOOKS]
    for path in [*texts, *(ROOT / "chapters").glob("*.md")]:
        owners = re.findall(r"github\.com/([\w.-]*soft-?lookup[\w.-]*/[\w.-]+)",
                            path.read_text(encoding="utf-8"))  # fmt: skip
        assert {owner.rstrip(".") for owner in owners} <= {slug}, path.name


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_no_cell_defines_what_the_library_exports(path):
    exported = library_names()
    clashes = {
        f"{cell.id}: {name} is in {exported[name]}"
        for cell in code_cells(path)
        for name in definitions(cell) & set(exported)
    }
    assert not clashes


def test_figures_have_names_of_their_own():
    names = [
        name
        for path in NOTEBOOKS
        for cell in code_cells(path)
        for name in re.findall(r'name="(fig-[\w-]+)"', cell.source)
    ]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", CHAPTERS, ids=stem)
def test_library_code_is_shown_from_the_library(path):
    assert calls(path, "show_source"), "a chapter shows the code that it teaches"


@pytest.mark.parametrize("path", CHAPTERS, ids=stem)
def test_each_exercise_is_blank_once_and_solved_once(path):
    exercises = [
        re.search(r":label: (ex-[\w-]+)", cell.source)
        for cell in read(path).cells
        if cell.cell_type == "markdown" and ":::{exercise}" in cell.source
    ]
    assert exercises, "a chapter has exercises"
    assert all(exercises), "an exercise needs a label"
    texts = execute.text_outputs(executed(path))
    blank = [key for key, text in texts.items() if text.strip().startswith("Not yet.")]
    last = {key: text.strip().rpartition("\n")[2] for key, text in texts.items()}
    solved = [key for key, line in last.items() if line.startswith("Right.")]
    assert len(blank) == len(exercises)
    assert len(solved) >= len(exercises)
    tags = {cell.id: cell.metadata.get("tags", []) for cell in code_cells(path)}
    unfolded = [key for key in solved if "solution" in tags[key] and "hide-cell" not in tags[key]]
    assert not unfolded
    assert sum("solution" in tag for tag in tags.values()) >= len(exercises)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_cell_prints_what_differs_between_two_runs(path, what):
    texts = execute.text_outputs(executed(path))
    found = {key: re.search(FORBIDDEN[what], text) for key, text in texts.items()}
    assert not {key: match.group() for key, match in found.items() if match}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_no_cell_writes_to_stderr(path):
    loud = [
        cell.id
        for cell in executed(path).cells
        for output in cell.get("outputs", [])
        if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert not loud


def test_a_second_run_that_prints_something_else_is_told(capsys):
    path = NOTEBOOKS[0]
    first, again = executed(path), executed(path)
    execute.say_whether_same({path: first}, {path: again})
    assert "1 notebooks printed the same text twice." in capsys.readouterr().out
    loud = next(cell for cell in again.cells if execute.text_outputs(again).get(cell.id))
    loud.outputs = [nbformat.v4.new_output("stream", text="0.123")]
    with pytest.raises(SystemExit, match=f"Two runs differ.(?s:.*)cell {loud.id}"):
        execute.say_whether_same({path: first}, {path: again})


def test_outputs_are_dropped_when_the_fetched_data_change(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path))
    assert execute.cache_folder() == softlookup_cache_folder()
    before = execute.fingerprint()
    (tmp_path / "SMSSpamCollection").write_text("ham\tHello")
    assert execute.fingerprint() != before
    monkeypatch.delenv("SOFTLOOKUP_DATA")
    assert execute.cache_folder() == softlookup_cache_folder()


def wrong_guesses(cell: nbformat.NotebookNode) -> list[int]:
    """How many wrong guesses each ``reveal`` of a cell names."""
    return [
        len(keyword.value.keys)
        for node in ast.walk(tree(cell))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "reveal"
        for keyword in node.keywords
        if keyword.arg == "wrong" and isinstance(keyword.value, ast.Dict)
    ]


def told_wrong(cell: nbformat.NotebookNode) -> list[int]:
    """How many of them the cell has told."""
    pages = [out.data.get("text/html", "") for out in cell.get("outputs", []) if "data" in out]
    found = [re.search(r'data-reveal="([^"]*)"', page) for page in pages]
    counts = [len(json.loads(html.unescape(hit[1]))["wrong"]) for hit in found if hit]
    return [count for count in counts if count]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_no_guess_that_is_named_wrong_is_right(path):
    """``reveal`` leaves it out, since in another size it may be right; here it must be wrong."""
    cells = [cell for cell in executed(path).cells if cell.cell_type == "code"]
    assert [wrong_guesses(cell) for cell in cells] == [told_wrong(cell) for cell in cells]
