"""What keeps the building of the site quick."""

import pickle

from docutils import nodes
from docutils.utils import new_document

from book_site import speed


class Env:
    """Stands for Sphinx's build environment, and notes which pages it reads."""

    def __init__(self):
        self.found_docs, self.read = {"a"}, []

    def get_doctree(self, docname):
        self.read.append(docname)
        return new_document(docname)


def test_a_page_is_read_once_until_so_many_others_were_asked_for():
    env = Env()
    pages = speed.Pages(env)
    first = pages.get_doctree("a")
    others = [f"other{k}" for k in range(speed.KEPT)]
    for name in [*others[1:], "a", *others[1:]]:
        pages.get_doctree(name)
    assert pages.get_doctree("a") is first
    assert env.read == ["a", *others[1:]]
    for name in others:
        pages.get_doctree(name)
    assert pages.get_doctree("a") is not first
    assert env.read.count("a") == 2
    assert pages.found_docs == {"a"}


def test_what_was_made_in_a_document_of_its_own_belongs_to_its_page_then():
    page, other = new_document("page"), new_document("other")
    section = nodes.section()
    other += section
    section += nodes.paragraph("", "", nodes.Text("words"))
    page += other.children
    assert [node.document for node in page.findall(nodes.paragraph)] == [other]
    speed.OneDocument(page).apply()
    assert {id(node.document) for node in page.findall()} == {id(page)}


def test_a_page_of_the_library_is_stored_alone(site):
    stored = site.parent / ".doctrees" / "chapters" / "library_attention.doctree"
    page = pickle.loads(stored.read_bytes())
    assert {id(node.document) for node in page.findall()} == {id(page)}
