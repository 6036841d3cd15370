"""Checkpoints: a run that is taken up again is the same run, and damage changes nothing."""

import json
import os
import re

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from softlookup.models import EncoderBlock
from softlookup.training import (
    Muon,
    load_checkpoint,
    matrices_and_rest,
    save_checkpoint,
    train_model,
    warmup_cosine,
)

N_STEPS, STOP = 7, 3


class Model(nn.Module):
    """Embedding, block with dropout, tied output, and a buffer."""

    def __init__(self, *, d_ff=13, tied=True, extra=False):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.block = EncoderBlock(6, 2, d_ff, dropout=0.3)
        self.batch_norm = nn.BatchNorm1d(6)
        self.unembedding = nn.Linear(6, 11, bias=False)
        if tied:
            self.unembedding.weight = self.embedding.weight
        if extra:
            self.more = nn.Linear(2, 3)

    def forward(self, ids):
        rows = self.block(self.embedding(ids))
        return self.unembedding(self.batch_norm(rows.mT).mT)


class Run:
    """Everything that a run consists of."""

    def __init__(self, seed, **options):
        torch.manual_seed(seed)
        self.model = Model(**options)
        matrices, rest = matrices_and_rest(self.model)
        half = len(matrices) // 2
        groups = [{"params": matrices[:half]}, {"params": matrices[half:], "lr": 0.05}]
        adam = torch.optim.AdamW(rest, lr=0.01, betas=(0.8, 0.95), amsgrad=True)
        self.optimizers = [Muon(groups, lr=0.03, weight_decay=0.1), adam]
        self.order = torch.Generator().manual_seed(seed)

    @property
    def chance(self):
        return {"order": self.order, "dropout": torch.default_generator}

    def batches(self):
        while True:
            yield torch.randint(11, (5, 7), generator=self.order)

    def go_on(self, n_done, n_steps):
        def loss(model, ids):
            return nn.functional.cross_entropy(model(ids)[:, :-1].mT, ids[:, 1:])

        return train_model(
            self.model,
            loss,
            self.batches(),
            optimizers=self.optimizers,
            n_done=n_done,
            n_steps=n_steps,
            schedule=lambda step: warmup_cosine(step, n_steps=N_STEPS, n_warmup=2),
            clip=0.5,
        )

    def save(self, path, step=STOP):
        save_checkpoint(
            path, self.model, optimizers=self.optimizers, step=step, generators=self.chance
        )

    def load(self, path):
        options = {"optimizers": self.optimizers, "generators": self.chance}
        return load_checkpoint(path, self.model, **options)

    def everything(self):
        """A copy of all tensors and options."""
        tensors = [self.order.get_state(), torch.default_generator.get_state()]
        tensors += [tensor.clone() for tensor in self.model.state_dict().values()]
        options = []
        for optimizer in self.optimizers:
            options.append([{**g, "params": len(g["params"])} for g in optimizer.param_groups])
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    for key, value in sorted(optimizer.state[parameter].items()):
                        options.append(key)
                        tensors.append(value.clone())
        return tensors, options


def assert_same(first, second):
    assert first[1] == second[1]
    assert len(first[0]) == len(second[0])
    for a, b in zip(first[0], second[0], strict=True):
        assert a.dtype == b.dtype
        assert torch.equal(a, b)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.safetensors"


@pytest.fixture
def saved(path):
    """A run of three steps, in its file."""
    run = Run(5)
    run.go_on(0, STOP)
    run.save(path)
    return run


def test_a_run_resumes_bit_for_bit(path):
    whole = Run(5)
    expected = whole.go_on(0, N_STEPS)
    first = Run(5)
    losses = first.go_on(0, STOP)
    first.save(str(path))
    second = Run(17)  # other weights, another order
    second.go_on(0, 2)
    assert second.load(path) == STOP
    losses += second.go_on(STOP, N_STEPS)
    assert losses == expected
    assert_same(second.everything(), whole.everything())
    assert second.model.unembedding.weight is second.model.embedding.weight
    assert second.optimizers[1].param_groups[0]["betas"] == (0.8, 0.95)


def test_a_fresh_run_can_be_saved_too(path):
    """Before the first step an optimizer remembers nothing."""
    first = Run(5)
    first.save(path, step=0)
    expected = first.go_on(0, N_STEPS)
    second = Run(17)
    assert second.load(path) == 0
    assert second.go_on(0, N_STEPS) == expected


def test_other_optimizers_keep_numbers_that_are_no_tensors(path):
    """SGD keeps None where there is no momentum, others keep a plain number."""
    layer = nn.Linear(2, 3)
    sgd = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.ones(2)).sum().backward()
    sgd.step()
    sgd.state[layer.weight]["patience"] = 0.1 + 0.2
    save_checkpoint(path, layer, optimizers=sgd)
    other = torch.optim.SGD(layer.parameters(), lr=0.5)
    load_checkpoint(path, layer, optimizers=other)
    assert other.state[layer.weight] == sgd.state[layer.weight]
    assert other.param_groups[0]["lr"] == 0.1


def test_saving_changes_nothing(saved, path):
    before = saved.everything()
    saved.save(path)
    assert_same(saved.everything(), before)


def test_a_model_alone_can_be_read(saved, path):
    model = Model()
    assert load_checkpoint(path, model) == STOP
    for name, tensor in saved.model.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor)


def test_an_interrupted_save_leaves_the_old_file(saved, path, monkeypatch):
    old = path.read_bytes()
    saved.go_on(STOP, N_STEPS)

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="the disk is full"):
        saved.save(path)
    assert path.read_bytes() == old
    assert list(path.parent.iterdir()) == [path]


def refused(path, message, run=None):
    """Loading fails with the message, and changes nothing at all."""
    run = Run(17) if run is None else run
    run.go_on(0, 2)
    before = run.everything()
    with pytest.raises(ValueError, match=message):
        run.load(path)
    assert_same(run.everything(), before)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.9999])
def test_a_file_cut_short(saved, path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    refused(path, "the file must be whole safetensors; got ")


def rewritten(path, change):
    """The file with its tensors and its description changed."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    tensors = load_file(path)
    about = json.loads(metadata["checkpoint"])
    change(tensors, about)
    metadata["checkpoint"] = json.dumps(about)
    save_file(tensors, path, metadata)


WEIGHT = "model.block.feed_forward.layer.W_1.weight"


def test_tensors_that_are_gone_or_new(saved, path):
    def change(tensors, about):
        tensors["model.stranger"] = tensors.pop(WEIGHT)
        del tensors["optimizers.1.exp_avg.embedding.weight"]

    rewritten(path, change)
    lost = f"missing=['{WEIGHT}', 'optimizers.1.exp_avg.embedding.weight']"
    rule = f"the checkpoint must hold what it lists; got {lost}, extra=['model.stranger']"
    refused(path, re.escape(rule))


def test_another_model(saved, path):
    rule = r"missing=\['model.more.bias', 'model.more.weight'\], extra=\[\]"
    refused(path, f"must fit what it is loaded into; got {rule}", Run(17, extra=True))
    Run(5, extra=True).save(path)
    rule = r"missing=\[\], extra=\['model.more.bias', 'model.more.weight'\]"
    refused(path, f"must fit what it is loaded into; got {rule}")


def test_other_shapes_and_dtypes(saved, path):
    rule = f"wrong=['{WEIGHT}: (13, 6) float32 instead of (17, 6) float32'"
    refused(path, re.escape(rule), Run(17, d_ff=17))
    with pytest.raises(ValueError, match=re.escape("(6,) float32 instead of (6,) float64")):
        load_checkpoint(path, Model().double())


def test_other_ties(saved, path):
    untied = Run(17, tied=False)
    rule = "the same weights must be tied in the checkpoint and in the model; got checkpoint=[['emb"
    refused(path, re.escape(rule), untied)
    untied.save(path)
    refused(path, re.escape("tied in the checkpoint and in the model; got checkpoint=[], model=["))


def with_optimizers(*optimizers):
    run = Run(17)
    run.optimizers = [make(run) for make in optimizers]
    return run


def same(k):
    return lambda run: run.optimizers[k]


def test_other_optimizers(saved, path):
    rule = "there must be as many optimizers as in the checkpoint; got checkpoint=2, given=1"
    refused(path, rule, with_optimizers(same(0)))
    rule = (
        "the optimizer must be of the kind in the checkpoint; got checkpoint='Muon', given='AdamW'"
    )
    refused(path, rule, with_optimizers(same(1), same(0)))

    def fewer(run):
        return torch.optim.AdamW(matrices_and_rest(run.model)[1][1:], amsgrad=True)

    rule = r"parameters of the checkpoint; got missing=\[\], extra=\['embedding.weight'\]"
    refused(path, rule, with_optimizers(same(0), fewer))

    def one_group(run):
        return Muon(matrices_and_rest(run.model)[0], lr=0.03)

    rule = r"the optimizer's groups must be those of the checkpoint; got checkpoint=\[3, 3\], given"
    refused(path, rule, with_optimizers(one_group, same(1)))


def test_options_of_another_version(saved, path):
    def change(tensors, about):
        about["optimizers"][0]["groups"][1]["warmth"] = 0.5

    rewritten(path, change)
    refused(path, r"options must have the names of the checkpoint; got checkpoint=.*'warmth'")


def test_a_group_may_have_an_option_of_its_own(path):
    layer = nn.Linear(2, 3)
    groups = [{"params": [layer.weight], "part": "matrix"}, {"params": [layer.bias]}]
    save_checkpoint(path, layer, optimizers=torch.optim.SGD(groups, lr=0.1), step=2)
    again = torch.optim.SGD([{**group, "lr": 0.5} for group in groups])
    assert load_checkpoint(path, layer, optimizers=again) == 2
    assert [group["lr"] for group in again.param_groups] == [0.1, 0.1]


def test_an_optimizer_that_is_not_described(saved, path):
    def change(tensors, about):
        del about["optimizers"][1]["groups"]

    rewritten(path, change)
    rule = "an optimizer must be described as describe does; got missing=['groups'], extra=[]"
    refused(path, re.escape(rule))


def test_a_state_that_does_not_fit_its_parameter(saved, path):
    def change(tensors, about):
        tensors["optimizers.1.exp_avg.embedding.weight"] = torch.zeros(7, 6)

    rewritten(path, change)
    rule = (
        "what the optimizer remembers must fit its parameter; got name='exp_avg.embedding.weight'"
    )
    refused(path, re.escape(rule + ", kept=(7, 6), parameter=(11, 6)"))


def test_generators_that_are_missing_or_unsound(saved, path):
    class Other(Run):
        @property
        def chance(self):
            return {"order": self.order, "mice": torch.Generator()}

    rule = r"missing=\['generators.mice'\], extra=\['generators.dropout'\]"
    refused(path, rule, Other(17))

    def change(tensors, about):
        tensors["generators.order"] = torch.full_like(tensors["generators.order"], 255)

    rewritten(path, change)
    refused(path, "the state of generator 'order' must be sound; got ")


def test_a_file_of_another_kind(path):
    save_file({"weight": torch.ones(2)}, path)
    refused(path, "the file must be softlookup.training, version 1; got format=None, version=None")
    kind = {"format": "softlookup.training", "version": "1"}
    for about in ({}, {"checkpoint": "{"}, {"checkpoint": "{}"}, {"checkpoint": "3"}):
        save_file({"weight": torch.ones(2)}, path, kind | about)
        refused(path, "the file must say what it holds; got no description")
    with pytest.raises(ValueError, match="there must be a file of kind"):
        load_checkpoint(path.parent, Model())


def test_saving_refuses_bad_input(path):
    run = Run(5)
    with pytest.raises(ValueError, match="the folder of the file must exist"):
        run.save(path / "deeper")
    other = nn.Linear(2, 3)
    adam = torch.optim.AdamW(run.model.parameters())
    adam.add_param_group({"params": other.parameters()})
    rule = "an optimizer's parameters must be those of the model; got strange=[(3, 2), (3,)]"
    with pytest.raises(ValueError, match=re.escape(rule)):
        save_checkpoint(path, run.model, optimizers=adam)
    other(torch.ones(2)).sum().backward()
    adam.step()
    del adam.param_groups[1]  # it still remembers them
    with pytest.raises(ValueError, match=re.escape(rule)):
        save_checkpoint(path, run.model, optimizers=adam)
    rate = torch.optim.AdamW(run.model.parameters(), lr=torch.tensor(0.1))
    with pytest.raises(ValueError, match="an optimizer's options must be plain numbers; got lr="):
        save_checkpoint(path, run.model, optimizers=rate)

    class Odd(nn.Linear):
        def get_extra_state(self):
            return {"any": "thing"}

    with pytest.raises(
        ValueError, match=r"state must be tensors; got wrong=\['model._extra_state'"
    ):
        save_checkpoint(path, Odd(2, 3))
    assert not path.exists()
