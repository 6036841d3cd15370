"""Each notebook runs in Colab: what says so finds the faults, and the book's own files fit it.

The notebooks themselves run there through `make colab`; it takes minutes and gigabytes.
"""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import nbformat
import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.version import Version

import colab
import execute
from address import configured

BEFORE = {"numpy": "numpy==2.1.3", "pip": "pip==24.1.2"}
OURS = {"softlookup": "softlookup @ git+https://github.com/nobody/book@0123"}
ABSENT = {"jaxtyping"}  # what Colab does not have of our dependencies
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_only_our_package_and_pure_ones_that_were_absent_may_be_new():
    after = {**BEFORE, **OURS, "jaxtyping": "jaxtyping==0.3.11"}
    assert colab.faults(BEFORE, after, compiled=set()) == []


@pytest.mark.parametrize(("after", "compiled", "fault"), [
    ({**BEFORE, **OURS, "numpy": "numpy==2.4.6"}, {"numpy"}, "numpy==2.1.3 became numpy==2.4.6"),
    ({"numpy": "numpy==2.1.3", **OURS}, set(), "pip==24.1.2 became nothing"),
    ({**BEFORE, **OURS, "regex": "regex==2026.1"}, {"regex"},
     "regex==2026.1 is new and not pure Python"),
    (BEFORE, set(), "softlookup was not installed"),
    ({**BEFORE, **OURS}, {"softlookup"}, f"{OURS['softlookup']} is new and not pure Python"),
])  # fmt: skip
def test_any_other_difference_is_a_fault(after, compiled, fault):
    assert fault in colab.faults(BEFORE, after, compiled)


def test_a_package_that_was_there_before_was_not_installed_by_the_cell():
    there = {**BEFORE, **OURS}
    assert colab.faults(there, there, set()) == ["softlookup was not installed"]


def test_a_package_has_one_name_in_all_its_spellings():
    assert {colab.plain(name) for name in ("a-b.C", "a_b-c", "A.B_C", "a--b__c")} == {"a-b-c"}


def wheel(folder, name, version="1.0", pure=True, file="code.py"):
    """A wheel of one file."""
    info = f"{name}-{version}.dist-info"
    texts = {
        f"{name}/{file}": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: {str(pure).lower()}\n"
        "Tag: py3-none-any\n",
    }
    rows = [f"{path},," for path in (*texts, f"{info}/RECORD")]
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for inner, text in {**texts, f"{info}/RECORD": "\n".join(rows)}.items():
            archive.writestr(inner, text)
    return path


def unpack(path, folder):
    with ZipFile(path) as archive:
        archive.extractall(folder)


@pytest.mark.parametrize(("parts", "expected"), [
    ({}, True), ({"pure": False}, False), ({"file": "code.cpython-313-x86_64.so"}, False),
])  # fmt: skip
def test_a_package_is_pure_if_its_wheel_says_so_and_it_holds_nothing_compiled(
    tmp_path, parts, expected
):
    unpack(wheel(tmp_path, "lumpy", **parts), tmp_path)
    (package,) = metadata.distributions(path=[str(tmp_path)])
    assert colab.pure(package) is expected


def written(folder, *cells):
    """A notebook of code cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    path = folder / "alone.ipynb"
    nbformat.write(notebook, path)
    return path


def test_a_notebook_runs_alone_and_its_error_and_what_it_did_to_the_packages_are_found(
    tmp_path, monkeypatch
):
    for name in ("PYTHONPATH", "SOFTLOOKUP_DATA", "SOFTLOOKUP_STATIC", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    airy = wheel(tmp_path, "airy")
    lumpy = wheel(tmp_path, "lumpy", pure=False)
    steady, other = (wheel(tmp_path, "steady", number) for number in ("1.0", "2.0"))
    python = colab.layer(Path(sys.executable), tmp_path / "colab")  # no bug may reach our own
    unpack(steady, colab.packages(tmp_path / "colab"))
    notebook = written(
        tmp_path,
        "assert 'numpy' not in globals() and 'sys' not in globals()",
        "import os, sys\nassert {'google.colab', 'numpy'} <= set(sys.modules)",
        "assert os.path.basename(sys.prefix) == 'layer'",
        "assert os.listdir() == ['alone.ipynb']",
        "assert '.cache' not in os.listdir(os.path.expanduser('~'))",
        f"assert os.path.expanduser('~') != {str(Path.home())!r}",
        "assert not [n for n in os.environ if n.startswith(('PYTHONPATH', 'SOFT', 'XDG_CACHE'))]",
        f"%pip install -q --no-index --no-deps {airy} {lumpy} {other}",
        "assert 1 + 1 == 3, 'planted'",
    )
    added, wrong = colab.run_alone(python, notebook, ROOT)
    assert [line.split(" @ ")[0] for line in added] == ["airy", "lumpy"]
    assert "AssertionError: planted" in wrong.pop()
    assert [re.sub(r" @ \S+", "", fault) for fault in wrong] == [
        "steady==1.0 became steady",
        "lumpy is new and not pure Python",
        "softlookup was not installed",
    ]
    (kept,) = metadata.distributions(name="steady", path=[str(colab.packages(tmp_path / "colab"))])
    assert kept.version == "1.0"


BACKEND = """import shutil

def build_wheel(folder, *settings):
    return shutil.copy({wheel!r}, folder).rpartition("/")[2]
"""


def test_outside_colab_the_library_is_there_and_what_cannot_be_shown_is_a_fault(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "_config.yml").write_text("repository:\n  url: https://github.com/nobody/book\n")
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    built = wheel(tmp_path, "softlookup", file="__init__.py")
    (source / "backend.py").write_text(BACKEND.format(wheel=str(built)))
    python = colab.layer(Path(sys.executable), tmp_path / "below")
    notebook = written(
        tmp_path,
        "import sys\nassert 'google.colab' not in sys.modules",
        "import os, softlookup\nassert softlookup.__file__.startswith(sys.prefix + os.sep)",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    get_ipython().showtraceback()",
    )
    added, wrong = colab.run_alone(python, notebook, source, inside=False)
    assert [line.partition(" @ ")[0] for line in added] == [colab.OWN]
    # The environment below has the library as well: an editable one, which the layer hides.
    (fault,) = [fault for fault in wrong if not fault.startswith("-e ")]
    assert re.search(r"The cell [\w-]+ shows an error\.\n(?s:.*)ZeroDivisionError", fault)


def test_the_floors_are_the_lowest_versions_and_what_runs_a_notebook_in_colab():
    found = colab.floors(["numpy>=2.0", "scikit-learn>=1.5.1"])
    runners = {name: colab.COLAB[name] for name in colab.RUNNERS}
    assert found == runners | {"numpy": "2.0", "scikit-learn": "1.5.1"}
    for wrong in ("numpy", "numpy>=2.0,<3", "numpy==2.0", "numpy~=2.0", "numpy>=2.0; x"):
        with pytest.raises(ValueError, match="each dependency must read name>=version; got") as no:
            colab.floors(["tqdm>=4.66", wrong])
        assert wrong in str(no.value)


def test_the_floors_are_those_of_the_package_with_its_lowest_python(monkeypatch, tmp_path):
    asked = []

    def build(command, folder, versions, index):
        asked.append((Path(command).name, folder.name.partition("-")[2], versions))
        return Path(command)

    monkeypatch.setattr(colab, "build", build)
    monkeypatch.setattr(colab, "version", lambda command: "3.11.9")
    monkeypatch.setattr(colab, "run_all", lambda python, names, *, inside: not inside)
    monkeypatch.setattr(sys, "argv", ["colab.py", "--floors"])
    assert colab.main() == 0
    ((command, folder, versions),) = asked
    lowest = colab.metadata_of(ROOT)["requires-python"].removeprefix(">=")
    assert (command, folder) == (f"python{lowest}", "floors")
    for needed in dependencies():
        assert f"{needed.name}>={versions[needed.name]}" == str(needed)
    assert set(versions) == {needed.name for needed in dependencies()} | set(colab.RUNNERS)


def test_the_lowest_of_colab_lie_between_the_floors_and_what_it_ships(monkeypatch):
    asked = []

    def build(command, folder, versions, index):
        asked.append((Path(command).name, folder.name.partition("-")[2], versions))
        return Path(command)

    monkeypatch.setattr(colab, "build", build)
    monkeypatch.setattr(colab, "version", lambda command: "3.12.9")
    monkeypatch.setattr(colab, "run_all", lambda python, names, *, inside: inside)
    monkeypatch.setattr(sys, "argv", ["colab.py", "--lowest"])
    assert colab.main() == 0
    assert asked == [("python3.12", "lowest", colab.LOWEST)]
    assert colab.LOWEST.keys() == colab.COLAB.keys()
    assert colab.LOWEST != colab.COLAB
    for name, number in colab.LOWEST.items():
        assert Version(number) <= Version(colab.COLAB[name])
    for needed in dependencies():
        assert needed.name in ABSENT or colab.LOWEST[needed.name] in needed.specifier


def test_the_address_leads_to_the_clone(tmp_path, monkeypatch):
    source = tmp_path / "source"
    source.mkdir()
    address = "https://github.com/nobody-0/another.book"
    (source / "_config.yml").write_text(f"repository:\n  url: {address}\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x", "-C", source]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, check=True).stdout
    environment = colab.surroundings(tmp_path / "home", source)
    found = subprocess.run(["git", "ls-remote", address, "HEAD"], env=environment,
                           capture_output=True, check=True).stdout  # fmt: skip
    assert found.split()[0] == head.strip()


def test_a_python_that_is_not_there_or_does_not_answer_has_no_version(tmp_path):
    shim = tmp_path / "python3.13"
    shim.write_text("#!/bin/sh\necho '3.13.0'\nexit 127\n")
    shim.chmod(0o755)
    assert colab.version(str(shim)) is None
    assert colab.version(str(tmp_path / "python3.12")) is None
    assert colab.version(sys.executable) == sys.version.split()[0]


def test_without_any_python_it_fails_and_says_so(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["colab.py", "--python", "python-of-nobody"])
    assert colab.main() == 1
    assert capsys.readouterr().out == "python-of-nobody is not installed here, so it is left out.\n"


def test_a_notebook_that_does_not_exist_is_refused(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["colab.py", "bugs", "dynamic_vectors"])
    with pytest.raises(SystemExit):
        colab.main()
    assert "no notebook of the book is named dynamic_vectors" in capsys.readouterr().err


def test_every_notebook_of_the_book_is_run():
    assert sorted(colab.notebooks(ROOT, [])) == sorted(execute.chapters())


def dependencies():
    """What the package's metadata ask for."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return [Requirement(line) for line in tomllib.loads(text)["project"]["dependencies"]]


@pytest.mark.parametrize("needed", dependencies(), ids=lambda needed: needed.name)
def test_the_package_has_floors_only_and_colab_satisfies_them(needed):
    assert [part.operator for part in needed.specifier] == [">="]
    assert (needed.name in colab.COLAB) == (needed.name not in ABSENT)
    assert needed.name in ABSENT or colab.COLAB[needed.name] in needed.specifier


@pytest.mark.parametrize("path", execute.chapters(), ids=lambda path: path.stem)
def test_the_rocket_of_a_page_opens_its_notebook_in_colab(site, path):
    page = (site / "chapters" / f"{path.stem}.html").read_text(encoding="utf-8")
    slug = configured().removeprefix("https://github.com/")
    there = f"https://colab.research.google.com/github/{slug}/blob/main/chapters/{path.name}"
    above_and_below = [there, there]
    assert re.findall(r'href="(https://colab\.research[^"]*)"', page) == above_and_below


def test_the_workflow_does_the_same_in_colabs_own_image_every_week():
    workflow = yaml.safe_load((ROOT / ".github/workflows/colab.yml").read_text(encoding="utf-8"))
    assert set(workflow[True]) == {"schedule", "workflow_dispatch"}  # YAML reads `on` as true
    assert re.fullmatch(r"\d+ \d+ \* \* [0-6]", workflow[True]["schedule"][0]["cron"])
    (job,) = workflow["jobs"].values()
    command = job["steps"][-1]["run"]
    assert "us-docker.pkg.dev/colab-images/public/runtime" in command
    assert "_ext/colab.py --here" in command


def test_workflows_may_only_read_and_take_each_action_from_one_commit():
    pins = set()
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
        pins |= set(re.findall(r"uses: (\S+)@([0-9a-f]{40}) # v", text))
        assert len(re.findall(r"uses:", text)) == len(re.findall(r"@[0-9a-f]{40} # v", text))
    assert len(pins) == len({action for action, _ in pins})


def test_make_knows_the_commands():
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    recipes = dict(pairwise(lines))
    assert recipes["colab:"] == "\t@$(PYTHON) _ext/colab.py $(TORCH_INDEX)"
    assert recipes["colab-lowest:"] == "\t@$(PYTHON) _ext/colab.py --lowest $(TORCH_INDEX)"
    assert recipes["floors:"] == "\t@$(PYTHON) _ext/colab.py --floors $(TORCH_INDEX)"
    assert "`make colab`" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
