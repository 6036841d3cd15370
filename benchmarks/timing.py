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
