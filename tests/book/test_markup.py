"""What the site's extension does to a page's HTML: signs that HTML needs escaped stay escaped."""

import re

import pytest

from book_site.markup import mend


@pytest.mark.parametrize(
    "html",
    [
        "<p>gets that of <code>&lt;unk&gt;</code>, <em>unknown</em></p>",
        "<p>F &amp; G, a &lt; b, “é”</p>",
        '<p><img alt="x &amp; &lt;y&gt;" src="a?b&amp;c"/></p>',
        "<pre>a < b & c</pre>",
    ],
)
def test_what_was_escaped_stays_escaped(html):
    assert mend(html) == html


def test_a_long_line_of_code_hangs_below_its_beginning():
    long = f'    <span class="n">{"a" * 50}</span> &lt; {"b" * 20}'
    page = mend(f"<div><pre><span></span>def f():\n{long}\n\n    pass\n</pre></div>")
    hung = f'<span class="bk-line" style="--in:4ch">{long}</span>'
    assert page == f"<div><pre><span></span>def f():\n{hung}\n\n    pass\n</pre></div>"


def test_an_empty_corner_of_a_table_is_no_head():
    row = "<tr>{}<th>Q</th></tr>"
    page = f"<div><table><thead>{row.format('<th><p></p></th>')}</thead></table></div>"
    assert row.format("<td><p></p></td>") in mend(page)
    picture = '<th><img alt="a key" src="a.png"/></th>'
    assert picture in mend(f"<table><thead><tr>{picture}</tr></thead></table>")


def test_no_two_exercises_have_one_id():
    exercise = (
        '<div class="exercise" id="{}"><section id="exercise-content"><p>x</p></section></div>'
    )
    page = mend(exercise.format("ex-a") + exercise.format("ex-b"))
    assert re.findall(r'\bid="([^"]+)"', page) == ["ex-a", "ex-b"]


def test_a_signature_is_written_without_a_span_for_each_word():
    """The spans that Sphinx puts round words and signs go; the text and its links stay."""
    word = '<span class="pre">{}</span>'.format
    link = f'<a class="reference" href="#t">{word("Tensor")}</a>'
    named = f'<span class="sig-name descname">{word("f")}</span><span class="sig-paren">(</span>'
    name, colon = f'<span class="n">{word("x")}</span>', f'<span class="p">{word(":")}</span>'
    kind = f'<span class="w"> </span><span class="n">{link}</span>'
    argument = f'<em class="sig-param">{name}{colon}{kind}</em>'
    page = mend(f'<dl><dt class="sig">{named}<dl><dd>{argument},</dd></dl></dt></dl>')
    assert '<span>x: <a class="reference" href="#t">Tensor</a>,</span>' in page
    assert 'class="sig-name descname">f</span><span class="sig-paren">(</span>' in page
    assert word("f") not in page
    assert word("g") in mend(f"<p><code>{word('g')}</code></p>")


def test_a_formula_in_an_answer_is_set_and_code_stays():
    told = "Not “about $10^{-8}$”: it is $x$, <code>$x$</code>"
    page = mend(f'<details class="sl-reveal"><ul><li>{told}</li></ul></details>')
    assert re.findall(r"\\\(.*?\\\)", page) == [r"\(10^{-8}\)", r"\(x\)"]
    assert page.count('class="math notranslate nohighlight"') == page.count("<noscript>") == 2
    assert "<code>$x$</code>" in page
    assert "$x$" in mend("<p>$x$</p>")  # the text's own formulas are Sphinx's


@pytest.mark.parametrize(
    ("item", "read"),
    [
        ("Ba and Hinton, 2016 [C]: a norm.", "<a>Ba and Hinton, 2016</a>: a norm."),
        ("Ba et al., 2016a [C]: x.", "<a>Ba et al., 2016a</a>: x."),
        ("Ba, 1964 [C], and Hu, 1964 [D]: x.", "<a>Ba, 1964</a>, and <a>Hu, 1964</a>: x."),
        ("Ba, 2018 [C]: one. Hu, 2022 [D]: two.", "<a>Ba, 2018</a>: one. <a>Hu, 2022</a>: two."),
        ("Ba, 2016 [C]: beside Hu's [D].", "<a>Ba, 2016</a>: beside Hu's [<a>key</a>]."),
        ("The books [C]: no year.", "The books [<a>key</a>]: no year."),
    ],
)
def test_a_list_of_references_names_each_work_once(item, read):
    cite = '<span class="bibtex-citation">[<a>key</a>]</span>'
    html = re.sub(r"\[[CD]\]", cite, item)
    page = mend(f'<section id="references"><ul><li>{html}</li></ul></section>')
    shown = re.sub(r"</?span[^>]*>", "", page)
    assert shown == f'<section id="references"><ul><li>{read}</li></ul></section>'
