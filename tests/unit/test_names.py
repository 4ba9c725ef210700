"""Who is called what."""

import random
from collections.abc import Iterator
from threading import Thread

import pytest
from builders_plan import person

from memory.model import KnownViewer
from memory.names import NameIndex, name_key, parts_of
from memory.rules import load_rules
from memory.targets import Around, named_in


def a_viewer(viewer_id: str, login: str, name: str | None = None, former: tuple[str, ...] = ()) -> KnownViewer:
    return KnownViewer(id=viewer_id, login=login, name=name or login, former=former)


def ids(index: NameIndex, name: str) -> set[str]:
    return {hit.viewer_id for hit in index.exact(name)}


def test_login_and_display_name_find_their_viewer_whatever_the_case() -> None:
    index = NameIndex([a_viewer("1", "brezza_mare", "BrezzaMare")])
    assert ids(index, "@Brezza_Mare") == ids(index, "BREZZAMARE") == {"1"}
    assert ids(index, "brezza") == set()


def test_underscores_and_digits_tell_people_apart() -> None:
    index = NameIndex([a_viewer("1", "sal_e"), a_viewer("2", "sale"), a_viewer("3", "sale2")])
    assert [ids(index, name) for name in ("sal_e", "sale", "sale2")] == [{"1"}, {"2"}, {"3"}]


def test_a_name_in_two_words_that_two_viewers_have_means_nobody() -> None:
    index = NameIndex([a_viewer(id_, "theboss", "TheBoss") for id_ in ("1", "2")])
    rules = load_rules(("en",))
    assert named_in("where does the boss live", Around(index=index, ids=frozenset(), bot_id="0"), rules) == {}
    around = Around(index=index, ids=frozenset({"2"}), bot_id="0")
    assert list(named_in("where does the boss live", around, rules)) == ["2"]


def test_a_viewer_who_is_renamed_is_never_nobody_to_another_thread() -> None:
    index = NameIndex([a_viewer("1", "brezza")])
    seen: list[set[str]] = []
    looking = Thread(target=lambda: seen.append(ids(index, "brezza")))

    class Former(tuple[str, ...]):
        """Read in the middle of the renaming."""

        __slots__ = ()

        def __iter__(self) -> Iterator[str]:
            if looking.ident is None:
                looking.start()
                looking.join(0.2)
            return super().__iter__()

    index.add(a_viewer("1", "brezza", "Brezza", former=Former(("vento",))))
    looking.join()
    assert seen == [{"1"}]


def test_a_recycled_login_belongs_to_its_present_owner() -> None:
    index = NameIndex([a_viewer("1", "nuovo", former=("vecchio",))])
    assert ids(index, "vecchio") == {"1"}
    index.add(a_viewer("2", "vecchio"))
    assert ids(index, "vecchio") == {"2"}


def test_look_alike_names_are_told_apart_by_the_login_as_typed() -> None:
    index = NameIndex([a_viewer("1", "alice"), a_viewer("2", "al1ce", "Álice")])
    assert ids(index, "alice") == {"1"}
    assert ids(index, "Álice") == {"1", "2"}  # nobody's login: both, and the caller takes neither


def test_a_rename_replaces_what_was_known() -> None:
    index = NameIndex([a_viewer("1", "prima_mia")])
    index.add(a_viewer("1", "dopo_mia", former=("prima_mia",)))
    assert len(index) == 1
    assert index.exact("prima_mia")[0].how == "former"
    assert ids(index, "dopo_mia") == {"1"}


def test_a_removed_viewer_is_found_by_no_way() -> None:
    index = NameIndex([a_viewer("1", "torrente_77", former=("ruscello",)), a_viewer("2", "torrente_78")])
    index.remove("1")
    index.remove("1")
    assert ids(index, "torrente_77") == ids(index, "ruscello") == set()
    assert {hit.viewer_id for hit in index.part("torrente")} == {"2"}
    assert {hit.viewer_id for hit in index.near("torrente_77")} == {"2"}
    assert index.get("1") is None


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("NonnaPina_77", ("nonna", "pina")),
        ("quartz_ellis", ("quartz", "ellis")),
        ("xXDarkoXx", ("darko",)),
        ("sole", ()),
        ("a_b_c", ()),
        ("鈴木_Rio", ("rio",)),
    ],
)
def test_names_fall_into_their_words(name: str, parts: tuple[str, ...]) -> None:
    assert parts_of(name) == parts


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("tamburino88", {"1"}),
        ("tamburin88", {"1"}),
        ("tambruino88", {"1"}),
        ("tamburello", set()),
        ("maro", set()),
        ("marok", set()),
        ("qzxvw", set()),
    ],
)
def test_near_misses_count_above_a_floor_that_grows_with_shortness(typed: str, found: set[str]) -> None:
    index = NameIndex([a_viewer("1", "tamburino88"), a_viewer("2", "mario")])
    assert {hit.viewer_id for hit in index.near(typed)} == found


def test_two_names_equally_near_are_nobodys() -> None:
    index = NameIndex([a_viewer("1", "lanterna1"), a_viewer("2", "lanterna2")])
    assert index.near("lanterna3") == ()


def test_names_of_an_unknown_viewer_are_worked_out() -> None:
    assert NameIndex().names_of(person("5")) == ("quartz_ellis", "quartz", "ellis")


def test_near_misses_compare_a_bounded_number_of_names() -> None:
    dice = random.Random(7)
    index = NameIndex(a_viewer(str(n), f"gatto{dice.randrange(10**6):06d}") for n in range(5000))
    assert len(list(index._candidates("gatto123456"))) == 400


def test_empty_and_strange_names_are_harmless() -> None:
    index = NameIndex([a_viewer("1", "", "\u200b"), a_viewer("2", "\ud800x", "../../etc/passwd")])
    assert name_key("@") == ""
    assert index.exact("") == ()
    assert index.near("") == ()
    assert ids(index, "../../etc/passwd") == {"2"}
