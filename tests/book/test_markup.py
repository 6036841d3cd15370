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
