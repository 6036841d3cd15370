"""The search, in a real browser: what it finds, how it is shown, by keyboard, from a file."""

import gzip
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from conftest import ROOT
from docutils import nodes
from playwright.sync_api import Browser, Page
from site_checks import axe_faults, focus_faults, open_page, scroll_faults, watched

import reference_ledger
import registry
from book_site import plain_tex, search

QUERIES = yaml.safe_load((Path(__file__).parent / "search_queries.yml").read_text(encoding="utf-8"))
FIRST, AMONG_THREE = 0.85, 0.97
LARGEST = 300_000  # bytes, compressed: the entries and the engine
FIND = """async (query) => (await bookSearch.find(query)).map(({kind, title, docname, anchor}) =>
    ({kind, title, place: docname + (anchor && "#" + anchor)}))"""
RESULTS = "[...document.querySelectorAll('.bk-found a')].map((one) => one.innerText)"


@pytest.fixture(scope="module")
def entries(site: Path) -> dict:
    """What the browser loads."""
    text = (site / "_static" / "search-entries.js").read_text(encoding="utf-8")
    found = json.loads(text[text.index("{") : text.rindex("}") + 1])
    names, columns = found["entries"].keys(), found["entries"].values()
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return {**found, "entries": [SimpleNamespace(**row) for row in rows]}


@pytest.fixture
def page(browser: Browser, site: Path):
    """The front page; nothing may go wrong on it."""
    with watched(browser, viewport={"width": 1280, "height": 900}) as (page, faults, _):
        open_page(page, site / "intro.html")
        yield page
        assert not faults


def places(query: str, page: Page) -> list[str]:
    """Where a query leads, the best first; a definition answers by itself and leads nowhere."""
    found = page.evaluate(FIND, query)
    told = [one["place"] for one in found if one["kind"] != "definition"]
    return list(dict.fromkeys(re.sub(r"^chapters/(\d\d_)?", "", place) for place in told))


def with_members(entries: dict) -> list[SimpleNamespace]:
    """The entries of what has members."""
    return [row for row in entries["entries"] if row.kind == "function" and row.members]


def test_the_queries_lead_to_places_that_exist(entries):
    there = {
        entries["pages"][one.page][0] + (one.anchor and f"#{one.anchor}")
        for one in entries["entries"]
    }
    there = {re.sub(r"^chapters/(\d\d_)?", "", place) for place in there}
    assert len({row[0] for row in QUERIES}) == len(QUERIES) >= 60
    assert not [place for _, *expected in QUERIES for place in expected if place not in there]


@pytest.mark.browser
def test_the_section_that_answers_comes_first_or_nearly(page):
    ranks = []
    for query, *expected in QUERIES:
        found = places(str(query), page)
        ranks.append(next((k for k, one in enumerate(found) if one in expected), 99))
    missed = [(row[0], rank) for row, rank in zip(QUERIES, ranks, strict=True) if rank]
    assert sum(rank == 0 for rank in ranks) >= FIRST * len(ranks), missed
    assert sum(rank < 3 for rank in ranks) >= AMONG_THREE * len(ranks), missed


@pytest.mark.browser
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("normalisation", "normalization"),
        ("Tokenisation", "tokenization"),
        ("attention visualisation", "attention visualizations"),
        ("RoPE", "rotary positions"),
        ("LAYERNORM", "layer normalization"),
        ("the perplexity", "perplexities"),
        ("What is beam search?", "beam search"),
        ("Nadaraya–Watson", "nadaraya watson"),
    ],
)
def test_two_spellings_lead_to_the_same_place(page, one, other):
    assert places(one, page)[0] == places(other, page)[0]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("joined", "apart"),
    [
        ("beamsearch", "beam search"),
        ("stopword", "stop word"),
        ("gradientdescent", "gradient descent"),
        ("crossentropy", "cross entropy"),
        ("selfattention", "self attention"),
        ("wordembedding", "word embedding"),
        ("skipgram", "skip gram"),
    ],
)
def test_a_word_that_the_book_writes_as_two_is_found(page, joined, apart):
    assert places(joined, page)[:3] == places(apart, page)[:3]


@pytest.mark.browser
def test_a_joined_word_is_found_before_it_is_typed_to_its_end(page):
    assert any("skip-gram" in place for place in places("skipgr", page)[:3])


@pytest.mark.browser
@pytest.mark.parametrize("query", ["perpl", "perplexety", "perplxity", "peprlexity"])
def test_a_beginning_and_one_typo_are_forgiven(page, query):
    assert any("language_models#perplexity" in place for place in places(query, page)[:2])


@pytest.mark.browser
@pytest.mark.parametrize(
    ("query", "place"),
    [
        (
            "mat1 and mat2 shapes cannot be multiplied",
            "my_numbers_differ#a-product-that-does-not-fit",
        ),
        ("k-means", "vector_search#clusters"),  # "means" alone says nothing
        ("in-batch negatives", "document_vectors#the-batch-supplies-the-wrong-answers"),
        ("quantization", "vector_search#optional-size-and-precision"),
    ],
    ids=["a printed error", "a term of small words", "a synonym", "a term that a section links"],
)
def test_what_is_no_title_leads_to_its_section(page, query, place):
    assert places(query, page)[0] == place


@pytest.mark.browser
@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("perplexity", "definition"),
        ("split_heads", "function"),
        ("positional encodings", "chapter"),
        ("three dots are a medicine", "slide"),
        ("better than bpe", "exercise"),
        ("the 144 test messages one square each", "figure"),
    ],
)
def test_each_kind_is_found(page, query, kind):
    assert kind in [one["kind"] for one in page.evaluate(FIND, query)[:5]]


@pytest.mark.browser
@pytest.mark.parametrize(
    "query", ["layer_norm", "soft_lookup(q, k, v)", "layers.layer_norm", "DecoderBlock"]
)
def test_a_function_comes_first_where_its_name_is_typed_as_code(page, query):
    name = re.sub(r"\(.*", "", query).split(".")[-1]
    first = page.evaluate(FIND, query)[0]
    assert (first["kind"], first["title"]) == ("function", name)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("query", "kind", "title", "anchor", "among"),
    [
        ("described", "method", "BytePairTokenizer.described", ".described", 1),
        ("next_word", "method", "LanguageModel.next_word", ".next_word", 1),
        ("mix", "method", "SoftLookup.mix", ".mix", 4),
        ("SoftLookup.mix", "method", "SoftLookup.mix", ".mix", 1),
        ("layer.mix(scores, v)", "method", "SoftLookup.mix", ".mix", 1),
        ("Encoded.mask", "attribute", "Encoded.mask", "", 1),
        ("n_kv_heads", "parameter", "GroupedQueryAttention(n_kv_heads)", "", 5),
        ("dropout=0.1", "parameter", "SoftLookup(dropout)", "", 30),
        ("forward", "method", "EncoderBlock.forward", ".forward", 50),
    ],
)
def test_what_a_class_has_is_found_by_its_name(page, query, kind, title, anchor, among):
    owner = re.split(r"[.(]", title)[0]
    found = {one["title"]: one for one in page.evaluate(FIND, query)[:among]}
    assert found[title]["kind"] == kind
    assert found[title]["place"].endswith(f".{owner}{anchor}")


@pytest.mark.browser
@pytest.mark.parametrize("name", ["Vocabulary", "fill", "route", "Clusters", "attend"])
def test_a_name_that_is_a_word_stands_behind_the_best_places_of_the_text(page, name):
    found = [(one["kind"], one["title"]) for one in page.evaluate(FIND, name)[:5]]
    assert ("function", name) in found


@pytest.mark.browser
def test_no_name_of_a_member_is_typed_in_vain(page, entries):
    told = " ".join(one.members for one in with_members(entries))
    names = {one.strip(".()=") for one in told.split() if not one.endswith("~")}
    assert len(names) > 200
    kinds = "async (name) => (await bookSearch.find(name)).map(({kind}) => kind)"
    shown = {name: page.evaluate(kinds, name)[:6] for name in sorted(names)}
    members = {"method", "attribute", "parameter"}
    assert [name for name, found in shown.items() if not members & set(found)] == []


@pytest.mark.browser
def test_what_pytorch_calls_a_function_leads_to_ours(page, entries):
    ours = {}
    for owner in with_members(entries):
        for peer in (one.strip("~") for one in owner.members.split() if one.endswith("~")):
            ours.setdefault(peer, set()).add(owner.anchor)
    assert "softlookup.attention.attention" in ours["scaled_dot_product_attention"]
    typed = [peer for peer in sorted(ours) if re.search("_|[a-z][A-Z]", peer)]
    assert len(typed) > 50
    anchors = "async (name) => (await bookSearch.find(name)).map(({anchor}) => anchor)"
    shown = {peer: page.evaluate(anchors, f"nn.{peer}")[:6] for peer in typed}
    known = {one.title for one in entries["entries"] if one.kind == "function"}
    missed = [
        peer for peer, found in shown.items() if peer not in known and not ours[peer] & set(found)
    ]
    assert missed == []


@pytest.mark.browser
@pytest.mark.parametrize("name", ["nn.CrossEntropyLoss", "CosineAnnealingLR", "LambdaLR"])
def test_a_name_that_the_book_does_not_know_is_read_as_its_words(page, name):
    assert page.evaluate("async (name) => (await bookSearch.find(name)).length", name) > 0


@pytest.mark.browser
@pytest.mark.parametrize("query", ["", " ", "!?", "zzzzqqq", "the", "\\", "<b>x</b>", "𝒱 ∈ ℝ"])
def test_any_question_has_an_answer_or_none(page, query):
    assert isinstance(page.evaluate(FIND, query), list)


@pytest.mark.browser
def test_the_search_weighs_little_and_nothing_before_its_use(site, browser):
    files = ["search-entries.js", "minisearch/minisearch.js"]
    sizes = [len(gzip.compress((site / "_static" / name).read_bytes())) for name in files]
    assert sum(sizes) <= LARGEST, sizes
    with watched(browser) as (page, _, loaded):
        open_page(page, site / "intro.html")
        late = {"search-find.js", *(Path(name).name for name in files)}
        assert not [path for path in loaded if path.name in late]
        page.keyboard.press("/")
        page.keyboard.type("attention")
        page.wait_for_selector(".bk-found")
        assert late <= {path.name for path in loaded}


@pytest.mark.browser
@pytest.mark.parametrize("key", ["/", "Control+k", "Meta+k"])
def test_a_key_opens_the_dialog_escape_closes_it_and_the_focus_is_back(page, key):
    link = page.locator(".bk-contents a").first
    link.focus()
    page.keyboard.press(key)
    page.keyboard.type("softmax")
    page.wait_for_selector(".bk-found")
    assert page.evaluate("document.activeElement.id") == "bk-dialog-words"
    page.keyboard.press("Escape")
    assert not page.locator(".bk-dialog").is_visible()
    assert link.evaluate("(one) => one === document.activeElement")


@pytest.mark.browser
def test_a_slash_that_is_typed_into_a_field_stays_there(browser, site):
    with watched(browser) as (page, _, _loaded):
        open_page(page, site / "chapters" / "slides_under_test.html")
        page.evaluate(
            "() => document.querySelector('article').append(document.createElement('input'))"
        )
        page.locator("article > input").focus()
        page.keyboard.type("a/b")
        assert page.locator("article > input").input_value() == "a/b"
        assert page.locator(".bk-dialog").count() == 0


@pytest.mark.browser
def test_arrow_keys_walk_through_the_results_and_enter_opens_one(page):
    page.keyboard.press("/")
    page.keyboard.type("perplexity")
    page.wait_for_selector(".bk-found >> nth=3")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    second = page.locator(".bk-found a").nth(1)
    assert second.evaluate("(one) => one === document.activeElement")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "bk-dialog-words"
    target = second.get_attribute("href").rpartition("/")[2]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{target}")
    assert "erplexity" in page.locator("article").inner_text()


@pytest.mark.browser
def test_a_result_says_what_it_is_where_it_stands_and_marks_the_words(page):
    page.keyboard.press("/")
    page.keyboard.type("residual connection")
    page.wait_for_selector(".bk-found")
    shown = page.evaluate(RESULTS)
    assert "Glossary" in shown[0]
    number = registry.by_name()["block"].number
    assert any(re.search(rf"Section\n{number}\u2002The Transformer block", text) for text in shown)
    marks = page.locator(".bk-found mark").all_inner_texts()
    assert {"residual", "connection"} <= {word.lower() for word in marks}
    assert page.locator("[role=status].bk-found-count").inner_text().endswith("places")


@pytest.mark.browser
def test_a_section_that_a_slide_calls_otherwise_says_what_the_slide_calls_it(page):
    page.keyboard.press("/")
    page.keyboard.type("transformer decoder masked multi-head attention")
    page.wait_for_selector(".bk-found")
    told = [text for text in page.evaluate(RESULTS) if "In the lectures: " in text]
    assert told
    assert all("Section" in text or "Slide under test" in text for text in told)


@pytest.mark.browser
def test_what_is_typed_into_the_sidebar_goes_on_in_the_dialog(page):
    page.get_by_label("Search the book").first.click()
    page.keyboard.type("beam")
    page.wait_for_selector(".bk-found")
    assert page.locator("#bk-dialog-words").input_value() == "beam"
    page.keyboard.press("Enter")
    page.wait_for_url("**/*.html#*beam*")


@pytest.mark.browser
def test_nothing_found_is_said(page):
    page.keyboard.press("/")
    page.keyboard.type("zzzzqqq")
    page.wait_for_function(
        "document.querySelector('.bk-found-count').innerText.includes('zzzzqqq')"
    )
    assert page.locator(".bk-found").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_dialog_and_page_are_sound(browser, site, width, mode):
    with watched(browser, viewport={"width": width, "height": 800}, color_scheme=mode) as (
        page,
        faults,
        _,
    ):
        open_page(page, site / "chapters" / "notation.html")
        if width == 390:
            page.locator("[data-search]").click()
        else:
            page.keyboard.press("Control+k")
        page.keyboard.type("attention is a soft lookup")
        page.wait_for_selector(".bk-found")
        assert [*scroll_faults(page), *axe_faults(page), *focus_faults(page, 4)] == []
        box = page.locator(".bk-dialog").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        open_page(page, site / "search.html", "?q=soft%20lookup")
        page.wait_for_selector(".bk-found")
        assert [*scroll_faults(page), *axe_faults(page)] == []
        assert not faults


@pytest.mark.browser
def test_the_page_of_the_search_keeps_the_question_in_its_address(browser, site):
    with watched(browser) as (page, faults, _):
        open_page(page, site / "search.html", "?q=softmax")
        page.wait_for_selector(".bk-found")
        assert page.locator("#bk-search-words").input_value() == "softmax"
        page.locator("#bk-search-words").fill("beam search")
        page.wait_for_url("**/search.html?q=beam+search")
        page.wait_for_function(f"{RESULTS}.some((text) => text.includes('Beam search'))")
        assert not faults


@pytest.mark.browser
def test_every_address_leads_somewhere(entries, site):
    missing, ids = [], {}
    members = [
        (owner.page, f"{owner.anchor}.{one.strip('.()')}", owner.title)
        for owner in with_members(entries)
        for one in re.findall(r"\w+\(\)|\.\w+", owner.members)
    ]
    assert len(members) > 100
    places = [(one.page, one.anchor, one.title) for one in entries["entries"]]
    for page, anchor, title in places + members:
        name = entries["pages"][page][0]
        if name not in ids:
            html = (site / f"{name}.html").read_text(encoding="utf-8")
            ids[name] = set(re.findall(r'\bid="([^"]+)"', html)) | {""}
        if anchor not in ids[name]:
            missing.append(f"{name}#{anchor} ({title})")
    assert missing == []


def test_every_page_of_text_is_there(entries):
    there = {entries["pages"][one.page][0] for one in entries["entries"]}
    lists = ("lecture_map", "references")
    expected = {page.docname for page in registry.pages() if page.name not in lists}
    assert there == expected


def test_a_long_text_keeps_its_first_sentences_and_its_other_words():
    text = "One two. " + "Three four. " * 60 + "A rare word, and a rare one: zebra."
    first, rest = search.shorter(text, {"a", "and"})
    assert text.startswith(first)
    assert first.endswith(".")
    assert rest == "rare word zebra"
    assert search.shorter("Short.", set()) == ("Short.", "")


@pytest.mark.parametrize(
    ("tex", "read"),
    [
        (r"\sqrt{d_k}", "sqrt(d_k)"),
        (r"\operatorname{softmax}(QK^\top)V", "softmax(QK^⊤)V"),
        (r"\gamma \odot x + \epsilon", "γ ⊙ x + ε"),
        (r"\mathcal{V} \in \unknown", "V ∈ unknown"),
        (r"P(\text{car}\mid y)", "P(car | y)"),
        (r"\log\frac{N}{N_j+1}", "log N/(N_j+1)"),
        (r"\lvert x - \hat{x}\rvert^{2i/d}", "|x - x\u0302|^(2i/d)"),
        (r"\frac{\partial L}{\partial W_{hh}}", "(∂L)/(∂W_hh)"),
        (r"\begin{pmatrix}3&0\\4&5\end{pmatrix}", "(3 0; 4 5)"),
        (r"\lfloor t/2^j\rfloor \bmod 2", "⌊t/2^j⌋ mod 2"),
    ],
)
def test_formulas_are_read_without_commands(tex, read):
    line = nodes.paragraph("", "", nodes.Text("by "), nodes.math("", tex))
    assert search.words_of(nodes.section("", line)) == f"by {read}"


def test_no_formula_of_the_book_shows_a_command():
    texts = [page.markdown() for page in registry.pages()]
    texts += reference_ledger.public_names().values()
    texts = [re.sub(r"(`{1,3}).*?\1", "", text, flags=re.DOTALL) for text in texts]  # no code
    formulas = {one for text in texts for one in re.findall(r"(?<![\\$])\$([^$]+)\$(?!\$)", text)}
    assert len(formulas) > 1000
    used = {name for tex in formulas for name in re.findall(r"\\([A-Za-z]+)", tex)}
    assert {name for name in used if not plain_tex.known(name)} == set()
    left = [tex for tex in formulas if "\\{" not in tex and set("{}\\") & set(plain_tex.read(tex))]
    assert left == []


@pytest.mark.browser
def test_before_a_word_is_typed_the_dialog_leads_to_the_lists(page):
    page.keyboard.press("/")
    links = page.locator(".bk-dialog .bk-lists a")
    found = links.evaluate_all("(all) => all.map((one) => one.getAttribute('href'))")
    names = ["lecture_map", "glossary", "library"]
    assert [href.split("/")[-1] for href in found] == [f"{name}.html" for name in names]
    page.keyboard.type("softmax")
    page.wait_for_selector(".bk-found")
    assert not links.first.is_visible()
    page.locator("#bk-dialog-words").fill("")
    links.nth(1).click()
    page.wait_for_url("**/glossary.html")


def test_each_group_of_synonyms_has_two_different_ones_and_none_stands_twice():
    groups = yaml.safe_load((ROOT / "_ext/book_site/synonyms.yml").read_text(encoding="utf-8"))
    assert all(len(set(group)) == len(group) >= 2 for group in groups)
    words = [word for group in groups for word in group]
    assert sorted(set(words)) == sorted(words)
