"""The workshop, in Chromium and Firefox: it writes, shows and changes what PyTorch computes."""

import copy
import dataclasses
import json
import math
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote

import pytest
import torch
import torch.nn.functional as F
from conftest import DARK, LIGHT, without_scripts
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from site_checks import axe_faults, scroll_faults, watched
from test_engine_without import changed as without_parts
from test_frame import OnTheSite

from softlookup.analysis import capture, patch
from softlookup.language_models import sampling_weights
from softlookup.models import GPT, GPTConfig, load_gpt, save_gpt
from softlookup.recorded import capstone_model
from softlookup.show import Workshop
from softlookup.show.draw import share_colour
from softlookup.show.figures.workshop import PASSAGE, as_script, as_text
from softlookup.tokenization import BytePairTokenizer

BROWSERS = ("chromium", "firefox")

PROMPTS = ("ab", "the cat\n", "A <b>")
TEXT = "the cat sat on the mat, and the dog sat on the cat.\n"
OPEN = {"ready": ".wk-fetch"}
SAID = "document.querySelector('.wk-live').textContent"


@cache
def small():
    """A model whose weights are far from 0, in a file."""
    tokenizer = BytePairTokenizer.train([TEXT * 3 + PASSAGE], 290)
    config = GPTConfig.modern(len(tokenizer), 256, d_model=16, n_heads=2, n_layers=2)
    torch.manual_seed(5)
    model = GPT(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    path = Path(mkdtemp()) / "small.safetensors"
    save_gpt(path, model, tokenizer)
    return path, *load_gpt(path)


def example():
    return Workshop(small()[0], prompts=PROMPTS, passage=TEXT, inline=True, seen=TEXT)


@pytest.fixture
def workshop(open_figures):
    """Opens the figure, and its model."""

    def open_model(**options):
        page = open_figures(example(), ready=".wk-fetch", **options)
        page.set_default_timeout(20_000)
        page.click(".wk-fetch")
        page.wait_for_selector(".wk-token")
        settled(page)
        return page

    return open_model


def settled(page):
    """Wait until the figure has done what it was asked."""
    page.wait_for_function(f"({SAID}).includes('Uncertainty')")


def press(page, words, said="Uncertainty"):
    """Press a button, and wait for the words."""
    page.evaluate("() => { document.querySelector('.wk-live').textContent = ''; }")
    page.get_by_role("button", name=words, exact=True).click()
    page.wait_for_function(f"({SAID}).includes({json.dumps(said)})")


def go_to(page, bench):
    page.evaluate("() => { document.querySelector('.wk-live').textContent = ''; }")
    page.check(f"[name=bench][value={bench}]", force=True)
    settled(page)


def text_of(page):
    return page.evaluate("document.querySelector('.wk-text').textContent")


def ids_on(page):
    return small()[2].encode(text_of(page))


def scores_after(ids):
    with torch.no_grad():
        return small()[1](torch.tensor([ids]))[0, -1]


def greedy(ids, n, model=None):
    """The ids and n more, each the most probable."""
    model, ids = model or small()[1], list(ids)
    with torch.no_grad():
        for _ in range(n):
            ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
    return ids


def seen(words):
    return "part of a letter" if "\ufffd" in words else words.replace(" ", "␣").replace("\n", "↵")


def bars(page):
    return page.evaluate(
        """() => [...document.querySelectorAll(".wk-bar")].map((bar) =>
        [bar.querySelector(".wk-name").textContent, bar.querySelector(".wk-share").textContent])"""
    )


def hooked(model, changes):
    """The model with its probes changed: a function of the numbers for each name."""
    handles = [
        model.get_submodule(name).register_forward_hook(lambda _, __, out, f=change: f(out))
        for name, change in changes.items()
    ]
    return handles


def captured(ids):
    """What every probe sees of a text."""
    with torch.no_grad(), capture(small()[1]) as found:
        small()[1](torch.tensor([ids]))
    return found


def changed(changes, run, model=None):
    model = model or small()[1]
    handles = hooked(model, changes)
    try:
        with torch.no_grad(), capture(model):  # on the path that has all probes
            return run(model)
    finally:
        for handle in handles:
            handle.remove()


def mean_bits(model, ids):
    scores = model(torch.tensor([ids]))[0]
    return F.cross_entropy(scores[:-1], torch.tensor(ids[1:])).item() / math.log(2)


# Before the model


def test_nothing_is_computed_before_it_is_asked_for(open_figures):
    page = open_figures(example(), **OPEN)
    assert page.inner_text(".wk-fetch").startswith("Fetch the model, 0.")
    assert page.locator(".wk-token").count() == 0
    assert page.is_hidden("[name=beginning]")
    assert page.is_visible(".wk-still")


def test_a_text_stands_there_before_the_model_and_without_scripts(open_figures, browser, tmp_path):
    figure = example()
    assert figure.still.startswith(PROMPTS[0])
    assert len(figure.still) > len(PROMPTS[0])
    page = open_figures(figure, **OPEN)
    assert page.inner_text(".wk-still") == figure.still.strip()
    with without_scripts(browser, tmp_path / "page0.html") as plain:
        words = plain.inner_text(".sl-body")
    assert figure.alt in words
    assert figure.still.strip() in words


@pytest.mark.parametrize("panels", [["look", "change"], ["count"]], ids=" and ".join)
def test_without_scripts_a_small_workshop_shows_what_it_is_about(tmp_path, browser, panels):
    path, model, tokenizer = small()
    figure = Workshop(path, panels=panels, prompts=[TEXT], passage=TEXT, inline=True)
    page = tmp_path / "page.html"
    page.write_text(f"<meta charset='utf-8'>{figure.html()}", encoding="utf-8")
    with without_scripts(browser, page) as plain:
        pictures = plain.locator(".sl-body svg image")
        sizes = [one.bounding_box() for one in pictures.all()]
        words = plain.inner_text(".sl-body")
    n = len(tokenizer.encode(TEXT))
    if panels == ["count"]:
        rows = [*range(n, n + 100)]
        assert f"{n} + {n + 1} + … + {rows[-1]} = {sum(rows):,} rows" in words
        assert f", {sum(rows) / 100:.3g} times as many" in words
        return
    assert len(sizes) == model.config.n_layers * model.config.n_heads == 4
    assert min(min(one["width"], one["height"]) for one in sizes) > 40
    names = [f"{layer}.{head}" for layer in (0, 1) for head in (0, 1)]
    assert [name for name in names if name not in words] == []
    assert TEXT.strip() in words


def test_a_damaged_file_is_said_and_can_be_asked_for_again(open_figures):
    figure = example()
    data = json.loads(figure.data)
    data["weights"] = data["weights"][: len(data["weights"]) // 2 // 4 * 4]
    figure.data = json.dumps(data).replace("<", "\\u003c")
    page = open_figures(figure, **OPEN)
    for _ in range(2):
        page.click(".wk-fetch")
        page.wait_for_function(f"({SAID}).includes('cut short or damaged')")
    assert page.is_visible(".wk-fetch")


def test_a_file_that_is_not_there_is_said(open_figures):
    # nothing is requested: an address of the page itself has no such script
    figure = Workshop(small()[0], passage=TEXT, inline=False)
    figure.data = figure.data.replace("../_static/models/small.js", "data:text/javascript,")
    page = open_figures(figure, **OPEN)
    page.click(".wk-fetch")
    page.wait_for_function(f"({SAID}).includes('holds no model')")


def other_files():
    """Files that are whole, and no model of the figure's; and what the page says of each."""
    path, model, tokenizer = small()
    tensors, other = load_file(path), path.with_name("other.safetensors")
    with safe_open(path, framework="pt") as file:
        texts = file.metadata()
    turned = {"embedding.weight": tensors["embedding.weight"].mT.contiguous()}
    infinite = {"norm.weight": torch.full_like(tensors["norm.weight"], math.inf)}
    found = [
        ("embedding.weight must have the shape of the config", tensors | turned, texts),
        ("all weights must be finite", tensors | infinite, texts),
        ("the file does not say its config", tensors, texts | {"config": "{"}),
        ("the file does not say its tokenizer", tensors, texts | {"tokenizer": "["}),
        ("the file holds no model", tensors, {}),
    ]
    for words, parts, said in found:
        save_file(parts, other, said)
        yield words, as_text(other)
    sizes = "a model of other sizes than those of this figure"
    for change in ({"n_layers": 1}, {"n_heads": 1, "n_kv_heads": 1}, {"context": 128}):
        save_gpt(other, GPT(dataclasses.replace(model.config, **change)), tokenizer)
        yield sizes, as_text(other)


def test_a_file_of_another_shape_is_said(open_figures):
    """One page that is handed one file after the other, and at last its own."""
    figure = Workshop(small()[0], passage=TEXT, prompts=PROMPTS, inline=False)
    figure.data = figure.data.replace("../_static/models/small.js", "data:text/javascript,")
    page = open_figures(figure, **OPEN)
    hand = "(words) => { globalThis.slModels = {small: words}; }"
    for words, letters in other_files():
        page.evaluate(hand, letters)
        page.click(".wk-fetch")
        page.wait_for_function(f"(words) => ({SAID}).includes(words)", arg=words)
        assert page.is_visible(".wk-fetch")
        assert page.locator(".wk-token").count() == 0
    page.evaluate(hand, as_text(small()[0]))
    page.click(".wk-fetch")
    page.wait_for_selector(".wk-token")
    settled(page)


def test_a_script_hands_the_file_to_the_page(open_figures):
    path = small()[0]
    script = quote(as_script(path))
    figure = Workshop(path, passage=TEXT, prompts=PROMPTS, inline=False)
    assert as_text(path) not in figure.html()
    figure.data = figure.data.replace(
        "../_static/models/small.js", f"data:text/javascript,{script}"
    )
    page = open_figures(figure, **OPEN)
    page.click(".wk-fetch")
    page.wait_for_selector(".wk-token")
    settled(page)
    assert text_of(page) == PROMPTS[0]


def test_without_workers_and_webassembly_it_writes_the_same(workshop):
    blocked = "delete globalThis.Worker; delete globalThis.WebAssembly;"
    page = workshop()
    press(page, "30 tokens")
    expected = text_of(page)
    page.add_init_script(blocked)
    page.reload()
    page.click(".wk-fetch")
    page.wait_for_selector(".wk-token")
    settled(page)
    press(page, "30 tokens")
    assert text_of(page) == expected


# Writing


def test_it_writes_what_pytorch_writes(workshop):
    page = workshop()
    tokenizer = small()[2]
    ids = tokenizer.encode(PROMPTS[0])
    assert text_of(page) == PROMPTS[0]
    press(page, "One token")
    assert text_of(page) == tokenizer.decode(greedy(ids, 1))
    press(page, "30 tokens")
    spans = page.evaluate("[...document.querySelectorAll('.wk-token')].map((s) => s.textContent)")
    assert spans == [tokenizer.decode([id_]) for id_ in greedy(ids, 31)]


def test_bars_are_what_could_come_next(workshop):
    page = workshop()
    scores = scores_after(small()[2].encode(PROMPTS[0]))
    best = scores.topk(8)
    weights = scores.softmax(-1)
    expected = [
        [seen(small()[2].decode([id_])), f"{weights[id_]:.3f}"] for id_ in best.indices.tolist()
    ]
    assert bars(page) == expected
    page.check("[name=pick][value=chance]", force=True)
    page.click("summary:has-text('Temperature')")
    page.locator("[name=temperature]").fill("4")
    page.locator("[name=k]").fill("2")
    page.wait_for_function("document.querySelectorAll('.wk-bar')[5].textContent.includes('cut')")
    now = sampling_weights(scores, temperature=0.5, top_k=3)
    shares = [share for _, share in bars(page)]
    assert shares == ["cut" if now[i] == 0 else f"{now[i]:.3f}" for i in best.indices]


def test_a_story_forks_and_the_old_one_is_kept(workshop):
    page = workshop()
    press(page, "30 tokens")
    before = text_of(page)
    ids = greedy(small()[2].encode(PROMPTS[0]), 30)
    at = len(small()[2].encode(PROMPTS[0])) + 3
    page.evaluate("() => { document.querySelector('.wk-live').textContent = ''; }")
    page.locator("[name=token]").fill(str(at))
    settled(page)
    other = scores_after(ids[: at + 1]).topk(3).indices[2].item()
    page.evaluate("() => { document.querySelector('.wk-live').textContent = ''; }")
    page.locator(".wk-bar").nth(2).click()
    page.wait_for_function(f"({SAID}).includes('forks')")
    assert page.locator(".wk-token").count() == at + 2
    assert text_of(page).endswith(small()[2].decode([other]))
    page.select_option("[name=story]", index=0)
    page.wait_for_function(f"({SAID}).includes('Story 1')")
    assert text_of(page) == before


def test_a_full_page_says_so_whoever_asks_for_more(workshop):
    """By the buttons that write, and by a bar; further up a bar still forks the story."""
    page = workshop()
    page.evaluate(
        "() => { document.querySelector('[name=beginning]').value = 'the cat '.repeat(999); }"
    )
    press(page, "Begin with this", "were taken")
    full = "The page keeps no longer text. Begin anew, or fork the story earlier."
    press(page, "30 tokens")
    text = text_of(page)
    n = page.locator(".wk-token").count()
    for name in ("One token", "30 tokens"):
        press(page, name, full)
    page.evaluate("() => { document.querySelector('.wk-live').textContent = ''; }")
    page.locator(".wk-bar").nth(0).click()
    page.wait_for_function(f"({SAID}) === {json.dumps(full)}")
    assert text_of(page) == text
    page.locator("[name=token]").fill(str(n - 2))
    settled(page)
    page.locator(".wk-bar:not(.wk-taken)").nth(0).click()
    page.wait_for_function(f"({SAID}).includes('forks')")
    assert page.locator(".wk-token").count() == n


@pytest.mark.parametrize(
    ("words", "said", "begins"),
    [
        ("", "Type a beginning first", None),
        ("   ", "Type a beginning first", None),
        ("a", "Uncertainty", "a"),
        ("the cat ", "Uncertainty", "the cat"),
        ("né", "never read é", "né"),
        ("the cat " * 200_000, "Only the last", None),
        ("\ud800a", "Uncertainty", "�a"),
    ],
    ids=[
        "empty",
        "spaces",
        "one letter",
        "a space behind",
        "unknown",
        "a million",
        "half a letter",
    ],
)
def test_any_beginning_is_answered(workshop, words, said, begins):
    page = workshop()
    page.evaluate("(words) => { document.querySelector('[name=beginning]').value = words; }", words)
    press(page, "Begin with this", said)
    if begins is not None and "�" not in begins:
        assert text_of(page) == begins
    if said == "Type a beginning first":
        assert text_of(page) == PROMPTS[0]
    press(page, "One token")


# By keyboard alone

ACTIVE = """() => {
    const {tagName, name, value, textContent, className} = document.activeElement;
    return tagName === "INPUT" ? `${name} ${value}` : tagName === "DIV" ? className : textContent;
}"""


def test_the_keyboard_is_not_lost_with_what_is_hidden(open_figures):
    page = open_figures(example(), **OPEN)
    page.focus(".wk-fetch")
    page.keyboard.press("Enter")
    page.wait_for_selector(".wk-token")
    settled(page)
    assert page.evaluate(ACTIVE) == "wk-inside"
    go_to(page, "try")
    page.locator(".wk-experiment").nth(0).get_by_role("button", name="Set the controls").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".wk-stages td")
    assert page.evaluate(ACTIVE) == "bench look"
    page.evaluate(
        """async () => {  // at once: thirty tokens are soon written
            const [, many, stop] = document.querySelectorAll(".wk-writers button");
            many.click();
            for (let k = 0; k < 50 && stop.disabled; k += 1) await null;
            stop.focus();
            stop.click();
        }"""
    )
    page.wait_for_function("document.activeElement.textContent === 'One token'")


# Looking


def test_the_maps_grow_with_the_text(workshop):
    page = workshop()
    go_to(page, "look")
    widths = "[...document.querySelectorAll('.wk-map')].map((map) => map.width)"
    n = len(small()[2].encode(PROMPTS[0]))
    assert page.evaluate(widths) == [n] * 4
    for k in (1, 2):
        press(page, "One token")
        assert page.evaluate(widths) == [n + k] * 4
    assert text_of(page) == small()[2].decode(greedy(small()[2].encode(PROMPTS[0]), 2))
    go_to(page, "change")
    assert page.is_hidden("text=One token")


def test_it_shows_attention_lens_norms_and_neighbours(workshop):
    page = workshop()
    page.fill("[name=beginning]", TEXT)
    press(page, "Begin with this")
    go_to(page, "look")
    page.wait_for_selector(".wk-stages td")
    page.get_by_role("button", name="Layer 1, head 0").click()
    page.wait_for_function(
        "document.querySelector('.wk-looking').textContent.includes('Head 0 of layer 1 reads')"
    )
    model, tokenizer = small()[1:]
    ids = tokenizer.encode(TEXT)
    seen_ = captured(ids)
    weights = seen_["blocks.1.self_attention.layer.weights"][0, 0, -1]
    reads = ", ".join(f"“{seen(tokenizer.decode([ids[j]]))}” {weights[j]:.2f}"
                      for j in weights.topk(3).indices)  # fmt: skip
    assert page.inner_text(".wk-looking").count(reads) == 1
    rows = page.evaluate(
        """() => [...document.querySelectorAll(".wk-stages tbody tr")].map((row) =>
        [...row.cells].map((cell) => cell.textContent))"""
    )
    decoded = [tokenizer.decode([i]) for i in range(len(tokenizer))]
    known = torch.tensor([set(words) <= set(TEXT) for words in decoded])
    streams, writes = [seen_["rows"]], [seen_["rows"]]
    for k in range(2):
        for part in ("self_attention", "feed_forward"):
            streams.append(seen_[f"blocks.{k}.{part}.stream"])
            writes.append(seen_[f"blocks.{k}.{part}.write"])
    for found, stream, write in zip(rows, streams, writes, strict=True):
        stream, write = stream[0, -1], write[0, -1]
        with torch.no_grad():
            says = F.linear(model.norm(stream), model.embedding.weight).softmax(-1).topk(2)
            like = F.cosine_similarity(model.embedding.weight, stream, dim=-1)
            like = like.masked_fill(~known, -2).topk(2)
        expected = ["  ".join(f"{seen(tokenizer.decode([i]))} {p:.2f}".replace("-", "−")
                              for p, i in zip(top.values, top.indices.tolist(), strict=True))
                    for top in (says, like)]  # fmt: skip
        assert found[1:] == [*expected, f"{write.norm():.1f}", f"{stream.norm():.1f}"]


# Intervening


def without_head(layer, head):
    def off(out):
        out = out.clone()
        out[:, head] = 0
        return out

    return {f"blocks.{layer}.self_attention.layer.heads": off}


def reads_before(layer, head):
    def by_hand(out):
        out, n = out.clone(), out.shape[-1]
        out[:, head] = torch.eye(n)[torch.arange(n).sub(1).clamp(min=0)]
        return out

    return {f"blocks.{layer}.self_attention.layer.weights": by_hand}


def steered(probe, toward, away, strength):
    """The stream of each token moves by the difference of the two texts' last ones."""

    def move(out):
        return out + strength * difference

    tokenizer = small()[2]
    ends = [captured(tokenizer.encode(words))[probe][0, -1] for words in (toward, away)]
    difference = ends[0] - ends[1]
    return {probe: move}


STEER = {"kind": "steer", "height": "2", "toward": "the cat", "away": "mat,", "strength": "3"}


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ({"kind": "head", "layer": "1", "head": "1"}, without_head(1, 1)),
        ({"kind": "attention", "layer": "0"}, {"blocks.0.self_attention.write": torch.zeros_like}),
        (
            {"kind": "feed-forward", "layer": "1"},
            {"blocks.1.feed_forward.write": torch.zeros_like},
        ),
        ({"kind": "weights", "layer": "0", "head": "1", "pattern": "one back"}, reads_before(0, 1)),
        (STEER, lambda: steered("blocks.1.feed_forward.stream", "the cat", "mat,", 1.5)),
        ({"kind": "mask"}, ["mask"]),
        ({"kind": "positions"}, ["positions"]),
    ],
    ids=["head", "attention", "feed-forward", "by hand", "steer", "mask", "positions"],
)
def test_a_change_does_to_text_and_loss_what_it_does_in_pytorch(workshop, settings, changes):
    page = workshop()
    go_to(page, "change")
    for name, value in settings.items():
        if name in ("toward", "away", "strength"):
            page.locator(f"[name={name}]").fill(value)
            continue
        chosen = {"index": int(value)} if value.isdigit() else {"value": value}
        page.locator(f"[name={name}]").select_option(**chosen)
    page.get_by_role("button", name="Make this change").click()
    page.wait_for_function(
        "document.querySelector('.wk-changing').textContent.includes('Changed: ')"
    )
    tokenizer = small()[2]
    passage, ids = tokenizer.encode(TEXT), tokenizer.encode(PROMPTS[0])
    model = small()[1]
    if isinstance(changes, list):
        model, changes = without_parts(copy.deepcopy(model), changes), {}
    elif callable(changes):
        changes = changes()
    after = changed(changes, lambda model: mean_bits(model, passage), model)
    before = changed({}, lambda model: mean_bits(model, passage))
    page.wait_for_function(
        "(words) => document.querySelector('.wk-changing > .sl-live').textContent.includes(words)",
        arg=f"costs {after:.2f} bits a token, {before:.2f} as it is",
    )
    sides = page.evaluate(
        "[...document.querySelectorAll('.wk-pair .wk-side')].map((s) => s.textContent)"
    )
    plain = tokenizer.decode(greedy(ids, 30))
    other = tokenizer.decode(changed(changes, lambda model: greedy(ids, 30, model), model))
    assert sides == [plain, other]
    meters = page.evaluate(
        """() => [...document.querySelectorAll(".wk-changing .sl-meter")].map((row) =>
        [row.querySelector(".sl-number").textContent,
         parseFloat(row.querySelector(".sl-fill").style.width)])"""
    )
    most = max(before, after)
    assert [number for number, _ in meters] == [f"{before:.2f}", f"{after:.2f}"]
    widths = [100 * cost / most for cost in (before, after)]
    assert [width for _, width in meters] == pytest.approx(widths, abs=0.01)
    assert f"{after:.2f}" != f"{before:.2f}"
    press(page, "All as it was")
    assert "Nothing is changed yet." in page.inner_text(".wk-changing")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("the cat " * 125_000, "is that of “… " + "the cat " * 5 + "”."),
        ("😀" * 150 + "a", "is that of “… " + "😀" * 39 + "a”."),  # 300 begin within a letter
        ("\ud800a", "a”."),
    ],
    ids=["a million", "a letter cut in two", "half a letter"],
)
def test_another_text_may_be_any(workshop, words, named):
    page = workshop()
    go_to(page, "change")
    page.select_option("[name=kind]", "patch")
    page.evaluate("(words) => { document.querySelector('[name=from]').value = words; }", words)
    page.get_by_role("button", name="Make this change").click()
    page.wait_for_function(
        "document.querySelector('.wk-changing > .sl-live').textContent.includes('goes on as it is')"
    )
    made = page.text_content(".wk-changing > .wk-words")
    assert made.endswith(named)


@pytest.mark.parametrize("with_head", [False, True], ids=["alone", "with a head off"])
def test_a_patch_is_judged_by_how_the_text_went_on(workshop, with_head):
    page = workshop()
    go_to(page, "change")
    tokenizer = small()[2]
    ids = tokenizer.encode(PROMPTS[0])
    stream = "blocks.0.feed_forward.stream"
    row = captured(tokenizer.encode("and the"))[stream][0, -1]

    def put(out):
        out = out.clone()
        out[:, len(ids) - 1] = row
        return out

    changes = {stream: put}
    page.select_option("[name=kind]", "patch")
    page.locator("[name=height]").select_option(index=1)
    page.fill("[name=from]", "and the")
    page.get_by_role("button", name="Make this change").click()
    if with_head:
        changes |= without_head(1, 1)
        page.select_option("[name=kind]", "head")
        for name in ("layer", "head"):
            page.locator(f"[name={name}]").select_option(index=1)
        page.get_by_role("button", name="Make this change").click()
    own = greedy(ids, 30)

    def cost(model):
        scores = model(torch.tensor([own]))[0, len(ids) - 1 : -1]
        return F.cross_entropy(scores, torch.tensor(own[len(ids) :])).item() / math.log(2)

    before, after = changed({}, cost), changed(changes, cost)
    assert f"{before:.2f}" != f"{after:.2f}"
    words = (
        f"goes on as it is costs {after:.2f} bits a token with the change, {before:.2f} without it."
    )
    page.wait_for_function(
        "(words) => document.querySelector('.wk-changing > .sl-live').textContent.includes(words)",
        arg=words,
    )
    numbers_ = page.locator(".wk-changing .sl-meter .sl-number").all_inner_texts()
    assert numbers_ == [f"{before:.2f}", f"{after:.2f}"]
    sides = page.locator(".wk-pair .wk-side").all_text_contents()
    other = changed(changes, lambda model: greedy(ids, 30, model))
    assert sides == [tokenizer.decode(own), tokenizer.decode(other)]
    judged = "Bits that a token of the continuation under “As it is” costs, on average:"
    assert judged in page.inner_text(".wk-changing")


def test_a_patch_and_a_direction_are_those_of_pytorch(functions_of):
    call = functions_of("engine/engine.js")
    _, model, tokenizer = small()
    state = {name: part.flatten().tolist() for name, part in model.state_dict().items()}
    ids, other, third = (tokenizer.encode(words) for words in (TEXT, "and the", "sat"))
    config = dataclasses.asdict(model.config)
    data = {"config": config, "state": state, "ids": ids, "other": other, "third": third}
    found = call(
        """const model = new maths.engine.GPT(data.config).load(data.state);
        const {ids, other, third} = data;
        const run = (change) => Array.from(maths.engine.changedScores(model, ids, [change]));
        return [run({kind: "patch", height: 1, at: 3, from: other}),
          run({kind: "steer", height: 2, toward: other, away: third, strength: 1.5}),
          run({kind: "positions"}), run({kind: "mask"})];""",
        data,
    )
    probes = ["blocks.0.feed_forward.stream", "blocks.1.feed_forward.stream"]
    rows = [[captured(words)[probe][0, -1] for words in (other, third)]
            for probe in probes]  # fmt: skip

    def patch(out):
        out = out.clone()
        out[:, 3] = rows[0][0]
        return out

    run = lambda model: model(torch.tensor([ids]))  # noqa: E731
    steer = {probes[1]: lambda out: out + 1.5 * (rows[1][0] - rows[1][1])}
    for scores, changes in zip(found[:2], ({probes[0]: patch}, steer), strict=True):
        expected = changed(changes, run).flatten()
        torch.testing.assert_close(torch.tensor(scores), expected, rtol=1e-4, atol=1e-4)
    plain = changed({}, run).flatten()
    for scores in found[2:]:
        assert not torch.allclose(torch.tensor(scores), plain, atol=1e-2)


# Attention by hand

WEIGHTS = "blocks.{}.self_attention.layer.weights"
PATTERNS = {
    "own": lambda own: own,
    "itself": lambda own: torch.eye(len(own), dtype=own.dtype),
    "one back": lambda own: torch.eye(len(own), dtype=own.dtype)[
        torch.arange(len(own)).sub(1).clamp(min=0)
    ],
    "first": lambda own: torch.eye(len(own), dtype=own.dtype)[:1].expand_as(own),
    "even": lambda own: torch.ones_like(own).tril() / torch.arange(1, len(own) + 1)[:, None],
}


def by_hand(head, cells, pattern="own"):
    """A probe's weights with one head set: some cells, each row of which is divided by its sum."""

    def change(out):
        out = out.clone()
        weights = PATTERNS[pattern](out[0, head]).clone()
        for i, j, weight in cells:
            if i < len(weights):
                weights[i, slice(0, i + 1) if j is None else j] = weight
        for i in {i for i, *_ in cells if i < len(weights)}:
            weights[i] /= weights[i].sum() or 1
        out[0, head] = weights
        return out

    return change


CELLS = [(3, 1, 0.5), (3, 3, 0.0), (5, None, 0.0), (7, None, 0.0), (7, 2, 0.3), (2, None, 0.7),
         (0, 0, 0.2), (900, 3, 1.0)]  # fmt: skip
"""A row that keeps other cells; one of zeros, of one cell, and even; one behind the text."""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_cells_set_by_hand_are_those_of_pytorch(functions_of, pattern):
    call = functions_of("engine/engine.js")
    _, model, tokenizer = small()
    model = copy.deepcopy(model).double()
    state = {name: part.flatten().tolist() for name, part in model.state_dict().items()}
    ids = tokenizer.encode(TEXT)
    change = {"kind": "weights", "layer": 1, "head": 1, "pattern": pattern, "cells": CELLS}
    found, weights, costs = call(
        """const products = maths.engine.plainProducts(Float64Array);
        const model = new maths.engine.GPT(data.config, products).load(data.state);
        const {ids, change} = data;
        const seen = maths.engine.inspect(model, {ids, at: 0, changes: [change], most: 0});
        return [Array.from(maths.engine.changedScores(model, ids, [change])),
            Array.from(seen.weights[1]), maths.engine.costs(model, ids, [change])];""",
        {"config": dataclasses.asdict(model.config), "state": state, "ids": ids, "change": change},
    )
    probe, given = WEIGHTS.format(1), torch.tensor([ids])
    by_us = patch(model, {probe: by_hand(1, CELLS, pattern)})
    with torch.no_grad(), by_us, capture(model, "weights") as seen_:
        scores = model(given)[0]
    assert found == pytest.approx(scores.flatten().tolist(), abs=1e-9)
    assert weights == pytest.approx(seen_[probe][0].flatten().tolist(), abs=1e-12)
    bits = F.cross_entropy(scores[:-1], given[0, 1:], reduction="none") / math.log(2)
    assert costs == pytest.approx(bits.tolist(), abs=1e-9)
    with torch.no_grad():
        assert not torch.allclose(scores, model(given)[0], atol=1e-3)


def test_a_weight_that_is_none_is_refused(functions_of):
    call = functions_of("engine/engine.js")
    model = small()[1]
    messages = call(
        """const model = new maths.engine.GPT(data).startWeights(1);
        const bad = [[2, 3, 1], [2, 1, NaN], [2, 1, -1], [2, 1, Infinity], [2, -1, 1],
            [-1, null, 1]];
        return bad.map((cell) => {
            const change = {kind: "weights", layer: 0, head: 0, cells: [cell]};
            try { maths.engine.changedScores(model, [1, 2, 3], [change]); return null; }
            catch (error) { return error.message.split(";")[0]; }
        });""",
        dataclasses.asdict(model.config),
    )
    rule = "a weight must be finite, at least 0, and that of a key up to its query"
    assert messages == [rule] * 6


def to_set(page, head, words=TEXT):
    """Begin with a text, and open the table of a head of layer 0."""
    page.fill("[name=beginning]", words)
    press(page, "Begin with this")
    page.check("[name=bench][value=change]", force=True)
    page.select_option("[name=kind]", "weights")
    page.select_option("[name=head]", str(head))
    page.wait_for_selector(".wk-grid td[data-key]")
    settled(page)


def cell(page, i, j):
    return page.locator(f".wk-grid td[data-query='{i}'][data-key='{j}']")


def shares_of(page, i):
    """Row i as its cells are named, and the colours that they have."""
    return page.evaluate(
        """(i) => [...document.querySelectorAll(`.wk-grid td[data-query="${i}"]`)].map((one) =>
        [Number(/share ([\\d.]+)/.exec(one.ariaLabel)[1]), one.style.background,
            one.textContent])""",
        i,
    )


def assert_row(page, i, weights):
    found = shares_of(page, i)
    expected = weights[i, : i + 1].tolist()
    assert [share for share, *_ in found] == pytest.approx(expected, abs=5.1e-4)
    return found


def made(page, words):
    page.get_by_role("button", name="Make this change").click()
    page.wait_for_function(
        "(words) => document.querySelector('.wk-changing > .sl-live').textContent.includes(words)",
        arg=words,
    )


def test_pointer_and_keys_set_the_cells_and_text_and_loss_are_pytorchs(workshop):
    page = workshop()
    to_set(page, 1)
    tokenizer = small()[2]
    ids = tokenizer.encode(TEXT)
    n = len(ids)
    probe = WEIGHTS.format(0)
    own = captured(ids)[probe][0, 1]
    assert page.locator(".wk-grid tbody tr").count() == min(n, 16)
    i = n - 2
    assert_row(page, i, own)
    assert cell(page, i, i + 1).count() == 0  # what comes later has no cell to touch
    masked = page.locator(".wk-grid tbody tr").nth(-2).locator(".wk-masked")
    assert masked.count() == 1
    masked.click()
    assert page.input_value("[name=cells]") == ""

    cell(page, i, 2).click()  # weight 1
    page.keyboard.press("ArrowRight")
    page.keyboard.press("+")  # the next tenth above its own
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")  # and again: 0
    cell(page, i - 1, 0).click()
    page.get_by_role("button", name="This cell alone").click()
    page.locator("[name=cell]").fill("4")
    cell(page, i - 2, 1).click()
    page.get_by_role("button", name="The row all zeros").click()
    tenths = math.floor(10 * own[i, 3].item() + 1e-6) + 1
    cells = [(i, 2, 1.0), (i, 3, tenths / 10), (i, 1, 0.0), (i - 1, None, 0.0), (i - 1, 0, 0.4),
             (i - 2, None, 0.0)]  # fmt: skip
    change = by_hand(1, cells)
    expected = changed({probe: change}, lambda _: captured(ids)[probe])[0, 1]
    assert expected[i - 1, 0] == 1
    assert expected[i - 2].abs().sum() == 0
    dots = [[mark for *_, mark in assert_row(page, row, expected)] for row in (i, i - 1, i - 2)]
    assert "".join(dots[0][1:4]) == "".join(dots[0]) == "•••"
    assert {*dots[1]} == {"•"}
    assert "reads nothing: its row is all zeros." in page.inner_text(".wk-hand .sl-live")
    colours = colours_in(page, expected[i, : i + 1].tolist())
    assert [colour for _, colour, _ in shares_of(page, i)] == colours

    before = changed({}, lambda one: mean_bits(one, ids))
    after = changed({probe: change}, lambda one: mean_bits(one, ids))
    made(page, f"The text costs {after:.2f} bits a token, {before:.2f} as it is.")
    assert f"{after:.2f}" != f"{before:.2f}"
    sides = page.evaluate(
        "[...document.querySelectorAll('.wk-pair .wk-side')].map((s) => s.textContent)"
    )
    text = [greedy(ids, 30), changed({probe: change}, lambda one: greedy(ids, 30, one))]
    assert sides == [tokenizer.decode(one[max(0, n - 20) :]) for one in text]
    assert "head 1 of layer 0 reads as it does, with 3 rows set by hand" in page.inner_text(
        ".wk-changing"
    )
    page.get_by_role("button", name="The row as it was").click()
    assert_row(page, i - 2, own)
    page.get_by_role("button", name="All rows as they were").click()
    assert_row(page, i, own)
    page.get_by_role("button", name="Make this change").click()
    page.wait_for_function(f"({SAID}).includes('no cell is set yet')")


def colours_in(page, shares):
    """The book's one scale, as a browser writes its colours."""
    return page.evaluate(
        """(shares) => shares.map((colour) => {
            const one = document.createElement("i");
            one.style.background = colour;
            return one.style.background;
        })""",
        [share_colour(share) for share in shares],
    )


def test_a_mouse_is_drawn_over_cells_and_a_pattern_is_where_one_begins(workshop):
    page = workshop()
    to_set(page, 0)
    page.select_option("[name=pattern]", "one back")
    settled(page)
    n = len(small()[2].encode(TEXT))
    page.wait_for_function(
        "(n) => document.querySelector(`.wk-grid td[data-query='${n}'][data-key='${n - 1}']`)"
        ".ariaLabel.endsWith('share 1.000')",
        arg=n - 1,
    )
    i = n - 1
    cell(page, i, i - 3).scroll_into_view_if_needed()
    boxes = [cell(page, i, j).bounding_box() for j in (i - 5, i - 3)]
    places = [(one["x"] + one["width"] / 2, one["y"] + one["height"] / 2) for one in boxes]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=8)
    page.mouse.up()
    page.mouse.move(places[1][0], places[1][1] - 60, steps=4)  # it was let go
    cells = [(i, j, 1.0) for j in (i - 5, i - 4, i - 3)]
    own = captured(small()[2].encode(TEXT))[WEIGHTS.format(0)]
    expected = by_hand(0, cells, "one back")(own)[0, 0]
    assert expected[i, i - 3] == 0.25
    for row in (i, i - 1, i - 2):
        assert_row(page, row, expected)


def test_rows_by_hand_are_in_a_link_and_gone_after_a_reset(open_figures):
    page = open_figures(OnTheSite(example()), ready=".sl-foot")
    page.click(".wk-fetch")
    page.wait_for_selector(".wk-token")
    settled(page)
    page.focus("[name=beginning]")  # all by key: a link has what a reader did, no script
    page.keyboard.press("Control+A")
    page.keyboard.type(TEXT)
    press(page, "Begin with this")
    page.check("[name=bench][value=change]", force=True)
    for name, n_down in (("kind", 5), ("head", 1)):
        page.focus(f"[name={name}]")
        for _ in range(n_down):
            page.keyboard.press("ArrowDown")
    page.wait_for_selector(".wk-grid td[data-key]")
    settled(page)
    i = len(small()[2].encode(TEXT)) - 2
    cell(page, i, 2).click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("-")
    page.get_by_role("button", name="The row all zeros").click()
    cell(page, i, 5).click()
    cell(page, i - 1, 1).click()
    made(page, "The text costs")
    rows = [shares_of(page, row) for row in (i, i - 1)]
    words = page.inner_text(".wk-changing > .sl-live")
    page.locator(".sl-foot").get_by_role("button", name="Link to this state").click()
    page.wait_for_function("location.search !== ''")
    page.reload()
    page.wait_for_function(
        "(words) => document.querySelector('.wk-changing > .sl-live')?.textContent === words",
        arg=words,
    )
    assert [shares_of(page, row) for row in (i, i - 1)] == rows
    page.get_by_role("button", name="Reset", exact=True).click()
    assert page.is_visible(".wk-fetch")
    page.click(".wk-fetch")
    page.wait_for_selector(".wk-token")
    to_set(page, 1)
    own = captured(small()[2].encode(TEXT))[WEIGHTS.format(0)][0, 1]
    assert_row(page, i, own)
    assert page.input_value("[name=cells]") == ""


def test_rows_rest_where_the_text_is_another(workshop):
    page = workshop()
    to_set(page, 1)
    i = len(small()[2].encode(TEXT)) - 2
    cell(page, i, 2).click()
    made(page, "The text costs")
    page.fill("[name=beginning]", "on" + TEXT[2:])
    press(page, "Begin with this")
    words = page.inner_text(".wk-changing > .sl-live")
    assert words.endswith("The rows that were set for another text rest.")
    assert "The passage costs" in words
    other = small()[2].encode("on" + TEXT[2:])
    assert_row(page, min(i, len(other) - 1), captured(other)[WEIGHTS.format(0)][0, 1])


def test_what_a_link_says_of_cells_is_read_with_care(functions_of):
    call = functions_of("figures/workshop/by_hand.js")
    words = ["3.1.5_4..0", "", "x", "3.4.5", "3.1.11", "3.1", "3.1.-1", "3.1.NaN", "2.0.10_9.9e9.1"]
    found = call("return data.map(maths.read)", words)
    assert found == [[[3, 1, 5], [4, None, 0]], [], [], [], [], [], [], [], [[2, 0, 10]]]
    assert call("return maths.written(data)", found[0]) == words[0]


def tap(one):
    """Firefox's driver has no finger: there the events are told."""
    if one.page.context.browser.browser_type.name == "chromium":
        one.tap()
        return
    one.dispatch_event("pointerdown", {"pointerType": "touch", "bubbles": True})
    one.dispatch_event("click")


def test_a_finger_touches_a_cell_on_a_phone_and_the_table_scrolls_by_itself(workshop):
    page = workshop(width=390, style=DARK, has_touch=True)
    to_set(page, 0)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert axe_faults(page) == []
    assert scroll_faults(page) == []
    sizes = page.evaluate(
        """() => [...document.querySelectorAll(".wk-grid td[data-key]")].flatMap((one) => {
        const {width, height} = one.getBoundingClientRect();
        return [width, height];
    })"""
    )
    assert min(sizes) >= 24
    n = len(small()[2].encode(TEXT))
    one = cell(page, n - 1, n - 3)
    tap(one)
    assert page.input_value("[name=cells]") == f"{n - 1}.{n - 3}.10"
    tap(one)
    assert page.input_value("[name=cells]") == f"{n - 1}.{n - 3}.0"


def test_a_text_of_one_token_has_no_loss_and_no_nan(workshop):
    page = workshop()
    to_set(page, 0, "a")
    cell(page, 0, 0).click()
    page.get_by_role("button", name="The row all zeros").click()
    made(page, "The passage costs")
    assert "NaN" not in page.inner_text(".wk-changing")


# The experiments: their answers, from the numbers of PyTorch


def numbers(words):
    return [float(number.replace("−", "-")) for number in re.findall(r"−?\d+\.\d+", words)]


def answer(page, k):
    page.locator(".wk-experiment").nth(k).get_by_role("button", name="Show the answer").click()
    page.wait_for_function(
        "(k) => document.querySelectorAll('.wk-experiment .sl-live')[k].textContent.length > 40",
        arg=k,
    )
    return page.locator(".wk-experiment .sl-live").nth(k).inner_text()


def test_answers_are_what_pytorch_computes(workshop):
    page = workshop()
    go_to(page, "try")
    _, model, tokenizer = small()
    ids = tokenizer.encode(TEXT)
    seen_ = captured(ids)
    shares = torch.stack([
        seen_[f"blocks.{k}.self_attention.layer.weights"][0].diagonal(-1, -2, -1).mean(-1)
        for k in range(2)
    ])  # fmt: skip
    layer, head = divmod(int(shares.argmax()), 2)
    costs = {place: changed(without_head(*place), lambda model: mean_bits(model, ids))
             for place in [(0, 0), (0, 1), (1, 0), (1, 1)]}  # fmt: skip
    plain = changed({}, lambda model: mean_bits(model, ids))
    without = costs.pop((layer, head))
    words = answer(page, 0)
    assert words.startswith(f"Head {head} of layer {layer}:")
    expected = [shares.max(), without, plain, min(costs.values()), max(costs.values())]
    assert numbers(words) == pytest.approx([float(x) for x in expected], abs=0.0051), words
    assert "go on with a word" not in words  # each token of this passage is a word

    streams = [seen_["rows"], *(seen_[f"blocks.{k}.feed_forward.stream"] for k in range(2))]
    with torch.no_grad():
        said = [F.linear(model.norm(stream[0]), model.embedding.weight).argmax(-1)
                for stream in streams]  # fmt: skip
    agree = [float((one == said[-1]).double().mean()) for one in said]
    found = numbers(answer(page, 1))
    steps = [b - a for a, b in pairwise(agree)]
    assert found == pytest.approx([*agree, max(steps)], abs=0.0051)

    own, other = (tokenizer.encode(words) for words in ("ROMEO:\nA", "KING RICHA"))
    probabilities = lambda model: model(torch.tensor([own]))[0, -1].softmax(-1)  # noqa: E731
    goal = changed({}, lambda model: model(torch.tensor([other]))[0, -1].softmax(-1))
    token = int(goal.argmax())
    rows = captured(other)
    patched = []
    for probe in ("rows", "blocks.0.feed_forward.stream", "blocks.1.feed_forward.stream"):

        def put(out, probe=probe):
            out = out.clone()
            out[:, -1] = rows[probe][0, -1]
            return out

        patched.append(float(changed({probe: put}, probabilities)[token]))
    before = float(changed({}, probabilities)[token])
    expected = [float(goal[token]), before, *patched]
    assert numbers(answer(page, 2)) == pytest.approx(expected, abs=0.00051)


def test_in_the_shipped_model_the_head_that_reads_one_back_is_found(open_figures):
    page = open_figures(Workshop(inline=True), ready=".wk-fetch")
    page.set_default_timeout(60_000)
    page.click(".wk-fetch")
    page.wait_for_selector(".wk-token")
    settled(page)
    go_to(page, "try")
    words = answer(page, 0)
    model, tokenizer = capstone_model()
    ids = tokenizer.encode(PASSAGE)
    with torch.no_grad(), capture(model, "weights") as seen_:
        plain = mean_bits(model, ids)
    shares = torch.stack([one[0].diagonal(-1, -2, -1).mean(-1) for one in seen_.values()])
    layer, head = divmod(int(shares.argmax()), model.config.n_heads)
    assert words.startswith(f"Head {head} of layer {layer}:")
    best, second = shares.flatten().topk(2).values
    assert best > second + 0.1  # one stands out, as the question says
    found = numbers(words)
    without = changed(without_head(layer, head), lambda one: mean_bits(one, ids), model)
    assert found[:3] == pytest.approx([float(x) for x in (best, without, plain)], abs=0.0051)
    assert without > plain + 0.1  # it is missed
    inside, others = found[5:]
    assert inside > others + 0.1  # most within words: how they are spelt


def test_what_goes_on_with_a_word_is_told_from_the_rest(functions_of):
    call = functions_of("figures/workshop/maths.js")
    tokens = ["th", "e", " c", "at", ",", "x"]  # "e" and "at" go on with a word
    found = call("return maths.byKind(...data);", [[1.0, 2.0, 3.0, 4.0, 6.0], tokens])
    assert found == {"inside": 2.0, "others": 4.0}


def test_answers_about_layers_mask_and_positions_are_what_pytorch_computes(workshop):
    page = workshop()
    go_to(page, "try")
    _, model, tokenizer = small()
    ids = tokenizer.encode(TEXT)
    plain = mean_bits(model, ids)
    parts = {"attention": "self_attention", "feed-forward": "feed_forward"}
    costs = {
        f"the {kind} of layer {layer}": changed(
            {f"blocks.{layer}.{part}.write": torch.zeros_like},
            lambda model: mean_bits(model, ids),
        )
        for layer in range(2)
        for kind, part in parts.items()
    }
    order = sorted(costs, key=costs.get, reverse=True)
    words = answer(page, 3)
    expected = [plain, *(costs[name] for name in order)]
    assert numbers(words) == pytest.approx(expected, abs=0.0051)
    assert re.findall(r"the [a-z-]+ of layer \d", words) == [*order, order[0], order[-1]]

    lesser = [without_parts(copy.deepcopy(model), [part]) for part in ("mask", "positions")]
    expected = [plain, *changed({}, lambda _: [mean_bits(one, ids) for one in lesser])]
    words = answer(page, 4)
    assert numbers(words) == pytest.approx(expected, abs=0.0051)
    assert ("It costs more" in words) == (expected[1] > plain)
    assert words.endswith(
        f"It needs the {'mask' if expected[1] > expected[2] else 'positions'} more."
    )


def test_the_controls_of_an_experiment_are_set(workshop):
    page = workshop()
    go_to(page, "try")
    page.locator(".wk-experiment").nth(0).get_by_role("button", name="Set the controls").click()
    page.wait_for_selector(".wk-stages td")
    assert text_of(page) == TEXT.rstrip()
    assert page.is_checked("[name=bench][value=look]")
    go_to(page, "try")
    page.locator(".wk-experiment").nth(2).get_by_role("button", name="Set the controls").click()
    page.wait_for_selector(".wk-changing:visible")
    assert page.input_value("[name=kind]") == "patch"
    assert page.is_visible("[name=from]")
    assert page.is_hidden("[name=layer]")


# On the built page


def test_the_built_page_fetches_its_weights_and_writes(site, browser):
    """The page as it is published: all that it asks for lies beside it."""
    with watched(browser) as (page, faults, loaded):
        page.set_default_timeout(60_000)
        page.goto((site / "chapters" / "workshop.html").as_uri())
        figure = page.locator(".wk-workshop").first
        fetch = figure.locator(".wk-fetch")
        fetch.scroll_into_view_if_needed()
        assert not [path for path in loaded if "models" in path.parts]
        fetch.click()
        figure.locator(".wk-token").first.wait_for()
        settled(page)
        begun = figure.locator(".wk-text").text_content()
        figure.locator(".wk-writers button").nth(1).click()
        page.wait_for_function(f"({SAID}).includes('Written: ')")
        found = figure.locator(".wk-text").text_content()
        assert begun != ""
        assert len(found) > len(begun)
        assert found.startswith(begun)
        if browser.browser_type.name == "chromium":  # Firefox's driver tells of no file
            assert [path for path in loaded if "models" in path.parts]
        assert not faults


# As the others: each bench, on a phone and on a screen, by day and by night


@pytest.mark.parametrize(("width", "style"), [(390, LIGHT), (1280, DARK)])
def test_each_bench_is_accessible_and_within_the_page(workshop, width, style):
    page = workshop(width=width, style=style, reduced_motion="reduce")
    press(page, "30 tokens")
    for bench in ("write", "look", "change", "try"):
        if bench != "write":
            go_to(page, bench)
        assert axe_faults(page) == [], bench
        assert scroll_faults(page) == [], bench
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, bench


def test_reset_begins_again_and_a_link_does_it_all_again(workshop):
    page = workshop()
    press(page, "One token")
    press(page, "One token")
    expected = text_of(page)
    address = page.url.partition("?")[0]
    place = page.evaluate(
        """() => [...document.querySelectorAll(".sl-body :is(input, select, textarea, button, "
        + "summary, [role=slider])")].map((one) => one.textContent)"""
    )
    fetch, one = (
        place.index(next(p for p in place if p.startswith("Fetch"))),
        place.index("One token"),
    )
    page.goto(f"{address}?fig-workshop=b{fetch}~b{one}*2")
    page.wait_for_function("(words) => document.querySelector('.wk-text').textContent === words",
                           arg=expected)  # fmt: skip
    page.get_by_role("button", name="Reset").click()
    assert page.is_visible(".wk-fetch")
    assert page.locator(".wk-token").count() == 0


def test_a_small_workshop_has_the_panels_it_is_told(open_figures):
    figure = Workshop(
        small()[0], panels=["count"], prompts=PROMPTS, passage=TEXT, inline=True, name="fig-small"
    )
    page = open_figures(figure, ready=".wk-fetch")
    page.set_default_timeout(60_000)
    page.click(".wk-fetch")
    page.wait_for_selector(".wk-token")
    settled(page)
    assert not page.is_visible("[name=bench]")
    assert not page.is_visible("[name=token]")
    begun = ids_on(page)
    rows = "document.querySelectorAll('.wk-counting tbody tr').length"
    for k, way in enumerate(["cache", "anew"], start=1):
        page.check(f"[name=cached][value={way}]", force=True)
        page.get_by_role("button", name="Write 100 tokens").click()
        page.wait_for_function(f"{rows} === {k}")
    text = small()[2].decode(greedy(begun, 100))
    assert text_of(page) == text
    said = page.text_content(".wk-counting .wk-words")
    n = len(begun)
    many = sum(range(n, n + 100)) / 100  # as many rows, if attention were free
    assert "The text is the same." in said
    times = float(re.search(r"That is ([\d.]+) times as many", said)[1])
    assert times == pytest.approx(many, rel=0.25)


@pytest.mark.parametrize(
    ("panels", "rule"),
    [
        ([], "there must be a panel"),
        (["sing"], "panel must be one of 'write', 'look', 'change', 'count', 'try'"),
        (["look", "look"], "panels must be distinct"),
        (["try", "look"], "the panel try needs look and change"),
    ],
)
def test_panels_that_cannot_be_are_refused(panels, rule):
    with pytest.raises(ValueError, match=rule):
        Workshop(small()[0], panels=panels, passage=TEXT)
