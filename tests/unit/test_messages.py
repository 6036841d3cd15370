"""The bundled corpus: what it holds, what it must not hold, and how it is divided."""

import hashlib
import re
from collections import Counter
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score

import registry
from softlookup import data
from softlookup.data import CLASSES, KINDS, LECTURE_SENTENCES, SOURCES, Message, messages, split
from softlookup.words import ngrams, word_tokens

CARD = Path(__file__).resolve().parents[2] / "chapters" / "data_card.md"
SHA256 = "452a662efe328e473f77b0cef53399f085022fc7b4778decf4688ea608774170"
MEDICINES = (
    "apixaban", "warfarin", "metformin", "sildenafil", "tadalafil", "oxycodone", "ibuprofen",
    "paracetamol", "amoxicillin", "atorvastatin", "polyethylene glycol", "acetylcysteine",
    "codeine", "diazepam", "semaglutide", "tramadol",
)  # fmt: skip


@pytest.fixture(scope="module")
def corpus() -> list[Message]:
    return messages()


@pytest.fixture(scope="module")
def card() -> str:
    return CARD.read_text("utf-8")


def names_medicine(text: str) -> bool:
    return any(re.search(rf"\b{name}\b", text, re.IGNORECASE) for name in MEDICINES)


def is_mostly_capitals(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return sum(letter.isupper() for letter in letters) > len(letters) / 2


def makes_amount_every_period(text: str) -> bool:
    pattern = r"\bmake \$?\d[\d,.]* (every|per|an?) (hour|day|week|month|year)"
    return re.search(pattern, text, re.IGNORECASE) is not None


RULES = (names_medicine, is_mostly_capitals, makes_amount_every_period)


class TestComposition:
    def test_file_is_the_one_the_chapters_were_written_with(self):
        content = files("softlookup.data").joinpath("messages.tsv").read_bytes()
        assert hashlib.sha256(content).hexdigest() == SHA256

    def test_every_line_becomes_one_message(self, corpus):
        lines = files("softlookup.data").joinpath("messages.tsv").read_text("utf-8").split("\n")
        assert lines[0] == "class\tkind\ttext"
        assert lines[-1] == ""
        written = ["\t".join((CLASSES[m.spam], m.kind, m.text)) for m in corpus]
        assert written == lines[1:-1]

    def test_size_and_balance(self, corpus):
        share = sum(message.spam for message in corpus) / len(corpus)
        assert len(corpus) >= 440
        assert 0.38 <= share <= 0.42

    def test_first_message(self, corpus):
        start = "Dear winner, the international lottery"
        assert corpus[0].text.startswith(start)
        assert (corpus[0].spam, corpus[0].kind) == (True, "prize")

    def test_every_kind_holds_both_classes(self, corpus):
        counts = Counter((message.kind, message.spam) for message in corpus)
        assert {kind for kind, _ in counts} == set(KINDS)
        assert min(counts[kind, spam] for kind in KINDS for spam in (True, False)) >= 10

    def test_classes_are_mixed(self, corpus):
        for start in range(0, len(corpus) - 50, 50):
            share = sum(message.spam for message in corpus[start : start + 50]) / 50
            assert 0.2 <= share <= 0.6

    def test_a_new_list_each_time(self):
        messages().clear()
        assert messages()

    def test_messages_are_frozen(self, corpus):
        with pytest.raises(AttributeError):
            corpus[0].spam = False


class TestText:
    def test_lengths(self, corpus):
        lengths = [len(word_tokens(message.text)) for message in corpus]
        assert (min(lengths), max(lengths)) == (4, 58)

    def test_one_clean_line_each(self, corpus):
        for message in corpus:
            assert message.text == " ".join(message.text.split())
            assert message.text.isprintable()

    def test_no_two_are_nearly_alike(self, corpus):
        words = [set(word_tokens(message.text)) for message in corpus]
        for (i, first), (j, second) in combinations(enumerate(words), 2):
            overlap = len(first & second) / len(first | second)
            assert overlap < 0.5, (corpus[i].text, corpus[j].text)

    def test_no_six_words_in_a_row_come_twice(self, corpus):
        counts = Counter(phrase for m in corpus for phrase in set(ngrams(word_tokens(m.text), 6)))
        assert [phrase for phrase, count in counts.items() if count > 1] == []

    def test_hosts_belong_to_nobody(self, corpus):
        pattern = r"(?:https?://|www\.|@)([\w.-]+)|\b([\w-]+\.(?:com|net|org|io|co|info|ru))\b"
        found = 0
        for message in corpus:
            for hosts in re.findall(pattern, message.text):
                host = next(filter(None, hosts)).rstrip(".").lower()
                if host == "dalaf1l":  # an a in disguise, no address
                    continue
                found += 1
                assert re.search(r"(^|\.)(example|example\.(com|org|net))$", host), message.text
        assert found > 50

    def test_telephone_numbers_belong_to_nobody(self, corpus):
        found = 0
        for message in corpus:
            assert not re.search(r"\+\d{2}|\d{3}[ -]\d{3}[ -]\d{3,4}|\b\d{7,}\b", message.text)
            for number in re.findall(r"\b\d{3,5}[ -]\d{4}\b", message.text):
                found += 1
                assert re.fullmatch(r"555-01\d\d", number), message.text
        assert found > 10


class TestHardness:
    @pytest.mark.parametrize("rule", RULES)
    def test_each_rule_fires_in_both_classes(self, corpus, rule):
        fired = Counter(message.spam for message in corpus if rule(message.text))
        assert fired[False] >= 4
        assert fired[True] >= 8

    def test_two_word_medicine_occurs_in_both_classes(self, corpus):
        named = {m.spam for m in corpus if "polyethylene glycol" in m.text.lower()}
        assert named == {True, False}

    def test_rules_are_a_weak_baseline(self, corpus):
        truth = [message.spam for message in corpus]
        predicted = [any(rule(message.text) for rule in RULES) for message in corpus]
        assert 0.4 < precision_score(truth, predicted) < 0.8
        assert 0.1 < recall_score(truth, predicted) < 0.4

    def test_counting_words_works_but_not_always(self, corpus):
        train, test = split(corpus)
        vectorizer = CountVectorizer(analyzer=word_tokens)
        x = vectorizer.fit_transform([message.text for message in train])
        model = LogisticRegression(max_iter=2000).fit(x, [message.spam for message in train])
        predicted = model.predict(vectorizer.transform([message.text for message in test]))
        assert 0.9 <= f1_score([message.spam for message in test], predicted) < 0.97


class TestSplit:
    def test_parts_are_disjoint_and_complete(self, corpus):
        train, test = split(corpus)
        assert sorted(m.text for m in train + test) == sorted(m.text for m in corpus)
        assert not {m.text for m in train} & {m.text for m in test}

    def test_order_is_kept(self, corpus):
        place = {message.text: i for i, message in enumerate(corpus)}
        for part in split(corpus):
            assert [place[m.text] for m in part] == sorted(place[m.text] for m in part)

    def test_each_class_and_kind_gives_every_fourth(self, corpus):
        everywhere = Counter((m.spam, m.kind) for m in corpus)
        tested = Counter((m.spam, m.kind) for m in split(corpus)[1])
        assert tested == {group: count // 4 for group, count in everywhere.items()}

    def test_is_the_same_each_time(self, corpus):
        assert split(corpus) == split(messages())

    def test_by_hand(self):
        letters = [Message(c, spam=c in "bdfh", kind="shop") for c in "abcdefghi"]
        train, test = split(letters, test_every=2)
        assert "".join(m.text for m in train) == "abefi"
        assert "".join(m.text for m in test) == "cdgh"

    def test_same_class_of_two_kinds_is_counted_apart(self):
        mixed = [Message("one", True, "bank"), Message("two", True, "shop")] * 2
        assert split(mixed, test_every=2) == (mixed[:2], mixed[2:])

    def test_no_messages_give_two_empty_parts(self):
        assert split([]) == ([], [])

    @pytest.mark.parametrize("test_every", [1, 0, -4])
    def test_refuses_a_split_without_training_messages(self, test_every):
        rule = rf"test_every must be an integer of at least 2; got test_every={test_every}"
        with pytest.raises(ValueError, match=rule):
            split([], test_every=test_every)

    @pytest.mark.bad_input
    def test_refuses_a_fraction(self):
        with pytest.raises(ValueError, match="test_every must be an integer of at least 2; got"):
            split([], test_every=0.25)


class TestCard:
    """The tables of the data card say what the data say."""

    def rows(self, card: str, heading: str) -> list[list[str]]:
        section = card.split(f"{heading}\n", 1)[1].split("\n#", 1)[0]
        table = [line for line in section.split("\n") if line.startswith("|")][2:]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]

    def test_composition(self, card, corpus):
        counts = Counter((message.kind, message.spam) for message in corpus)
        rows = [[kind, counts[kind, False], counts[kind, True]] for kind in KINDS]
        n_spam = sum(message.spam for message in corpus)
        rows.append(["**all**", len(corpus) - n_spam, n_spam])
        expected = [[kind, str(ham), str(spam), str(ham + spam)] for kind, ham, spam in rows]
        assert self.rows(card, "### What they hold") == expected

    def test_division(self, card, corpus):
        expected = []
        for name, part in zip(("train", "test"), split(corpus), strict=True):
            n_spam = sum(message.spam for message in part)
            expected.append([name, str(len(part) - n_spam), str(n_spam), str(len(part))])
        assert self.rows(card, "### How they are divided") == expected

    def test_lengths(self, card, corpus):
        lengths = [len(word_tokens(message.text)) for message in corpus]
        assert f"has {min(lengths)} words, the longest {max(lengths)}." in card

    def test_public_data_sets(self, card):
        def loader(name):
            return name if hasattr(data, name) else f'load_pretrained("{name}")'

        expected = [
            [f"[{s.title}]({s.home})", f"`{loader(name)}`", s.holds, s.makers, s.licence]
            for name, s in SOURCES.items()
        ]
        assert self.rows(card, "## Public data sets") == expected


def test_the_lectures_two_sentences_stand_in_one_place():
    """Figure, exercises and cells have the same two documents."""
    from softlookup.exercises import counting
    from softlookup.show.figures import tfidf_bench

    assert counting.SLIDE is tfidf_bench.LECTURE is LECTURE_SENTENCES
    cells = registry.by_name()["counting_words"].path.read_text(encoding="utf-8")
    for i, text in enumerate(LECTURE_SENTENCES, start=1):
        assert rf"x{i} = \"{text}\"" in cells or "x1, x2 = LECTURE_SENTENCES" in cells
