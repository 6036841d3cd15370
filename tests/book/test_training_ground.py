"""The training ground, in Chromium and Firefox: it trains, fails, saves, loads and races."""

import json
import math
import re
import time

import pytest
import torch
from conftest import in_each_look, without_scripts
from safetensors.torch import load_file, save_file
from site_checks import axe_faults, scroll_faults

from softlookup.data import book_prose, planted_sentences, tagged_sentences
from softlookup.language_models import AddK, KneserNey, next_token_loss
from softlookup.models import GPT, GPTConfig, load_gpt, save_gpt
from softlookup.recorded import recorded
from softlookup.show import TrainingGround
from softlookup.training import clip_gradients

BROWSERS = ("chromium", "firefox")


def example():
    chance = torch.Generator().manual_seed(1)
    named = [" ".join(one.tokens) + ".\n" for one in tagged_sentences(150, chance)]
    small = [" ".join(words) + ".\n" for words in planted_sentences(150, chance)]
    return TrainingGround(
        {"names": "".join(named), "sentences": "".join(small), "prose": book_prose()[:6000]}
    )


QUICK = {"d_model": "16", "n_layers": "1", "n_heads": "2", "context": "16", "batchSize": "4"}
SLOW = 60_000  # milliseconds that a slow machine may take
STATUS = ".tg-status"


@pytest.fixture
def ground(open_figures):
    """Opens the figure; `choose` sets some of its fields."""

    def open_ground(**options):
        page = open_figures(example(), ready=".tg-form", **options)
        page.set_default_timeout(SLOW)
        return page

    return open_ground


def choose(page, **values):
    if page.locator(".tg-more").first.get_attribute("open") is None:
        page.locator(".tg-more summary").first.click()
    for name, value in values.items():
        page.select_option(f"select[name={name}]", value)


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def wait_for(page, words):
    page.wait_for_function(
        "words => document.querySelector('.tg-status').textContent.includes(words)", arg=words
    )
    page.wait_for_function(  # and nothing runs any more
        "() => [...document.querySelectorAll('.tg-buttons button')].some((one) => "
        "one.textContent === 'One step' && !one.disabled)"
    )


def train(page, n_steps, words=None):
    choose(page, nSteps=str(n_steps))
    press(page, "Train")
    wait_for(page, words or f"Step {n_steps} of {n_steps}")


def numbers_in(page):
    """The loss on the training and on held-out text, and the two lines, as the page says them."""
    words = page.text_content(STATUS).replace(",", " ").replace(". ", " ").split()
    found = []
    for word in words:
        try:
            found.append(float(word.rstrip(".")))
        except ValueError:
            continue
    return found[-4:]


def lines_of(text, context=16):
    """What the library's models that count make of the same text."""
    letters, split = sorted(set(text)), len(text) - len(text) // 10
    held = text[split:][:2049]
    held = held[: (len(held) - 1) // (context - 1) * (context - 1) + 1]
    words = [list(text[:split])]
    models = [AddK(words, 2, 0.1, letters), KneserNey(words, 5, letters)]

    def surprise(model):
        each = [math.log(model.probability(held[i], list(held[max(0, i - 9) : i])))
                for i in range(1, len(held))]  # fmt: skip
        return -sum(each) / len(each)

    return [surprise(model) for model in models]


def text_of(name):
    return json.loads(example().data)["texts"][name]


def test_it_trains_beside_the_lines_of_the_library(ground):
    """One page: training, a pause, a single step, samples, layers, and the other texts' lines."""
    page = ground()
    choose(page, **QUICK)
    train(page, 50)
    training, held_out, *lines = numbers_in(page)
    assert lines == pytest.approx(lines_of(text_of("names")), abs=6e-4)
    assert 1 < training < 3.2
    assert 1 < held_out < 3.2
    assert page.locator(".tg-samples li").count() == 4
    assert page.locator(".tg-samples li").first.inner_text().startswith("step 50")
    layers = page.locator(".tg-layers tbody th").all_inner_texts()
    assert layers == ["tables", "block 0", "last norm"]
    assert page.locator(".tg-form > .tg-chart polyline").count() == 2
    assert "not yet passed" in page.text_content(".tg-answer")
    press(page, "One step")
    wait_for(page, "Step 51 of 51")
    page.locator(".tg-step summary").click()
    names = page.locator(".tg-all tbody th").all_inner_texts()
    config = GPTConfig(52, 16, 16, 2, 1)
    assert names == list(GPT(config).state_dict())
    press(page, "Train on")
    page.wait_for_function("() => document.querySelector('.tg-go').textContent === 'Pause'")
    press(page, "Pause")
    page.wait_for_function("() => document.querySelector('.tg-go').textContent === 'Train on'")
    assert "of 101" in page.text_content(STATUS)
    page.select_option("select[name=text]", "prose")
    assert page.text_content(STATUS).startswith("Ready: width 16, 1 block, 2 heads")
    press(page, "One step")
    wait_for(page, "Step 1 of 50")
    assert numbers_in(page)[2:] == pytest.approx(lines_of(text_of("prose")), abs=6e-4)


def test_each_way_of_training_learns(ground):
    page = ground()
    choose(page, **QUICK)
    page.select_option("select[name=text]", "sentences")
    for optimizer, rate in {"adamw": "0.01", "muon": "0.03", "recipe": None}.items():
        choose(page, optimizer=optimizer)
        rates = page.locator("select[name=rate]")
        assert rates.is_disabled() == (rate is None)
        if rate:
            rates.select_option(rate)
        train(page, 50)
        assert numbers_in(page)[0] < 2.9, optimizer


def test_the_ways_to_fail_do_fail_and_say_why(ground):
    """Each preset sets what it says; those that fail within seconds are let fail."""
    page = ground()
    questions = set()
    changes = {
        "No mask": {"mask": "no"},
        "No positions": {"positions": "none"},
        "Too high a rate": {"optimizer": "adamw", "rate": "300"},
        "No residual connections": {"residual": "no", "n_layers": "4"},
        "Too little text": {"amount": "1000", "text": "prose"},
        "As usual": {"mask": "yes", "positions": "learned", "residual": "yes", "amount": "all"},
    }
    for name, values in changes.items():
        press(page, name)
        found = {key: page.input_value(f"select[name={key}]") for key in values}
        assert found == values, name
        question = page.text_content(".tg-question")
        assert question.endswith("?")
        questions.add(question)
    assert len(questions) == 6
    press(page, "Too high a rate")
    choose(page, batchSize="1")
    press(page, "Train")
    wait_for(page, "is no number any more. Training stopped. Choose a lower rate")
    assert "Infinity less infinity is NaN" in page.text_content(".tg-answer")
    assert page.get_by_role("button", name="Save the model").is_disabled()
    page.select_option("select[name=text]", "names")
    choose(page, rate="0.01")
    press(page, "One step")  # the page is alive
    wait_for(page, "Step 1 of 250")
    press(page, "No residual connections")
    choose(page, d_model="16", context="16", batchSize="4")
    train(page, 50)
    answer = page.text_content(".tg-answer")
    assert "Who knows only how often each letter occurs has" in answer
    press(page, "Too little text")
    choose(page, context="16", batchSize="8", rate="0.03")
    train(page, 250)
    assert "by heart" in page.text_content(".tg-answer")
    training, held_out, *_ = numbers_in(page)
    assert held_out > training + 1


def test_without_positions_it_says_what_the_loss_was_with_them(ground):
    page = ground()
    for name in ("As usual", "No positions"):
        press(page, name)
        choose(page, **QUICK)
        train(page, 50)
        _, held_out, bigram, _ = numbers_in(page)
        if name == "As usual":
            usual = held_out
    assert held_out != usual
    side = "below" if held_out < bigram else "above"
    answer = page.text_content(".tg-answer")
    assert answer.startswith(
        f"The loss on held-out text is {held_out:.3f}, {side} the bigram's {bigram:.3f}: "
    )
    assert answer.endswith(f"With positions it was {usual:.3f}.")
    page.locator(".tg-step summary").click()
    press(page, "One step")
    wait_for(page, "Step 51 of 51")
    names = page.locator(".tg-all tbody th").all_inner_texts()
    assert names == list(GPT(GPTConfig(52, 16, 16, 2, 1, positions="none")).state_dict())
    press(page, "New start")
    train(page, 100)
    assert page.text_content(".tg-answer").endswith(
        "Train as usual for as many steps, and compare."
    )


def test_without_a_mask_the_loss_falls_below_all_lines(ground):
    page = ground()
    press(page, "No mask")
    choose(page, context="8", n_layers="1", rate="0.03")
    train(page, 100)
    _, held_out, _, kneser_ney = numbers_in(page)
    assert held_out < kneser_ney
    assert "the samples are rubbish" in page.text_content(".tg-answer")


def test_without_scripts_a_recorded_training_is_seen(tmp_path, browser):
    """What the page would draw and say, from the losses of the record."""
    texts, record = {"names": text_of("names")}, recorded("sentences_gpt")
    found = record.results
    for optimizer in ("Muon", "AdamW"):
        usual = {"optimizer": optimizer.lower()}
        figure = TrainingGround(texts, record=record, usual=usual)
        path = tmp_path / "page.html"
        path.write_text(f"<meta charset='utf-8'>{figure.html()}", encoding="utf-8")
        with without_scripts(browser, path) as page:
            words = page.inner_text(".sl-body")
            paths = page.locator(".sl-body svg path").evaluate_all(
                "(all) => all.map((one) => one.getAttribute('d').split('L').length)"
            )
            names = page.locator(".sl-body svg text:visible").all_text_contents()
            box = page.locator(".sl-body svg").bounding_box()
        run = found["runs"][optimizer]
        end = run["looks"][-1]
        assert figure.alt in words
        assert f"Step 250: loss {end['loss']:.3f} on the training text" in words
        assert f"{end['held_out']:.3f} held out" in words
        assert f"Bigram {found['counted']['bigram']:.3f}" in words
        first = next(
            one["step"] for one in run["looks"] if one["held_out"] < found["counted"]["bigram"]
        )
        assert f"better than the bigram from about step {first} on" in words
        assert run["written"].replace("\n", "↵") in words
        assert {"training text", "held-out text", "bigram", "Kneser–Ney"} <= {*names}
        assert box["width"] > 400
        assert paths.count(len(run["looks"])) == 2  # two curves with a point for each look
    bare = TrainingGround(texts)
    assert bare.picture == bare.still == ""


def test_on_paper_a_ground_that_nobody_has_used_shows_the_recorded_training(open_figures):
    figure = TrainingGround({"names": text_of("names")}, record=recorded("sentences_gpt"))
    page = open_figures(figure, ready=".tg-form")
    printed = page.locator(".sl-printed")
    assert printed.count() == 1
    assert not printed.is_visible()
    page.emulate_media(media="print")
    assert printed.inner_text().strip().endswith(figure.still)
    assert printed.locator("svg").bounding_box()["height"] > 100
    assert figure.alt not in printed.inner_text()
    page.emulate_media(media="screen")
    press(page, "One step")
    wait_for(page, "Step 1 of 250")
    assert printed.count() == 0


# Every gradient of a step

DIGITS = re.compile(r"−?[\d.]+(?:e[+−]?\d+)?$")


def number_in(words):
    """The number at the end of some words."""
    return float(DIGITS.search(words)[0].replace("−", "-"))


def gradients_of(call, path, text, clip):
    """PyTorch's gradients of the step that the page makes: its weights, its pieces."""
    model, letters = load_gpt(path)
    ids = [letters.index(letter) for letter in text[: len(text) - len(text) // 10]]
    pieces = call("return maths.randomPieces(data, 16, 4, 1).next().value", ids)
    batch = torch.tensor(pieces)
    next_token_loss(model(batch), batch).backward()
    if clip:
        clip_gradients(model, clip)
    return {name: parameter.grad for name, parameter in model.named_parameters()}, letters


def look_at(page, name):
    page.select_option("select[name=gradient]", name)
    page.wait_for_function(
        "name => document.querySelector('.tg-facts-of').textContent.includes(`, ${name}, `)",
        arg=name,
    )
    return page.text_content(".tg-facts-of")


def entry(page, i, j):
    """What the page tells of an entry that its sliders choose, and its colour's depth."""
    for name, place in (("row", i), ("column", j)):
        slider = page.locator(f"input[name={name}]")
        if slider.is_visible():
            slider.fill(str(place))
    depth = page.evaluate(
        """([i, j]) => document.querySelector(".tg-pixels").getContext("2d")
            .getImageData(j, i, 1, 1).data[3]""",
        [i, j],
    )
    return page.text_content(".tg-here"), depth


@pytest.mark.parametrize("clip", [None, 0.1])
def test_each_gradient_of_a_step_is_seen_and_is_pytorchs(ground, functions_of, tmp_path, clip):
    page = ground()
    text = text_of("sentences")
    letters = sorted(set(text))
    path = tmp_path / "mine.safetensors"
    torch.manual_seed(3)
    save_gpt(path, GPT(GPTConfig(len(letters), 16, 16, 2, 1, tie=False)), letters)
    page.select_option("select[name=text]", "sentences")
    chosen_file(page, path)
    wait_for(page, "Loaded: the model of mine.safetensors")
    choose(page, batchSize="4", clip=str(clip or "none"))
    page.locator(".tg-step summary").click()
    assert page.is_hidden("select[name=gradient]")
    press(page, "One step")
    wait_for(page, "Step 1 of 250")
    grads, letters = gradients_of(functions_of("engine/chance.js"), path, text, clip)
    offered = page.locator("select[name=gradient] option").evaluate_all(
        "(all) => all.map((one) => one.value)"
    )
    assert offered == ["", *grads]
    assert page.is_hidden(".tg-pixels")  # nothing is asked of the worker before it is chosen
    for name, grad in grads.items():
        if name.endswith("W_K.bias"):  # rounding alone: it moves all scores of a row alike
            continue
        facts = look_at(page, name)
        rows = grad.reshape(-1, grad.shape[-1])
        most = rows.abs().max().item()
        zeros = (grad == 0).sum().item()
        assert f"Step 1, {name}, {' × '.join(map(str, grad.shape))}: " in facts
        assert f"{zeros} of {grad.numel():,} entries " in facts
        assert number_in(facts[:-1]) == pytest.approx(zeros / grad.numel(), abs=5.1e-4)
        at = divmod(int(rows.abs().argmax()), rows.shape[1])
        largest = re.search(r"the largest entry is (\S+), in", facts)[1]
        assert number_in(largest) == pytest.approx(rows[at].item(), abs=1e-5 * most), name
        for i, j in {at, (0, 0), (len(rows) - 1, rows.shape[1] - 1), (len(rows) // 2, 7)}:
            words, depth = entry(page, i, j)
            assert number_in(words) == pytest.approx(rows[i, j].item(), abs=1e-5 * most), name
            assert depth == pytest.approx(255 * rows[i, j].abs().item() / most, abs=1), name
            place = f"row {i}, column {j}: " if grad.ndim == 2 else f"place {j}: "
            if name in ("embedding.weight", "unembedding.weight"):
                letter = letters[i].replace(" ", "␣").replace("\n", "↵")
                place = f"row {i}, letter “{letter}”, column {j}: "
            assert words.startswith(f"Gradient in {place}")


def test_an_entry_is_under_the_pointer_and_in_a_row_of_the_table(ground):
    page = ground()
    choose(page, **QUICK)
    page.locator(".tg-step summary").click()
    press(page, "One step")
    wait_for(page, "Step 1 of 250")
    name = "blocks.0.feed_forward.layer.W_1.weight"
    page.get_by_role("row", name=name).locator("td").first.click()
    page.wait_for_function(
        "name => document.querySelector('.tg-facts-of').textContent.includes(`, ${name}, `)",
        arg=name,
    )
    canvas = page.locator(".tg-pixels")
    canvas.scroll_into_view_if_needed()
    page.locator(".tg-box").evaluate("(box) => { box.scrollTop = box.scrollLeft = 0; }")
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 5.5 / 16, box["y"] + box["height"] * 2.5 / 64)
    told = page.text_content(".tg-here")
    assert told.startswith("Gradient in row 2, column 5: ")
    assert entry(page, 2, 5)[0] == told
    page.focus("input[name=column]")
    page.keyboard.press("ArrowRight")
    assert page.text_content(".tg-here").startswith("Gradient in row 2, column 6: ")
    spoken = page.get_attribute("input[name=column]", "aria-valuetext")
    assert spoken == page.text_content(".tg-here").removeprefix("Gradient in ")
    press(page, "One step")  # the same tensor, of the next step
    wait_for(page, "Step 2 of 250")
    page.wait_for_function(
        "document.querySelector('.tg-facts-of').textContent.startsWith('Step 2, ')"
    )
    assert name in page.text_content(".tg-facts-of")
    press(page, "As usual")
    assert page.is_hidden("select[name=gradient]")


@in_each_look
def test_a_gradient_is_accessible_and_within_the_page(ground, width, style):
    page = ground(width=width, style=style, reduced_motion="reduce")
    page.locator(".tg-step summary").click()
    press(page, "One step")
    wait_for(page, "Step 1 of 250")
    for name in ("embedding.weight", "blocks.0.feed_forward.layer.W_2.weight", "norm.bias"):
        look_at(page, name)
        assert axe_faults(page) == []
        assert scroll_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.focus("input[name=column]")
        page.keyboard.press("End")  # the last, which its box scrolls into sight
        mark = page.locator(".tg-mark").bounding_box()
        assert mark["x"] + mark["width"] <= width


def test_facts_of_gradients_that_break(functions_of):
    call = functions_of("figures/training_ground/gradients.js")
    found = call("return [[0, 0], [1, -3, 0, 2], [NaN, 0.5, -Infinity], [-0]].map(maths.factsOf)")
    keys = ("largest", "at", "zeros", "broken")
    expected = [(0, 0, 2, 0), (-3, 1, 1, 0), (0.5, 1, 0, 2), (0, 0, 1, 0)]
    assert found == [dict(zip(keys, one, strict=True)) for one in expected]


# Files


def chosen_file(page, path):
    with page.expect_file_chooser() as chooser:
        press(page, "Load a model")
    chooser.value.set_files(path)


def test_a_model_goes_on_in_python_and_comes_back(ground, saved, tmp_path, monkeypatch):
    page = ground()
    choose(page, **QUICK)
    page.select_option("select[name=text]", "sentences")
    train(page, 50)
    first = numbers_in(page)[1]
    files = {"Save the model": "model.safetensors", "Save the text": "text.txt"}
    for button, name in files.items():
        found, content = saved(page, lambda button=button: press(page, button))
        assert found == name
        (tmp_path / name).write_bytes(content)
    path = tmp_path / "model.safetensors"
    text = text_of("sentences")
    model, letters = load_gpt(path)
    assert letters == sorted(set(text))
    assert model.config.d_model == 16
    assert (tmp_path / "text.txt").read_text() == text[: len(text) - len(text) // 10]
    monkeypatch.chdir(tmp_path)
    exec(page.text_content(".tg-python"), {})  # as the page says
    assert not torch.equal(load_gpt(path)[0].embedding.weight, model.embedding.weight)
    chosen_file(page, path)
    wait_for(page, "Loaded: the model of model.safetensors, width 16, 1 block.")
    assert page.locator("select[name=d_model]").is_disabled()
    press(page, "One step")
    wait_for(page, "Step 1 of 50")
    assert numbers_in(page)[1] < first - 0.1  # Python went on
    press(page, "New start")
    assert page.locator("select[name=d_model]").is_enabled()


def test_what_python_wrote_goes_on_and_what_it_cannot_know_is_left_out(ground, tmp_path):
    page = ground()
    letters = sorted(set(text_of("sentences")) - {"z", "q", "x"})
    path = tmp_path / "mine.safetensors"
    save_gpt(path, GPT(GPTConfig.quick(len(letters), 16, 16, 2, 1)), letters)
    page.select_option("select[name=text]", "sentences")
    chosen_file(page, path)
    wait_for(page, "Loaded: the model of mine.safetensors")
    assert "the loaded model does not know are left out: " in page.text_content(".tg-facts")
    choose(page, nSteps="50", batchSize="4")
    press(page, "Train")
    wait_for(page, "Step 50 of 50")
    training, *_ = numbers_in(page)
    assert training < 3


def test_bad_files_change_nothing(ground, tmp_path):
    page = ground()
    choose(page, **QUICK)
    press(page, "One step")
    wait_for(page, "Step 1 of 250")
    path = tmp_path / "a.safetensors"
    save_gpt(path, GPT(GPTConfig(2, 8, 6, 3, 1)), ["a", "b"])
    whole = path.read_bytes()
    tensors = load_file(path)
    texts = {"softlookup": "gpt", "letters": '["a", "b"]'}
    config = json.dumps({"vocab_size": 2, "context": 8, "d_model": 6, "n_heads": 3, "n_layers": 1})
    other = {"embedding.weight": tensors["embedding.weight"].mT.contiguous()}

    def written(tensors, **texts):
        save_file(tensors, path, texts)
        return path.read_bytes()

    bad = {
        b"": "the file must be whole safetensors",
        b"GIF89a" * 9: "the file must be whole safetensors",
        whole[:-7]: "must lie in the file as its shape says",
        written(tensors): "the file must hold a GPT of softlookup",
        written(tensors, **texts): "the file must say its config as JSON",
        written(tensors | other, **texts, config=config): "embedding.weight must have the shape",
        written(other, **texts, config=config): "embedding.weight must have the shape",
        written(tensors, **texts | {"letters": "[]"}, config=config): "one letter for each id",
    }
    for content, words in bad.items():
        path.write_bytes(content)
        chosen_file(page, path)
        wait_for(page, "a.safetensors was not loaded, and nothing has changed: ")
        assert words in page.text_content(STATUS)
    press(page, "One step")
    wait_for(page, "Step 2 of 250")


# Texts


def test_odd_texts_are_told_in_a_line(ground):
    page = ground()
    page.select_option("select[name=text]", "own")
    texts = {
        "": "The text has no letter; at least 200 are needed, so that some can be held out.",
        "a": "The text has one letter; at least 200 are needed",
        "a" * 1000: "The text has one letter only, over and over: there is nothing to foretell.",
        "ab" * 99: "The text has 198 letters; at least 200 are needed",
    }
    for text, words in texts.items():
        page.fill("textarea", text)
        assert page.text_content(STATUS).startswith(words)
        press(page, "Train")
        wait_for(page, words)
    page.fill("textarea", "ab\r\n\ud83d\ude00" * 100)
    assert "4 different letters" in page.text_content(".tg-facts")
    choose(page, **QUICK)
    train(page, 50)
    assert numbers_in(page)[1] < 0.5
    page.fill("textarea", "".join(map(chr, range(0x4E00, 0x4E00 + 2000))))
    assert "The text has 2,000 different letters" in page.text_content(".tg-facts")
    page.evaluate(
        """() => {
            const own = document.querySelector("textarea");
            own.value = "she sells sea shells ".repeat(50000);
            own.dispatchEvent(new Event("input", {bubbles: true}));
        }"""
    )
    facts = page.text_content(".tg-facts")
    assert "Only the first 100,000 of 1,050,000 letters are used." in facts
    press(page, "One step")
    wait_for(page, "Step 1 of 50")


def test_settings_that_change_while_letters_are_counted_begin_nothing(ground):
    page = ground()
    choose(page, **QUICK)
    page.select_option("select[name=text]", "own")
    page.evaluate(
        """() => {
            let luck = 1;  // a text that takes a while to count: no run of letters comes twice
            const letter = () => {
                luck = (48271 * luck) % 2147483647;
                return String.fromCharCode(97 + (luck % 26));
            };
            const own = document.querySelector("textarea");
            own.value = Array.from({length: 100000}, letter).join("");
            own.dispatchEvent(new Event("input", {bubbles: true}));
        }"""
    )
    press(page, "Train")
    page.select_option("select[name=n_layers]", "2")
    wait_for(page, "The settings have changed: press Train again.")
    assert page.locator(".tg-form > .tg-chart polyline").count() == 0
    choose(page, amount="1000")
    press(page, "One step")
    wait_for(page, "Step 1 of 250")


def test_a_tab_that_slept_goes_on_where_it_was(ground):
    page = ground()
    choose(page, **QUICK, nSteps="1000")
    press(page, "Train")
    page.wait_for_function("() => document.querySelectorAll('.tg-samples li').length > 1")
    session = page.context.new_cdp_session(page)
    session.send("Page.setWebLifecycleState", {"state": "frozen"})
    time.sleep(1)
    session.send("Page.setWebLifecycleState", {"state": "active"})
    wait_for(page, "Step 1000 of 1000")
    assert page.locator(".tg-form > .tg-chart polyline").count() == 2
    press(page, "One step")
    wait_for(page, "Step 1001 of 1001")


def test_without_workers_it_says_so(ground):
    page = ground()
    page.evaluate("() => { window.Worker = undefined; }")
    press(page, "Train")
    words = "This browser starts no worker for a page, so it cannot train here."
    wait_for(page, words)
    press(page, "New start")
    press(page, "Race")
    wait_for(page, words)
    assert page.text_content(".tg-verdict") == "No race has been run yet."


def test_without_webassembly_it_trains_all_the_same(ground, monkeypatch):
    page = ground()
    page.evaluate(
        """() => {
            const Real = Blob;
            window.Blob = class extends Real {
                constructor(parts, options) {
                    super(["delete self.WebAssembly;", ...parts], options);
                }
            };
        }"""
    )
    choose(page, **QUICK)
    press(page, "One step")
    wait_for(page, "Step 1 of 250")


def test_a_link_sets_up_and_trains_nothing(ground):
    page = ground()
    buttons = "input, select, textarea, button, summary, [role=slider]"
    found = page.evaluate(
        """(all) => ["Too little text", "Train"].map((name) =>
            [...document.querySelectorAll(`.sl-body :is(${all})`)].findIndex(
                (one) => one.textContent === name))""",
        buttons,
    )
    state = "~".join(f"b{at}" for at in found)
    page.goto(f"{page.url}?fig-training-ground={state}")
    page.wait_for_selector(".tg-form")
    assert page.input_value("select[name=text]") == "prose"
    page.wait_for_timeout(300)
    assert page.text_content(STATUS).startswith("Ready: ")


# The race


@pytest.fixture(scope="module")
def race(functions_of):
    return functions_of("figures/training_ground/race_track.js")


def test_the_verdict_fits_the_two_losses(race):
    losses = [[1.5, 1.75], [1.75, 1.5], [1.5, 1.503], [None, 1.5]]
    found = race(
        """return data.map(([yours, books]) => maths.verdict(
            [{heldOut: yours, step: 7}, {heldOut: books, step: 9}]))""",
        losses,
    )
    assert found == [
        "On held-out text your recipe reached 1.500 in 7 steps, the book's 1.750 in 9: "
        "yours is better by 0.250.",
        "On held-out text your recipe reached 1.750 in 7 steps, the book's 1.500 in 9: "
        "the book's is better by 0.250.",
        "On held-out text your recipe reached 1.500 in 7 steps, the book's 1.503 in 9: "
        "they are level.",
        "Your recipe broke at step 7: its loss is no number. The book's stays.",
    ]


def test_while_a_race_is_on_both_losses_are_said_now_and_then(functions_of):
    """With a clock and parts of our own; the times in milliseconds are those between two parts."""
    call = functions_of(
        "figures/training_ground/race_track.js", "figures/training_ground/settings.js"
    )
    parts = [
        (10, {"racer": 0, "seconds": 0, "heldOut": 4}),
        (9000, {"racer": 0, "seconds": 1, "heldOut": 3.5}),  # of the book's nothing is known yet
        (10, {"racer": 1, "seconds": 1, "heldOut": 3.25}),
        (10, {"racer": 0, "seconds": 2, "heldOut": 3}),  # it was said a moment ago
        (9000, {"racer": 1, "seconds": 2}),  # no look at the held-out text
        (10, {"racer": 1, "seconds": 3, "heldOut": 2.5}),
        (9000, {"racer": 0, "seconds": 4, "heldOut": None}),  # it broke
    ]
    found = call(
        """let now = 0;
        performance.now = () => now;
        const said = [];
        const ask = async (what, race, onPart) => {
            const region = track.words;
            for (const [wait, part] of data) {
                await null;
                now += wait;
                onPart({step: 7, ...part});
                if (said.at(-1) !== region.textContent) said.push(region.textContent);
            }
            return {finished: true};
        };
        const text = {ids: [0, 1, 0, 1], heldOut: [0, 1, 0, 1], letters: ["a", "b"]};
        const ground = {ask, chosen: maths.USUAL, preparedText: () => text};
        const track = new maths.RaceTrack(ground);
        return track.run().then(() => said);""",
        parts,
    )
    assert found == [
        "The race is on.",
        "After 1 second of training your recipe stands at 3.500 on held-out text, "
        "the book's at 3.250.",
        "After 2 seconds of training your recipe stands at 3.000 on held-out text, "
        "the book's at 2.500.",
        "Your recipe broke at step 7: its loss is no number. The book's stays.",
    ]


def test_a_race_that_breaks_off_is_taken_back(race):
    found = race(
        """const text = {ids: [0, 1, 0, 1], heldOut: [0, 1, 0, 1], letters: ["a", "b"]};
        const ask = async () => { throw new Error("lost"); };
        const ground = {ask, chosen: {context: "16"}, preparedText: () => text};
        const track = new maths.RaceTrack(ground);
        return track.run().catch(({message}) => [message, track.words.textContent]);"""
    )
    assert found == ["lost", "The race broke off; nobody has won."]


def test_only_a_better_race_is_kept(race):
    found = race(
        """const track = {best: {}, list() {}, ground: {textName: () => "tales", chosen: {}}};
        return data.map((loss) => {
            maths.RaceTrack.prototype.remember.call(track, loss, 5);
            return track.best["tales, 5 seconds"]?.loss ?? null;
        });""",
        [None, 2.0, 2.5, 1.5, None, 1.75],
    )
    assert found == [None, 2.0, 2.0, 1.5, 1.5, 1.5]


def test_a_race_is_run_and_the_best_is_kept_until_it_is_forgotten(ground):
    page = ground()
    choose(page, **QUICK)
    page.select_option("select[name=seconds]", "5")
    press(page, "Race")
    words = "() => document.querySelector('.tg-verdict').textContent.startsWith('On held-out text')"
    page.wait_for_function(words)
    assert page.locator(".tg-race polyline").count() == 2
    best = page.inner_text(".tg-best")
    assert best.startswith("Your best on names, 5 seconds: ")
    assert "width 16, 1 block, 2 heads" in best
    page.reload()
    kept = "best => document.querySelector('.tg-best')?.innerText.startsWith(best)"
    page.wait_for_function(kept, arg=best)
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_function(kept, arg=best)
    press(page, "Forget the best")
    nothing = "Your best is kept in this browser"
    assert page.inner_text(".tg-best").startswith(nothing)
    other.wait_for_function(kept, arg=nothing)  # a page that lies open beside it knows it, too
    other.close()
    assert page.evaluate("localStorage.length") == 0
    page.evaluate("localStorage.setItem('softlookup.race', '{')")  # what is none of ours
    page.reload()
    page.wait_for_selector(".tg-form")
    assert page.inner_text(".tg-best").startswith(nothing)
    page.evaluate("localStorage.clear()")


def test_a_text_is_named_so_that_its_losses_are_not_taken_for_those_of_another(functions_of):
    call = functions_of("figures/training_ground/text.js")
    own = call(
        "return data.map(maths.ownName)", ["To be,\nor not to be", "To do, or not to do", ""]
    )
    assert own == [
        "your text of 19 letters, “To be, or not to be …”",
        "your text of 19 letters, “To do, or not to do …”",
        "your text of no letter, “ …”",
    ]
    long = call("return maths.ownName(data)", "she sells sea shells " * 50_000)
    assert long == "your text of 1,050,000 letters, “she sells sea shells she …”"
    parts = [["tales", "all"], ["tales", "1000"], ["tales", "all", "m.safetensors"]]
    assert call("return data.map((one) => maths.partName(...one))", parts) == [
        "tales",
        "the first 1,000 letters of tales",
        "tales, in the letters of m.safetensors",
    ]


def test_a_race_on_a_part_of_a_text_is_kept_for_itself(ground):
    page = ground()
    page.evaluate(
        """() => localStorage.setItem("softlookup.race",
            JSON.stringify({"names, 5 seconds": {loss: 0.01, how: "luck"}}))"""
    )
    page.reload()
    page.wait_for_selector(".tg-form")
    choose(page, **QUICK, amount="1000")
    page.select_option("select[name=seconds]", "5")
    press(page, "Race")
    words = "() => document.querySelector('.tg-verdict').textContent.startsWith('On held-out text')"
    page.wait_for_function(words)
    best = page.locator(".tg-best li").all_inner_texts()
    assert best[0] == "Your best on names, 5 seconds: 0.010, with luck"
    assert best[1].startswith("Your best on the first 1,000 letters of names, 5 seconds: ")
    page.evaluate("localStorage.clear()")


def test_the_keyboard_stays_on_a_button_that_works(ground):
    page = ground()
    choose(page, **QUICK)
    page.get_by_role("button", name="One step").focus()
    for k in (1, 2):
        page.keyboard.press("Enter")
        wait_for(page, f"Step {k} of 250")
    assert page.evaluate("document.activeElement.textContent") == "One step"


def test_when_work_ends_the_page_stays_where_the_reader_has_scrolled(ground):
    page = ground()
    choose(page, **QUICK)
    page.set_viewport_size({"width": 1280, "height": 200})
    step = page.get_by_role("button", name="One step")
    step.evaluate("(step) => step.addEventListener('click', () => scrollTo(0, 0))")
    step.focus()
    page.keyboard.press("Enter")
    wait_for(page, "Step 1 of 250")
    page.wait_for_function("document.activeElement.textContent === 'One step'")
    assert page.evaluate("scrollY") == 0


def test_within_two_minutes_a_model_beats_the_bigram(open_figures):
    """As the workshop opens: nothing is chosen, and Train is pressed."""
    chance = torch.Generator().manual_seed(1)
    named = [" ".join(one.tokens) + ".\n" for one in tagged_sentences(400, chance)]
    page = open_figures(TrainingGround({"names": "".join(named)}), ready=".tg-form")
    page.set_default_timeout(120_000)
    press(page, "Train")
    page.wait_for_function(
        """() => {
            const said = document.querySelector(".tg-status").textContent;
            const [, heldOut, bigram] = /([\\d.]+) held out. Bigram ([\\d.]+),/.exec(said) ?? [];
            return Number(heldOut) < Number(bigram);
        }"""
    )
    press(page, "Pause")
    page.wait_for_function("() => document.querySelector('.tg-go').textContent === 'Train on'")
    assert "better than the bigram from about step" in page.text_content(".tg-answer")


SMALL = {"choices": ["rate", "nSteps"], "usual": {"optimizer": "adamw", "rate": "0.003"}}


def test_a_small_ground_offers_what_it_is_told(open_figures):
    texts = {"prose": book_prose()[:6000]}
    figure = TrainingGround(texts, presets=["usual", "rate"], **SMALL)
    page = open_figures(figure, ready=".tg-form")
    page.set_default_timeout(SLOW)
    names = page.evaluate(
        "() => [...document.querySelectorAll('.tg-form select')].map(s => s.name)"
    )
    assert names == ["rate", "nSteps"]
    buttons = page.locator(".tg-form button").all_text_contents()
    assert buttons == ["As usual", "Too high a rate", "Train", "One step", "New start"]
    assert page.input_value("select[name=rate]") == "0.003"
    assert "AdamW at 0.003" in page.text_content(STATUS)
    press(page, "Too high a rate")
    assert page.input_value("select[name=rate]") == "300"
    press(page, "As usual")
    page.select_option("select[name=nSteps]", "50")
    press(page, "Train")
    wait_for(page, "Step 50 of 50")
    assert numbers_in(page)[2:] == pytest.approx(lines_of(texts["prose"], 32), abs=6e-4)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"presets": []}, "there must be a way to train"),
        ({"presets": ["fast"]}, "preset must be one of 'usual', 'mask'"),
        ({"choices": ["speed"]}, "setting must be one of 'd_model'"),
        ({"usual": {"speed": "1"}}, "setting must be one of 'd_model'"),
    ],
)
def test_what_a_ground_does_not_know_is_refused(options, rule):
    with pytest.raises(ValueError, match=rule):
        TrainingGround({"letters": "abc" * 500}, **options)
