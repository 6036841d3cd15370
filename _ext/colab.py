"""Run every notebook as Colab does: alone, with the versions that Colab ships.

    make colab                              with each Python that Colab has had and that is here
    make colab-lowest                       with the lowest versions of its last half year
    make floors                             with the lowest versions that the package allows
    python _ext/colab.py 06_static_vectors  only these notebooks
    python _ext/colab.py --here             inside Colab's own image, with what is installed there

With the floors a notebook runs outside Colab, with the lowest Python; live figures are made there.

Each notebook gets an empty folder, an empty home and an empty layer over Colab's packages. Its own
set-up cell installs the library there; only the address leads to a clone of the last commit. Then
`pip freeze` may tell of nothing but our package and pure-Python packages that were absent.

Python 3.13 and 3.12 are looked for as `python3.13` and `python3.12`. With pyenv, name the versions:
`PYENV_VERSION=3.12.1:3.13.0 make colab`. The first time, the environments take some minutes and
several gigabytes; without an NVIDIA GPU, `make colab TORCH=cpu` takes PyTorch's CPU build.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from address import configured

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.13", "3.12")  # Colab's, and the one before
RUNNERS = ("ipykernel", "ipython", "notebook", "traitlets")  # what runs a notebook
# Both lists are read off `pip-freeze.gpu.txt` of github.com/googlecolab/backend-info, which Colab
# writes anew with each image; its commits tell the day.
COLAB = {  # August 2026 (which commit, nobody noted); `notebook` brings what runs a notebook
    "ipykernel": "6.17.1",
    "ipython": "7.34.0",
    "ipywidgets": "7.7.1",
    "matplotlib": "3.10.0",
    "notebook": "6.5.7",
    "numpy": "2.1.3",
    "pandas": "2.2.3",
    "pillow": "11.3.0",
    "pooch": "1.9.0",
    "regex": "2025.11.3",
    "requests": "2.32.4",
    "safetensors": "0.8.0",
    "scikit-learn": "1.6.1",
    "scipy": "1.16.3",
    "torch": "2.11.0",
    "tqdm": "4.67.3",
    "traitlets": "5.7.1",
    "typeguard": "4.6.0",
}
LOWEST = COLAB | {  # June 2026, commit 03a89033b7dd: the first within half a year of this edition
    "numpy": "2.0.2",
    "pandas": "2.2.2",
    "safetensors": "0.7.0",
    "typeguard": "4.5.2",
}
LOWEST_PYTHON = "3.12"
OWN = "softlookup"
COMPILED = {".so", ".pyd", ".dll", ".dylib"}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")

# What Colab has loaded before the first cell; outside Colab its own module can only be named.
STARTUP = """
import sys, types
import numpy
try:
    import google.colab
    del google
except ImportError:
    sys.modules["google.colab"] = types.ModuleType("google.colab")
del sys, types, numpy
"""
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
client = NotebookClient(notebook, timeout=900, kernel_name="python3")
client.create_kernel_manager()
client.km.kernel_spec.argv[0] = sys.executable  # Colab's kernel, whatever Python it names
client.execute()
# An object that fails to show itself stops no cell: IPython shows the error, and goes on.
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            sys.exit("\\n".join([f"The cell {cell.id} shows an error.", *output.traceback]))
"""
PLACES = "import json, sys; print(json.dumps([p for p in sys.path if p.endswith('-packages')]))"
VERSION = "import platform; print(platform.python_version())"


def metadata_of(root: Path) -> dict:
    """What `pyproject.toml` says of the package."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def floors(dependencies: list[str]) -> dict[str, str]:
    """The lowest version of each dependency, and what runs a notebook as Colab has it.

    Raises:
        ValueError: A dependency has anything else than one floor, as in `numpy>=2.0`.
    """
    lines = [re.fullmatch(r"([\w-]+)>=([\d.]+)", line) for line in dependencies]
    if None in lines:
        raise ValueError(f"each dependency must read name>=version; got {dependencies}")
    return {name: COLAB[name] for name in RUNNERS} | dict(line.groups() for line in lines)


def version(command: str) -> str | None:
    """The version of a Python; None if there is none (a shim of pyenv may lead nowhere)."""
    if shutil.which(command) is None:
        return None
    run = subprocess.run([command, "-c", VERSION], capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else None


def build(command: str, folder: Path, versions: dict[str, str], index: list[str]) -> Path:
    """The Python of an environment with these versions; built only where it is not there."""
    wanted = [f"{name}=={number}" for name, number in versions.items()]
    python, stamp = folder / "bin" / "python", folder / "colab.txt"
    if not stamp.exists() or stamp.read_text() != "\n".join(wanted):
        print("Building the environment (some minutes the first time).", flush=True)
        pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([command, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([*pip, *index, f"torch=={versions['torch']}"], check=True)
        subprocess.run([*pip, *wanted], check=True)
        stamp.write_text("\n".join(wanted))
    return python


def layer(python: Path, folder: Path) -> Path:
    """The Python of an empty environment over another one: it sees all, and installs apart."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    places = subprocess.run([python, "-c", PLACES], capture_output=True, text=True, check=True)
    lines = [f"import site; site.addsitedir({place!r})\n" for place in json.loads(places.stdout)]
    (packages(folder) / "below.pth").write_text("".join(lines))
    return folder / "bin" / "python"


def packages(folder: Path) -> Path:
    """Where an environment keeps its packages."""
    return next(folder.glob("lib/python*/site-packages"))


def surroundings(home: Path, source: Path, *, inside: bool = True) -> dict[str, str]:
    """The variables of a fresh session: an empty home, the repository's address led to a clone.

    Args:
        home: A folder that is not there yet.
        source: The clone.
        inside: Whether a kernel is to believe that it runs in Colab.
    """
    startup = home / ".ipython" / "profile_default" / "startup" / "colab.py"
    startup.parent.mkdir(parents=True)
    if inside:
        startup.write_text(STARTUP)
    ours = ("IPYTHON", "JUPYTER", "PYTHON", "SOFTLOOKUP", "VIRTUAL_ENV", "XDG")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {
        **kept,
        "HOME": str(home),
        "PIP_REQUIRE_VIRTUALENV": "1",  # the layer, and nothing else
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{source.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": configured(source),
    }


def freeze(python: Path, environment: dict[str, str]) -> dict[str, str]:
    """The lines of `pip freeze` without its remarks, by the package's name."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "freeze", "--all"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = [line for line in run.stdout.splitlines() if not line.startswith("#")]
    return {plain(re.split(r" @ |==", line)[0]): line for line in lines}


def plain(name: str) -> str:
    """A package's name as all its spellings have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def compiled(folder: Path) -> set[str]:
    """The packages of an environment, by name, that are not pure Python."""
    found = metadata.distributions(path=[str(packages(folder))])
    return {plain(package.name) for package in found if not pure(package)}


def pure(package: metadata.Distribution) -> bool:
    """Whether a package's wheel says that it is pure Python, and holds no compiled file."""
    said = "Root-Is-Purelib: true" in (package.read_text("WHEEL") or "").splitlines()
    return said and not any(file.suffix in COMPILED for file in package.files or [])


def faults(before: dict[str, str], after: dict[str, str], compiled: set[str]) -> list[str]:
    """What a set-up cell must not have done to the packages of Colab; none if all is well."""
    changed = [
        f"{line} became {after.get(name, 'nothing')}"
        for name, line in before.items()
        if after.get(name) != line
    ]
    new = [f"{after[name]} is new and not pure Python" for name in after if name in compiled]
    missing = [] if OWN in after.keys() - before.keys() else [f"{OWN} was not installed"]
    return [*changed, *new, *missing]


def run_alone(
    python: Path, notebook: Path, source: Path, *, inside: bool = True
) -> tuple[list[str], list[str]]:
    """Run one notebook by itself: what its set-up cell added, and all that went wrong.

    Args:
        python: The environment below.
        notebook: The notebook; a copy is run.
        source: The clone that the library is installed from.
        inside: Whether to run it as in Colab; elsewhere its set-up cell does nothing, and the
            library is installed before.
    """
    with TemporaryDirectory() as place:
        home, work, own = (Path(place) / name for name in ("home", "work", "layer"))
        work.mkdir()
        shutil.copy(notebook, work)
        environment = surroundings(home, source, inside=inside)
        upper = layer(python, own)
        before = freeze(upper, environment)
        if not inside:
            subprocess.run(
                [upper, "-m", "pip", "install", "-q", source], env=environment, check=True
            )
        command = [upper, "-c", EXECUTE, notebook.name]
        run = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True,
                             check=False)  # fmt: skip
        after = freeze(upper, environment)
        wrong = faults(before, after, compiled(own))
    if run.returncode:
        wrong.append(COLOUR.sub("", run.stderr)[-4000:])
    return [line for name, line in after.items() if name not in before], wrong


def run_all(python: Path, names: list[str], *, inside: bool = True) -> bool:
    """Run notebooks two at a time, each alone, and say how each did; whether all passed."""
    with TemporaryDirectory() as place, ThreadPoolExecutor(2) as pool:
        source = Path(place) / "source"
        subprocess.run(["git", "clone", "-q", ROOT, source], check=True)
        found = notebooks(source, names)
        results = pool.map(
            lambda notebook: run_alone(python, notebook, source, inside=inside), found
        )
        new, failed = set(), 0
        for notebook, (added, wrong) in zip(found, results, strict=True):
            print("\n    ".join([f"{notebook.stem}: {'failed' if wrong else 'passed'}", *wrong]),
                  flush=True)  # fmt: skip
            new.update(added)
            failed += bool(wrong)
    print(f"{len(found) - failed} of {len(found)} passed. New: {', '.join(sorted(new))}")
    return not failed


def notebooks(root: Path, names: list[str]) -> list[Path]:
    """All notebooks of the book, or those that are named.

    Raises:
        ValueError: There is no notebook of a name.
    """
    found = {path.stem: path for path in sorted((root / "chapters").glob("*.ipynb"))}
    if unknown := set(names) - set(found):
        raise ValueError(f"no notebook of the book is named {', '.join(sorted(unknown))}")
    return [found[name] for name in names or found]


def main() -> int:
    """Run the notebooks with each Python; 0 if all passed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NOTEBOOK", help="all, if none is named")
    parser.add_argument("--floors", action="store_true", help="with the lowest versions allowed")
    parser.add_argument("--lowest", action="store_true", help="with Colab's of half a year ago")
    parser.add_argument("--here", action="store_true", help="with the packages of this Python")
    parser.add_argument("--python", action="append", help="a Python to build Colab's versions for")
    parser.add_argument("--folder", type=Path, default=ROOT / ".colab", help="of environments")
    parser.add_argument("--index-url", help="where to take torch from")
    options = parser.parse_args()
    try:
        notebooks(ROOT, options.names)
    except ValueError as error:
        parser.error(str(error))
    index = ["--index-url", options.index_url] if options.index_url else []
    project = metadata_of(ROOT)
    kind, numbers, versions = "", PYTHONS, COLAB
    if options.lowest:
        kind, numbers, versions = "-lowest", (LOWEST_PYTHON,), LOWEST
    if options.floors:
        lowest = project["requires-python"].removeprefix(">=")
        kind, numbers, versions = "-floors", (lowest,), floors(project["dependencies"])
    commands = options.python or [f"python{number}" for number in numbers]
    passed = []
    for command in [sys.executable] if options.here else commands:
        if number := version(command):
            print(f"Python {number}:", flush=True)
            folder = options.folder / f"{number}{kind}"
            python = Path(command) if options.here else build(command, folder, versions, index)
            passed.append(run_all(python, options.names, inside=not options.floors))
        else:
            print(f"{Path(command).name} is not installed here, so it is left out.", flush=True)
    return 0 if passed and all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
