"""Writes docs/performance.md from the results: what was measured, how, on what, and how far each goal is."""

from __future__ import annotations

import json
import pathlib
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.timing import RESULTS, ROOT

PAGE = ROOT / "docs" / "performance.md"
SMALL_PARSES = {"0.3 KB", "2 KB"}
HEAD = """\
# Performance

<!-- Written by `python -m benchmarks` from benchmarks/results/. Do not edit. -->

Every figure on this page was measured by `make bench`, which sets up what it compares with in .cache/benchmarks; the
comparison over HTTP also needs the client `wrk`. A ratio above 1 means that ours is faster. Run it on your own machine:
ratios carry over from one machine to another, times do not.
"""
IN_PROCESS = """\
Ours and SGLang's parsers ({package}) get the same outputs in one process and take turns; a parser is
made anew for each output, as a server does. Outputs are read as a whole or streamed, so many characters at a time.
Times are processor time, the medians of five rounds. Ours gives the spans of the whole text in every parse and argument
deltas in every stream. An output is prose and one call (0.3 KB) or three (2 KB and more, one of which has code as an
argument). `wrong` marks times in which the calls found were not those that were rendered. Chunks cut markers anywhere;
some of SGLang's parsers count on special tokens that come whole, and find nothing then.
"""
LONG = """\
One argument of 34 KB in chunks of four characters. SGLang is stopped after three seconds of processor time; the share
of the text that it had taken by then is given.
"""
GROWTH = """\
One call with one long argument, fed character by character: processor time per character in µs.
"""
HTTP = """\
Ours and SMG ({package}) serve the tokenizer qwen3, and llama3_1 where it is named, each bound to the same core, the
client `wrk` to another one.
{rounds} rounds of {seconds} s for each request take turns, and the medians count. With other work on the machine the
processor time per request says more than the requests per second, which depend on how the cores are shared out.
`floor` is a server on uvloop that reads nothing and answers every request alike: a server in Python has what lies
between it and SMG for reading the request, the work, and the answer.

What a request costs beside its parsing decides here. Kept: an answer without a task, a head that is not read twice, the
answers of one turn of the event loop written together (each write wakes the client that waits: 9 µs of the system
became 1), metrics as plain numbers, a date header that is written once per second, a place of the limiter without a
ticket. Tried and not kept: the modules of the service compiled, too (2 % at most), the requests of one turn all read
before the first is answered (4 % for one request of three), a way around the request's objects (1 %). What is left,
some 35 µs for `/parse/function_call` with 0.3 KB: 6 for the system, 8 for the parse, 4 for JSON, and some 16 for many
small steps of Python. Of some 50 µs for `/v1/tokenize` with 2 KB the engine takes 14 and JSON 8.
"""
TOKENIZERS = """\
Ours beside the library that each tokenizer comes from, called as its documentation says; the best of five rounds in
turns, in µs. That the ids are equal is checked by `python -m benchmarks.tokenizers exact`. `gigatoken` is another fast
library, here for comparison: its tables are of another version of Unicode than the reference's, so that some texts get
other ids, and its caches have no bound.
"""
SPENT = """\
A small complete parse has no slow part: it is some hundred calls of small functions, and no single one stands out.
What was done about it, and is in the figures above:

- A call of the usual form that lies in the text as a whole is read at once, its JSON by the C decoder. Tests hold the
  result equal to that of the reader that takes it character by character.
- A complete text is read in one pass, without the look at what may still come.
- The core can be compiled, see below.
- Events, spans and calls are structures of msgspec; the fold over the events asks for no subclasses.
- Markers are looked up where their first characters stand, and searched with one expression without groups otherwise.

A stream costs a fixed time for each chunk and none for what came before, so that it grows with the text alone; parsers
that read the value again with every chunk fall behind by more the longer it is.

What is missing of the goals is the fixed cost of a request and of a small parse, which Python pays in calls. What grows
with the text costs little.
"""
COMPILED = """\
The core is plain Python, and mypyc can compile it as it is: `scripts/build-compiled` builds such a wheel, and `make
bench` measures it. An installation from source, or on a platform without a wheel, runs the source; the tests run on
both. What is compiled is everything in `core` but the events, which are structures of msgspec, and the errors.

µs of the source and of the compiled core, each in a process of its own, in turns:
"""
PROCESSES = """\
One process and two on two cores, which they share with the client: only requests that keep the service busy for far
longer than the client can come near to twice as many. [How they serve as one](design/processes.md). Medians of {rounds}
rounds of {seconds} s.
"""


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _result(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] | None = json.loads(path.read_text("utf-8")) if path.is_file() else None
    return found


def _machine(result: dict[str, Any]) -> str:
    machine = result.get("machine")
    if machine is None:
        return (
            f"Python {result.get('python')}; {', '.join(f'{k} {v}' for k, v in result.get('versions', {}).items())}.\n"
        )
    load, cores = machine["load"], machine["cores"]
    busy = " The machine was busy with other work, which slows every time down." if load > cores else ""
    return (
        f"{machine['date']}: {machine['processor']}, {cores} cores, {machine['system']}, Python {machine['python']}, "
        f"core: {machine.get('core', 'source')}, load average {load} at the end.{busy}\n"
    )


def _way(row: dict[str, Any]) -> str:
    return f"{row['chunk']} at a time" if row["chunk"] else "complete"


def _in_process(result: dict[str, Any]) -> str:
    parts = ["## In one process, beside SGLang\n", IN_PROCESS.format(package=result["package"]), _machine(result)]
    if result["without"]:
        parts.append(f"SGLang is missing from this run: {result['without']}.\n")
    rows: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in result["rows"]:
        rows.setdefault((row["format"], row["size"]), {})[_way(row)] = row
    ways = list(dict.fromkeys(_way(row) for row in result["rows"]))

    def cell(row: dict[str, Any] | None) -> str:
        if row is None:
            return ""
        times = row["microseconds"]
        text = f"{times['ours']:,.0f}" + ("" if row["right"]["ours"] else " wrong")
        if "sglang" in times:
            text += f" / {times['sglang']:,.0f}" + ("" if row["right"]["sglang"] else " wrong")
            text += f" = **{row['ratio']}**"
        elif "sglang" in row["right"]:
            text += " / more than 3 s"
        return text

    parts.append("µs of ours / of SGLang = how many times faster ours is:\n")
    parts.append(
        _table(
            ("Format", "Size", *ways),
            ((name, size, *(cell(found.get(way)) for way in ways)) for (name, size), found in rows.items()),
        )
    )
    if result["long"]:
        parts.append(LONG)
        parts.append(
            _table(
                ("Format", "ours, ms", "SGLang, ms", "share taken"),
                (
                    (
                        row["format"],
                        row["milliseconds"]["ours"],
                        row["milliseconds"].get("sglang", ""),
                        f"{row['share']:.0%}" if "share" in row else "",
                    )
                    for row in result["long"]
                ),
            )
        )
    return "\n".join(parts)


def _growth(result: dict[str, Any]) -> str:
    rows = ((row["format"], row["small"], row["large"], row["ratio"]) for row in result["rows"])
    return "\n".join(
        (
            "## Long outputs\n",
            GROWTH,
            _machine(result),
            _table(("Format", "64 KB", "256 KB", "256 KB to 64 KB"), rows),
        )
    )


def _http(result: dict[str, Any]) -> str:
    parts = ["## Over HTTP, beside SMG\n", HTTP.format(**result), _machine(result)]
    if result["without"]:
        parts.append(f"SMG is missing from this run: {result['without']}.\n")
    names = list(result["resident_mb"])
    head = ["Request", "body", "connections"]
    for name in names:
        head += [f"{name}: requests/s", "p50 ms", "p99 ms", "µs of processor"]
    head += ["ratio of requests/s", "ratio of processor time", "same answer"] if len(names) > 1 else []
    head += ["floor: requests/s", "µs of processor"]
    rows: list[list[object]] = []
    for row in result["rows"]:
        cells: list[object] = [f"`{row['path']}`", row["body"], row["connections"]]
        for name in names:
            median = row["medians"][name]
            cells += [f"{median['requests_per_second']:,.0f}", median["p50_ms"], median["p99_ms"]]
            cells.append(f"{median['processor_us']:,.0f}")
        if len(names) > 1:
            cells += [f"**{row['ratio']}**", row["processor_ratio"], "yes" if row["same_answer"] else "no"]
        floor = row["medians"].get("floor")
        cells += [f"{floor['requests_per_second']:,.0f}", f"{floor['processor_us']:,.0f}"] if floor else ["", ""]
        rows.append(cells)
    parts.append(_table(head, rows))
    memory = ", ".join(f"{name} {value:,.0f}" for name, value in result["resident_mb"].items())
    parts.append(f"Resident memory with the one tokenizer, before the first round, in MB: {memory}.\n")
    return "\n".join(parts)


def _processes(result: dict[str, Any]) -> str:
    parts = ["## Several processes\n", PROCESSES.format(**result), _machine(result)]
    rows: list[list[object]] = []
    for row in result["rows"]:
        one, two = row["medians"]["1"], row["medians"]["2"]
        rates = [f"{median['requests_per_second']:,.0f}" for median in (one, two)]
        rows.append([f"`{row['path']}`", row["body"], *rates, f"**{row['ratio']}**", row["processor_ratio"]])
    head = ("Request", "body", "one: requests/s", "two: requests/s", "ratio", "processor time of two to one")
    return "\n".join([*parts, _table(head, rows)])


def _tokenizers(result: dict[str, Any]) -> str:
    parts = ["## Tokenizers, beside their libraries\n", TOKENIZERS, _machine(result)]
    rows: list[list[object]] = []
    for name, found in result["tokenizers"].items():
        for work, times in found.get("speed", {}).items():
            library = next(key for key in times if key.endswith(" us") and key not in ("ours us", "gigatoken us"))
            title = library.removesuffix(" us")
            other = times.get("gigatoken us")
            rows.append([name, work, f"{times['ours us']:,.1f}", f"{times[library]:,.1f} ({title})"])
            rows[-1] += [times["times faster"], "" if other is None else f"{other:,.1f}"]
    parts.append(_table(("Tokenizer", "work", "ours", "library", "times faster", "gigatoken"), rows))
    return "\n".join(parts)


def _verdict(goal: float, found: Sequence[float]) -> tuple[str, str]:
    """The figures, and whether the worst of them reaches the goal."""
    low = min(found)
    reached = sum(value >= goal for value in found)
    shown = f"{low:g} to {max(found):g}, median {statistics.median(found):g}"
    return shown, "yes" if low >= goal else f"{reached} of {len(found)}"


def _goals(in_process: dict[str, Any] | None, growth: dict[str, Any] | None, http: dict[str, Any] | None) -> str:
    """How far each goal is."""
    rows: list[tuple[str, ...]] = []

    def add(title: str, goal: float, found: Sequence[float]) -> None:
        if found:
            rows.append((title, f"≥ {goal:g}", *_verdict(goal, found)))

    for kind, title, complete, streamed in (("json", "JSON formats", 1.2, 20), ("tagged", "tagged formats", 1.5, 2)):
        measured = [row for row in in_process["rows"] if "ratio" in row and row["kind"] == kind] if in_process else []
        right = [row for row in measured if all(row["right"].values())]
        add(f"complete parse, {title}, to SGLang", complete, [row["ratio"] for row in right if not row["chunk"]])
        add(
            f"4 characters, 2 KB, {title}, to SGLang",
            streamed,
            [row["ratio"] for row in right if row["chunk"] == 4 and row["size"] == "2 KB"],
        )
    for row in in_process["long"] if in_process else ():
        spent = row["milliseconds"]["ours"]
        rows.append((f"34 KB argument, 4 characters, {row['format']}", "< 50 ms", f"{spent} ms", _yes(spent < 50)))
    if growth:
        worst = max(row["ratio"] for row in growth["rows"])
        limit = growth["limit"]
        rows.append(
            ("cost per character, 256 KB to 64 KB, the worst format", f"≤ {limit}", f"{worst}", _yes(worst <= limit))
        )
    if http and "smg" in http["resident_mb"]:
        for paths, bodies, goal in (
            ({"/parse/function_call", "/parse/reasoning"}, SMALL_PARSES, 1.5),
            ({"/v1/tokenize", "/v1/detokenize"}, {"12 B", "10 ids"}, 1.3),
            ({"/v1/tokenize"}, {"2 KB", "32 KB", "1 MB"}, 4.0),
            ({"/v1/tokenize"}, {"2 KB, llama3_1", "32 KB, llama3_1", "1 MB, llama3_1"}, 8.0),
        ):
            for path in sorted(paths):
                chosen = [row for row in http["rows"] if row["path"] == path and row["body"] in bodies]
                title = f"`{path}`, {', '.join(sorted({row['body'] for row in chosen}))}"
                add(f"requests per second, {title}, to SMG", goal, [row["ratio"] for row in chosen])
                add(f"processor time, {title}, to SMG", goal, [row["processor_ratio"] for row in chosen])
        memory = http["resident_mb"]
        share = round(memory["ours"] / memory["smg"], 2)
        rows.append(("resident memory to SMG's", "≤ 1.3", f"{share}", _yes(share <= 1.3)))
    table = _table(("Goal", "wanted", "measured", "reached"), rows)
    note = "The figures of SGLang that count are those in which it found the right calls.\n"
    return f"## Goals\n\n{note}\n{table}"


def _yes(reached: bool) -> str:
    return "yes" if reached else "no"


def write() -> pathlib.Path:
    """Write the page and return where it is."""
    in_process, growth, http = _result("in_process"), _result("growth"), _result("http")
    parts = [HEAD, _goals(in_process, growth, http)]
    for result, section in (
        (in_process, _in_process),
        (growth, _growth),
        (http, _http),
        (_result("processes"), _processes),
        (_result("tokenizers"), _tokenizers),
    ):
        if result is not None:
            parts.append(section(result))
    parts += ["## Where the time goes\n", SPENT, "## Compiled core\n", COMPILED]
    compiled = _result("compiled")
    if compiled is not None:
        head = ("format", "size", "way", "source", "compiled", "ratio")
        rows = ([row[key] for key in head] for row in compiled["rows"])
        parts += [_machine(compiled), _table(head, rows)]
    PAGE.write_text("\n".join(parts), "utf-8")
    return PAGE
