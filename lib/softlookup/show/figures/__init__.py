"""The figures that answer: a folder each, and nothing else lists them.

The folder ``similarity_plane`` holds the class ``SimilarityPlane`` in its ``__init__.py``, what the
page does in ``figure.js``, its arithmetic in ``maths.js``, and its looks in ``style.css``, whose
classes have a prefix of their own. What several figures need is in the kit beside this folder.
"""

from importlib import import_module
from pkgutil import iter_modules


def _found(folder: str) -> tuple[str, type]:
    name = folder.title().replace("_", "")
    return name, getattr(import_module(f"{__name__}.{folder}"), name)


FIGURES = dict(_found(folder.name) for folder in iter_modules(__path__))
"""The class of each figure, by its name."""
