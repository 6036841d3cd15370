"""What each process does that ``torchrun`` starts for test_distributed.py."""

import os
import signal
import sys
import warnings
from pathlib import Path

import torch

from softlookup import training
from softlookup.capstone import train_capstone
from softlookup.language_models import next_token_loss
from softlookup.models import GPT, GPTConfig
from softlookup.training import distribute, join, resume, save_checkpoint, shared_loss

N_STEPS, EVERY, KILLED_AT = 20, 5, 13
KINDS = ("ddp", "fsdp")


def ragged_batches(generator):
    """Rows of different lengths, at times a single one; their filler is token 0."""
    while True:
        n_texts = int(torch.randint(1, 6, (), generator=generator))
        lengths = torch.randint(2, 12, (n_texts,), generator=generator)
        yield torch.randint(7, (n_texts, 11), generator=generator), lengths


def share(batch, rank, world_size):
    ids, lengths = batch
    return ids[rank::world_size], lengths[rank::world_size]


def count(batch):
    return int((batch[1] - 1).sum())  # the predictions of each text


def ragged_loss(model, batch):
    ids, lengths = batch
    return next_token_loss(model(ids, lengths), ids, lengths)


def train_on_ragged_batches(path, kind):
    """Twelve steps of two parts each, clipped, with Muon for the matrices."""
    with join("cpu"):
        torch.manual_seed(int(os.environ.get("RANK", 0)))  # those of the first count
        model = GPT(GPTConfig(7, 11, 6, 2, 1)).double()
        together = distribute(model, kind)
        matrices, rest = training.matrices_and_rest(model)
        both = [training.Muon(matrices, lr=0.01), torch.optim.AdamW(rest, lr=0.01)]
        losses = training.train_model(
            together, shared_loss(ragged_loss, count=count, share=share),
            ragged_batches(torch.Generator().manual_seed(3)),
            optimizers=both, n_steps=12, clip=0.1, n_parts=2, count=count)  # fmt: skip
        save_checkpoint(path, model, optimizers=both, step=12)
        again = [training.Muon(matrices, lr=0.01), torch.optim.AdamW(rest, lr=0.01)]
        assert resume(path, model, optimizers=again) == 12
        save_checkpoint(path.with_suffix(".again"), model, optimizers=again, step=12)
    return losses


def agree(folder):
    for kind in KINDS:
        options = {"kind": kind, "n_steps": N_STEPS, "every": EVERY, "tier": "cpu"}
        losses = train_capstone(folder / kind, **options, dtype=torch.float64)
        train_capstone(folder / f"{kind}-float32", **options)
        ragged = train_on_ragged_batches(folder / f"{kind}-ragged", kind)
        name = f"{kind}-losses-{os.environ['RANK']}"
        torch.save({"capstone": losses, "ragged": ragged}, folder / name)


def disagree(folder):
    """Process 1 looks in the wrong place; what each is told."""
    rank, model = os.environ["RANK"], GPT(GPTConfig(7, 11, 6, 2, 1)).double()
    try:
        resume(folder / ("ddp-ragged" if rank == "0" else "nowhere"), model)
    except ValueError as error:
        (folder / f"told-{rank}").write_text(str(error))


def die(folder, kind, killed_in):
    """In one of its lives, process 1 is killed between two checkpoints."""

    def after_step(step, loss):
        with (folder / f"{kind}-steps-{rank}-{life}").open("a") as file:
            file.write(f"{step}\n")
        if (step, rank, life) == (KILLED_AT, "1", killed_in):
            os.kill(os.getpid(), signal.SIGKILL)

    life, rank = os.environ["TORCHELASTIC_RESTART_COUNT"], os.environ["RANK"]
    options = {"kind": kind, "n_steps": N_STEPS, "every": EVERY, "tier": "cpu"}
    train_capstone(folder / kind, **options, dtype=torch.float64, after_step=after_step)


if __name__ == "__main__":
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    folder, life = Path(sys.argv[1]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    with join("cpu"):
        if life == 0:
            agree(folder)
            disagree(folder)
        for k, kind in enumerate(KINDS):
            if life in (k, k + 1):
                die(folder / "killed", kind, killed_in=str(k))
