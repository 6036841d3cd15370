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
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("unit", "gradient", "property", "parity")
"""The folders of the tests that are run: those that need neither the book nor a browser."""
MEMORY = 8 << 30
FAILED, BROKEN, UNSTARTED = 1, 2, 4
"""What pytest exits with: a test failed; a test file cannot be read; the library neither."""
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
    """The test that failed first, or the last one that was started."""
    failed: frozenset[str]
    """All tests that failed."""
    output: str


class Slot:
    """A folder with a copy of the library, for one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.library = folder, folder / "lib"
        shutil.copytree(ROOT / "lib", self.library, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(self.library, quiet=1)
        self.sound: dict[Path, tuple[bytes, tuple[int, int]]] = {}

    def plant(self, file: str, text: bytes) -> None:
        """Give one file of the copy another text; the one changed before is sound again."""
        for path, (sound, times) in self.sound.items():
            path.write_bytes(sound)
            os.utime(path, ns=times)  # what is compiled is known by it
        path = self.folder / file
        compiled = Path(cache_from_source(str(path)))
        files = [one for one in (path, compiled) if one.exists()]
        stats = [one.stat() for one in files]
        self.sound = {
            one: (one.read_bytes(), (stat.st_atime_ns, stat.st_mtime_ns))
            for one, stat in zip(files, stats, strict=True)
        }
        compiled.unlink(missing_ok=True)
        path.write_bytes(text)

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
        for name in ("test", "failed"):
            (self.folder / name).write_text("", encoding="utf-8")

    def result(self, process: int, status: int) -> Result:
        """What a process that ended has left; the processes that it started are stopped."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)
        test, failed, log = (
            (self.folder / name).read_text(encoding="utf-8", errors="replace")
            for name in ("test", "failed", "log")
        )
        return Result(os.waitstatus_to_exitcode(status), test, frozenset(failed.split("\n")), log)


class Limited:
    """A plugin of pytest: each test within its time, and of its examples none made smaller."""

    def __init__(self, seconds: Callable[[str], float]) -> None:
        self.seconds = seconds

    def pytest_configure(self) -> None:
        """An example of hypothesis that fails is not made smaller: nobody reads it."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings.get_profile("book"), phases=phases)
        settings.load_profile("mutants")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        """The process is stopped if a test computes ten times as long as it should."""
        usual = self.seconds(item.nodeid)
        signal.setitimer(signal.ITIMER_PROF, 3 + 10 * usual)
        signal.setitimer(signal.ITIMER_REAL, 100 + 50 * usual)
        return (yield)


class Progress:
    """A plugin of pytest that writes down which test runs, and which failed."""

    def __init__(self, slot: Slot) -> None:
        self.running, self.failed = slot.folder / "test", slot.folder / "failed"
        self.any_failed = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        if not self.any_failed:
            self.running.write_text(nodeid, encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of a test has ended."""
        self.told(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file has been read."""
        self.told(report)

    def told(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        """Keep who failed."""
        if report.failed:
            if not self.any_failed:
                self.running.write_text(report.nodeid, encoding="utf-8")
            self.any_failed = True
            with self.failed.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")


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
