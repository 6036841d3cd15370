// Predict, then look: reads a guess, says how far off it was, lifts the cover, remembers.
(() => {
  const root = document.documentElement;
  const SHOW_ALL = "show-every-result";
  const DIGITS = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

  // What a browser remembers; where it may not, a guess lasts as long as the page.
  const memory = {
    read(key) {
      try {
        return JSON.parse(localStorage.getItem(key));
      } catch {
        return null;
      }
    },
    write(key, value) {
      try {
        localStorage.setItem(key, JSON.stringify(value));
      } catch {}
    },
    forget(key) {
      try {
        localStorage.removeItem(key);
      } catch {}
    },
  };

  // Numbers ------------------------------------------------------------------------------------

  const NAMED = new Map([["pi", Math.PI], ["π", Math.PI], ["e", Math.E]]);
  const FUNCTIONS = { ln: Math.log, log: Math.log, sqrt: Math.sqrt, "√": Math.sqrt };
  const SCALES = { t: 1e3, k: 1e3, m: 1e6, b: 1e9 }; // thousand or k, million or M, billion or bn
  const WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split(" ");
  const FEW = 20; // up to here one counts, and does not ask for factors

  // "0.5", "0,5", "1,000", "10 000", "−3", "3x", "1/3", "2^10", "40 %", "1/pi", "ln 30", "2.1 million", "2.1M",
  // "two", "2 phrases": a number, or NaN.
  function numberOf(text) {
    const written = text.trim().toLowerCase();
    if (WORDS.includes(written)) return WORDS.indexOf(written);
    if (NAMED.has(written)) return NAMED.get(written);
    const scaled = /^(.*\d)\s*(thousand|million|billion|k|m|bn?)$/.exec(written);
    if (scaled) return numberOf(scaled[1]) * SCALES[scaled[2][0]];
    const applied = /^(ln|log|sqrt|√)\s*\(?([^()]+)\)?$/.exec(written);
    if (applied) return FUNCTIONS[applied[1]](numberOf(applied[2]));
    let plain = written.replace(/[−–]/g, "-").replace(/^[×x*]\s*|\s*[×x]$/g, "");
    const isPercent = /%$/.test(plain);
    plain = plain.replace(/\s*%$/, "");
    for (const [sign, compute] of [["/", (a, b) => a / b], ["^", (a, b) => a ** b]]) {
      const parts = plain.split(sign);
      if (parts.length === 2) {
        const value = compute(...parts.map(numberOf));
        return Number.isFinite(value) ? value / (isPercent ? 100 : 1) : NaN;
      }
    }
    plain = plain.replace(/(\d)[\s\u202f\u00a0](?=\d{3}\b)/g, "$1");
    plain = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(plain) ? plain.replaceAll(",", "") : plain.replace(",", ".");
    if (DIGITS.test(plain)) return Number(plain) / (isPercent ? 100 : 1);
    const counted = /^(.*\S)\s+\p{L}+$/u.exec(plain);
    return counted ? numberOf(counted[1]) : NaN;
  }

  function shown(number) {
    const isWhole = Number.isInteger(number) && Math.abs(number) < 1e15;
    const short = isWhole ? number : Number(number.toPrecision(4));
    const isLong = isWhole && Math.abs(number) >= 1e4;
    return (isLong ? short.toLocaleString("en-US") : String(short)).replace("-", "−");
  }

  function sayNumber(guess, answer, { isPercent = false } = {}) {
    if (isPercent) {
      const points = shown(Number(Math.abs(guess - answer).toPrecision(2)));
      return `${points} ${points === "1" ? "point" : "points"} too ${guess > answer ? "high" : "low"}`;
    }
    const [most, least] = [Math.abs(guess), Math.abs(answer)].sort((a, b) => b - a);
    const distance = Math.abs(guess - answer);
    if (least === 0) return `off by ${shown(distance)}`;
    const factor = most / least;
    const short = Number(factor.toPrecision(2));
    const byFactor = `off by a factor of ${Math.abs(short / factor - 1) < 1e-6 ? "" : "about "}${shown(short)}`;
    // On the other side of zero "4.4 % too large" would be true of the absolute values alone.
    if (guess * answer < 0) return `the other sign${factor >= 1.5 ? `, and ${byFactor}` : ""}`;
    const way = Math.abs(guess) > Math.abs(answer) ? "too large" : "too small";
    const areWhole = Number.isInteger(guess) && Number.isInteger(answer);
    if (areWhole && most <= FEW) return `${shown(distance)} ${way}`;
    if (factor >= 1.5) return byFactor;
    if (areWhole) return `${shown(distance)} ${way}`;
    return `${shown(Number(((100 * distance) / Math.abs(answer)).toPrecision(2)))} % ${way}`;
  }

  // Shapes and orders ---------------------------------------------------------------------------

  // "7, 4", "7×4", "7 by 4", "(7, 4)", "[7 4]", "(7,)", "()": the lengths, or null. Where one length
  // is asked for, "7*4" and "7·4" are products.
  function shapeOf(text, { answer }) {
    const plain = text.trim().replace(/^torch\.Size/i, "").replace(/[()[\]]/g, " ").trim();
    if (!plain) return text.trim() ? [] : null;
    const factors = plain.replace(/,$/, "").split(/\s*[*·⋅]\s*/);
    const isProduct = factors.length > 1 && factors.every((factor) => /^\d+$/.test(factor));
    if (answer.length === 1 && isProduct) return [factors.map(Number).reduce((a, b) => a * b)];
    const parts = plain.split(/\s*(?:[,;×x*]|\bby\b|\s)\s*/).filter(Boolean);
    return parts.every((part) => /^\d+$/.test(part)) ? parts.map(Number) : null;
  }

  const tuple = (lengths) => (lengths.length === 1 ? `(${lengths[0]},)` : `(${lengths.join(", ")})`);
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const sorted = (list) => [...list].sort((a, b) => a - b);

  function sayShape(guess, answer) {
    const axes = (n) => `${n} ${n === 1 ? "axis" : "axes"}`;
    if (guess.length !== answer.length) return `it has ${axes(answer.length)}, not ${guess.length}`;
    if (same(sorted(guess), sorted(answer))) return "the right lengths, on the wrong axes";
    const wrong = answer.map((length, k) => [k, length, guess[k]]).filter(([, a, g]) => a !== g);
    return wrong.map(([k, a, g]) => `axis ${k} has length ${a}, not ${g}`).join("; ");
  }

  function sayOrder(guess, answer) {
    const place = new Map(answer.map((item, k) => [item, k]));
    const n = guess.length;
    let right = 0;
    guess.forEach((a, k) => guess.slice(k + 1).forEach((b) => (right += place.get(a) < place.get(b))));
    return `${right} of ${(n * (n - 1)) / 2} comparisons ${right === 1 ? "is" : "are"} right`;
  }

  // One prediction --------------------------------------------------------------------------------

  const tell = (guess, answer, off) => `You said ${guess}; it is ${answer}: ${off}.`;
  const KINDS = {
    number: {
      // Whoever is asked for per cent may write "57", "57 %", "0.57" or "4/7".
      read: (text, { answer, isPercent }) => {
        const value = numberOf(text);
        if (!Number.isFinite(value)) return null;
        const distance = (number) => Math.abs(Math.log(Math.abs(number / answer)));
        const mayBeShare = /%\s*$/.test(text) || (isPercent && Math.abs(value) <= 1);
        return mayBeShare && answer && distance(100 * value) < distance(value) ? 100 * value : value;
      },
      ask: "Please write a number, such as 12, 0.5, 1/3 or 40 %.",
      isRight: (guess, { answer, within }) => Math.abs(guess - answer) <= within * (1 + 1e-9),
      isKnown: (guess, wrong, answer) => {
        const distance = Math.abs(guess - wrong);
        return distance <= 0.01 * Math.abs(wrong) && distance < Math.abs(guess - answer);
      },
      say: sayNumber,
      show: shown,
      tell,
    },
    shape: {
      read: shapeOf,
      ask: "Please write the length of each axis, such as 7, 4.",
      show: tuple,
      say: sayShape,
      tell,
    },
    choice: {
      ask: "Please choose one of the lines.",
      say: () => "",
      tell: (guess, answer) => `You said “${guess}”; the answer is “${answer}”.`,
    },
    order: { say: sayOrder, tell: (guess, answer, off) => `${off}. The order is: ${answer}.` },
  };

  class Prediction {
    constructor(node) {
      this.node = node;
      this.form = node.querySelector("form");
      this.status = node.querySelector("[role=status]");
      this.hint = node.querySelector(".bk-hint");
      this.input = node.querySelector("input[type=text]");
      this.list = node.querySelector("ol.bk-guess-order");
      this.kind = KINDS[node.dataset.kind];
      this.data = JSON.parse(node.dataset.reveal);
      this.first = this.list && [...this.list.children];
      this.isSettled = false;
      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        if (!this.isSettled) this.commit(this.guess());
      });
      this.form.querySelector("[data-show]").addEventListener("click", () => {
        if (!this.isSettled) this.settle(null);
      });
      this.list?.addEventListener("click", (event) => this.move(event.target.closest("[data-move]")));
    }

    // The guess as written: text, the chosen line's words, or the lines in their order.
    guess() {
      if (this.input) return this.input.value;
      if (this.list) return [...this.list.children].map((line) => line.dataset.item);
      return this.form.querySelector(":checked")?.value ?? null;
    }

    fill(guess) {
      if (guess === null) return;
      if (this.input) this.input.value = guess;
      else if (this.list) this.list.append(...guess.map((item) => this.line(item)));
      else this.line(guess).checked = true;
    }

    line(item) {
      return [...this.form.querySelectorAll("[data-item], [type=radio]")].find((one) => (one.dataset.item ?? one.value) === item);
    }

    // The words of a choice as the page sets them, formulas included; a full stop comes after them.
    words(item) {
      const line = this.line(item);
      const { innerHTML } = line.matches("li") ? line.querySelector(".bk-item") : line.labels[0];
      return innerHTML.trim().replace(/\.$/, "");
    }

    shown(value) {
      if (this.list) return value.map((item) => this.words(item)).join(", ");
      if (this.data.isPercent) return `${this.kind.show(value)} %`;
      return this.kind.show ? this.kind.show(value) : this.words(value);
    }

    commit(written) {
      const value = this.kind.read ? this.kind.read(written, this.data) : written;
      this.input?.toggleAttribute("aria-invalid", value === null);
      if (value === null) {
        this.say(this.kind.ask);
        (this.input ?? this.form.querySelector("input")).focus();
        return;
      }
      this.settle(written);
    }

    settle(written) {
      this.isSettled = true;
      this.say(this.verdict(written));
      this.lock(true);
      remember(this, written);
      layCovers();
    }

    verdict(written) {
      const answer = this.shown(this.data.answer);
      if (written === null) return `The answer: ${answer}.`;
      const guess = this.kind.read ? this.kind.read(written, this.data) : written;
      const isRight = this.kind.isRight ?? ((a, { answer: b }) => same(a, b));
      if (isRight(guess, this.data)) {
        const isSame = this.shown(guess) === answer;
        const exactly = isSame ? answer : `${this.shown(guess)} is close enough to ${answer}`;
        return `<strong>Right</strong>: ${exactly}.`;
      }
      const isKnown = this.kind.isKnown ?? same;
      const known = this.data.wrong.filter(([wrong]) => isKnown(guess, wrong, this.data.answer));
      const why = (known.find(([wrong]) => same(guess, wrong)) ?? known[0])?.[1];
      const off = this.kind.say(guess, this.data.answer, this.data);
      return [this.kind.tell(this.shown(guess), answer, off), why].filter(Boolean).join(" ");
    }

    say(words) {
      this.hint.hidden = Boolean(words);
      this.status.innerHTML = words;
    }

    // After the guess the field shows it, and the buttons stay where they are: the focus too.
    lock(isLocked) {
      this.node.classList.toggle("bk-settled", isLocked);
      this.form.querySelectorAll("button").forEach((button) => {
        if (isLocked) button.setAttribute("aria-disabled", "true");
        else button.removeAttribute("aria-disabled");
      });
      if (this.input) this.input.readOnly = isLocked;
      this.form.querySelectorAll("[type=radio]").forEach((radio) => (radio.disabled = isLocked));
    }

    // The neighbour changes its place, not the line itself: its button keeps the focus.
    move(button) {
      if (!button || this.isSettled) return;
      const line = button.closest("li");
      if (button.dataset.move === "up" && line.previousElementSibling) line.after(line.previousElementSibling);
      if (button.dataset.move === "down" && line.nextElementSibling) line.before(line.nextElementSibling);
      const lines = [...this.list.children];
      this.say(`${line.querySelector(".bk-item").innerHTML}: place ${lines.indexOf(line) + 1} of ${lines.length}.`);
    }

    forget() {
      this.isSettled = false;
      this.form.reset();
      if (this.list) this.list.append(...this.first);
      this.say("");
      this.lock(false);
    }

    restore() {
      const { question, guess } = memory.read(keyOf(this))?.[this.node.dataset.name] ?? {};
      if (question !== this.node.dataset.question) return;
      try {
        this.fill(guess);
        this.isSettled = true;
        this.say(this.verdict(guess));
        this.lock(true);
      } catch {
        this.forget(); // what is kept there is no guess of ours
      }
    }
  }

  // The page --------------------------------------------------------------------------------------

  const predictions = new Map();
  const keyOf = (one) => `guesses ${one.node.dataset.page}`;

  function remember(one, guess) {
    const { name, question } = one.node.dataset;
    document.querySelector(".bk-predictions [role=status]").textContent = "";
    memory.write(keyOf(one), { ...memory.read(keyOf(one)), [name]: { question, guess } });
  }

  function layCovers() {
    const showsAll = root.classList.contains("bk-show-all");
    document.querySelectorAll(".bk-covered").forEach((box) => {
      const isOpen = showsAll || box.dataset.linked === "" || predictions.get(box.dataset.prediction).isSettled;
      box.classList.toggle("bk-open", isOpen);
      box.querySelector(".bk-under").inert = !isOpen;
    });
  }

  // Who follows a link to something below a cover wants to see it.
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const box = target?.closest(".bk-covered");
    if (!box || box.classList.contains("bk-open")) return;
    box.dataset.linked = "";
    layCovers();
    target.scrollIntoView();
  }

  function setUp() {
    document.querySelectorAll(".bk-prediction[data-reveal]").forEach((node) => {
      predictions.set(node.dataset.name, new Prediction(node));
    });
    if (predictions.size === 0) return;
    predictions.forEach((one) => one.restore());
    const everything = document.getElementById("bk-show-every-result");
    const showAll = (all) => {
      everything.checked = all;
      root.classList.toggle("bk-show-all", all);
      layCovers();
    };
    everything.checked = root.classList.contains("bk-show-all");
    everything.addEventListener("change", () => {
      showAll(everything.checked);
      try {
        localStorage.setItem(SHOW_ALL, everything.checked ? "yes" : "no");
      } catch {}
    });
    addEventListener("storage", ({ key, newValue }) => { // it was switched in another tab
      if (key === SHOW_ALL) showAll(newValue === "yes");
    });
    const button = document.getElementById("bk-forget");
    button.addEventListener("click", () => {
      predictions.forEach((one) => {
        memory.forget(keyOf(one));
        one.forget();
      });
      document.querySelectorAll(".bk-covered").forEach((box) => delete box.dataset.linked);
      button.parentElement.querySelector("[role=status]").textContent = "Forgotten.";
      layCovers();
    });
    document.querySelectorAll(".bk-cover a").forEach((link) => {
      link.addEventListener("click", (event) => {
        const { node, form } = predictions.get(link.closest(".bk-covered").dataset.prediction);
        event.preventDefault(); // to follow the link would take the focus away
        node.scrollIntoView({ block: "nearest" });
        form.querySelector("input, button").focus({ preventScroll: true });
      });
    });
    layCovers();
    openTarget();
    addEventListener("hashchange", openTarget);
    document.addEventListener("click", (event) => {
      // The same link a second time changes no address.
      if (event.target.closest?.(`a[href$="${CSS.escape(location.hash)}"]`) && location.hash) openTarget();
    });
    root.dataset.predictions = "ready";
  }

  document.addEventListener("DOMContentLoaded", setUp);
})();
