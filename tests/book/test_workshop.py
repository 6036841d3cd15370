"""The workshop in Chromium: what it writes, shows and changes is what PyTorch computes."""

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
from conftest import DARK, LIGHT
from site_checks import axe_faults, scroll_faults
from test_engine_without import changed as without_parts

from softlookup.analysis import capture
from softlookup.language_models import sampling_weights
from softlookup.models import GPT, GPTConfig, load_gpt, save_gpt
from softlookup.show import Workshop
from softlookup.show.figures.workshop import PASSAGE, as_script, as_text
from softlookup.tokenization import BytePairTokenizer

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


def changed(changes, run):
    handles = hooked(small()[1], changes)
    try:
        with torch.no_grad(), capture(small()[1]):  # on the path that has all probes
            return run(small()[1])
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


def test_a_text_stands_there_before_the_model_and_without_scripts(open_figures, browser):
    figure = example()
    assert figure.still.startswith(PROMPTS[0])
    assert len(figure.still) > len(PROMPTS[0])
    page = open_figures(figure, **OPEN)
    assert page.inner_text(".wk-still") == figure.still.strip()
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(page.url)
    words = plain.inner_text(".sl-body")
    context.close()
    assert figure.alt in words
    assert figure.still.strip() in words


@pytest.mark.parametrize("panels", [["look", "change"], ["count"]], ids=" and ".join)
def test_without_scripts_a_small_workshop_shows_what_it_is_about(tmp_path, browser, panels):
    path, model, tokenizer = small()
    figure = Workshop(path, panels=panels, prompts=[TEXT], passage=TEXT, inline=True)
    (tmp_path / "page.html").write_text(f"<meta charset='utf-8'>{figure.html()}", encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto((tmp_path / "page.html").as_uri())
    pictures = plain.locator(".sl-body svg image")
    sizes = [one.bounding_box() for one in pictures.all()]
    words = plain.inner_text(".sl-body")
    context.close()
    n = len(tokenizer.encode(TEXT))
    if panels == ["count"]:
        rows = [*range(n, n + 100)]
        assert f"{n} + {n + 1} + … + {rows[-1]} = {sum(rows):,} rows" in words
        assert f", {sum(rows) / 100:.3g} times as many" in words
        return
    assert len(sizes) == model.config.n_layers * model.config.n_heads == 4
    assert min(min(one["width"], one["height"]) for one in sizes) > 40
    names = [f"{layer}.{head}" for layer in (1, 2) for head in (1, 2)]
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


# Looking


def test_it_shows_attention_lens_norms_and_neighbours(workshop):
    page = workshop()
    page.fill("[name=beginning]", TEXT)
    press(page, "Begin with this")
    go_to(page, "look")
    page.wait_for_selector(".wk-stages td")
    page.get_by_role("button", name="Layer 2, head 1").click()
    page.wait_for_function(
        "document.querySelector('.wk-looking').textContent.includes('of layer 2')"
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
    ],
    ids=["head", "attention", "feed-forward", "by hand"],
)
def test_a_change_does_to_text_and_loss_what_it_does_in_pytorch(workshop, settings, changes):
    page = workshop()
    go_to(page, "change")
    for name, value in settings.items():
        chosen = {"index": int(value)} if value.isdigit() else {"value": value}
        page.locator(f"[name={name}]").select_option(**chosen)
    page.get_by_role("button", name="Make this change").click()
    page.wait_for_function(
        "document.querySelector('.wk-changing').textContent.includes('Changed: ')"
    )
    tokenizer = small()[2]
    passage, ids = tokenizer.encode(TEXT), tokenizer.encode(PROMPTS[0])
    after = changed(changes, lambda model: mean_bits(model, passage))
    before = changed({}, lambda model: mean_bits(model, passage))
    page.wait_for_function(
        "(words) => document.querySelector('.wk-changing .sl-live').textContent.includes(words)",
        arg=f"costs {after:.2f} bits a token, {before:.2f} as it is",
    )
    sides = page.evaluate(
        "[...document.querySelectorAll('.wk-pair .wk-side')].map((s) => s.textContent)"
    )
    plain = tokenizer.decode(greedy(ids, 30))
    other = tokenizer.decode(changed(changes, lambda model: greedy(ids, 30, model)))
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
    assert words.startswith(f"Head {head + 1} of layer {layer + 1}:")
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
        f"the {kind} of layer {layer + 1}": changed(
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
