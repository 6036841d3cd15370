"""What a chapter shows: figures, tables, sources, interactive figures, the session."""

import io
import random
import re
from pathlib import Path

import ipywidgets
import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from softlookup.attention import Attention, attention_weights
from softlookup.show import (
    Interactive,
    bars,
    format_number,
    heatmap,
    setup,
    show_figure,
    show_source,
    show_table,
)
from softlookup.show import figure as figures
from softlookup.show import source as sources
from softlookup.show import table as tables
from softlookup.show.draw import ink_on
from softlookup.show.source import source_of
from softlookup.show.style import BLUE, COLOURS, CSS_COLOURS, INK, SIGNED, STRONG, TEXT
from softlookup.show.svg import FigureCanvas, load_fonts

FONTS = Path(figures.__file__).parent / "fonts"
ALT = "The line rises to three."


@pytest.fixture(autouse=True)
def session():
    """As in every chapter: the style is set first."""
    setup(0)


def drawn():
    """A small figure."""
    _, ax = plt.subplots()
    ax.plot([1, 2, 3], color=BLUE)
    ax.set_title("A title")
    return ax.figure


@pytest.fixture
def shown(monkeypatch):
    """What display() was given, in order."""
    bundles = []

    def keep(bundle, raw):
        assert raw
        bundles.append(bundle)

    for module in (figures, tables, sources):
        monkeypatch.setattr(module, "display", keep)
    return bundles


def test_two_sessions_draw_the_same_numbers_and_another_seed_others():
    def draws(seed):
        setup(seed)
        return random.random(), np.random.rand(), torch.rand(3).tolist()

    assert draws(5) == draws(5)
    assert all(a != b for a, b in zip(draws(5), draws(6), strict=True))


def test_setup_fixes_threads_algorithms_and_the_number_format():
    setup(1)
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled()
    assert repr(torch.tensor([1 / 3])) == "tensor([0.3333])"
    assert repr(np.array([1 / 3])) == "array([0.3333])"
    assert matplotlib.rcParams["axes.prop_cycle"].by_key()["color"] == list(COLOURS)


@pytest.mark.parametrize("seed", [-1, 1.5, "two", True])
@pytest.mark.bad_input
def test_setup_refuses_a_seed_that_is_none(seed):
    with pytest.raises(ValueError, match="seed must be an integer of at least 0; got seed="):
        setup(seed)


def test_a_figure_takes_its_colours_from_the_page_and_says_what_it_shows(shown):
    show_figure(drawn(), alt=ALT, caption="A line.", name="fig-a-line")
    page = shown[0]["text/html"]
    assert shown[0]["text/plain"] == f"Figure: {ALT}"
    assert 'id="fig-a-line"' in page
    assert f'aria-label="{ALT}"' in page
    assert "<figcaption>A line.</figcaption>" in page
    assert CSS_COLOURS[BLUE] in page
    assert "currentColor" in page
    assert INK not in page
    assert not re.search(r"<(script|style|metadata)|<!--|http://(?!www\.w3)", page)
    assert plt.get_fignums() == []


def test_a_figure_is_the_same_text_twice_and_shares_no_id_with_another(shown):
    for _ in range(2):
        show_figure(drawn(), alt=ALT, caption="A line.", name="fig-a-line")
    assert shown[0] == shown[1]
    other = drawn()
    other.axes[0].set_title("Another")
    show_figure(other, alt=ALT, caption="A line.", name="fig-another")
    first, second = (set(re.findall(r' id="([^"]+)"', shown[k]["text/html"])) for k in (0, 2))
    assert first
    assert not first & second
    for page, ids in ((shown[0], first), (shown[2], second)):
        used = set(re.findall(r'(?:url\(|href=")#([^")]+)', page["text/html"]))
        assert used <= ids


def test_words_are_text_with_their_length_and_formulas_are_outlines(shown):
    figure = drawn()
    figure.axes[0].set(title="Loss, in nats", xlabel=r"steps $\sqrt{d_k}$")
    figure.axes[0].text(0, 1, "tall", rotation=90, weight="bold", family="monospace", alpha=0.5)
    show_figure(figure, alt=ALT, caption="A line.", name="fig-a-line")
    texts = re.findall(r"<text ([^>]*)>([^<]*)</text>", shown[0]["text/html"])
    attributes = {words: dict(re.findall(r'([\w-]+)="([^"]*)"', rest)) for rest, words in texts}
    assert "Loss, in nats" in attributes
    assert not any("steps" in words or "$" in words for words in attributes)
    title = attributes["Loss, in nats"]
    assert title["fill"] == "currentColor"
    measured = FT2Font(str(FONTS / "sans-regular.ttf"))
    measured.set_size(float(title["font-size"]), 72)
    measured.set_text("Loss, in nats", 0)
    assert float(title["textLength"]) == pytest.approx(measured.get_width_height()[0] / 64, abs=1)
    tall = attributes["tall"]
    assert tall["font-weight"] == "600"
    assert "--sl-mono" in tall["style"]
    assert tall["opacity"] == "0.5"
    assert tall["transform"].startswith("rotate(-90 ")


def test_the_fonts_of_the_book_come_with_the_library():
    load_fonts()
    wanted = {"Soft Lookup Sans", "Soft Lookup Serif", "Soft Lookup Mono"}
    assert wanted <= set(font_manager.get_font_names())
    assert "SIL OPEN FONT LICENSE" in (FONTS / "OFL.txt").read_text(encoding="utf-8")


def test_the_canvas_writes_words_as_text():
    file = io.StringIO()
    FigureCanvas(drawn()).print_svg(file)
    assert re.search(r'<text x=[^>]* textLength="[\d.]+"[^>]*>A title</text>', file.getvalue())


@pytest.mark.parametrize(
    ("drawn_as", "width", "pixels"),
    [
        (5.2, None, 568),
        (TEXT, None, 568),
        (4.4, None, 422),
        (6.4, None, 568),
        (7.6, None, 800),
        (9.2, None, 800),
        (3, "text", 568),
        (3, "column", 800),
        (3, "margin", 200),
    ],
)
def test_a_figure_is_as_wide_as_text_or_column(shown, drawn_as, width, pixels):
    figure = drawn()
    figure.set_figwidth(drawn_as)
    show_figure(figure, alt=ALT, caption="A line.", name="fig-a-line", width=width)
    page = shown[0]["text/html"]
    assert f'style="width: {pixels}px;' in page
    drawn_pixels = float(re.search(r'viewBox="0 0 ([\d.]+) ', page)[1]) * 96 / 72
    assert drawn_pixels == pytest.approx(pixels, abs=1)
    assert ("sl-margin" in page) == (width == "margin")


def test_show_figure_refuses_a_width_that_it_does_not_know():
    rule = "width must be one of 'text', 'column', 'margin'; got width='wide'"
    with pytest.raises(ValueError, match=rule):
        show_figure(drawn(), alt=ALT, caption="A line.", name="fig-a-line", width="wide")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"alt": ""}, "alt must tell the finding in words; got alt=''"),
        ({"alt": "a line"}, "alt must tell the finding in words"),
        ({"alt": "my nice plot.png"}, "alt must be words, not a file name"),
        ({"caption": " "}, "caption must not be empty"),
        ({"caption": ALT}, "alt must not only repeat the caption"),
        ({"name": "line"}, "name must be 'fig-' and lower-case words"),
        ({"name": "fig-A line"}, "name must be 'fig-' and lower-case words"),
    ],
)
def test_show_figure_refuses_texts_that_serve_nobody(texts, message):
    good = {"alt": ALT, "caption": "A line.", "name": "fig-a-line"}
    figure = drawn()
    with pytest.raises(ValueError, match=re.escape(message)):
        show_figure(figure, **good | texts)
    plt.close(figure)


def test_a_table_names_its_rows_and_columns_for_eye_and_ear(shown):
    values = torch.tensor([[2.0, 0.30103], [-1.0, 1e-9]])
    show_table(
        values, rows=["not", "Yet<"], columns=["TF", "IDF"], caption="Weights", corner="word"
    )
    page, text = shown[0]["text/html"], shown[0]["text/plain"]
    assert '<th scope="row">not</th><td>2</td><td>0.301</td>' in page
    assert "<td>−1</td>" in page
    assert "Yet&lt;" in page
    assert page.count('scope="col"') == 3
    assert text.splitlines() == ["word  TF    IDF", "not    2  0.301", "Yet<  -1  1e-09"]


@pytest.mark.parametrize(
    ("cell", "stands_right"),
    [
        *((number, True) for number in ("16,384", "1,048,576.5", "−0.03", "+2", "1e-09", "7")),
        *((amount, True) for amount in ("97%", "2.5×", "4,608 KiB", "65 million", "79–81%")),
        *((words, False) for words in ("few", "", "12 of 12", "0.1 to 0.3", "70, 68, 91", "4 × 6")),
        *((words, False) for words in ("[0, 1]", "15% of the tokens", "1,07", "8 heads", "—")),
    ],
)
def test_a_number_stands_on_the_right_however_it_is_written(shown, cell, stands_right):
    """In one column 770 and "3,076" must be comparable by eye."""
    show_table([[cell]], rows=["a"], columns=["x"], caption="Sizes")
    assert ('class="sl-word"' not in shown[0]["text/html"]) == stands_right


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rows": ["a", "b", "c"]}, "values must have one row per row name; got values=2, rows=3"),
        ({"columns": ["x"]}, "row 'a' must have one value per column; got values=2, columns=1"),
        ({"caption": ""}, "caption must not be empty"),
    ],
)
def test_show_table_refuses_names_that_do_not_fit(changed, message):
    good = {"rows": ["a", "b"], "columns": ["x", "y"], "caption": "Weights"}
    with pytest.raises(ValueError, match=re.escape(message)):
        show_table([[1, 2], [3, 4]], **good | changed)


def test_numbers_have_four_digits_and_whole_ones_no_point():
    assert format_number(0.30103) == "0.301"
    assert format_number(0.8450999) == "0.8451"
    assert format_number(torch.tensor(2.0)) == "2"
    assert format_number(float("nan")) == "nan"
    assert format_number(-float("inf")) == "-inf"
    assert format_number(7) == "7"
    assert format_number("not") == "not"
    with pytest.raises(ValueError, match="digits must be an integer of at least 1; got digits=0"):
        format_number(0.5, 0)


def test_source_is_the_librarys_own_with_short_docstrings():
    source = source_of(attention_weights)
    path, door, head, *_ = source.split("\n")
    assert path == "# softlookup.attention.dot_product"
    assert door.startswith("@checked")
    assert head == "def attention_weights("
    assert "Args:" not in source
    assert "Example" not in source
    compile(source, "shown", "exec")
    compile(source_of(Attention), "shown", "exec")
    assert source_of(Attention).count('"""') % 2 == 0


def test_show_source_shows_highlighted_python(shown):
    show_source(attention_weights, Attention)
    assert shown[0]["text/markdown"].count("```python\n") == 2


@pytest.mark.parametrize("thing", [len, torch.nn.Linear, 3, "attention"])
@pytest.mark.bad_input
def test_show_source_refuses_what_is_not_of_the_library(thing):
    with pytest.raises(ValueError, match="show_source shows functions and classes of softlookup"):
        show_source(thing)


def test_heatmap_puts_row_0_on_top_and_writes_each_number():
    _, ax = plt.subplots()
    values = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    assert heatmap(ax, values, rows=["q0", "q1"], columns=["k0", "k1"]) is ax
    assert ax.yaxis_inverted()
    assert [text.get_text() for text in ax.texts] == ["0.25", "0.75", "1.00", "0.00"]
    assert ax.collections[0].get_clim() == (0.0, 1.0)
    plt.close(ax.figure)


def test_a_heatmaps_masked_cells_are_empty_and_their_infinities_legible():
    _, ax = plt.subplots()
    values = torch.tensor([[1.0, float("-inf")]])
    heatmap(ax, values, rows=["a"], columns=["b", "c"], scale="signed")
    infinity = ax.texts[1]
    assert infinity.get_text() == "−∞"
    assert infinity.get_color() == INK


def test_heatmap_centres_signed_values_on_zero():
    _, ax = plt.subplots()
    values = torch.tensor([[-3.0, 1.5, -torch.inf]])
    heatmap(ax, values, rows=["q"], columns=["a", "b", "c"], scale="signed")
    assert ax.collections[0].get_clim() == (-3.0, 3.0)
    assert [text.get_text() for text in ax.texts] == ["−3.00", "1.50", "−∞"]
    plt.close(ax.figure)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rows": ["a"]}, "one row per row name and one column per column name; got values=(2, 2)"),
        ({"scale": "loud"}, "scale must be one of 'weights', 'signed', 'counts'; got scale='loud'"),
    ],
)
def test_heatmap_refuses_names_that_do_not_fit(changed, message):
    figure, ax = plt.subplots()
    good = {"rows": ["a", "b"], "columns": ["x", "y"]}
    with pytest.raises(ValueError, match=re.escape(message)):
        heatmap(ax, torch.eye(2), **good | changed)
    plt.close(figure)


def test_bars_writes_each_number_and_refuses_a_missing_label():
    figure, ax = plt.subplots()
    assert bars(ax, [0.5, -2.0], ["a", "b"]) is ax
    assert [text.get_text() for text in ax.texts] == ["0.5", "-2"]
    with pytest.raises(ValueError, match="bars needs one label per value"):
        bars(ax, [0.5, 2.0], ["a"])
    plt.close(figure)


class Echo(Interactive):
    """The smallest interactive figure: it writes its data into the page."""

    def __init__(self, data, **changed):
        texts = {"name": "fig-echo", "alt": "It says what it was given.", "caption": "Echo."}
        super().__init__(data=data, **texts | changed)

    def live(self):
        """A view for a kernel."""
        return ipywidgets.HTML("live")


@pytest.fixture
def echo_folder(monkeypatch, tmp_path):
    """The figure's files, in a folder of the test's own."""
    script = 'import { say } from "./words.js";\n\nexport const mount = (root) => say(root);\n'
    (tmp_path / "figure.js").write_text(script)
    (tmp_path / "words.js").write_text("export function say() {}\n")
    (tmp_path / "style.css").write_text(".ec-echo { color: red; }\n")
    monkeypatch.setattr(Echo, "folder", lambda self: tmp_path)


def test_an_interactive_figure_holds_all_it_needs(echo_folder):
    page = Echo({"text": "</script><b>"}).html()
    assert "import {" not in page
    assert ".sl-button {" in page
    assert page.index(".sl-button {") < page.index(".ec-echo {")
    assert page.count("</script>") == 1
    assert page.index("function say(") < page.index("const mount =")
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert page == Echo({"text": "</script><b>"}).html()
    key = re.compile(r'data-sl="([\w-]+)"')
    assert key.search(page)[1] != key.search(Echo({"text": "other"}).html())[1]


def test_an_interactive_figure_is_live_where_there_is_a_kernel(echo_folder, monkeypatch):
    view = "application/vnd.jupyter.widget-view+json"
    monkeypatch.delenv("SOFTLOOKUP_STATIC", raising=False)
    bundle = Echo({})._repr_mimebundle_()
    assert view in bundle
    assert "text/html" in bundle
    monkeypatch.setenv("SOFTLOOKUP_STATIC", "1")
    assert view not in Echo({})._repr_mimebundle_()


def test_a_live_figure_asks_its_widget_for_nothing_that_ipywidgets_7_lacks(
    echo_folder, monkeypatch
):
    monkeypatch.delenv("SOFTLOOKUP_STATIC", raising=False)
    monkeypatch.delattr(ipywidgets.Widget, "_repr_mimebundle_")
    figure, widget = Echo({}), ipywidgets.HTML("live")
    monkeypatch.setattr(figure, "live", lambda: widget)
    bundle = figure._repr_mimebundle_()
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    assert bundle.pop("application/vnd.jupyter.widget-view+json") == view
    assert set(bundle) == {"text/html", "text/plain"}


def test_an_interactive_figure_refuses_nan_and_empty_texts():
    with pytest.raises(ValueError, match="Out of range float values"):
        Echo({"x": float("nan")})
    with pytest.raises(ValueError, match="alt must tell the finding in words"):
        Echo({}, alt="")


def test_panels_that_share_an_axis_all_have_row_0_on_top():
    _, axes = plt.subplots(1, 2, sharey=True)
    for ax in axes:
        heatmap(ax, torch.tensor([[-0.0, -1e-9], [0.5, 1.0]]), rows=["a", "b"], columns=["x", "y"])
        assert ax.yaxis_inverted()
        assert [text.get_text() for text in ax.texts] == ["0.00", "0.00", "0.50", "1.00"]
    _, axes = plt.subplots(1, 2, sharey=True)
    assert all(bars(ax, [1.0, 2.0], ["a", "b"]).yaxis_inverted() for ax in axes)
    plt.close("all")


def contrast(one, other):
    """How many times the light of one colour is that of the other, as WCAG counts."""

    def luminance(colour):
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_ink_on_any_share_has_a_contrast_of_4_5():
    for shade in matplotlib.colormaps["cividis"](np.linspace(0, 1, 101)):
        colour = matplotlib.colors.to_hex(shade)
        assert contrast(colour, ink_on(colour)) >= 4.5


@pytest.mark.parametrize(("page", "strong"), [("#fdfcf9", "#000000"), ("#15171a", "#ffffff")])
def test_numbers_on_signed_colours_have_a_contrast_of_4_5_in_light_and_in_dark(page, strong):
    values = torch.linspace(-1, 1, 201)[None]
    ax = plt.subplots()[1]
    heatmap(ax, values, rows=["a"], columns=[""] * 201, scale="signed", digits=1)
    shades = SIGNED((values[0].numpy() + 1) / 2)
    below = np.array(matplotlib.colors.to_rgb(page))
    for text, (*colour, alpha) in zip(ax.texts, shades, strict=True):
        shown = matplotlib.colors.to_hex(alpha * np.array(colour) + (1 - alpha) * below)
        ink = strong if text.get_color() == STRONG else text.get_color()
        assert contrast(shown, ink) >= 4.5
    plt.close("all")


def test_a_signed_heatmap_lets_the_page_through_where_it_is_zero():
    ax = plt.subplots()[1]
    heatmap(ax, torch.tensor([[0.0, 1.0]]), rows=["a"], columns=["x", "y"], scale="signed")
    page = figures.svg_of(ax.figure, "Zero is clear")
    cells = re.findall(r'style="(fill: [^;"]*); stroke: var\(--sl-line', page)
    assert cells == ["fill: none", f"fill: {matplotlib.colors.to_hex(SIGNED(1.0))}"]
    plt.close("all")
