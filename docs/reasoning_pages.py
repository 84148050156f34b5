"""Writes docs/formats/reasoning-*.md: one page for each reasoning format, from its table."""

from __future__ import annotations

import pathlib

from sluicegate.core.channels import ChannelFormat
from sluicegate.core.machine import ReasoningFormat
from sluicegate.core.reasoning import PairFormat
from sluicegate.dialects.examples import REASONING_EXAMPLES
from sluicegate.dialects.model_table import MODEL_TABLE
from sluicegate.dialects.reasoning import REASONING_FORMATS

FORMATS = pathlib.Path(__file__).parent / "formats"

ABOUT = {
    "base": "Models that write `<think>` and `</think>` and have no format of their own.",
    "passthrough": "No reasoning: everything is answer.",
    "deepseek_r1": "DeepSeek-R1 and its distills; the prompt leaves the block open.",
    "deepseek_v31": "DeepSeek-V3.1 and V3.2.",
    "deepseek_v4": "DeepSeek-V4.",
    "deepseek_v41": "DeepSeek-V4.1.",
    "qwen3": "Qwen3, Qwen3.5 and later, Hermes 4, EXAONE 4.",
    "qwen3_thinking": "Qwen3 models that always think, QwQ; the prompt leaves the block open.",
    "nano_v3": "Nemotron 3.",
    "glm45": "GLM-4.5 to GLM-5.",
    "step3": "Step-3 and Step-3.5; the prompt leaves the block open.",
    "kimi": "Kimi-VL Thinking.",
    "kimi_k25": "Kimi-K2.5 and later.",
    "kimi_thinking": "Kimi-K2 Thinking; the prompt leaves the block open.",
    "kimi_k3": "Kimi-K3: tags of three tokens, one channel each for thoughts, answer and calls.",
    "minimax": "MiniMax-M2; the prompt leaves the block open.",
    "minimax_m3": "MiniMax-M3.",
    "cohere_cmd": "Command A and Command R7B.",
    "hy_v4": "Hunyuan 4: think tags with a suffix that is the same in all of one output.",
    "gemma4": "Gemma 4: a channel that may repeat; its label belongs to the marker.",
    "inkling": "Inkling: messages of typed blocks, in any order and number.",
}

NOTES = {
    "passthrough": "Nothing is searched for, nothing is held, and there is no size limit.",
    "hy_v4": """\
- A marker is `<think` or `</think`, then nothing or `:` and a suffix (1 to 256 characters other than white space,
  `<` and `>`), then `>`. The first marker fixes the suffix; markers with another one are text from then on. If the
  prompt opened the block, its marker fixes it.
- In front of a block: a start marker is dropped and opens it, an end marker is dropped and settles the split.
- In a block: start markers are dropped; the end marker, or `<tool_calls>` with `<tool_call>` of the same suffix behind
  it, ends it.
- Behind it everything is answer, verbatim. White space in front of the block is answer.""",
    "kimi_k3": """\
- A tag is `<|open|>` or `<|close|>`, a channel (`think`, `response`, `message`, `tools`) and `<|sep|>`, with optional
  white space between them; `message` openers may carry attributes.
- Without `in_reasoning` the text in front of the first tag waits for it: a think closer makes it reasoning, any other
  tag answer. Pass `in_reasoning` or `prompt` to stream from the first character.
- The tools section passes whole to the tool parser; tags in its arguments are data.
- A tag without white space that the end of the output cuts off is markup if its control token is whole.""",
    "inkling": """\
- `<|message_model|>`, a name and a type token are a header: token and name are dropped, the type token is read next.
  The end of the output may cut it off behind the name.
- A block of JSON arguments passes whole to the tool parser, up to an end token outside its strings.
- The payload of `<|content_invoke_tool_text|>` is answer text.""",
    "gemma4": """\
- At the very start of the output a bare `thought` and newline is dropped and opens a block, unless `in_reasoning` says
  otherwise.
- A call passes whole to the tool parser, up to the first `<tool_call|>` outside a `<|"|>` string.""",
}

SPACE = {"\n": "one newline", "\n\n": "two newlines"}


def page(form: ReasoningFormat) -> str:
    """The page of one format."""
    name = form.names[0]
    example = REASONING_EXAMPLES[name]
    lines = [f"# {name} (reasoning)", "", ABOUT[name], "", "```text", *example.strip("\n").split("\n"), "```", ""]
    lines += ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in facts(form)), ""]
    if name in NOTES:
        lines += ["## Rules", "", NOTES[name], ""]
    elif isinstance(form, PairFormat):
        lines += ["## Rules", "", *pair_rules(form), ""]
    if isinstance(form, ChannelFormat):
        lines += ["## States", "", *channel_table(form), "", *channel_diagram(form), ""]
    lines += ["## Example", "", "```python", ">>> import sluicegate"]
    lines += [f">>> text = {example!r}", f">>> outcome = sluicegate.parse_reasoning(text, {name!r}, keep_frame=False)"]
    lines += [">>> outcome.reasoning, outcome.content"]
    if name == "passthrough":
        lines += ["('', 'It rains.')"]
    else:
        lines += ["('The user asks for the weather.', 'It rains.')"]
    lines += ["", "```", "", "See [reasoning](../guide/reasoning.md) for what all formats share.", ""]
    return "\n".join(lines)


def code(text: str) -> str:
    """A marker as code that a Markdown table can hold."""
    return "`" + text.replace("|", "\\|").replace("\n", "\\n") + "`"


def facts(form: ReasoningFormat) -> list[tuple[str, str]]:
    """What the table of the format says."""
    models = [code(pattern) for pattern, _, reasoning in MODEL_TABLE if reasoning in form.names]
    found = [("model names", ", ".join(models) or "none, name the parser")]
    if form.markers:
        found.append(("start marker", ", ".join(map(code, form.markers))))
    if isinstance(form, PairFormat):
        found.append(("end marker", code(form.end)))
    elif isinstance(form, ChannelFormat):
        found.append(("end marker", code(form.closer)))
    if form.names[0] != "passthrough":
        found.append(("an output begins", "in the block" if form.begins_in_reasoning else "in the answer"))
    if isinstance(form, PairFormat):
        openers = ", ".join(code(opener.literal) for opener in form.openers) or "none"
        found.append(("calls begin with", openers))
        found.append(("a call ends the block", "yes" if form.call_ends_reasoning else "no"))
        found.append(("white space of the template", frames(form)))
    return found


def frames(form: PairFormat) -> str:
    """The frame in words."""
    places = form.frames
    found = [
        *(["one newline at the start of the output"] if places.output_start else []),
        *(["one newline at the start of the block"] if places.block_start else []),
        *(["one newline at its end"] if places.block_end else []),
        *([f"{SPACE[places.behind]} behind the end marker"] if places.behind else []),
    ]
    return ", ".join(found) or "none"


def pair_rules(form: PairFormat) -> list[str]:
    """The rules of a pair format in words."""
    start, end = f"`{form.start}`", f"`{form.end}`"
    rules = [
        f"- Every {start} in front of the first {end} is dropped. The first {end} settles the split: behind it",
        "  everything is answer, verbatim.",
    ]
    if form.blank_prefix_is_answer:
        rules += [
            f"- {end} in front of the block, or directly behind the one that closed it, is dropped, however many there",
            "  are; white space between them is answer.",
        ]
    else:
        rules += [
            "- White space in front of the block belongs to the reasoning; other text there is answer.",
            f"- {end} with nothing but white space in front of it is dropped: the prompt had opened the block.",
        ]
    shown = "dropped" if form.drops_stray_end else "text"
    rules += [
        f"- {end} behind other text and outside a block is {shown}, and settles the split (`stray_reasoning_marker`)."
    ]
    if form.openers:
        inside = (
            "inside the block ends it"
            if form.call_ends_reasoning
            else "inside the block is a draft and stays reasoning"
        )
        rules += [
            "- A call in the answer settles the split, so markers in its arguments are data.",
            f"- A call {inside}.",
        ]
    return rules


def channel_table(form: ChannelFormat) -> list[str]:
    """What each token does in each state."""
    tokens = list(dict.fromkeys(token for state in form.states.values() for token in state.moves))
    lines = ["| in | text is | " + " | ".join(map(code, tokens)) + " |", "|---|---|" + "---|" * len(tokens)]
    for name, state in form.states.items():
        cells = [move_in_words(form, name, token) for token in tokens]
        lines.append(f"| {name} | {'held' if state.holds else state.side} | " + " | ".join(cells) + " |")
    return lines


def move_in_words(form: ChannelFormat, name: str, token: str) -> str:
    """One cell of the table."""
    move = form.states[name].moves.get(token)
    if move is None or move.treatment == "text":
        return "text"
    held = f"held text → {move.held}, " if form.states[name].holds and move.to else ""
    target = f" → {move.to}" if move.to and move.to != name else ""
    return f"{held}{'dropped' if move.treatment == 'drop' else 'kept'}{target}"


def channel_diagram(form: ChannelFormat) -> list[str]:
    """The states as a Mermaid diagram."""
    ids = {name: name.replace(" ", "_") for name in (*form.states, *form.regions)}
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {ids[form.starts[0]]}"]
    for name, state in form.states.items():
        arrows: dict[str, list[str]] = {}
        for token, move in state.moves.items():
            if move.to and move.to != name:
                arrows.setdefault(move.to, []).append(token)
        lines += [f"    {ids[name]} --> {ids[to]}: {', '.join(tokens)}" for to, tokens in arrows.items()]
        if state.on_text:
            lines.append(f"    {ids[name]} --> {ids[state.on_text]}: text")
    lines += [f"    {ids[name]} --> {ids[region.to]}: end" for name, region in form.regions.items()]
    return [*lines, "```"]


def write() -> None:
    """Write all pages."""
    for form in REASONING_FORMATS:
        (FORMATS / f"reasoning-{form.names[0]}.md").write_text(page(form), "utf-8")


if __name__ == "__main__":
    write()
