"""Shared by all tests: the run-time type checks, and one seeded generator a test."""

import os

import pytest

if os.environ.get("SOFTLOOKUP_TYPECHECK"):
    # The second run of the tests: every annotated shape of the library is checked at run time.
    from jaxtyping import install_import_hook

    install_import_hook("softlookup", "beartype.beartype")

import torch
from hypothesis import settings

torch.set_num_threads(1)
# The types of a call are the same in every example: where they are checked, a few are enough.
examples = 10 if os.environ.get("SOFTLOOKUP_TYPECHECK") else 50
settings.register_profile("book", deadline=None, derandomize=True, max_examples=examples)
settings.load_profile("book")

REPEATS = "thousands of calls that other tests make too: the types of all are those of one"


@pytest.fixture
def generator(request) -> torch.Generator:
    """A seeded source of random tensors; `make ledger` asks for several seeds."""
    return torch.Generator().manual_seed(20170612 + getattr(request, "param", 0))


def pytest_configure(config):
    config.addinivalue_line("markers", f"repeats: {REPEATS}")


def pytest_collection_modifyitems(config, items):
    """With run-time type checks on, a call that breaks an annotation fails earlier, by design."""
    if os.environ.get("SOFTLOOKUP_TYPECHECK"):
        left_out = {
            "bad_input": pytest.mark.skip(reason="the type check answers before the library does"),
            "repeats": pytest.mark.skip(reason=REPEATS),
        }
        for item in items:
            for name in left_out.keys() & item.keywords.keys():
                item.add_marker(left_out[name])
