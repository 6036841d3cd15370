"""One piece of JavaScript from the modules of a figure, each in a scope of its own.

A page that is opened as a file may load no modules, so a figure carries all its code with it. Each
file is written as a plain ES module and becomes a function here: what it imports comes in as the
function's arguments, what it exports is what the function returns, and nothing else is shared.
Comments that stand on lines of their own stay in the file: a page is the lighter for it.

Only this much of the language of modules is known; anything else is refused::

    import { name, other as called } from "./file.js";    // at the head of the file
    export function name(...) {...}    export class Name {...}    export const name = ...;
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from softlookup.checks import require

_NAME = r"[A-Za-z_$][\w$]*"
_IMPORT = re.compile(r'import \{([^{}]*)\} from "(\.{1,2}/[^"]+\.js)";', re.DOTALL)
_IMPORTED = re.compile(rf"({_NAME})(?: as ({_NAME}))?")
_EXPORT = re.compile(rf"^export (?=(?:async )?(?:function\*? |class |const )({_NAME})\b)", re.M)
_HEAD = re.compile(r"(?:\s+|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*.*?\*/[ \t]*)\n", re.MULTILINE | re.DOTALL)
_UNKNOWN = re.compile(r"^[ \t]*(?:import|export)\b.*|\bimport\s*[.(].*", re.MULTILINE)


class Module(NamedTuple):
    """A file as a module.

    Attributes:
        path: The file.
        imports: For each file that it imports from: its path, and pairs (name there, name here).
        exports: The names that others may import.
        code: The rest.
    """

    path: Path
    imports: tuple[tuple[Path, tuple[tuple[str, str], ...]], ...]
    exports: tuple[str, ...]
    code: str


def bundled(entry: Path) -> str:
    """The file and all that it imports as one expression: an object of what the file exports.

    Args:
        entry: An ES module.

    Raises:
        ValueError: A file imports or exports in a way that is not known here, a name that is not
            exported, or, in a circle, itself.
    """
    modules = _in_order(entry.resolve())
    places = {module.path: f"file{k}" for k, module in enumerate(modules)}
    files = "\n".join(_scope(module, places, entry.resolve().parent) for module in modules)
    return f'(() => {{\n"use strict";\n{files}\nreturn file{len(modules) - 1};\n}})()'


def parse(path: Path) -> Module:
    """Read a file as a module.

    Args:
        path: The file.

    Raises:
        ValueError: It imports or exports in a way that is not known here.
    """
    source = path.read_text(encoding="utf-8")
    imports, place = [], _HEAD.match(source).end()
    while found := _IMPORT.match(source, place):
        names, file = found.groups()
        imports.append(((path.parent / file).resolve(), _imported(names, path)))
        place = _HEAD.match(source, found.end()).end()
    code = source[place:]
    exports = tuple(found[1] for found in _EXPORT.finditer(code))
    code = without_comments(_EXPORT.sub("", code))
    unknown = _UNKNOWN.search(code)
    rule = f"{path.name} may import and export only as softlookup.show.bundle says"
    require(unknown is None, rule, line=unknown and unknown[0].strip())
    return Module(path, tuple(imports), exports, code.rstrip("\n"))


def without_comments(source: str) -> str:
    """JavaScript or CSS without the comments that stand on lines of their own."""
    return _COMMENT.sub("", source)


def _imported(names: str, path: Path) -> tuple[tuple[str, str], ...]:
    pairs = []
    for name in filter(None, map(str.strip, names.split(","))):
        found = _IMPORTED.fullmatch(name)
        require(found is not None, f"{path.name} must import names", found=name)
        pairs.append((found[1], found[2] or found[1]))
    return tuple(pairs)


def _in_order(entry: Path) -> list[Module]:
    """The modules, each after those that it imports."""
    done: dict[Path, Module] = {}

    def visit(path: Path, above: tuple[Path, ...]) -> None:
        circle = [one.name for one in (*above, path)]
        require(path not in above, "files must not import each other in a circle", circle=circle)
        if path in done:
            return
        module = parse(path)
        for file, names in module.imports:
            visit(file, (*above, path))
            missing = [name for name, _ in names if name not in done[file].exports]
            rule = f"{path.name} may import only what {file.name} exports"
            require(not missing, rule, missing=missing)
        done[path] = module

    visit(entry, ())
    return list(done.values())


def _scope(module: Module, places: dict[Path, str], home: Path) -> str:
    """The module as a function that is called at once, with what it imports."""
    arguments = ", ".join(places[file] for file, _ in module.imports)
    parameters = ", ".join(
        "{ " + ", ".join(n if n == here else f"{n}: {here}" for n, here in names) + " }"
        for _, names in module.imports
    )
    where = Path(os.path.relpath(module.path, home)).as_posix()
    exports = ", ".join(module.exports)
    return (
        f"const {places[module.path]} = (({parameters}) => {{ // {where}\n{module.code}\n"
        f"return {{ {exports} }};\n}})({arguments});"
    )
