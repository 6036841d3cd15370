"""The library's reference: an entry for each public name, as its file and the ledger have it."""

import importlib
import inspect
import re
from functools import cache

import pytest
from bs4 import BeautifulSoup, Tag
from conftest import ROOT
from sphinx.util.inventory import InventoryFile

import reference_ledger as ledger
from book_site import inventories, library

NAMES = list(ledger.public_names())


@cache
def page(site, docname: str) -> BeautifulSoup:
    return BeautifulSoup((site / f"{docname}.html").read_text(encoding="utf-8"), "html.parser")


def entry(site, name: str) -> Tag:
    """The signature and what stands below it."""
    return page(site, library.page_of(name)).find(id=library.import_path(name)).parent


def field(found: Tag, label: str) -> Tag:
    """What stands beside a label of an entry itself, not of one of its methods."""
    own = found.find("dd", recursive=False)
    labels = [one for fields in own.find_all("dl", class_="field-list", recursive=False)
              for one in fields.find_all("dt", recursive=False)]  # fmt: skip
    (told,) = [one for one in labels if one.get_text().strip() == f"{label}:"]
    return told.find_next_sibling("dd")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_imported_from_where_its_entry_says(name):
    path, _, last = library.import_path(name).rpartition(".")
    assert getattr(importlib.import_module(path), last) is ledger.public_things()[name]


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_says_what_it_was_compared_with_and_where_it_is_taught(site, name):
    found = entry(site, name)
    told = field(found, "Compared with").get_text()
    for row in ledger.read()[name]:
        assert row["peer"].removeprefix("through ") in told
        assert f"{row['cases']:,} case" in told
    place = re.search(r"Chapter: ([\w-]+)#([\w-]+)", ledger.public_names()[name])
    if place:
        link = field(found, "Taught in").a["href"]
        assert re.search(rf"(\d\d_)?{place[1]}\.html#{place[2]}$", link)


@pytest.mark.parametrize("name", NAMES)
def test_a_signature_has_all_arguments_as_they_are_written(site, name):
    told = re.sub(r"\s+", " ", entry(site, name).find("dt").get_text())
    thing = ledger.public_things()[name]
    place = 0
    for argument in inspect.signature(thing).parameters.values():
        place = told.index(argument.name, place)  # all of them, in their order
        if isinstance(argument.default, bool):
            assert f"{argument.name}: bool = {argument.default}" in told


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_leads_to_the_lines_of_its_code(site, name):
    thing = inspect.unwrap(ledger.public_things()[name])
    link = field(entry(site, name), "Code").a
    file, first, last = re.search(r"/blob/main/(.+)#L(\d+)-L(\d+)$", link["href"]).groups()
    lines = (ROOT / file).read_text(encoding="utf-8").split("\n")[int(first) - 1 : int(last)]
    assert "\n".join(lines).rstrip() == inspect.getsource(thing).rstrip()
    assert link.get_text() == f"{file}, line {first}"


def test_what_it_is_compared_with_leads_to_the_documentation_of_pytorch_and_numpy(site):
    peers = {row["peer"] for name in NAMES for row in ledger.read()[name]}
    theirs = {peer for peer in peers if peer.startswith(("torch.", "numpy."))}
    assert theirs <= inventories.documented()
    addresses = tuple(inventories.PROJECTS.values())
    for name in NAMES:
        told = field(entry(site, name), "Compared with")
        links = {a.get_text(): a["href"] for a in told.select("a.external")}
        expected = {row["peer"] for row in ledger.read()[name]} & theirs
        assert links.keys() >= expected, name
        assert all(link.startswith(addresses) for link in links.values()), name


def test_a_signature_shows_shapes_and_no_names_that_only_its_file_knows(site):
    told = entry(site, "attention.dot_product.attention").find("dt").get_text()
    assert "query: Float[Tensor, '*batch n_q d_k']" in told
    assert "Bool[Tensor, '*#batch #n_q n_k'] | None = None" in told
    told = entry(site, "words.counting.count_matrix").find("dt").get_text()
    assert "documents: Sequence[Sequence[str]]" in told


def test_what_is_returned_is_told_whole(site):
    returned = field(entry(site, "attention.dot_product.attention"), "Returns").get_text()
    assert returned.startswith("One row per query: a weighted mean of the values")


def test_other_projects_can_link_to_each_name(site):
    project, version = (site / "objects.inv").read_bytes().split(b"\n")[1:3]
    assert project == b"# Project: Soft Lookup"
    assert re.fullmatch(rb"# Version: [\d.]+", version)
    with (site / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, path: path)
    known = inventory["py:function"] | inventory["py:class"]
    for path, docname in library.places().items():
        assert known[path][2] == f"{docname}.html#{path}"


def test_modules_stand_in_the_order_in_which_to_read_them():
    order = library.modules_of("attention")
    assert order[:3] == ["attention.lookup", "attention.scores", "attention.smoothing"]
    assert order.index("attention.positions.sinusoids") < order.index("attention.efficient.tiles")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A width $d_k$ and ``a | $b$``, |x|.", r"A width :math:`d_k` and ``a | $b$``, \|x\|."),
        ("$$a\n= b$$", ".. math:: a = b"),
        (
            "Source: A 2017;\nB. Chapter: lookup#soft.",
            ":Source: A 2017; B.\n:Taught in: :taught:`lookup#soft`",
        ),
        ("Chapter: lookup#soft.", ":Taught in: :taught:`lookup#soft`"),
    ],
)  # fmt: skip
def test_a_paragraph_becomes_what_sphinx_reads(text, wanted):
    assert library.in_rest(text) == wanted


def test_a_class_without_a_beginning_of_its_own_has_that_of_its_base():
    class Base:
        __module__ = "softlookup.here"

        def __init__(self, n: int = 3) -> None: ...

    class Derived(Base):
        __module__ = "softlookup.here"

    assert library.written_signature(Derived) == ("(n: int=3)", "")
