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
    BITS,
    CARDS,
    HEAD_WIDTHS,
    INSIDES,
    KINDS,
    LENGTHS,
    SHARED,
    SPARE,
    VOCABULARIES,
    WIDTHS,
)

GPT2 = {"d": 768, "layers": 12, "n": 1024, "batch": 8, "vocab": 50_257, "head": 64,
        "precision": "float32", "optimizer": "adam", "kept": False, "checkpointing": False,
        "kind": "gpt2", "share": 1, "inside": "4", "bits": 16, "use": "train",
        "card": 16}  # fmt: skip
KEYS = ("weights", "gradients", "optimizer", "activations", "scores")


MODEL_8B = {"d": 4096, "layers": 32, "head": 128, "kind": "llama", "share": 4, "inside": "3.5",
            "vocab": 128_000}  # fmt: skip


def config_of(choices):
    width = choices["d"]
    n_heads = width // choices["head"]
    inside = {"8/3": -(-8 * width // (3 * 256)) * 256, "3.5": 7 * width // 2, "4": 4 * width}
    return GPTConfig(
        choices["vocab"],
        choices["n"],
        width,
        n_heads,
        choices["layers"],
        d_ff=inside[choices["inside"]],
        n_kv_heads=n_heads // choices["share"],
        **KINDS[choices["kind"]],
    )


def memory_of(choices):
    config = config_of(choices)
    if choices["use"] == "write":
        bits = choices["bits"]
        dtype = torch.float32 if bits == 32 else torch.bfloat16
        return writing_memory(config, choices["batch"], dtype=dtype, weight_bits=bits)
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
        "kind": tuple(KINDS), "share": SHARED, "inside": INSIDES, "bits": BITS,
    }  # fmt: skip
    luck = random.Random(7)
    found = [{**GPT2, **{key: luck.choice(lists[key]) for key in lists}} for _ in range(150)]
    for one in found:
        one["head"] = one["head"] if one["d"] % one["head"] == 0 else 64
        one["share"] = one["share"] if one["d"] // one["head"] % one["share"] == 0 else 1
    return found


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
    every = {"d": WIDTHS, "n": LENGTHS, "batch": BATCHES, "share": SHARED, "inside": INSIDES}
    for key, values in every.items():
        assert {choices[key] for choices in found} == set(values)
    written = [choices for choices in found if choices["use"] == "write"]
    assert {(choices["bits"], choices["kind"]) for choices in written} == {
        (bits, kind) for bits in BITS for kind in KINDS
    }
    flags = {(c["kept"], c["checkpointing"], c["precision"]) for c in found}
    assert len(flags) > 8


def test_a_remedy_is_what_makes_it_fit(maths):
    """Each single change is tried with the library; those that fit are the ones that are named."""
    given = data()
    for batch, card in itertools.product((1, 16, 32, 64), CARDS):
        choices = {**GPT2, "batch": batch, "card": card, "kept": True}
        room = card * 2**30 * (1 - SPARE)
        texts, tokens = (
            max((size for size in sizes if size < choices[key]
                 and memory_of(choices | {key: size}).total <= room), default=0)
            for key, sizes in (("batch", BATCHES), ("n", LENGTHS))
        )  # fmt: skip
        changes = {
            f"{texts} {'text' if texts == 1 else 'texts'} at once": {"batch": texts},
            f"{tokens} tokens": {"n": tokens},
            "mixed precision": {"precision": "mixed"},
            "a fused kernel": {"kept": False},
            "checkpointing": {"checkpointing": True},
            "momentum in place of Adam": {"optimizer": "momentum"},
        }
        wanted = [
            words
            for words, change in changes.items()
            if change.get("batch", 1)
            and change.get("n", 1)
            and memory_of(choices | change).total <= room
        ]
        assert maths("return maths.remedies(data[0], data[1])", [choices, given]) == wanted


def test_a_model_that_writes_fits_with_fewer_bits(maths):
    given = data()
    choices = {**GPT2, **MODEL_8B, "batch": 1, "use": "write", "card": 8}
    room = 8 * 2**30 * (1 - SPARE)
    fitting = [f"{bits} bits for a weight" for bits in (8, 4)
               if memory_of({**choices, "bits": bits}).total <= room]  # fmt: skip
    assert fitting == ["4 bits for a weight"]
    assert maths("return maths.remedies(data[0], data[1])", [choices, given]) == fitting


@pytest.mark.parametrize(
    ("name", "published"),
    [("Llama 2 7B", 6_738_415_616), ("Llama 3 8B", 8_030_261_248), ("Llama 3 70B", 70_553_706_496)],
)
def test_the_models_have_the_weights_that_were_published(maths, name, published):
    """The files of Llama 3 have 128,256 tokens, 256 more than the table of its paper."""
    given = next(model for model in data()["models"] if model["name"] == name)
    more = 2 * 256 * given["d"] if "3" in name.split()[1] else 0
    assert maths("return maths.parameters(data)", {**GPT2, **given}) + more == published


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
    assert ("it fits" in said) == fits
    loses = choices["use"] == "train" and choices["precision"] == "bfloat16"
    assert said.endswith("lose small steps.") == (fits and loses)
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
    assert said.count(",") == 2
    assert "names three single changes" in figure.caption


def test_every_control_changes_what_is_shown(open_figure):
    page, now = open_figure(), dict(GPT2)
    page.get_by_text("The model in numbers").click()
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
    page.select_option('select[name="share"]', "2")
    page.select_option('select[name="inside"]', "8/3")
    page.get_by_label("Llama", exact=True).check()
    now |= {"share": 2, "inside": "8/3", "kind": "llama"}
    assert_shows(page, now)
    page.locator('input[name="layers"]').fill("3")
    page.locator('input[name="n"]').fill("0")
    page.locator('input[name="d"]').fill("1")
    now |= {"layers": 3, "n": 64, "d": 128}
    assert_shows(page, now)
    page.select_option('select[name="head"]', "128")  # one head of queries: it shares with none
    now |= {"head": 128, "share": 1}
    assert_shows(page, now)
    page.get_by_label("Llama 3 8B").check()
    now |= MODEL_8B
    assert_shows(page, now)
    page.get_by_label("6.7 billion").check()  # whose heads have 128 columns
    now |= {"kind": "gpt2", "share": 1, "inside": "4", "vocab": 50_257}
    assert_shows(page, now)
    page.locator('input[name="d"]').fill(str(WIDTHS.index(1600)))  # no multiple of that
    now |= {"d": 1600, "head": 64}
    assert_shows(page, now)
    assert page.locator('input[name="model"]:checked').count() == 0


def test_a_model_that_writes_has_a_cache_and_no_gradients(open_figure):
    page = open_figure(model="6.7 billion", batch_size=1, card=16)
    assert "No single change would do." in page.inner_text(".cf-live")
    page.get_by_label("write", exact=True).check()
    now = {**GPT2, "d": 4096, "layers": 32, "batch": 1, "use": "write", "head": 128}
    assert_shows(page, now)
    page.get_by_label("4", exact=True).check()
    now |= {"bits": 4}
    assert_shows(page, now)
    assert page.locator(".cf-row:visible").count() == 3
    assert not page.get_by_label("checkpointing").is_visible()
    assert not page.get_by_label("mixed", exact=True).is_visible()


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
