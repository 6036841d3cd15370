"""What the site's extension does to a page's HTML: signs that HTML needs escaped stay escaped."""

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
