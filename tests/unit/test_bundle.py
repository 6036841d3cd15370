"""A figure's JavaScript: each file has a scope of its own, and shares what it says it shares."""

import re
from pathlib import Path

import pytest

from softlookup import show
from softlookup.show.bundle import bundled, parse

SHOW = Path(show.__file__).parent
FILES = sorted(SHOW.rglob("*.js"))


@pytest.fixture
def files(tmp_path):
    """Writes files and gives the path of the first."""

    def write(**sources):
        for name, source in sources.items():
            (tmp_path / f"{name}.js").write_text(source)
        return tmp_path / f"{next(iter(sources))}.js"

    return write


def test_a_file_is_a_function_of_what_it_imports(files):
    entry = files(
        a='// About a.\n\nimport { b as other } from "./b.js";\n\n'
        "export const twice = () => 2 * other;\n",
        b="const hidden = 3;\nexport const b = hidden;\n",
    )
    assert bundled(entry) == (
        '(() => {\n"use strict";\n'
        "const file0 = (() => { // b.js\nconst hidden = 3;\nconst b = hidden;\n"
        "return { b };\n})();\n"
        "const file1 = (({ b: other }) => { // a.js\nconst twice = () => 2 * other;\n"
        "return { twice };\n})(file0);\n"
        "return file1;\n})()"
    )


def test_a_file_comes_once_and_after_all_that_it_imports(files):
    entry = files(
        a='import { b } from "./b.js";\nimport { c } from "./c.js";\nexport const a = b + c;\n',
        b='import { c } from "./c.js";\nexport const b = c;\n',
        c="export const c = 1;\n",
    )
    assert re.findall(r"// (\w)\.js", bundled(entry)) == ["c", "b", "a"]


def test_comments_on_lines_of_their_own_stay_in_the_file(files):
    source = """/** About f,
 *  which is short. */
export function f(x) {
  // Why.
  return x; // a line's own comment stays, and so does "// this"
}
"""
    assert parse(files(a=source)).code == (
        'function f(x) {\n  return x; // a line\'s own comment stays, and so does "// this"\n}'
    )


def test_all_ways_to_export_are_known(files):
    source = """export class A {}
export async function f() {}
export function* g() {}
export const d = 1;
export function h() {}
"""
    module = parse(files(a=source))
    assert module.exports == ("A", "f", "g", "d", "h")
    assert "export" not in module.code


@pytest.mark.parametrize(
    "line",
    [
        'import a from "./b.js";',
        'import * as b from "./b.js";',
        'import "./b.js";',
        "import { b } from './b.js';",
        'import { b } from "b";',
        "export default function f() {}",
        "export { f };",
        'export * from "./b.js";',
        "export let a = 1;",
        "export const { a } = b;",
        'const b = await import("./b.js");',
        "const where = import.meta.url;",
        'const a = 1;\nimport { b } from "./b.js";',
    ],
)
def test_other_ways_are_refused(files, line):
    rule = r"a\.js may import and export only as softlookup\.show\.bundle says; got line="
    with pytest.raises(ValueError, match=rule):
        bundled(files(a=f"{line}\n", b="export const b = 1;\n"))


def test_what_is_not_exported_cannot_be_imported(files):
    entry = files(a='import { b, hidden } from "./b.js";\n', b="export const b = 1, hidden = 2;\n")
    rule = r"a\.js may import only what b\.js exports; got missing=\['hidden'\]"
    with pytest.raises(ValueError, match=rule):
        bundled(entry)


def test_no_name_is_no_import(files):
    with pytest.raises(ValueError, match=r"a\.js must import names; got found='b c'"):
        bundled(files(a='import { b c } from "./b.js";\n'))


def test_a_circle_is_refused(files):
    entry = files(
        a='import { b } from "./b.js";\nexport const a = 1;\n',
        b='import { a } from "./a.js";\nexport const b = 1;\n',
    )
    rule = r"files must not import each other in a circle; got circle=\['a\.js', 'b\.js', 'a\.js'\]"
    with pytest.raises(ValueError, match=rule):
        bundled(entry)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SHOW).as_posix())
def test_every_import_is_used(path):
    module = parse(path)
    names = [name for _, pairs in module.imports for _, name in pairs]
    assert len(names) == len(set(names))
    assert [name for name in names if not re.search(rf"\b{re.escape(name)}\b", module.code)] == []


def test_no_export_is_idle():
    """Another file or the figure's test asks for it."""
    asked = {(file, name) for path in FILES for file, pairs in parse(path).imports
             for name, _ in pairs}  # fmt: skip
    tests = "".join(
        path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].glob("book/*.py")
    )
    idle = [
        (path.relative_to(SHOW).as_posix(), name)
        for path in FILES
        for name in parse(path).exports
        if (path, name) not in asked
        and name not in ("mount", "open", "engine")  # which the page itself calls
        and not re.search(rf"maths\.{name}\b", tests)
    ]
    assert idle == []
