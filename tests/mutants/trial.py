"""Tests run in forked processes, each on a copy of the library that may hold a bug.

The parent has imported PyTorch and the other packages, but neither the library nor a test: a child
starts in some hundredths of a second, imports the copy, and is stopped when it computes for too
long or takes too much memory.
"""

import ast
import compileall
import gc
import importlib
import os
import resource
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("unit", "gradient", "property", "parity")
"""The folders of the tests that are run: those that need neither the book nor a browser."""
MEMORY = 8 << 30
FAILED, BROKEN = 1, 2  # what pytest exits with: a test failed; a test file cannot be read
PASSED, NONE_CHOSEN = 0, 5
LEFT_OUT = ("cacheprovider", "faulthandler", "unraisableexception", "threadexception")
OPTIONS = ["-x", "-q", "--tb=short", *(f"-pno:{plugin}" for plugin in LEFT_OUT)]


def test_files() -> list[Path]:
    """The files of tests, in an order that stays."""
    return [path for kind in KINDS for path in sorted((ROOT / "tests" / kind).glob("test_*.py"))]


def preload() -> None:
    """Import all that the tests and the library import from elsewhere: every child has it then."""
    own = {path.stem for path in (*ROOT.glob("tests/**/*.py"), *ROOT.glob("_ext/*"))}
    imports = {
        pair for path in (*test_files(), *ROOT.glob("lib/**/*.py")) for pair in _imports(path)
    }
    foreign = [pair for pair in imports if pair[0].split(".")[0] not in own | {"softlookup"}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module, name in sorted(foreign):
            with suppress(ImportError):
                getattr(importlib.import_module(module), name, None)  # some import at this alone
    gc.freeze()  # what is there already is not looked through for garbage


def _imports(path: Path) -> Iterator[tuple[str, str]]:
    """The modules that a file imports, each with a name from it."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from ((name.name, "") for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, name.name) for name in node.names)


class Result(NamedTuple):
    """How a run of tests ended."""

    status: int
    """What pytest exits with, or minus the signal that stopped the process."""
    test: str
    """The test that failed, or the last one that was started."""
    output: str


class Slot:
    """A folder with a copy of the library, for one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.library = folder, folder / "lib"
        shutil.copytree(ROOT / "lib", self.library, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(self.library, quiet=1)

    @contextmanager
    def holding(self, file: str, text: bytes):
        """While it lasts, one file of the copy has another text."""
        path = self.folder / file
        sound, times = path.read_bytes(), path.stat()
        compiled = Path(cache_from_source(str(path)))
        kept = compiled.read_bytes() if compiled.exists() else None
        compiled.unlink(missing_ok=True)
        path.write_bytes(text)
        try:
            yield
        finally:
            path.write_bytes(sound)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            compiled.unlink(missing_ok=True)
            if kept is not None:
                compiled.write_bytes(kept)

    def start(self, files: list[str], plugin: object | None, *options: str) -> int:
        """Fork a process that runs the tests of some files with a plugin; its number."""
        sys.stdout.flush()
        process = os.fork()
        if process:
            with suppress(OSError):
                os.setpgid(process, process)
            return process
        status = BROKEN
        try:
            os.setpgid(0, 0)
            log = os.open(self.folder / "log", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
            os.dup2(log, 1)
            os.dup2(log, 2)
            self._enter()
            options = [*OPTIONS, f"--basetemp={self.folder / 'tmp'}", *options]
            plugins = [Progress(self), *([plugin] if plugin else [])]
            status = pytest.main([*options, *files], plugins=plugins)
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(int(status))

    def _enter(self) -> None:
        """Let this process, and those that it starts, import the copy, within limits."""
        os.chdir(ROOT)
        sys.path.insert(0, str(self.library))
        os.environ |= {"PYTHONPATH": str(self.library), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, hard))
        signal.setitimer(signal.ITIMER_REAL, 900)
        (self.folder / "test").write_text("", encoding="utf-8")

    def result(self, process: int, status: int) -> Result:
        """What a process that ended has left; the processes that it started are stopped."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)
        log = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
        test = (self.folder / "test").read_text(encoding="utf-8")
        return Result(os.waitstatus_to_exitcode(status), test, log)


class Progress:
    """A plugin of pytest that writes down which test runs, or which has failed."""

    def __init__(self, slot: Slot) -> None:
        self.path, self.failed = slot.folder / "test", False

    def note(self, test: str) -> None:
        if not self.failed:
            self.path.write_text(test, encoding="utf-8")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.note(nodeid)

    def pytest_runtest_logreport(self, report) -> None:
        self._told(report)

    def pytest_collectreport(self, report) -> None:
        self._told(report)

    def _told(self, report) -> None:
        if report.failed:
            self.note(report.nodeid)
            self.failed = True


def run_all(tasks: list, start: Callable, done: Callable, slots: list[Slot]) -> None:
    """Work off a list, one task a slot at a time, in as many processes as there are slots.

    ``start(slot, task)`` starts a process and gives its number. ``done(slot, task, result)`` is
    told how it ended; what it gives back, if anything, is the slot's next task.
    """
    waiting, running, free = list(tasks)[::-1], {}, list(slots)
    while waiting or running:
        while waiting and free:
            slot, task = free.pop(), waiting.pop()
            running[start(slot, task)] = slot, task
        process, status = os.wait()
        slot, task = running.pop(process)
        following = done(slot, task, slot.result(process, status))
        if following is None:
            free.append(slot)
        else:
            running[start(slot, following)] = slot, following
