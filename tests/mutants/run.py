"""`make mutants`: plant bugs in a copy of the library; fail if the tests let one of them live.

Some were written by people and stand in mutants.json: the file, the text to find in it (once), what
replaces it, and why somebody might write that. Some of these were seen in public projects: their
"bug" is the number of a class in classes.json. All others are made from the syntax tree, see
generate.py; those that change nothing stand in equivalent.json, each with its reason.

A bug is tried on the tests that run its line, those first that run little else; a test that fails
kills it, and so does one that takes far too long. That they pass without a bug is seen first.

    run.py                       all
    run.py --shard 1/8           the first eighth of them
    run.py --written             those in mutants.json
    run.py --bugs                the classes of bugs; bugs.json keeps the test that killed each
    run.py ops softmax           those whose file, function or change holds all these words
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

from generate import Mutant, mutants_of
from reach import Reach, reach
from swap import Swapped, killed_in
from trial import (
    BROKEN,
    FAILED,
    NONE_CHOSEN,
    PASSED,
    ROOT,
    UNSTARTED,
    Limited,
    Slot,
    preload,
    run_all,
    test_files,
)

HERE = Path(__file__).parent
MUTANTS, CLASSES = HERE / "mutants.json", HERE / "classes.json"
EQUIVALENT, RESULT = HERE / "equivalent.json", HERE / "bugs.json"
LIBRARY = ROOT / "lib" / "softlookup"
MACHINERY = ("data", "exercises", "show")
"""Packages without generated bugs: their tests are those of the book."""
AT_ONCE = 2
FIRST = 12
"""So many tests are tried in a first process; only if they pass, the others are read at all."""


def written() -> list[Mutant]:
    """The bugs of mutants.json; a text that does not stand in its file once ends the run."""
    found, faults = [], []
    for entry in json.loads(MUTANTS.read_text(encoding="utf-8")):
        try:
            found.append(as_mutant(**entry))
        except (OSError, SyntaxError, ValueError) as fault:
            faults.append(f"{entry['file']}: {entry['why']}: {fault}")
    if faults:
        sys.exit("mutants.json must be mended:\n" + "\n".join(faults))
    return found


def as_mutant(file: str, find: str, replace: str, why: str, bug: int | None = None) -> Mutant:
    """An entry of mutants.json, with the place at which its text stands."""
    path = ROOT / file
    source, text = path.read_bytes(), find.encode()
    if source.count(text) != 1:
        raise ValueError(f"{find!r} stands {source.count(text)} times in the file, not once")
    start, end = source.index(text), source.index(text) + len(text)
    lines = (source[:start].count(b"\n") + 1, source[:end].count(b"\n") + 1)
    place = ".".join(path.relative_to(ROOT / "lib").with_suffix("").parts)
    mutant = Mutant(file, place, lines, True, start, end, replace, why, bug)
    compile(mutant.planted(source), file, "exec")
    return mutant


def generated() -> list[Mutant]:
    """The bugs made from the syntax tree, but for those that change nothing."""
    paths = [
        path
        for path in sorted(LIBRARY.rglob("*.py"))
        if path.relative_to(LIBRARY).parts[0] not in MACHINERY
    ]
    found = [mutant for path in paths for mutant in mutants_of(ROOT, path)]
    equivalent = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    known = {(place, what) for place, changes in equivalent.items() for what in changes}
    stale = known - {(mutant.place, mutant.what) for mutant in found}
    if stale:
        names = "\n".join(f"{place}: {what}" for place, what in sorted(stale))
        sys.exit(f"equivalent.json names what is not made any more:\n{names}")
    return [mutant for mutant in found if (mutant.place, mutant.what) not in known]


class Chosen(Limited):
    """A plugin of pytest: runs some tests in the order given, each within its time."""

    def __init__(self, tests: list[str], seconds: Callable[[str], float]) -> None:
        super().__init__(seconds)
        self.rank = {test: k for k, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.rank]
        items[:] = sorted(chosen, key=lambda item: self.rank[item.nodeid])


def in_two(tests: list[str]) -> tuple[list[str], list[str]]:
    """Those to begin with, of the cases of a test at most two; and the others."""
    cases, first = Counter(), []
    for test in tests:
        function = test.split("[")[0]
        cases[function] += 1
        if cases[function] <= 2 and len(first) < FIRST:
            first.append(test)
    return first, [test for test in tests if test not in {*first}]


def files_of(tests: list[str]) -> list[str]:
    """The files in which tests stand, each once, in the tests' order."""
    return list(dict.fromkeys(test.split("::")[0] for test in tests))


class Trial:
    """Tries bugs and keeps what became of them."""

    def __init__(self, mutants: list[Mutant], known: Reach) -> None:
        self.mutants, self.known = mutants, known
        self.sources = {mutant.file: (ROOT / mutant.file).read_bytes() for mutant in mutants}
        self.killers: dict[int, str] = {}
        self.lives: dict[int, str] = {}
        self.begun = time.perf_counter()

    def run(self, slots: list[Slot]) -> None:
        """Try all: by swapping where that is possible, those left on a copy that has the bug."""
        tasks = []
        for k, mutant in enumerate(self.mutants):
            tests = self.known.tests_of(mutant.file, mutant.lines, mutant.inside)
            if tests:
                first, others = in_two(tests)
                tasks.append((k, first, self.by_file(others)))
            else:
                self.ended(k, None, "no test runs it")
        parts = [tasks[n :: len(slots)] for n in range(len(slots))]
        run_all([part for part in parts if part], self.start_swapped, self.done_swapped, slots)
        left = [task for task in tasks if task[0] not in self.killers]
        print(f"{len(left):,} are tried on a copy that has the bug.", flush=True)
        run_all(left, self.start, self.done, slots)

    def start_swapped(self, slot: Slot, tasks: list[tuple]) -> int:
        bugs = [(k, self.mutants[k], first + others) for k, first, others in tasks]
        files = [path.relative_to(ROOT).as_posix() for path in test_files()]
        return slot.start(files, Swapped(slot, bugs, self.known.seconds))

    def done_swapped(self, slot: Slot, tasks: list[tuple], result) -> None:
        self.killers |= killed_in(slot)

    def by_file(self, tests: list[str]) -> list[str]:
        """The same tests, those of a file together: they share their fixtures."""
        places = {file: k for k, file in enumerate(files_of(tests))}
        return sorted(tests, key=lambda test: places[test.split("::")[0]])

    def start(self, slot: Slot, task: tuple) -> int:
        k, tests, _ = task
        mutant = self.mutants[k]
        slot.plant(mutant.file, mutant.planted(self.sources[mutant.file]))
        return slot.start(files_of(tests), Chosen(tests, self.known.seconds))

    def done(self, slot: Slot, task: tuple, result) -> tuple | None:
        k, _, others = task
        if result.status == PASSED and others:
            return k, others, []
        if result.status in (PASSED, NONE_CHOSEN):
            self.ended(k, None, "all tests pass")
        elif result.status in (FAILED, BROKEN, -signal.SIGSEGV):
            self.ended(k, result.test)
        elif result.status == UNSTARTED:
            self.ended(k, "tests/conftest.py")
        elif result.status in (-signal.SIGPROF, -signal.SIGALRM):
            self.ended(k, f"{result.test} (never ends)")
        else:
            self.ended(k, None, f"cannot be tried, pytest: {result.status}\n{result.output[-800:]}")
        return None

    def ended(self, k: int, killer: str | None, why: str = "") -> None:
        """Keep the verdict; say it if the bug lives, and how far all this is now and then."""
        if killer is not None:
            self.killers[k] = killer
        else:
            self.lives[k] = why
            print(f"LIVES  {self.mutants[k]}: {why}", flush=True)
        tried = len(self.killers) + len(self.lives)
        if tried % 100 == 0:
            rate = 60 * tried / (time.perf_counter() - self.begun)
            print(f"{tried:,} of {len(self.mutants):,}, {rate:.0f} a minute.", flush=True)


def table(mutants: list[Mutant], killers: dict[int, str]) -> list[dict]:
    """For each class of bugs: where it was seen, and its mutants with the tests that killed them.

    A class without a mutant has an empty list; a mutant that lives has no killer.
    """
    return [
        one
        | {
            "mutants": [
                {"file": mutant.file, "why": mutant.what, "killer": killers.get(k)}
                for k, mutant in enumerate(mutants)
                if mutant.bug == one["bug"]
            ]
        }
        for one in json.loads(CLASSES.read_text(encoding="utf-8"))
    ]


def report(classes: list[dict]) -> list[str]:
    """Write the table of all classes, print it, and name the classes without a mutant."""
    lines = [" " + json.dumps(one, ensure_ascii=False) for one in classes]
    RESULT.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    for one in classes:
        killers = [mutant["killer"] or "LIVES" for mutant in one["mutants"]] or ["NO MUTANT"]
        print(f"{one['bug']:2} {one['title']}: {', '.join(killers)}")
    return [f"class {one['bug']}: no mutant" for one in classes if not one["mutants"]]


def chosen(options: argparse.Namespace) -> list[Mutant]:
    """The bugs that the command line asks for."""
    mutants = written()
    if options.bugs:
        mutants = [mutant for mutant in mutants if mutant.bug]
    elif not options.written:
        mutants += generated()
    mutants = [m for m in mutants if all(word in f"{m.place} {m}" for word in options.words)]
    part, parts = map(int, options.shard.split("/"))
    return mutants[part - 1 :: parts]


def main() -> None:
    """Try the bugs that were asked for, two at a time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("--written", action="store_true")
    parser.add_argument("--bugs", action="store_true")
    options = parser.parse_args()
    mutants = chosen(options)
    print(f"{len(mutants):,} bugs.", flush=True)
    preload()
    with tempfile.TemporaryDirectory() as folder:
        slots = [Slot(Path(folder) / str(k)) for k in range(AT_ONCE)]
        known = reach(slots)
        trial = Trial(mutants, known)
        trial.run(slots)
    faults = [f"{test}: fails without any bug" for test in known.broken]
    faults += [f"{mutants[k]}: {why}" for k, why in sorted(trial.lives.items())]
    if options.bugs and not options.words and options.shard == "1/1":
        faults += report(table(mutants, trial.killers))
    if faults:
        sys.exit(f"{len(trial.lives):,} of {len(mutants):,} live.\n" + "\n".join(faults))
    print(f"All {len(mutants):,} were killed.")


if __name__ == "__main__":
    main()
