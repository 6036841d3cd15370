"""A plugin of pytest: which names of the library a test calls, and how far its numbers are apart.

`make ledger` loads it. Of each test function are kept: the public names that it calls itself
("direct"), and those only called on the way ("reached"); how often its body ran (each example of
hypothesis is one case); and the worst error under each tolerance, by the bits of the numbers.
"""

import inspect
import json
import math
import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import torch

from reference_ledger import public_things

LIBRARY = f"{Path(__file__).resolve().parents[2] / 'lib' / 'softlookup'}{os.sep}"
DOOR = f"{LIBRARY}{os.path.join('checks', 'door.py')}"
SEEDS = 10
DEFAULTS = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5),
            torch.float32: (1.3e-6, 1e-5), torch.complex64: (1.3e-6, 1e-5),
            torch.float64: (1e-7, 1e-7), torch.complex128: (1e-7, 1e-7)}  # fmt: skip
"""The relative and absolute tolerance of torch.testing.assert_close, as documented."""


def codes_of(thing: object) -> set[int]:
    """The identities of a function's code, or of that of all methods of a class."""
    if not inspect.isclass(thing):
        members = [thing]
    else:
        ours = [base for base in thing.__mro__ if base.__module__.startswith("softlookup")]
        members = [member for base in ours for member in vars(base).values()]
    members = [getattr(m, "fget", None) or getattr(m, "__func__", m) for m in members]
    functions = [inspect.unwrap(member) for member in members if callable(member)]
    return {id(f.__code__) for f in functions if hasattr(f, "__code__")}


class Recorder:
    """What the tests of this process did."""

    def __init__(self) -> None:
        self.names = {thing: name for name, thing in public_things().items()}
        self.functions, self.methods = {}, set()
        for thing, name in self.names.items():
            if inspect.isclass(thing):
                self.methods |= codes_of(thing)
            else:
                self.functions |= dict.fromkeys(codes_of(thing), name)
        self.calls = defaultdict(lambda: {"direct": set(), "reached": set()})
        self.tests: dict[str, set] = defaultdict(set)  # the test and its fixtures
        self.cases = defaultdict(int)
        self.errors = defaultdict(lambda: defaultdict(float))
        self.test = self.caller = self.body = None
        self.caches = [thing for thing, name in self.names.items()
                       if name.startswith("data.") and hasattr(thing, "cache_clear")]  # fmt: skip

    def watch(self, frame, event, _) -> None:
        """What Python calls whenever a function is called."""
        if event != "call":
            return
        if frame.f_code is self.body:
            self.cases[self.test] += 1
            return
        names, calls = self.called(frame), self.calls[self.caller]
        if not names <= calls["direct"]:
            calls["direct" if _by_a_test(frame) else "reached"] |= names

    def called(self, frame) -> set[str]:
        """The public names that a call is one of: a method is one of its object's classes."""
        key = id(frame.f_code)
        if key in self.functions:
            return {self.functions[key]}
        if key not in self.methods:
            return set()
        first = frame.f_locals[frame.f_code.co_varnames[0]]
        kind = first if inspect.isclass(first) else type(first)
        return {self.names[base] for base in kind.__mro__ if base in self.names}

    def compared(self, actual, expected, rtol: float, atol: float) -> None:
        """Keep the worst error under this tolerance, the larger of the two.

        A comparison holds if |a − b| ≤ atol + rtol |b|. The error is the share of the right side
        that was used up, times the tolerance.
        """
        if self.test is None:
            return
        bits = torch.finfo(actual.dtype).bits if _is_float(actual) else 64
        a, b = (torch.as_tensor(x, dtype=torch.complex128).detach() for x in (actual, expected))
        far = torch.where(a == b, 0.0, (a - b).abs())
        share = (far / (atol + rtol * b.abs())).nan_to_num(0.0)
        tolerance, worst = max(rtol, atol), self.errors[self.test]
        key = f"{bits} {tolerance:g}"
        worst[key] = max(worst[key], *(tolerance * share).flatten().tolist(), 0.0)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        """What a fixture calls counts for every test that uses it, though it is made once."""
        outer = self.caller, sys.getprofile()
        self.caller = (fixturedef.func.__module__, fixturedef.argname)
        sys.setprofile(self.watch)
        try:
            return (yield)
        finally:
            self.caller = outer[0]
            sys.setprofile(outer[1])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        """Watch one test."""
        function = getattr(item, "function", None)
        inner = getattr(getattr(function, "hypothesis", None), "inner_test", function)
        self.body = getattr(inner, "__code__", None)
        self.test = self.caller = item.nodeid.split("[")[0]
        modules = (getattr(function, "__module__", None), "conftest")
        used = {key for key in self.calls
                if key[0] in modules and key[1] in getattr(item, "fixturenames", ())}  # fmt: skip
        self.tests[self.test] |= {self.test, *used}
        for function in self.caches:  # each test that asks shall be seen to ask
            function.cache_clear()
        sys.setprofile(self.watch)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            self.test = self.caller = self.body = None

    def pytest_sessionfinish(self) -> None:
        """Write down what this process has seen."""
        facts = {
            test: {
                "cases": self.cases[test],
                "errors": self.errors[test],
                **{kind: sorted(set().union(*(self.calls[by][kind] for by in parts)))
                   for kind in ("direct", "reached")},
            }
            for test, parts in self.tests.items()
        }  # fmt: skip
        path = Path(os.environ["LEDGER_FOLDER"]) / f"{os.getpid()}.json"
        path.write_text(json.dumps(facts), encoding="utf-8")


def _by_a_test(frame) -> bool:
    """Whether of test files and library, a test file is the nearest that led to this call."""
    while frame := frame.f_back:
        file = frame.f_code.co_filename
        if file == DOOR and frame.f_code.co_name == "call":  # between caller and called
            continue
        if file.startswith(LIBRARY):
            return False
        if os.path.basename(file).startswith(("test_", "conftest")):
            return True
    return False


def _is_float(x) -> bool:
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def _watch_comparisons(recorder: Recorder) -> None:
    """Let the comparisons that tests make tell the recorder of their numbers."""
    assert_close = torch.testing.assert_close

    def told(actual, expected, rtol, atol) -> None:
        if isinstance(actual, dict):
            actual, expected = actual.values(), [expected[key] for key in actual]
        if isinstance(actual, torch.Tensor) or not hasattr(actual, "__iter__"):
            default = DEFAULTS.get(torch.as_tensor(actual).dtype, (0.0, 0.0))
            if isinstance(actual, float):
                default = DEFAULTS[torch.float64]
            rtol, atol = default if rtol is None else (rtol, atol)
            recorder.compared(actual, expected, rtol, atol)
        else:
            for a, b in zip(actual, expected, strict=True):
                told(a, b, rtol, atol)

    def compare(actual, expected, *, rtol=None, atol=None, **options):
        assert_close(actual, expected, rtol=rtol, atol=atol, **options)
        told(actual, expected, rtol, atol)

    torch.testing.assert_close = compare

    approx = type(pytest.approx(1.0))
    equals = approx.__eq__

    def equal(self, actual) -> bool:
        found = equals(self, actual)
        if found and isinstance(self.expected, int | float) and math.isfinite(self.expected):
            rtol = (1e-6 if self.abs is None else 0.0) if self.rel is None else self.rel
            if self.tolerance == rtol * abs(self.expected) > 0:
                recorder.compared(actual, self.expected, rtol, 0.0)
            else:
                recorder.compared(actual, self.expected, 0.0, self.tolerance)
        return found

    approx.__eq__ = equal

    gradcheck = sys.modules["torch.autograd.gradcheck"]
    allclose = gradcheck._allclose_with_type_promotion

    def close(a, b, rtol, atol) -> bool:
        found = allclose(a, b, rtol, atol)
        if found:
            recorder.compared(a, b, rtol, atol)
        return found

    gradcheck._allclose_with_type_promotion = close


def pytest_generate_tests(metafunc) -> None:
    """What is compared with another package is drawn anew from several seeds."""
    if "parity" in metafunc.definition.path.parts and "generator" in metafunc.fixturenames:
        metafunc.parametrize("generator", range(SEEDS), indirect=True)


def pytest_configure(config) -> None:
    """Watch from the start; a test file that comes later imports what was put in its place."""
    recorder = Recorder()
    _watch_comparisons(recorder)
    config.pluginmanager.register(recorder)
