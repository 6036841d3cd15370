"""Shared by all tests: who is asked at the library's doors, and one seeded generator a test."""

import pytest
import torch
from hypothesis import settings

from softlookup.checks import door

EVERYWHERE = door.EVERYWHERE

torch.set_num_threads(1)
settings.register_profile("book", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("book")


@pytest.fixture
def generator(request) -> torch.Generator:
    """A seeded source of random tensors; `make ledger` asks for several seeds."""
    return torch.Generator().manual_seed(20170612 + getattr(request, "param", 0))


def pytest_runtest_setup(item):
    """What breaks an annotation on purpose meets the doors as a reader does: from outside alone."""
    door.EVERYWHERE = EVERYWHERE and "bad_input" not in item.keywords
