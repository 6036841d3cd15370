"""`make today`: does the book build with today's Sphinx, and what differs from its own build?

Jupyter Book 1 holds Sphinx and its extensions at old versions. So that the book could go on without
it, `jupyter-book config sphinx` exports a `conf.py`, and the newest versions build the same pages
with it, in an environment and a copy of their own, from the outputs that `make book` has kept. What
differs is listed: pages, headings, places, links, figures, code, formulas, and each warning. A
place that is new harms no link: it is listed, and is no fault.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lxml import html

import registry
from colab import metadata_of

PLACE = registry.ROOT / ".today"
BIN = Path(sys.executable).parent
ALSO = ("_build", ".venv", PLACE.name)  # what no copy of the book needs
NEWEST = (
    "sphinx", "myst-nb", "sphinx-book-theme", "sphinx-copybutton", "sphinx-comments",
    "sphinx-design", "sphinx-exercise", "sphinx-external-toc", "sphinx-mathjax-offline",
    "sphinx-proof", "sphinx-thebe", "sphinx-togglebutton", "sphinxcontrib-bibtex",
    # what the book's own extensions import
    "lxml", "nbmake", "pillow", "pytest-xdist", "pyyaml",
)  # fmt: skip
HARMLESS = "+ place"  # a difference that is no fault
DROPPED = "jupyter_book"  # the extension that the newest Sphinx is to do without
KINDS = {
    "heading": ".//h1 | .//h2 | .//h3 | .//h4",
    "place": ".//*[@id]",
    "link": ".//a[@href and not(@class = 'headerlink')]",
    "figure": ".//figure",
    "code": ".//pre",
    "formula": ".//*[contains(concat(' ', @class, ' '), ' math ')]",
}
"""What is compared on each page, and how it is found in its article."""


def environment(folder: Path) -> Path:
    """The Python of an environment with the newest versions, made where there is none.

    PyTorch and what else the library needs come as the lock has them: they are not asked here.
    """
    python = folder / "bin" / "python"
    lock = (registry.ROOT / "requirements.txt").read_text(encoding="utf-8")
    torch = re.search(r"^torch==\S+", lock, re.MULTILINE)[0]
    pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([*pip, torch], check=True)
    subprocess.run([*pip, "--upgrade", "--upgrade-strategy", "eager", torch, *NEWEST], check=True)
    subprocess.run([*pip, torch, *metadata_of(registry.ROOT)["dependencies"]], check=True)
    return python


def copied(folder: Path) -> None:
    """A copy of the book with its kept outputs and with the exported `conf.py`."""
    shutil.rmtree(folder, ignore_errors=True)
    ignore = shutil.ignore_patterns(*ALSO, ".git", "__pycache__")
    shutil.copytree(registry.ROOT, folder, ignore=ignore)
    subprocess.run([BIN / "jupyter-book", "config", "sphinx", "."], cwd=folder, check=True)
    path = folder / "conf.py"
    path.write_text(exported(path.read_text(encoding="utf-8")), encoding="utf-8")


def exported(conf: str) -> str:
    """An exported configuration without Jupyter Book's own extension.

    Raises:
        ValueError: It does not name that extension.
    """
    if f"'{DROPPED}', " not in conf:
        raise ValueError(f"the exported conf.py must name the extension {DROPPED}")
    return conf.replace(f"'{DROPPED}', ", "", 1)


def built(python: Path, folder: Path) -> list[str]:
    """Build the copy; the warnings.

    Raises:
        CalledProcessError: Sphinx gave up.
    """
    known = os.pathsep.join([str(folder / "_ext"), str(folder / "lib")])
    command = [python, "-m", "sphinx", "-q", "-n", "-b", "html", "-w", "warnings.txt", ".", "html"]
    surroundings = {**os.environ, "PYTHONPATH": known}
    subprocess.run(command, cwd=folder, env=surroundings, check=True)
    said = (folder / "warnings.txt").read_text(encoding="utf-8").replace(f"{folder}/", "")
    return [line for line in said.splitlines() if re.search(r"\b(WARNING|ERROR)\b", line)]


def words(kind: str, one: html.HtmlElement) -> str:
    """What is compared of an element: its words, where a link leads, the name of a place."""
    if kind == "place":
        return one.get("id")
    text = ("" if kind == "formula" else " ").join(one.text_content().split())
    return f"{text} → {one.get('href')}" if kind == "link" else text


def facts(page: str) -> dict[str, Counter]:
    """What stands on a page, by `KINDS`; nothing on a page without an article."""
    found = html.fromstring(page).find(".//article")
    if found is None:
        return {}
    for silent in found.xpath(".//noscript"):  # MathML, which each docutils writes in its own way
        silent.drop_tree()
    return {
        kind: Counter(words(kind, one) for one in found.xpath(path)) for kind, path in KINDS.items()
    }


def differences(stock: Path, today: Path) -> Iterator[str]:
    """What differs between two builds of the site, a line each.

    Args:
        stock: The folder of the build that is published.
        today: The folder of the other one.
    """
    pages, others = (
        {path.relative_to(site).as_posix(): path for path in sorted(site.rglob("*.html"))}
        for site in (stock, today)
    )
    yield from (f"{name}: no such page today" for name in pages.keys() - others.keys())
    yield from (f"{name}: a page that is new today" for name in others.keys() - pages.keys())
    for name in sorted(pages.keys() & others.keys()):
        before, after = (facts(site[name].read_text("utf-8")) for site in (pages, others))
        for kind in before | after:
            here, there = before.get(kind, Counter()), after.get(kind, Counter())
            for sign, found in (("-", here - there), ("+", there - here)):
                for text, number in found.items():
                    times = f" ({number} times)" if number > 1 else ""
                    yield f"{name}: {sign} {kind}: {text[:160]}{times}"


def main() -> int:
    """Build with the newest versions and list what differs; 0 if nothing is at fault."""
    site = registry.built_site()
    python, folder = environment(PLACE / "env"), PLACE / "book"
    print(subprocess.run([python, "-m", "sphinx", "--version"], text=True, check=True,
                         capture_output=True).stdout, end="", flush=True)  # fmt: skip
    copied(folder)
    found = [*built(python, folder), *differences(site, folder / "html")]
    faults = [line for line in found if f": {HARMLESS}: " not in line]
    print("\n".join(found) or "Nothing differs.")
    print(f"{len(found)} differences, {len(faults)} of them faults.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
