"""`make mutants`: plant each known bug in a copy of the library; fail if the tests let one live.

The bugs stand in mutants.json: the file, the text to find in it (once), what replaces it, and why
somebody might write that. A mutant is tried on the tests that import its module, or on those that
its "kill" selects; a test that fails kills it.
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

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = Path(__file__).with_name("mutants.json")


def tests_of(file: str) -> list[str]:
    """The test files that import the module in ``file``, the unit tests first."""
    path = Path(file)
    module = ".".join(path.with_suffix("").parts[1:])  # lib/softlookup/ops.py: softlookup.ops
    package, _, name = module.rpartition(".")
    wanted = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b")
    if path.suffix != ".py" or package != "softlookup":
        wanted = re.compile(rf"\b{re.escape(name)}\b|from {re.escape(package)}\b")
    found = [path for path in sorted((ROOT / "tests").rglob("test_*.py"))
             if wanted.search(path.read_text(encoding="utf-8"))]  # fmt: skip
    order = ("unit", "gradient", "parity", "property", "book")
    return [str(p) for p in sorted(found, key=lambda p: (order.index(p.parent.name), p.name))]


def run_tests(tests: list[str], mutant: dict | None) -> int:
    """Run tests on a copy of the library with one bug planted in it, or with none; exit status."""
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
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True).returncode


def survives(mutant: dict) -> str | None:
    """Why a mutant lives, or None if the tests kill it."""
    stands = (ROOT / mutant["file"]).read_text(encoding="utf-8").count(mutant["find"])
    if stands != 1:
        return f"its text stands {stands} times in the file, not once"
    tests = tests_of(mutant["file"])
    if not tests:
        return "no test imports its module"
    status = run_tests(tests, mutant)
    return {0: "all tests pass", 1: None}.get(status, "the tests did not run")


def main() -> None:
    """Try every mutant, or those whose file or reason holds the words given; two at a time."""
    mutants = json.loads(MUTANTS.read_text(encoding="utf-8"))
    words = sys.argv[1:]
    chosen = [m for m in mutants if all(word in m["file"] + m["why"] for word in words)]
    print(f"First the tests without any bug, then {len(chosen)} mutants.", flush=True)
    tests = sorted({test for mutant in chosen for test in tests_of(mutant["file"])})
    if tests and run_tests(tests, None) != 0:
        sys.exit("The tests fail without any bug planted: nothing can be told from them.")
    with ThreadPoolExecutor(2) as pool:
        verdicts = []
        for mutant, why in zip(chosen, pool.map(survives, chosen), strict=True):
            print(f"{'LIVES' if why else 'killed'}  {mutant['file']}: {mutant['why']}", flush=True)
            verdicts += [f"{mutant['file']}: {mutant['why']}: {why}"] if why else []
    if verdicts:
        sys.exit(f"{len(verdicts)} of {len(chosen)} mutants live.\n" + "\n".join(verdicts))
    print(f"All {len(chosen)} mutants were killed.")


if __name__ == "__main__":
    main()
