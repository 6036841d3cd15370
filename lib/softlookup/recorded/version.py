"""The version of an experiment's code: a digest that changes when what is computed may change.

It covers the experiment's own module, and each function and class of the library that the module
imports by name, a class with the bases it inherits from. It does not cover what these call in turn:
then every edit of the library would make each result stale, also one that took hours. What such an
edit changes is seen in another way: the tests compute the small part of each result anew with the
library of today. Comments, docstrings and line breaks do not count.
"""

import ast
import hashlib
import inspect
import textwrap
from types import ModuleType

MACHINERY = ("softlookup.data", "softlookup.recorded", "softlookup.checks")
"""The data has a checksum of its own, and how a result is kept does not change it."""


def code_version(module: ModuleType) -> str:
    """The digest of an experiment's code, as 16 hexadecimal digits.

    Args:
        module: The module of the experiment.

    Returns:
        The same digits for the same code, whatever its comments, docstrings and layout.
    """
    sources = [inspect.getsource(module)]
    sources += [inspect.getsource(thing) for _, thing in sorted(used_by(module).items())]
    code = [_plain(ast.parse(textwrap.dedent(source))) for source in sources]
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:16]


def used_by(module: ModuleType) -> dict[str, object]:
    """The functions and classes of the library that a module imports, and the classes' bases.

    Args:
        module: Any module.

    Returns:
        Each thing under its full name, machinery left out.
    """
    found = {}
    for thing in vars(module).values():
        if inspect.isclass(thing) or inspect.isfunction(thing):
            for part in inspect.getmro(thing) if inspect.isclass(thing) else (thing,):
                home = part.__module__
                foreign = home != module.__name__ and not home.startswith(MACHINERY)
                if home.startswith("softlookup.") and foreign:
                    found[f"{home}.{part.__qualname__}"] = part
    return found


def _plain(node: object) -> str:
    """A syntax tree as text, the same in every version of Python."""
    if isinstance(node, list):
        return "[" + " ".join(map(_plain, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:]
    if isinstance(node, ast.Constant):  # 1 and True and 1.0 differ, though they are equal
        fields = {"value": node.value}
    parts = " ".join(f"{name}={_plain(value)}" for name, value in fields.items())
    return f"{type(node).__name__}({parts})"
