"""Files that are whole or not there: the new one takes the old one's place in one step."""

import os
from collections.abc import Mapping
from pathlib import Path

import safetensors
from safetensors.torch import save
from torch import Tensor

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


@checked
def save_tensors(
    path: str | os.PathLike,
    tensors: Mapping[str, Tensor],
    texts: Mapping[str, str],
    *,
    kind: str,
    version: str,
) -> None:
    """Write tensors, and texts about them, to a safetensors file; nothing is pickled.

    Args:
        path: The file. One that exists is replaced.
        tensors: On any device. No two of them may share memory.
        texts: What the reader must know beside the numbers, by name.
        kind: What the file is, such as "softlookup.word2vec".
        version: Of its form.

    Raises:
        ValueError: The folder does not exist.

    Chapter: word2vec#saving.

    Example:
        >>> from tempfile import mkdtemp
        >>> import torch
        >>> path = Path(mkdtemp()) / "small.safetensors"
        >>> save_tensors(path, {"x": torch.ones(2)}, {"of": "ones"}, kind="toy", version="1")
        >>> load_tensors(path, kind="toy", version="1")
        ({'x': tensor([1., 1.])}, {'of': 'ones'})
    """
    path = Path(path)
    require(path.parent.is_dir(), "the folder of the file must exist", folder=str(path.parent))
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    replace_file(path, save(plain, {"format": kind, "version": version, **texts}))


@checked
def tensors_and_texts(
    path: str | os.PathLike, what: str
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """All that a safetensors file holds, whoever wrote it; nothing is unpickled or executed.

    Args:
        path: The file.
        what: Of what it must be, for the words of the error: "a GPT".

    Returns:
        The tensors and the texts, by name; a file without texts has none.

    Raises:
        ValueError: There is no such file, or it is cut short or damaged.

    Chapter: word2vec#saving.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "empty.safetensors"
        >>> replace_file(path, save({}, {"by": "others"}))
        >>> tensors_and_texts(path, "tensors")
        ({}, {'by': 'others'})
    """
    path = Path(path)
    require(path.is_file(), f"there must be a file of {what}", path=str(path))
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            texts = dict(file.metadata() or {})
            names = file.keys()
            return {name: file.get_tensor(name) for name in names}, texts
    except safetensors.SafetensorError as error:
        raise ValueError(f"the file must be whole safetensors; got {error}") from error


@checked
def load_tensors(
    path: str | os.PathLike, *, kind: str, version: str
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read what ``save_tensors`` wrote, bit for bit; nothing is unpickled or executed.

    Args:
        path: The file.
        kind: What it must be.
        version: Of its form.

    Returns:
        The tensors and the texts, by name.

    Raises:
        ValueError: There is no such file, it is cut short or damaged, or it is of another kind or
            version.

    Chapter: word2vec#saving.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "empty.safetensors"
        >>> save_tensors(path, {}, {}, kind="toy", version="1")
        >>> load_tensors(path, kind="toy", version="1")
        ({}, {})
        >>> load_tensors(path, kind="toy", version="2")
        Traceback (most recent call last):
        ValueError: the file must be toy, version 2; got format='toy', version='1'
    """
    tensors, texts = tensors_and_texts(path, f"kind {kind}")
    found = {name: texts.pop(name, None) for name in ("format", "version")}
    is_ours = found == {"format": kind, "version": version}
    require(is_ours, f"the file must be {kind}, version {version}", **found)
    return tensors, texts
