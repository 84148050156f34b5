"""Bodies with a long string: it is decoded in parts, and the answer is that of one decoding."""

from __future__ import annotations

import json
from unittest import mock

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluicegate.server import body as bodies
from sluicegate.server import long_strings
from sluicegate.server.body import LONG_BODY, BodyReader, InvalidBody, InvalidJson, go_on
from sluicegate.server.routes.tokens import TokenizeBody
from sluicegate.server.workers import Registration

READER = BodyReader(TokenizeBody)
TEXT = 'Say "hello" to the mill,\nC:\\mill\\. Ein Mühlrad, 水門 🌊; '


def outcome(body: bytes) -> TokenizeBody | tuple[type, str]:
    try:
        return READER.read(body)
    except (InvalidJson, InvalidBody) as error:
        return type(error), str(error)


def whole(body: bytes) -> TokenizeBody | tuple[type, str]:
    """What reading the body without parts gives."""
    with mock.patch.object(bodies, "LONG_BODY", len(body) + 1):
        return outcome(body)


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(
    "body",
    [
        {"model": "m", "prompt": TEXT * 10_000},
        {"prompt": TEXT * 10_000, "model": "m"},
        {"model": TEXT * 10_000, "prompt": "p"},
        {"model": "m", "prompt": "a long string", "add_special_tokens": True},
        {"model": "m", "prompt": TEXT * 10_000, "pieces": True, "unknown": {"prompt": "x"}},
    ],
)
def test_a_long_string_is_read_whole(body: dict[str, object], ascii_only: bool) -> None:
    encoded = json.dumps(body, ensure_ascii=ascii_only).encode()
    assert READER.read(encoded) == msgspec.convert(body, TokenizeBody)


def test_others_get_their_turn_within_a_long_string_and_within_a_search() -> None:
    for body in (
        {"model": "m", "prompt": TEXT * 10_000},
        {"model": "m", "prompt": [TEXT * 10_000]},
        {"model": "m", "prompt": "x" * 3 * LONG_BODY},
    ):
        encoded, pauses = json.dumps(body).encode(), mock.Mock()
        assert READER.read(encoded, pauses) == msgspec.convert(body, TokenizeBody)
        assert pauses.call_count >= len(encoded) // long_strings.PART


def test_a_struct_that_cannot_be_changed_is_read() -> None:
    body = {"url": "grpc://" + TEXT * 10_000}
    assert BodyReader(Registration).read(json.dumps(body).encode()) == msgspec.convert(body, Registration)


def test_a_long_string_behind_many_others_is_read_with_the_whole_body() -> None:
    tools = [{"prompt": "x", "model": "y"}] * 100
    body = {"model": "m", "tools": tools, "messages": [], "prompt": TEXT * 10_000}
    pauses = mock.Mock()
    with mock.patch.object(long_strings, "_parts", wraps=long_strings._parts) as parts:
        assert READER.read(json.dumps(body).encode(), pauses) == msgspec.convert(body, TokenizeBody)
    assert parts.call_count == long_strings._MOST_TRIED


def test_a_long_string_is_not_searched_for_names() -> None:
    shortened = long_strings.shorten(
        json.dumps({"model": "m", "prompt": TEXT * 10_000}).encode(), READER._opens_text, go_on
    )
    assert shortened is not None
    body, string = shortened
    assert string == TEXT * 10_000
    assert body == b'{"model": "m", "prompt": "%b"}' % long_strings.STAND_IN.encode()


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "m", "prompt": "%b',
        b'{"model": "m", "prompt": "%b\\"}',
        b'{"model": "m", "prompt": "%b" "pieces": true}',
        b'{"model": "m", "prompt": "%b", "prompt": ""}',
        b'{"model": "m", "prompt": "%b", "pieces": 1}',
        b'{"prompt": "%b"}',
        b'{"model": "m", "prompt": "%b\n"}',
        b'{"model": "m", "prompt": "%b\xff"}',
        b'{"model": "m", "prompt": "%b \\ud800 %b"}',
        b'{"model": "m", "prompt": "%b \\ %b"}',
        b'{"model": "m", "prompt": "%b \xe6\xb0 %b"}',
        b'{"model": "m", "unknown": {"prompt": "%b"}}',
        b'{"model": "a long string", "unknown": {"prompt": "%b"}}',
        b'{"model": "\\u0061 long string", "unknown": {"prompt": "%b"}, "prompt": ""}',
        b'{"model": "a long string", "unknown": {"prompt": "%b"}, "prompt": ""}',
        b'{"model": "m", "prompt": "", "unknown": {"prompt": "%b"}}',
        b'{"model": "m", "prompt": ["%b", "%b"]}',
        b'["prompt": "%b"]',
    ],
)
@pytest.mark.parametrize("text", [b"The sluice. " * 30_000, b"x" * LONG_BODY], ids=["words", "one word"])
def test_other_long_bodies_are_read_and_refused_as_without_parts(body: bytes, text: bytes) -> None:
    body = body.replace(b"%b", text)
    assert outcome(body) == whole(body)


FRAGMENTS = ("a", " ", '"', "\\", "\n", "\\u0041", "\\ud83d", "ü", "水", "🌊", "\x00", "a long string", '"prompt": "')


@given(
    prompt=st.lists(st.sampled_from(FRAGMENTS)).map("".join),
    before=st.sampled_from(["", "m", "a long string", "\\", "水"]),
    ascii_only=st.booleans(),
    part=st.integers(min_value=8, max_value=40),
    spoilt=st.none() | st.tuples(st.integers(min_value=0), st.binary(max_size=2)),
)
@example(prompt="\\" * 9 + '" x" ', before="m", ascii_only=True, part=10, spoilt=None)
def test_parts_give_what_the_whole_gives(
    prompt: str, before: str, ascii_only: bool, part: int, spoilt: tuple[int, bytes] | None
) -> None:
    body = json.dumps({"model": before, "prompt": prompt}, ensure_ascii=ascii_only).encode()
    if spoilt is not None:
        place = spoilt[0] % len(body)
        body = body[:place] + spoilt[1] + body[place + 1 :]
    with mock.patch.object(long_strings, "PART", part), mock.patch.object(bodies, "LONG_BODY", 0):
        found = outcome(body)
    assert found == whole(body)
