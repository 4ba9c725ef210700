"""Probes as cases: what is read, and what is refused by file, line and field."""

from pathlib import Path
from typing import Any

import pytest
from builders_eval import NOTHING, WHERE, Line, a_log, at, online, probe, replied, said, written

from lore.entry import LoreEntry
from replays.cases import CATEGORIES, AnnotatedLog, CaseError, read_annotated

LANTERN = LoreEntry(id="lanterna", title="The lantern", aliases=("lanterna",), text="It never goes out.", digest="0")


def read(path: Path, *lines: Line) -> AnnotatedLog:
    return read_annotated(written(path / "chat.jsonl", lines), [LANTERN], name="chat")


def test_a_probe_is_read_with_everything_that_scores_it(tmp_path: Path) -> None:
    keys: dict[str, Any] = {
        "gold": ["m1"],
        "answers_all": ["a", "b"],
        "answer_inferred": True,
        "forbidden": ["m2"],
        "forbidden_text": ["Padova"],
        "abstain": True,
        "settle": False,
        "as_of": at(3),
    }
    [case] = read(tmp_path, *a_log(probe("p1", "dove abito?", category="temporal", **keys))).cases
    assert (case.id, case.category, case.batch[0].text) == ("p1", "temporal", "dove abito?")
    assert (case.gold, case.forbidden) == (frozenset({"m1"}), frozenset({"m2"}))
    assert (case.answers, case.answers_all, case.forbidden_text) == ((), ("a", "b"), ("Padova",))
    assert (case.answer_inferred, case.abstain, case.settle) == (True, True, False)
    assert case.as_of is not None


def test_what_a_probe_leaves_out_has_the_defaults_of_the_contract(tmp_path: Path) -> None:
    [case] = read(tmp_path, *a_log(NOTHING)).cases
    assert (case.gold, case.answers, case.abstain, case.settle, case.as_of) == (frozenset(), (), False, True, None)


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_of_the_contract_is_known(tmp_path: Path, category: str) -> None:
    assert read(tmp_path, *a_log(probe("p1", "?", category=category))).cases[0].category == category


def test_gold_may_be_a_reply_a_command_a_notice_lore_or_state(tmp_path: Path) -> None:
    lines = [
        online(),
        replied("r1", "certo"),
        {"type": "command", "id": "k1", "at": at(2), "user": {"id": "1", "login": "anna", "name": "Anna"}, "text": "!x"},
        {"type": "notice", "id": "n1", "at": at(3), "kind": "sub", "user": {"id": "1", "login": "anna", "name": "Anna"}},
        {"type": "state", "at": at(4), "tool": "note_set", "arguments": {"id": "st1", "viewer": "1", "text": "spesa"}},
    ]
    gold = ["r1", "k1", "n1", "lore:lanterna", "state:st1"]
    log = read(tmp_path, *lines, probe("p1", "?", gold=gold))
    assert log.cases[0].gold == set(gold)
    assert log.known.statements["state:st1"].text == "viewer=1 text=spesa"
    assert log.known.statements["lore:lanterna"].who == "The lantern"
    assert log.known.statements["n1"].text == "sub"


def test_what_the_bot_said_was_written_by_the_bot(tmp_path: Path) -> None:
    known = read(tmp_path, online(), said("m1", "ciao"), replied("r1", "ciao Anna"), probe("p1", "?")).known
    assert known.authors == {"m1": "1", "r1": "9"}
    assert known.statements["r1"].who == "Memo"


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (probe("p1", "?", category="gossip"), "line 44, category: 'gossip' is not one of recall, "),
        ({**WHERE, "batch": []}, "line 44, batch: is empty"),
        (probe("p1", "?", gold="m1"), "line 44, gold: must be a list of strings, not 'm1'"),
        (probe("p1", "?", answers=[3]), "line 44, answers: must be a list of strings"),
        (probe("p1", "?", abstain="yes"), "line 44, abstain: must be true or false, not 'yes'"),
        (probe("p1", "?", gold=["m1", "m99"]), "line 44, gold: 'm99' stands nowhere in the log or its canon"),
        (probe("p1", "?", forbidden=["lore:nessuno"]), "line 44, forbidden: 'lore:nessuno' stands nowhere"),
        ({**WHERE, "at": "yesterday"}, "line 44, at:"),
        ({**WHERE, "batch": [WHERE["batch"][0], {"id": "q2"}]}, "line 44, batch[1].at:"),
        ({**WHERE, "settle": "no"}, "line 44, settle:"),
    ],
)
def test_a_probe_that_cannot_be_used_is_named_by_file_line_and_field(tmp_path: Path, bad: Line, problem: str) -> None:
    with pytest.raises(CaseError) as refused:
        read(tmp_path, *a_log(bad))
    assert str(refused.value).startswith(f"chat.jsonl, {problem}")


def test_two_probes_of_one_id_are_refused_with_both_lines(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"chat\.jsonl, line 45, id: 'p1' is used on line 44 already"):
        read(tmp_path, *a_log(WHERE, WHERE))


def test_a_log_without_probes_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"chat\.jsonl: the log has no probes\. Annotate some \(docs/evaluation\.md\)"):
        read(tmp_path, *a_log())


def test_a_line_that_cannot_be_read_is_refused_and_an_unknown_type_is_not(tmp_path: Path) -> None:
    assert len(read(tmp_path, *a_log({"type": "hologram"}, WHERE)).cases) == 1
    path = written(tmp_path / "chat.jsonl", a_log(WHERE))
    path.write_text(path.read_text() + "{half a line\n")
    with pytest.raises(CaseError, match=r"chat\.jsonl, line 46, not JSON"):
        read_annotated(path, [], name="chat")
