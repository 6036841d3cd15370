"""What a test function leads to, read off its source: imports, helpers and fixtures followed."""

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
DRAWS = ("torch.Generator", "torch.manual_seed", "numpy.random", "random.Random", "hypothesis")
"""Who leads here draws its numbers at random."""


class Source:
    """A test file: what its names mean, and its functions."""

    def __init__(self, path: Path) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self.path, self.imports, self.own = path, {}, {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    self.imports[name.asname or name.name.split(".")[0]] = (
                        name.name if name.asname else name.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                for name in node.names:
                    self.imports[name.asname or name.name] = f"{node.module}.{name.name}"
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.own[node.name] = node
                methods = node.body if isinstance(node, ast.ClassDef) else []
                self.own |= {f"{node.name}::{method.name}": method for method in methods
                             if isinstance(method, ast.FunctionDef)}  # fmt: skip
            elif isinstance(node, ast.Assign):
                targets = (name for target in node.targets for name in ast.walk(target))
                self.own |= {name.id: node.value for name in targets if isinstance(name, ast.Name)}

    def nodes(self, name: str) -> list[tuple["Source", ast.AST]]:
        """The function called ``name``, and all that it uses: helpers, tables, fixtures."""
        found: dict[str, tuple[Source, ast.AST]] = {}
        waiting = [name, *(key for key, node in self.own.items() if _is_automatic(node))]
        while waiting:
            key = waiting.pop()
            source = next((s for s in (self, *conftests(self.path)) if key in s.own), None)
            if key in found or source is None:
                continue
            found[key] = (source, source.own[key])
            for node in ast.walk(source.own[key]):
                if isinstance(node, ast.Name):
                    waiting.append(node.id)
                elif isinstance(node, ast.FunctionDef):  # its arguments may be fixtures
                    waiting += [argument.arg for argument in node.args.args]
        return list(found.values())

    def leads_to(self, name: str) -> set[str]:
        """The dotted names from elsewhere that the function called ``name`` uses."""
        return {
            dotted
            for source, top in self.nodes(name)
            for node in ast.walk(top)
            if (dotted := source.dotted(node)) is not None
        }

    def dotted(self, node: ast.AST) -> str | None:
        """``F.softmax`` as torch.nn.functional.softmax, if F was imported."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts, node = [node.attr, *parts], node.value
        if isinstance(node, ast.Name) and node.id in self.imports:
            return ".".join([self.imports[node.id], *parts])
        return None

    def asserts_equality(self, name: str) -> bool:
        """Whether it asserts that two things are equal."""
        tests = (node.test for _, top in self.nodes(name) for node in ast.walk(top)
                 if isinstance(node, ast.Assert))  # fmt: skip
        return any(
            isinstance(node, ast.Eq) or (isinstance(node, ast.Attribute) and node.attr == "equal")
            for test in tests
            for node in ast.walk(test)
        )


def _is_automatic(node: ast.AST) -> bool:
    """Whether a function is a fixture that every test of the file uses."""
    decorators = getattr(node, "decorator_list", [])
    return any("autouse=True" in ast.unparse(decorator) for decorator in decorators)


@cache
def source(path: Path) -> Source:
    """A test file, read once."""
    return Source(path)


def conftests(path: Path) -> list[Source]:
    """What pytest adds to a test file, the nearest first."""
    files = [path.parent / "conftest.py", TESTS / "conftest.py"]
    return [source(file) for file in files if file.exists() and file != path]


@cache
def references(test: str) -> frozenset[str]:
    """The dotted names that a test, tests/unit/test_x.py::test_y, leads to."""
    file, name = test.split("::", 1)
    return frozenset(source(TESTS.parent / file).leads_to(name))


def mentions(test: str, peer: str) -> bool:
    """Whether a test leads to a function, or to something inside of a class or module."""
    return any(name == peer or name.startswith(f"{peer}.") for name in references(test))


@cache
def compares_exactly(test: str) -> bool:
    """Whether a test asserts that two things are equal."""
    file, name = test.split("::", 1)
    return source(TESTS.parent / file).asserts_equality(name)


def draws(test: str) -> bool:
    """Whether a test draws its numbers at random, by a seed or by hypothesis."""
    return any(mentions(test, name) for name in DRAWS)
