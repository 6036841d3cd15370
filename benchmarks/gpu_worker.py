"""What each process does in the step `capstone` of `make gpu`: the program itself, and a stopwatch.

python benchmarks/gpu_worker.py OPTIONS     or under torchrun; OPTIONS are those below, as JSON
"""

import json
import sys
from pathlib import Path

import torch

from softlookup.capstone import train_capstone


class StoppedError(Exception):
    """The plug is pulled on purpose."""


def work(path: str, kind: str, n_steps: int | None, every: int, stop: int | None, out: str) -> None:
    """Train the GPT of letters; write the losses, and the most bytes held on the card.

    Args:
        path: The checkpoint. If there is one, the training goes on from there.
        kind: "ddp" or "fsdp"; it says nothing where there is one process.
        n_steps: The last step; the tier's if None.
        every: After how many steps a checkpoint is written.
        stop: After which step the plug is pulled; None: never.
        out: Where what was found is written.
    """
    losses = []

    def after_step(step: int, loss: float) -> None:
        losses.append(loss)
        if step == stop:
            raise StoppedError

    try:
        train_capstone(path, kind=kind, n_steps=n_steps, every=every, after_step=after_step)
    except StoppedError:
        print(f"stopped after step {stop}")
    peak = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None
    Path(out).write_text(json.dumps({"losses": losses, "bytes": peak}))


if __name__ == "__main__":
    work(**json.loads(sys.argv[1]))
