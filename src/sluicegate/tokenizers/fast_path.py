"""The fast encoder (splintr) and the guards that make it exact.

1. Admission: at load, every probe text must give the ids of the reference engine, else it is not used at all.
2. Code points: splintr has the Unicode tables of another version than the reference engines. The ranges below are all
   code points where the two can differ (`python -m benchmarks.tokenizers` derives them again for the pinned versions).
3. Runs: one character repeated very often costs it quadratic time where long added tokens begin with that character.

4. Splits: of patterns that split one after another splintr makes one, which is exact for DeepSeek's but for runs with
   some Japanese characters (those runs take a detour), and known of no other.

A text that a guard refuses, or that splintr fails on, goes to the reference engine.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

from sluicegate.tokenizers.code_points import CodePoints
from sluicegate.tokenizers.failures import is_engine_failure, reason_of
from sluicegate.tokenizers.openai_encodings import CONTRACTION

_OTHER_VERSION = """
    105D2 105DA 11382-113C9 11930-11935 1611E-16129 16D63-16D6A
    16FF2-16FF6 2B73A-2B73F 2CEA2-2CEAD 323B0-33479
"""
"""The older NFC of the reference does not compose sequences with those of the first line; its `\\p{Han}` does not hold
those of the second."""

_NEWER_MARKS = """
    7FD 897-89F 8CA-8D3 9FE C3C D3B-D3C EBA 1715 1ABF-1ADD 1AE0-1AEB 1DF6-1DFA A82C
    10D24-10D27 10D69-10D6D 10EAB-10EAC 10EFA-10EFB 10EFD-10EFF 10F46-10F50 10F82-10F85 11070 1133B 113CE-113D0
    1145E 11839-1183A 1193D-1193E 11943 119E0 11A34 11A47 11A99 11D42 11D44-11D45 11D97 11F41-11F42 1612F 16FF0-16FF1
    1E08F 1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF 1E5EE-1E5EF 1E6E3 1E6E6 1E6EE-1E6EF 1E6F5
"""
"""Marks that the older NFC of the reference does not know: it neither reorders nor composes over them."""

DIFFERING = CodePoints(_OTHER_VERSION)
"""Code points that the fast and the reference engine may see differently."""

DIFFERING_NORMALIZED = CodePoints(_OTHER_VERSION + _NEWER_MARKS)
"""The same for tokenizers that normalize."""

DEEPSEEK_SPLITS = (
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
"""The three splits, one after another, of DeepSeek V3 and V4: the only chain of splits that splintr follows closely."""

DEEPSEEK_RUNS = re.compile("[一-龥぀-ゟ゠-ヿ]+")
"""What the second split sets apart. Behind and before it a text can be cut: no word reaches over."""

DEEPSEEK_INNER = CodePoints("3040 3097-3098 309B-309C 30A0 30FB")
"""Characters of such a run that the third split would split off again, which splintr does not do."""

LONG_S_CONTRACTION = "'ſ"
"""A contraction where upper and lower case are the same, for the reference engines alone: ſ is a lower case of S."""

RUN = 10_000
"""Every run of 2 * RUN equal characters is found by looking at aligned blocks of RUN; no shorter one than RUN is."""

LONG = 8_192
"""Code points from which a single text is encoded by the batch call, which releases the interpreter lock."""


def has_long_run(text: str) -> bool:
    """Whether one character stands 20,000 times in a row; runs from 10,000 on may be reported too."""
    for start in range(0, len(text) - RUN + 1, RUN):
        first = text[start]
        if first == text[start + 1] == text[start + RUN - 1] and text[start : start + RUN] == first * RUN:
            return True
    return False


class Detour:
    """Parts of a text that the fast engine must not see: `runs` that hold one of the `characters`.

    The text around them, and each of them, must give the same ids when it is encoded alone. `reference` encodes them.
    """

    def __init__(
        self, characters: CodePoints, runs: re.Pattern[str], reference: Callable[[list[str]], list[list[int]]]
    ) -> None:
        self._characters = characters
        self._runs = runs
        self.reference = reference

    def parts(self, text: str) -> list[str] | None:
        """Cut a text: the parts at odd places are the reference's. None when there is none of them."""
        if not self._characters.occur_in(text):
            return None
        parts: list[str] = []
        start = 0
        for run in self._runs.finditer(text):
            if self._characters.occur_in(run.group()):
                parts += [text[start : run.start()], run.group()]
                start = run.end()
        return [*parts, text[start:]]


class FastPath:
    """An admitted fast encoder. `one` and `many` return the ids of one text, or of each of several.

    `flat` returns those of one text as a buffer of 32-bit numbers, where the engine can. A text in which `guard` finds
    something, or that holds what is to be `avoided`, is left to the reference.
    """

    def __init__(
        self, one: Callable[[str], list[int]], many: Callable[[list[str]], list[list[int]]],
        detour: Detour | None = None, guard: CodePoints = DIFFERING, *,
        flat: Callable[[str], bytes] | None = None, avoided: str | None = None,
    ) -> None:  # fmt: skip
        self._one = one
        self._many = many
        self._flat = flat
        self._detour = detour
        self._guard = guard
        self._avoided = avoided

    def accepts(self, text: str) -> bool:
        """Whether the guards let this text through."""
        return not (
            self._guard.occur_in(text)
            or (self._avoided is not None and self._avoided in text)
            or (len(text) >= RUN and has_long_run(text))
        )

    def encode(self, text: str) -> list[int] | None:
        """Return the ids, or None when the reference engine has to do it."""
        if not self.accepts(text):
            return None
        try:
            if self._detour is not None and (parts := self._detour.parts(text)) is not None:
                return self._encode_with_detour(parts, self._detour)
            return self._one(text) if len(text) < LONG else self._many([text])[0]
        except BaseException as failure:
            if not is_engine_failure(failure):
                raise
            return None

    def encode_flat(self, text: str) -> array[int] | None:
        """Return the ids as one array of 32-bit numbers, or None when the reference engine has to do it."""
        if self._flat is None:
            listed = self.encode(text)
            return None if listed is None else array("I", listed)
        if not self.accepts(text):
            return None
        ids = array("I")
        try:
            if self._detour is not None and (parts := self._detour.parts(text)) is not None:
                ids.extend(self._encode_with_detour(parts, self._detour))
            else:
                ids.frombytes(self._flat(text))
        except BaseException as failure:
            if not is_engine_failure(failure):
                raise
            return None
        return ids

    def _encode_with_detour(self, parts: list[str], detour: Detour) -> list[int]:
        fast, slow = self._many(parts[::2]), detour.reference(parts[1::2])
        return [token_id for pair in zip_longest(fast, slow, fillvalue=list[int]()) for ids in pair for token_id in ids]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int] | None]:
        """Return the ids of each text, or None for those that the reference engine has to do."""
        detour = self._detour
        whole = [self.accepts(text) and (detour is None or detour.parts(text) is None) for text in texts]
        try:
            done = iter(self._many([text for text, fits in zip(texts, whole, strict=True) if fits]))
        except BaseException as failure:
            if not is_engine_failure(failure):
                raise
            return [None] * len(texts)
        return [next(done) if fits else self.encode(text) for text, fits in zip(texts, whole, strict=True)]


def admit(
    build: Callable[[], FastPath],
    reference: Callable[[list[str]], list[list[int]]],
    probes: list[str],
) -> tuple[FastPath | None, str]:
    """Build the fast path and compare it with the reference on every probe; return it, or None, and the reason."""
    try:
        candidate = build()
    except ImportError:
        return None, "the fast engine (splintr) is not installed"
    except BaseException as failure:
        if not is_engine_failure(failure):
            raise
        return None, f"the fast engine (splintr) cannot load this tokenizer: {reason_of(failure)}"
    differing = 0
    for probe, fast, slow in zip(probes, candidate.encode_batch(probes), reference(probes), strict=True):
        flat = candidate.encode_flat(probe)
        differing += (fast is not None and fast != slow) or (flat is not None and flat.tolist() != slow)
    if differing:
        return None, f"the fast engine (splintr) differs from the reference on {differing} of {len(probes)} probe texts"
    return candidate, f"equals the reference on all {len(probes)} probe texts"


def avoided_by(splits: Iterable[str]) -> str | None:
    """What the fast engine splits into other words than the reference engines do, with these patterns."""
    return LONG_S_CONTRACTION if any(CONTRACTION in split for split in splits) else None


def fast_path_of_json(
    tokenizer_json: bytes,
    detour: Detour | None = None,
    guard: CodePoints = DIFFERING,
    avoided: str | None = None,
) -> FastPath:
    """Fast path for a tokenizer.json whose post-processor, padding and truncation were set to null."""
    from splintr import from_json_bytes  # noqa: PLC0415 - heavy, and an extra

    engine = from_json_bytes(tokenizer_json)

    def encode_flat(text: str) -> bytes:
        buffer: bytes = engine.encode_batch_flat([text])[0]  # only calls for several texts release the interpreter lock
        return buffer

    return FastPath(engine.encode, engine.encode_batch, detour, guard, flat=encode_flat, avoided=avoided)


def fast_path_of_ranks(rank_file: bytes, pattern: str, special_tokens: dict[str, int]) -> FastPath:
    """Fast path for the bytes of a rank file, a pre-tokenizer pattern and the special tokens it recognises."""
    from splintr import Tokenizer  # noqa: PLC0415 - heavy, and an extra

    engine: Any = Tokenizer.from_bytes(rank_file, pattern, special_tokens)
    encode, encode_batch = engine.encode_with_special, engine.encode_batch_with_special
    has_special_tokens = any_of(special_tokens)

    def encode_flat(text: str) -> bytes:
        if has_special_tokens(text):  # which the call that returns a buffer does not see here
            return array("I", encode_batch([text])[0]).tobytes()
        buffer: bytes = engine.encode_batch_flat([text])[0]
        return buffer

    return FastPath(encode, encode_batch, flat=encode_flat, avoided=avoided_by((pattern,)))


def any_of(tokens: Iterable[str]) -> Callable[[str], bool]:
    """What says whether one of these tokens occurs in a text."""
    by_first: defaultdict[str, list[str]] = defaultdict(list)
    for token in tokens:
        by_first[token[:1]].append(re.escape(token))
    # For one character to begin with, `re` looks many times faster than for several.
    searches = [re.compile("|".join(alike)).search for alike in by_first.values()]
    return lambda text: any(search(text) is not None for search in searches)
