"""Two processes train as one does: DDP and FSDP2 under torchrun, on the CPU, with gloo."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock, call

import distributed_worker as worker
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.testing import assert_close

from softlookup import capstone, training
from softlookup.capstone import train_capstone
from softlookup.training import Tier, distributed

KINDS = worker.KINDS


def torchrun(folder, restarts):
    """Two processes that meet on a free port of this machine; what they wrote if they fail."""
    launch = ["--standalone", "--nproc-per-node=2", f"--max-restarts={restarts}"]
    command = [sys.executable, "-m", "torch.distributed.run", *launch, worker.__file__, folder]
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}
    settings = {**os.environ, "OMP_NUM_THREADS": "1", **loopback}
    run = subprocess.Popen(
        command, env=settings, text=True, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        _, told = run.communicate(timeout=300)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)  # the workers too
    return run.returncode, told


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """One process: its folder, and its losses."""
    folder = tmp_path_factory.mktemp("alone")
    options = {"n_steps": worker.N_STEPS, "every": worker.EVERY, "tier": "cpu"}
    losses = train_capstone(folder / "capstone", **options, dtype=torch.float64)
    train_capstone(folder / "float32", **options)
    train_capstone(folder / "parts", **options, n_parts=2)
    return folder, losses, worker.train_on_ragged_batches(folder / "ragged", "ddp")


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """Two processes, with each kind; once with each kind they are killed, and begin again."""
    folder = tmp_path_factory.mktemp("together")
    (folder / "killed").mkdir()
    code, told = torchrun(folder, restarts=len(KINDS))
    assert code == 0, told[-3000:]
    return folder


def assert_same_run(ours: Path, theirs: Path, **tolerance):
    """Weights, optimizers' memory and generators."""
    found, expected = load_file(ours), load_file(theirs)
    assert found.keys() == expected.keys()
    assert_close(found, expected, **tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_after_twenty_steps_are_those_of_one_process(kind, alone, together):
    assert_same_run(together / kind, alone[0] / "capstone", rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_of_one_process_that_adds_up_in_the_same_order_in_single_precision_too(
    kind, alone, together
):
    assert_same_run(together / f"{kind}-float32", alone[0] / "parts", rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_in_single_precision_too(kind, alone, together):
    found, expected = load_file(together / f"{kind}-float32"), load_file(alone[0] / "float32")
    for name, weight in expected.items():
        if name.startswith("model."):
            assert_close(found[name], weight, rtol=0, atol=1e-5, msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_ragged_batches_count_tokens_and_not_rows(kind, alone, together):
    assert_same_run(together / f"{kind}-ragged", alone[0] / "ragged", rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_saved_and_loaded_is_saved_alike(kind, together):
    path = together / f"{kind}-ragged"
    assert_same_run(path, path.with_suffix(".again"), rtol=0, atol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_each_process_is_told_the_loss_of_the_whole_batch(kind, alone, together):
    _, losses, ragged = alone
    for rank in (0, 1):
        told = torch.load(together / f"{kind}-losses-{rank}", weights_only=True)
        assert_close(told["capstone"], losses, rtol=0, atol=1e-12)
        assert_close(told["ragged"], ragged, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_process_costs_no_more_than_one_interval(kind, together):
    folder, first = together / "killed", KINDS.index(kind)
    lives = [
        [*map(int, (folder / f"{kind}-steps-1-{life}").read_text().split())]
        for life in (first, first + 1)
    ]
    assert lives[0] == [*range(1, worker.KILLED_AT + 1)]
    assert lives[1] == [*range(11, worker.N_STEPS + 1)]
    assert worker.KILLED_AT - (lives[1][0] - 1) <= worker.EVERY
    assert_same_run(folder / kind, together / kind, rtol=0, atol=0)


def test_processes_that_find_different_checkpoints_refuse(together):
    said = "all processes must find the same checkpoint; got steps=[12, 0]"
    assert [(together / f"told-{rank}").read_text() for rank in (0, 1)] == [said, said]


# one process, and numbers


@pytest.mark.parametrize(
    ("asked", "given"), [(None, "cuda:3"), ("cuda", "cuda:3"), ("cuda:1", "cuda:1"), ("cpu", "cpu")]
)
def test_torchrun_assigns_a_gpu_to_each_process(monkeypatch, asked, given):
    taken = []
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    with training.join(asked) as place:
        assert place.device == torch.device(given)
    assert taken == ([] if given == "cpu" else [place.device])


def test_without_torchrun_a_process_is_alone():
    with training.join("cpu") as place:
        assert place == distributed.Place(0, 1, torch.device("cpu"))
        layer = nn.Linear(2, 3)
        assert all(training.distribute(layer, kind) is layer for kind in KINDS)
        loss = training.shared_loss(lambda layer, x: layer(x).mean(), count=lambda x: -1)
        assert loss(layer, torch.ones(5, 2)) == layer(torch.ones(5, 2)).mean()


@pytest.fixture
def tiny(monkeypatch):
    """The tier gpu is tiny, and computes wherever it is told; what is asked of whom is kept."""
    sizes = {"n_steps": 3, "d_model": 12, "n_heads": 3, "n_layers": 1, "n_context": 7}
    monkeypatch.setitem(capstone.SIZES, "gpu", sizes | {"batch_size": 5})
    asked = {name: Mock(wraps=getattr(capstone, name)) for name in ("join", "random_pieces")}
    for name, spy in asked.items():
        monkeypatch.setattr(capstone, name, spy)

    def train(path, tier="gpu", device="cpu", dtype=None, **options):
        chosen = Tier(tier, torch.device(device), dtype)
        monkeypatch.setattr(capstone, "choose_tier", lambda name: chosen)
        return train_capstone(path, tier=tier, **options)

    return train, asked


def test_each_tier_has_sizes_of_its_own(tiny, tmp_path):
    train, asked = tiny
    losses = train(tmp_path / "run")
    assert len(losses) == 3
    assert asked["join"].call_args == call(torch.device("cpu"))
    assert asked["random_pieces"].call_args.args[1:] == (7, 5)
    saved = load_file(tmp_path / "run")
    assert saved["model.embedding.weight"].shape[1] == 12
    assert not [name for name in saved if name.startswith("model.blocks.1.")]
    assert len(train(tmp_path / "longer", n_steps=4)) == 4
    with pytest.raises(ValueError, match="n_parts must be an integer of at least 1; got n_parts=0"):
        train(tmp_path / "run", n_parts=0)


def test_the_rate_is_that_of_the_recipe(tiny, tmp_path, monkeypatch):
    trained = Mock(wraps=training.train_model)
    monkeypatch.setattr(capstone, "train_model", trained)
    tiny[0](tmp_path / "run")
    schedule = trained.call_args.kwargs["schedule"]
    assert [schedule(k) for k in (1, 2, 3)] == [
        training.recipe_rate(k, n_steps=3) for k in (1, 2, 3)
    ]


@pytest.mark.parametrize(("rank", "told"), [("0", [2, 4]), ("1", [])])
def test_from_the_command_line_the_first_process_tells(tmp_path, monkeypatch, capsys, rank, told):
    line = ["capstone", str(tmp_path / "run"), "--tier", "cpu", "--steps", "5", "--every", "2"]
    monkeypatch.setattr(sys, "argv", line)
    monkeypatch.setenv("RANK", rank)
    alone = distributed.Place(0, 1, torch.device("cpu"))
    monkeypatch.setattr(capstone, "join", lambda device: nullcontext(alone))
    capstone._main()
    steps = [
        int(row.split(":")[0].removeprefix("step ")) for row in capsys.readouterr().out.splitlines()
    ]
    assert steps == told


def test_products_are_rounded_where_the_tier_says_so(tiny, tmp_path):
    exact, rounded = (tiny[0](tmp_path / f"{d}", dtype=d) for d in (None, torch.bfloat16))
    assert exact != rounded
    assert_close(exact, rounded, rtol=0.02, atol=0)


@pytest.mark.parametrize("world_size", [1, 2, 3, 7])
def test_the_shares_are_the_batch(world_size):
    batch = torch.arange(5)
    shares = [training.share_of(batch, rank, world_size) for rank in range(world_size)]
    assert sorted(torch.cat(shares).tolist()) == batch.tolist()
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_bytes_by_hand(world_size):
    """A ring: at each of its p - 1 turns a process sends one of p pieces on."""
    pieces, sent = 60 // world_size, 0
    for _ in range(world_size - 1):
        sent += pieces
    assert training.bytes_sent(60, world_size, "ddp") == 2 * sent
    assert training.bytes_sent(60, world_size, "fsdp") == 3 * sent


def test_refusals():
    with pytest.raises(ValueError, match=r"n_bytes must be at least 0; got n_bytes=-1"):
        training.bytes_sent(-1, 2, "ddp")
    with pytest.raises(ValueError, match=r"rank must be less than world_size; got rank=2"):
        training.share_of([1, 2, 3], 2, 2)
    with pytest.raises(ValueError, match=r"every must be an integer of at least 1; got every=0"):
        train_capstone("nowhere", every=0)
