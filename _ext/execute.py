"""Execute the chapters once, in parallel, through nbmake, and keep their outputs for the book.

    python _ext/execute.py          the chapters whose outputs are missing or out of date
    python _ext/execute.py --all    all of them, as the tests do
    python _ext/execute.py --again  all of them twice, and compare what they print

The outputs go into the cache that `jupyter-book build` reads. That cache knows when a notebook
changed, but not when the library, the lock or a data set did: `drop_stale` empties it then.
"""

import argparse
import copy
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pooch
import pytest
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn

from registry import NUMBER, notebooks
from screen import Screen
from watch import Watch

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".jupyter_cache"
STAGE = ROOT / ".executed"  # nbmake passes over every path that holds "_build"
# The site shows the small trainings, also where it is built beside a GPU.
SURROUNDINGS = {"OMP_NUM_THREADS": "1", "SOFTLOOKUP_STATIC": "1", "SOFTLOOKUP_TIER": "cpu"}


def chapters() -> list[Path]:
    """The notebooks of the book."""
    return [page.path for page in notebooks()]


def fingerprint() -> str:
    """A digest of all that a chapter's outputs depend on, beside its own cells."""
    digest = hashlib.sha256(sys.version.encode())
    library = sorted((ROOT / "lib" / "softlookup").rglob("*"))
    for path in [*library, ROOT / "requirements.txt"]:
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(str(path.relative_to(ROOT)).encode())
            digest.update(path.read_bytes())
    for path in _fetched_data():
        digest.update(f"{path.name} {path.stat().st_size}".encode())
    return digest.hexdigest()


def drop_stale() -> str:
    """Empty the cache if its outputs come from another library, lock or data; the fingerprint."""
    stamp, now = CACHE / "fingerprint", fingerprint()
    if not stamp.exists() or stamp.read_text() != now:
        times = seconds()
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir()
        stamp.write_text(now)
        note_seconds(times)
    return now


def seconds() -> dict[str, float]:
    """How long each notebook took here when it ran last, by its file's name."""
    file = CACHE / "seconds.json"
    return json.loads(file.read_text()) if file.exists() else {}


def note_seconds(times: dict[str, float]) -> None:
    """Remember how long notebooks took; an emptied cache keeps this."""
    (CACHE / "seconds.json").write_text(json.dumps(seconds() | times))


def execute(
    notebooks: list[Path], keeper: Callable[[Path, nbformat.NotebookNode], None]
) -> dict[Path, nbformat.NotebookNode]:
    """Run notebooks through nbmake, two at a time; stop with what is wrong if one fails.

    Args:
        notebooks: The notebooks; only copies of them are run and written.
        keeper: Is given each one with its outputs as soon as it has run without an error, whatever
            becomes of the others.
    """
    shutil.rmtree(STAGE, ignore_errors=True)
    staged = {STAGE / path.relative_to(ROOT): path for path in notebooks}
    for copied, path in staged.items():
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copied)
    sources = {copied: nbformat.read(copied, as_version=4) for copied in staged}
    executed = {}

    def finished(copied: Path, took: float) -> None:
        executed[staged[copied]] = _outputs(sources[copied], copied)
        keeper(staged[copied], executed[staged[copied]])
        note_seconds({copied.name: took})

    watch = Watch(list(staged), finished, seconds(), Screen())
    workers = str(min(2, len(notebooks)))
    code = pytest.main(
        ["-n", workers, "--dist", "worksteal", "--nbmake", "--nbmake-timeout=600", "--overwrite",
         "--rootdir", str(STAGE), "-c", os.devnull, "-p", "no:cacheprovider", *map(str, staged)],
        plugins=[watch],
    )  # fmt: skip
    if code or len(executed) < len(notebooks):
        sys.exit(_what_became(watch, interrupted=code == pytest.ExitCode.INTERRUPTED))
    shutil.rmtree(STAGE)
    return executed


def _what_became(watch: Watch, *, interrupted: bool) -> str:
    """The whole tracebacks of what failed, and last what was kept."""
    reports = [f"The whole report of {name}:\n\n{text}" for name, text in watch.failed.items()]
    ends = [f"{len(watch.done)} of {watch.all} notebooks are done and kept."]
    if watch.failed:
        ends.append(f"Failed: {', '.join(Path(name).stem for name in watch.failed)}.")
    if interrupted:
        ends.append("Interrupted.")
    return "\n\n".join([*reports, " ".join([*ends, "The next run executes the others alone."])])


def keep(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Put an executed notebook into the cache that the book is built from."""
    bundle = CacheBundleIn(notebook, str(path))
    get_cache(str(CACHE)).cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def kept(path: Path) -> nbformat.NotebookNode | None:
    """The executed notebook that the cache holds for a chapter, or None."""
    notebook = nbformat.read(path, as_version=4)
    try:
        return get_cache(str(CACHE)).merge_match_into_notebook(notebook)[1]
    except KeyError:
        return None


def text_outputs(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """What each cell printed or showed as text, streams merged; measurements left out."""
    texts = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and "measurement" not in cell.metadata.get("tags", []):
            parts = [
                output.text if "text" in output else output.get("data", {}).get("text/plain", "")
                for output in cell.outputs
            ]
            texts[cell.id] = "".join(parts)
    return texts


def compare(path: Path, first: nbformat.NotebookNode, second: nbformat.NotebookNode) -> list[str]:
    """The cells of a chapter whose text differs between two runs, with both texts."""
    before, after = text_outputs(first), text_outputs(second)
    return [
        f"{path.name}, cell {key}:\n--- first\n{before[key]}\n--- again\n{after[key]}"
        for key in before
        if before[key] != after[key]
    ]


def _outputs(source: nbformat.NotebookNode, executed: Path) -> nbformat.NotebookNode:
    """The source notebook with the executed one's outputs, and nothing else of it (no times)."""
    notebook = copy.deepcopy(source)
    run = nbformat.read(executed, as_version=4)
    for cell, ran in zip(notebook.cells, run.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs = joined(ran.outputs)
            cell.execution_count = ran.execution_count
    return notebook


def joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """What a cell printed without a break as one output; a slow cell sends it in pieces."""
    found = []
    for output in copy.deepcopy(outputs):
        last = found[-1] if found else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            found.append(output)
    return found


def cache_folder() -> Path:
    """What ``softlookup.data.downloads.cache_folder`` says, without loading PyTorch to ask it."""
    return Path(os.environ.get("SOFTLOOKUP_DATA") or pooch.os_cache("softlookup"))


def _fetched_data() -> list[Path]:
    folder = cache_folder()
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []


def setup(app) -> dict:
    """As a Sphinx extension: no page is built from outputs of another library, lock or data."""
    os.environ["SOFTLOOKUP_STATIC"] = "1"
    now = drop_stale()

    def outdated(app, env, added, changed, removed):
        stale = getattr(env, "softlookup_fingerprint", now) != now
        env.softlookup_fingerprint = now
        names = [str(path.relative_to(ROOT).with_suffix("")) for path in chapters()]
        return [name for name in names if name in env.found_docs] if stale else []

    app.connect("env-get-outdated", outdated)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def chosen(names: list[str]) -> list[Path]:
    """The notebooks with these names, without their numbers; all of them if none is named."""
    by_name = {NUMBER.sub("", path.stem): path for path in chapters()}
    if unknown := [name for name in names if name not in by_name]:
        sys.exit(f"No notebook is named {', '.join(unknown)}; there are {', '.join(by_name)}.")
    return [by_name[name] for name in names] or list(by_name.values())


def main() -> None:
    """Execute what is due."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="also what is up to date")
    parser.add_argument("--again", action="store_true", help="run all twice, compare the text")
    parser.add_argument("names", nargs="*", help="these chapters alone, such as attention")
    options = parser.parse_args()
    drop_stale()
    before = {path: kept(path) for path in chosen(options.names)}
    everything = options.all or options.again or options.names
    due = [path for path, notebook in before.items() if everything or notebook is None]
    if not due:
        print("All chapters are up to date.")
        return
    print(f"Executing {len(due)} of {len(before)} notebooks, two at a time.", flush=True)
    os.environ.update(SURROUNDINGS)
    executed = execute(due, keep)
    if options.again:
        say_whether_same(executed, execute(due, keeper=lambda path, notebook: None))


def say_whether_same(first: dict, again: dict) -> None:
    """Stop with the differences if two executions of the chapters printed different text."""
    differences = [line for path in first for line in compare(path, first[path], again[path])]
    if differences:
        sys.exit("Two runs differ.\n" + "\n".join(differences))
    print(f"{len(first)} notebooks printed the same text twice.")


if __name__ == "__main__":
    main()
