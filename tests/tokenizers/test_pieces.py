"""Tokens one by one, and text from tokens as they arrive."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.tokenizers import (
    StreamingDetokenizer,
    Tokenizer,
    UnknownTokenId,
    ends_inside_character,
    pieces_of_ids,
)
from tests.tokenizers import miniatures

KINDS = {
    "byte_level": miniatures.byte_level,
    "byte_fallback": miniatures.byte_fallback,
    "ranks": miniatures.ranked,
    "wordpiece": miniatures.wordpiece,
}
PARTS = st.sampled_from(
    ["hello", " world", "<|begin|>", "<think>", "[BOS]", "\n\n", "   ", "é", "中国", "😀", "\u0301"]
)
TEXTS = st.lists(PARTS | st.text(max_size=4), max_size=10).map("".join)


@pytest.fixture(scope="module", params=list(KINDS))
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return KINDS[request.param]()


@settings(deadline=None, max_examples=150)
@given(text=TEXTS)
def test_pieces_tile_the_text(tokenizer: Tokenizer, text: str) -> None:
    pieces = tokenizer.pieces(text)
    assert [piece.id for piece in pieces] == tokenizer.encode(text)
    if not tokenizer.decodes_by_bytes or b"".join(piece.bytes for piece in pieces) != text.encode():
        return
    position = 0
    for piece in pieces:
        assert piece.start is not None
        assert piece.end is not None
        # A token may begin inside the last character of the one before it, never behind it.
        assert piece.start <= position <= piece.end
        assert piece.bytes in text[piece.start : piece.end].encode()
        position = piece.end
    assert position == len(text)


def test_positions_are_those_of_the_text_before_normalization() -> None:
    tokenizer = miniatures.byte_level()
    text = "xe\u0301y <|begin|>z"
    pieces = tokenizer.pieces(text)
    accented = [piece for piece in pieces if piece.start == 1]
    assert {piece.end for piece in accented} == {3}
    assert {piece.end for piece in tokenizer.pieces("xe\u0301") if piece.start == 1} == {3}
    marker = next(piece for piece in pieces if piece.special)
    assert text[marker.start : marker.end] == marker.text == "<|begin|>"
    assert all(text[piece.start : piece.end] == " " for piece in pieces if piece.text == " ")


def test_tokens_put_around_a_text_have_no_place_in_it() -> None:
    first, second = miniatures.byte_level().pieces("a", add_special_tokens=True)
    assert (first.text, first.start, first.end, first.special) == ("<|begin|>", None, None, True)
    assert (second.text, second.start, second.end, second.special) == ("a", 0, 1, False)


def test_pieces_of_spelt_markers_are_ordinary_when_told_so() -> None:
    pieces = miniatures.byte_level().pieces("<|begin|>", parse_special=False)
    assert not any(piece.special for piece in pieces)
    assert "".join(piece.text for piece in pieces) == "<|begin|>"


def test_character_spread_over_tokens_is_covered_by_each() -> None:
    pieces = miniatures.ranked().pieces("a\U0001f9ffb")
    middle = [piece for piece in pieces if piece.text not in ("a", "b")]
    assert len(middle) > 1
    assert {(piece.start, piece.end) for piece in middle} == {(1, 2)}
    assert all("\ufffd" in piece.text for piece in middle)


def test_pieces_of_ids_give_bytes_and_say_where_an_id_is_unknown() -> None:
    tokenizer = miniatures.ranked()
    pieces = pieces_of_ids(tokenizer, [0xF0, 0x9F, 97])
    assert [piece.bytes for piece in pieces] == [b"\xf0", b"\x9f", b"a"]
    with pytest.raises(UnknownTokenId) as caught:
        pieces_of_ids(tokenizer, [97, 98, 999_999])
    assert (caught.value.position, caught.value.token_id) == (2, 999_999)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", False), (b"a", False), ("é".encode(), False), (b"\xc3", True), (b"\xf0\x9f\x98", True), (b"\xe4\xbd", True),
     (b"\xf0\x9f\x98\x80", False), (b"\x80", False), (b"\xff", False), (b"\xc3a", False), (b"a\x80\x80", False),
     (b"\xed\xa0", False), (b"\xe0\x80", False), (b"\xf5", False), (b"\xc3\xa9\xa9", False), (b"\xed", True)],
)  # fmt: skip
def test_incomplete_is_what_further_bytes_could_complete(data: bytes, expected: bool) -> None:
    assert ends_inside_character(pieces_of_ids(miniatures.ranked(), list(data))) is expected


@settings(deadline=None, max_examples=100)
@given(data=st.data(), skip=st.booleans())
def test_streamed_text_is_the_decoded_text(tokenizer: Tokenizer, data: st.DataObject, skip: bool) -> None:
    known = [token_id for token_id in range(tokenizer.vocab_size + 4) if knows(tokenizer, token_id)]
    ids = data.draw(st.lists(st.sampled_from(known) | st.sampled_from(known[:260]), max_size=24))
    stream = StreamingDetokenizer(tokenizer, skip_special_tokens=skip)
    parts = [stream.add([token_id]) for token_id in ids]
    assert "".join(parts) + stream.finish() == tokenizer.decode(ids, skip_special_tokens=skip)


def knows(tokenizer: Tokenizer, token_id: int) -> bool:
    try:
        tokenizer.token_bytes(token_id)
    except UnknownTokenId:
        return False
    return True


def test_streamed_character_waits_for_its_last_byte() -> None:
    stream = StreamingDetokenizer(miniatures.ranked())
    assert [stream.add([byte]) for byte in "a😀".encode()] == ["a", "", "", "", "😀"]
    assert stream.add([0xF0]) == ""
    assert stream.finish() == "\ufffd"


def test_stream_counts_positions_from_its_beginning() -> None:
    stream = StreamingDetokenizer(miniatures.ranked())
    stream.add([97, 98])
    with pytest.raises(UnknownTokenId) as caught:
        stream.add([99, 999_999])
    assert caught.value.position == 3


def test_an_id_that_stands_for_nothing_is_no_end_of_a_run_of_bytes() -> None:
    tokenizer = miniatures.byte_fallback()
    broken, zero = (tokenizer.encode("\U0001f9ff\0")[place] for place in (-2, -1))
    nothing = next(
        token_id for token_id in range(1000) if knows(tokenizer, token_id) and not tokenizer.token_bytes(token_id)
    )
    ids = [broken, nothing, zero]
    stream = StreamingDetokenizer(tokenizer, skip_special_tokens=False)
    assert stream.add(ids) + stream.finish() == tokenizer.decode(ids, skip_special_tokens=False)
