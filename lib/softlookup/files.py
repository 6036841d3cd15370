"""Files that are whole or not there: the new one takes the old one's place in one step."""

import os
from pathlib import Path

from softlookup.checks import checked, require


@checked
def replace_file(path: str | os.PathLike, content: bytes) -> None:
    """Write a file beside its place, then move it there: a reader finds the old one or the new one.

    Args:
        path: The file. One that exists is replaced.
        content: All that it shall hold.

    Raises:
        ValueError: ``path`` names no file.
        OSError: The folder does not exist or cannot be written; the old file stays as it was.

    Chapter: word2vec#saving.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "note.txt"
        >>> replace_file(path, b"whole")
        >>> path.read_bytes()
        b'whole'
    """
    path = Path(path)
    require(path.name != "", "path must name a file", path=str(path))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
