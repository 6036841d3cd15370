"""The most memory that this process has held, and by how much one call raises it."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch


def high_water() -> float:
    """The most memory that this process has held so far, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux; its getrusage would count the parent process too
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS counts bytes


def process_peak(prepare: Callable, *arguments: object) -> float:
    """By how many megabytes one call raises the peak of a process of its own.

    ``prepare(*arguments)`` runs in that process and gives two calls: a small one, for what the
    first call of all needs, and the one to measure.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_peak, prepare, *arguments).result()


def _peak(prepare: Callable, *arguments: object) -> float:
    torch.set_num_threads(1)
    small, measured = prepare(*arguments)
    small()
    before = high_water()
    measured()
    return high_water() - before
