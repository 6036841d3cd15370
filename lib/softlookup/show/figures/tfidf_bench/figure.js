// The TF-IDF bench: documents and variants go in, the table and its cosines come out.

import { button, check, choice, form, label, liveRegion } from "../../kit/controls.js";
import { modified } from "../../kit/drag.js";
import { el } from "../../kit/elements.js";
import { sum } from "../../kit/maths.js";
import { counted } from "../../kit/numbers.js";
import { analyse } from "./maths.js";
import { drawTable, flagIcon, heaviest, rich, ROWS_SHOWN } from "./table.js";
import { cosines, documentName, explain, fixed, FORMULAS, notes } from "./words.js";

const FEWEST = 2;
const MOST = 4;
const GROUPS = [
  { key: "n", label: "Count" },
  { key: "tf", label: "Term frequency" },
  { key: "idf", label: "Inverse document frequency" },
  { key: "base", label: "Base of log" },
];
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Put parts into an element, unless it says so already: a screen reader then keeps quiet. */
function write(element, parts) {
  const fresh = el("span", null, ...rich(parts));
  if (element.textContent !== fresh.textContent) element.replaceChildren(...fresh.childNodes);
}

/** The cells that went into the one with this key. */
function operands(key) {
  const [kind, i, j] = key.split(":");
  if (kind === "weight") return [`tf:${i}:${j}`, `idf:${j}`];
  return kind === "idf" ? [`df:${i}`] : [];
}

function cosineItem({ i, j, tf, weights }) {
  const number = (value) => el("b", null, value === null ? "0/0" : fixed(value, 4));
  return el(
    "li",
    null,
    el("span", null, "cos(", ...rich(documentName(i)), ", ", ...rich(documentName(j)), ") = "),
    number(weights),
    " with TF-IDF, ",
    number(tf),
    " with TF",
  );
}

function noteItem({ flag, parts }) {
  return el(
    "li",
    { class: flag ? "sl-flag" : "sl-note" },
    flag ? [flagIcon(), " "] : [],
    ...rich(parts),
  );
}

/** A row of radio buttons; the form around the bench keeps its names from other benches. */
function radioGroup({ key, label: name }, onChange) {
  const change = (value) => onChange(key, key === "n" ? Number(value) : value);
  const radio = ([value, parts]) => choice(key, value, false, change, ...rich(parts));
  return el(
    "div",
    { class: "tb-group", role: "radiogroup", "aria-label": name, "data-group": key },
    el("span", { class: "sl-label", "aria-hidden": "true" }, name),
    el("div", { class: "tb-choices" }, Object.entries(FORMULAS[key]).map(radio)),
  );
}

/** One bench: what the reader has typed and chosen, and the elements that show it. */
class Bench {
  constructor(root, { examples }) {
    this.examples = examples;
    this.hint = el("p", { class: "sl-note tb-hint" });
    this.documents = el("div", { class: "tb-documents" });
    this.adder = button("Add a document", () => this.addDocument());
    this.form = form("tb-bench");
    this.cosines = el("ul", { class: "tb-cosines" });
    this.notes = el("ul", { class: "tb-notes" });
    this.table = el("table", { role: "grid" });
    this.rest = el("p", { class: "sl-note tb-rest" });
    this.line = liveRegion("tb-line");
    this.build();
    root.append(this.form);
    this.take(examples[0]);
  }

  build() {
    const change = (key, value) => this.choose(key, value);
    const [n, tf, idf, base] = GROUPS.map((group) => radioGroup(group, change));
    n.querySelector(".tb-choices").after(
      check("lowercase", "Fold case", (on) => change("lowercase", on)),
    );
    this.base = base;
    this.form.append(
      el(
        "div",
        { class: "tb-examples", role: "group", "aria-label": "Examples" },
        this.examples.map((example) => button(example.label, () => this.take(example))),
      ),
      this.hint,
      this.documents,
      this.adder,
      el("div", { class: "tb-settings" }, n, tf, idf, base),
      el("div", { class: "tb-verdict", role: "status" }, this.cosines, this.notes),
      this.scrollBox(),
      this.rest,
      this.line,
    );
  }

  scrollBox() {
    this.table.addEventListener("keydown", (event) => this.move(event));
    this.table.addEventListener("focusin", (event) => this.enter(event.target));
    this.table.addEventListener("mouseover", (event) => {
      const cell = event.target.closest("td[data-key]");
      if (cell) this.select(cell.dataset.key);
    });
    return el(
      "div",
      {
        class: "sl-scroll tb-scroll",
        role: "region",
        tabindex: "0",
        "aria-label": "The TF-IDF table",
      },
      this.table,
    );
  }

  /** Start from an example: its documents and its settings. */
  take({ documents, settings, hint }) {
    this.settings = { ...settings };
    this.hint.textContent = hint;
    this.writeDocuments(documents);
    for (const key of ["n", "tf", "idf", "base"]) {
      this.form.elements[key].value = String(settings[key]);
    }
    this.form.elements.lowercase.checked = settings.lowercase;
    this.refresh();
  }

  choose(key, value) {
    this.settings[key] = value;
    this.refresh(this.selected);
  }

  texts() {
    return [...this.documents.querySelectorAll("textarea")].map((area) => area.value);
  }

  writeDocuments(texts) {
    this.documents.replaceChildren(
      ...texts.map((text, i) => this.documentField(text, i, texts.length > FEWEST)),
    );
    this.adder.disabled = texts.length >= MOST;
  }

  documentField(text, i, removable) {
    const name = documentName(i);
    const area = el("textarea", {
      rows: "2",
      dir: "auto",
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": `Document x${i + 1}`,
      oninput: () => this.edit(),
    });
    area.value = text;
    const remove = removable
      ? el(
          "button",
          {
            type: "button",
            class: "tb-remove",
            "aria-label": `Remove document x${i + 1}`,
            onclick: () => this.removeDocument(i),
          },
          "Remove",
        )
      : null;
    return el(
      "div",
      { class: "sl-field" },
      el(
        "div",
        { class: "tb-name" },
        label("Document ", ...rich(name)),
        el("span", { class: "sl-note tb-size" }),
        remove,
      ),
      area,
    );
  }

  /** The documents are the reader's own now: the example's hint does not speak of them. */
  edit() {
    this.hint.textContent = "";
    this.refresh();
  }

  addDocument() {
    this.writeDocuments([...this.texts(), ""]);
    this.documents.lastElementChild.querySelector("textarea").focus();
    this.refresh();
  }

  removeDocument(i) {
    this.writeDocuments(this.texts().filter((_, k) => k !== i));
    this.adder.focus();
    this.refresh();
  }

  /** Compute everything anew and show it; keep the explained cell where it still exists. */
  refresh(key = null) {
    this.analysis = analyse(this.texts(), this.settings);
    this.showSizes();
    this.showVerdict();
    drawTable(this.table, this.analysis);
    const { vocabulary } = this.analysis;
    const hidden = vocabulary.length - ROWS_SHOWN;
    this.rest.textContent =
      hidden > 0
        ? `The first ${ROWS_SHOWN} of ${vocabulary.length}; all of them count in every sum.`
        : "";
    this.table.hidden = vocabulary.length === 0;
    if (this.table.hidden) return write(this.line, []);
    this.select(key && this.cell(key) ? key : heaviest(this.analysis));
    this.cell(this.selected).tabIndex = 0;
  }

  showSizes() {
    this.documents.querySelectorAll("textarea").forEach((area, i) => {
      const row = this.analysis.counts[i];
      const distinct = row.filter((count) => count > 0).length;
      const unit = this.settings.n === 1 ? "word" : "pair";
      area.closest(".sl-field").querySelector(".tb-size").textContent =
        `${counted(sum(row), unit)}, ${distinct} distinct`;
    });
    const needsBase = ["log", "log_plus_one", "smooth"].includes(this.settings.idf);
    this.base.querySelectorAll("input").forEach((input) => {
      input.disabled = !needsBase;
    });
  }

  showVerdict() {
    const items = [cosines(this.analysis).map(cosineItem), notes(this.analysis).map(noteItem)];
    [this.cosines, this.notes].forEach((list, k) => {
      const said = items[k].map((item) => item.textContent).join("\n");
      if (list.dataset.said === said) return; // nothing new: let the screen reader rest
      list.dataset.said = said;
      list.replaceChildren(...items[k]);
    });
  }

  cell(key) {
    return this.table.querySelector(`td[data-key="${key}"]`);
  }

  /** Mark a cell and those that it was made of, and say how. */
  select(key) {
    if (key !== this.selected || !this.cell(key).classList.contains("tb-selected")) {
      const mark = (name, keys) => {
        this.table.querySelectorAll(`.${name}`).forEach((cell) => cell.classList.remove(name));
        keys.forEach((chosen) => this.cell(chosen).classList.add(name));
      };
      mark("tb-selected", [key]);
      mark("tb-operand", operands(key));
      this.selected = key;
    }
    write(this.line, explain(this.analysis, key));
  }

  /** A cell has the focus: explain it, and let Tab come back to it. */
  enter(cell) {
    if (!cell.dataset.key) return;
    this.table.querySelectorAll('td[tabindex="0"]').forEach((other) => {
      other.tabIndex = -1;
    });
    cell.tabIndex = 0;
    this.select(cell.dataset.key);
  }

  /** Arrow keys: from cell to cell, over what has no number. */
  move(event) {
    const step = MOVES[event.key];
    const from = event.target.closest("td[data-key]");
    if (!step || !from || modified(event)) return;
    event.preventDefault();
    const rows = [...this.table.querySelectorAll("tbody tr, tfoot tr")].map((row) => [
      ...row.querySelectorAll("td"),
    ]);
    let i = rows.findIndex((row) => row.includes(from));
    let j = rows[i].indexOf(from);
    do [i, j] = [i + step[0], j + step[1]];
    while (rows[i]?.[j] && !rows[i][j].dataset.key);
    rows[i]?.[j]?.focus();
  }
}

/** Build the bench inside an empty element. */
export function mount(root, data) {
  new Bench(root, data);
}
