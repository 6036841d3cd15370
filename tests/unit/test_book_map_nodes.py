"""A node of the book's map stands in its band, with its chapter."""

from softlookup.show import book_map
from softlookup.show.book_map import NODES, Node, map_text


def test_a_new_node_stands_in_its_band_with_its_chapter(monkeypatch):
    before = map_text().splitlines()
    node = Node("heed", "Heed", "language_models", "Output")
    monkeypatch.setattr(book_map, "NODES", (*NODES, node))
    after = map_text().splitlines()
    ((old, new),) = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    assert old.startswith("Output: ")
    assert new == f"{old}, Heed (language models)"
