"""The library's reference: a page a package, which Sphinx's autodoc makes from the docstrings.

A page says ``.. library:: attention``: each module of the package becomes a section, in the order
in which the package's docstring says to read them, and each public name an entry. Its signature
stands there as it was written, with shapes and ranges; below its docstring stand its source, the
section that teaches it, and what the tests compare it with, from the reference ledger.
"""

import ast
import copy
import importlib
import inspect
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, get_args, get_origin

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

import lecture_map
import reference_ledger
import registry

from . import inventories

MARKS = re.compile(r"``[^`]*``|\$([^$]+)\$|(\|)")
DISPLAYED = re.compile(r"\$\$(.+)\$\$", re.DOTALL)
LAST = re.compile(r"(?:Source:(?P<source>.+?)\s+)?Chapter: (?P<place>[\w-]+#[\w-]+)\.?", re.DOTALL)
RETURNS = re.compile(r"^Returns:\n((?: {4}.*\n?)+)", re.MULTILINE)
BEFORE_NAPOLEON, AFTER_NAPOLEON = 400, 600


def import_path(name: str) -> str:
    """Where a reader imports a name from: the shortest path that hands it on."""
    *parts, last = name.split(".")
    for n in range(1, len(parts) + 1):
        path = ".".join(parts[:n])
        if n == len(parts) or last in _all(path):
            return f"softlookup.{path}.{last}"
    raise AssertionError(name)


def _all(path: str) -> tuple[str, ...]:
    """The ``__all__`` of a package of the library."""
    return getattr(importlib.import_module(f"softlookup.{path}"), "__all__", ())


def page_of(name: str) -> str | None:
    """The page on which a name has its entry, as Sphinx calls it; None in a book without it."""
    pages = registry.by_name()
    page = pages.get(f"library_{name.split('.')[0]}", pages.get("library_basics"))
    return page and page.docname


@cache
def places() -> dict[str, str | None]:
    """The page of each public name, by the path from which it is imported."""
    return {import_path(name): page_of(name) for name in reference_ledger.public_names()}


def modules_of(package: str) -> list[str]:
    """The modules of a package that have public names, in the order in which to read them."""
    names = reference_ledger.public_names()
    modules = list(dict.fromkeys(name.rpartition(".")[0] for name in names))
    return sorted(
        (module for module in modules if module.split(".")[0] == package), key=_reading_order
    )


def _reading_order(module: str) -> tuple[int, ...]:
    """The places of a module, and of what it stands in, in the docstrings of their packages."""
    parts = module.split(".")
    return tuple(_place(".".join(parts[:n]), parts[n]) for n in range(1, len(parts)))


def _place(package: str, part: str) -> int:
    told = inspect.getdoc(importlib.import_module(f"softlookup.{package}")) or ""
    named = re.findall(r"``(\w+)``", told)
    return named.index(part) if part in named else len(named)


def written_signature(thing: object) -> tuple[str, str] | None:
    """The arguments and the result of a function or class as they stand in its file.

    Returns:
        Both as source; None where nothing is written, as of a class without a beginning.
    """
    if inspect.isclass(thing):
        own = [base for base in thing.__mro__ if base.__module__.startswith("softlookup.")]
        starts = [base.__dict__["__init__"] for base in own if "__init__" in base.__dict__]
        written = [start for start in starts if _is_written(start)]
        return (written_signature(written[0])[0], "") if written else _fields(own)
    node = _parsed(inspect.unwrap(thing))
    arguments = node.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args.pop(0)
    return f"({ast.unparse(arguments)})", ast.unparse(node.returns) if node.returns else ""


def _is_written(start: object) -> bool:
    """Whether somebody wrote it; that of a dataclass is made."""
    try:
        inspect.getsource(inspect.unwrap(start))
    except (OSError, TypeError):
        return False
    return True


def _fields(own: list[type]) -> tuple[str, str] | None:
    """The fields of a dataclass or a named tuple, those of its base first."""
    lines = {}
    for cls in reversed(own):
        for node in _parsed(cls).body:
            if isinstance(node, ast.AnnAssign) and "ClassVar" not in ast.unparse(node.annotation):
                lines[node.target.id] = ast.unparse(node)
    order = [name for name in inspect.signature(own[0]).parameters if name in lines]
    return (f"({', '.join(map(lines.get, order))})", "") if order else None


def _parsed(thing: object) -> ast.AST:
    """The source of a function or class, in which names for types are spelled out."""
    node = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    return _Spelled(inspect.getsourcefile(thing)).visit(node)


@cache
def _statements(path: str) -> list[ast.stmt]:
    return ast.parse(Path(path).read_text(encoding="utf-8")).body


@cache
def _type_named(path: str, name: str) -> tuple[ast.expr, str] | None:
    """The type for which a name stands in a file of the library, and the file that says so.

    The names of ``softlookup.checks`` stay as they are: a table explains them.
    """
    for node in _statements(path):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
            if name in [getattr(target, "id", None) for target in node.targets]:
                return node.value, path
        elif isinstance(node, ast.ImportFrom) and name in [one.name for one in node.names]:
            module = node.module or ""
            if module.startswith("softlookup.") and not module.startswith("softlookup.checks"):
                return _type_named(importlib.import_module(module).__file__, name)
    return None


class _Spelled(ast.NodeTransformer):
    """Puts types in the place of the names that a file gives them, in annotations alone."""

    def __init__(self, path: str) -> None:
        self.path = path

    def visit_annotation(self, node: ast.expr | None) -> ast.expr | None:
        """An annotation, in which a name may stand for a type that has such names itself."""
        found = _type_named(self.path, node.id) if isinstance(node, ast.Name) else None
        if found:
            return _Spelled(found[1]).visit_annotation(copy.deepcopy(found[0]))
        for field, old in ast.iter_fields(node) if isinstance(node, ast.AST) else ():
            parts = [
                self.visit_annotation(one) if isinstance(one, ast.expr) else one
                for one in (old if isinstance(old, list) else [old])
            ]
            setattr(node, field, parts if isinstance(old, list) else parts[0])
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """An argument."""
        node.annotation = self.visit_annotation(node.annotation)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        """A field."""
        node.annotation = self.visit_annotation(node.annotation)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A function, whose result is annotated too."""
        node.returns = self.visit_annotation(node.returns)
        self.visit(node.args)
        return node


def show_signature(app, what, name, thing, options, signature, result):
    """Write a signature as its file has it."""
    written = written_signature(thing) if what in ("function", "class", "method") else None
    return written if written is not None else (signature, result)


def read_docstring(app, what, name, thing, options, lines: list[str]) -> None:
    """Turn formulas into Sphinx's, what is returned into a field, the last paragraph into two."""
    body, *example = "\n".join(lines).strip().split("\nExample:\n")
    body = RETURNS.sub(_returned, body)
    paragraphs = map(in_rest, body.strip().split("\n\n"))
    lines[:] = "\n\nExample:\n".join(["\n\n".join(paragraphs), *example]).split("\n")


def _returned(found: re.Match) -> str:
    """A field; as a section, words before a colon would be read as a type."""
    return ":returns:\n" + found[1]


def in_rest(text: str) -> str:
    """A paragraph of a docstring as reStructuredText."""
    displayed = DISPLAYED.fullmatch(text)
    if displayed:
        return f".. math:: {' '.join(displayed[1].split())}"
    last = LAST.fullmatch(text)
    if last is None:
        return MARKS.sub(_mark, text)
    source = MARKS.sub(_mark, " ".join((last["source"] or "").split()))
    taught = f":Taught in: :taught:`{last['place']}`"
    return f":Source: {source}\n{taught}" if source else taught


def _mark(found: re.Match) -> str:
    """Code as it stands, a formula for Sphinx, a bar that opens nothing."""
    formula, bar = found.groups()
    return f":math:`{formula}`" if formula else r"\|" if bar else found[0]


def add_comparisons(app, what, name, thing, options, lines: list[str]) -> None:
    """Say below an entry where its code stands, what its tests compare it with, and how closely."""
    if what not in ("function", "class"):
        return
    lines += ["", f":Code: {code_of(app.config, inspect.unwrap(thing))}"]
    rows = compared().get(f"{thing.__module__}.{thing.__name__}".removeprefix("softlookup."))
    if rows:
        lines += [":Compared with:", *(f"   - {comparison(row)}" for row in rows)]
    lines.append("")


def code_of(config, thing: object) -> str:
    """A link to the lines of a function or class in the repository."""
    file = Path(inspect.getsourcefile(thing)).relative_to(registry.ROOT).as_posix()
    lines, first = inspect.getsourcelines(thing)
    place = f"#L{first}-L{first + len(lines) - 1}"
    return f"`{file}, line {first} <{address_of(config, file)}{place}>`__"


def address_of(config, file: str) -> str:
    """Where the repository shows a file."""
    return f"{config.html_theme_options.get('repository_url', '')}/blob/main/{file}"


def named(peer: str) -> str:
    """Another package's name, with a link to its documentation where an inventory has it."""
    return f":py:obj:`{peer}`" if peer in inventories.documented() else f"``{peer}``"


@cache
def compared() -> dict[str, list[dict]]:
    """What the ledger has recorded of each name; nothing in a book that came without its tests."""
    return reference_ledger.read() if reference_ledger.RECORD.exists() else {}


def comparison(row: dict) -> str:
    """A comparison in words."""
    peer, n_cases = row["peer"], row["cases"]
    if peer.startswith("through "):
        peer = f"through {named(peer.removeprefix('through '))}"
    elif peer not in reference_ledger.KINDS:
        peer = named(peer)
    closeness = [
        f"{worst:.2g} ({tolerance:.2g} allowed)" for tolerance, worst in row["errors"] if tolerance
    ]
    told = [f"{peer}: {n_cases:,} case{'s' * (n_cases != 1)}"]
    told += [f"worst error {', '.join(closeness)}"] * bool(closeness)
    told += ["equal"] * any(not tolerance for tolerance, _ in row["errors"])
    return "; ".join(told)


def skip(app, what, name, thing, leave_out, options) -> bool | None:
    """Leave out what a class merely holds: its fields stand in its docstring."""
    is_call = inspect.isroutine(thing) or isinstance(thing, property | classmethod | staticmethod)
    return None if is_call and not isinstance(thing, type) else True


class Taught(SphinxRole):
    """``:taught:`attention#scores` ``: a link to the section of a chapter."""

    def run(self) -> tuple[list[nodes.Node], list]:
        """Make the link; Sphinx warns of a page or a section that does not exist."""
        name, anchor = self.text.split("#")
        page = registry.by_name()[name]
        uri = self.env.app.builder.get_relative_uri(self.env.docname, page.docname)
        chapter = f"chapter {page.number}, " if page.number else ""
        title = f"{chapter}{page.headings().get(anchor, page.title)}"
        link = nodes.reference("", title, internal=True, refuri=f"{uri}#{anchor}")
        return [link], []


class Library(Directive):
    """``library``: all public names of some packages or modules."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Make a section of each module."""
        packages = self.arguments[0].split()
        return [section for package in packages for section in self.sections(package)]

    def sections(self, package: str) -> Iterator[nodes.Node]:
        """A package's introduction, and its modules."""
        modules = modules_of(package)
        if modules != [package]:
            told = inspect.getdoc(importlib.import_module(f"softlookup.{package}"))
            yield from self.parsed(told.split("\n"))
        for module in modules:
            title = module.removeprefix(f"{package}.") if modules != [package] else package
            told = inspect.getdoc(importlib.import_module(f"softlookup.{module}")) or ""
            lines = [in_rest(told), "", self.code(module), ""]
            for name in reference_ledger.public_names():
                if name.rpartition(".")[0] == module:
                    lines += entry(name)
            children = self.parsed("\n".join(lines).split("\n"))
            key = f"module-{module.replace('.', '-').replace('_', '-')}"
            heading = nodes.title("", "", lecture_map.literal(title))
            yield nodes.section("", heading, *children, ids=[key], names=[key])

    def code(self, module: str) -> str:
        """A link to a module's file in the repository."""
        path = importlib.import_module(f"softlookup.{module}").__file__
        file = Path(path).relative_to(registry.ROOT).as_posix()
        return f"`{file} <{address_of(self.state.document.settings.env.config, file)}>`__"

    def parsed(self, lines: list[str]) -> list[nodes.Node]:
        """Lines of reStructuredText."""
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, source="library"), 0, holder)
        return holder.children


def entry(name: str) -> list[str]:
    """What autodoc is asked for a name."""
    thing = reference_ledger.public_things()[name]
    module, _, last = import_path(name).rpartition(".")
    kind = "class" if inspect.isclass(thing) else "function"
    members = ["   :members:"] if kind == "class" else []
    return [f".. auto{kind}:: {module}::{last}", *members, ""]


class Ranges(Directive):
    """``library-ranges``: the words for numbers in a signature, and what they allow."""

    def run(self) -> list[nodes.Node]:
        """A table of the library's own."""
        body = [[[nodes.literal("", name)], [nodes.Text(told)]] for name, told in ranges()]
        return [lecture_map.table(["In a signature", "What may be passed"], body, "ranges")]


def ranges() -> Iterator[tuple[str, str]]:
    """Each name of ``softlookup.checks`` that stands for numbers, and which these are."""
    checks = importlib.import_module("softlookup.checks")
    kinds = {int: "an integer", float: "a number"}
    for name in checks.__all__:
        thing = getattr(checks, name)
        if get_origin(thing) is Annotated:
            kind, rule = get_args(thing)
            yield name, f"{kinds[kind]}, {rule.words}"


class Summary(Directive):
    """``library-summary``: how much is compared; what is wrong with the ledger is a warning."""

    def run(self) -> list[nodes.Node]:
        """Count, and check that the ledger is sound."""
        env = self.state.document.settings.env
        for path in (reference_ledger.PEERS, reference_ledger.RECORD):
            env.note_dependency(str(path))
        for path in reference_ledger.LIBRARY.rglob("*.py"):
            env.note_dependency(str(path))
        rows = reference_ledger.read()
        for fault in reference_ledger.faults(rows):
            logging.getLogger(__name__).warning("reference ledger: %s", fault)
        return [reference_ledger.summary(rows)]


def link_types(app: Sphinx, document: nodes.document) -> None:
    """Lead the types in signatures to their entries; those of other packages are mere words."""
    for link in list(document.findall(pending_xref)):
        if link.get("refdomain") == "py" and link["reftarget"] not in inventories.documented():
            paths = _by_last_name().get(link["reftarget"], [])
            if len(paths) == 1:
                link["reftarget"] = paths[0]
            else:
                link.replace_self(link.children)


@cache
def _by_last_name() -> dict[str, list[str]]:
    """The import paths of all names that end in the same word."""
    found = defaultdict(list)
    for name in reference_ledger.public_names():
        found[name.rpartition(".")[2]].append(import_path(name))
    return found


def setup(app: Sphinx) -> None:
    """Register the directives and read what autodoc finds."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.add_directive("library", Library)
    app.add_directive("library-ranges", Ranges)
    app.add_directive("library-summary", Summary)
    app.add_role("taught", Taught())
    app.connect("autodoc-process-signature", show_signature)
    app.connect("autodoc-process-docstring", read_docstring, priority=BEFORE_NAPOLEON)
    app.connect("autodoc-process-docstring", add_comparisons, priority=AFTER_NAPOLEON)
    app.connect("autodoc-skip-member", skip)
    app.connect("doctree-read", link_types)
