"""The card calculator, used in Chromium as a reader would: its bytes are the library's."""

import itertools
import json
import random

import pytest
import torch

from softlookup.models import GPTConfig
from softlookup.models.gpt import parameter_count, training_memory, writing_memory
from softlookup.show import CardCalculator
from softlookup.show.figures.card_calculator import (
    BATCHES,
    CARDS,
    HEAD_WIDTHS,
    LENGTHS,
    SPARE,
    VOCABULARIES,
    WIDTHS,
)

GPT2 = {"d": 768, "layers": 12, "n": 1024, "batch": 8, "vocab": 50_257, "head": 64,
        "precision": "float32", "optimizer": "adam", "kept": False, "checkpointing": False,
        "use": "train", "card": 16}  # fmt: skip
KEYS = ("weights", "gradients", "optimizer", "activations", "scores")


def config_of(choices):
    width, head = choices["d"], choices["head"]
    return GPTConfig(choices["vocab"], choices["n"], width, width // head, choices["layers"])


def memory_of(choices):
    config = config_of(choices)
    if choices["use"] == "write":
        dtype = torch.float32 if choices["precision"] == "float32" else torch.bfloat16
        return writing_memory(config, choices["batch"], dtype=dtype)
    return training_memory(
        config,
        choices["batch"],
        precision=choices["precision"],
        optimizer=choices["optimizer"],
        fused=not choices["kept"],
        checkpointing=choices["checkpointing"],
    )


def gigabytes(n_bytes):
    count = n_bytes / 2**30
    digits = 0 if count >= 100 else 1 if count >= 0.95 else 2 if count >= 0.095 else 3
    return f"{count:,.{digits}f} GB"


def example():
    return CardCalculator()


@pytest.fixture(scope="module")
def maths(functions_of):
    return functions_of("figures/card_calculator/maths.js")


@pytest.fixture
def open_figure(open_figures):
    def open_page(**options):
        return open_figures(CardCalculator(**options), ready=".cf-form")

    return open_page


def data():
    return json.loads(example().data)


# The arithmetic


def some_choices():
    """Each value of each control at least once, beside others that differ."""
    lists = {
        "d": WIDTHS, "layers": (1, 12, 96), "n": LENGTHS, "batch": BATCHES, "vocab": VOCABULARIES,
        "head": HEAD_WIDTHS, "precision": ("float32", "mixed", "bfloat16"),
        "optimizer": ("adam", "momentum", "sgd"), "kept": (False, True),
        "checkpointing": (True, False), "use": ("train", "train", "train", "write"),
    }  # fmt: skip
    luck = random.Random(7)
    found = [{**GPT2, **{key: luck.choice(lists[key]) for key in lists}} for _ in range(150)]
    return [one if one["d"] % one["head"] == 0 else {**one, "head": 64} for one in found]


def test_bytes_are_the_librarys(maths):
    given = data()
    for choices in some_choices():
        found = maths("return maths.parts(data[0], data[1])", [choices, given])
        memory = memory_of(choices)
        assert found == vars(memory)
        assert maths("return maths.total(data[0], data[1])", [choices, given]) == memory.total
        config = config_of(choices)
        assert maths("return maths.parameters(data)", choices) == parameter_count(config)


def test_the_choices_meet_every_value():
    found = some_choices()
    assert {choices["use"] for choices in found} == {"train", "write"}
    for key, values in {"d": WIDTHS, "n": LENGTHS, "batch": BATCHES}.items():
        assert {choices[key] for choices in found} == set(values)
    flags = {(c["kept"], c["checkpointing"], c["precision"]) for c in found}
    assert len(flags) > 8


def test_a_remedy_is_what_makes_it_fit(maths):
    """Each single change is tried with the library; those that fit are the ones that are named."""
    given = data()
    for batch, card in itertools.product((1, 16, 32, 64), CARDS):
        choices = {**GPT2, "batch": batch, "card": card, "kept": True}
        changes = {
            f"{batch // 2} texts at once": {"batch": batch // 2},
            "512 tokens": {"n": 512},
            "mixed precision": {"precision": "mixed"},
            "all in bfloat16": {"precision": "bfloat16"},
            "a fused kernel": {"kept": False},
            "checkpointing": {"checkpointing": True},
            "momentum in place of Adam": {"optimizer": "momentum"},
        }
        room = card * 2**30 * (1 - SPARE)
        wanted = [
            words
            for words, change in changes.items()
            if (change.get("batch") != 0) and memory_of(choices | change).total <= room
        ]
        assert maths("return maths.remedies(data[0], data[1])", [choices, given]) == wanted


def test_gigabytes_in_words(maths):
    counts = [2**30, 11 * 2**30, 2**40, 2**20 * 100, 2**20, 0]
    found = maths("return data.map(maths.gigabytes)", counts)
    assert found == ["1.0 GB", "11.0 GB", "1,024 GB", "0.10 GB", "0.001 GB", "0.000 GB"]
    assert found == [gigabytes(count) for count in counts]
    found = maths("return data.map(maths.counted)", [100, 1536, 124_439_808, 6_658_400_256])
    assert found == ["100", "1.54 thousand", "124 million", "6.66 billion"]


# What the page shows


def assert_shows(page, choices):
    memory = memory_of(choices)
    scale = max(memory.total, choices["card"] * 2**30)
    for key, n_bytes in {**vars(memory), "total": memory.total}.items():
        row = page.locator(f".cf-{key}")
        assert row.locator(".cf-count").inner_text() == gigabytes(n_bytes)
        width = row.locator(".cf-fill").evaluate("(node) => parseFloat(node.style.width)")
        assert width == pytest.approx(100 * n_bytes / scale, abs=1e-3)
    fits = memory.total <= choices["card"] * 2**30 * (1 - SPARE)
    said = page.inner_text(".cf-live")
    assert f"{gigabytes(memory.total)} of {choices['card']}: " in said
    assert said.endswith("it fits.") == fits
    assert page.locator(".cf-total").get_attribute("data-fits") == str(fits).lower()


def test_it_says_what_its_texts_say(open_figure):
    """The alternative text has the totals for 8 and for 16 texts; the caption counts remedies."""
    page = open_figure()
    assert_shows(page, GPT2)
    assert page.inner_text(".cf-live") == "124 million parameters. 11.0 GB of 16: it fits."
    page.locator('input[name="batch"]').fill(str(BATCHES.index(16)))
    assert_shows(page, {**GPT2, "batch": 16})
    said = page.inner_text(".cf-live")
    assert "20.2 GB of 16: it does not fit. Any one of these would do: " in said
    figure = example()
    assert "takes 11 gigabytes" in figure.alt
    assert "20.2" in figure.alt
    assert said.count(",") == 3
    assert "names four single changes" in figure.caption


def test_every_control_changes_what_is_shown(open_figure):
    page, now = open_figure(), dict(GPT2)
    page.get_by_label("GPT-2 XL").check()
    now |= {"d": 1600, "layers": 48}
    assert_shows(page, now)
    for label, change in (
        ("mixed", {"precision": "mixed"}),
        ("momentum", {"optimizer": "momentum"}),
        ("141", {"card": 141}),
    ):
        page.get_by_label(label, exact=True).check()
        now |= change
        assert_shows(page, now)
    page.get_by_label("checkpointing").check()
    page.get_by_label("attention’s weights are kept").check()
    now |= {"checkpointing": True, "kept": True}
    assert_shows(page, now)
    page.select_option('select[name="vocab"]', "100")
    page.select_option('select[name="head"]', "32")
    now |= {"vocab": 100, "head": 32}
    assert_shows(page, now)
    page.locator('input[name="layers"]').fill("3")
    page.locator('input[name="n"]').fill("0")
    page.locator('input[name="d"]').fill("1")
    now |= {"layers": 3, "n": 64, "d": 128}
    assert_shows(page, now)
    page.get_by_label("6.7 billion").check()  # whose heads have 128 columns
    now |= {"layers": 32, "d": 4096, "head": 128}
    assert_shows(page, now)
    page.locator('input[name="d"]').fill(str(WIDTHS.index(1600)))  # no multiple of that
    now |= {"d": 1600, "head": 64}
    assert_shows(page, now)
    assert page.locator('input[name="model"]:checked').count() == 0


def test_a_model_that_writes_has_a_cache_and_no_gradients(open_figure):
    page = open_figure(model="6.7 billion", batch_size=1, card=16)
    assert "No single change would do." in page.inner_text(".cf-live")
    page.get_by_label("write", exact=True).check()
    page.get_by_label("bfloat16", exact=True).check()
    now = {**GPT2, "d": 4096, "layers": 32, "batch": 1, "use": "write", "precision": "bfloat16",
           "head": 128}  # fmt: skip
    assert_shows(page, now)
    assert page.locator(".cf-row:visible").count() == 3
    assert not page.get_by_label("checkpointing").is_visible()


def test_the_keyboard_moves_a_slider(open_figure):
    page = open_figure()
    page.locator('input[name="batch"]').focus()
    page.keyboard.press("ArrowRight")
    assert_shows(page, {**GPT2, "batch": 16})
    assert page.locator('input[name="batch"]').get_attribute("aria-valuetext") == "16"


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "GPT-5"}, "model must be one of"),
        ({"batch_size": 3}, "batch_size must be one of"),
        ({"card": 12}, "card must be one of"),
    ],
)
def test_what_is_not_among_the_choices_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        CardCalculator(**options)
