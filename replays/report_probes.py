"""One probe on the page of a report. Everything that comes from chat is escaped, and kept from turning the line around it."""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from replays.explain import REASONS, fate, missed
from replays.results import Answer

Json = dict[str, Any]
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def probe_card(answer: Answer) -> str:
    """Return a probe as a card that opens: question, what was wanted, what was found, and the text of the prompt."""
    case, verdicts = answer.case, verdicts_of(answer)
    question = " / ".join(_text(f"{line['who']}: {line['text']}") for line in case["batch"])
    tags = "".join(f"<span class='tag {kind}'>{escape(label)}</span>" for kind, label in _tags(verdicts))
    summary = f"<summary><span class=id>{_text(case['id'])}</span><span class=question><bdi>{question}</bdi></span>{tags}"
    category = f"<span class=tag>{escape(case['category'])}</span></summary>"
    body = "".join(part for section in (_wanted, _found, _left_out, _plan, _prompt) for part in section(answer))
    words = escape(" ".join(verdicts) or "fine")
    return (
        f'<details class=probe data-category="{escape(case["category"])}" data-verdict="{words}">{summary}{category}'
        f"<div class=body>{body}</div></details>"
    )


def verdicts_of(answer: Answer) -> list[str]:
    """Return what is wrong with an answer, in words that the page filters by; empty where all is well."""
    verdict = answer.trace["verdict"]
    wrong = []
    if missed(answer):
        wrong.append("missed")
    if verdict["answer_coverage"] and not verdict["answer_coverage"][0]:
        wrong.append("unanswered")
    if any(verdict[name] and verdict[name][0] for name in ("misattribution_rate", "stale_rate")):
        wrong.append("wrong")
    if answer.case["abstain"] != answer.result["abstained"]:
        wrong.append("silence")
    return wrong


def _tags(verdicts: list[str]) -> Iterator[tuple[str, str]]:
    words = {
        "missed": "evidence missed",
        "unanswered": "answer missing",
        "wrong": "wrong or outdated",
        "silence": "abstention wrong",
    }
    yield from (("bad", words[verdict]) for verdict in verdicts)
    if not verdicts:
        yield "good", "fine"


def _wanted(answer: Answer) -> Iterator[str]:
    case = answer.case
    gone = {gold["id"] for gold in missed(answer)}
    yield "<h4>Wanted</h4><ul>"
    for gold in case["gold"]:
        kind = "bad" if gold["id"] in gone else "good"
        yield f"<li class={kind}>{_statement(gold)} <span class=soft>{_text(fate(gold['id'], answer))}</span></li>"
    if case["abstain"]:
        kind = "good" if answer.result["abstained"] else "bad"
        yield f"<li class={kind}>to admit that the memory does not know</li>"
    elif not case["gold"]:
        yield "<li>nothing from memory</li>"
    if case["answers"] or case["answers_all"]:
        yield f"<li>answer: {_text(' | '.join(case['answers']))}{_text(' + '.join(case['answers_all']))}</li>"
    yield from (f"<li>not as a fact: {_statement(bad)}</li>" for bad in case["forbidden"])
    if case["forbidden_text"]:
        yield f"<li>not as current: {_text(' | '.join(case['forbidden_text']))}</li>"
    yield "</ul>"


def _found(answer: Answer) -> Iterator[str]:
    gold, forbidden = ({one["id"] for one in answer.case[key]} for key in ("gold", "forbidden"))
    history = len(answer.result["items"]) - len(answer.retrieved)
    yield f"<h4>Recalled ({len(answer.retrieved)}, beside {history} of recent history)</h4><ul>"
    for item in answer.retrieved:
        sources = set(item["provenance"])
        kind = " class=good" if sources & gold else " class=bad" if sources & forbidden else ""
        yield f"<li{kind}>{_text(item['text'])} <span class=soft>{_text(item['source'])}, {item['score']:.3f}</span></li>"
    yield "</ul>"


def _left_out(answer: Answer) -> Iterator[str]:
    left_out = answer.trace["left_out"]
    if not left_out:
        return
    yield f"<details><summary class=soft>left out: {len(left_out)}</summary><ul>"
    for left in left_out:
        why = REASONS.get(left["reason"], left["reason"])
        yield f"<li>{_text(', '.join(left['provenance']))}: {_text(why)} ({left['score']:.3f}, {_text(left['source'])})</li>"
    yield "</ul></details>"


def _plan(answer: Answer) -> Iterator[str]:
    reasons = answer.trace["reasons"]
    if not reasons:
        return
    yield "<details><summary class=soft>why it looked there</summary><ul>"
    yield from (f"<li>{_text(reason)}</li>" for reason in reasons)
    yield "</ul></details>"


def _prompt(answer: Answer) -> Iterator[str]:
    marked = _marked(answer.result["block"], [*answer.case["answers"], *answer.case["answers_all"]])
    yield f"<h4>In the prompt ({answer.result['block_tokens']} tokens of memory)</h4><pre>{marked}</pre>"
    if answer.result["reply"] is not None:
        yield f"<h4>Reply</h4><p>{_text(answer.result['reply'])}</p>"


def _marked(block: str, answers: list[str]) -> str:
    words = [re.escape(answer) for answer in answers if answer.strip()]
    if not words:
        return _text(block)
    pieces = re.split(f"({'|'.join(words)})", block, flags=re.IGNORECASE)
    return "".join(f"<mark>{_text(piece)}</mark>" if place % 2 else _text(piece) for place, piece in enumerate(pieces))


def _statement(statement: Json) -> str:
    return (
        f"<bdi>{_text(statement['who'])}: “{_text(statement['text'])}”</bdi> <span class=soft>{_text(statement['id'])}</span>"
    )


def _text(text: object) -> str:
    """Return text that is text alone on a page: escaped, without controls or marks that turn the writing around."""
    return escape(_CONTROLS.sub("�", str(text)))
