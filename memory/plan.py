"""The planner: where to look in this turn, and why. Deterministic, no model call, no I/O."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lore.entry import LoreEntry
from memory.ask import OWNED, Ask, Scene, ask_of, parent_of, without_names
from memory.language import Reading, language_of, read
from memory.model import Batch, KnownViewer, Plan, SourceKind, SourceRequest, Stream, Target, Window
from memory.names import NameIndex
from memory.recipes import Recipe
from memory.rules import DOMAINS, Rules
from memory.targets import around, ranked

FOLLOW_LINES = 4  # lines after the bot's answer in which its receiver may go on without naming it


def make_plan(  # noqa: PLR0913 - the planner's inputs, each of its own kind and named
    batch: Batch,
    window: Window,
    *,
    viewers: NameIndex | Sequence[KnownViewer],
    stream: Stream,
    past_streams: Sequence[Stream],
    lore: Sequence[LoreEntry],
    rules: tuple[Rules, ...],
    recipe: Recipe,
    back: frozenset[str] = frozenset(),
) -> Plan:
    """Return where to look for this batch: requests with queries, the viewers concerned, and the reason of every decision.

    `viewers` may be a prebuilt index: a sequence is indexed anew on each call. Ordinary chat gives a plan without requests, but
    for who is `back` after a while: their profile.
    """
    index = viewers if isinstance(viewers, NameIndex) else NameIndex(viewers)
    scene = Scene(
        batch=batch,
        window=window,
        who=around(batch, window, index, stream.bot.id),
        stream=stream,
        past=past_streams,
        lore=lore,
        rules=rules,
        recipe=recipe,
    )
    readings = _readings(scene)
    asks = [ask_of(reading, scene) for reading in readings]
    targets, reasons = _targets(readings, asks, scene)
    greeted = _greeted(asks, targets, back)
    requests = _switched_on(_merged([*_requests(asks, targets, scene), *greeted]), recipe)
    return Plan(
        requests=requests,
        targets=targets,
        reasons=(
            *(_told(asks) if asks else ("nobody wrote a message",)),
            *reasons,
            *(f"{request.name}: {request.why}" for request in requests),
        ),
        explicit_recall=any(ask.reading.recall and (ask.people or ask.covered) for ask in asks),
        asks_memory=any(_asks_memory(ask) for ask in asks),
        covered=any(ask.covered for ask in asks) and not any(_asks_memory(ask) for ask in asks),
        as_of=next((ask.as_of for ask in asks if ask.as_of), None),
        language=language_of((message.text for message in batch.messages), rules),
    )


def _readings(scene: Scene) -> list[Reading]:
    """Read the people's messages; one that goes on from a question to the bot counts as said to the bot."""
    bot = scene.stream.bot
    own_lines = {line.id for line in scene.window.lines if line.kind == "reply" or (line.author and line.author.id == bot.id)}
    answered = _just_answered(scene)
    out: list[Reading] = []
    for message in scene.batch.messages:
        if message.is_bot or message.user.id == bot.id:
            continue
        goes_on = message.user.id in answered or any(before.addressed and before.question for before in out)
        reading = read(message, bot, scene.rules, replies_to_bot=message.reply_to in own_lines, goes_on=goes_on)
        if not reading.addressed and reading.follow_up and reading.question:
            reading = replace(reading, addressed="goes on from a question to the bot")
        out.append(reading)
    return out


def _just_answered(scene: Scene) -> set[str]:
    """Return whom the bot answered in the last few lines."""
    authors = {line.id: line.author.id for line in scene.window.lines if line.author}
    tail = scene.window.lines[-FOLLOW_LINES:]
    return {authors[line.reply_to] for line in tail if line.kind == "reply" and line.reply_to in authors}


def _told(asks: Iterable[Ask]) -> Iterable[str]:
    for ask in asks:
        who = ask.reading.message.user.name
        yield f"{who} {ask.why}" if not ask.reading.addressed else f"{who} {ask.reading.addressed} and {ask.why}"
        yield from (f"{who} asks about viewer {person}: {why}" for person, why in ask.people.items())
        if ask.covered:
            yield f"no search for {who}: {ask.covered}"
        elif ask.reading.addressed and ask.reading.question and not ask.anything:
            yield f"nothing in {who}'s question points to the memory"
        if ask.as_of:
            yield f"{who} asks what was true at {ask.as_of.isoformat(timespec='seconds')}"


def _asks_memory(ask: Ask) -> bool:
    personal = ask.people or ask.streams or OWNED.intersection(ask.domains)
    return bool(personal) and not ask.covered and not ask.guessed and ask.reading.question and bool(ask.reading.addressed)


def _targets(readings: Sequence[Reading], asks: Sequence[Ask], scene: Scene) -> tuple[tuple[Target, ...], list[str]]:
    """Return the turn's viewers: those asked about, then the others, strongest first; three, or up to five if asked about."""
    limits = scene.recipe.limits
    if not scene.recipe.viewer_ranking:
        authors = dict.fromkeys(reading.message.user.id for reading in readings)
        return tuple(Target(viewer_id=author, score=0.0, reasons=("active",)) for author in authors)[: limits.viewers], [
            "viewers are not ranked in this recipe"
        ]
    asked: dict[str, str] = {}
    for ask in asks:
        for person, why in ask.people.items():
            asked.setdefault(person, why)
    everybody = ranked(scene.batch, readings, _mentioned(readings, asked, scene))
    first = [
        replace(target, reasons=(asked[target.viewer_id], *target.reasons)) for target in everybody if target.viewer_id in asked
    ]
    others = [target for target in everybody if target.viewer_id not in asked]
    room = min(max(limits.viewers, len(asked)), limits.viewers_max)
    dropped = [target.viewer_id for target in first[room:]]
    return tuple([*first, *others][:room]), [f"viewer {person} left out: {room} viewers are the limit" for person in dropped]


def _mentioned(readings: Sequence[Reading], asked: Iterable[str], scene: Scene) -> set[str]:
    """Return whom a message names that is not their own."""
    authors = {reading.message.user.id for reading in readings}
    by_tag = {v.id for r in readings for v in r.message.mentions if v.id not in {r.message.user.id, scene.stream.bot.id}}
    return by_tag | {person for person in asked if person not in authors}


def _requests(asks: Sequence[Ask], targets: Sequence[Target], scene: Scene) -> Iterable[SourceRequest]:
    chosen = {target.viewer_id for target in targets}
    exclude = tuple(line.id for line in scene.batch.lines)
    for ask in asks:
        query = _query(ask, scene)
        yield from _state(ask, query, scene)
        if ask.covered:
            continue
        yield from _canon(ask, query)
        for person in _looked_up(ask, targets, scene):
            if person in chosen:
                yield from _viewer(ask, person, query, scene)
        if ask.reading.shared and ask.reading.question:
            yield _graph(ask, query, exclude)
        for choice in ask.streams:
            yield SourceRequest(
                kind=SourceKind.EPISODE,
                why=choice.why,
                query=_query(ask, scene, without_when=True),
                stream_id=choice.stream_id,
                exclude=exclude,
            )


def _canon(ask: Ask, query: str) -> Iterable[SourceRequest]:
    if ask.lore_ids or ask.persona:
        why = "an entry of the canon is named" if ask.lore_ids else "a question about the bot itself"
        yield SourceRequest(kind=SourceKind.LORE, why=why, query=query, lore_ids=ask.lore_ids)
    elif ask.canon:
        yield SourceRequest(kind=SourceKind.LORE, why="the canon may say it", query=query, strict=True)


def _viewer(ask: Ask, person: str, query: str, scene: Scene) -> Iterable[SourceRequest]:
    why = ask.people.get(person, "takes part in the turn")
    own = person == ask.reading.message.user.id
    yield SourceRequest(kind=SourceKind.PROFILE, why=why, viewer_id=person, as_of=ask.as_of)
    yield SourceRequest(
        kind=SourceKind.RECALL,
        why=why,
        query=query if own else without_names(query, person, scene),
        viewer_id=person,
        as_of=ask.as_of,
        exclude=tuple(line.id for line in scene.batch.lines),
        hearsay=not own,
    )


def _greeted(asks: Sequence[Ask], targets: Sequence[Target], back: frozenset[str]) -> Iterable[SourceRequest]:
    """Yield the profiles of those who are back, unless anybody asks the memory something: questions go first."""
    if any(ask.anything or ask.covered for ask in asks):
        return
    for target in targets:
        if target.viewer_id in back:
            yield SourceRequest(kind=SourceKind.PROFILE, why="first message in a while", viewer_id=target.viewer_id)


def _graph(ask: Ask, query: str, exclude: tuple[str, ...]) -> SourceRequest:
    author = ask.reading.message.user.id
    named = tuple(person for person in ask.people if person != author)
    return SourceRequest(
        kind=SourceKind.GRAPH,
        why="asks who shares something",
        query=query,
        viewer_id=author,
        viewer_ids=(*named, *([author] if len(named) == 1 and ask.reading.first else []))[:2],
        as_of=ask.as_of,
        exclude=exclude,
    )


def _looked_up(ask: Ask, targets: Sequence[Target], scene: Scene) -> Iterable[str]:
    if scene.recipe.viewer_ranking or not ask.people:
        return ask.people
    return [target.viewer_id for target in targets]


def _state(ask: Ask, query: str, scene: Scene) -> Iterable[SourceRequest]:
    """Return the look into structured state: for the kinds of record that are asked for, or those the question comes near to.

    A viewer's own records where the question is about people, else everybody's.
    """
    if not ask.domains:
        if (ask.people or (ask.canon and not ask.lore_ids)) and not ask.covered:
            yield _near_records(ask, query, scene)
        return
    owned = set(ask.domains) <= OWNED
    author = ask.reading.message.user.id
    people = tuple(ask.people) or ((author,) if ask.reading.first else ())
    yield SourceRequest(
        kind=SourceKind.STATE,
        why=f"asks about {', '.join(ask.domains)}",
        domains=ask.domains,
        viewer_ids=people if owned and scene.recipe.viewer_ranking else (),
        as_of=None,
    )


def _near_records(ask: Ask, query: str, scene: Scene) -> SourceRequest:
    for person in ask.people:
        query = without_names(query, person, scene)
    return SourceRequest(
        kind=SourceKind.STATE,
        why="a record may say it",
        query=query,
        domains=DOMAINS,
        viewer_ids=tuple(ask.people) or (ask.reading.message.user.id,),
        strict=True,
    )


def _query(ask: Ask, scene: Scene, *, without_when: bool = False) -> str:
    """Return what is searched for: the message without the bot's name, after the words it replies to.

    `without_when`: the words that only say in which stream it was, and nothing of what it was, are left out.
    """
    parent = parent_of(ask.reading, scene.window)
    text = _without_when(ask.reading, scene.rules) if without_when else ask.reading.text
    return f"{parent.text} {text}" if parent else text


def _without_when(reading: Reading, rules: Sequence[Rules]) -> str:
    plain = reading.plain
    for rule in rules:
        for phrases in (rule.episode.here, rule.episode.away, rule.episode.last, rule.episode.first):
            plain = phrases.removed(plain)
    return plain.strip() if plain != reading.plain and plain.strip() else reading.text


def _merged(requests: Iterable[SourceRequest]) -> list[SourceRequest]:
    """Return one request a source: what several messages ask of the same place is asked together."""
    merged: dict[str, SourceRequest] = {}
    for request in requests:
        before = merged.get(request.name)
        merged[request.name] = request if before is None else _joined(before, request)
    return list(merged.values())


def _joined(one: SourceRequest, two: SourceRequest) -> SourceRequest:
    if one.strict != two.strict:  # what is asked for outright says more than what only may say it
        return two if one.strict else one
    everybody = not one.viewer_ids or not two.viewer_ids
    return replace(
        one,
        query=" ".join(dict.fromkeys(filter(None, (one.query, two.query)))),
        domains=tuple(dict.fromkeys((*one.domains, *two.domains))),
        viewer_ids=() if everybody else tuple(dict.fromkeys((*one.viewer_ids, *two.viewer_ids))),
        lore_ids=tuple(dict.fromkeys((*one.lore_ids, *two.lore_ids))) if one.lore_ids and two.lore_ids else (),
        as_of=one.as_of or two.as_of,
        strict=one.strict,
        hearsay=one.hearsay and two.hearsay,
    )


def _switched_on(requests: Iterable[SourceRequest], recipe: Recipe) -> tuple[SourceRequest, ...]:
    shared = "graph" in recipe.channels and "recall" in recipe.sources
    return tuple(
        request
        for request in requests
        if (shared if request.kind is SourceKind.GRAPH else request.kind.value in recipe.sources)
    )
