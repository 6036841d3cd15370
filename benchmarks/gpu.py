"""`make gpu`: what a graphics card changes, measured in steps that can be stopped and taken up.

    make gpu                      all steps that have not passed yet
    make gpu STEP=precision       this step, though it has passed; STEP=chapter- all that begin so
    make gpu MINUTES=8            no longer than this; the same command goes on afterwards
    make gpu AGAIN=yes            forgets what the record holds of a card of this name, and begins
    make gpu REHEARSE=yes         on the processor, in small sizes

Each step is a process of its own and may take eight minutes. The measurements run alone; of the
notebooks, which leave a card idle most of the time, several run at a time where there are cores for
them. What fails is kept with its message, and the rest goes on; the next call tries it again. All
that the site needs lies in `benchmarks/cards`, to be committed: `steps.json` and `chapters.json`,
by the card's name, and the two tables that the page of larger machines shows. The larger model's
weights lie there, too; git leaves them out. Steps are kept by the card's name: on another machine
with such a card they have passed already, unless AGAIN=yes is said. `gpu.py --tables` measures
nothing and writes the two tables anew, for instance when the text of the book has changed.

Without a card the same steps are rehearsed: small sizes, a fake second device that refuses to be
mixed with the processor, and nothing is written for the site. The rehearsal's tables lie in
`_build/gpu/steps.md`. Whoever has changed the code rehearses all steps again. What the steps do
stands in `gpu_steps.py`.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import tiers
import torch
from table import table

sys.path.append(str(Path(__file__).resolve().parents[1] / "_ext"))
from registry import notebooks

ROOT = Path(__file__).resolve().parent.parent
CARDS, REHEARSAL = ROOT / "benchmarks" / "cards", ROOT / "_build" / "gpu"
PROGRAM = Path(__file__).with_name("gpu_steps.py")
LIMIT = 8 * 60
"""Seconds that a step may take."""
GRACE = 10
"""Seconds that it has to end what it has started, once it is told to end."""

NO_CARD = "No GPU was at hand for this record. So this place is empty, not guessed."


class Step(NamedTuple):
    """A step: its name, the seconds that it should take on a large card, and what it tells."""

    name: str
    seconds: int
    words: str


MEASUREMENTS = (
    Step("environment", 20, "The card and its software"),
    Step("devices", 60, "Tests that the card computes what the processor computes"),
    Step("capstone", 150, "The GPT of letters in one process, with DDP, with FSDP2, and resumed"),
    Step("precision", 90, "The same training in three precisions, small and wide"),
    Step("kernels", 60, "One causal attention layer of eight heads, and PyTorch's kernels"),
    Step("compile", 150, "`torch.compile`"),
    Step("larger", 150, "The workshop's model and a larger one"),
)
REHEARSED = ("decoding",)
"""The notebooks that a rehearsal executes; `make book` executes all of them on a processor."""
SMALL_STEP = 90
"""Seconds that a step should take at most in a rehearsal."""
OF_THE_BOOK = ("capstone", "precision")
"""The measurements whose losses hang on the book's prose; `larger` does without Shakespeare."""
CODE = ("benchmarks/*.py", "chapters/*.ipynb", "lib/**/*.py", "lib/**/*.txt", "tests/unit/*.py",
        "tests/parity/*.py")  # fmt: skip
"""What a rehearsal tries."""


def all_steps(*, rehearse: bool) -> list[Step]:
    """The measurements, then the chapters: first those that train on the card."""
    taken = tiers.read_record(tiers.RECORD).get("cpu", {}).get(tiers.PROCESSOR, {})
    pages = sorted(notebooks(), key=lambda page: page.name not in tiers.RESULTS)  # stable
    names = REHEARSED if rehearse else [page.name for page in pages]
    seconds = {name: taken.get(name, {}).get("seconds", 60) for name in names}
    seconds |= {name: 2 * seconds[name] for name in names if name in tiers.RESULTS}  # larger sizes
    steps = [*MEASUREMENTS, *(Step(f"chapter-{name}", seconds[name], "") for name in names)]
    return [s._replace(seconds=min(s.seconds, SMALL_STEP)) for s in steps] if rehearse else steps


# one step


class Running(NamedTuple):
    """A step in a process of its own."""

    step: Step
    child: subprocess.Popen
    begun: float
    limit: float
    """Seconds that it may take."""
    code: str = ""
    """The checksum of what it tries, in a rehearsal."""


def start(step: Step, folder: Path, limit: float, n: int, *, rehearse: bool) -> Running:
    """Start a step, and tell it how many notebooks may run at a time."""
    log, out = files_of(step.name)
    out.unlink(missing_ok=True)
    command = [sys.executable, str(PROGRAM), step.name]
    command += [str(out), str(folder), *(["--rehearse"] if rehearse else [])]
    with log.open("w") as file:
        child = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | {tiers.AT_ONCE: str(n)}, stdout=file,
            stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
    return Running(step, child, time.perf_counter(), limit, code() if rehearse else "")


def outcome(running: Running) -> dict[str, Any] | None:
    """How a step went; None while it runs. One that takes too long is ended."""
    code, seconds = running.child.poll(), time.perf_counter() - running.begun
    if code is None and seconds < running.limit:
        return None
    if code is None:
        end(running.child)
    log, out = files_of(running.step.name)
    seconds = round(seconds)
    if code == 0 and out.exists():
        return {"state": "passed", "seconds": seconds, **json.loads(out.read_text())}
    late = f"longer than {running.limit:.0f} seconds"
    told = late if code is None else last_words(log.read_text(), code)
    return {"state": "late" if code is None else "failed", "seconds": seconds, "message": told}


def files_of(name: str) -> tuple[Path, Path]:
    """What a step says, and what it has found."""
    return folder_of_logs() / f"{name}.log", folder_of_logs() / f"{name}.json"


def end(child: subprocess.Popen) -> None:
    """End a step and what it has started: first by asking, so that ``torchrun`` ends its own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not reached(child, number):
            return
        latest = time.monotonic() + GRACE
        while reached(child) and time.monotonic() < latest:
            time.sleep(0.1)


def reached(child: subprocess.Popen, number: int = 0) -> bool:
    """Send a signal to a step and what it has started, 0 for none; whether any of it still runs."""
    child.poll()  # one that has ended is in its group until it is asked
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return False
    return True


def last_words(log: str, code: int) -> str:
    """The last line of a log that says something, without paths of this machine."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in log.splitlines()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    said = (errors or [line for line in lines if line] or [f"it ended with code {code}"])[-1]
    return re.sub(r"(?:/[\w.+-]+)+/(?=[\w.+-])", "", said)[:200]


def folder_of_logs() -> Path:
    """Where the output of steps is kept; it is not committed."""
    folder = ROOT / "_build" / "gpu" / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# the record, and what the page shows


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """By card: the machine, and how each step went."""
    path = folder / "steps.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def keep(folder: Path, name: str, found: dict[str, Any]) -> None:
    """Keep how a step went, and write the tables anew."""
    record = read(folder)
    here = record.setdefault(tiers.card(), {"machine": machine(), "steps": {}})
    later = {} if here["machine"] == machine() else {"machine": machine()}
    text = {"text": tiers.edition()} if learns_from_the_book(name, found) else {}
    here["steps"][name] = found | later | text
    write(folder / "steps.json", json.dumps(record, indent=1, sort_keys=True) + "\n")
    write_tables(folder, record)


def learns_from_the_book(name: str, found: dict[str, Any]) -> bool:
    """Whether what a step has found hangs on the book's prose."""
    said = [cell for row in found.get("rows", []) for cell in row[:1]]
    return name in OF_THE_BOOK or any("the book's prose" in words for words in said)


def forget(folder: Path) -> None:
    """Drop what the record holds of a card of this name: perhaps another machine had it."""
    for path in (folder / "steps.json", folder / "chapters.json"):
        if path.exists():
            record = json.loads(path.read_text(encoding="utf-8"))
            for cards in (record, *record.values()):
                cards.pop(tiers.card(), None)
            write(path, json.dumps(record, indent=1, sort_keys=True) + "\n")


def write_tables(folder: Path, record: dict[str, dict[str, Any]]) -> None:
    """What the page of larger machines includes."""
    write(folder / "chapters.md", tiers.shown(folder / "chapters.json"))
    write(folder / "steps.md", shown(record))


def write(path: Path, text: str) -> None:
    """A whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def machine() -> str:
    """The machine in words: no name, no path."""
    software = f"PyTorch {torch.__version__}, {datetime.date.today():%d %B %Y}"
    if tiers.card() == tiers.PROCESSOR:
        return f"a rehearsal on the processor, {software}"
    facts = torch.cuda.get_device_properties(0)
    return f"{facts.name}, {facts.total_memory / 2**30:.0f} GiB, {software}"


def shown(record: dict[str, dict[str, Any]]) -> str:
    """The tables of all steps but the chapters, card by card, what is lacking, and what failed."""
    parts = [] if record else [NO_CARD]
    for on, card in record.items():
        steps = card["steps"]
        name = card["machine"].partition(", ")[0]
        whens = {f"`{step}`": taken.get("machine", card["machine"]).partition(", ")[2]
                 for step, taken in steps.items()}  # fmt: skip
        parts.append(f"**{name}**, {tiers.told(whens)}.")
        for step in MEASUREMENTS:
            if steps.get(step.name, {}).get("rows"):
                parts += [f"*{step.words}*", table(**part(steps[step.name]))]
        parts += summary(steps, rehearsed=on == tiers.PROCESSOR)
        failed = [f"- `{name}`: {words(taken)}" for name, taken in sorted(steps.items())
                  if taken["state"] != "passed"]  # fmt: skip
        parts.append("\n".join(["What failed:", "", *failed]) if failed else "No step failed.")
    return "\n\n".join(parts) + "\n"


def summary(steps: dict[str, dict[str, Any]], *, rehearsed: bool) -> list[str]:
    """What has not yet run, how long the others took, and whose losses are of an earlier text."""
    names = [s.name for s in all_steps(rehearse=rehearsed) if s.name not in steps]
    chapters = [n.removeprefix("chapter-") for n in names if n.startswith("chapter-")]
    lacking = [f"`{name}`" for name in names if not name.startswith("chapter-")]
    lacking += tiers.page_links(chapters)
    n = sum(found["seconds"] for found in steps.values())
    said = [f"Not yet run: {tiers.in_words(lacking)}."] if lacking else []
    said.append(f"Added up, the steps took {n:,} seconds, which is {n / 60:.0f} minutes; where "
                "several notebooks ran at a time, it was less on the clock.")  # fmt: skip
    learned = {name: found for name, found in steps.items() if learns_from_the_book(name, found)}
    old = [f"`{name}`" for name, found in learned.items() if found.get("text") != tiers.edition()]
    if old:
        said.append(f"The losses of {tiers.in_words(old)} were measured with an earlier text of "
                    "the book than the present one.")  # fmt: skip
    return [" ".join(said)]


def part(found: dict[str, Any]) -> dict[str, Any]:
    """What a table is made of."""
    return {key: found[key] for key in ("heads", "rows")}


def words(found: dict[str, Any]) -> str:
    """A message in one line of Markdown."""
    return "`" + found["message"].replace("`", "'").replace("|", "/") + "`"


# all of them


def code() -> str:
    """A checksum of what a rehearsal tries: one that has passed says nothing of other code."""
    paths = sorted({path for pattern in CODE for path in ROOT.glob(pattern)})
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def chosen(steps: list[Step], names: list[str], folder: Path) -> list[Step]:
    """The steps that are named, or all that have not passed on this card, or with this code."""
    if names:
        found = [step for step in steps if any(fits(step.name, name) for name in names)]
        if unknown := [name for name in names if not any(fits(s.name, name) for s in steps)]:
            there = ", ".join(step.name for step in steps)
            sys.exit(f"no such step: {', '.join(unknown)}; there are {there}")
        return found
    known = read(folder).get(tiers.card(), {}).get("steps", {})
    if tiers.card() == tiers.PROCESSOR:
        now = code()
        known = {name: found for name, found in known.items() if found.get("code") == now}
    return [step for step in steps if known.get(step.name, {}).get("state") != "passed"]


def fits(step: str, name: str) -> bool:
    """Whether a step is meant: by its name, or by a beginning that ends in a hyphen."""
    return step == name or (name.endswith("-") and step.startswith(name))


def at_once(*, rehearse: bool) -> int:
    """How many notebooks run at a time: one for each four cores beside a card, but at most four."""
    return 1 if rehearse else max(1, min(4, (os.cpu_count() or 1) // 4))


def may_start(step: Step, running: list[Running], n: int) -> bool:
    """Whether a step can run beside the others: alone, or one of so many notebooks."""
    names = [step.name, *(one.step.name for one in running)]
    return not running or (len(names) <= n and all(name.startswith("chapter-") for name in names))


def run_all(
    steps: list[Step], folder: Path, minutes: float, *, rehearse: bool, n: int | None = None
) -> list[str]:
    """Run steps until they end or the time does, so many notebooks at a time; what is left."""
    n = at_once(rehearse=rehearse) if n is None else n
    latest = time.monotonic() + 60 * minutes
    waiting, running, cut = list(steps), [], set()
    try:
        while waiting or running:
            time_left = latest - time.monotonic()
            if waiting and time_left < min(waiting[0].seconds, LIMIT):
                cut |= {step.name for step in waiting}
                waiting.clear()
            elif waiting and may_start(waiting[0], running, n):
                step = waiting.pop(0)
                print(f"{step.name} …", flush=True)
                running.append(start(step, folder, min(LIMIT, time_left), n, rehearse=rehearse))
                continue
            for one in [*running]:
                if (found := outcome(one)) is None:
                    continue
                running.remove(one)
                if found["state"] == "late" and one.limit < LIMIT:  # cut short by this call
                    cut.add(one.step.name)
                else:
                    found |= {"code": one.code} if one.code else {}
                    tell(one.step.name, found, folder, named=n > 1)
            time.sleep(0.05 if running else 0)
    finally:
        for one in running:
            end(one.child)
    return [step.name for step in steps if step.name in cut]


def tell(name: str, found: dict[str, Any], folder: Path, *, named: bool) -> None:
    """Keep how a step went, and print it; by name, where several run."""
    keep(folder, name, found)
    which = f"{name} " if named else ""
    said = f"  {which}{found['state']}, {found['seconds']} s"
    print(said, found.get("message", ""), flush=True)


def main(arguments: list[str] | None = None) -> int:
    """0 if all that was run has passed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="STEP")
    parser.add_argument("--minutes", type=float, default=35, help="for this call")
    parser.add_argument("--rehearse", action="store_true", help="on the processor, small sizes")
    parser.add_argument("--again", action="store_true", help="forget this card's record first")
    parser.add_argument("--tables", action="store_true", help="write the site's tables, no more")
    options = parser.parse_args(arguments)
    if options.tables:
        write_tables(CARDS, read(CARDS))
        return 0
    rehearse = options.rehearse or not torch.cuda.is_available()
    if rehearse:
        os.environ |= {"CUDA_VISIBLE_DEVICES": "", tiers.TIER_VARIABLE: "cpu"}
        print("A rehearsal on the processor, in small sizes; nothing is written for the site.")
    folder = REHEARSAL if rehearse else CARDS
    if options.again and not options.names:
        forget(folder)
    asked = chosen(all_steps(rehearse=rehearse), options.names, folder)
    if not asked:
        print("All steps have passed; STEP=precision, for instance, runs one of them again.")
        print(f"AGAIN=yes runs all of them. {where_tables_lie(rehearse=rehearse)}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever stops it, it tidies up
    try:
        left = run_all(asked, folder, options.minutes, rehearse=rehearse)
    except KeyboardInterrupt:
        print("Stopped. What has passed is kept; the same command goes on with the rest.")
        return 130
    steps = read(folder).get(tiers.card(), {}).get("steps", {})
    failed = [step.name for step in asked
              if step.name not in left and steps[step.name]["state"] != "passed"]  # fmt: skip
    print(f"{len(asked) - len(left) - len(failed)} of {len(asked)} steps passed.")
    if failed:
        print(f"Failed: {', '.join(failed)}. Their output: {folder_of_logs().relative_to(ROOT)}")
    if left:
        print(f"Left for the next call: {', '.join(left)}.")
    print(where_tables_lie(rehearse=rehearse))
    return 1 if failed else 0


def where_tables_lie(*, rehearse: bool) -> str:
    """What to do with what was found."""
    if rehearse:
        return f"The tables: {(REHEARSAL / 'steps.md').relative_to(ROOT)}"
    return "Commit benchmarks/cards: the page of larger machines reads it."


if __name__ == "__main__":
    sys.exit(main())
