"""The repository's address: it stands in `_config.yml`, and one command sets it everywhere.

    make address URL=https://github.com/OWNER/NAME

Without an address, `python _ext/address.py` says which files name another than `_config.yml`.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(r"https://github\.com/[A-Za-z0-9](-?[A-Za-z0-9]){0,38}/(?!\.{1,2}$)[\w.-]{1,100}",
                     re.ASCII)  # fmt: skip
CONFIG = re.compile(r"(?<=^repository:\n  url: )\S+", re.MULTILINE)
PLACES = {  # where an address must stand, whatever it is
    "_config.yml": CONFIG,
    "CITATION.cff": re.compile(r"(?<=^repository-code: )\S+", re.MULTILINE),
    "chapters/*.ipynb": re.compile(r'(?<=%pip install -q \\"git\+)[^"\\]+'),
}
TEXTS = (
    "README.md",
    "CONTRIBUTING.md",
    "intro.md",
    "pyproject.toml",
    "CITATION.cff",
    "chapters/*.md",
    "chapters/*.ipynb",
)


def configured(root: Path = ROOT) -> str:
    """The address in `_config.yml`."""
    found = CONFIG.findall((root / "_config.yml").read_text(encoding="utf-8"))
    if len(found) != 1:
        raise ValueError(f"_config.yml must name one address of the repository; got {found}")
    return found[0]


def set_address(url: str, root: Path = ROOT) -> list[str]:
    """Write an address wherever one stands; the files that changed.

    Raises:
        ValueError: It is no address of a repository, or a file has no place for it. Then nothing
            is written.
    """
    if not ADDRESS.fullmatch(url) or url.endswith(".git"):
        form = "https://github.com/OWNER/NAME"
        raise ValueError(f"the address must have the form {form}; got {url!r}")
    old = mention(configured(root))
    texts = {path: path.read_text(encoding="utf-8") for path in files(root)}
    changed = {}
    for path, text in texts.items():
        new = old.sub(url.removeprefix("https://"), text)
        if pattern := place(path, root):
            new, n = pattern.subn(url, new)
            if n != 1:
                name = path.relative_to(root).as_posix()
                raise ValueError(f"{name} must name the address once in its place; got {n}")
        if new != text:
            changed[path] = new
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
    return [path.relative_to(root).as_posix() for path in changed]


def differing(root: Path = ROOT) -> list[str]:
    """The files that name another address in its place than `_config.yml` does, or none."""
    url = configured(root)
    return [
        path.relative_to(root).as_posix()
        for path in files(root)
        if (pattern := place(path, root))
        and pattern.findall(path.read_text(encoding="utf-8")) != [url]
    ]


def files(root: Path) -> list[Path]:
    """All files in which an address may stand."""
    return sorted({path for pattern in (*PLACES, *TEXTS) for path in root.glob(pattern)})


def place(path: Path, root: Path) -> re.Pattern | None:
    """Where the address must stand in a file; None for a file that need not name it."""
    fits = (pattern for glob, pattern in PLACES.items() if path in root.glob(glob))
    return next(fits, None)


def mention(url: str) -> re.Pattern:
    """The address within a text, also in a longer link or at the end of a sentence."""
    bare = re.escape(url.removeprefix("https://"))
    return re.compile(bare + r"(?![\w-]|\.(?!git\b)\w)")


def main() -> int:
    """Set the address that is given; without one, say where addresses differ."""
    try:
        if len(sys.argv) == 2 and sys.argv[1]:
            changed = set_address(sys.argv[1])
            print(f"The address is {configured()}; {len(changed)} files changed.")
            return 0
        wrong = differing()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"The address is {configured()}.", *(f"{name} differs." for name in wrong), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
