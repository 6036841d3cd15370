"""Whether code is the same but for names, and how much of it stands in other code.

The normal form of a syntax tree forgets what a reader changes without thinking: the names of
variables (replaced in the order in which they appear), texts and numbers other than 0, 1 and 2,
docstrings, annotations, conversions, the order of sums and products, whether it says
`torch.f(x)` or `x.f()`, `dim=1` or `axis=1` or `1`. It keeps what the code does: calls, operations,
loops, branches. Two names stay two, so `a * a` is not `a * b`. Names for steps in between are
forgotten by `spelled_out`, which replaces each by what it stands for.
"""

import ast
import builtins
import copy
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

ARRAYS = {"torch", "np", "math", "F"}
"""Modules whose functions are written as methods of their first argument."""
AXES = {"dim": "", "axis": "", "keepdim": "keepdim", "keepdims": "keepdim"}
WRAPPERS = {"float", "int", "bool", "list", "tuple", "item", "tolist", "double", "clone", "numpy"}
"""Conversions: they change how a result is kept, and not how it is found."""
LARGEST = 3000
"""No expression grows beyond so many nodes by naming its steps in full."""
WORK = (ast.BinOp, ast.Call, ast.Subscript, ast.Compare, ast.BoolOp, ast.IfExp, ast.comprehension,
        ast.For, ast.While, ast.If, ast.AugAssign)  # fmt: skip
OPENING = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.If, ast.With, ast.Try)


# Before names are replaced


class _Simplify(ast.NodeTransformer):
    """Writes what can be written in two ways in one of them."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        home = getattr(getattr(function, "value", None), "id", "")
        if node.args and home in ARRAYS:
            first, *node.args = node.args
            node.func = function = ast.Attribute(first, function.attr, ast.Load())
        alone = len(node.args) == 1 and not node.keywords
        if alone and getattr(function, "id", "") in ("sum", "abs", "max", "min", "round"):
            node.func = function = ast.Attribute(node.args.pop(), function.id, ast.Load())
        name = getattr(function, "attr", getattr(function, "id", None))
        if name in WRAPPERS and not node.keywords:
            if isinstance(function, ast.Name) and len(node.args) == 1:
                return node.args[0]
            if isinstance(function, ast.Attribute) and not node.args:
                return function.value
        if isinstance(function, ast.Attribute) and function.attr in ("sqrt", "square"):
            power = 0.5 if function.attr == "sqrt" else 2
            if not node.args:
                return ast.BinOp(function.value, ast.Pow(), ast.Constant(power))
        if not node.args:
            node.args = [k.value for k in node.keywords if AXES.get(k.arg) == ""]
            node.keywords = [k for k in node.keywords if AXES.get(k.arg) != ""]
        for keyword in node.keywords:
            keyword.arg = AXES.get(keyword.arg, keyword.arg)
        node.keywords = [k for k in node.keywords if k.arg != "strict"]
        node.keywords.sort(key=lambda k: k.arg or "")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.Name(f"self.{node.attr}", ast.Load())  # a value of its own
        node.attr = "mT" if node.attr == "T" else node.attr
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        return ast.GeneratorExp(node.elt, node.generators)

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        return ast.Tuple(node.elts, node.ctx)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        number = getattr(node.operand, "value", None)
        is_negative = isinstance(node.op, ast.USub) and isinstance(number, int | float)
        return ast.Constant(-number) if is_negative else node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        return node.value

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        return None if node.value is None else ast.Assign([node.target], node.value)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        self.generic_visit(node)
        return None if isinstance(node.value, ast.Constant) else node  # docstrings, and ...


class _Substitute(ast.NodeTransformer):
    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self.known:
            return copy.deepcopy(self.known[node.id])
        return node


def simple(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, written in one way and without words, imports and checks."""
    left_out = ast.Import | ast.ImportFrom | ast.Assert | ast.Pass
    module = _Simplify().visit(ast.Module(copy.deepcopy(statements), []))
    named = _named_steps(statements)
    return named + [node for node in module.body if not isinstance(node, left_out)]


def _named_steps(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Names given within an expression, as statements before it."""
    found = [node for top in statements if not isinstance(top, OPENING) for node in ast.walk(top)
             if isinstance(node, ast.NamedExpr)]  # fmt: skip
    plain = [ast.Assign([copy.deepcopy(n.target)], copy.deepcopy(n.value)) for n in found]
    return _Simplify().visit(ast.Module(plain, [])).body


def spelled_out(statements: list[ast.stmt], known: dict | None = None) -> list[ast.stmt]:
    """The same statements with each step in between replaced by what it stands for."""
    known, found = dict(known or {}), []
    for statement in copy.deepcopy(statements):
        if isinstance(statement, OPENING):
            inside = stored(statement)
            known = {name: value for name, value in known.items() if name not in inside}
            for body in ("body", "orelse"):
                if getattr(statement, body, None):
                    setattr(statement, body, spelled_out(getattr(statement, body), known))
            if isinstance(statement, ast.For):
                statement.iter = _Substitute(known).visit(statement.iter)
            found.append(statement)
            continue
        statement = _Substitute(known).visit(statement)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            steps = _steps(statement.targets[0], statement.value)
            small = all(sum(1 for _ in ast.walk(value)) < LARGEST for _, value in steps)
            if steps and small:
                known |= dict(steps)
                continue
        for name in stored(statement):
            known.pop(name, None)
        found.append(statement)
    return found


def _steps(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """The names that an assignment gives, each with what it stands for."""
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if not isinstance(target, ast.Tuple) or not all(isinstance(t, ast.Name) for t in target.elts):
        return []
    if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
        return [(t.id, v) for t, v in zip(target.elts, value.elts, strict=True)]
    return [(t.id, ast.Subscript(value, ast.Constant(k), ast.Load()))
            for k, t in enumerate(target.elts)]  # fmt: skip


def stored(node: ast.AST) -> set[str]:
    """The names to which something is assigned inside of a statement, also number by number."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, ast.Assign | ast.AugAssign):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for target in targets:
                while isinstance(target, ast.Subscript | ast.Attribute):
                    target = target.value
                if isinstance(target, ast.Name):
                    found.add(target.id)
    return found


# With names replaced


@dataclass
class Form:
    """Writes a piece of code with its names replaced in the order in which they appear."""

    kept: frozenset[str]
    names: dict = field(default_factory=dict)

    def leaf(self, value: object) -> str:
        """The number of a name or of a constant, for which a name might stand."""
        return f"v{self.names.setdefault(value, len(self.names))}"

    def text(self, node: object) -> str:
        """The piece of code in its normal form."""
        if isinstance(node, list):
            return "[" + " ".join(map(self.text, node)) + "]"
        if isinstance(node, ast.Name):
            return node.id if node.id in self.kept else self.leaf(node.id)
        if isinstance(node, ast.arg):
            return self.leaf(node.arg)
        if isinstance(node, ast.Constant):
            kept = isinstance(node.value, bool | None) or node.value in (-2, -1, 0, 1, 2)
            return repr(node.value) if kept else self.leaf(("constant", repr(node.value)))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
            parts = sorted(_chain(node, type(node.op)), key=lambda part: _shape(part, self.kept))
            return f"({type(node.op).__name__} {' '.join(map(self.text, parts))})"
        if isinstance(node, ast.GeneratorExp | ast.DictComp):  # the loop gives its names first
            parts = [node.generators, *ast.iter_child_nodes(node)]
            parts = [part for part in parts if not isinstance(part, ast.comprehension)]
            return f"({type(node).__name__} {' '.join(map(self.text, parts))})"
        if isinstance(node, ast.Assign):
            return f"(= {self.text(node.value)} {self.text(node.targets)})"
        if isinstance(node, ast.FunctionDef):
            arguments = self.text([*node.args.args, *node.args.kwonlyargs])
            return f"(def {self.leaf(node.name)} {arguments} {self.text(node.body)})"
        if not isinstance(node, ast.AST):
            return repr(node)
        skipped = ("ctx", "type_comment", "kind", "returns", "decorator_list", "type_params")
        parts = [self.text(value) for name, value in ast.iter_fields(node)
                 if name not in skipped and value not in (None, [])]  # fmt: skip
        return f"({type(node).__name__} {' '.join(parts)})"


def _chain(node: ast.expr, kind: type) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, kind):
        yield from _chain(node.left, kind)
        yield from _chain(node.right, kind)
    else:
        yield node


def _shape(node: ast.expr, kept: frozenset[str]) -> str:
    """A normal form in which all names are alike: what sums and products are sorted by."""

    class Blank(dict):
        def setdefault(self, key: object, default: object = None) -> int:
            return 0

    return Form(kept, Blank()).text(node)


def form_of(node: ast.AST, kept: frozenset[str]) -> str:
    """The normal form of a statement or an expression; what is returned or named is its value."""
    is_value = isinstance(node, ast.Return | ast.Expr | ast.Assign) and node.value is not None
    return Form(kept).text(node.value if is_value else node)


def work(node: ast.AST) -> int:
    """How many operations, calls, loops and branches a piece of code has."""
    return sum(isinstance(part, WORK) for part in ast.walk(node))


# How much of one piece stands in others


def blocks(statements: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """The statements, and the bodies inside of them."""
    yield statements
    for statement in statements:
        if isinstance(statement, OPENING):
            yield from blocks(statement.body)
            yield from blocks(getattr(statement, "orelse", []))


def forms(
    statements: list[ast.stmt], kept: frozenset[str], least: int, most: int = 60
) -> Iterator[str]:
    """The normal forms of all statements and expressions with so much work, as written and spelled
    out."""
    for body in blocks(simple(statements)):
        for node in [*body, *spelled_out(body), *_values(body)]:
            for part in _parts(node, least, most):
                yield form_of(part, kept)


def share_found(
    statements: list[ast.stmt], known: Container[str], kept: frozenset[str], least: int
) -> Fraction:
    """The share of the work of some code that lies in pieces whose normal forms are known.

    Of the code as written and spelled out, the larger share; 0 if it has less than the least work.
    """
    plain = simple(statements)
    shares = [Fraction(0)]
    for way in plain, spelled_out(plain):
        total = sum(map(work, way))
        if total >= least:
            shares.append(Fraction(sum(_found(node, known, kept, least) for node in way), total))
    return max(shares)


def _found(node: ast.AST, known: Container[str], kept: frozenset[str], least: int) -> int:
    """The work of the largest pieces that are known."""
    size = work(node)
    if size < least:
        return 0
    if isinstance(node, ast.expr | ast.stmt) and form_of(node, kept) in known:
        return size
    return sum(_found(part, known, kept, least) for part in ast.iter_child_nodes(node))


def _parts(node: ast.AST, least: int, most: int) -> list[ast.AST]:
    """The statements and expressions inside of a piece of code that have so much work."""
    found = []

    def size(part: ast.AST) -> int:
        total = isinstance(part, WORK) + sum(map(size, ast.iter_child_nodes(part)))
        if least <= total <= most and isinstance(part, ast.expr | ast.stmt):
            found.append(part)
        return total

    size(node)
    return found


def _values(body: list[ast.stmt]) -> list[ast.expr]:
    """What each name of a block stands for, spelled out."""
    return [
        spelled_out([*body[:k], ast.Expr(statement.value)])[-1].value
        for k, statement in enumerate(body)
        if isinstance(statement, ast.Assign)
    ]


def names_kept(trees: Iterable[ast.AST]) -> frozenset[str]:
    """Names that are no variables: built in, imported, or defined as functions and classes."""
    found = set(dir(builtins))
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                found |= {(name.asname or name.name).split(".")[0] for name in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
    return frozenset(found)
