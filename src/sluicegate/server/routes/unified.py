"""`POST /parse`: reasoning, answer and calls of one output; and which parsers fit which model."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from sluicegate.answers import ParseAnswer, Parsers, parse_answer
from sluicegate.core.errors import ConflictingStart, TextLimitExceeded, UnknownDialect
from sluicegate.core.events import Diagnostic, Outcome
from sluicegate.dialects.detection import PASSTHROUGH, Choice, match_model
from sluicegate.dialects.output_detection import Candidate, detect_from_text
from sluicegate.parsing import Machine
from sluicegate.server.body import BodyReader, InvalidBody
from sluicegate.server.long_inputs import parse, rest
from sluicegate.server.parser_choice import ParserChoice
from sluicegate.server.request import Request
from sluicegate.server.response import Refused, Response, encode_json, error_response
from sluicegate.server.routing import SMALL_BODY, Route, get, post
from sluicegate.server.state import ServiceState
from sluicegate.tokenizers.errors import TokenizerNotLoaded, UnknownTokenId
from sluicegate.tokenizers.pieces import pieces_of_ids
from sluicegate.tokenizers.protocol import Piece
from sluicegate.tokenizers.store import StoredTokenizer

from .catalogue import FormatEntry, list_formats
from .parsing import failure
from .tokens import TokenId
from .tools import RawTools, read_tools


class Parsing(msgspec.Struct, gc=False, kw_only=True):
    """How an output is to be read: the members that `POST /parse` and the streaming routes share."""

    model: str | UnsetType = UNSET
    tool_call_parser: str | UnsetType = UNSET
    reasoning_parser: str | UnsetType = UNSET
    tools: RawTools | UnsetType = UNSET
    in_reasoning: bool | UnsetType | None = None
    prompt: str | UnsetType = UNSET
    keep_frame: bool = False
    explain: bool = False


class ParseBody(Parsing, gc=False, kw_only=True):
    """Body of `POST /parse`: a text, or token ids with the model whose tokenizer reads them."""

    text: str | UnsetType = UNSET
    token_ids: list[TokenId] | UnsetType = UNSET


class _Output(NamedTuple):
    """An output that is to be parsed; `tokenizer` is what has read its token ids, if it came as such."""

    wanted: ParseBody
    choice: Choice
    text: str
    tokenizer: StoredTokenizer | None


class DetectBody(msgspec.Struct, gc=False):
    """Body of `POST /parse/detect`: a model's name, an output, or both."""

    model: str | UnsetType = UNSET
    text: str | UnsetType = UNSET


class DetectAnswer(msgspec.Struct, omit_defaults=True):
    """What fits: by the model's name the parsers, what decided and the pattern of the table; by the text candidates."""

    tool_call_parser: str | UnsetType = UNSET
    reasoning_parser: str | UnsetType = UNSET
    pattern: str | UnsetType | None = UNSET
    parsers: Parsers | UnsetType = UNSET
    candidates: list[Candidate] | UnsetType = UNSET


class ParserList(msgspec.Struct):
    """Answer of `GET /parse/parsers`."""

    parsers: list[FormatEntry]


_PARSE = BodyReader(ParseBody)
_DETECT = BodyReader(DetectBody)


class UnifiedRoutes:
    """The handlers. Ids of calls are random, and need not be secret."""

    def __init__(self, state: ServiceState, choose: ParserChoice) -> None:
        self._state = state
        self._choose = choose
        self._bits = random.Random(random.SystemRandom().getrandbits(256)).getrandbits  # noqa: S311

    def routes(self) -> list[Route]:
        """The routes, all of them of the control plane, as those of single formats are."""
        return [
            post("/parse", "control", self.parse, "parse"),
            post("/parse/detect", "control", self.detect, "parse"),
            get("/parse/parsers", "control", self.list_parsers, "parse"),
        ]

    def parse(self, _request: Request, body: bytes) -> Response | Awaitable[Response]:
        """All of one output in one pass; long bodies are read and parsed in a thread."""
        if len(body) > SMALL_BODY:
            return self._state.in_thread(lambda: self._parse(self._read(body)))
        output = self._read(body)
        # A few ids can stand for a long text.
        long = len(output.text) > SMALL_BODY
        return self._state.in_thread(partial(self._parse, output)) if long else self._parse(output)

    def _read(self, body: bytes) -> _Output:
        wanted = _PARSE.read(body, rest)
        tokenizer = self._tokenizer(wanted)
        choice = self.choice(wanted)
        if tokenizer is None:
            return _Output(wanted, choice, str(wanted.text), None)
        try:
            text = tokenizer.tokenizer.decode(_ids(wanted), skip_special_tokens=False)
        except UnknownTokenId as error:
            message = f"token_ids[{error.position}]: id {error.token_id} is not in the vocabulary"
            raise Refused(error_response("parse", 400, "unknown_token_id", message)) from None
        return _Output(wanted, choice, text, tokenizer)

    def choice(self, wanted: Parsing) -> Choice:
        """The parsers for a request. Raises `InvalidBody` where it names nothing to choose by."""
        read_tools(wanted.tools)  # a wrong shape comes before a wrong name
        model, tools, reasoning = map(_given, (wanted.model, wanted.tool_call_parser, wanted.reasoning_parser))
        choice = self._choose(model, tools, reasoning)
        if model is None and choice.tools.decided_by == choice.reasoning.decided_by == "nothing":
            raise InvalidBody("one of 'model', 'tool_call_parser' and 'reasoning_parser' is required", "model")
        return choice

    def _tokenizer(self, wanted: ParseBody) -> StoredTokenizer | None:
        """What reads the token ids, None where a text is given. Refuses what does not go together."""
        if wanted.token_ids is UNSET:
            if wanted.text is UNSET:
                raise InvalidBody("field 'text' is required (or 'token_ids' with 'model')", "text")
            return None
        if wanted.text is not UNSET:
            raise InvalidBody("fields 'text' and 'token_ids' exclude each other", "token_ids")
        if not isinstance(wanted.model, str):
            raise InvalidBody("field 'token_ids' needs the field 'model', whose tokenizer reads them", "model")
        try:
            return self._state.store.resolve(wanted.model)
        except TokenizerNotLoaded as error:
            raise Refused(failure(str(error))) from None

    def _parse(self, output: _Output) -> Response:
        wanted, choice, text, tokenizer = output
        pieces: Sequence[Piece] = ()
        if tokenizer is not None and wanted.explain:
            pieces = pieces_of_ids(tokenizer.tokenizer, _ids(wanted))
        try:
            outcome = parse(machine_for(wanted, choice, complete=True), text, keep_frame=wanted.keep_frame)
        except (UnknownDialect, TextLimitExceeded, ConflictingStart) as error:
            return parse_refusal(error)
        answer: Any = self.answer(wanted, outcome, choice, len(text))
        if pieces and pieces[0].start is not None:
            answer = msgspec.to_builtins(answer)
            _add_tokens(answer["spans"], pieces)
        return Response(encode_json(answer))

    def answer(self, wanted: Parsing, outcome: Outcome, choice: Choice, length: int) -> ParseAnswer:
        """The answer for the outcome of a text of `length` code points."""
        if wanted.explain:
            outcome = _with_choice(outcome, choice, wanted, length)
        return parse_answer(outcome, choice, call_id=self._call_id, explain=wanted.explain)

    def _call_id(self) -> str:
        return f"call_{self._bits(96):024x}"

    def detect(self, _request: Request, body: bytes) -> Response | Awaitable[Response]:
        """Which parsers fit a model's name, an output, or both."""
        work = partial(self._detect, body)
        # A text is read by every format there is.
        return work() if len(body) <= SMALL_BODY // 16 else self._state.in_thread(work)

    def _detect(self, body: bytes) -> Response:
        wanted = _DETECT.read(body, rest)
        if wanted.model is UNSET and wanted.text is UNSET:
            raise InvalidBody("one of 'model' and 'text' is required", "model")
        answer = DetectAnswer()
        if isinstance(wanted.model, str):
            choice, match = self._choose(wanted.model), match_model(wanted.model)
            answer.tool_call_parser, answer.reasoning_parser = choice.tool_call_parser, choice.reasoning_parser
            answer.pattern = match.pattern if match else None
            answer.parsers = Parsers(choice.tools, choice.reasoning)
        if isinstance(wanted.text, str):
            answer.candidates = detect_from_text(wanted.text)
        return Response(encode_json(answer))

    def list_parsers(self, _request: Request, _body: bytes) -> Response:
        """Every format."""
        return Response(encode_json(ParserList(list_formats())))


def _ids(wanted: ParseBody) -> list[int]:
    return [] if wanted.token_ids is UNSET else wanted.token_ids


def parse_refusal(error: UnknownDialect | TextLimitExceeded | ConflictingStart) -> Response:
    """The refusal of an output that cannot be read as it is asked for."""
    if isinstance(error, UnknownDialect):
        return failure(f"Unknown {error.kind} parser: {error.name}")
    if isinstance(error, TextLimitExceeded):
        return failure(f"Failed to parse: {error}")
    return error_response("parse", 422, "invalid_body", str(error))


def machine_for(wanted: Parsing, choice: Choice, *, complete: bool = False) -> Machine:
    """A machine for a request, which asks for an outcome alone or for events too.

    Raises `UnknownDialect` and `ConflictingStart`.
    """
    return Machine(
        choice.tool_call_parser,
        choice.reasoning_parser,
        tools=read_tools(wanted.tools),
        in_reasoning=_given(wanted.in_reasoning),
        prompt=_given(wanted.prompt),
        deltas=not complete,
        details=wanted.explain,
        remember=not complete,
    )


def _given(value: Any) -> Any:
    return None if value is UNSET else value


def _with_choice(outcome: Outcome, choice: Choice, wanted: Parsing, length: int) -> Outcome:
    """The outcome with what its caller should know of the parsers: none was found, or a member has no effect."""
    said = [
        ("no_parser", f"no {kind} parser was chosen: {side.why}")
        for kind, side in (("tool-call", choice.tools), ("reasoning", choice.reasoning))
        if side.decided_by == "nothing"
    ]
    if isinstance(wanted.in_reasoning, bool) and choice.reasoning_parser == PASSTHROUGH:
        why = choice.reasoning.why
        said.append(("no_effect", f"in_reasoning has no effect: the parser passthrough reads no reasoning ({why})"))
    found = [Diagnostic(code, "warning", 0, length, message) for code, message in said]
    return msgspec.structs.replace(outcome, diagnostics=(*outcome.diagnostics, *found)) if found else outcome


def _add_tokens(spans: list[dict[str, Any]], pieces: Sequence[Piece]) -> None:
    """Give each span the position of the first token that has a character of it, and that behind the last one."""
    starts = [piece.start or 0 for piece in pieces]
    ends = [piece.end or 0 for piece in pieces]
    for span in spans:
        span["tokens"] = [bisect_right(ends, span["start"]), bisect_left(starts, span["end"])]
