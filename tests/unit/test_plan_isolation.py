"""Whose memory a plan may open: the author's who asks, and of those whom the text names. Nobody else's, whatever the text."""

from builders_plan import a_message, a_window, about, plan_for
from hypothesis import given
from hypothesis import strategies as st

from memory.events import Viewer
from memory.model import KnownViewer
from memory.names import NameIndex, name_key

ROOTS = (
    "rana",
    "ranà",
    "rаna",
    "RANA",
    "r_ana",
    "rana_",
    "rana1",
    "ranal",
    "ranaI",
    "gufo",
    "../x",
    "a b",
    "",
    "'; --",
    "\u202erana",
    "9",
)
CROWD = [
    KnownViewer(
        id=f"v{n}",
        login=f"{root.lower()}{n // len(ROOTS) or ''}",
        name=f"{root}{n // len(ROOTS) or ''}",
        former=(ROOTS[n % 7],) if n % 5 == 0 else (),
    )
    for n, root in enumerate(ROOTS * 13)
]
INDEX = NameIndex(CROWD)
NO_NAMES = st.text(st.sampled_from("bcdfhjkmpqtvwxyz ?!.,<>-\u200b\n\x00"), max_size=60)  # no letters or digits of any name
QUESTIONS = (
    "nuvola dove abito?",
    "nuvola what do you know about me?",
    "nuvola what did i drive last year?",
    "nuvola ho animali?",
)


@given(NO_NAMES, st.sampled_from(QUESTIONS), st.sampled_from(CROWD))
def test_a_question_that_names_nobody_opens_only_its_authors_memory(noise: str, question: str, author: KnownViewer) -> None:
    viewer = Viewer(id=author.id, login=author.login, name=author.name)
    plan = plan_for(a_message(f"{question} {noise}", user=viewer), viewers=INDEX, window=a_window(("2", "rana1 gufo")))
    assert about(plan) == {author.id}


@given(st.sampled_from(CROWD), st.sampled_from(["@{}", "{}"]))
def test_a_name_opens_the_memory_of_its_one_owner_or_of_nobody(target: KnownViewer, form: str) -> None:
    name = target.name
    opened = about(plan_for(f"nuvola where does {form.format(name)} live?", viewers=INDEX)) - {"2"}
    assert len(opened) <= 1
    for viewer_id in opened:
        viewer = INDEX.get(viewer_id)
        assert viewer is not None
        names = {name_key(known) for known in (viewer.login, viewer.name, *viewer.former)}
        assert any(known and known in name_key(name) for known in names)
