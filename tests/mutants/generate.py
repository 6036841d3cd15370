"""Small bugs made from the syntax tree of the library's modules, always the same ones.

An expression is replaced by one that a tired person might have written: a comparison that takes in
its boundary, a bound off by one, an operator for its opposite, another axis, a transpose or a mask
forgotten, a mean for a sum, an argument left out, a step of a computation skipped. What only speaks
(strings, annotations, what is raised) is left alone.
"""

import ast
import copy
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

COMPARISONS = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq, ast.Is: ast.IsNot}
COMPARISONS |= {b: a for a, b in COMPARISONS.items()} | {ast.In: ast.NotIn, ast.NotIn: ast.In}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
OPERATORS |= {
    ast.Pow: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
OPPOSITES = """mean sum, max min, amax amin, argmax argmin, any all, tril triu, sin cos, floor ceil,
    zeros ones, zeros_like ones_like, log exp, startswith endswith, var std"""
OPPOSITES = dict(pair.split() for pair in OPPOSITES.split(","))
OPPOSITES |= {b: a for a, b in OPPOSITES.items()}
STEPS = """mT T abs clamp cumsum detach exp flip log lower masked_fill roll softmax sqrt square
    squeeze strip transpose tril triu unsqueeze"""
STEPS = frozenset(STEPS.split())
"""Methods whose result can stand where their object stood: somebody forgets to call them."""
SYMMETRIC = """isinstance getattr hasattr maximum minimum max min gcd equal promote_types
    broadcast_shapes result_type"""
SYMMETRIC = frozenset(SYMMETRIC.split())
SILENT = {"device", "strict", "help"}
"""Keyword arguments that change nothing on a CPU with sound data, or only what is told."""


class Mutant(NamedTuple):
    """One bug: in ``file``, the bytes from ``start`` to ``end`` are replaced by ``new``."""

    file: str
    place: str
    """The function with its module's dotted name, or the module."""
    lines: tuple[int, int]
    """The first and last line of the statement."""
    inside: bool
    """Whether the statement runs when a function is called, not when the module is imported."""
    start: int
    end: int
    new: str
    what: str
    """The change in one line, ``before → after``; for a bug written by hand, its reason."""
    bug: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.lines[0]}: {self.what}"

    def planted(self, source: bytes) -> bytes:
        """The module's text with the bug."""
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutants_of(root: Path, path: Path) -> list[Mutant]:
    """The bugs of one module, in the order of its text; none that Python cannot read."""
    source = path.read_bytes()
    file = path.relative_to(root).as_posix()
    module = ".".join(path.relative_to(root / "lib").with_suffix("").parts)
    found = list(_Generator(source, file, module.removesuffix(".__init__")).all())
    unique = {mutant.planted(source): mutant for mutant in reversed(found)}
    return sorted(unique.values(), key=lambda mutant: (mutant.start, mutant.end, mutant.new))


class _Generator:
    def __init__(self, source: bytes, file: str, module: str) -> None:
        self.source, self.file = source, file
        self.tree = ast.parse(source)
        self.path: list[ast.AST] = []  # from the module down to the node at hand
        self.names = [module]
        lengths = [len(line) for line in source.splitlines(keepends=True)]
        self.line_starts = [sum(lengths[:k]) for k in range(len(lengths))]

    def all(self) -> Iterator[Mutant]:
        yield from self.visit(self.tree)

    def visit(self, node: ast.AST) -> Iterator[Mutant]:
        """The bugs at a node and below it."""
        if _only_speaks(node):
            return
        if len(self.path) and isinstance(node, ast.expr | ast.stmt):
            for new in changes(node, self.path):
                yield self.mutant(node, new)
        named = isinstance(node, ast.FunctionDef | ast.ClassDef)
        self.path.append(node)
        self.names += [node.name] if named else []
        for child in _parts(node):
            yield from self.visit(child)
        self.path.pop()
        self.names = self.names[:-1] if named else self.names

    def mutant(self, node: ast.AST, new: ast.AST) -> Mutant:
        """The bug that puts one node for another."""
        statement = next(n for n in [node, *self.path[::-1]] if isinstance(n, ast.stmt))
        end = statement.end_lineno
        if hasattr(statement, "body"):  # its first line alone
            end = max(statement.lineno, statement.body[0].lineno - 1)
            if getattr(statement.body[0], "decorator_list", []):
                end = statement.lineno
        text = ast.unparse(new)
        if _binds_looser(new) and isinstance(self.path[-1], _OPERATIONS):
            text = f"({text})"
        return Mutant(
            self.file,
            ".".join(self.names),
            (statement.lineno, end),
            _runs_when_called([*self.path, node]),
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
            text,
            self.words(node, new),
        )

    def offset(self, line: int, column: int) -> int:
        return self.line_starts[line - 1] + column

    def words(self, node: ast.AST, new: ast.AST) -> str:
        """The change in enough of its surroundings to be found again."""
        around, name = node, ""
        for parent in self.path[::-1]:
            if isinstance(parent, ast.arguments):
                name = f"{_name_of_default(parent, around)}="
            whole = isinstance(around, ast.stmt) or hasattr(parent, "body")
            if whole or len(ast.unparse(around)) >= 24:
                break
            if isinstance(parent, ast.expr | ast.stmt | ast.keyword):
                around = parent
        after = _replaced(around, node, new)
        return " ".join(f"{name}{ast.unparse(around)} → {name}{ast.unparse(after)}".split())


def _runs_when_called(path: list[ast.AST]) -> bool:
    """Whether it stands in a function's body; a value by default runs with what is around."""
    return any(
        isinstance(around, ast.FunctionDef | ast.Lambda) and not isinstance(part, ast.arguments)
        for around, part in pairwise(path)
    )


def _name_of_default(arguments: ast.arguments, value: ast.AST) -> str:
    """The argument that has a value by default."""
    by_place = [*arguments.posonlyargs, *arguments.args][::-1]
    pairs = [*zip(by_place, arguments.defaults[::-1], strict=False)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return next(argument.arg for argument, default in pairs if default is value)


def _replaced(tree: ast.AST, node: ast.AST, new: ast.AST) -> ast.AST:
    """A copy of a tree with another node in place of one of its own."""
    memo = {id(node): new}
    return copy.deepcopy(tree, memo)


_OPERATIONS = (
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.Attribute,
    ast.Subscript,
    ast.IfExp,
    ast.Starred,
    ast.Call,
    ast.Await,
)


def _binds_looser(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.IfExp)


def _only_speaks(node: ast.AST) -> bool:
    """Strings, what is raised or imported, and a table of data."""
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    return isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set) and len(_parts(node)) > 8


def _parts(node: ast.AST) -> list[ast.AST]:
    """The children of a node that compute something: no annotation, no decorator."""
    left_out = {"annotation", "returns", "decorator_list", "bases", "type_params"}
    found = []
    for name, value in ast.iter_fields(node):
        if name not in left_out:
            values = value if isinstance(value, list) else [value]
            found += [child for child in values if isinstance(child, ast.AST)]
    return found


def changes(node: ast.AST, path: list[ast.AST]) -> Iterator[ast.AST]:
    """What somebody might have written for a node; ``path`` leads to it from the module."""
    maker = _MAKERS.get(type(node))
    if maker:
        yield from maker(node, path)


def _compare(node: ast.Compare, path: list[ast.AST]) -> Iterator[ast.AST]:
    for k, operator in enumerate(node.ops):
        ops = list(node.ops)
        ops[k] = COMPARISONS[type(operator)]()
        yield ast.Compare(node.left, ops, node.comparators)


def _binary(node: ast.BinOp, path: list[ast.AST]) -> Iterator[ast.AST]:
    if _is_text(node.left) or _is_text(node.right):
        return
    if _is_step_of_one(node):
        yield node.left
    elif isinstance(node.op, ast.MatMult):
        yield ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node.op, ast.FloorDiv):
        yield ast.UnaryOp(
            ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), node.left), node.op, node.right)
        )
    elif type(node.op) in OPERATORS:
        yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)


def _is_step_of_one(node: ast.AST) -> bool:
    """Whether it is something plus or minus one."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add | ast.Sub)
        and isinstance(node.right, ast.Constant)
        and node.right.value == 1
    )


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr)


def _unary(node: ast.UnaryOp, path: list[ast.AST]) -> Iterator[ast.AST]:
    constant = isinstance(node.operand, ast.Constant)
    if constant and isinstance(node.operand.value, int):
        yield ast.UnaryOp(ast.USub(), ast.Constant(node.operand.value + 1))
    else:
        yield node.operand


def _boolean(node: ast.BoolOp, path: list[ast.AST]) -> Iterator[ast.AST]:
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _constant(node: ast.Constant, path: list[ast.AST]) -> Iterator[ast.AST]:
    parent, value = path[-1], node.value
    if isinstance(parent, ast.UnaryOp | ast.Expr) or _is_step_of_one(parent):
        return
    if isinstance(parent, ast.Call) and _name_of(parent.func) == "manual_seed":
        return  # any seed is as good
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        shorter = isinstance(parent, ast.Slice) and parent.upper is node and value > 0
        yield ast.Constant(value - 1 if shorter else value + 1)
    elif isinstance(value, float):
        yield ast.Constant(2 * value or 1.0)


def _attribute(node: ast.Attribute, path: list[ast.AST]) -> Iterator[ast.AST]:
    called = isinstance(path[-1], ast.Call) and path[-1].func is node
    if node.attr in ("mT", "T") and not called:
        yield node.value


def _call(node: ast.Call, path: list[ast.AST]) -> Iterator[ast.AST]:
    name = _name_of(node.func)
    if "require" in name or "check" in name:
        return  # what it is given besides the rule is for the message
    if name in OPPOSITES:
        function = copy.copy(node.func)
        setattr(function, "attr" if isinstance(function, ast.Attribute) else "id", OPPOSITES[name])
        yield ast.Call(function, node.args, node.keywords)
    if isinstance(node.func, ast.Attribute) and name in STEPS and not _is_module(node.func.value):
        yield node.func.value
    elif node.args and (name in {*STEPS, "sorted", "reversed"} or _is_own(node.func)):
        first = node.args[0]
        if not isinstance(first, ast.Starred | ast.GeneratorExp):
            yield first
    yield from _fewer_arguments(node, name)
    yield from _other_order(node, name)
    if name == "range" and not _is_step_of_one(node.args[-1]):
        last = node.args[-1]
        if not isinstance(last, ast.Constant | ast.UnaryOp):
            one_less = ast.BinOp(last, ast.Sub(), ast.Constant(1))
            yield ast.Call(node.func, [*node.args[:-1], one_less], [])


def _fewer_arguments(node: ast.Call, name: str) -> Iterator[ast.AST]:
    """The same call with one of its arguments forgotten."""
    for k, keyword in enumerate(node.keywords):
        flips = isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool)
        if keyword.arg and keyword.arg not in SILENT and not flips:
            yield ast.Call(node.func, node.args, node.keywords[:k] + node.keywords[k + 1 :])
    if len(node.args) >= 3 and isinstance(node.args[-1], ast.Name | ast.Attribute):
        yield ast.Call(node.func, node.args[:-1], node.keywords)


def _other_order(node: ast.Call, name: str) -> Iterator[ast.AST]:
    """The same call with two neighbouring arguments exchanged."""
    if name in SYMMETRIC or name[:1].isupper():
        return
    for k in range(len(node.args) - 1):
        a, b = node.args[k : k + 2]
        fit = all(isinstance(x, ast.Name | ast.Attribute | ast.Subscript) for x in (a, b))
        if fit and ast.dump(a) != ast.dump(b):
            yield ast.Call(node.func, [*node.args[:k], b, a, *node.args[k + 2 :]], node.keywords)


def _name_of(function: ast.AST) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "math", "F", "nn", "np", "numpy")


def _is_own(function: ast.AST) -> bool:
    """Whether it is a part of this object, say a layer: ``self.norm``."""
    return isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "self"


def _slice(node: ast.Slice, path: list[ast.AST]) -> Iterator[ast.AST]:
    one = ast.Constant(1)
    if isinstance(node.upper, ast.Name | ast.Attribute | ast.Call):
        yield ast.Slice(node.lower, ast.BinOp(node.upper, ast.Sub(), one), node.step)
    if isinstance(node.lower, ast.Name | ast.Attribute | ast.Call):
        yield ast.Slice(ast.BinOp(node.lower, ast.Add(), one), node.upper, node.step)


def _condition(node: ast.AST, path: list[ast.AST]) -> Iterator[ast.AST]:
    """A condition that is a name, or the answer of a function, turned round."""
    parent = path[-1]
    asks = isinstance(parent, ast.If | ast.IfExp) and parent.test is node
    asks |= isinstance(parent, ast.comprehension) and node in parent.ifs
    if asks:
        yield ast.UnaryOp(ast.Not(), node)


def _update(node: ast.stmt, path: list[ast.AST]) -> Iterator[ast.AST]:
    """A statement forgotten that only changes something that is there without it, too."""
    yield ast.Pass()


def _assign(node: ast.Assign, path: list[ast.AST]) -> Iterator[ast.AST]:
    targets = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    plain = all(
        isinstance(n, ast.Name | ast.Tuple | ast.expr_context)
        for target in node.targets
        for n in ast.walk(target)
    )
    used = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
    if plain and targets <= used:
        yield ast.Pass()


def _return(node: ast.Return, path: list[ast.AST]) -> Iterator[ast.AST]:
    """The last step of a computation left out."""
    call = node.value
    if isinstance(call, ast.Call) and call.args and not _name_of(call.func)[:1].isupper():
        first = call.args[0]
        if not isinstance(first, ast.Starred | ast.GeneratorExp):
            yield ast.Return(first)


def _call_or_condition(node: ast.Call, path: list[ast.AST]) -> Iterator[ast.AST]:
    yield from _call(node, path)
    yield from _condition(node, path)


_MAKERS = {
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Call: _call_or_condition,
    ast.Slice: _slice,
    ast.Name: _condition,
    ast.AugAssign: _update,
    ast.Expr: _update,
    ast.Assign: _assign,
    ast.Return: _return,
    ast.Break: _update,
    ast.Continue: _update,
}
