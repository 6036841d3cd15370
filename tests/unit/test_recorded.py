"""Recorded results: whole, still those of the code, and computed anew where that is quick."""

import json
import math
import re
import textwrap
from collections import Counter, defaultdict
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from softlookup.data import SOURCES
from softlookup.language_models import NGramModel, ngram
from softlookup.recorded import (
    EXPERIMENTS,
    Record,
    differences,
    ngram_shakespeare,
    recomputed,
    recorded,
)
from softlookup.recorded import __main__ as command
from softlookup.recorded import experiment as experiment_module
from softlookup.recorded import record as record_module
from softlookup.recorded import version as version_module
from softlookup.recorded.experiment import FOLDER, data_of, experiment_of
from softlookup.recorded.record import data_checksums, record, small_part
from softlookup.recorded.version import code_version, used_by
from softlookup.show import show_recorded

in_each = pytest.mark.parametrize("name", EXPERIMENTS)

EXAMPLE = Record(
    name="ngram_shakespeare",
    date="2026-11-02",
    seconds=31.4,
    data={"Tiny Shakespeare": {"tinyshakespeare.txt": "0" * 64}},
    code="0" * 16,
    seed=0,
    results={},
    small={},
)


# What is recorded


def provenance_faults(result: Record) -> list[str]:
    """What is missing of where a result comes from, or stands in its file and must not."""
    experiment, found = experiment_of(result.name), []
    if result.data != data_checksums(experiment) or not result.data:
        found.append("data: other checksums than in SOURCES")
    if not re.fullmatch("[0-9a-f]{16}", result.code):
        found.append("code: no version")
    if result.seed != experiment.SEED:
        found.append("seed: another than the experiment's")
    if not isinstance(result.seconds, float) or not 0 < result.seconds < math.inf:
        found.append("seconds: no time")
    if not date(2026, 1, 1) <= date.fromisoformat(result.date) <= date.today():
        found.append("date: not a day that has been")
    text = json.dumps(asdict(result), ensure_ascii=False)
    if re.search(r"(?<![\w.])/(home|root|tmp|usr|work|Users|var|opt)/|[A-Z]:\\\\|https?://", text):
        found.append("a path of the machine, or an address")
    return found


@in_each
def test_a_result_says_where_it_comes_from(name):
    assert recorded(name).name == name
    assert provenance_faults(recorded(name)) == []


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"data": {}}, "data: "),
        ({"data": EXAMPLE.data}, "data: "),
        ({"code": "unknown"}, "code: "),
        ({"seed": 77}, "seed: "),
        ({"seconds": 0.0}, "seconds: "),
        ({"date": "2999-01-01"}, "date: "),
        ({"results": {"file": "/home/somebody/text"}}, "a path"),
    ],
)
def test_a_fault_in_the_provenance_is_found(fault, words):
    (found,) = provenance_faults(replace(recorded("ngram_shakespeare"), **fault))
    assert found.startswith(words)


@in_each
def test_a_result_belongs_to_the_code_of_today(name):
    now = code_version(experiment_of(name))
    assert recorded(name).code == now, f"the code changed; run make record NAME={name}"


@in_each
def test_the_small_part_is_the_same_when_it_is_computed_anew(name):
    now = json.loads(json.dumps(small_part(name)))
    found = differences(recorded(name).small, now, "small")
    assert not found, f"run make record NAME={name}, or repair the library: {found}"


def test_every_experiment_has_its_result_and_every_result_its_experiment():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(EXPERIMENTS)


def test_a_changed_library_changes_the_small_part(monkeypatch):
    """A fault that the version of the code does not see: in what an imported function calls."""
    before = recorded("ngram_shakespeare").small
    counts = ngram.follower_counts

    def one_too_many(texts: list, n: int) -> dict:
        return {h: row + Counter(row.keys()) for h, row in counts(texts, n).items()}

    monkeypatch.setattr(ngram, "follower_counts", one_too_many)
    found = differences(before, small_part("ngram_shakespeare"), "small")
    assert any("bits_counted" in line for line in found)


# Reading, comparing, showing


def test_an_unknown_name_is_refused():
    known = ", ".join(map(repr, EXPERIMENTS))
    rule = f"name must be one of {known}; got name='ngram_milton'"
    for ask in recorded, recomputed, record, data_of, experiment_of:
        with pytest.raises(ValueError, match=re.escape(rule)):
            ask("ngram_milton")


def test_what_was_never_recorded_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(record_module, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="run `make record NAME=ngram_shakespeare`"):
        recorded("ngram_shakespeare")


@pytest.mark.parametrize(
    ("before", "now", "line"),
    [
        (1.5, 1.5 + 1e-12, None),
        (1.5, 1.5 + 1e-6, "results was 1.5 and is now 1.500001"),
        (1, 1.0, "results was 1 and is now 1.0"),
        (1, True, "results was 1 and is now True"),
        ([1, 2], [1, 2, 3], "results was [1, 2] and is now [1, 2, 3]"),
        ({"a": 1}, {"b": 1}, "results was {'a': 1} and is now {'b': 1}"),
        ({"a": [{"b": "to be"}]}, {"a": [{"b": "to bee"}]},
         "results['a'][0]['b'] was 'to be' and is now 'to bee'"),
        (math.nan, math.nan, "results was nan and is now nan"),
    ],
)  # fmt: skip
def test_differences_name_each_place(before, now, line):
    assert differences(before, now) == ([] if line is None else [line])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (31.4, "31 s"), (99.4, "99 s"), (100.0, "2 min"), (5400.0, "90 min"),
     (7500.0, "2 h 5 min")],
)  # fmt: skip
def test_the_mark_says_when_with_what_and_how_long(seconds, words):
    mark = replace(EXAMPLE, seconds=seconds).mark()
    assert mark == f"Recorded on 2 November 2026 with Tiny Shakespeare; this run took {words}."


def test_the_mark_of_two_data_sets_names_both():
    both = {"Multi30k": {}, "Tiny Shakespeare": {}}
    assert "with Multi30k and Tiny Shakespeare;" in replace(EXAMPLE, data=both).mark()


def test_show_recorded_shows_the_mark(monkeypatch):
    shown = []
    monkeypatch.setattr("softlookup.show.recorded.display", lambda page, raw: shown.append(page))
    show_recorded(replace(EXAMPLE, data={"Tales & songs": {}}))
    (page,) = shown
    assert page["text/plain"].endswith("with Tales & songs; this run took 31 s.")
    assert page["text/html"].startswith('<p class="sl-recorded"><em>Recorded on 2 November 2026')
    assert page["text/html"].endswith("with Tales &amp; songs; this run took 31 s.</em></p>")


# Recording


@pytest.fixture
def trial(monkeypatch, tmp_path) -> Path:
    """A folder to write to, and an experiment that counts the words of what it is given."""

    def run(text: str, *, times: int = 1) -> dict:
        return {"words": times * len(text.split())}

    module = SimpleNamespace(
        __name__="trial", DATA=("tiny_shakespeare", "sms_spam"), SEED=5, run=run,
        load=lambda: "to be or not to be", run_small=lambda: run("to be"),
    )  # fmt: skip
    for place in experiment_module, record_module:
        monkeypatch.setattr(place, "EXPERIMENTS", ("trial",))
    monkeypatch.setattr("importlib.import_module", lambda name: module)
    monkeypatch.setattr(record_module, "FOLDER", tmp_path)
    monkeypatch.setattr(record_module, "code_version", lambda module: "0123456789abcdef")
    return tmp_path / "trial.json"


def test_record_writes_what_recorded_reads(trial):
    written = record("trial")
    assert recorded("trial") == written
    assert (written.results, written.small) == ({"words": 6}, {"words": 2})
    assert (written.code, written.seed) == ("0123456789abcdef", 5)
    assert written.date == date.today().isoformat()
    assert written.data == {
        SOURCES[name].title: {file.name: file.sha256 for file in SOURCES[name].files.values()}
        for name in ("tiny_shakespeare", "sms_spam")
    }


def test_with_the_data_at_hand_a_part_is_computed_anew(trial):
    assert recomputed("trial") == {"words": 6}
    assert recomputed("trial", times=2) == {"words": 12}


def test_whatever_a_chapter_computes_in_it_is_computed_as_it_was_recorded(trial, monkeypatch):
    def run(*data: str) -> dict:
        return {"dtype": str(torch.get_default_dtype())}

    experiment = record_module.experiment_of("trial")
    monkeypatch.setattr(experiment, "run", run)
    monkeypatch.setattr(experiment, "run_small", run)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        now, written, left = recomputed("trial"), record("trial"), torch.get_default_dtype()
    finally:
        torch.set_default_dtype(before)
    assert now == written.results == {"dtype": "torch.float32"}
    assert written.small == {"dtype": "torch.float64"}
    assert left == torch.float64


def test_without_the_data_record_says_why_and_recomputed_is_quiet(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path))
    monkeypatch.setattr(record_module, "FOLDER", tmp_path)
    rule = (
        "The data of ngram_shakespeare is not at hand. Tiny Shakespeare: not in the cache. "
        "tiny_shakespeare(download=True) fetches it."
    )
    with pytest.raises(ValueError, match=re.escape(rule)):
        record("ngram_shakespeare")
    assert recomputed("ngram_shakespeare") is None
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == ""


def test_numbers_that_are_none_are_not_written(trial, monkeypatch):
    trial.write_text("the old result")
    monkeypatch.setattr(experiment_of("trial"), "run", lambda text: {"bits": math.nan})
    with pytest.raises(ValueError, match="not JSON compliant"):
        record("trial")
    assert trial.read_text() == "the old result"


def test_the_command_records_or_says_what_is_missing(monkeypatch, capsys):
    known = ", ".join(EXPERIMENTS)
    monkeypatch.setattr("sys.argv", ["record", "ngram_shakespeare"])
    monkeypatch.setattr(command, "record", lambda name: replace(EXAMPLE, name=name))
    command.main()
    assert capsys.readouterr().out == f"{EXAMPLE.mark()}\n"
    monkeypatch.setattr("sys.argv", ["record"])
    with pytest.raises(SystemExit, match=rf"make record NAME=...; there are: {known}"):
        command.main()
    monkeypatch.setattr("sys.argv", ["record", "ngram_milton"])
    monkeypatch.setattr(command, "record", record)
    with pytest.raises(SystemExit, match=f"name must be one of '{EXPERIMENTS[0]}', "):
        command.main()


# The version of the code


def version_of(monkeypatch, module: str, *used: str) -> str:
    """The version of an experiment with this source, which uses functions with those sources."""
    things = {f"f{k}": textwrap.dedent(source) for k, source in enumerate(used)}
    with monkeypatch.context() as patch:
        patch.setattr(version_module, "used_by", lambda module: things)
        patch.setattr(version_module.inspect, "getsource", lambda thing: thing)
        return code_version(textwrap.dedent(module))


MODULE = '''
    """An experiment."""
    from softlookup.words import word_tokens
    RUN = 20
    def run(text):
        """Count."""
        return len(word_tokens(text)) + RUN  # all of them
'''
USED = "def word_tokens(text):\n    return text.split()"


@pytest.mark.parametrize(
    ("old", "new"),
    [("An experiment.", "Another word."), ("  # all of them", ""),
     ("Count.", "Count\n        all.\n        "),
     ("(text)) + RUN", "(\n            text\n        )) + RUN")],
)  # fmt: skip
def test_words_and_layout_leave_the_version_alone(monkeypatch, old, new):
    assert old in MODULE
    same = version_of(monkeypatch, MODULE.replace(old, new), USED)
    assert same == version_of(monkeypatch, MODULE, USED)


@pytest.mark.parametrize(
    ("old", "new"), [("RUN = 20", "RUN = 21"), ("+ RUN", "- RUN"), ("20", "20.0"), ("20", "'20'")]
)
def test_code_and_constants_change_the_version(monkeypatch, old, new):
    other = version_of(monkeypatch, MODULE.replace(old, new), USED)
    assert other != version_of(monkeypatch, MODULE, USED)


def test_a_function_that_the_experiment_imports_changes_the_version(monkeypatch):
    other = version_of(monkeypatch, MODULE, USED.replace("split()", "split(' ')"))
    assert other != version_of(monkeypatch, MODULE, USED)


def test_the_version_is_the_same_in_every_version_of_python(monkeypatch):
    assert version_of(monkeypatch, MODULE, USED) == "f3fb5237b3bc7ad1"


def test_an_experiment_uses_what_it_imports_by_name_and_the_bases_of_classes():
    assert set(used_by(ngram_shakespeare)) == {
        "softlookup.language_models.language_model.LanguageModel",
        "softlookup.language_models.language_model.known_words",
        "softlookup.language_models.language_model.perplexity",
        "softlookup.language_models.ngram.AddK",
        "softlookup.language_models.ngram.KneserNey",
        "softlookup.language_models.ngram.NGramModel",
        "softlookup.language_models.ngram.unseen_share",
    }


# The experiments


SPEECHES = [list("ab"), list("ab"), list("abab"), list("b")] * 5
HELD_OUT = [list("ab"), list("aa")]


def test_ngrams_of_two_letters_by_hand():
    row = ngram_shakespeare.count(SPEECHES, HELD_OUT, 2, shown=10, written=60)
    followers = defaultdict(Counter)
    for speech in SPEECHES:
        for before, after in zip(["<s>", *speech], [*speech, "</s>"], strict=True):
            followers[before][after] += 1
    assert row["histories"] == len(followers) == 3
    assert row["ngrams"] == sum(map(len, followers.values())) == 5
    assert row["one_follower"] == 1 / 3  # after a comes b, and nothing else
    assert row["unseen"] == 1 / 2  # ab was seen, aa was not
    assert row["impossible"] == 1 / 2
    total = sum(
        count * math.log2(count / sum(row.values()))
        for row in followers.values()
        for count in row.values()
    )
    n_tokens = sum(len(speech) + 1 for speech in SPEECHES)
    assert row["bits_counted"] == pytest.approx(-total / n_tokens, rel=1e-12)
    assert len(row["sample"]) == 10
    assert set(row["sample"]) <= {"a", "b", "\n"}


def test_the_share_that_is_copied_counts_runs_of_ten(monkeypatch):
    copied = "abcdefghijklmnopqrstuvwxyz"
    monkeypatch.setattr(ngram_shakespeare, "write", lambda model, length: copied + "!" * 10)
    row = ngram_shakespeare.count([list(copied)], HELD_OUT[:1], 2, shown=30, written=36)
    assert row["copied"] == 17 / 27  # 17 of the 27 runs have no exclamation mark
    assert row["longest_copy"] == copied


@pytest.mark.parametrize(
    ("sample", "source", "longest"),
    [("abcx", "xxabc", "abc"), ("xyz", "abc", ""), ("same", "same", "same"),
     ("abab", "ba ab", "ab"), ("a the cat sat", "the cat saw", "the cat sa")],
)  # fmt: skip
def test_the_longest_copy_is_the_longest_common_run(sample, source, longest):
    assert ngram_shakespeare.longest_copy(sample, source) == longest


def test_samples_are_drawn_from_the_seed_alone():
    model = NGramModel(SPEECHES, 2)
    first = ngram_shakespeare.write(model, 50)
    torch.manual_seed(99)
    assert ngram_shakespeare.write(model, 50) == first
    assert len(first) == 50
    assert "\n\n" in first


def test_a_tenth_of_the_speeches_is_held_out():
    text = "\n\n".join(["ab", "abab", "b"] * 10)
    found = ngram_shakespeare.run(text, orders=[2], shown=5, written=30)
    assert (found["counted_speeches"], found["held_out_speeches"]) == (27, 3)
    assert (found["counted_characters"], found["held_out_characters"]) == (63, 7)
    assert found["kinds_of_characters"] == 2
    assert [row["n"] for row in found["rows"]] == [2]


def test_the_recorded_rows_tell_the_lesson():
    """What the page may say of them: counts learn by heart, and what they write is a copy."""
    found = recorded("ngram_shakespeare").results
    assert [row["n"] for row in found["rows"]] == list(range(1, 9))
    columns = {key: [row[key] for row in found["rows"]] for key in found["rows"][0]}
    for key in "histories", "ngrams", "unseen", "impossible":
        assert columns[key] == sorted(columns[key])
    assert columns["bits_counted"] == sorted(columns["bits_counted"], reverse=True)
    lowest = min(columns["bits_add"])
    assert columns["bits_add"][-1] > lowest + 0.5  # adding gets worse again
    assert columns["bits_kneser_ney"][-1] < lowest
    assert columns["copied"][0] == 0
    assert columns["copied"][-1] > 2 * found["copied_by_held_out"]  # more than a poet repeats
    assert all(len(row["sample"]) == 200 for row in found["rows"])


def test_the_recorded_row_is_computed_anew_where_the_data_is_at_hand():
    now = recomputed("ngram_shakespeare", orders=[1])
    if now is None:
        pytest.skip("tiny Shakespeare is not in the cache")
    before = recorded("ngram_shakespeare").results
    before = {**before, "rows": before["rows"][:1]}
    assert differences(before, now) == []
