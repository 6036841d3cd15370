"""A recorded result: one JSON file with numbers, samples, and where they come from."""

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from types import ModuleType

import torch

from softlookup.checks import require, require_choice
from softlookup.data import SOURCES
from softlookup.files import replace_file
from softlookup.recorded.experiment import EXPERIMENTS, FOLDER, data_of, experiment_of
from softlookup.recorded.version import code_version


@dataclass(frozen=True)
class Record:
    """The result of an experiment, and where it comes from.

    Attributes:
        name: The experiment's name.
        date: The day on which it ran, "2026-11-22".
        seconds: How long the processor worked at it; other programs do not count.
        data: The SHA-256 of each file it read, under the data set's title and the file's name.
        code: The version of its code, as in ``code_version``.
        seed: Where its chance began.
        results: What it found.
        small: What it finds on the small text that comes with it.

    Example:
        >>> record = recorded("ngram_shakespeare")
        >>> [row["n"] for row in record.results["rows"]]
        [1, 2, 3, 4, 5, 6, 7, 8]
    """

    name: str
    date: str
    seconds: float
    data: Mapping[str, Mapping[str, str]]
    code: str
    seed: int
    results: Mapping[str, object]
    small: Mapping[str, object]

    def mark(self) -> str:
        """The sentence that stands below what is shown of it: when, with what data, how long."""
        day = date.fromisoformat(self.date)
        titles = " and ".join(self.data)
        return (
            f"Recorded on {day.day} {day:%B %Y} with {titles}; "
            f"this run took {_duration(self.seconds)}."
        )


def recorded(name: str) -> Record:
    """A recorded result; neither the data nor the network is asked for.

    Args:
        name: One of ``EXPERIMENTS``.

    Raises:
        ValueError: There is no experiment of this name, or its result was never recorded.

    Example:
        >>> recorded("ngram_shakespeare").seed
        0
    """
    require_choice(EXPERIMENTS, name=name)
    path = FOLDER / f"{name}.json"
    require(path.is_file(), f"no result is recorded; run `make record NAME={name}`", name=name)
    return Record(**json.loads(path.read_text(encoding="utf-8")))


def recomputed(name: str, **part: object) -> Mapping[str, object] | None:
    """The results computed now, if the data is at hand; otherwise None, without a word.

    They are computed in float32, as they were recorded, whatever the chapter computes in: of a
    wider type other random numbers are drawn.

    Args:
        name: One of ``EXPERIMENTS``.
        part: Arguments of the experiment's ``run``, to compute a part of it alone.

    Raises:
        ValueError: There is no experiment of this name.
    """
    data, _ = data_of(name)
    with _computing_in(torch.float32):
        return None if data is None else experiment_of(name).run(data, **part)


def differences(before: object, now: object, place: str = "results") -> list[str]:
    """Where two results differ: in their form, in a word, or in a number by more than 1e-9 of it.

    Args:
        before: Numbers, words, lists and dictionaries.
        now: The same from another run.
        place: What is compared, for the words of the answer.

    Returns:
        A sentence for each place; none if the two are the same.

    Example:
        >>> differences({"bits": [4.8, 3.5]}, {"bits": [4.8, 3.6]})
        ["results['bits'][1] was 3.5 and is now 3.6"]
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping) and before.keys() == now.keys():
        parts = [(f"{place}[{key!r}]", before[key], now[key]) for key in before]
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        parts = [(f"{place}[{k}]", *pair) for k, pair in enumerate(zip(before, now, strict=True))]
    elif isinstance(before, float) and isinstance(now, float):
        same = math.isclose(before, now, rel_tol=1e-9)
        return [] if same else [f"{place} was {before} and is now {now}"]
    else:
        same = type(before) is type(now) and before == now
        return [] if same else [f"{place} was {before!r} and is now {now!r}"]
    return [line for name, old, new in parts for line in differences(old, new, name)]


def record(name: str) -> Record:
    """Run an experiment with its data, and write its result beside its module.

    Args:
        name: One of ``EXPERIMENTS``.

    Returns:
        What was written.

    Raises:
        ValueError: There is no experiment of this name, or its data is not at hand.
    """
    experiment = experiment_of(name)
    data, why = data_of(name)
    require(data is not None, f"The data of {name} is not at hand. {why}")
    start = time.process_time()
    with _computing_in(torch.float32):
        results = experiment.run(data)
    result = Record(
        name=name,
        date=date.today().isoformat(),
        seconds=round(time.process_time() - start, 1),
        data=data_checksums(experiment),
        code=code_version(experiment),
        seed=experiment.SEED,
        results=results,
        small=small_part(name),
    )
    content = json.dumps(asdict(result), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    replace_file(FOLDER / f"{name}.json", content.encode())
    return result


def small_part(name: str) -> dict:
    """What an experiment finds on its small text, in float64, and so the same on each processor.

    Processors add up the numbers of a matrix product in different orders. In float32 a training
    carries that into the sixth digit within a few steps; in float64 it stays far behind the digits
    that ``differences`` compares.

    Args:
        name: One of ``EXPERIMENTS``.

    Raises:
        ValueError: There is no experiment of this name.
    """
    with _computing_in(torch.float64):
        return experiment_of(name).run_small()


def data_checksums(experiment: ModuleType) -> dict[str, dict[str, str]]:
    """The SHA-256 of all that an experiment reads, as a record has them.

    Args:
        experiment: As ``experiment_of`` gives it.
    """
    return {**checksums(experiment.DATA), **getattr(experiment, "OWN_DATA", {})}


def checksums(names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """The SHA-256 of each file of some data sets, as ``SOURCES`` has them.

    Args:
        names: Keys of ``SOURCES``.

    Returns:
        Under each title the files' names and checksums.

    Example:
        >>> checksums(("sms_spam",))["SMS Spam Collection"]["SMSSpamCollection"][:8]
        '7d039a24'
    """
    sources = [SOURCES[name] for name in names]
    return {s.title: {file.name: file.sha256 for file in s.files.values()} for s in sources}


@contextmanager
def _computing_in(dtype: torch.dtype) -> Iterator[None]:
    """Floats are of this type until the block ends."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
