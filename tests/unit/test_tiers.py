"""Which tier a machine gets, what it is refused, and that models come back from its device."""

from types import SimpleNamespace

import pytest
import torch
from second_device import second_device
from torch import nn

from softlookup.training import TIER_VARIABLE, TIERS, Tier, choose_tier

GIB = 2**30
CARDS = {  # memory in GiB as the cards report it, and whether they compute in bfloat16
    "T4": (14.7, False),
    "L4": (22.2, True),
    "A100 of 40 GB": (39.4, True),
    "H100": (79.2, True),
    "Quadro RTX 8000": (47.5, False),
}


@pytest.fixture(autouse=True)
def _no_wish(monkeypatch):
    monkeypatch.delenv(TIER_VARIABLE, raising=False)


@pytest.fixture
def machine(monkeypatch):
    """A machine with this card, or with none, or with an Apple GPU."""

    def build(card=None, apple=False):
        memory, has_bfloat16 = CARDS.get(card, (0, False))

        def supported(including_emulation=True):
            return has_bfloat16 or including_emulation

        monkeypatch.setattr(torch.cuda, "is_available", lambda: card is not None)
        properties = SimpleNamespace(total_memory=int(memory * GIB))
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: apple)

    return build


@pytest.mark.parametrize(
    ("card", "name", "dtype"),
    [
        (None, "cpu", None),
        ("T4", "gpu", None),
        ("L4", "gpu", torch.bfloat16),
        ("A100 of 40 GB", "big", torch.bfloat16),
        ("H100", "big", torch.bfloat16),
        ("Quadro RTX 8000", "gpu", None),
    ],
)
def test_the_tier_fits_the_machine(machine, card, name, dtype):
    machine(card)
    place = torch.device("cpu" if card is None else "cuda")
    assert choose_tier() == Tier(name, place, dtype)


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_the_reader_may_choose_a_smaller_one(machine, name, monkeypatch):
    machine("H100")
    assert choose_tier(name).name == name
    monkeypatch.setenv(TIER_VARIABLE, name)
    assert choose_tier().name == name
    assert choose_tier("big").name == "big"  # what is said in the cell wins


def test_an_empty_wish_is_none(machine, monkeypatch):
    machine("T4")
    monkeypatch.setenv(TIER_VARIABLE, "")
    assert choose_tier().name == "gpu"


def test_the_cpu_tier_uses_no_gpu(machine):
    machine("H100")
    assert choose_tier("cpu") == Tier("cpu", torch.device("cpu"), None)


def test_an_apple_gpu_serves_when_it_is_asked_for(machine):
    machine(apple=True)
    assert choose_tier().name == "cpu"
    assert choose_tier("gpu") == Tier("gpu", torch.device("mps"), None)
    with pytest.raises(ValueError, match="needs a CUDA card with bfloat16 and 38 GiB of memory"):
        choose_tier("big")


@pytest.mark.parametrize("name", ["tpu", "CPU"])
def test_an_unknown_tier_is_refused(machine, name, monkeypatch):
    machine()
    message = f"tier must be one of 'cpu', 'gpu', 'big'; got tier='{name}'"
    with pytest.raises(ValueError, match=message):
        choose_tier(name)
    monkeypatch.setenv(TIER_VARIABLE, name)
    with pytest.raises(ValueError, match=message):
        choose_tier()


@pytest.mark.parametrize("name", ["gpu", "big"])
def test_a_machine_without_a_gpu_is_told_so(machine, name):
    machine()
    message = f"this tier needs a GPU, and PyTorch finds none; got tier='{name}'"
    with pytest.raises(ValueError, match=message):
        choose_tier(name)


@pytest.mark.parametrize("card", ["T4", "L4", "Quadro RTX 8000"])
def test_a_small_card_is_not_big(machine, card):
    machine(card)
    with pytest.raises(ValueError, match="38 GiB of memory; got tier='big'"):
        choose_tier("big")


def test_each_tier_picks_its_own_size():
    picked = [Tier(t, torch.device("cpu"), None).pick(cpu=2, gpu=3, big=5) for t in TIERS]
    assert picked == [2, 3, 5]


def test_models_are_held_on_the_device_and_come_back():
    models = nn.Linear(2, 3), nn.Linear(3, 5)
    with second_device() as away:
        tier = Tier("gpu", away, None)
        with tier.holding(*models):
            assert {model.weight.device for model in models} == {away}
        assert {p.device.type for model in models for p in model.parameters()} == {"cpu"}
        with pytest.raises(KeyError), tier.holding(*models):
            raise KeyError
        assert {p.device.type for model in models for p in model.parameters()} == {"cpu"}
