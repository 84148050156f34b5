"""A check of declared formats: their examples, and what the parsing contract promises for every format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from sluicegate.core.chain import Chain
from sluicegate.core.collect import collect
from sluicegate.core.context import Context
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.events import ArgumentsDelta, CallEnd, Event, Outcome
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.declared import DeclaredFormats, ExampleTable, read_format_file

CHUNK_SIZES = (1, 2, 3, 7)


def check_file(text: str) -> list[str]:
    """What is wrong with the formats that a TOML text declares, each problem in one line; empty if nothing is.

    The tables are made, each example is read by the formats of the file and compared, and the promises that hold for
    every format (one outcome however the text is cut, every character in one span, arguments sent in pieces that join
    to the whole) are tried on the examples, on beginnings of them and on damaged ones.
    """
    try:
        declared = read_format_file(text)
    except InvalidDialect as error:
        return [str(error)]
    if len(declared.tools) > 1 or len(declared.reasoning) > 1:
        problems = [] if not declared.examples else ["examples need a file with at most one format of each kind"]
        return problems + _check_alone(declared)
    problems = [
        f"example {number}: {problem}"
        for number, example in enumerate(declared.examples, 1)
        for problem in _check_example(declared, example)
    ]
    for sample in _samples(declared):
        for in_reasoning in (None, True, False):
            problem = _broken_promise(lambda: _machine(declared, in_reasoning, ()), sample)  # noqa: B023
            if problem:
                problems.append(f"{problem} for the text {sample!r}")
                return problems
    return problems


def _check_alone(declared: DeclaredFormats) -> list[str]:
    return [
        problem
        for single in (
            *(DeclaredFormats((), (form,), ()) for form in declared.tools),
            *(DeclaredFormats((form,), (), ()) for form in declared.reasoning),
        )
        for sample in _samples(single)
        if (problem := _broken_promise(lambda: _machine(single, None, ()), sample))  # noqa: B023
    ]


def _machine(declared: DeclaredFormats, in_reasoning: bool | None, tools: tuple[object, ...]) -> Chain | FormatMachine:
    machines: list[FormatMachine] = []
    for reasoning_format in declared.reasoning:
        context = Context()
        machines.append(FormatMachine(reasoning_format.read(context, in_reasoning), context))
    for tool_format in declared.tools:
        context = Context(tools, deltas=True)
        machines.append(FormatMachine(tool_format.read(context), context))
    return machines[0] if len(machines) == 1 else Chain(*machines)


def _read(machine: Chain | FormatMachine, text: str, size: int) -> list[Event]:
    events: list[Event] = []
    for start in range(0, len(text), size):
        events += machine.feed(text[start : start + size])
    return [*events, *machine.finish()]


def _check_example(declared: DeclaredFormats, example: ExampleTable) -> Iterator[str]:
    machine = _machine(declared, example.in_reasoning, example.tools)
    outcome = collect(_read(machine, example.text, len(example.text) or 1))
    if outcome.reasoning != example.reasoning:
        yield f"reasoning is {outcome.reasoning!r}, not {example.reasoning!r}"
    if outcome.content != example.content:
        yield f"content is {outcome.content!r}, not {example.content!r}"
    read = [(call.name, json.loads(call.arguments)) for call in outcome.calls]
    wanted = [(call.name, call.arguments) for call in example.calls]
    if read != wanted:
        yield f"calls are {read!r}, not {wanted!r}" + _why(outcome)


def _why(outcome: Outcome) -> str:
    found = "; ".join(f"{diagnostic.code}: {diagnostic.message}" for diagnostic in outcome.diagnostics)
    return f" ({found})" if found else ""


def _samples(declared: DeclaredFormats) -> list[str]:
    """The examples, beginnings of them, damaged ones, and the markers in odd places."""
    texts = [example.text for example in declared.examples]
    markers = [marker for form in (*declared.tools, *declared.reasoning) for marker in form.markers]
    samples = [*texts, *(marker * 3 for marker in markers), " ".join(markers), *("a " + marker for marker in markers)]
    for text in texts:
        step = max(1, len(text) // 12)
        samples += [text[:end] for end in range(0, len(text), step)]
        samples += [text[:start] + text[start + step :] for start in range(0, len(text), step)]
        samples += [text + text, text + "\n" + text]
    return list(dict.fromkeys(samples))


def _broken_promise(make: Callable[[], Chain | FormatMachine], text: str) -> str:
    whole_events = _read(make(), text, len(text) or 1)
    whole = collect(whole_events)
    position = 0
    for span in whole.spans:
        if span.start != position:
            return f"the spans leave a gap or overlap at {position}"
        position = span.end
    if position != len(text):
        return f"the spans end at {position} of {len(text)}"
    for size in CHUNK_SIZES:
        events = _read(make(), text, size)
        if collect(events) != whole:
            return f"pieces of {size} give another outcome than the whole"
        sent: dict[int, str] = {}
        for event in events:
            if isinstance(event, ArgumentsDelta):
                sent[event.index] = sent.get(event.index, "") + event.json
            elif isinstance(event, CallEnd) and sent.get(event.index, "") != event.arguments:
                return "the pieces of the arguments do not join to the arguments"
    return ""
