import difflib

from hypothesis import given
from hypothesis import strategies as st

from mlacheck.probes.catalogue import load_catalogue
from mlacheck.similar import closest

WORDS = st.text("abAB-_/1é", max_size=12)


LIKE = st.sampled_from((0.0, 0.5, 0.6, 0.75, 0.85, 1.0))


@given(WORDS, st.lists(WORDS, max_size=12), st.integers(1, 4), LIKE)
def test_gives_what_difflib_gives(text, known, most, like):
    assert closest(text, known, most, like) == difflib.get_close_matches(text, known, most, like)


def test_gives_what_difflib_gives_on_the_names_of_models():
    names = [name.lower() for name in load_catalogue()["index"]]
    for name in names[::7]:
        for text in (name[1:], f"{name}-instruct", name.replace("-", "_")):
            assert closest(text, names, 3, 0.75) == difflib.get_close_matches(text, names, 3, 0.75)
