import json
from pathlib import Path
from typing import Any

import pytest
from builders_benchmarks import a_case, a_journal, a_precision_folder, a_question, a_sample, a_turn, an_instance, write

from replays.benchmarks.feeding import as_archive, chat_lines
from replays.benchmarks.loading import BenchmarkError
from replays.benchmarks.locomo_file import Repairs, read_locomo
from replays.benchmarks.longmemeval_file import list_instances, read_instance, session_of, turn_of
from replays.benchmarks.precision_file import read_precision


def test_locomo_sessions_keep_their_dates_and_pictures_and_missing_ones_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "locomo.json", [a_sample(a_question("Who?", "D1:1", answer=7))])
    [conversation] = read_locomo(path, Repairs())
    first, second = conversation.sessions
    assert (first.at.isoformat(), second.at.isoformat()) == ("2023-05-08T13:56:00+00:00", "2023-06-09T08:00:00+00:00")
    assert first.lines[1].text.endswith("[picture: red tulips]")
    assert conversation.authors["D1:2"] == conversation.speakers[1].id
    assert conversation.questions[0].answer == "7"


def test_malformed_evidence_is_read_where_it_names_turns_and_counted(tmp_path: Path) -> None:
    questions = [a_question("A?", "D1:1; D2:2"), a_question("B?", "D:1:3"), a_question("C?", "D"), a_question("D?", "D4:36")]
    repairs = Repairs()
    [conversation] = read_locomo(write(tmp_path / "locomo.json", [a_sample(*questions)]), repairs)
    assert [asked.gold for asked in conversation.questions] == [("D1:1", "D2:2"), ("D1:3",), (), ()]
    assert repairs.counts["malformed evidence read"] == 2
    assert repairs.counts["evidence that names no turn"] == 1
    assert repairs.counts["evidence that does not exist"] == 1
    assert repairs.counts["questions without evidence: no recall"] == 2


def test_the_audit_beside_the_file_corrects_keys(tmp_path: Path) -> None:
    error = {"sample_id": "conv-1", "qa_index": 0, "error_type": "WRONG_CITATION"}
    write(tmp_path / "errors.json", [{**error, "correct_evidence": ["D1:3"], "correct_answer": "grey"}])
    repairs = Repairs()
    [conversation] = read_locomo(write(tmp_path / "l.json", [a_sample(a_question("A?", "D1:1", answer="red"))]), repairs)
    assert (conversation.questions[0].gold, conversation.questions[0].answer) == (("D1:3",), "grey")
    assert repairs.counts == {"corrected key: WRONG_CITATION": 1}


@pytest.mark.parametrize(
    ("sample", "field"),
    [
        ({"sample_id": "x"}, r"\[0\]\.conversation is missing"),
        (a_sample(a_question("A?", category=9)), r"qa\[0\]\.category must be 1 to 5"),
        (a_sample({"question": "A?", "category": 1, "evidence": "D1:1"}), r"qa\[0\]\.evidence must be a list"),
        (a_sample(session_1_date_time="yesterday"), r"session_1_date_time must be a time"),
        (a_sample(session_1=[a_turn("D1:1", "Carl", "hi")]), r"session_1\[0\]\.speaker must be one of Noemi, Tobias"),
        ([], r"\[0\] must be an object"),
    ],
)
def test_a_locomo_file_of_another_version_is_refused_by_file_and_field(tmp_path: Path, sample: object, field: str) -> None:
    path = write(tmp_path / "other.json", [sample])
    with pytest.raises(BenchmarkError, match=field) as refused:
        read_locomo(path, Repairs())
    assert "other.json" in str(refused.value)


def test_a_file_that_is_absent_empty_or_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="cannot be read"):
        read_locomo(tmp_path / "none.json", Repairs())
    with pytest.raises(BenchmarkError, match="holds no conversation"):
        read_locomo(write(tmp_path / "empty.json", []), Repairs())
    (tmp_path / "text.json").write_text("hello")
    with pytest.raises(BenchmarkError, match="is not JSON"):
        read_locomo(tmp_path / "text.json", Repairs())
    with pytest.raises(BenchmarkError, match="must be a list of objects, not dict"):
        read_locomo(write(tmp_path / "dict.json", {}), Repairs())


def test_an_instance_leaves_out_what_comes_after_the_question(tmp_path: Path) -> None:
    path = write(tmp_path / "lme.json", [an_instance()])
    instance = read_instance(list_instances(path)[0])
    assert ([session.id for session in instance.sessions], instance.later) == (["s1", "s2"], 1)
    assert instance.gold_turns == frozenset({"s1/0"})
    assert {line.is_bot for line in instance.sessions[0].lines} == {False, True}
    assert all(len(line.text) <= 500 for session in instance.sessions for line in session.lines)
    assert (turn_of("s1/0#2"), session_of("s1/0")) == ("s1/0", "s1")


def test_missing_flags_are_unknown_and_not_wrong(tmp_path: Path) -> None:
    bare = an_instance()
    for turn in bare["haystack_sessions"][0]:
        turn.pop("has_answer", None)
    [listed] = list_instances(write(tmp_path / "lme.json", [bare]))
    assert read_instance(listed).gold_turns is None


def test_a_folder_lists_instances_with_the_audits_answer(tmp_path: Path) -> None:
    write(tmp_path / "instances" / "q1_abs.json", an_instance("q1_abs", answer=3))
    entry = {"question_id": "q1_abs", "question_type": "multi-session", "instance": "instances/q1_abs.json"}
    write(tmp_path / "questions.json", [{**entry, "audit_answer": "four"}])
    instance = read_instance(list_instances(tmp_path)[0])
    assert (instance.answer, instance.audit_answer, instance.abstention) == ("3", "four", True)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"question_type": "riddle"}, "question_type must be one of"),
        ({"question_date": "30 May"}, "question_date must be a time"),
        ({"haystack_dates": ["2023/05/20 (Sat) 02:21"]}, "haystack_sessions must be as long as"),
        ({"haystack_dates": ["x", "y", "z"]}, r"haystack_dates\[0\] must be a time"),
        ({"haystack_sessions": [[{"role": "narrator", "content": ""}], [], []]}, "role must be user or assistant"),
    ],
)
def test_a_longmemeval_file_of_another_version_is_refused(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    path = write(tmp_path / "lme.json", [an_instance(**changes)])
    with pytest.raises(BenchmarkError, match=field):
        read_instance(list_instances(path)[0])


def test_an_empty_longmemeval_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="holds no question"):
        list_instances(write(tmp_path / "lme.json", []))


def test_a_case_that_names_an_unknown_belief_is_refused(tmp_path: Path) -> None:
    claim = {"relevantBeliefs": {"shouldOnlyInclude": ["ghost"]}}
    folder = a_precision_folder(tmp_path, [a_case("c", "What?", expect=claim)])
    with pytest.raises(BenchmarkError, match="case c names 'ghost'"):
        read_precision(folder)


def test_long_texts_are_cut_at_white_space_into_chat_lines() -> None:
    assert chat_lines("aa bb  cc\ndd", 5) == ["aa bb", "cc dd"]
    assert chat_lines("a" * 12, 5) == ["aaaaa", "aaaaa", "aa"]
    assert chat_lines("   ") == []


def test_the_archive_is_one_viewer_whose_lines_name_their_speakers(tmp_path: Path) -> None:
    [conversation] = read_locomo(write(tmp_path / "l.json", [a_sample()]), Repairs())
    lines = [line for session in as_archive(conversation.sessions) for line in session.lines]
    assert len({line.speaker.id for line in lines}) == 1
    assert lines[0].text.startswith("Noemi: ")
    assert [line.id for line in lines] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2"]


def test_a_journal_goes_on_where_a_run_was_cut_off(tmp_path: Path) -> None:
    a_journal(tmp_path).add({"id": "a", "category": "x"})
    path = tmp_path / "questions.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id": "b", "cat')
    journal = a_journal(tmp_path)
    assert journal.missing(["a", "b"]) == {"b"}
    journal.add({"id": "b"})
    assert [json.loads(line).get("id") for line in path.read_text().splitlines()] == [None, "a", "b"]


def test_a_journal_of_another_run_is_refused(tmp_path: Path) -> None:
    a_journal(tmp_path, settings="one")
    with pytest.raises(BenchmarkError, match="holds another run"):
        a_journal(tmp_path, settings="two")


@pytest.mark.parametrize("damage", [b"{broken\n", b"[1]\n", b'{"id": 3}\n', b"\xff\xfe\n"])
def test_a_damaged_line_of_a_journal_is_named_and_nothing_is_lost(tmp_path: Path, damage: bytes) -> None:
    a_journal(tmp_path).add({"id": "a"})
    path = tmp_path / "questions.jsonl"
    before = path.read_bytes() + damage + b'{"id": "b"}\n'
    path.write_bytes(before)
    with pytest.raises(BenchmarkError, match=r"questions\.jsonl, line 3: damaged"):
        a_journal(tmp_path)
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchmarkError, match="cannot be written"):
        a_journal(tmp_path / "file" / "below")
