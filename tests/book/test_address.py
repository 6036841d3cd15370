"""One command sets the repository's address everywhere, and a file that differs is found."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import address

ROOT = Path(__file__).resolve().parents[2]
NEW = "https://github.com/nobody-0/another.book"


@pytest.fixture
def tree(tmp_path):
    """A copy of what names the address."""
    for path in [*address.files(ROOT), ROOT / "_ext" / "address.py"]:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return tmp_path


def contents(tree):
    return {path: path.read_bytes() for path in address.files(tree)}


def test_every_file_names_the_configured_address():
    assert address.differing(ROOT) == []


def test_the_address_is_that_of_the_configuration():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert address.configured(ROOT) == config["repository"]["url"]


def test_one_command_sets_it_everywhere(tree):
    old = address.configured(ROOT).removeprefix("https://")
    changed = address.set_address(NEW, tree)
    notebooks = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("chapters/*.ipynb")}
    assert {"_config.yml", "CITATION.cff", *notebooks} <= {*changed}
    assert address.configured(tree) == NEW
    assert address.differing(tree) == []
    assert not [path.name for path, text in contents(tree).items() if old.encode() in text]


def test_a_second_time_changes_nothing(tree):
    address.set_address(NEW, tree)
    before = contents(tree)
    assert address.set_address(NEW, tree) == []
    assert contents(tree) == before


def test_there_and_back_every_byte_is_the_same(tree):
    before, old = contents(tree), address.configured(tree)
    address.set_address(NEW, tree)
    assert contents(tree) != before
    address.set_address(old, tree)
    assert contents(tree) == before


def test_it_is_set_in_texts_too_and_nothing_alike_is_touched(tree):
    old, readme = address.configured(tree), tree / "README.md"
    said = "See {0}, {0}/issues/new, {0}.git and {0}. Not {0}-fork, {0}.io or {0}2."
    readme.write_text(said.format(old), encoding="utf-8")
    address.set_address(NEW, tree)
    kept = f"Not {old}-fork, {old}.io or {old}2."
    assert readme.read_text() == said.split(" Not")[0].format(NEW) + " " + kept


def test_where_files_differ_the_command_mends_them(tree):
    """Somebody changed `_config.yml` by hand, and nothing else."""
    config = tree / "_config.yml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace(address.configured(tree), NEW), encoding="utf-8")
    wrong = address.differing(tree)
    assert "CITATION.cff" in wrong
    assert "chapters/bugs.ipynb" in wrong
    assert "_config.yml" not in wrong
    address.set_address(NEW, tree)
    assert address.differing(tree) == []


@pytest.mark.parametrize("name", ["CITATION.cff", "chapters/bugs.ipynb"])
@pytest.mark.parametrize("bug", ["other", "gone"])
def test_a_file_that_differs_is_named(tree, name, bug):
    path, old = tree / name, address.configured(tree)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, NEW if bug == "other" else ""), encoding="utf-8")
    assert address.differing(tree) == [name]


def test_a_file_without_its_place_is_refused_and_nothing_written(tree):
    path = tree / "chapters" / "bugs.ipynb"
    path.write_text(path.read_text(encoding="utf-8").replace("%pip install", "%pip fetch"))
    before = contents(tree)
    with pytest.raises(ValueError, match=r"bugs\.ipynb must name the address once"):
        address.set_address(NEW, tree)
    assert contents(tree) == before


@pytest.mark.parametrize("url", [
    "", "anna/attention", "github.com/anna/attention", "http://github.com/anna/attention",
    "https://github.com/anna", "https://github.com/anna/", "https://github.com/anna/attention/",
    "https://github.com/anna/attention.git", "https://github.com/anna/attention/tree/main",
    "https://github.com/-anna/attention", "https://github.com/an na/attention",
    "https://github.com/anna/..", "https://gitlab.example/anna/attention",
    "https://github.com/anna/attention?tab=readme", "https://github.com/anna/attention\n",
    'https://github.com/anna/attention"', "git@github.com:anna/attention.git",
])  # fmt: skip
def test_what_is_no_address_is_refused_and_nothing_written(tree, url):
    before = contents(tree)
    with pytest.raises(ValueError, match=r"the address must have the form https://github\.com/OW"):
        address.set_address(url, tree)
    assert contents(tree) == before


def called(tree, *arguments):
    command = [sys.executable, str(tree / "_ext" / "address.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_from_the_command_line(tree):
    run = called(tree, NEW)
    assert (run.returncode, run.stderr) == (0, "")
    assert f"The address is {NEW}" in run.stdout
    assert address.configured(tree) == NEW
    assert called(tree).returncode == 0


def test_the_command_line_says_in_one_line_what_is_wrong(tree):
    run = called(tree, "github.com/anna")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.count("\n") == 1
    assert "https://github.com/OWNER/NAME; got 'github.com/anna'" in run.stderr


def test_the_command_line_names_what_differs(tree):
    path = tree / "CITATION.cff"
    path.write_text(path.read_text().replace(address.configured(tree), NEW))
    run = called(tree)
    assert run.returncode == 1
    assert run.stdout.endswith("\nCITATION.cff differs.\n")


def test_make_knows_the_command():
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    recipe = lines[next(i for i, line in enumerate(lines) if line.startswith("address:")) + 1]
    assert recipe == '\t@$(PYTHON) _ext/address.py "$(URL)"'
    assert "make address URL=" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
