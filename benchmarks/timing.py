"""The stopwatch of the benchmarks."""

import statistics
import time
from collections.abc import Callable


def seconds(functions: list[Callable[[], object]], budget: float = 1.0) -> list[float]:
    """The median time of each function, measured in turns, so that a busy moment hits all alike."""
    times = [[] for _ in functions]
    end = time.perf_counter() + budget * len(functions)
    while time.perf_counter() < end or len(times[0]) < 3:
        for function, kept in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            kept.append(time.perf_counter() - start)
    return [statistics.median(kept[1:]) for kept in times]  # the first call warms up


def ratio(
    first: Callable[[], object],
    second: Callable[[], object],
    budget: float = 2.0,
    least: int = 12,
) -> float:
    """The median, over pairs of calls side by side, of the first's time over the second's.

    Which of the two goes first changes from pair to pair, so that neither always finds the caches
    as the other left them. Processor time is measured: what other programs take does not count.
    """
    ratios, end = [], time.perf_counter() + budget
    while time.perf_counter() < end or len(ratios) < least:
        pair = [first, second] if len(ratios) % 2 else [second, first]
        spent = {}
        for function in pair:
            start = time.process_time()
            function()
            spent[function] = time.process_time() - start
        ratios.append(spent[first] / spent[second])
    return statistics.median(ratios[2:])  # the first pair of either order warms up
