"""Predict, then look: a question in the text, its answer in a cell, and a cover in between.

`{prediction} name` asks; `softlookup.show.reveal` in a later code cell of the page answers. Here
the two meet. The question gets a field of the answer's kind, and what the cell shows, with the text
and figures up to the next code in sight, prediction or heading, goes under a cover. A sentence that
ends in a colon stays open with the code that it introduces.
`_static/predictions.js` lifts it. A page without JavaScript, and one on paper, has neither fields
nor covers.
"""

import ast
import hashlib
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .figures import html_output

LOGGER = logging.getLogger(__name__)

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MARKUP = str.maketrans("“”‘’", "\"\"''", "$`*")
FOLDED = {"tag_check", "tag_hide-input"}  # cells without code in sight
PERCENT = re.compile(r"per ?cent", re.IGNORECASE)
HINTS = {
    "number": "A number, such as 12, 0.5, 1/3 or 40 %.",
    "choice": "",
    "order": "Move the lines until they stand in order.",
    "shape": "The length of each axis, such as 7, 4.",
}


class prediction(nodes.General, nodes.Element):  # noqa: N801  (docutils' own way)
    """A question; with a field once it has met its answer."""


class guess_items(nodes.General, nodes.Element):  # noqa: N801
    """What to choose from, or to order."""


class guess_item(nodes.General, nodes.Element):  # noqa: N801
    """One of them."""


class covered(nodes.General, nodes.Element):  # noqa: N801
    """What a reader sees after the guess."""


class Prediction(SphinxDirective):
    """`{prediction} name`: a question. A list at its end holds what to choose from or to order."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse the question."""
        self.assert_has_content()
        name = self.arguments[0]
        if not NAME.fullmatch(name):
            raise self.error(f"a prediction's name is lower-case words and hyphens; got {name!r}")
        node = prediction(name=name)
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


@dataclass
class Reveal:
    """What a cell has computed as the answer to a prediction.

    Attributes:
        data: What `reveal` wrote: name, kind, answer, within and known wrong guesses.
        bundle: The output that holds it.
        cell: The code cell.
    """

    data: dict
    bundle: nodes.container
    cell: nodes.container


def plain(text: str) -> str:
    """A choice without its markup: what the page shows and what a cell names compare alike."""
    return " ".join(text.translate(MARKUP).split())


def cell_of(node: nodes.Node) -> nodes.container | None:
    """The code cell around a node."""
    while node is not None and node.get("nb_element") != "cell_code":
        node = node.parent
    return node


def is_part(node: nodes.Node, part: str) -> bool:
    """Whether a node is that part of a notebook: a code cell, its code, its output."""
    return isinstance(node, nodes.container) and node.get("nb_element") == part


def read_reveal(bundle: nodes.container) -> Reveal | None:
    """The answer that an output holds, taken out of its HTML; None where it holds none."""
    raw = html_output(bundle)
    if raw is None or "data-reveal" not in raw.astext():
        return None
    soup = BeautifulSoup(raw.astext(), "html.parser")
    details = soup.find("details", attrs={"data-reveal": True})
    data = json.loads(details.attrs.pop("data-reveal"))
    raw.replace_self(nodes.raw("", str(soup), format="html"))
    return Reveal(data, bundle, cell_of(bundle))


def without_reveal(code: str) -> str:
    """A cell's code as the page shows it: the line that answers would give the answer away.

    With it go the names that are given right before it for its sake alone.
    """
    lines = [re.sub(r"^(\s*)[%!].*", r"\1pass", line) for line in code.splitlines()]
    kept = code.splitlines()
    statements = ast.parse("\n".join(lines)).body
    hidden = [statement for statement in statements if is_reveal(statement)]
    for before in reversed(statements[: statements.index(hidden[0])] if hidden else []):
        given = names(before, ast.Store) if isinstance(before, ast.Assign) else set()
        others = [one for one in statements if one not in (*hidden, before)]
        if not given or any(given & names(one) for one in others):
            break
        hidden.append(before)
    for statement in sorted(hidden, key=lambda one: one.lineno, reverse=True):
        del kept[statement.lineno - 1 : statement.end_lineno]
    return "\n".join(kept).strip("\n")


def is_reveal(statement: ast.stmt) -> bool:
    """Whether a statement answers a prediction."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) == "reveal"


def names(statement: ast.stmt, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """The names in a statement, or those that it gives."""
    found = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in found if isinstance(node.ctx, context)}


def follows(cell: nodes.container) -> Iterator[nodes.Node]:
    """What stands between a code cell and the next one, prediction or heading.

    A cell that only checks what was found out says so in words, and one whose code is folded shows
    a figure of it: they belong to what follows. A paragraph that ends in a colon does not, where it
    stands right before code in sight: it introduces that code. Nor does a box in which a prediction
    stands: no question lies under the cover of another one.
    """
    ends = (nodes.section, nodes.transition, nodes.footnote)
    found, is_code = [], False
    for node in cell.parent.children[cell.parent.index(cell) + 1 :]:
        is_code = is_part(node, "cell_code") and FOLDED.isdisjoint(node["classes"])
        if is_code or isinstance(node, ends) or any(node.findall(prediction)):
            break
        found.append(node)
    while found and isinstance(found[-1], nodes.Invisible):
        found.pop()  # a mark before the next heading is none of this
    if is_code and found and isinstance(found[-1], nodes.paragraph) and ends_in_colon(found[-1]):
        found.pop()
    yield from found


def ends_in_colon(paragraph: nodes.paragraph) -> bool:
    """Whether a paragraph announces what comes next."""
    return paragraph.astext().rstrip().endswith(":")


class Predictions(SphinxTransform):
    """Brings questions and answers together, and covers what answers."""

    default_priority = 404  # after the figures have become nodes

    def apply(self) -> None:
        """Pair by name, in the order of the page."""
        asked: dict[str, prediction] = {}
        answered: set[str] = set()
        for node in list(self.document.findall(self.is_concerned)):
            if isinstance(node, prediction):
                if node["name"] in asked:
                    self.warn(node, f"two predictions have the name {node['name']!r}")
                asked.setdefault(node["name"], node)
                continue
            reveal = read_reveal(node)
            if reveal is None:
                continue
            name = reveal.data["name"]
            if name in answered:
                self.warn(reveal.cell, f"the prediction {name!r} is revealed twice")
            elif name not in asked:
                self.warn(reveal.cell, f"reveal({name!r}): no prediction before it has this name")
            elif fault := self.meet(asked[name], reveal):
                self.warn(asked[name], f"the prediction {name!r}: {fault}")
            answered.add(name)
        for name in asked.keys() - answered:
            self.warn(asked[name], f"no code cell after the prediction {name!r} reveals it")

    @staticmethod
    def is_concerned(node: nodes.Node) -> bool:
        """Whether a node is a question, or an output that may hold an answer."""
        return isinstance(node, prediction) or is_part(node, "mime_bundle")

    def warn(self, node: nodes.Node, words: str) -> None:
        """Warn: the book is built with warnings as errors."""
        LOGGER.warning(words, location=node, type="prediction")

    def meet(self, question: prediction, reveal: Reveal) -> str:
        """Give the question its field, and cover what answers it; the fault in words, or ""."""
        data = reveal.data
        question["kind"] = data["kind"]
        if data["kind"] in ("choice", "order"):
            if fault := self.list_items(question, data):
                return fault
        elif isinstance(question.children[-1], nodes.bullet_list):
            return f"it ends with a list, but its answer is a {data['kind']}"
        words = hashlib.sha256(f"{data['kind']} {question.astext()}".encode()).hexdigest()
        question["page"], question["question"] = self.env.docname, words[:10]
        question["reveal"] = {key: data[key] for key in ("answer", "within", "wrong")}
        asks_percent = data["kind"] == "number" and PERCENT.search(question.astext())
        question["reveal"]["isPercent"] = bool(asks_percent)
        self.hide_call(reveal.cell)
        self.cover(reveal.cell, question["name"])
        return ""

    def list_items(self, question: prediction, data: dict) -> str:
        """Make of the list at the end what can be chosen or ordered; the fault in words, or ""."""
        last = question.children[-1] if question.children else None
        if not isinstance(last, nodes.bullet_list):
            what = "choices" if data["kind"] == "choice" else "things to order"
            return f"its answer needs a list of {what} at the end of the question"
        items = guess_items(name=question["name"], kind=data["kind"])
        for entry in last.children:
            line = entry.children[0]
            items += guess_item("", *line.children, item=plain(line.astext()), place=len(items),
                                name=question["name"], kind=data["kind"])  # fmt: skip
        question.replace(last, items)
        known = [item["item"] for item in items.children]
        if len(set(known)) < len(known):
            return f"an item stands twice in its list: {known}"
        if data["kind"] == "choice":
            data["answer"] = plain(data["answer"])
            data["wrong"] = [[plain(guess), why] for guess, why in data["wrong"]]
            for guess in (data["answer"], *(guess for guess, _ in data["wrong"])):
                if guess not in known:
                    return f"{guess!r} is none of its choices: {known}"
            return ""
        data["answer"] = [plain(item) for item in data["answer"]]
        data["wrong"] = [[[plain(item) for item in guess], why] for guess, why in data["wrong"]]
        for order in (data["answer"], *(guess for guess, _ in data["wrong"])):
            if sorted(order) != sorted(known):
                return f"{order} orders other things than its list: {known}"
        return "its list stands in the right order already" if data["answer"] == known else ""

    def hide_call(self, cell: nodes.container) -> None:
        """Leave the call of `reveal` out of the code that the page shows."""
        for source in [child for child in cell.children if is_part(child, "cell_code_source")]:
            block = next(iter(source.findall(nodes.literal_block)))
            code = without_reveal(block.astext())
            block.rawsource = code
            block.children = []
            block += nodes.Text(code)
            if not code:
                cell.remove(source)

    def cover(self, cell: nodes.container, name: str) -> None:
        """Put the cell's output and what follows under a cover."""
        cover = covered(name=name)
        after = list(follows(cell))
        outputs = [child for child in cell.children if is_part(child, "cell_code_output")]
        if not outputs and not after:
            return
        cell.parent.insert(cell.parent.index(cell) + 1, cover)
        if outputs:
            attributes = {key: cell[key] for key in ("hide_mode", "prompt_show", "prompt_hide")
                          if key in cell}  # fmt: skip
            shown = nodes.container(nb_element="cell_code", classes=cell["classes"], **attributes)
            for output in outputs:
                cell.remove(output)
                shown += output
            cover += shown
        for node in after:
            node.parent.remove(node)
            cover += node
        cover["has_code"] = bool(cell.children)
        if not cell.children:
            cell.parent.remove(cell)


def visit_prediction(translator, node: prediction) -> None:
    """Open the question, and its form if it has met its answer."""
    key = f"prediction-{node['name']}"
    data = ""
    if "reveal" in node:
        reveal = html.escape(json.dumps(node["reveal"], ensure_ascii=False))
        data = (
            f' data-name="{node["name"]}" data-kind="{node["kind"]}" data-page="{node["page"]}"'
            f' data-question="{node["question"]}" data-reveal="{reveal}"'
        )
    translator.body.append(
        f'<div class="bk-prediction" id="{key}" role="group" aria-labelledby="{key}-title"{data}>\n'
        f'<p class="bk-prediction-title" id="{key}-title">Predict</p>\n'
        f'<form novalidate autocomplete="off">\n<div id="{key}-asked">'
    )


def depart_prediction(translator, node: prediction) -> None:
    """Close the question; below it the field, the buttons, and room for what is said of a guess."""
    key = f"prediction-{node['name']}"
    if not isinstance(node.children[-1], guess_items):
        translator.body.append("</div>\n")
    if "reveal" in node:
        hint = HINTS[node["kind"]]
        field = (
            f'<label for="{key}-guess">Your guess</label> <input id="{key}-guess" type="text" '
            f'spellcheck="false" aria-describedby="{key}-asked {key}-hint" />'
            if node["kind"] in ("number", "shape")
            else ""
        )
        translator.body.append(
            f'<div class="bk-guess">{field}'
            '<button type="submit" class="bk-button">Check my guess</button>'
            '<button type="button" class="bk-button" data-show>Show me</button></div>\n'
            f'<div class="bk-verdict"><p class="bk-hint" id="{key}-hint">{hint}</p>'
            '<div role="status"></div></div>\n'
        )
    translator.body.append("</form></div>\n")


def visit_items(translator, node: guess_items) -> None:
    """Open the list of what to choose from or to order."""
    tag = "ul" if node["kind"] == "choice" else "ol"
    legend = '<legend class="visually-hidden">Your guess</legend>'
    translator.body.append(f'</div>\n<fieldset>{legend}<{tag} class="bk-guess-{node["kind"]}">\n')


def depart_items(translator, node: guess_items) -> None:
    """Close it."""
    tag = "ul" if node["kind"] == "choice" else "ol"
    translator.body.append(f"</{tag}></fieldset>\n")


def visit_item(translator, node: guess_item) -> None:
    """Open one line: a button to choose it by, or words."""
    key = f"prediction-{node['name']}-{node['place']}"
    item = html.escape(node["item"])
    translator.body.append(
        f'<li><input type="radio" name="guess" id="{key}" value="{item}" /> <label for="{key}">'
        if node["kind"] == "choice"
        else f'<li data-item="{item}"><span class="bk-item">'
    )


def depart_item(translator, node: guess_item) -> None:
    """Close it; what is to be ordered has two buttons that move it."""
    item = html.escape(node["item"])
    buttons = "".join(
        f'<button type="button" class="bk-button" data-move="{way}" '
        f'aria-label="Move {way}: {item}">{arrow}</button>'
        for way, arrow in (("up", "↑"), ("down", "↓"))
    )
    end = "</label></li>\n" if node["kind"] == "choice" else f"</span> {buttons}</li>\n"
    translator.body.append(end)


def visit_covered(translator, node: covered) -> None:
    """Open what is covered; the cover's one line leads to the question."""
    place = "bk-covered bk-after-code" if node["has_code"] else "bk-covered"
    translator.body.append(
        f'<div class="{place}" data-prediction="{node["name"]}"><div class="bk-cover">'
        f'<a href="#prediction-{node["name"]}">Predict first</a></div>\n<div class="bk-under">\n'
    )


def depart_covered(translator, node: covered) -> None:
    """Close it."""
    translator.body.append("</div></div>\n")


def offer_switch(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Tell the template whether the page has predictions: it then offers to show or forget all."""
    found = doctree is not None and any(True for _ in doctree.findall(prediction))
    context["has_predictions"] = found


def setup(app: Sphinx) -> None:
    """Register directive, nodes and transform."""
    app.add_directive("prediction", Prediction)
    app.add_node(prediction, html=(visit_prediction, depart_prediction))
    app.add_node(guess_items, html=(visit_items, depart_items))
    app.add_node(guess_item, html=(visit_item, depart_item))
    app.add_node(covered, html=(visit_covered, depart_covered))
    app.add_transform(Predictions)
    app.connect("html-page-context", offer_switch)
