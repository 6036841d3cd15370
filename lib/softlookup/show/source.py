"""The library's code in the page: shown from the library itself, so that it cannot differ."""

import ast
import inspect
import textwrap

from IPython.display import display

from softlookup.checks import require


def show_source(*things: object) -> None:
    """Show the code of functions or classes of the library, docstrings cut to one sentence.

    Args:
        things: Functions and classes of ``softlookup``.

    Raises:
        ValueError: One of them is not of this library.
    """
    sources = [source_of(thing) for thing in things]
    page = "\n\n".join(f"```python\n{source}\n```" for source in sources)
    display({"text/markdown": page, "text/plain": "\n\n\n".join(sources)}, raw=True)


def source_of(thing: object) -> str:
    """The code of a function or class of the library, each docstring cut to its first sentence.

    Args:
        thing: A function or class of ``softlookup``.

    Raises:
        ValueError: It is not of this library.
    """
    module = getattr(thing, "__module__", None) or ""
    is_code = inspect.isfunction(thing) or inspect.isclass(thing)
    require(
        is_code and module.startswith("softlookup."),
        "show_source shows functions and classes of softlookup",
        thing=thing,
    )
    source = textwrap.dedent(inspect.getsource(thing))
    lines = [f"# {module}", *source.rstrip().splitlines()]
    for docstring in reversed(_docstrings(ast.parse(source))):
        first, last = docstring.lineno, docstring.end_lineno  # the comment above moved each by one
        head = lines[first].rstrip()
        if first != last:
            lines[first : last + 1] = [head if head.endswith('"""') else f'{head}"""']
    return "\n".join(lines)


def _docstrings(tree: ast.Module) -> list[ast.Expr]:
    owners = (ast.FunctionDef, ast.ClassDef)
    return sorted(
        (
            node.body[0]
            for node in ast.walk(tree)
            if isinstance(node, owners) and ast.get_docstring(node, clean=False) is not None
        ),
        key=lambda docstring: docstring.lineno,
    )
