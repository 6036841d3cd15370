"""The reference ledger: what each public name of the library is compared with, and how closely.

People write `tests/ledger/peers.yml`; `make ledger` runs the tests and records the numbers in
`tests/ledger/recorded.json`, and `make bugs` what became of each known bug in
`tests/mutants/bugs.json`. The library's reference is made from the three; a fault in them fails the
build.
"""

import ast
import hashlib
import importlib
import json
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import yaml
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.util import logging

import lecture_map

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "lib" / "softlookup"
PEERS = ROOT / "tests" / "ledger" / "peers.yml"
RECORD = ROOT / "tests" / "ledger" / "recorded.json"
BUGS = ROOT / "tests" / "mutants" / "bugs.json"

KINDS = {
    "by hand": ("tests/unit/",),
    "laws": ("tests/property/",),
    "refusals": ("tests/unit/",),
    "data": ("tests/unit/",),
}
"""Comparisons without another implementation, and where their tests stand."""

WIDE = ("refusals", "data")
"""Kinds of comparison in which the tests of a whole hold its parts as well."""


MAKERS = ("exercises", "recorded", "show")
"""Packages that make the book; their tests are of other kinds than a comparison."""

HELPERS = ("masks.padding_of", "ops.in_float64")
"""What modules share and no reader calls."""


def folders(peer: str) -> tuple[str, ...]:
    """Where the tests of a comparison stand."""
    return KINDS.get(peer, ("tests/unit/", "tests/parity/", "tests/property/", "tests/gradient/"))


@cache
def public_names() -> dict[str, str]:
    """The public functions and classes, each with its docstring; read, not imported."""
    found = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        module = path.parent if path.stem == "__init__" else path.with_suffix("")
        parts = module.relative_to(LIBRARY).parts
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not _is_typed_dict(node):
                name, text = ".".join([*parts, node.name]), ast.get_docstring(node) or ""
                if is_public(name, text):
                    found[name] = text
    return found


def _is_typed_dict(node: ast.stmt) -> bool:
    """Whether it is a dictionary's type, which does nothing by itself."""
    bases = getattr(node, "bases", [])
    return any(isinstance(base, ast.Name) and base.id == "TypedDict" for base in bases)


def is_public(name: str, text: str) -> bool:
    """Whether a name is for everybody: handed on by its package, or taught in a chapter.

    What makes the book is not, and has tests of its own kind: exercises their tables of answers,
    figures a contract, records their small runs.
    """
    package, *_, last = name.split(".")
    if last.startswith("_") or package in MAKERS or name in HELPERS:
        return False
    is_module = not (LIBRARY / package).is_dir()
    return is_module or last in handed_on(package) or "Chapter: " in text


@cache
def handed_on(package: str) -> frozenset[str]:
    """The names in the ``__all__`` of a package and of the packages inside of it."""
    found = set()
    for path in (LIBRARY / package).rglob("__init__.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found |= set(ast.literal_eval(node.value))
    return frozenset(found)


def public_things() -> dict[str, object]:
    """The same functions and classes themselves; only who asks for these imports the library."""
    places = {name: f"softlookup.{name}".rpartition(".") for name in public_names()}
    return {name: getattr(importlib.import_module(module), last)
            for name, (module, _, last) in places.items()}  # fmt: skip


def entries() -> dict[str, list[str]]:
    """What peers.yml says of each public name; a pattern speaks for the names that fit it."""
    written = yaml.safe_load(PEERS.read_text(encoding="utf-8"))
    found = {}
    for name in public_names():
        patterns = [name, *(key for key in written if fnmatchcase(name, key))]
        said = next((written[key] for key in patterns if key in written), [])
        found[name] = said if isinstance(said, list) else [said]
    return found


def write(rows: dict[str, list[dict]]) -> None:
    """Write the record, a line for each comparison, sealed against numbers typed over."""
    names = [
        f"{json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, found)) + "\n ]"
        for name, found in sorted(rows.items())
    ]
    text = ",\n ".join([f'{{\n "seal": "{seal(rows)}"', *names]) + "\n}\n"
    RECORD.write_text(text, encoding="utf-8")


def read() -> dict[str, list[dict]]:
    """The recorded comparisons of each name."""
    return {k: v for k, v in json.loads(RECORD.read_text(encoding="utf-8")).items() if k != "seal"}


def seal(rows: dict[str, list[dict]]) -> str:
    """A short digest of what was recorded."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


def faults(rows: dict[str, list[dict]]) -> list[str]:
    """What is wrong with the ledger, in words; nothing if it is sound."""
    public, said = public_names(), entries()
    patterns = yaml.safe_load(PEERS.read_text(encoding="utf-8"))
    found = [f"{key}: in peers.yml, but no public name" for key in patterns
             if not any(fnmatchcase(name, key) for name in public)]  # fmt: skip
    found += [f"{name}: no entry in peers.yml" for name in public if not said[name]]
    if json.loads(RECORD.read_text(encoding="utf-8"))["seal"] != seal(rows):
        found.append("recorded.json was changed by hand")
    for name in sorted({*public, *rows}):
        recorded = rows.get(name, [])
        if [row["peer"] for row in recorded] != said.get(name, []):
            found.append(f"{name}: peers.yml and recorded.json disagree")
        found += [f"{name}, {row['peer']}: {fault}" for row in recorded for fault in _faults(row)]
    return [f"{fault}; see tests/ledger, or run `make ledger`" for fault in found]


def _faults(row: dict) -> list[str]:
    peer = row["peer"]
    found = [] if row["tests"] else ["no test compares them"]
    if peer.startswith("through "):
        if peer.removeprefix("through ") not in public_names():
            found.append("no public name to go through")
    elif peer not in KINDS and "." not in peer:
        found.append("neither a function of another package nor a kind of comparison")
    found += [f"the error {worst} exceeds the tolerance {tolerance}"
              for tolerance, worst in row["errors"] if worst > tolerance]  # fmt: skip
    return found


class KnownBugs(Directive):
    """``known-bugs``: what others got wrong, planted here, and the test that found it."""

    def run(self) -> list[nodes.Node]:
        """Build the table from what `make bugs` has written."""
        self.state.document.settings.env.note_dependency(str(BUGS))
        classes = json.loads(BUGS.read_text(encoding="utf-8"))
        bugs = [one | mutant for one in classes for mutant in one["mutants"]]
        for bug in bugs:
            if not bug["killer"]:
                logging.getLogger(__name__).warning("bug %s lives: %s", bug["bug"], bug["title"])
        heads = ["Bug", "Seen in", "Planted in", "As", "Found by"]
        body = [
            [
                _text(f"{bug['bug']}. {bug['title']}"),
                _text(bug["seen"]),
                [lecture_map.literal(bug["file"].removeprefix("lib/softlookup/"))],
                _text(bug["why"]),
                _text(_words(bug["killer"] or "")),
            ]
            for bug in bugs
        ]
        return [lecture_map.table(heads, body, "ledger-bugs")]


def summary(rows: dict[str, list[dict]]) -> nodes.paragraph:
    """How many names there are, and how many a peer computes too."""
    peers = [{row["peer"] for row in found if _is_peer(row["peer"])} for found in rows.values()]
    text = (
        f"The library has {len(rows):,} public names. {sum(map(bool, peers))} of them are compared "
        f"with {len(set().union(*peers))} functions and classes of other packages."
    )
    return nodes.paragraph("", text)


def _is_peer(peer: str) -> bool:
    return peer not in KINDS and not peer.startswith("through ")


def _text(words: str) -> list[nodes.Node]:
    return [nodes.Text(words)]


def _words(test: str) -> str:
    """What a test holds, in words: its function's name without the underscores."""
    words = test.split("[")[0].split("::")[-1].removeprefix("test_").replace("_", " ")
    return re.sub(r" s(?= |$)", "’s", words)


def setup(app) -> dict:
    """Register the directive."""
    app.add_directive("known-bugs", KnownBugs)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
