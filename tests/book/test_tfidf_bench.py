"""The TF-IDF bench, used in Chromium as a reader would: its numbers are the library's.

The page is built from the object's text/html alone and opened as a file, so nothing else serves it.
"""

import math
import random
from itertools import combinations, product

import pytest
import torch
from site_checks import scroll_faults
from test_figure_contract import LINE

from softlookup.ops import cosine_similarity
from softlookup.show import TfidfBench
from softlookup.show.figures.tfidf_bench import _EXAMPLES, LECTURE
from softlookup.show.figures.tfidf_bench.live import bench_html
from softlookup.words import (
    IDF_VARIANTS,
    TF_VARIANTS,
    count_matrix,
    document_frequency,
    inverse_document_frequency,
    ngrams,
    term_frequency,
    tf_idf,
    word_tokens,
)

BASES = {"10": 10, "e": math.e, "2": 2}
START = {"lowercase": False, "n": 1, "tf": "count", "idf": "log", "base": "10"}
READ_TABLE = """(bench) => Object.fromEntries([...bench.querySelectorAll("td[data-key]")].map(
    (cell) => [cell.dataset.key, cell.lastChild.textContent.trim()]))"""
WEIRD = {
    "nothing": ("", ""),
    "one word": ("word", ""),
    "only signs": ("?!… --", "🙂🙂 → ∞"),
    "emoji and digits": ("🙂 ok 👩‍👩‍👧 3 x²", "ok, 3️⃣ ok"),
    "apostrophes": ("don't don’t 'tis rock'n'roll", "Don't ''"),
    "right to left": ("שלום עולם שלום", "مرحبا بالعالم עולם"),
    "marks": ("nai\u0308ve naïve e\u0301\u0301", "İstanbul ΟΔΟΣ straße STRASSE"),
    "markup": ("<img src=x onerror=alert(1)> <b>bold</b>", "</script><!--<script> &amp; \u2028"),
    "prototype": ("constructor __proto__ toString", "__proto__ hasOwnProperty"),
    "a long word": ("w" * 3000, "a " + "w" * 3000),
    "white space": (" \n\t a \r\n b\u00a0c", "a\fb\vc"),
}


def example():
    return TfidfBench()


@pytest.fixture
def open_figure(open_figures):
    """Opens benches in one page, one in its first state if none is given."""

    def open_page(*figures, **options):
        return open_figures(*(figures or (TfidfBench(),)), ready=".tb-bench", **options)

    return open_page


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/tfidf_bench/maths.js")


def bench_of(page, place=0):
    return page.locator(".tb-bench").nth(place)


def write(page, *texts, place=0):
    areas = bench_of(page, place).locator("textarea")
    for i, text in enumerate(texts):
        areas.nth(i).fill(text)


def choose(page, place=0, **settings):
    for name, value in settings.items():
        bench = bench_of(page, place)
        if name == "lowercase":
            bench.get_by_label("Fold case").set_checked(value)
        else:
            radio = bench.locator(f'input[name="{name}"][value="{value}"]')
            if radio.is_enabled():
                radio.check(force=True)


def expected(texts, *, lowercase, n, tf, idf, base):
    """The words in order of first appearance, and every number of the table by its key."""
    documents = [ngrams(word_tokens(text, lowercase=lowercase), n) for text in texts]
    words = list(dict.fromkeys(word for document in documents for word in document))
    if not words:
        return words, {}, torch.zeros(len(texts), 1), torch.zeros(len(texts), 1)
    counts = count_matrix(documents, words)
    frequency = document_frequency(counts)
    rarity = inverse_document_frequency(frequency, len(texts), idf, base=BASES[base])
    terms, weights = (
        term_frequency(counts, tf),
        tf_idf(counts, tf=tf, idf=idf, base=BASES[base]),
    )
    shown = 100 * terms if tf == "relative" else terms
    cells = {}
    for j in range(min(len(words), 40)):
        cells |= {f"df:{j}": frequency[j], f"idf:{j}": rarity[j]}
        for i in range(len(texts)):
            cells |= {f"tf:{i}:{j}": shown[i, j], f"weight:{i}:{j}": weights[i, j]}
    for i in range(len(texts)):
        cells |= {f"sum-tf:{i}": shown[i].sum(), f"norm-tf:{i}": shown[i].norm()}
        cells |= {f"sum-weight:{i}": weights[i].sum(), f"norm-weight:{i}": weights[i].norm()}
    return words, {key: value.item() for key, value in cells.items()}, terms, weights


def assert_right_to_last_digit(text, value, name):
    decimals = len(text.partition(".")[2])
    printed = float(text.replace("−", "-"))
    assert abs(printed - value) <= 0.5 * 10**-decimals + 1e-9, (name, text, value)
    if "sum" not in name:  # at least four digits that count
        assert abs(printed - value) <= 0.5e-3 * abs(value) + 1e-12, (name, text, value)


def assert_shows(page, texts, place=0, **settings):
    """All that the bench shows equals the library's: words, numbers, cosines."""
    settings = {**START, **settings}
    words, cells, terms, weights = expected(texts, **settings)
    bench = bench_of(page, place)
    names = bench.locator("tbody th").evaluate_all("(all) => all.map((one) => one.textContent)")
    assert names == words[:40]
    if words:
        read = bench.evaluate(READ_TABLE)
        assert read.keys() == cells.keys()
        for key, value in cells.items():
            assert_right_to_last_digit(read[key], value, key)
    assert bench.locator("td .sl-flag").count() == sum(
        value < 0 for key, value in cells.items() if key.startswith("idf")
    )
    pairs = combinations(range(len(texts)), 2)
    wanted = [_cosine(rows[i], rows[j]) for i, j in pairs for rows in (weights, terms)]
    found = bench.locator(".tb-cosines b").all_inner_texts()
    for text, value in zip(found, wanted, strict=True):
        assert (text == "0/0") == (value is None)
        if value is not None:
            assert abs(float(text.replace("−", "-")) - value) <= 0.5e-4 + 1e-9


def _cosine(x, y):
    return cosine_similarity(x, y).item() if x.any() and y.any() else None


# The arithmetic


def random_text(rng):
    words = [
        "a",
        "A",
        "not",
        "Not",
        "don't",
        "don’t",
        "שלום",
        "é",
        "e\u0301",
        "x_1",
        "7",
        "🙂",
        "İ",
    ]
    joints = [" ", ", ", ". ", "\n", "–", "'", "’ ", "…"]
    return "".join(rng.choice(words) + rng.choice(joints) for _ in range(rng.randrange(23)))


def test_tokens_and_ngrams_equal_the_library(maths):
    rng = random.Random(20170612)
    texts = [random_text(rng) for _ in range(67)] + [
        text for pair in WEIRD.values() for text in pair
    ]
    for lowercase, n in product([False, True], [1, 2, 3]):
        code = """return data.texts.map((text) =>
            maths.ngrams(maths.wordTokens(text, data.lowercase), data.n))"""
        data = {"texts": texts, "lowercase": lowercase, "n": n}
        wanted = [ngrams(word_tokens(text, lowercase=lowercase), n) for text in texts]
        assert maths(code, data) == wanted


@pytest.mark.parametrize(("tf", "idf"), list(product(TF_VARIANTS, IDF_VARIANTS)))
def test_weights_equal_the_library_to_1e_12(maths, tf, idf):
    rng = random.Random(f"{tf} {idf}")
    for base, n_documents in product(BASES, [1, 2, 3, 5]):
        counts = [[rng.choice([0, 0, 1, 1, 2, 7, 4999]) for _ in range(11)]
                  for _ in range(n_documents)]  # fmt: skip
        for j in range(11):  # the bench has no word that is in no document
            counts[j % n_documents][j] += sum(row[j] for row in counts) == 0
        counts[0] = [0] * 11 if n_documents == 5 else counts[0]
        tensor = torch.tensor(counts, dtype=torch.float64)
        kept = document_frequency(tensor) > 0
        tensor = tensor[:, kept]
        found = maths(
            """const tf = maths.termFrequency(data.counts, data.tf);
            const df = maths.documentFrequency(data.counts);
            const idf = maths.inverseDocumentFrequency(
              df, data.counts.length, data.idf, data.base);
            return {tf, df, idf, weights: maths.tfIdf(tf, idf)};""",
            {"counts": tensor.tolist(), "tf": tf, "idf": idf, "base": base},
        )
        frequency = document_frequency(tensor)
        wanted = {
            "tf": term_frequency(tensor, tf),
            "df": frequency,
            "idf": inverse_document_frequency(frequency, n_documents, idf, base=BASES[base]),
            "weights": tf_idf(tensor, tf=tf, idf=idf, base=BASES[base]),
        }
        for name, numbers in wanted.items():
            got = torch.tensor(found[name], dtype=torch.float64)
            torch.testing.assert_close(got, numbers, atol=1e-12, rtol=1e-12)


def test_cosine_equals_the_library_and_knows_zero_over_zero(maths, generator):
    x, y = torch.randn(2, 13, generator=generator, dtype=torch.float64)
    found = maths("return maths.cosine(data[0], data[1])", [x.tolist(), y.tolist()])
    assert abs(found - cosine_similarity(x, y).item()) <= 1e-12
    assert maths("return maths.cosine([0, 0], [1, 2])") is None


# What the page shows


def test_it_starts_with_the_lectures_tables(open_figure):
    page = open_figure()
    read = bench_of(page).evaluate(READ_TABLE)
    column = [read[f"tf:0:{j}"] for j in range(7)], [read[f"tf:1:{j}"] for j in range(7)]
    assert column == (list("2212100"), list("1122121"))
    assert [read[f"idf:{j}"] for j in range(7)] == ["0"] * 5 + ["0.3010"] * 2
    assert [read[f"weight:0:{j}"] for j in range(7)] == ["0"] * 7
    assert [read[f"weight:1:{j}"] for j in range(7)] == ["0"] * 5 + ["0.6021", "0.3010"]
    assert "8 words, 5 distinct" in page.inner_text(".tb-documents")
    assert "10 words, 7 distinct" in page.inner_text(".tb-documents")
    assert "Every TF-IDF weight of x1 is 0" in page.text_content(".tb-notes")
    assert page.text_content(".tb-cosines") == "cos(x1, x2) = 0/0 with TF-IDF, 0.7350 with TF"
    assert_shows(page, LECTURE)


def test_every_variant_of_the_lectures_pair(open_figure):
    page = open_figure()
    for tf, idf in product(TF_VARIANTS, IDF_VARIANTS):
        choose(page, tf=tf, idf=idf)
        assert_shows(page, LECTURE, tf=tf, idf=idf)


def test_words_pairs_case_and_base_on_typed_texts(open_figure):
    page = open_figure()
    texts = ("It is. It was, it IS not; is it?", "Was it? It was not, it is not.")
    write(page, *texts)
    for n, lowercase, base in product([1, 2], [True, False], BASES):
        choose(page, n=n, lowercase=lowercase, base=base, tf="relative", idf="smooth")
        assert_shows(page, texts, n=n, lowercase=lowercase, base=base, tf="relative", idf="smooth")


def test_the_base_matters_to_logarithms_only(open_figure):
    page = open_figure()
    base = page.locator('input[name="base"][value="2"]')
    for idf in IDF_VARIANTS:
        choose(page, idf=idf)
        assert base.is_disabled() == (idf in ("inverse", "ratio"))


def test_examples_show_what_they_promise_and_the_first_restores(open_figure):
    page = open_figure()
    for example in _EXAMPLES:
        page.get_by_role("button", name=example["label"], exact=True).click()
        assert_shows(page, example["documents"], **example["settings"])
        assert page.inner_text(".tb-hint") == example["hint"]
    for _ in range(2):  # what the reader changes does not change the example
        page.get_by_role("button", name="The lecture’s pair").click()
        assert_shows(page, LECTURE)
        assert page.locator("textarea").count() == 2
        write(page, "other", "words")
        choose(page, n=2, lowercase=True, base="e", tf="log", idf="ratio")


def test_case_folding_decides_the_lectures_a_sentence(open_figure):
    page = open_figure()
    page.get_by_role("button", name="Capitals").click()
    read = bench_of(page).evaluate(READ_TABLE)
    assert [read[f"tf:1:{j}"] for j in range(4)] == list("0001")
    choose(page, lowercase=True)
    read = bench_of(page).evaluate(READ_TABLE)
    assert [read[f"tf:1:{j}"] for j in range(4)] == list("0011")


def test_a_negative_idf_raises_a_flag_in_words(open_figure):
    page = open_figure()
    assert page.locator(".sl-flag").count() == 0
    choose(page, idf="log_plus_one")
    note = page.text_content(".tb-notes .sl-flag")
    assert "5 of 7 IDFs negative: log10(2/(2 + 1)) ≈ −0.1761" in note
    assert "2 in all but one get exactly 0" in note
    flags = page.locator("td .sl-flag")
    assert [text.strip() for text in flags.all_inner_texts()] == ["negative"] * 5
    assert flags.locator("svg").count() == 5
    choose(page, idf="smooth")
    assert page.locator(".sl-flag").count() == 0


def test_notes_on_empty_documents_and_on_the_logarithm_of_zero(open_figure):
    page = open_figure()
    write(page, LECTURE[0], " ")
    assert "x2 has no words" in page.text_content(".tb-notes")
    assert_shows(page, (LECTURE[0], " "))
    write(page, *LECTURE)
    choose(page, tf="log")
    assert "−∞ in 2 cells (count 0) and 0 in 6 (count 1)" in page.text_content(".tb-notes")
    write(page, "", "")
    assert "No words yet" in page.text_content(".tb-notes")


def test_documents_can_be_added_and_removed(open_figure):
    page = open_figure()
    assert page.get_by_role("button", name="Remove").count() == 0
    add = page.get_by_role("button", name="Add a document")
    add.click()
    assert page.evaluate("document.activeElement.ariaLabel") == "Document x3"
    page.keyboard.type("Not yet another.")
    assert_shows(page, (*LECTURE, "Not yet another."))
    add.click()
    assert add.is_disabled()
    assert_shows(page, (*LECTURE, "Not yet another.", ""))
    page.get_by_role("button", name="Remove document x1").click()
    page.get_by_role("button", name="Remove document x3").click()
    assert_shows(page, (LECTURE[1], "Not yet another."))


def test_weird_texts_break_nothing(open_figure):
    page = open_figure(width=390)
    settings = {"tf": "relative", "idf": "smooth"}
    choose(page, **settings)
    for texts in WEIRD.values():
        choose(page, n=1, lowercase=False)
        write(page, *texts)
        assert_shows(page, texts, **settings)
        choose(page, n=2, lowercase=True)
        assert_shows(page, texts, **settings, n=2, lowercase=True)
        assert scroll_faults(page) == []
        assert page.locator("main img, main b b").count() == 0


def test_weird_texts_from_python_break_nothing(open_figure):
    page = open_figure(*map(TfidfBench, WEIRD.values()))
    for place, texts in enumerate(WEIRD.values()):
        areas = bench_of(page, place).locator("textarea")
        typed = [text.replace("\r\n", "\n") for text in texts]
        assert areas.evaluate_all("(all) => all.map((area) => area.value)") == typed
        assert_shows(page, texts, place)


def test_five_thousand_words_show_forty_and_count_all(open_figure):
    page = open_figure()
    texts = (" ".join(f"w{k}" for k in range(5000)), "w1 w2 w4999 other")
    write(page, *texts)
    choose(page, tf="relative")
    assert_shows(page, texts, tf="relative")
    assert page.inner_text(".tb-rest") == "The first 40 of 5001; all of them count in every sum."


# Where a number comes from


TOLD = [
    ({}, "weight:1:5", "“not” in x2: 2 × log10(2/1) ≈ 2 × 0.3010 ≈ 0.6021"),
    ({}, "weight:0:0", "“This” in x1: 2 × log10(2/2) = 2 × 0 = 0"),
    ({}, "tf:1:2", "“a” in x2: 2 times"),
    ({}, "tf:0:2", "“a” in x1: once"),
    ({}, "tf:0:5", "“not” in x1: not there, 0"),
    ({}, "df:0", "“This” is in x1 and x2: Nj = 2 of N = 2"),
    ({}, "df:6", "“Yet” is in x2: Nj = 1 of N = 2"),
    ({}, "sum-tf:0", "Sum of TF in x1: 2 + 2 + 1 + 2 + 1 = 8"),
    ({}, "norm-tf:1", "Norm of TF in x2: √(1² + 1² + 2² + 2² + 1² + 2² + 1²) = 4"),
    ({"tf": "relative"}, "tf:1:5", "“not” in x2: 2/10 = 20 %"),
    ({"tf": "unique"}, "tf:1:5", "“not” in x2: 2/7 ≈ 0.2857"),
    ({"tf": "log"}, "tf:1:5", "“not” in x2: ln(1 + 2) ≈ 1.0986"),
    ({"tf": "binary"}, "tf:1:5", "“not” in x2: it is there, 1"),
    ({"tf": "relative"}, "sum-tf:0", "Sum of TF in x1: 25 + 25 + 12.5 + 25 + 12.5 = 100"),
    ({"idf": "inverse"}, "idf:0", "IDF of “This”: 1/2 = 0.5"),
    ({"idf": "ratio"}, "idf:5", "IDF of “not”: 2/1 = 2"),
    ({"base": "e"}, "idf:5", "IDF of “not”: ln(2/1) ≈ 0.6931"),
    ({"base": "2"}, "idf:5", "IDF of “not”: log2(2/1) = 1"),
    (
        {"idf": "log_plus_one"},
        "idf:0",
        "IDF of “This”: log10(2/(2 + 1)) ≈ −0.1761, negative",
    ),
    (
        {"idf": "log_plus_one"},
        "weight:0:0",
        "“This” in x1: 2 × log10(2/(2 + 1)) ≈ 2 × (−0.1761) ≈ −0.3522",
    ),
    (
        {"idf": "smooth", "tf": "relative", "base": "e"},
        "weight:1:5",
        "“not” in x2: 2/10 × (ln((1 + 2)/(1 + 1)) + 1) ≈ 0.2 × 1.4055 ≈ 0.2811",
    ),
]


def test_a_cell_tells_the_sum_that_made_it(open_figure):
    page = open_figure()
    for settings, key, told in TOLD:
        choose(page, **{**START, **settings})
        page.locator(f'td[data-key="{key}"]').hover()
        assert page.text_content(".tb-line") == told


def test_the_numbers_that_made_a_weight_are_marked(open_figure):
    page = open_figure()
    page.locator('td[data-key="weight:1:6"]').click()
    marked = ".tb-selected, .tb-operand"
    keys = page.locator(marked).evaluate_all("(all) => all.map((cell) => cell.dataset.key)")
    assert sorted(keys) == ["idf:6", "tf:1:6", "weight:1:6"]


# Keyboard, small screens, both modes


def test_all_of_it_works_by_keyboard(open_figure):
    page = open_figure()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "idf":
            break
    page.keyboard.press("ArrowRight")
    assert_shows(page, LECTURE, idf="log_plus_one")
    page.keyboard.press("ArrowLeft")
    assert_shows(page, LECTURE)
    for _ in range(3):  # the base, the box of the table, its cell
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.key") == "weight:1:5"
    for key, reached in [
        ("ArrowLeft", "weight:0:5"),
        ("ArrowLeft", "idf:5"),
        ("ArrowDown", "idf:6"),
        ("ArrowDown", "idf:6"),  # no number below
        ("ArrowLeft", "df:6"),
        ("ArrowLeft", "tf:1:6"),
        ("ArrowDown", "sum-tf:1"),
        ("ArrowRight", "sum-weight:0"),
        ("ArrowUp", "weight:0:6"),
    ]:
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.key") == reached
    assert page.text_content(".tb-line").startswith("“Yet” in x1: 0 × log10(2/1)")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.key") == "weight:0:6"


def test_screen_readers_hear_the_results(open_figure):
    page = open_figure()
    assert page.locator('.tb-line[aria-live="polite"]').count() == 1
    assert page.locator('.tb-verdict[role="status"]').count() == 1
    fields = page.locator("textarea, input")
    shortcuts = fields.evaluate_all("(all) => all.map((one) => one.dataset.lmSuppressShortcuts)")
    assert set(shortcuts) == {"true"}


# The Python side


def test_it_starts_as_python_asks(open_figure):
    settings = {"lowercase": True, "n": 2, "tf": "unique", "idf": "smooth"}
    texts = ["One or two.", "Two or one, or two!", "ONE OR three"]
    page = open_figure(TfidfBench(texts, **settings, base=math.e))
    assert_shows(page, texts, **settings, base="e")
    assert page.locator('input[name="base"]:checked').input_value() == "e"
    page.get_by_role("button", name="Below zero").click()
    page.get_by_role("button", name="The first documents").click()
    assert_shows(page, texts, **settings, base="e")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"documents": ["one"]}, "documents must be 2 to 4 texts; got n_documents=1"),
        ({"documents": ["a"] * 5}, "documents must be 2 to 4 texts; got n_documents=5"),
        (
            {"documents": ["a" * 50_001, ""]},
            "at most 50000 characters in all; got .*50001",
        ),
        ({"n": 0}, "n must be an integer of at least 1; got n=0"),
        ({"n": 3}, "n must be 1 or 2; got n=3"),
        ({"tf": "logs"}, "tf must be one of .*got tf='logs'"),
        ({"idf": "logs"}, "idf must be one of .*got idf='logs'"),
        ({"base": 3}, "base must be 2, 10 or e; got base=3"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        TfidfBench(**options)


@pytest.mark.bad_input
@pytest.mark.parametrize("documents", ["one text", ["one", 2]])
def test_documents_must_be_texts(documents):
    with pytest.raises(ValueError, match="documents must be a list of texts"):
        TfidfBench(documents)


def test_the_live_view_calls_the_library():
    box = TfidfBench().live()
    *areas, switches, table = box.children
    lowercase, n, tf, idf, base = switches.children
    assert "<td>0.6021</td>" in table.value
    assert "cos(x1, x2) = 0/0" in table.value
    idf.value = "log_plus_one"
    assert "5 of 7 IDFs negative" in table.value
    areas[1].value = "<b>"
    tf.value, idf.value, n.value, lowercase.value, base.value = "unique", "smooth", 2, True, 2
    texts = [area.value for area in areas]
    chosen = {"lowercase": True, "n": 2, "tf": "unique", "idf": "smooth", "base": 2}
    assert table.value == bench_html(texts, **chosen)
    assert bench_html(["", "?"], **chosen) == "<p>Nothing to count yet.</p>"


def test_the_largest_is_small():
    assert len(TfidfBench(["x" * 25_000, "ü" * 25_000]).html().encode()) < 200_000


def test_each_example_has_room_at_each_width(open_figure):
    """What stands below stays where it is: the contract of figures looks at two widths alone."""
    page = open_figure()
    found = {}
    for width in (300, 320, 360, 390, 480, 560, 620, 700, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        heights = []
        for example in page.locator(".tb-examples button").all():
            example.click()
            heights.append(bench_of(page).bounding_box()["height"])
        found[width] = max(heights) - min(heights)
    assert {width: jump for width, jump in found.items() if jump > LINE} == {}


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_wide_table_scrolls_in_its_own_box(open_figure, width):
    page = open_figure(width=width)
    box = page.get_by_role("region", name="The TF-IDF table")
    box.focus()
    wide, room = box.evaluate("(box) => [box.scrollWidth, box.clientWidth]")
    assert (wide > room) == (width == 320)
    moved = box.evaluate("(box) => { box.scrollLeft = 50; return box.scrollLeft; }")
    assert (moved > 0) == (width == 320)  # in its own box, not in the one around the figure
