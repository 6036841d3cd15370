"""The parameter calculator, used in Chromium as a reader would: its counts are the library's."""

import itertools
import math
import re
from dataclasses import replace

import pytest
import torch

from softlookup.models import Transformer, TransformerConfig
from softlookup.models.encoder_decoder import parameter_counts
from softlookup.show import ParameterCalculator
from softlookup.show.figures.parameter_calculator import PRINTED_MILLIONS

BASE = {"N": 6, "d": 512, "dff": 2048, "vocab": 37_000, "tie": "all", "biases": False,
        "finals": False}  # fmt: skip


def config_of(choices, heads=8):
    """The library's configuration for the figure's choices."""
    return TransformerConfig(
        choices["vocab"], d_model=choices["d"], n_heads=heads, d_ff=choices["dff"],
        n_encoder_layers=choices["N"], n_decoder_layers=choices["N"], tie=choices["tie"],
        attention_bias=choices["biases"], final_norm=choices["finals"],
    )  # fmt: skip


def count(module):
    return 0 if module is None else sum(p.numel() for p in module.parameters())


def parts_of(config):
    """The parts of a real model, built without memory."""
    with torch.device("meta"):
        model = Transformer(config)
    tables = {"source": model.source_embedding, "target": model.embedding,
              "output": model.unembedding}  # fmt: skip
    if config.tie == "all":
        tables = {"source": model.embedding, "target": None, "output": None}
    found = {key: count(table) for key, table in tables.items()}
    for side, blocks, names in (
        ("encoder", model.encoder, {"attention": "self_attention"}),
        ("decoder", model.decoder, {"self": "self_attention", "cross": "cross_attention"}),
    ):
        names |= {"feed-forward": "feed_forward"}
        for key, name in names.items():
            found[f"{side}-{key}"] = sum(count(getattr(b, name).layer) for b in blocks)
        found[f"{side}-norms"] = count(getattr(model, f"{side}_norm")) + sum(
            count(getattr(b, name).norm) for b in blocks for name in names.values()
        )
    return found


def example():
    return ParameterCalculator()


@pytest.fixture(scope="module")
def maths(functions_of):
    return functions_of("figures/parameter_calculator/maths.js")


@pytest.fixture
def open_figure(open_figures):
    def open_page(vocab_size=37_000, **options):
        figure = ParameterCalculator(vocab_size=vocab_size)
        return open_figures(figure, ready=".pc-form", **options)

    return open_page


# The arithmetic


@pytest.mark.parametrize("tie", ["all", "output", "none"])
@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("finals", [True, False])
def test_every_part_is_that_of_a_real_model(maths, tie, biases, finals):
    for n, d, dff, vocab in ((1, 64, 96, 101), (5, 128, 64, 7), (3, 8, 40, 1009)):
        choices = {"N": n, "d": d, "dff": dff, "vocab": vocab, "tie": tie, "biases": biases,
                   "finals": finals}  # fmt: skip
        found = maths("return maths.parts(data)", choices)
        wanted = parts_of(config_of(choices))
        assert {part["key"]: part["total"] for part in found} == wanted
        assert all(part["each"] * part["copies"] == part["total"] for part in found)
        counted = maths("return maths.total(data)", choices)
        assert counted == sum(wanted.values()) == parameter_counts(config_of(choices)).total


def test_a_vocabulary_fits_if_its_total_rounds_to_the_printed_millions(maths):
    """Both ends by the library: one token less or more, and it rounds to something else."""
    for (_, n, d, dff, _heads, printed), tie in itertools.product(
        PRINTED_MILLIONS, ("all", "output", "none")
    ):
        choices = {**BASE, "N": n, "d": d, "dff": dff, "tie": tie}
        low, high = maths("return maths.fittingVocabularies(data[0], data[1])", [choices, printed])

        def millions(vocab, choices=choices):
            counts = parameter_counts(config_of({**choices, "vocab": vocab}))
            return math.floor(counts.total / 1e6 + 0.5)

        assert [millions(v) for v in (low - 1, low, high, high + 1)] == [
            printed - 1, printed, printed, printed + 1
        ]  # fmt: skip
    assert maths("return maths.fittingVocabularies(data, 44)", BASE) == [1, 778]
    assert maths("return maths.fittingVocabularies(data, 40)", BASE) is None


# What the page shows


def assert_shows(page, choices, printed=None):
    config = config_of(choices)
    parts, total = parts_of(config), parameter_counts(config).total
    for key, number in parts.items():
        box = page.locator(f'.pc-box[name="{key}"]')
        shown = box.locator(".pc-share").inner_text()
        assert shown == (f"{100 * number / total:.1f}%" if number else "tied")
        width = box.locator(".pc-fill").evaluate("(node) => parseFloat(node.style.width)")
        assert width == pytest.approx(100 * number / total, abs=1e-3)
    said = page.inner_text(".pc-live")
    assert said.startswith(f"{total:,} parameters. ")
    if printed is None:
        assert "The paper has no such row." in said
        return
    gap = total / 1e6 - printed
    found = re.search(r"That is ([\d.]+) million (fewer|more) than the (\d+) million", said)
    assert int(found[3]) == printed
    assert float(found[1]) == pytest.approx(abs(gap), abs=0.0051)
    assert found[2] == ("more" if gap > 0 else "fewer")


@pytest.mark.parametrize("row", PRINTED_MILLIONS, ids=lambda row: row[0])
def test_each_row_of_the_table_sets_its_choices(open_figure, row):
    name, n, d, dff, heads, printed = row
    page = open_figure()
    assert_shows(page, BASE, 65)
    page.get_by_label(name, exact=True).check()
    choices = {**BASE, "N": n, "d": d, "dff": dff}
    assert_shows(page, choices, printed)
    assert page.input_value('[name="N"]') == str(n)
    values = [page.input_value(f'select[name="{key}"]') for key in ("d", "dff", "heads")]
    assert values == [str(d), str(dff), str(heads)]


def test_it_says_what_the_chapter_says(open_figure):
    page = open_figure()
    assert page.inner_text(".pc-live") == (
        "63,045,632 parameters. That is 1.95 million fewer than the 65 million that the paper "
        "prints. Would another vocabulary fit?"
    )
    page.get_by_label("big", exact=True).check()
    assert page.inner_text(".pc-live") == (
        "214,171,648 parameters. That is 1.17 million more than the 213 million that the paper "
        "prints. Would another vocabulary fit?"
    )


@pytest.mark.parametrize(("vocab", "fits"), [(39_800, False), (39_900, True), (41_700, True),
                                             (41_800, False)])  # fmt: skip
def test_it_says_whether_the_vocabulary_rounds_to_what_is_printed(open_figure, vocab, fits):
    page = open_figure(vocab)
    same = "Rounded, it is the same, as with a vocabulary of 39,841 to 41,793."
    said = page.inner_text(".pc-live")
    assert (same in said) is fits
    assert ("Would another vocabulary fit?" in said) is not fits  # the search is the reader's


def test_every_control_changes_the_count(open_figure):
    page, choices = open_figure(), dict(BASE)
    page.locator('input[name="vocab"]').fill("41000")
    assert_shows(page, choices | {"vocab": 41_000}, 65)
    choices["vocab"] = 41_000
    page.get_by_label("target, output").check()
    choices["tie"] = "output"
    assert_shows(page, choices, 65)
    page.get_by_label("biases in attention").check()
    page.get_by_label("final norms").check()
    choices |= {"biases": True, "finals": True}
    assert_shows(page, choices, 65)
    page.locator('input[name="N"]').fill("3")
    choices["N"] = 3
    assert_shows(page, choices)
    assert page.locator('input[name="model"]:checked').count() == 0
    page.select_option('select[name="d"]', "768")
    page.select_option('select[name="dff"]', "3072")
    assert_shows(page, choices | {"d": 768, "dff": 3072})


def test_pytorch_s_count_can_be_found(open_figure):
    """44,140,544 and a table of 1,000 tokens, the least that the slider has."""
    page = open_figure(vocab_size=1000)
    page.get_by_label("biases in attention").check()
    page.get_by_label("final norms").check()
    assert page.inner_text(".pc-live").startswith(f"{44_140_544 + 512_000:,} parameters.")


def test_heads_change_nothing_and_it_says_so(open_figure):
    page = open_figure()
    before = page.inner_text(".pc-live")
    page.select_option('select[name="heads"]', "32")
    assert page.inner_text(".pc-live") == f"{before} The number of heads changes nothing."
    counts = [parameter_counts(replace(config_of(BASE), n_heads=heads)).total for heads in (8, 32)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("source", "Source table: 37,000 · 512 = 18,944,000."),
        ("target", "Target table: the same matrix as the source table, counted there."),
        ("encoder-attention", "Self-attention: 4 · 512² = 1,048,576, 6 times: 6,291,456."),
        ("decoder-feed-forward",
         "Feed-forward: 2 · 512 · 2,048 + 2,048 + 512 = 2,099,712, 6 times: 12,598,272."),
        ("decoder-norms", "Norms: 18 of 2 · 512 = 1,024, together 18,432."),
    ],
)  # fmt: skip
def test_a_box_tells_how_it_is_counted(open_figure, key, said):
    page = open_figure()
    box = page.locator(f'.pc-box[name="{key}"]')
    box.focus()
    page.keyboard.press("Enter")
    assert page.inner_text(".pc-detail") == said
    assert box.get_attribute("aria-pressed") == "true"
    assert page.locator('.pc-box[aria-pressed="true"]').count() == 1


def test_a_tied_output_is_counted_where_it_is(open_figure):
    page = open_figure()
    page.get_by_label("target, output").check()
    page.locator('.pc-box[name="output"]').click()
    said = "Output table: the same matrix as the target table, counted there."
    assert page.inner_text(".pc-detail") == said
    page.get_by_label("biases in attention").check()
    page.locator('.pc-box[name="decoder-cross"]').click()
    found = page.inner_text(".pc-detail")
    assert found == "Cross-attention: 4 · 512² + 4 · 512 = 1,050,624, 6 times: 6,303,744."


def test_the_keyboard_moves_the_sliders(open_figure):
    page = open_figure()
    page.locator('input[name="vocab"]').focus()
    page.keyboard.press("ArrowRight")
    assert_shows(page, BASE | {"vocab": 37_100}, 65)
    slider = page.locator('input[name="vocab"]')
    assert slider.get_attribute("aria-valuetext") == "37,100"


# Bad input


@pytest.mark.parametrize("vocab_size", [0, 999, 37_050, 60_100])
def test_a_vocabulary_that_is_not_on_the_slider_is_refused(vocab_size):
    with pytest.raises(ValueError, match=f"multiple of 100 .*; got vocab_size={vocab_size}"):
        ParameterCalculator(vocab_size=vocab_size)
