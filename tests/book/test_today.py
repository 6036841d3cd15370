"""What differs between two builds of the site is listed, and nothing else."""

import pytest

from today import differences, exported

PAGE = "<html><body><article>{}</article></body></html>"
STOCK = '<h1>Masks</h1><p>Text <a href="b.html">on</a></p><figure>One</figure><pre>x = 1</pre>'


@pytest.fixture
def compared(tmp_path):
    """Compares a page of today, or none, with the stock page."""

    def compare(today):
        sites = [tmp_path / name for name in ("stock", "today")]
        for site, text in zip(sites, (STOCK, today), strict=True):
            site.mkdir()
            if text is not None:
                (site / "a.html").write_text(PAGE.format(text))
        return list(differences(*sites))

    return compare


def test_the_same_page_does_not_differ(compared):
    today = STOCK.replace("<p>", '<p class="new">\n ')
    assert compared(today.replace("</h1>", '<a class="headerlink" href="#masks"></a></h1>')) == []


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("Masks", "Mask", ["- heading: Masks", "+ heading: Mask"]),
        ("<h1>", "<h1 id='masks'>", ["+ place: masks"]),
        ("b.html", "c.html", ["- link: on → b.html", "+ link: on → c.html"]),
        ("<figure>One</figure>", "", ["- figure: One"]),
        ("<pre>x = 1</pre>", "<pre>x = 1</pre>" * 3, ["+ code: x = 1 (2 times)"]),
        ("Text", "Text <span class='math big'>x</span>", ["+ formula: x"]),
    ],
)
def test_what_differs_is_named(compared, old, new, lines):
    assert compared(STOCK.replace(old, new)) == [f"a.html: {line}" for line in lines]


def test_a_page_that_is_missing_is_named(compared):
    assert compared(None) == ["a.html: no such page today"]


def test_the_exported_configuration_does_without_jupyter_book():
    conf = "extensions = ['myst_nb', 'jupyter_book', 'sphinx_design']"
    assert exported(conf) == "extensions = ['myst_nb', 'sphinx_design']"
    with pytest.raises(ValueError, match="must name the extension jupyter_book"):
        exported("extensions = ['myst_nb']")
