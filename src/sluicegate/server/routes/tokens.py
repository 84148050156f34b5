"""`POST /v1/tokenize` and `POST /v1/detokenize`: text to token ids and back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sluicegate.server.body import BodyReader, InvalidBody
from sluicegate.server.long_inputs import read, rest, run
from sluicegate.server.long_strings import Pause
from sluicegate.server.request import Request
from sluicegate.server.response import Refused, Response, encode_json, error_response, plain_error
from sluicegate.server.routing import SMALL_BODY, Route, post
from sluicegate.server.state import ServiceState
from sluicegate.tokenizers.errors import (
    ChatTemplateError,
    DetokenizationFailed,
    TokenizationFailed,
    TokenizerNotLoaded,
    UnknownTokenId,
)
from sluicegate.tokenizers.pieces import ends_inside_character, pieces_of_ids
from sluicegate.tokenizers.protocol import Piece
from sluicegate.tokenizers.store import StoredTokenizer

TokenId = Annotated[int, Meta(ge=0, le=4294967295)]


class TokenizeBody(msgspec.Struct, gc=False):
    """Body of `POST /v1/tokenize`: a prompt, or the messages that a chat template makes one of."""

    model: str
    prompt: str | list[str] | UnsetType = UNSET
    add_special_tokens: bool = False
    parse_special: bool = True
    pieces: bool = False
    messages: list[dict[str, Any]] | UnsetType = UNSET
    tools: list[dict[str, Any]] | UnsetType = UNSET
    add_generation_prompt: bool | UnsetType = UNSET
    chat_template_kwargs: dict[str, Any] | UnsetType = UNSET


class DetokenizeBody(msgspec.Struct, gc=False):
    """Body of `POST /v1/detokenize` with one sequence."""

    model: str
    tokens: list[TokenId]
    skip_special_tokens: bool = True
    pieces: bool = False


class DetokenizeBatchBody(msgspec.Struct, gc=False):
    """Body of `POST /v1/detokenize` with several sequences."""

    model: str
    tokens: list[list[TokenId]]
    skip_special_tokens: bool = True
    pieces: bool = False


class TokenizeAnswer(msgspec.Struct, gc=False, omit_defaults=True):
    """Answer to one prompt. `pieces` come where they are asked for, `prompt` is what the messages were made into."""

    tokens: list[int]
    count: int
    char_count: int
    pieces: list[Piece] | UnsetType = UNSET
    prompt: str | UnsetType = UNSET


class TokenizeBatchAnswer(msgspec.Struct, gc=False, omit_defaults=True):
    """Answer to several prompts."""

    tokens: list[list[int]]
    count: list[int]
    char_count: list[int]
    pieces: list[list[Piece]] | UnsetType = UNSET


class DetokenizeAnswer(msgspec.Struct, gc=False, omit_defaults=True):
    """Answer to one sequence. With `pieces`, `incomplete` says whether the ids end inside a character."""

    text: str
    pieces: list[Piece] | UnsetType = UNSET
    incomplete: bool | UnsetType = UNSET


class DetokenizeBatchAnswer(msgspec.Struct, gc=False, omit_defaults=True):
    """Answer to several sequences."""

    text: list[str]
    pieces: list[list[Piece]] | UnsetType = UNSET
    incomplete: list[bool] | UnsetType = UNSET


_TOKENIZE = BodyReader(TokenizeBody)
_DETOKENIZE = BodyReader(DetokenizeBody)
_DETOKENIZE_BATCH = BodyReader(DetokenizeBatchBody)
GROUP = 32 * 1024
"""Code points of a batch that are encoded at once."""

STEP = 8_192
"""Token ids that are encoded as JSON at once: other requests wait for the interpreter lock meanwhile."""

TEMPLATE_MEMBERS = ("tools", "add_generation_prompt", "chat_template_kwargs")


class TokenRoutes:
    """The two handlers. Long inputs are worked on in a thread: the engines let go of the interpreter meanwhile."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        self._most = state.settings.max_batch_items

    def routes(self) -> list[Route]:
        """Both routes, guarded and admitted as serving routes are."""
        return [
            post("/v1/tokenize", "serving", self.tokenize),
            post("/v1/detokenize", "serving", self.detokenize),
        ]

    # ------------------------------------------------------------ text to ids

    def tokenize(self, request: Request, body: bytes) -> Response | Awaitable[Response]:
        """The ids of one prompt or of several."""
        return read(self._state, _TOKENIZE.read, body, partial(self._tokenize_wanted, request, body))

    def _tokenize_wanted(self, request: Request, body: bytes, wanted: TokenizeBody) -> Response | Awaitable[Response]:
        prompt = wanted.prompt
        if wanted.messages is not UNSET:
            return self._tokenize_messages(request, wanted, wanted.messages)
        if prompt is UNSET:
            raise InvalidBody("field 'prompt' is required", "prompt")
        for name in TEMPLATE_MEMBERS:
            if getattr(wanted, name) is not UNSET:
                raise InvalidBody(f"field '{name}' needs the field 'messages'", name)
        if isinstance(prompt, str):
            counting = self._charge(request, wanted.model, len(prompt))
        else:
            self._check_batch("prompt", len(prompt))
            counting = self._charge(request, wanted.model, sum(map(len, prompt)))
        if counting is not None:
            return _once_counted(counting, partial(self._tokenize_prompt, body, wanted, prompt))
        return self._tokenize_prompt(body, wanted, prompt)

    def _tokenize_prompt(
        self, body: bytes, wanted: TokenizeBody, prompt: str | list[str]
    ) -> Response | Awaitable[Response]:
        stored = self._resolve(wanted.model)
        if isinstance(stored, Response):
            return stored
        return run(self._state, body, partial(_tokenize, stored, wanted, prompt))

    def _tokenize_messages(
        self, request: Request, wanted: TokenizeBody, messages: list[dict[str, Any]]
    ) -> Response | Awaitable[Response]:
        if wanted.prompt is not UNSET:
            raise InvalidBody("fields 'prompt' and 'messages' exclude each other", "messages")
        self._check_batch("messages", len(messages))
        stored = self._resolve(wanted.model)
        if isinstance(stored, Response):
            return stored
        return self._tokenize_rendered(request, stored, wanted, messages)

    async def _tokenize_rendered(
        self, request: Request, stored: StoredTokenizer, wanted: TokenizeBody, messages: list[dict[str, Any]]
    ) -> Response:
        try:
            prompt = await self._state.in_thread(partial(_render, stored, wanted, messages))
        except ChatTemplateError as error:
            return error_response("api", 400, "chat_template_error", str(error), param="messages")
        counting = self._charge(request, wanted.model, len(prompt))
        if counting is not None:
            await counting
        response: Response = await self._state.in_thread(partial(_tokenize, stored, wanted, prompt, rendered=True))
        return response

    # ------------------------------------------------------------ ids to text

    def detokenize(self, request: Request, body: bytes) -> Response | Awaitable[Response]:
        """The text of one sequence of ids or of several."""
        return read(self._state, _read_ids, body, partial(self._detokenize_wanted, request, body))

    def _detokenize_wanted(
        self, request: Request, body: bytes, wanted: DetokenizeBody | DetokenizeBatchBody
    ) -> Response | Awaitable[Response]:
        if isinstance(wanted, DetokenizeBody):
            number = len(wanted.tokens)
        else:
            self._check_batch("tokens", len(wanted.tokens))
            number = sum(map(len, wanted.tokens))
        counting = self._charge(request, wanted.model, number)
        if counting is not None:
            return _once_counted(counting, partial(self._detokenize_ids, body, wanted))
        return self._detokenize_ids(body, wanted)

    def _detokenize_ids(
        self, body: bytes, wanted: DetokenizeBody | DetokenizeBatchBody
    ) -> Response | Awaitable[Response]:
        stored = self._resolve(wanted.model)
        if isinstance(stored, Response):
            return stored
        return run(self._state, body, partial(_detokenize, stored, wanted))

    # ------------------------------------------------------------ both

    def _check_batch(self, member: str, length: int) -> None:
        if self._most and length > self._most:
            message = f"field '{member}' has {length} elements, more than {self._most} (--max-batch-items)"
            raise Refused(error_response("api", 400, "batch_too_large", message, param=member))

    def _charge(self, request: Request, model: str, characters: int) -> Awaitable[None] | None:
        return None if request.permit is None else request.permit.charge(request, model, characters)

    def _resolve(self, model: str) -> StoredTokenizer | Response:
        try:
            return self._state.store.resolve(model)
        except TokenizerNotLoaded as error:
            return plain_error(400, "tokenizer_not_found", str(error))


async def _once_counted(counting: Awaitable[None], answer: Callable[[], Response | Awaitable[Response]]) -> Response:
    await counting
    response = answer()
    return response if isinstance(response, Response) else await response


def _tokenize(
    stored: StoredTokenizer, wanted: TokenizeBody, prompt: str | list[str], *, rendered: bool = False
) -> Response:
    flags = {"add_special_tokens": wanted.add_special_tokens, "parse_special": wanted.parse_special}
    shown = prompt if rendered and isinstance(prompt, str) else UNSET
    try:
        if isinstance(prompt, list):
            if not wanted.pieces and sum(map(len, prompt)) > SMALL_BODY:
                return Response(_batch_in_parts(stored, prompt, flags))
            return Response(encode_json(_tokens_of_all(stored, prompt, wanted.pieces, flags)))
        if wanted.pieces:
            pieces = stored.tokenizer.pieces(prompt, **flags)
            answer = TokenizeAnswer([piece.id for piece in pieces], len(pieces), len(prompt), pieces, shown)
        elif len(prompt) > SMALL_BODY:  # so this is one of the threads for long inputs
            return Response(_answer_in_parts(stored, prompt, flags, shown))
        else:
            tokens = stored.tokenizer.encode(prompt, **flags)
            answer = TokenizeAnswer(tokens, len(tokens), len(prompt), UNSET, shown)
        return Response(encode_json(answer))
    except TokenizationFailed as error:
        return plain_error(500, "tokenization_error", f"Tokenization failed: {error}")


def _answer_in_parts(stored: StoredTokenizer, prompt: str, flags: dict[str, bool], shown: str | UnsetType) -> bytes:
    """The answer to a long prompt. Its ids are made, and made JSON, part by part."""
    tokens, count = _json_of_long(stored, prompt, flags)
    return _with_tokens(TokenizeAnswer([], count, len(prompt), UNSET, shown), tokens)


def _batch_in_parts(stored: StoredTokenizer, prompts: list[str], flags: dict[str, bool]) -> bytes:
    """The answer to prompts that are long together, made in the same way."""
    tokens: list[bytes] = []
    counts: list[int] = []
    for group in _groups(prompts):
        start = len(counts)
        tokens.append(b"],[" if start else b"[")
        try:
            if len(group[0]) > GROUP:
                ids, count = _json_of_long(stored, group[0], flags)
                tokens += ids
                counts.append(count)
            else:
                encoded = stored.tokenizer.encode_batch(group, **flags)
                tokens.append(encode_json(encoded)[2:-2])
                counts += map(len, encoded)
        except TokenizationFailed as error:
            raise TokenizationFailed(error.reason, start + (error.index or 0)) from None
        rest()
    return _with_tokens(TokenizeBatchAnswer([], counts, [*map(len, prompts)]), [*tokens, b"]"])


def _groups(prompts: list[str]) -> Iterator[list[str]]:
    """Prompts that are at most `GROUP` long together, in their order; a longer one is alone."""
    group: list[str] = []
    characters = 0
    for prompt in prompts:
        characters += len(prompt)
        if group and characters > GROUP:
            yield group
            group, characters = [], len(prompt)
        group.append(prompt)
    yield group


def _json_of_long(stored: StoredTokenizer, prompt: str, flags: dict[str, bool]) -> tuple[list[bytes], int]:
    """The ids of a long prompt as JSON, without the brackets, and their number."""
    # What is put around a text as a whole must not be put around its parts.
    parts = (prompt,) if flags["add_special_tokens"] else stored.tokenizer.parts(prompt)
    tokens: list[bytes] = []
    count = 0
    for part in parts:
        ids = stored.tokenizer.encode_flat(part, **flags)
        count += len(ids)
        for start in range(0, len(ids), STEP):
            tokens += (b",", encode_json(ids[start : start + STEP].tolist())[1:-1])
            rest()
    return tokens[1:], count


def _with_tokens(answer: TokenizeAnswer | TokenizeBatchAnswer, tokens: list[bytes]) -> bytes:
    """The answer as JSON; `tokens`, its first member, is empty there."""
    before, after = encode_json(answer).split(b"]", 1)
    return b"".join([before, *tokens, b"]", after])


def _tokens_of_all(
    stored: StoredTokenizer, prompts: list[str], with_pieces: bool, flags: dict[str, bool]
) -> TokenizeBatchAnswer:
    lengths = [*map(len, prompts)]
    if not with_pieces:
        tokens = stored.tokenizer.encode_batch(prompts, **flags)
        return TokenizeBatchAnswer(tokens, [*map(len, tokens)], lengths)
    pieces: list[list[Piece]] = []
    for index, prompt in enumerate(prompts):
        try:
            pieces.append(stored.tokenizer.pieces(prompt, **flags))
        except TokenizationFailed as error:
            raise TokenizationFailed(error.reason, index) from None
    tokens = [[piece.id for piece in group] for group in pieces]
    return TokenizeBatchAnswer(tokens, [*map(len, tokens)], lengths, pieces)


def _render(stored: StoredTokenizer, wanted: TokenizeBody, messages: list[dict[str, Any]]) -> str:
    template = stored.tokenizer.chat_template
    if template is None:
        raise ChatTemplateError(f"tokenizer '{stored.name}' has no chat template")
    return template.render(
        messages,
        tools=wanted.tools or None,
        add_generation_prompt=wanted.add_generation_prompt is True,
        arguments=wanted.chat_template_kwargs or None,
        now=datetime.now,
    )


def _read_ids(body: bytes, pause: Pause) -> DetokenizeBody | DetokenizeBatchBody:
    try:
        return _DETOKENIZE.read(body, pause)
    except InvalidBody as error:
        if "tokens[0] must be a whole number" not in str(error) or "not an array" not in str(error):
            raise
        return _DETOKENIZE_BATCH.read(body, pause)


def _detokenize(stored: StoredTokenizer, wanted: DetokenizeBody | DetokenizeBatchBody) -> Response:
    batch = isinstance(wanted, DetokenizeBatchBody)
    sequences: list[list[int]] = wanted.tokens if isinstance(wanted, DetokenizeBatchBody) else [wanted.tokens]
    texts: list[str] = []
    pieces: list[list[Piece]] = []
    try:
        for ids in sequences:
            texts.append(stored.tokenizer.decode(ids, skip_special_tokens=wanted.skip_special_tokens))
            if wanted.pieces:
                pieces.append(pieces_of_ids(stored.tokenizer, ids))
    except UnknownTokenId as error:
        place = f"tokens[{len(texts)}][{error.position}]" if batch else f"tokens[{error.position}]"
        message = f"{place}: id {error.token_id} is not in the vocabulary of '{stored.name}'"
        return error_response("api", 400, "unknown_token_id", message, param="tokens")
    except DetokenizationFailed as error:
        place = f"tokens[{len(texts)}]: " if batch else ""
        return plain_error(500, "detokenization_error", f"Detokenization failed: {place}{error}")
    answer: DetokenizeAnswer | DetokenizeBatchAnswer
    if batch:
        answer = DetokenizeBatchAnswer(texts)
        if wanted.pieces:
            answer.pieces, answer.incomplete = pieces, [*map(ends_inside_character, pieces)]
    else:
        answer = DetokenizeAnswer(texts[0])
        if wanted.pieces:
            answer.pieces, answer.incomplete = pieces[0], ends_inside_character(pieces[0])
    return Response(encode_json(answer))
