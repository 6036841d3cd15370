"""The most memory that this process has held."""

from pathlib import Path


def high_water() -> float:
    """The most memory that this process has held so far, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux; its getrusage would count the parent process too
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS counts bytes
