"""Bad input at every public door: a result, or an error in words that names the argument.

Each public callable's docstring example is run up to the call; then every argument in turn is
replaced by some forty wrong values. Each call must give a result, a ``ValueError``, or a
``TypeError``, and an error must be the library's own or name the argument: what NumPy or PyTorch
complain about from deep inside helps nobody. To see what is open in a package:

    python tests/unit/test_bad_input.py softlookup.attention
"""

import ast
import copy
import doctest
import enum
import faulthandler
import importlib
import inspect
import io
import linecache
import math
import os
import pkgutil
import re
import signal
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, chdir, contextmanager, redirect_stdout
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import FrameType
from typing import is_typeddict

import numpy as np
import pytest
import torch
from torch import Tensor

import softlookup

LIBRARY = os.path.dirname(softlookup.__file__) + os.sep
MACHINERY = {"capstone", "checks", "data", "exercises", "recorded", "show"}
EXAMPLE = "<example>"
SHOWN = 12
SECONDS = 5.0
GIGABYTES = 3


# what is tested


@dataclass(frozen=True)
class Target:
    """A public callable: a function, a class as its constructor, or a method of a class."""

    module: str
    thing: Callable
    method: str | None = None

    @property
    def name(self) -> str:
        name = self.thing.__name__
        return f"{self.module}.{name}" + (f".{self.method}" if self.method else "")

    def is_called_by(self, function: object) -> bool:
        """Whether a call of ``function`` is a call of this."""
        if self.method is None:
            return function is self.thing
        if self.method in ("forward", "__call__"):
            return isinstance(function, self.thing)
        if not inspect.ismethod(function) or function.__name__ != self.method:
            return False
        return function.__self__ is self.thing or isinstance(function.__self__, self.thing)

    def docstrings(self) -> list[str]:
        """Where an example of it may stand."""
        things = [self.thing]
        if self.method is not None:
            things = [getattr(self.thing, self.method), self.thing]
        return [inspect.getdoc(thing) or "" for thing in things]


def targets(prefix: str = "softlookup") -> list[Target]:
    """The public callables that are defined in the modules whose names begin so."""
    found = {}
    for module in _modules():
        for name, thing in vars(module).items():
            is_check = name.startswith(("_", "require"))
            if is_check or not callable(thing) or not hasattr(thing, "__name__"):
                continue
            home = getattr(thing, "__module__", None) or ""
            if _is_concept(home) and not _is_record(thing):
                whole = [] if _takes_nothing(thing) else [Target(home, thing)]
                for target in (*whole, *_methods(home, thing)):
                    found.setdefault(target.name, target)
    inside = re.compile(rf"{re.escape(prefix)}(\.|$)")
    return [found[name] for name in sorted(found) if inside.match(name)]


def _modules() -> Iterator[object]:
    yield softlookup
    for info in pkgutil.walk_packages(softlookup.__path__, "softlookup."):
        if info.name.split(".")[1] not in MACHINERY:
            yield importlib.import_module(info.name)


def _is_concept(home: str) -> bool:
    """Whether a module of this name is public and belongs to the lectures."""
    package, *rest = home.split(".")
    is_public = not any(part.startswith("_") for part in rest)
    return package == "softlookup" and is_public and not MACHINERY & set(rest[:1])


def _is_record(thing: object) -> bool:
    """Whether it is no function and has no constructor that could refuse anything."""
    if not isinstance(thing, type):
        return not inspect.isroutine(thing)
    is_tuple = issubclass(thing, tuple) and hasattr(thing, "_fields")
    is_protocol = getattr(thing, "_is_protocol", False)
    is_options = is_typeddict(thing)  # the function that takes them checks each one
    return is_tuple or is_protocol or is_options or issubclass(thing, BaseException | enum.Enum)


def _takes_nothing(thing: object) -> bool:
    """Whether it is a class whose constructor has no argument: one for others to stand on."""
    return isinstance(thing, type) and thing.__init__ is object.__init__


def _methods(home: str, thing: object) -> Iterator[Target]:
    """The public methods that an example calls, and what a call of an instance runs."""
    if not isinstance(thing, type):
        return
    for name, method in vars(thing).items():
        if name in ("forward", "__call__"):
            yield Target(home, thing, name)
        elif not name.startswith("_") and inspect.isroutine(getattr(thing, name)):
            texts = Target(home, thing, name).docstrings()
            if isinstance(method, property) or not any(f".{name}(" in _code(t) for t in texts):
                continue
            yield Target(home, thing, name)


def _code(docstring: str) -> str:
    return "".join(example.source for example in doctest.DocTestParser().get_examples(docstring))


# the call in the example


class Found(BaseException):
    """The call was reached: what is called, and with what."""

    def __init__(self, *call: object) -> None:
        super().__init__()
        self.call = call


class Noted(ast.NodeTransformer):
    """Lets each call ``f(x)`` pass through ``_noted(f, x)``."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        noted = ast.Name("_noted", ast.Load())
        return ast.copy_location(ast.Call(noted, [node.func, *node.args], node.keywords), node)


def call_of(target: Target) -> tuple[Callable, tuple, dict[str, object]] | None:
    """What the example calls and with which arguments, or None if there is no such call."""
    for docstring in target.docstrings():
        try:
            _run(target, docstring)
        except Found as found:
            return found.call
    return None


def _run(target: Target, docstring: str) -> None:
    is_refused = False

    def noted(function: Callable, /, *args: object, **named: object) -> object:
        if target.is_called_by(function) and not is_refused:
            raise Found(function, args, named)
        return function(*args, **named)

    torch.manual_seed(0)
    space = vars(sys.modules[target.module]) | {"_noted": noted, "__name__": "__main__"}
    for example in doctest.DocTestParser().get_examples(docstring):
        if doctest.SKIP in example.options:  # it needs the network
            continue
        is_refused = example.exc_msg is not None
        tree = ast.fix_missing_locations(Noted().visit(ast.parse(example.source)))
        try:
            exec(compile(tree, EXAMPLE, "exec"), space)
        except Exception:
            if not is_refused:
                raise


# the wrong values


class Nobody:
    """An object of no known class."""

    def __repr__(self) -> str:
        return "an object"


PLAIN: dict[str, Callable[[], object]] = {
    "None": lambda: None,
    "-1": lambda: -1,
    "0": lambda: 0,
    "2.5": lambda: 2.5,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "10**18": lambda: 10**18,
    "True": lambda: True,
    "''": lambda: "",
    "'no such'": lambda: "no such",
    "b'bytes'": lambda: b"bytes",
    "[]": lambda: [],
    "[1, 2]": lambda: [1, 2],
    "[None]": lambda: [None],
    "['a', 2.5]": lambda: ["a", 2.5],
    "[[1.0], [2.0, 3.0]]": lambda: [[1.0], [2.0, 3.0]],
    "()": lambda: (),
    "(1, 'a', None)": lambda: (1, "a", None),
    "{}": lambda: {},
    "{'a': None}": lambda: {"a": None},
    "{1, 2}": lambda: {1, 2},
    "a NumPy array": lambda: np.ones((2, 3)),
    "NumPy integers": lambda: np.arange(3),
    "an object": Nobody,
    "len": lambda: len,
    "int": lambda: int,
    "math": lambda: math,
}
"""Wrong values that do not depend on the right one."""
FUNCTIONS = {"len", "int"}
"""Right values where a function belongs."""


def tensors(right: object) -> dict[str, Callable[[], Tensor]]:
    """Wrong tensors; most have the right one's shape, so that one thing alone is wrong."""
    shape = tuple(right.shape) if isinstance(right, Tensor) else (2, 3)
    dtype = right.dtype if isinstance(right, Tensor) else torch.float32
    longer = tuple(size + 1 for size in shape)
    return {
        "0-d tensor": lambda: torch.ones((), dtype=dtype),
        "1-d tensor": lambda: torch.ones(2, dtype=dtype),
        "5-d tensor": lambda: torch.ones((1, 2, 1, 2, 1), dtype=dtype),
        "longer tensor": lambda: torch.ones(longer, dtype=dtype),
        "tensor, last axis longer": lambda: torch.ones(shape[:-1] + longer[-1:], dtype=dtype),
        "tensor, first axis longer": lambda: torch.ones(longer[:1] + shape[1:], dtype=dtype),
        "empty tensor": lambda: torch.ones([0] * len(shape), dtype=dtype),
        "tensor, last axis empty": lambda: torch.ones([*shape[:-1], 0], dtype=dtype),
        "float tensor": lambda: torch.ones(shape),
        "integer tensor": lambda: torch.ones(shape, dtype=torch.int64),
        "boolean tensor": lambda: torch.ones(shape, dtype=torch.bool),
        "complex tensor": lambda: torch.ones(shape, dtype=torch.complex64),
        "half tensor": lambda: torch.ones(shape, dtype=torch.float16),
        "tensor of -1": lambda: torch.full(shape, -1).to(dtype),
        "tensor of 10**12": lambda: torch.full(shape, 10**12).to(dtype),
        "tensor of NaN": lambda: torch.full(shape, math.nan),
    }


# one call


class Late(BaseException):
    """The call took too long."""


@contextmanager
def limits() -> Iterator[None]:
    """Five seconds of the processor; no files left, nothing printed, no warning passed over.

    A loop inside C cannot be interrupted: then, after a minute, the process ends with a traceback.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise Late

    before = signal.signal(signal.SIGPROF, stop)
    faulthandler.dump_traceback_later(60, exit=True, file=sys.__stderr__)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 1.0)
    try:
        with redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGPROF, before)


@contextmanager
def little_memory() -> Iterator[None]:
    """Within it, a list that grows without end meets a ``MemoryError`` before others suffer."""
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        yield
        return
    import resource

    used = int(statistics.read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + GIGABYTES * 2**30, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def trial(call: tuple[Callable, tuple, dict], name: str) -> str | None:
    """Call it; what is wrong with its answer, or None."""
    function, args, named = call
    try:
        with limits():
            _begin(function(*args, **named))
    except Late:
        return f"over {SECONDS:.0f} seconds"
    except (Exception, SystemExit) as error:
        return None if _is_answer(error, name) else _line(error)
    return None


def _begin(result: object) -> None:
    """A generator, or a context, has checked nothing before it begins."""
    if inspect.isgenerator(result):
        next(result, None)
        result.close()
    elif isinstance(result, AbstractContextManager) and hasattr(result, "gen"):
        with result:
            pass


def _is_answer(error: BaseException, name: str) -> bool:
    """Whether an error tells the caller what to mend.

    It is a ``ValueError`` or ``TypeError`` that names the argument, or a ``ValueError`` that the
    library wrote. What the example's own function raises, called back by the library, is the
    business of whoever wrote that function.
    """
    places = []
    trace = error.__traceback__
    while trace is not None:
        places.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    if any(file == EXAMPLE for file, _ in places):
        return True
    if not isinstance(error, ValueError | TypeError):
        return False
    file, number = places[-1]
    is_raised = linecache.getline(file, number).strip().startswith("raise ")
    if isinstance(error, ValueError) and file.startswith(LIBRARY) and is_raised:
        return True
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", str(error)) is not None


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text if len(text) <= 110 else f'{text[:107]}...'}"


# all calls of one callable


@dataclass(frozen=True)
class Failure:
    """A call that was answered badly."""

    argument: str
    value: str
    error: str


class Cases:
    """The example's call, again and again with one argument replaced."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.call = call_of(target)
        self.is_copied = True

    def fresh(self) -> tuple[Callable, tuple, dict[str, object]]:
        """The call as the example makes it; what an earlier call has changed does not show."""
        if self.is_copied:
            try:
                return copy.deepcopy(self.call)
            except Exception:  # a generator, or a tensor in the middle of a graph
                self.is_copied = False
        return call_of(self.target)

    def arguments(self) -> Iterator[tuple[inspect.Parameter, int | str, object]]:
        """Each argument, its place (a number or a keyword) and its right value."""
        function, args, named = self.call
        parameters = self._parameters(function)
        by_name = {parameter.name: parameter for parameter in parameters}
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        positional = [p for p in parameters if p.kind in kinds]
        rest = next((p for p in parameters if p.kind == p.VAR_POSITIONAL), None)
        for k, value in enumerate(args):
            yield (positional[k] if k < len(positional) else rest), k, value
        for name, value in named.items():
            keyword = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
            yield by_name.get(name, keyword), name, value
        for parameter in parameters:
            is_given = parameter.name in named or parameter in positional[: len(args)]
            is_named = parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            if is_named and not is_given:
                yield parameter, parameter.name, parameter.default

    def _parameters(self, function: Callable) -> list[inspect.Parameter]:
        if self.target.method in ("forward", "__call__"):
            function = getattr(function, self.target.method)
        return list(inspect.signature(function).parameters.values())

    def failures(self) -> Iterator[Failure | None]:
        """For each call None, or what is wrong with its answer."""
        for parameter, place, right in list(self.arguments()):
            name = parameter.name
            values = PLAIN | tensors(right)
            if "Callable" in str(parameter.annotation) or inspect.isroutine(right):
                values = {words: make for words, make in values.items() if words not in FUNCTIONS}
            for words, make in values.items():
                function, args, named = self.fresh()
                if isinstance(place, int):
                    args = (*args[:place], make(), *args[place + 1 :])
                else:
                    named = named | {place: make()}
                error = trial((function, args, named), name)
                yield None if error is None else Failure(name, words, error)


def failures(target: Target) -> tuple[list[Failure], int]:
    """What is wrong with a callable, and how many calls were made."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(io.StringIO()):
        cases = Cases(target)
        if cases.call is None and is_dataclass(target.thing) and target.method is None:
            return [], 0  # no reader makes one: a function returns it
        if cases.call is None:
            return [Failure("-", "-", "has no example that calls it with good arguments")], 0
        with little_memory():
            answers = list(cases.failures())
    return [answer for answer in answers if answer is not None], len(answers)


def report(target: Target, wrong: list[Failure], n_calls: int) -> str:
    """The failures of one callable, those alike on one line."""
    alike = defaultdict(list)
    for failure in wrong:
        alike[failure.argument, failure.error.split(":")[0]].append(failure)
    lines = [f"{target.name}: {len(wrong)} of {n_calls} calls"]
    for (argument, _), group in alike.items():
        values = "; ".join(failure.value for failure in group[:SHOWN])
        values += f"; and {len(group) - SHOWN} more" if len(group) > SHOWN else ""
        lines.append(f"    {argument} <- {values}\n        {group[0].error}")
    return "\n".join(lines)


ALL = targets() if __name__ != "__main__" else []


@pytest.mark.bad_input
@pytest.mark.parametrize("target", ALL, ids=[target.name for target in ALL])
def test_every_argument_refuses_bad_input_in_words(target):
    wrong, n_calls = failures(target)
    assert not wrong, report(target, wrong, n_calls)


def main(prefix: str = "softlookup") -> None:
    """Print what is open in the modules whose names begin so."""
    torch.set_num_threads(1)
    n_wrong, n_all, chosen = 0, 0, targets(prefix)
    for target in chosen:
        try:
            wrong, n_calls = failures(target)
        except Exception as error:
            wrong, n_calls = [Failure("-", "-", f"its example fails: {_line(error)}")], 0
        n_wrong, n_all = n_wrong + len(wrong), n_all + n_calls
        if wrong:
            print(report(target, wrong, n_calls), flush=True)
    print(f"{n_wrong} failures among {n_all} calls of {len(chosen)} callables")


if __name__ == "__main__":
    main(*sys.argv[1:])
