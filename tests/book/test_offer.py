"""The site offers what was made on paper and as e-books, and nothing else."""

from types import SimpleNamespace
from zipfile import ZipFile

import pytest
import yaml
from conftest import ROOT
from lxml import html as pages

import epub
import registry
from book_site import stills
from offer import offer

FIGURE = '<figure class="sl-figure sl-interactive" id="{}"><div>{}</div></figure>'
FRONT = '<section id="three-ways-to-read"><dl>a</dl></section>'


@pytest.fixture
def folders(tmp_path):
    """A site with a front page, and empty folders of PDFs, e-books and photographs."""
    found = [tmp_path / name for name in ("html", "pdf", "epub", "stills")]
    for folder in found:
        folder.mkdir()
    (found[0] / "intro.html").write_text(FRONT)
    return found


def book_of(folder, pages=()):
    """An e-book of these pages, with pictures of one byte."""
    with ZipFile(folder / "soft-lookup.epub", "w") as book:
        for name, text in dict(pages).items():
            book.writestr(f"EPUB/{name}.xhtml", text)
        for k in (1, 2):
            book.writestr(f"EPUB/pictures/attention-{k}.png", bytes([k]))


def offered(site):
    """The links of the front page, each of which must lead to a file."""
    links = pages.fromstring((site / "intro.html").read_text()).xpath("//a/@href")
    assert all((site / link).exists() for link in links)
    return links


def test_the_site_offers_what_was_made_and_nothing_else(folders):
    site, pdfs, ebooks, _ = folders
    with pytest.raises(FileNotFoundError, match="run `make pdf` or `make epub` first"):
        offer(*folders)
    for name in ("soft-lookup", "attention"):
        (pdfs / f"{name}.pdf").write_bytes(b"%PDF")
    offer(*folders)
    assert offered(site) == ["pdf/soft-lookup.pdf", "pdf/attention.pdf"]
    book_of(ebooks)
    (ebooks / "attention.epub").write_bytes(b"PK")  # a chapter alone is somebody's own
    offer(*folders)
    assert offered(site)[2:] == ["epub/soft-lookup.epub"]
    (ebooks / "soft-lookup-pictures.epub").write_bytes(b"PK")
    offer(*folders)
    assert offered(site)[2:] == ["epub/soft-lookup.epub", "epub/soft-lookup-pictures.epub"]


def test_asked_again_it_says_it_once(folders):
    book_of(folders[2])
    offer(*folders)
    once = (folders[0] / "intro.html").read_text()
    offer(*folders)
    assert (folders[0] / "intro.html").read_text() == once
    assert offered(folders[0]) == ["epub/soft-lookup.epub"]


WORDS = "<noscript>Words{0}</noscript><script>code of {0}</script>"


def taken(folders):
    """A page of three figures, of which an e-book has photographed two."""
    site, _, ebooks, kept = folders
    shot = '<img src="pictures/attention-{}.png" alt="Its &quot;words&quot;" style="width: 9px;"/>'
    told = FIGURE.format("attention--fig-a", shot.format(1)) + FIGURE.format(
        "attention--fig-b", shot.format(2)
    )
    still = '<figure class="sl-figure" id="attention--fig-c"><svg></svg></figure>'
    book_of(ebooks, {"attention": still + told})
    page = site / f"{registry.by_name()['attention'].docname}.html"
    page.parent.mkdir()
    page.write_text("".join(FIGURE.format(f"fig-{name}", WORDS.format(name)) for name in "cab"))
    epub.keep_photographs(ebooks / "soft-lookup.epub", site, kept)
    return page


def silent(html):
    """What each figure says without a script: words, or None for a picture."""
    return [one.text for one in pages.fromstring(html).iter("noscript")]


def test_without_a_script_a_figure_that_moves_is_its_photograph(folders):
    page = taken(folders)
    for _ in range(2):
        offer(*folders)
        found = pages.fromstring(page.read_text())
        assert silent(page.read_text()) == ["Wordsc", None, None]
        for picture, name, byte in zip(found.iter("img"), "ab", (1, 2), strict=True):
            assert picture.getparent().getparent().getparent().get("id") == f"fig-{name}"
            assert picture.get("alt") == 'Its "words"'
            assert picture.get("style") == "width: 9px; max-width: 100%"
            assert (page.parent / picture.get("src")).read_bytes() == bytes([byte])


def test_a_later_build_shows_the_photographs_of_figures_that_are_still_the_same(folders, tmp_path):
    page, kept = taken(folders), folders[3]
    (tmp_path / "again" / "chapters").mkdir(parents=True)
    again = tmp_path / "again"
    docname = registry.by_name()["attention"].docname
    html = page.read_text().replace("code of a", "other code")
    shown = stills.shown(html, docname, again, kept)
    assert silent(shown) == ["Wordsc", "Wordsa", None]
    (picture,) = pages.fromstring(shown).iter("img")
    assert (again / docname).parent.joinpath(picture.get("src")).read_bytes() == bytes([2])
    assert stills.shown(shown, docname, again, kept) == shown
    moved = html.replace("Wordsb", "Other words")  # the words themselves, and a caption, may change
    assert silent(stills.shown(moved, docname, again, kept))[2] is None


def test_a_build_shows_what_is_kept(folders, monkeypatch):
    page, (site, _, _, kept) = taken(folders), folders
    monkeypatch.setattr(stills, "KEPT", kept)
    listening = []
    stills.setup(SimpleNamespace(connect=lambda *event, priority: listening.append(event)))
    ((event, show),) = listening
    assert event == "html-page-context"
    context = {"body": page.read_text()}
    app = SimpleNamespace(outdir=str(site))
    show(app, registry.by_name()["attention"].docname, "page.html", context, None)
    assert silent(context["body"]) == ["Wordsc", None, None]
    show(app, "search", "search.html", empty := {}, None)  # a page without a text
    assert empty == {}


def test_of_each_figure_the_last_photograph_is_kept(folders):
    page, (site, _, ebooks, kept) = taken(folders), folders
    assert len([*kept.iterdir()]) == 4
    page.write_text(page.read_text().replace("code of a", "other code"))
    epub.keep_photographs(ebooks / "soft-lookup.epub", site, kept)
    assert len([*kept.iterdir()]) == 4
    assert silent(stills.shown(page.read_text(), "chapters/x", site, kept)) == [
        "Wordsc",
        None,
        None,
    ]


def test_the_site_that_is_published_is_the_one_with_pdfs_ebooks_and_photographs():
    workflow = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["test"]["steps"]
    (upload,) = [step for step in steps if "upload-pages-artifact" in step.get("uses", "")]
    before = [step for step in steps[: steps.index(upload)] if "run" in step]
    assert upload["with"]["path"] == registry.SITE.relative_to(ROOT).as_posix()
    assert before[-1]["if"] == upload["if"]  # wherever a site is uploaded
    lines = before[-1]["run"].splitlines()
    made = [lines.index(line) for line in ("make pdf", "make epub FORMULAS=both")]
    assert max(made) < lines.index(".venv/bin/python _ext/offer.py")
    built = [k for k, line in enumerate(lines) if "make book" in line or "make html" in line]
    assert all(k < min(made) for k in built)  # a site that is built again offers nothing
    assert workflow["jobs"]["publish"]["needs"] == "test"
