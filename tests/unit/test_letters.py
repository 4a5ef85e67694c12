"""Any bytes are a text, and two texts are never one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mare_adapters.letters import lettered, letters

PIECES = [b"a", b"\xff", b"\xfe", "\uefff".encode(), "\uef80".encode(), "ü".encode(), b"\xc3", b"\xed\xa0\x80"]
ODD = st.one_of(st.binary(), st.lists(st.sampled_from(PIECES)).map(b"".join))


@given(first=ODD, second=ODD)
def test_different_bytes_are_different_texts(first: bytes, second: bytes) -> None:
    assert (letters(first) == letters(second)) == (first == second)
    letters(first).encode()  # Unicode, whatever it was


@given(st.text(alphabet=st.characters(max_codepoint=0xE000)))
def test_plain_texts_are_themselves(text: str) -> None:
    if not any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        assert lettered(text) == text == letters(text.encode())


def test_half_letters_are_told_apart() -> None:
    assert len({lettered("\ud800"), lettered("\udfff"), lettered("?"), lettered("\ufffd")}) == 4
