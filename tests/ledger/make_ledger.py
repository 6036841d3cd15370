"""`make ledger`: run the tests, watch what they compare, and write the numbers of the ledger.

`make ledger TESTS=tests/unit/test_x.py` is quick: it adds what has no sound record yet.

What each public name is compared with stands in peers.yml, written by people. How often and how
closely is recorded here, in recorded.json; both make the page chapters/reference_ledger.md.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "_ext"), str(Path(__file__).parent)]

from references import compares_exactly, draws, mentions, references  # noqa: E402

import reference_ledger as ledger  # noqa: E402

LEFT_OUT = [  # what looks at the book and the site as a whole; and a watched test takes its time
    *(f"--ignore=tests/book/test_{name}.py" for name in ("ledger", "map", "notebooks", "site")),
    "--deselect=tests/unit/test_merges.py::test_a_million_equal_bytes_take_seconds",
]


def watched_tests(arguments: list[str]) -> dict[str, dict]:
    """Run pytest with the recorder; what each test function called and compared."""
    with tempfile.TemporaryDirectory() as folder:
        folders = [ROOT / "lib", ROOT / "_ext", Path(__file__).parent]
        paths = os.pathsep.join(map(str, folders))
        environment = {**os.environ, "LEDGER_FOLDER": folder, "PYTHONPATH": paths}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "recorder", *LEFT_OUT, *arguments]
        if subprocess.run(command, cwd=ROOT, env=environment).returncode:
            sys.exit("A test failed: nothing is recorded.")
        return merged([json.loads(path.read_text()) for path in Path(folder).glob("*.json")])


def merged(parts: list[dict]) -> dict[str, dict]:
    """The facts of several processes as one: each may have run some cases of a test."""
    facts: dict[str, dict] = {}
    for test, new in (pair for part in parts for pair in part.items()):
        old = facts.setdefault(test, {"cases": 0, "errors": {}, "direct": [], "reached": []})
        old["cases"] += new["cases"]
        for key, error in new["errors"].items():
            old["errors"][key] = max(error, old["errors"].get(key, 0.0))
        for kind in ("direct", "reached"):
            old[kind] = sorted({*old[kind], *new[kind]})
    return facts


def holds(name: str, peer: str, test: str, fact: dict) -> bool:
    """Whether a test compares a name with a peer."""
    if peer.startswith("through "):
        return peer.removeprefix("through ") in fact["direct"] and meets(name, test, fact)
    if not test.startswith(ledger.folders(peer)):
        return False
    if peer in ledger.WIDE:  # a part is held by the tests of what it is a part of
        package = name.split(".")[0]
        neighbours = {other for other in fact["direct"] if other.split(".")[0] == package}
        return bool(neighbours) and meets(name, test, fact)
    if name not in fact["direct"]:
        return False
    if peer == "laws":  # often an inequality
        return True
    compares = bool(fact["errors"]) or compares_exactly(test)
    return compares and (peer in ledger.KINDS or mentions(test, peer))


def meets(name: str, test: str, fact: dict) -> bool:
    """Whether a test calls a name on the way, or names what is called only once or has no code."""
    called = name in fact["direct"] or name in fact["reached"]
    last = name.split(".")[-1]
    named = (ref.split(".") for ref in references(test) if ref.startswith("softlookup."))
    return called or any(ref[-1] == last and ref[1] == name.split(".")[0] for ref in named)


def row(name: str, peer: str, facts: dict[str, dict]) -> dict:
    """One comparison of a name: how many tests and cases, the worst error under each tolerance."""
    tests = sorted(test for test, fact in facts.items() if holds(name, peer, test, fact))
    return {
        "peer": peer,
        "tests": len(tests),
        "cases": sum(facts[test]["cases"] for test in tests),
        "random": sum(facts[test]["cases"] for test in tests if draws(test)),
        "errors": errors_of(tests, facts),
    }


def errors_of(tests: list[str], facts: dict[str, dict]) -> list[list[float]]:
    """Each tolerance with the worst error: [[0, 0]] if equal, [] if no numbers were compared.

    If there are numbers of 64 bits, those of fewer do not count.
    """
    seen = [(int(key.split()[0]), float(key.split()[1]), error)
            for test in tests for key, error in facts[test]["errors"].items()]  # fmt: skip
    finest = max((bits for bits, tolerance, _ in seen if tolerance), default=None)
    if finest is None:
        exact = seen or any(map(compares_exactly, tests))
        return [[0, 0]] if exact else []
    worst: dict[float, float] = {}
    for bits, tolerance, error in seen:
        if tolerance and bits == finest:
            tolerance = plain(tolerance)
            worst[tolerance] = max(error, worst.get(tolerance, 0.0))
    return [[tolerance, bound(worst[tolerance])] for tolerance in sorted(worst)]


def plain(tolerance: float) -> float:
    """A tolerance rounded up to a power of ten, as errors are: many are computed by the tests."""
    return float(f"1e{math.ceil(math.log10(tolerance) - 1e-9)}")


def bound(error: float) -> float:
    """The next power of ten: the same on other machines, where the last bits differ."""
    return plain(error) if error else 0


def main() -> None:
    """Record, and refuse what peers.yml claims but no test does.

    With the paths of some tests, only what has no sound record yet is written anew.
    """
    arguments = sys.argv[1:]
    facts, known = watched_tests(arguments), ledger.read() if arguments else {}
    rows = {}
    for name, peers in ledger.entries().items():
        sound = {old["peer"]: old for old in known.get(name, []) if old["tests"]}
        rows[name] = [sound.get(peer) or row(name, peer, facts) for peer in peers]
    ledger.write(rows)
    sys.exit("\n".join(ledger.faults(rows)) or None)


if __name__ == "__main__":
    main()
