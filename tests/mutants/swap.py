"""Most bugs are tried without importing anything: a function that is there gets other code.

A process that has imported the library and read all tests forks for each bug. The child gives the
functions that the bug changes their new code and runs the tests that reach it. What it kills is
dead. What it cannot try (a bug in a default value, or in what runs when a module is imported), and
what lives here, is tried again on a copy of the library that has the bug from the start.
"""

import gc
import inspect
import json
import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from generate import Mutant
from trial import FAILED, PASSED, Limited, Slot

OWN = (
    "co_code",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_argcount",
    "co_kwonlyargcount",
    "co_posonlyargcount",
    "co_flags",
    "co_exceptiontable",
)
"""What makes a code what it is; not the lines on which it stands."""


def changed(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions whose own code differs between two texts of a module, and those around them.

    Raises:
        ValueError: What runs at import differs, or a function needs other variables from outside.
    """
    if _whole(before) == _whole(after):
        return
    function = before.co_flags & inspect.CO_OPTIMIZED
    if not function and _own(before) != _own(after):
        raise ValueError(f"{before.co_qualname} runs when the module is imported")
    if before.co_freevars != after.co_freevars:
        raise ValueError(f"{before.co_qualname} must take the same variables from outside")
    if function:
        yield before, after
    inner = _inner(before), _inner(after)
    if len(inner[0]) == len(inner[1]):
        for pair in zip(*inner, strict=True):
            yield from changed(*pair)


def _inner(code: CodeType) -> list[CodeType]:
    return [value for value in code.co_consts if isinstance(value, CodeType)]


def _own(code: CodeType) -> tuple:
    """A code without the codes in it; a constant with its type, for True equals 1."""
    values = [
        type(value).__name__ if isinstance(value, CodeType) else repr(value)
        for value in code.co_consts
    ]
    return *(getattr(code, name) for name in OWN), *values


def _whole(code: CodeType) -> tuple:
    return _own(code), *map(_whole, _inner(code))


class Functions:
    """All functions of the library in this process, found by their codes."""

    def __init__(self, slot: Slot) -> None:
        self.folder = slot.folder
        self.by_code = defaultdict(list)
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(
                str(slot.library)
            ):
                self.by_code[_name(one.__code__)].append(one)

    def plant(self, mutant: Mutant) -> None:
        """Give the functions that a bug changes their new code.

        Raises:
            ValueError: There is no such function, or more than functions is changed.
        """
        path = str(self.folder / mutant.file)
        sound = (self.folder / mutant.file).read_bytes()
        before, after = (compile(text, path, "exec") for text in (sound, mutant.planted(sound)))
        found = [
            (function, new)
            for old, new in changed(before, after)
            for function in self.by_code[_name(old)]
        ]
        if not found:
            raise ValueError(f"{mutant} must change a function")
        for function, new in found:
            function.__code__ = new


def _name(code: CodeType) -> tuple:
    return code.co_filename, code.co_qualname, code.co_firstlineno


class Swapped(Limited):
    """A plugin of pytest: reads all tests, and tries bugs on them instead of running them."""

    def __init__(
        self,
        slot: Slot,
        bugs: list[tuple[int, Mutant, list[str]]],
        seconds: Callable[[str], float],
    ) -> None:
        super().__init__(seconds)
        self.slot, self.bugs = slot, bugs
        self.stdout = os.dup(1)
        _record(slot).write_text("", encoding="utf-8")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork for each bug; write down which died of what."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        items = {item.nodeid: item for item in session.items}
        functions = Functions(self.slot)
        gc.collect()
        gc.freeze()
        begun = time.perf_counter()
        with _record(self.slot).open("a", encoding="utf-8", buffering=1) as record:
            for tried, (k, mutant, tests) in enumerate(self.bugs, start=1):
                chosen = [items[test] for test in tests if test in items]
                if killer := self.killer(session, functions, mutant, chosen):
                    record.write(json.dumps([k, killer]) + "\n")
                if tried % 100 == 0:
                    rate = 60 * tried / (time.perf_counter() - begun)
                    line = f"{tried:,} of {len(self.bugs):,}, {rate:.0f} a minute.\n"
                    os.write(self.stdout, line.encode())
        return True

    def killer(
        self, session: pytest.Session, functions: Functions, mutant: Mutant, items: list
    ) -> str | None:
        """The test that fails with a bug; None if none does, or if it cannot be tried here."""
        process = os.fork()
        if not process:
            status = PASSED
            with suppress(BaseException):
                os.setpgid(0, 0)
                functions.plant(mutant)
                status = _outcome(session, items)
            os._exit(status)
        _, status = os.waitpid(process, 0)
        result = self.slot.result(process, status)
        if result.status in (-signal.SIGPROF, -signal.SIGALRM):
            return f"{result.test} (never ends)"
        return result.test if result.status in (FAILED, -signal.SIGSEGV) else None


def _outcome(session: pytest.Session, items: list[pytest.Item]) -> int:
    """Run tests until one fails."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return FAILED
    return PASSED


def _record(slot: Slot) -> Path:
    return slot.folder / "killed.jsonl"


def killed_in(slot: Slot) -> dict[int, str]:
    """What a process has written down: for each dead bug, the test that killed it."""
    return dict(map(json.loads, _record(slot).read_text(encoding="utf-8").splitlines()))
