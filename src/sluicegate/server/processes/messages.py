"""What the supervisor and its serving processes tell each other.

Every message is one msgpack array with its kind first. What is asked carries a `number`, its answer carries it back.
Changes of the tokenizers and workers carry the number of the change, which `Applied` confirms.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import Struct

from sluicegate.admission.ticket import Refusal
from sluicegate.settings import Settings
from sluicegate.tokenizers.protocol import Engine

Parsers: TypeAlias = dict[str, tuple[str | None, str | None]]
"""Tool-call parser and reasoning parser that workers name, by model."""


class _Message(Struct, array_like=True, tag=True, gc=False):
    """One message."""


# ---------------------------------------------------------------- tokenizers


class FromSource(Struct, frozen=True, array_like=True, tag=True):
    """A source that a request or a worker names."""

    source: str
    chat_template: str | None


class FromDirectory(Struct, frozen=True, array_like=True, tag=True):
    """A directory that the supervisor has made."""

    path: str


class FromSettings(Struct, frozen=True, array_like=True, tag=True):
    """The tokenizer that the settings name."""

    source: str


class FromDemo(Struct, frozen=True, array_like=True, tag=True):
    """One of the bundled tokenizers."""

    name: str


Order: TypeAlias = FromSource | FromDirectory | FromSettings | FromDemo
"""What is to be loaded."""


class Description(Struct, frozen=True, array_like=True):
    """What the supervisor knows of a tokenizer that a process has loaded."""

    vocab_size: int
    engine: Engine


class Load(_Message):
    """Load a tokenizer and keep it, unseen by requests. Answered by `Loaded` or `NotLoaded`."""

    number: int
    order: Order


class Loaded(_Message):
    number: int
    description: Description


class NotLoaded(_Message):
    number: int
    reason: str
    retryable: bool


class Discard(_Message):
    """Nobody wants this load any more: end it, forget its tokenizer."""

    number: int


class Publish(_Message):
    """Show a tokenizer to requests: the one of this load, which is made up for if it is not there."""

    change: int
    number: int
    order: Order
    description: Description
    name: str
    id: str
    source: str


class Remove(_Message):
    """Take a tokenizer away from requests."""

    change: int
    id: str


class SetParsers(_Message):
    """Use these parsers of workers from now on."""

    change: int
    parsers: Parsers


class Applied(_Message):
    """This change and all before it are made."""

    change: int


# ---------------------------------------------------------------- requests of the control plane


class Forward(_Message):
    """A request that the supervisor is to answer; it has been authorised."""

    number: int
    method: str
    path: str
    body: bytes
    request_id: bytes


class Answer(_Message):
    number: int
    status: int
    body: bytes
    content_type: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    code: str | None


# ---------------------------------------------------------------- admission


class Lend(_Message):
    """From now on this process may have so many requests in progress without asking (None: any number).

    With 0, it names what it has in progress by `Returned`, and asks for each.
    """

    epoch: int
    places: int | None


class Returned(_Message):
    """All requests in progress, by ticket."""

    epoch: int
    tickets: list[int]


class Ask(_Message):
    """Ask for a place. Answered by `Admitted`, `Refused` or `AskAgain`. `priority` is the header of that name."""

    ticket: int
    epoch: int
    tenant: str
    priority: bytes | None


class Admitted(_Message):
    ticket: int


class NotAdmitted(_Message):
    """The request is refused; or, after `Admitted`, its place has been taken away."""

    ticket: int
    refusal: Refusal


class AskAgain(_Message):
    """The question has crossed a `Lend`."""

    ticket: int


class Started(_Message):
    """The body has been read: the place can no longer be taken away."""

    ticket: int


class Charge(_Message):
    """Count these characters against the tenant's limits. Answered by `Charged`."""

    ticket: int
    tenant: str
    model: str
    characters: int


class Charged(_Message):
    ticket: int
    refusal: Refusal | None


class Leave(_Message):
    """Give the place up, admitted or waiting."""

    ticket: int


# ---------------------------------------------------------------- metrics


class Sample(Struct, frozen=True, array_like=True, gc=False):
    """One number."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


class Family(Struct, frozen=True, array_like=True):
    """The numbers of one metric."""

    name: str
    text: str
    type: str
    samples: list[Sample]


class Measure(_Message):
    """Tell the metrics. Answered by `Measured`."""

    number: int


class Measured(_Message):
    """All metrics of a process; number 0 comes unasked."""

    number: int
    families: list[Family]


# ---------------------------------------------------------------- life


class Welcome(_Message):
    """The first message to a process: what it is to serve. Answered by `Ready`."""

    number: int
    settings: Settings
    published: list[Publish]
    parsers: Parsers
    epoch: int
    places: int | None


class Ready(_Message):
    """All of it is loaded."""


class Accept(_Message):
    """Accept connections."""


class Drain(_Message):
    """End when no request is left, or after `grace` seconds."""

    grace: float


class Hurry(_Message):
    """Wait no longer for requests."""


ToProcess: TypeAlias = (
    Welcome | Accept | Drain | Hurry | Load | Discard | Publish | Remove | SetParsers | Answer
    | Lend | Admitted | NotAdmitted | AskAgain | Charged | Measure
)  # fmt: skip
ToSupervisor: TypeAlias = (
    Ready | Loaded | NotLoaded | Applied | Forward | Returned | Ask | Started | Charge | Leave | Measured
)
read_to_process = msgspec.msgpack.Decoder(ToProcess).decode
read_to_supervisor = msgspec.msgpack.Decoder(ToSupervisor).decode
