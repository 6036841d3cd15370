"""`make mutants`: plant each known bug in a copy of the library; fail if the tests let one live.

The bugs stand in mutants.json: the file, the text to find in it (once), what replaces it, and why
somebody might write that. A mutant is tried on the tests that import its module, or on those that
its "kill" selects; a test that fails kills it, if it passes without the bug.

Some were seen in public projects: their "bug" is the number of a class in classes.json. With
`--bugs` these alone are tried, and each class is written to bugs.json with the test that killed it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = Path(__file__).with_name("mutants.json")
CLASSES = Path(__file__).with_name("classes.json")
FAILED, NONE_CHOSEN = 1, 5  # what pytest exits with
RESULT = Path(__file__).with_name("bugs.json")


class Outcome(NamedTuple):
    """What became of a mutant: why it lives, or None, and the test that killed it."""

    lives: str | None
    killer: str | None = None


def tests_of(file: str) -> list[list[str]]:
    """The test files that import the module in ``file``: the likely ones, then the others."""
    path = Path(file)
    module = ".".join(path.with_suffix("").parts[1:])  # lib/softlookup/ops.py: softlookup.ops
    package, _, name = module.rpartition(".")
    wanted = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b")
    if path.suffix != ".py" or package != "softlookup":  # a package hands on its modules' names
        room = ".".join(module.split(".")[:2])
        wanted = re.compile(rf"\b{re.escape(name)}\b|from {re.escape(room)}\b")
    order = ("unit", "gradient", "parity", "property", "book")
    found = [path for path in (ROOT / "tests").rglob("test_*.py")
             if wanted.search(path.read_text(encoding="utf-8"))]  # fmt: skip
    found.sort(key=lambda path: (order.index(path.parent.name), path.name))
    names = {"test_bug_classes", *(f"test_{part}" for part in module.split("."))}
    likely = [str(path) for path in found if path.stem in names]
    return [likely, [str(path) for path in found if path.stem not in names]]


def run_tests(tests: list[str], mutant: dict | None) -> tuple[int, str | None]:
    """Run tests on a copy of the library, with one bug or none: exit status, first failure."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "lib"
        shutil.copytree(ROOT / "lib", copy, ignore=shutil.ignore_patterns("__pycache__"))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        if mutant:
            path = Path(folder) / mutant["file"]
            text = path.read_text(encoding="utf-8").replace(mutant["find"], mutant["replace"])
            path.write_text(text, encoding="utf-8")
            command += ["-k", mutant["kill"]] if "kill" in mutant else []
        environment = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return done.returncode, failed and failed[1]


def outcome(mutant: dict) -> Outcome:
    """Whether a mutant lives, or which test kills it."""
    stands = (ROOT / mutant["file"]).read_text(encoding="utf-8").count(mutant["find"])
    if stands != 1:
        return Outcome(f"its text stands {stands} times in the file, not once")
    why = "no test imports its module"
    for tests in filter(None, tests_of(mutant["file"])):
        status, failed = run_tests(tests, mutant)
        if status == FAILED:
            return Outcome(None, failed)
        if status != NONE_CHOSEN:
            why = "all tests pass" if status == 0 else "the tests did not run"
    return Outcome(why)


def table(mutants: list[dict], outcomes: list[Outcome]) -> list[dict]:
    """For each class of bugs: where it was seen, and its mutants with the tests that killed them.

    A class without a mutant has an empty list; a mutant that lives has no killer.
    """
    classes = json.loads(CLASSES.read_text(encoding="utf-8"))
    tried = list(zip(mutants, outcomes, strict=True))
    return [
        one | {
            "mutants": [
                {"file": mutant["file"], "why": mutant["why"], "killer": found.killer}
                for mutant, found in tried if mutant.get("bug") == one["bug"]
            ]
        }
        for one in classes
    ]  # fmt: skip


def report(classes: list[dict]) -> list[str]:
    """Write the table of all classes, print it, and name the classes without a mutant."""
    lines = [" " + json.dumps(one, ensure_ascii=False) for one in classes]
    RESULT.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    for one in classes:
        killers = [mutant["killer"] or "LIVES" for mutant in one["mutants"]] or ["NO MUTANT"]
        print(f"{one['bug']:2} {one['title']}: {', '.join(killers)}")
    return [f"class {one['bug']}: no mutant" for one in classes if not one["mutants"]]


def main() -> None:
    """Try every mutant, or those whose file or reason holds the words given; two at a time."""
    mutants = json.loads(MUTANTS.read_text(encoding="utf-8"))
    words = sys.argv[1:]
    of_classes = "--bugs" in words
    words = [word for word in words if word != "--bugs"]
    chosen = [m for m in mutants if all(word in m["file"] + m["why"] for word in words)]
    chosen = [m for m in chosen if "bug" in m] if of_classes else chosen
    print(f"{len(chosen)} mutants.", flush=True)
    with ThreadPoolExecutor(2) as pool:
        verdicts, outcomes = [], []
        for mutant, found in zip(chosen, pool.map(outcome, chosen), strict=True):
            word = "LIVES" if found.lives else "killed"
            print(f"{word}  {mutant['file']}: {mutant['why']}", flush=True)
            outcomes.append(found)
            verdicts += [f"{mutant['file']}: {mutant['why']}: {found.lives}"] if found.lives else []
    killers = sorted({found.killer for found in outcomes if found.killer})
    if killers and run_tests(killers, None)[0] != 0:
        sys.exit("A test that killed a mutant fails without it, too: nothing can be told from it.")
    if of_classes and not words:
        verdicts += report(table(chosen, outcomes))
    if verdicts:
        sys.exit(f"{len(verdicts)} of {len(chosen)} mutants live.\n" + "\n".join(verdicts))
    print(f"All {len(chosen)} mutants were killed.")


if __name__ == "__main__":
    main()
