"""Which lines of the library each test runs: recorded once, then again only where it changed."""

import hashlib
import json
import os
import signal
import sys
import time
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

import pytest
from trial import FAILED, NONE_CHOSEN, PASSED, ROOT, Slot, run_all, test_files

RECORD = ROOT / "_build" / "mutants"
"""A file for each test file."""


OFTEN = 500
"""So many calls of a function by one test are watched; what is rarer than that takes too long."""


class Reach:
    """For each test: how long it takes, and which lines it runs, by file."""

    def __init__(self, parts: dict[str, dict], broken: list[str]) -> None:
        self.broken = broken
        """Tests that fail without a bug, so that nothing can be told from them."""
        self.tests: dict[str, dict] = {}
        for part in parts.values():
            self.tests |= part["tests"]
        self.size = {
            test: sum(map(len, seen["lines"].values())) for test, seen in self.tests.items()
        }
        self.by_line = lru_cache(maxsize=1)(self._by_line)  # bugs come file by file

    def _by_line(self, file: str) -> dict[int, set[str]]:
        """The tests that run each line of a file."""
        found = defaultdict(set)
        for test, seen in self.tests.items():
            for line in seen["lines"].get(file, ()):
                found[line].add(test)
        return found

    def tests_of(self, file: str, lines: tuple[int, int], inside: bool) -> list[str]:
        """The tests that run one of these lines, those first that run little else.

        A line that runs when the module is imported is tried on all tests that use the module; so
        is a line that no test was seen to run, for it may run in a process of its own.
        """
        by_line = self.by_line(file)
        found = set().union(*(by_line.get(n, ()) for n in range(lines[0], lines[1] + 1)))
        if not inside or not found:
            found = set().union(*by_line.values())
        return sorted(found, key=lambda test: (self.size[test], test))

    def seconds(self, test: str) -> float:
        return self.tests[test]["seconds"]


def reach(slots: list[Slot]) -> Reach:
    """What the tests run, from the record as far as it still holds; the rest is recorded now."""
    RECORD.mkdir(parents=True, exist_ok=True)
    files = [path.relative_to(ROOT).as_posix() for path in test_files()]
    parts = {file: part for file in files if (part := _known(file))}
    missing = [file for file in files if file not in parts]
    if missing:
        print(f"Recording which lines {len(missing)} of {len(files)} test files run.", flush=True)
    broken = []

    def start(slot: Slot, task: tuple[str, bool]) -> int:
        file, watched = task
        (slot.folder / "reach.json").unlink(missing_ok=True)
        return slot.start([file], Recorder(slot) if watched else None, "--maxfail=0")

    def done(slot: Slot, task: tuple[str, bool], result) -> tuple[str, bool] | None:
        file, watched = task
        seen_at = slot.folder / "reach.json"
        if seen_at.exists():
            seen = json.loads(seen_at.read_text(encoding="utf-8"))
            touched = sorted({name for test in seen.values() for name in test["lines"]})
            parts[file] = {"digest": _digest(file, touched), "touched": touched, "tests": seen}
        if result.status in (PASSED, NONE_CHOSEN) and file in parts:
            _record(file).write_text(json.dumps(parts[file]), encoding="utf-8")
        elif watched:
            return file, False  # to be watched takes its time, and some tests ask for the time
        else:
            tests = parts.get(file, {"tests": {}})["tests"]
            broken.extend(sorted(result.failed & tests.keys()) or [file])
            sound = {test: tests[test] for test in tests.keys() - result.failed}
            parts[file] = {"tests": sound if result.status == FAILED else {}}
        return None

    run_all([(file, True) for file in missing], start, done, slots)
    if broken:
        print("These fail without any bug; they are left out:", *broken, sep="\n", flush=True)
    return Reach(parts, broken)


def _record(file: str) -> Path:
    return RECORD / f"{Path(file).parent.name}.{Path(file).stem}.json"


def _known(file: str) -> dict | None:
    """What was recorded of a test file, if that and the library are still the same."""
    path = _record(file)
    part = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return part if part and part["digest"] == _digest(file, part["touched"]) else None


def _digest(file: str, touched: list[str]) -> str:
    """Of a test file, what stands beside it, the files of the library that it runs, and this."""
    folder = (ROOT / file).parent
    helpers = [
        path
        for path in (*folder.glob("*.py"), *folder.parent.glob("*.py"))
        if not path.name.startswith("test_")
    ]
    paths = [Path(__file__), ROOT / file, *sorted(helpers), *(ROOT / name for name in touched)]
    texts = [path.read_bytes() if path.exists() else b"" for path in paths]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


class Recorder:
    """A plugin of pytest: watches each test of this process."""

    def __init__(self, slot: Slot) -> None:
        self.path = slot.folder / "reach.json"
        self.root = f"{slot.folder}{os.sep}"
        self.library = f"{slot.library / 'softlookup'}{os.sep}"
        self.tests = defaultdict(lambda: {"seconds": 0.0, "lines": defaultdict(set)})
        self.fixtures = defaultdict(lambda: {"seconds": 0.0, "lines": defaultdict(set)})
        self.tracers = {}

    def watch(self, seen: dict) -> None:
        """From now on, note the lines that are run."""
        self.tracers = {}
        lines, tracers, library, start = seen["lines"], self.tracers, self.library, len(self.root)
        calls = defaultdict(int)

        def tracer_of(file: str):
            add = lines[file[start:]].add

            def trace(frame, event, _):
                if event == "line":
                    add(frame.f_lineno)
                return trace

            return trace

        def called(frame, event, _):
            file = frame.f_code.co_filename
            if not file.startswith(library):
                return None
            calls[frame.f_code] += 1
            if calls[frame.f_code] > OFTEN:
                return None
            if file not in tracers:
                tracers[file] = tracer_of(file)
            return tracers[file]

        sys.settrace(called)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Watch a test and its fixtures."""
        seen = self.tests[item.nodeid]
        begun = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 900)
        self.current = seen
        self.watch(seen)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            seen["seconds"] += time.perf_counter() - begun
            seen["fixtures"] = set(getattr(item, "fixturenames", ()))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        """What a fixture runs that is made once counts for every test that uses it."""
        if fixturedef.scope == "function":
            return (yield)
        seen = self.fixtures[fixturedef.argname]
        begun = time.perf_counter()
        self.watch(seen)
        try:
            return (yield)
        finally:
            seen["seconds"] += time.perf_counter() - begun
            self.watch(self.current)

    def pytest_sessionfinish(self) -> None:
        """Write down what was seen."""
        found = {}
        for test, seen in self.tests.items():
            parts = [seen, *(self.fixtures[name] for name in seen["fixtures"] & {*self.fixtures})]
            files = {file for part in parts for file in part["lines"]}
            found[test] = {
                "seconds": round(sum(part["seconds"] for part in parts), 3),
                "lines": {
                    file: sorted(set().union(*(part["lines"].get(file, ()) for part in parts)))
                    for file in sorted(files)
                },
            }
        self.path.write_text(json.dumps(found), encoding="utf-8")
